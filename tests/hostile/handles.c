/* handles.c - plausible functions and handles, and the hostile ones in their places. */
#include "tests/hostile/values.h"

#include <egret/models.h>
#include <stdlib.h>
#include <string.h>

/* ---- functions ---------------------------------------------------------------------------------- */

static eg_tensor *many(eg_tensor *const *in, int n, void *user)
{
    (void)user;
    return n ? eg_relu(in[0]) : NULL;
}

static void walk(const eg_op_info *info, void *user)
{
    (void)info;
    (void)user;
}

static void drop(void *user)
{
    (void)user;
}

static void drop_data(void *data, void *user)
{
    (void)data;
    (void)user;
}

static eg_status sample(int64_t index, eg_tensor **s, int *n, void *user)
{
    (void)user;
    s[0] = eg_full(EG_SHAPE(2), (double)index, EG_F32);
    *n = 1;
    return EG_OK;
}

static eg_dataset *open_file(const char *path, void *user)
{
    (void)path;
    (void)user;
    return eg_dataset_from(sample, 4, NULL, NULL);
}

static eg_status map(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)user;
    out[0] = in[0];
    *m = n ? 1 : 0;
    return EG_OK;
}

static eg_status filter(eg_tensor *const *in, int n, bool *keep, void *user)
{
    (void)in;
    (void)user;
    *keep = n > 0;
    return EG_OK;
}

static eg_status step(void *user, eg_tensor *const *in, int nin, eg_tensor **out, int nout)
{
    (void)user;
    for (int i = 0; i < nout; i++) {
        out[i] = nin ? eg_relu(in[0]) : eg_zeros(EG_SCALAR, EG_F32);
    }
    return EG_OK;
}

static void hear(const char *topic, const char *op, const char *words, void *user)
{
    (void)topic;
    (void)op;
    (void)words;
    (void)user;
}

static eg_tensor *next_logits(void *user, eg_tensor *ids, eg_cache *cache)
{
    (void)user;
    (void)cache;
    return eg_ones(EG_SHAPE(eg_size(ids, 0), 3), EG_F32);
}

static eg_tensor *followed_loss(void *user)
{
    (void)user;
    return followed[0] ? v_loss() : NULL;
}

#define FUNCTION(type, name, value)          \
    type name(const hostile *h, int slot)    \
    {                                        \
        return h->at == slot ? NULL : value; \
    }
FUNCTION(one_fn *, f_activation_new, eg_relu)
FUNCTION(many_fn *, f_checkpoint, many)
FUNCTION(eg_function, f_function, many)
FUNCTION(loss_fn *, f_optim_minimize_function, followed_loss)
FUNCTION(walk_fn *, f_op_walk, walk)
FUNCTION(drop_fn *, f_dataset_from, drop)
FUNCTION(eg_free_fn, f_free_fn, drop_data)
FUNCTION(eg_sample_fn, f_sample_fn, sample)
FUNCTION(eg_map_fn, f_map_fn, map)
FUNCTION(eg_open_fn, f_open_fn, open_file)
FUNCTION(eg_filter_fn, f_filter_fn, filter)
FUNCTION(eg_step_fn *, f_step_fn, step)
FUNCTION(eg_log_fn, f_log_fn, hear)
FUNCTION(eg_decode_fn, f_decode_fn, next_logits)

/* ---- handles ------------------------------------------------------------------------------------ */

static eg_module *linear(void)
{
    return eg_linear_new(3, 3);
}

static eg_module *make_cvt(bool head)
{
    eg_module *m = eg_cvt_encoder_new(5, 5, .word_width = 2, .letter_width = 2, .filters = 1, .cells = 3,
                                      .deep_cells = 3, .width = 2);
    eg_module *tagger = head && m ? eg_cvt_tagger_new(m, 5) : NULL;
    if (head) {
        eg_module_free(m);
    }
    return head ? tagger : m;
}

