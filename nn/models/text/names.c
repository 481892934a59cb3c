/* names.c - what others call the weights of nets for texts. */
#include <egret/models.h>

#include "nn/models/rules.h"

/* ---- BERT ---------------------------------------------------------------------------------------- */

/* The encoder's tensors, alone or below a head, are "bert." here. transformers has "gamma" and "beta" in old files. */
#define NORM_PARTS LIST("norm", "weight=weight bias=bias gamma=weight beta=bias")

/* A tensor of the encoder in transformers' files, alone and below a head, and in TensorFlow's checkpoints. */
#define TORCH(theirs, ours, layout) RULE("bert." theirs, "bert." ours, layout) RULE(theirs, "bert." ours, layout)
#define TF(theirs, ours, layout)    RULE("bert/" theirs, "bert." ours, layout)

#define DENSE(torch, tf, ours)                 \
    TORCH(torch ".weight", ours ".weight", "") \
    TORCH(torch ".bias", ours ".bias", "")     \
    TF(tf "/kernel", ours ".weight", "dense")  \
    TF(tf "/bias", ours ".bias", "")
#define NORM(torch, tf, ours, last)                          \
    TORCH(torch ".LayerNorm.*", ours ".{" last ":norm}", "") \
    TF(tf "/LayerNorm/*", ours ".{" last ":norm}", "")
/* One of the three of which in_proj is made. */
#define PART(name, number)                                                                                          \
    TORCH("encoder.layer.*.attention.self." name ".weight", "layers.{1}.self_attn.in_proj_weight",                  \
          "join=" number "/3")                                                                                      \
    TORCH("encoder.layer.*.attention.self." name ".bias", "layers.{1}.self_attn.in_proj_bias", "join=" number "/3") \
    TF("encoder/layer_*/attention/self/" name "/kernel", "layers.{1}.self_attn.in_proj_weight",                     \
       "dense join=" number "/3")                                                                                   \
    TF("encoder/layer_*/attention/self/" name "/bias", "layers.{1}.self_attn.in_proj_bias", "join=" number "/3")

static const char bert[] = NORM_PARTS TORCH("embeddings.word_embeddings.weight", "word.weight",
                                            "") TORCH("embeddings.position_embeddings.weight", "position.weight", "")
    TORCH("embeddings.token_type_embeddings.weight", "type.weight", "")
        TF("embeddings/word_embeddings", "word.weight", "") TF("embeddings/position_embeddings", "position.weight", "")
            TF("embeddings/token_type_embeddings", "type.weight", "") NORM("embeddings", "embeddings", "norm", "1")
                PART("query", "0") PART("key", "1") PART("value", "2")
                    DENSE("encoder.layer.*.attention.output.dense", "encoder/layer_*/attention/output/dense",
                          "layers.{1}.self_attn.out_proj")
                        NORM("encoder.layer.*.attention.output", "encoder/layer_*/attention/output", "layers.{1}.norm1",
                             "2") DENSE("encoder.layer.*.intermediate.dense", "encoder/layer_*/intermediate/dense",
                                        "layers.{1}.linear1")
                            DENSE("encoder.layer.*.output.dense", "encoder/layer_*/output/dense", "layers.{1}.linear2")
                                NORM("encoder.layer.*.output", "encoder/layer_*/output", "layers.{1}.norm2", "2")
                                    DENSE("pooler.dense", "pooler/dense", "pooler")
    /* Heads. */
    RULE("cls.predictions.bias", "bias", "") RULE("cls.predictions.transform.dense.*", "transform.{1}", "")
        RULE("cls.predictions.transform.LayerNorm.*", "norm.{1:norm}", "")
            RULE("cls.seq_relationship.*", "next.{1}", "") RULE("cls/predictions/output_bias", "bias", "")
                RULE("cls/predictions/transform/dense/kernel", "transform.weight", "dense")
                    RULE("cls/predictions/transform/dense/bias", "transform.bias", "")
                        RULE("cls/predictions/transform/LayerNorm/*", "norm.{1:norm}", "")
                            RULE("cls/seq_relationship/output_weights", "next.weight", "")
                                RULE("cls/seq_relationship/output_bias", "next.bias", "")
                                    RULE("classifier.*", "head.{1}", "") RULE("qa_outputs.*", "head.{1}", "")
                                        RULE("output_weights", "head.weight", "") RULE("output_bias", "head.bias", "")
                                            RULE("cls/squad/output_weights", "head.weight", "")
                                                RULE("cls/squad/output_bias", "head.bias", "");

const char *eg_bert_names(void)
{
    return bert;
}

/* ---- GPT-2 --------------------------------------------------------------------------------------- */

/* transformers keeps weights as [in, out], alone and below "transformer.". */
#define GPT2(prefix)                                                                  \
    RULE(prefix "wte.weight", "wte.weight", "")                                       \
    RULE(prefix "wpe.weight", "wpe.weight", "")                                       \
    RULE(prefix "h.*.ln_*.*", "h.{1}.norm{2}.{3}", "")                                \
    RULE(prefix "h.*.attn.c_attn.weight", "h.{1}.self_attn.in_proj_weight", "dense")  \
    RULE(prefix "h.*.attn.c_attn.bias", "h.{1}.self_attn.in_proj_bias", "")           \
    RULE(prefix "h.*.attn.c_proj.weight", "h.{1}.self_attn.out_proj.weight", "dense") \
    RULE(prefix "h.*.attn.c_proj.bias", "h.{1}.self_attn.out_proj.bias", "")          \
    RULE(prefix "h.*.mlp.c_fc.weight", "h.{1}.linear1.weight", "dense")               \
    RULE(prefix "h.*.mlp.c_fc.bias", "h.{1}.linear1.bias", "")                        \
    RULE(prefix "h.*.mlp.c_proj.weight", "h.{1}.linear2.weight", "dense")             \
    RULE(prefix "h.*.mlp.c_proj.bias", "h.{1}.linear2.bias", "")                      \
    RULE(prefix "ln_f.*", "ln_f.{1}", "")

static const char gpt2[] = GPT2("") GPT2("transformer.");

const char *eg_gpt2_names(void)
{
    return gpt2;
}
