/* encoder.c - see encoder.h. */
#define _POSIX_C_SOURCE 200809L
#include "encoder.h"

#include <string.h>
#include <unistd.h>

#include "world.h"

static const char *const sizes[] = {"tiny", "mini", "small", "medium", "base", "large"};

/* A file of init's folder, or the path itself if that is a file; "" if there is none. */
static eg_path find(const char *init, const char *const *names, int n)
{
    eg_path none = {""};
    for (int i = 0; i < n && init; i++) {
        eg_path path = eg_path_in(init, names[i]);
        if (access(path.text, F_OK) == 0) {
            return path;
        }
    }
    return none;
}
#define FIND(init, ...) \
    find(init, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* ---- the tokenizer --------------------------------------------------------------------------- */

static eg_tokenizer *of_vocabulary(const char *path, bool cased)
{
    const char *end = strrchr(path, '.');
    if (!end || strcmp(end, ".txt") != 0) {
        return eg_tokenizer_load(path);
    }
    eg_vocabulary *v = eg_vocabulary_load(path);
    eg_tokenizer *words = v ? eg_wordpiece_new(v, .cased = cased, .max_chars = 200) : NULL;
    eg_vocabulary_free(v);
    return words;
}

void encoder_settle(encoder_options *o, bool small)
{
    o->size = o->size ? o->size : small && !o->init ? "tiny" : "base";
}

eg_tokenizer *encoder_words(const encoder_options *o, const char *data)
{
    eg_path there = FIND(o->init, "tokenizer.json", "vocab.txt"), beside = FIND(data, "vocab.txt", "tokenizer.json");
    const char *path = o->vocabulary ? o->vocabulary : *there.text ? there.text : beside.text;
    if (!*path && !data && !o->init) {
        return world_words();
    }
    if (!*path) {
        eg_failf(EG_EIO, "bert", "there is no vocabulary: --vocabulary FILE says where it is");
        return NULL;
    }
    return of_vocabulary(path, o->cased);
}

/* ---- the net --------------------------------------------------------------------------------- */

/* A number of config.json, as those who published the weights call it. */
static eg_status number(const eg_json *config, const char *key, int64_t *to)
{
    const eg_json *value = eg_json_get(config, key);
    return value ? eg_json_integer(value, to) : eg_failf(EG_EFORMAT, "bert", "config.json has no \"%s\"", key);
}

static eg_status read_config(const char *path, eg_transformer_options *net)
{
    eg_json *config = eg_json_load(path);
    const eg_json *gelu = eg_json_get(config, "hidden_act");
    eg_status st = config ? EG_OK : eg_last_error()->code;
    st = st ? st : number(config, "vocab_size", &net->vocabulary);
    st = st ? st : number(config, "max_position_embeddings", &net->positions);
    st = st ? st : number(config, "type_vocab_size", &net->types);
    st = st ? st : number(config, "hidden_size", &net->width);
    st = st ? st : number(config, "num_attention_heads", &net->heads);
    st = st ? st : number(config, "intermediate_size", &net->hidden);
    st = st ? st : number(config, "num_hidden_layers", &net->layers);
    if (!st && gelu && eg_json_kind_of(gelu) == EG_JSON_TEXT && eg_json_get(config, "transformers_version")) {
        net->activation = strcmp(eg_json_text(gelu, NULL), "gelu") == 0 ? eg_gelu : NULL; /* theirs is not by tanh */
    }
    eg_json_free(config);
    return st;
}

eg_module *encoder_new(const encoder_options *o, const eg_tokenizer *words)
{
    const double dropout = o->dropout > 0 ? o->dropout : EG_ZERO;
    eg_transformer_options net = {.size = sizeof net,
                                  .dropout = dropout,
                                  .attention_dropout = dropout,
                                  .activation = o->exact_gelu ? eg_gelu : NULL};
    eg_path config = FIND(o->init, "config.json", "bert_config.json");
    int size = 0;
    while (strcmp(sizes[size], o->size) != 0) { /* one of them, or the flag was refused */
        size++;
    }
    if (*config.text && read_config(config.text, &net)) {
        return NULL;
    }
    net.vocabulary = net.vocabulary ? net.vocabulary : eg_tokenizer_size(words);
    if (eg_tokenizer_size(words) > net.vocabulary) {
        eg_failf(EG_EFORMAT, "bert", "the tokenizer has %lld words, the net %lld", (long long)eg_tokenizer_size(words),
                 (long long)net.vocabulary);
        return NULL;
    }
    return eg_bert_new_with((eg_bert_size)size, &net);
}

eg_status encoder_load(eg_run *run, eg_module *net, const encoder_options *o)
{
    eg_path inside = FIND(o->init, "model.safetensors", "pytorch_model.bin", "bert_model.ckpt.index");
    const char *path = *inside.text ? inside.text : o->init;
    eg_load_report *report = NULL;
    eg_tensors *file = eg_tensors_open(path);
    bool own = file && eg_tensors_has(file, "bert.word.weight"); /* of bert-pretrain */
    eg_tensors *renamed = file && !own ? eg_tensors_renamed(file, eg_bert_names()) : NULL;
    eg_status st = own || renamed
                       ? eg_module_load_state(net, own ? file : renamed, .allow_missing = true,
                                              .allow_unexpected = true, .skip_shape = true, .report = &report)
                       : eg_last_error()->code;
    if (!st) {
        eg_run_say(run, "weights of %s:", path);
        st = eg_load_report_print(eg_run_out(run), report);
    }
    eg_load_report_free(report);
    eg_tensors_free(renamed);
    eg_tensors_free(file);
    return st;
}

/* ---- tuning ---------------------------------------------------------------------------------- */

eg_optim *encoder_optim(eg_run *run, eg_module *net, const tuning *t)
{
    const int64_t steps = eg_run_steps(run);
    const eg_schedule rates =
        EG_SCHEDULE(.kind = EG_RATE_POLYNOMIAL, .lr = t->rate, .steps = steps,
                    .warm_up = (int64_t)((double)steps * t->warm_up), .warm_up_kind = EG_WARM_UP_OVER);
    eg_optim *adam = eg_run_optim(run, "adam",
                                  eg_adam_new(eg_module_parameters(net), .lr = t->rate, .eps = 1e-6,
                                              .weight_decay = t->decay, .decoupled = true, .no_bias_correction = true));
    eg_status st = eg_run_status(run);
    st = st ? st : eg_optim_group(adam, .max_axes = 1); /* biases and norms do not decay */
    st = st ? st : eg_optim_clip_norm(adam, 1);
    return eg_run_heed(run, st ? st : eg_optim_follow(adam, &rates)) ? NULL : adam;
}
