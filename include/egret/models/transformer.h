/* transformer.h - nets of attention for texts: the translator, BERT with its heads, GPT-2.
 *
 * Ids are integers. What a constructor is given as a size are the numbers of a paper's table; options say otherwise,
 * number by number. Weights of others come in by maps (docs/models.md):
 *
 *     eg_tensors *file = eg_tensors_open("model.safetensors"), *ours = eg_tensors_renamed(file, eg_bert_names());
 *     eg_module_load_state(bert, ours, .allow_unexpected = true); */
#ifndef EGRET_MODELS_TRANSFORMER_H
#define EGRET_MODELS_TRANSFORMER_H

#include <egret/base.h>
#include <egret/nn.h>

EG_BEGIN_DECLS

/* Numbers that such nets have in common. Zero-initialised: the size's, EG_ZERO where none is meant. EG_EINVAL for what
 * is out of order. */
typedef struct eg_transformer_options {
    size_t size;
    int64_t vocabulary; /* ids are below it */
    int64_t positions;  /* steps at most, of nets that learn them */
    int64_t types;      /* of BERT: kinds of segments */
    int64_t width, heads, hidden, layers;
    double dropout;                         /* of embeddings and what is added to a sum; 0: 0.1 */
    double attention_dropout;               /* of weights of attention; 0: 0.1 */
    double hidden_dropout;                  /* of the translator: of hidden columns; 0: 0.1 */
    double eps;                             /* of norms */
    bool norm_last;                         /* of the translator: norms behind the sums, as the paper has them */
    eg_tensor *(*activation)(eg_tensor *x); /* NULL: the translator's eg_relu, else eg_gelu_tanh */
} eg_transformer_options;

#define EG_TRANSFORMER_NEW_(function, of, ...) function(of, EG_OPTIONS_(eg_transformer_options, __VA_ARGS__))

/* ---- translating ----------------------------------------------------------------------------- */

/* width / heads / hidden / layers */
typedef enum eg_transformer_size {
    EG_TRANSFORMER_TINY, /* 32 / 4 / 256 / 6: 1,354,496 parameters */
    EG_TRANSFORMER_BASE, /* 512 / 8 / 2048 / 6: 61,362,176 */
    EG_TRANSFORMER_BIG,  /* 1024 / 16 / 4096 / 6: 210,804,736 */
} eg_transformer_size;

/* Vaswani et al. 2017 as TensorFlow's official models had it: one table for source, target and logits, sines and
 * cosines by halves, norms (eps 1e-6) in front of each part and behind each stack, attention without biases. Vocabulary
 * 33,708, of which 0 is padding: it is not seen, and is what the target begins with. Table normal with deviation
 * width^-0.5, weights glorot uniform. */
EG_API eg_module *eg_transformer_new_with(eg_transformer_size of, const eg_transformer_options *options);
#define eg_transformer_new(...) EG_TRANSFORMER_NEW_(eg_transformer_new_with, __VA_ARGS__, )

/* Logits [N, T, vocabulary] of each id of targets [N, T], from the source [N, S] and the ids in front of it. */
EG_API eg_tensor *eg_transformer_forward(eg_module *m, eg_tensor *source, eg_tensor *targets);
/* What the encoder makes of the source, [N, S, width]. */
EG_API eg_tensor *eg_transformer_encode(eg_module *m, eg_tensor *source);
/* Where the heads of each layer look: weights of attention, borrowed. All NULL after a failure. */
typedef struct eg_transformer_heads {
    eg_tensor *encoder; /* [layers, N, heads, S, S] */
    eg_tensor *decoder; /* [layers, N, heads, T, T] */
    eg_tensor *between; /* [layers, N, heads, T, S]: from targets to the source */
} eg_transformer_heads;
EG_API eg_transformer_heads eg_transformer_look(eg_module *m, eg_tensor *source, eg_tensor *targets);
/* Puts that, and what is padding in it, into a cache, from which eg_transformer_next translates:
 *
 *     eg_cache *cache = eg_cache_new();
 *     eg_transformer_read(net, source, cache);
 *     eg_decoded best = eg_beam_search(eg_transformer_next, net, eg_zeros(EG_SHAPE(N, 1), EG_I64), .cache = cache,
 *                                      .end = 1, .steps = S + 50, .beams = 4, .length_power = 0.6); */
EG_API eg_status eg_transformer_read(eg_module *m, eg_tensor *source, eg_cache *cache);
/* An eg_decode_fn, of the net; the first id is 0. EG_ESTATE for a cache into which nothing was read. */
EG_API eg_tensor *eg_transformer_next(void *net, eg_tensor *ids, eg_cache *cache);

/* ---- BERT ------------------------------------------------------------------------------------ */

