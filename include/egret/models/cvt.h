/* cvt.h - nets that say something of every word of a sentence, and learn from sentences nobody has marked too:
 * cross-view training (Clark et al. 2018, arXiv:1809.08370).
 *
 *     eg_module *encoder = eg_cvt_encoder_new(20000, 103), *chunks = eg_cvt_tagger_new(encoder, 45);
 *
 *     eg_cvt_states s = eg_cvt_encode(encoder, words, letters, .lengths = lengths, .dropout = 0.5);
 *     eg_tensor *loss = eg_cross_entropy(eg_flatten(eg_cvt_logits(chunks, s, .lengths = lengths), 0, 1), ...);
 *
 * Of sentences without tags the head says, without dropout, what it takes them for, and its views, each of which sees
 * only a part of the sentence, learn to say the same:
 *
 *     eg_tensor *taught = eg_softmax(eg_cvt_logits(chunks, clean, .lengths = lengths), 2);     // no tape
 *     loss = eg_cvt_views_loss(chunks, eg_cvt_encode(encoder, words, letters, .lengths = lengths, .dropout = 0.2),
 *                              taught, .lengths = lengths);
 *
 * Sentences are rows of N x T words, numbers with anything behind the ends. Several heads may share an encoder, which
 * belongs to none of them. */
#ifndef EGRET_MODELS_CVT_H
#define EGRET_MODELS_CVT_H

#include <egret/base.h>
#include <egret/nn.h>

EG_BEGIN_DECLS

/* What holds of a batch, for the encoder and the heads alike. Zero-initialised: nothing. */
typedef struct eg_cvt_options {
    size_t size;
    eg_tensor *lengths; /* words of each sentence, integers [N], from 1 to T; NULL: T */
    double dropout;     /* of words, letters, states and what a parser makes of them, while the module trains */
} eg_cvt_options;

/* ---- the encoder ----------------------------------------------------------------------------- */

/* Zero-initialised: the paper's sizes. */
typedef struct eg_cvt_encoder_options {
    size_t size;
    int64_t word_width;   /* of a word's own numbers; 0: 300 */
    int64_t letter_width; /* of a letter's; 0: 50 */
    int64_t filters;      /* of 2, of 3 and of 4 letters, so many each; 0: 100 */
    int64_t cells;        /* of the layer that reads words, each way; 0: 1024 */
    int64_t deep_cells;   /* of the one behind it; 0: 512 */
    int64_t width;        /* of states, each way, and of the heads' hidden layers; 0: 512 */
} eg_cvt_encoder_options;

/* Words by their own numbers and by the maxima of convolutions over their letters; two layers of LSTMs there and back,
 * with projections and one bias. Parameters are words.weight [words, word_width], words.scale [1], letters.weight
 * [letters, letter_width], conv2 to conv4, near and deep (recurrent.h): in the paper's sizes 17,031,412 beside the
 * tables and the scale. Weights begin glorot uniform, tables too, the scale as 1, forget gates' biases as 1. EG_EINVAL
 * for sizes below 1. */
EG_API eg_module *eg_cvt_encoder_new_with(int64_t words, int64_t letters, const eg_cvt_encoder_options *options);
#define eg_cvt_encoder_new(...) EG_CVT_ENCODER_NEW_(__VA_ARGS__, )
#define EG_CVT_ENCODER_NEW_(words, letters, ...) \
    eg_cvt_encoder_new_with(words, letters, EG_OPTIONS_(eg_cvt_encoder_options, __VA_ARGS__))

/* What it makes of sentences, zeros behind their ends; borrowed, all NULL after a failure. */
typedef struct eg_cvt_states {
    eg_tensor *there,
        *back;      /* [N, T, width]: of the first layer, which have seen a word and all before it, or behind */
    eg_tensor *all; /* [N, T, 4 width]: of both layers */
} eg_cvt_states;

/* words [N, T] and their letters [N, T, C], integers; a word of fewer than C letters has 0 behind them, C is at
 * least 4. EG_EINVAL for another module, EG_ESHAPE for what does not go together, EG_EINDEX for a word or letter there
 * is not. */
EG_API eg_cvt_states eg_cvt_encode_with(eg_module *encoder, eg_tensor *words, eg_tensor *letters,
                                        const eg_cvt_options *options);
#define eg_cvt_encode(...) EG_CVT_ENCODE_(__VA_ARGS__, )
#define EG_CVT_ENCODE_(encoder, words, letters, ...) \
    eg_cvt_encode_with(encoder, words, letters, EG_OPTIONS_(eg_cvt_options, __VA_ARGS__))

/* ---- heads ----------------------------------------------------------------------------------- */

/* Heads for the states of an encoder, of which they want to know the width only. A tagger gives each word one of so
 * many tags; a parser gives it the word it hangs on and the relation to that. Each has a primary head, which sees all
 * states, and five views: a tagger's of all states, of those there, of those back, and of those there of the word in
 * front and of those back of the word behind; a parser's of all states, and of those there or back of the word with
 * those there or back of what it hangs on. Weights begin glorot uniform, biases as 0. EG_EINVAL for another module, or
 * no tag or relation. */
EG_API eg_module *eg_cvt_tagger_new(const eg_module *encoder, int64_t tags);
EG_API eg_module *eg_cvt_parser_new(const eg_module *encoder, int64_t relations);

/* What the primary head takes the words for. A tagger's logits are [N, T, tags]; a parser's [N, T, 1 + T relations],
 * of which number 0 says that the word is the root, and 1 + h relations + r that it hangs on word h by relation r,
 * scores of bilinear forms 128 wide; words behind the end are less likely by e^100. EG_ESHAPE for states of another
 * width. */
EG_API eg_tensor *eg_cvt_logits_with(eg_module *head, eg_cvt_states states, const eg_cvt_options *options);
#define eg_cvt_logits(...)                EG_CVT_LOGITS_(__VA_ARGS__, )
#define EG_CVT_LOGITS_(head, states, ...) eg_cvt_logits_with(head, states, EG_OPTIONS_(eg_cvt_options, __VA_ARGS__))

/* How far the views are from what they are taught: the sum over the five of the mean over the words of the cross
 * entropy by probabilities in the shape of the logits, which no gradient flows to. */
EG_API eg_tensor *eg_cvt_views_loss_with(eg_module *head, eg_cvt_states states, eg_tensor *taught,
                                         const eg_cvt_options *options);
#define eg_cvt_views_loss(...) EG_CVT_VIEWS_LOSS_(__VA_ARGS__, )
#define EG_CVT_VIEWS_LOSS_(head, states, taught, ...) \
    eg_cvt_views_loss_with(head, states, taught, EG_OPTIONS_(eg_cvt_options, __VA_ARGS__))

EG_END_DECLS

#endif