static eg_module *make_module(const char *f)
{
    if (strstr(f, "rnn_")) {
        return eg_lstm_new(strstr(f, "rnn_forward") ? 4 : 3, 3);
    }
    if (strstr(f, "additive")) {
        return eg_additive_attention_new(3, 4, 5);
    }
    if (strstr(f, "multi_head")) {
        return eg_multi_head_attention_new(4, 2);
    }
    if (strstr(f, "encoder_layer_forward")) {
        return eg_transformer_encoder_layer_new(4, 2, 3);
    }
    if (strstr(f, "decoder_layer_forward")) {
        return eg_transformer_decoder_layer_new(4, 2, 3);
    }
    if (strstr(f, "eg_transformer_")) {
        return eg_transformer_new(EG_TRANSFORMER_TINY, .vocabulary = 5, .width = 4, .heads = 2, .hidden = 3,
                                  .layers = 1);
    }
    if (strstr(f, "positions_forward")) {
        return eg_sinusoidal_positions_new();
    }
    if (strstr(f, "eg_bert_")) {
        return eg_bert_new(EG_BERT_TINY, .vocabulary = 5, .width = 4, .heads = 2, .hidden = 3, .layers = 1);
    }
    if (strstr(f, "eg_detector_")) {
        return eg_retinanet_new(2, .layers = 18, .width = 4);
    }
    if (strstr(f, "eg_cvt_")) {
        return make_cvt(strstr(f, "logits") || strstr(f, "loss"));
    }
    bool of_others = strstr(f, "eg_module_at") || strstr(f, "eg_module_count") || strstr(f, "forward_taps");
    return of_others ? eg_sequential_new(linear()) : linear();
}

static eg_dataset *make_dataset(void)
{
    eg_dataset *d = eg_dataset_from(sample, 4, NULL, NULL);
    eg_dataset_first(d);
    return d;
}

static eg_optim *make_optim(void)
{
    eg_parameters p = eg_module_parameters(linear());
    followed[0] = p.tensors[0];
    followed[1] = p.tensors[1];
    return eg_sgd_new(p, .lr = 0.1);
}

/* A state of what loads it, else that of linear() and some words. */
static eg_tensors *make_map(const char *f)
{
    if (strstr(f, "load_state") && !strstr(f, "module")) {
        return strstr(f, "optim")     ? eg_optim_state(make_optim())
               : strstr(f, "scaler")  ? eg_scaler_state(eg_scaler_new())
               : strstr(f, "metrics") ? eg_metrics_state(eg_metrics_new())
                                      : eg_ema_state(eg_ema_new(eg_module_parameters(linear())));
    }
    eg_tensors *t = eg_tensors_new();
    eg_tensors_set(t, "weight", eg_zeros(EG_SHAPE(3, 3), EG_F32));
    eg_tensors_set(t, "bias", eg_zeros(EG_SHAPE(3), EG_F32));
    eg_tensors_set_text(t, "weight", "what it is");
    eg_tensors_set_text(t, "bias", "what is added");
    return t;
}

static eg_saver *make_saver(void)
{
    return eg_saver_new("saved");
}

static eg_tokenizer *make_tokenizer(void)
{
    return eg_bpe_train((eg_tensor *[]){eg_text("one two two")}, 1, .vocabulary = 260);
}

static eg_word_counts *make_counts(void)
{
    eg_word_counts *c = eg_word_counts_new();
    eg_word_counts_add(c, eg_text("one two two Inside O"));
    return c;
}

static eg_vocabulary *make_vocabulary(void)
{
    const char *const unknown[] = {"[UNK]", "weight"};
    return eg_vocabulary_new(make_counts(), .reserved = unknown, .reserved_count = 2);
}

static eg_ngram *make_ngram(void)
{
    static const char arpa[] = "\\data\\\nngram 1=2\n\\1-grams:\n-1 weight\n-1 </s>\n\\end\\\n";
    return eg_ngram_parse(arpa, strlen(arpa));
}

/* Something of two rows, under the name that texts are. */
static eg_cache *make_cache(void)
{
    eg_cache *c = eg_cache_new();
    eg_cache_put(c, "weight", eg_ones(EG_SHAPE(2, 3), EG_F32));
    return c;
}