/* layers / width, with a head for 64 columns and 4 width hidden ones: Devlin et al. 2018, Turc et al. 2019. */
typedef enum eg_bert_size {
    EG_BERT_TINY,   /* 2 / 128 */
    EG_BERT_MINI,   /* 4 / 256 */
    EG_BERT_SMALL,  /* 4 / 512 */
    EG_BERT_MEDIUM, /* 8 / 512 */
    EG_BERT_BASE,   /* 12 / 768: 109,482,240 parameters */
    EG_BERT_LARGE,  /* 24 / 1024 */
} eg_bert_size;

/* The encoder and its pooler. Vocabulary 30,522, 512 positions, 2 types, eps 1e-12, gelu by tanh as the authors'
 * program has it (transformers' "gelu" is eg_gelu). Weights truncated normal 0.02. forward(ids) is the hidden states,
 * of ids that are of type 0 and all seen. */
EG_API eg_module *eg_bert_new_with(eg_bert_size of, const eg_transformer_options *options);
#define eg_bert_new(...) EG_TRANSFORMER_NEW_(eg_bert_new_with, __VA_ARGS__, )

/* An encoder with a head on top of it, which it owns. forward(ids) is the logits.
 * classifier: of the pooled first step, behind dropout 0.1: [N, classes];
 * tagger: of each step, the same way: [N, S, tags]; spans: two of each step, of where an answer begins and ends, [N, S,
 * 2]; chooser: one of each of C rows, ids [N, C, S]: [N, C]; pretraining: words of each step, by the table of the
 * embedding, [N, S, vocabulary], and whether the second segment follows the first (0) or not (1), [N, 2], which is
 * `next`. */
EG_API eg_module *eg_bert_classifier_new(eg_module *bert, int64_t classes);
EG_API eg_module *eg_bert_tagger_new(eg_module *bert, int64_t tags);
EG_API eg_module *eg_bert_spans_new(eg_module *bert);
EG_API eg_module *eg_bert_chooser_new(eg_module *bert);
EG_API eg_module *eg_bert_pretraining_new(eg_module *bert);

/* What there is beside the ids; zero-initialised: nothing. */
typedef struct eg_bert_options {
    size_t size;
    eg_tensor *types;  /* integers in the ids' shape: the segment of each */
    eg_tensor *mask;   /* the same, or bool: 0 where a key is not to be seen */
    eg_tensor *places; /* of pretraining: steps whose words are asked for, integers [N, M]; then logits are [N, M,
                          vocabulary] */
} eg_bert_options;

/* Borrowed; NULL where the module has no such thing, all after a failure. */
typedef struct eg_bert_made {
    eg_tensor *hidden; /* [N, S, width] */
    eg_tensor *pooled; /* [N, width] */
    eg_tensor *logits; /* of the head */
    eg_tensor *next;   /* of pretraining */
} eg_bert_made;

/* ids [N, S], of a chooser [N, C, S], of an encoder or one with a head. EG_ESHAPE for more steps than positions. */
EG_API eg_bert_made eg_bert_forward_with(eg_module *m, eg_tensor *ids, const eg_bert_options *options);
#define eg_bert_forward(...)          EG_BERT_FORWARD_(__VA_ARGS__, )
#define EG_BERT_FORWARD_(m, ids, ...) eg_bert_forward_with(m, ids, EG_OPTIONS_(eg_bert_options, __VA_ARGS__))

/* Map for eg_tensors_renamed: the names of the authors' checkpoints and of transformers' files, of the encoder, alone
 * or below a head, and of the heads. */
EG_API const char *eg_bert_names(void);

/* ---- GPT-2 ----------------------------------------------------------------------------------- */

/* layers / width / heads: Radford et al. 2019. */
typedef enum eg_gpt2_size {
    EG_GPT2_SMALL,  /* 12 / 768 / 12: 124,439,808 parameters */
    EG_GPT2_MEDIUM, /* 24 / 1024 / 16 */
    EG_GPT2_LARGE,  /* 36 / 1280 / 20 */
    EG_GPT2_XL,     /* 48 / 1600 / 25 */
} eg_gpt2_size;

/* A decoder alone: norms (eps 1e-5) in front of each part and behind the last, learned positions, gelu by tanh, the
 * table for logits too. Vocabulary 50,257, 1024 positions, hidden 4 width. Weights normal 0.02, those in front of sums
 * over sqrt(2 layers). forward(ids [N, T]) is the logits [N, T, vocabulary] of what follows each id. */
EG_API eg_module *eg_gpt2_new_with(eg_gpt2_size of, const eg_transformer_options *options);
#define eg_gpt2_new(...) EG_TRANSFORMER_NEW_(eg_gpt2_new_with, __VA_ARGS__, )
/* An eg_decode_fn, of the net. EG_ESHAPE past the last position. */
EG_API eg_tensor *eg_gpt2_next(void *net, eg_tensor *ids, eg_cache *cache);
/* Map for eg_tensors_renamed: transformers' names. */
EG_API const char *eg_gpt2_names(void);

EG_END_DECLS

#endif
