/* lstm.h - nets that read text word by word: language models of LSTM layers.
 *
 *     eg_module *net = eg_lstm_lm_new("medium", .words = 10000);
 *     eg_tensor *h = NULL, *c = NULL;
 *     for (...) {                                              // windows of one text, each behind the other
 *         eg_lm r = eg_lstm_lm_forward(net, ids, h, c);        // ids [T, N] to r.logits [T, N, words]
 *         h = r.h, c = r.c;                                    // kept where a window has a scope of its own
 *     } */
#ifndef EGRET_MODELS_LSTM_H
#define EGRET_MODELS_LSTM_H

#include <egret/base.h>
#include <egret/nn.h>

EG_BEGIN_DECLS

/* ---- language models of LSTM layers ----------------------------------------------------------- */

/* One size, as the table has it. */
typedef struct eg_lstm_lm_info {
    const char *name;   /* "small" */
    const char *source; /* whose it is: "Zaremba et al. 2014" */
    int64_t words;      /* of the vocabulary it was made for */
    int64_t width;      /* of words and of layers */
    int layers;
    double dropout, scale; /* as in eg_lstm_lm_options */
    int64_t parameters;    /* that learn, with as many words and one bias per layer */
} eg_lstm_lm_info;

/* How many sizes there are, and the i-th; EG_EINDEX outside 0..count - 1, of which all fields are then NULL and 0. */
EG_API int eg_lstm_lm_count(void);
EG_API eg_lstm_lm_info eg_lstm_lm_at(int i);
/* The size of that name; EG_EINDEX if there is none, in words that name them all. */
EG_API eg_lstm_lm_info eg_lstm_lm_find(const char *name);

/* Zero-initialised: as the size has it. */
typedef struct eg_lstm_lm_options {
    size_t size;
    int64_t words, width;
    int layers;      /* up to 64 */
    double dropout;  /* of what each layer reads, and of what the last one makes: never between steps. EG_ZERO: none */
    double scale;    /* weights begin uniform within it, words' and those of the logits with their bias too; biases of
                        layers as 0, so also the forget gate's */
    bool tied;       /* logits by the words' own numbers (Press and Wolf 2016; Inan et al. 2016), with a bias */
    bool two_biases; /* bias_hh beside bias_ih: PyTorch's and cuDNN's form */
    /* What Merity et al. 2017 have beside (AWD-LSTM). */
    bool variational;         /* dropout's masks are drawn once per row and call, not at every step */
    double embedding_dropout; /* whole words of the vocabulary, for one call */
    double weight_dropout;    /* of weight_hh (eg_rnn_layer_options) */
} eg_lstm_lm_options;

/* Words' numbers, LSTM layers, a logit for each word that may come next. "small", "medium" and "large" are those of
 * Zaremba, Sutskever and Vinyals 2014, "test" that of TensorFlow's program for them (tutorials/rnn/ptb). Parameters are
 * embedding.weight [words, width], layers.0.rnn.weight_ih_l0 and so on (recurrent.h), logits.weight [words, width]
 * unless tied, logits.bias [words]. eg_module_forward gives the logits alone, from states of zeros. EG_EINDEX for a
 * name there is not, EG_EINVAL for sizes below 1, a probability outside 0..1, a scale that is not above 0. */
EG_API eg_module *eg_lstm_lm_new_with(const char *name, const eg_lstm_lm_options *options);
#define eg_lstm_lm_new(...)        EG_LSTM_LM_NEW_(__VA_ARGS__, )
#define EG_LSTM_LM_NEW_(name, ...) eg_lstm_lm_new_with(name, EG_OPTIONS_(eg_lstm_lm_options, __VA_ARGS__))

/* What it makes of a window of text; all borrowed, all NULL after a failure. */
typedef struct eg_lm {
    eg_tensor *logits;      /* [T, N, words]: of the word behind each */
    eg_tensor *h, *c;       /* [layers, N, width]: what the next window begins with */
    eg_tensor *y, *dropped; /* [T, N, width]: of the last layer, before and after dropout; for losses that look at it */
} eg_lm;

/* ids [T, N], i64, i32 or u8: N texts side by side; or [T], one text, and then nothing has an axis N. h and c are those
 * of the window before, or both NULL: zeros. A tape that ended behind that window does not reach back into it.
 * Gradients are those of what it is made of. EG_EINVAL for another module, EG_EINDEX for a word there is not. */
EG_API eg_lm eg_lstm_lm_forward(eg_module *m, eg_tensor *ids, eg_tensor *h, eg_tensor *c);

EG_END_DECLS

#endif