#define HANDLE(name, value)                                        \
    eg_##name *v_##name(const hostile *h, int slot, const char *f) \
    {                                                              \
        (void)f;                                                   \
        return h->at == slot ? NULL : value;                       \
    }

static eg_json *make_json(const char *f)
{
    eg_json *j = eg_json_object();
    eg_json_add_number(j, "weight", 2);
    eg_json_add_text(j, "more", "text", 4);
    eg_json_add_bool(j, "still", true);
    int which = strstr(f, "_number") || strstr(f, "_integer") ? 0
                : strstr(f, "_text")                          ? 1
                : strstr(f, "_bool")                          ? 2
                                                              : -1;
    return which < 0 || strstr(f, "_add_") ? j : eg_json_at(j, which);
}

/* Those that are read have a confusion of the name that texts are. */
static eg_metrics *make_metrics(const char *f)
{
    eg_metrics *m = eg_metrics_new();
    if (strstr(f, "_value") || strstr(f, "_of") || strstr(f, "_matrix") || strstr(f, "_name")) {
        eg_metrics_confusion(m, "weight", eg_ones(EG_SHAPE(2, 3), EG_F32), eg_zeros(EG_SHAPE(2), EG_I64));
    }
    return m;
}
static eg_work *make_work(void)
{
    eg_tensor *x = eg_ones(EG_SHAPE(2), EG_F32);
    return eg_comm_all_reduce_start(eg_comm_threads_new(1), &x, 1, EG_COMM_SUM);
}
HANDLE(module, make_module(f))
HANDLE(dataset, make_dataset())
HANDLE(optim, make_optim())
HANDLE(saver, make_saver())
HANDLE(tensors_map, make_map(f))
HANDLE(scaler, eg_scaler_new())
HANDLE(comm, eg_comm_threads_new(1))
HANDLE(work, make_work())
HANDLE(ema, eg_ema_new(eg_module_parameters(linear())))
HANDLE(step, eg_step_new(step, NULL))
HANDLE(events, eg_events_new("events"))
HANDLE(journal, eg_journal_new("journal"))
HANDLE(metrics, make_metrics(f))
HANDLE(example, eg_example_new())
HANDLE(cache, make_cache())
HANDLE(word_counts, make_counts())
HANDLE(vocabulary, make_vocabulary())
HANDLE(ngram, make_ngram())
HANDLE(tokenizer, make_tokenizer())
HANDLE(json, make_json(f))
HANDLE(tfrecord_writer, eg_tfrecord_writer_new("records"))
HANDLE(device, eg_cpu())

eg_stream *v_stream(const hostile *h, int slot, const char *f)
{
    (void)h;
    (void)slot;
    (void)f;
    return NULL;
}

eg_event *v_event(const hostile *h, int slot, const char *f)
{
    (void)h;
    (void)slot;
    (void)f;
    return NULL;
}

eg_module **v_modules(const hostile *h, int slot)
{
    eg_module **m = calloc(2, sizeof *m);
    m[0] = make_module(h->function);
    m[1] = h->at == slot ? NULL : make_module(h->function);
    return h->at == slot && h->how ? NULL : m;
}

eg_dataset **v_datasets(const hostile *h, int slot)
{
    eg_dataset **d = calloc(2, sizeof *d);
    d[0] = make_dataset();
    d[1] = h->at == slot ? NULL : make_dataset();
    return h->at == slot && h->how ? NULL : d;
}

eg_parameters v_parameters(const hostile *h, int slot)
{
    static const char *const others[] = {"more", "still"};
    eg_parameters p = eg_module_parameters(linear());
    p.names = strstr(h->function, "optim_add") ? others : p.names;
    if (h->at == slot) {
        p = h->how == 0   ? (eg_parameters){NULL, NULL, 2}
            : h->how == 1 ? (eg_parameters){p.tensors, p.names, -1}
            : h->how == 2 ? (eg_parameters){p.tensors, p.names, 0}
                          : (eg_parameters){calloc(2, sizeof *p.tensors), NULL, 2};
    }
    return p;
}
