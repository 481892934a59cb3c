/* values.c - plausible arguments, and the hostile ones in their places. */
#include "tests/hostile/values.h"

#include <egret/models.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ------------------------------------------------------------------------------------ */

double v_real(const hostile *h, int slot)
{
    return ONE_OF(double, h, slot, h->world % 2 ? slot : 0.5, REALS); /* a part, or whole and rising */
}

int64_t v_int64(const hostile *h, int slot)
{
    int64_t fine = strstr(h->function, "randint") ? slot : h->world % 2 + 1;
    return ONE_OF(int64_t, h, slot, fine, INT64S);
}

bool v_bool(const hostile *h)
{
    return h->world / 2 % 2;
}

int v_int(const hostile *h, int slot)
{
    return ONE_OF(int, h, slot, (h->world + slot) % 2, INTS);
}

size_t v_size(const hostile *h, int slot)
{
    return ONE_OF(size_t, h, slot, 64, 0, 1, 7);
}

int v_count(const hostile *h, int slot)
{
    bool bytes = strstr(h->function, "module_new") || strstr(h->function, "copy_out");
    return ONE_OF(int, h, slot, bytes ? 64 : 2, INT_MIN, -1, 0);
}

int v_enum(const hostile *h, int slot)
{
    return ONE_OF(int, h, slot, 0, INT_MIN, INT_MAX, -1, 99);
}

eg_axes v_axes(const hostile *h, int slot)
{
    return ONE_OF(eg_axes, h, slot, EG_AXES(0), {-1, {0}}, {INT_MAX, {0}}, {1, {INT_MIN}}, {1, {INT_MAX}}, {2, {0, 0}});
}

/* ---- tensors ------------------------------------------------------------------------------------ */

/* What functions want that agree with none of the tensors of all: by a word of their name. The last one also stands
 * for those behind it. */
typedef struct fit {
    const char *words[5];
    struct {
        eg_dtype dtype; /* EG_BOOL: the unit matrix, of f32 */
        eg_shape shape;
    } t[4];
    eg_shape shape; /* as an argument */
} fit;

#define REAL(...)                                              \
    {                                                          \
        EG_F32,                                                \
        {                                                      \
            (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), \
            {                                                  \
                __VA_ARGS__                                    \
            }                                                  \
        }                                                      \
    }
#define INDEX(...)                                             \
    {                                                          \
        EG_I64,                                                \
        {                                                      \
            (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), \
            {                                                  \
                __VA_ARGS__                                    \
            }                                                  \
        }                                                      \
    }
#define BYTES(...)                                             \
    {                                                          \
        EG_U8,                                                 \
        {                                                      \
            (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), \
            {                                                  \
                __VA_ARGS__                                    \
            }                                                  \
        }                                                      \
    }
#define UNIT(n)      \
    {                \
        EG_BOOL,     \
        {            \
            2,       \
            {        \
                n, n \
            }        \
        }            \
    }
static const fit fits[] = {
    {.words = {"conv1d", "conv_transpose1d"}, .t = {REAL(2, 4, 8), REAL(4, 4, 1), REAL(4)}},
    {.words = {"conv2d", "conv_transpose2d"}, .t = {REAL(2, 4, 4, 4), REAL(4, 4, 1, 1), REAL(4)}},
    {.words = {"conv3d", "conv_transpose3d"}, .t = {REAL(1, 4, 3, 3, 3), REAL(4, 4, 1, 1, 1), REAL(4)}},
    {.words = {"conv_data"}, .t = {REAL(2, 4, 4, 4), REAL(4, 4, 1, 1)}, .shape = {4, {2, 4, 4, 4}}},
    {.words = {"conv_weight"}, .t = {REAL(2, 4, 4, 4), REAL(2, 4, 4, 4)}, .shape = {4, {4, 4, 1, 1}}},
    {.words = {"pool1d"}, .t = {REAL(2, 4, 8)}},
    {.words = {"pool2d"}, .t = {REAL(2, 4, 4, 4)}},
    {.words = {"pool3d"}, .t = {REAL(1, 4, 3, 3, 3)}},
    {.words = {"unpool"}, .t = {REAL(1, 1, 2, 2), INDEX(1, 1, 2, 2)}, .shape = {2, {2, 2}}},
    {.words = {"batch_norm", "group_norm", "instance_norm", "scale_channels"}, .t = {REAL(2, 4, 4, 4), REAL(4)}},
    {.words = {"scatter_nd_add", "scatter_nd_copy"}, .t = {REAL(2, 3), INDEX(1, 1), REAL(1, 3)}},
    {.words = {"scatter_nd"}, .t = {INDEX(1, 1), REAL(1, 3)}, .shape = {2, {2, 3}}},
    {.words = {"gather", "scatter", "take_along"}, .t = {REAL(2, 3), INDEX(2, 3), REAL(2, 3)}},
    {.words = {"index_copy", "index_add"}, .t = {REAL(2, 2), INDEX(2), REAL(2, 2)}},
    {.words = {"ravel_index"}, .t = {INDEX(4, 2)}, .shape = {2, {2, 3}}},
    {.words = {"eg_split"}, .t = {REAL(0, 0)}},
    {.words = {"inverse", "solve", "cholesky"}, .t = {UNIT(4)}},
    {.words = {"positions_forward"}, .t = {REAL(2, 3, 4)}},
    {.words = {"decoder_layer_forward"}, .t = {REAL(2, 3, 4), REAL(2, 5, 4)}},
    {.words = {"fft", "complex"}, .t = {REAL(4, 2)}},
    {.words = {"nms"}, .t = {REAL(4, 4), REAL(4), INDEX(4)}},
    {.words = {"crop_and_resize", "roi_align"}, .t = {REAL(2, 4, 4, 4), REAL(2, 4), INDEX(2)}},
    {.words = {"rotary_embedding"}, .t = {REAL(2, 4), REAL(2, 2), REAL(2, 2)}},
    {.words = {"rotary_tables"}, .t = {INDEX(3)}},
    {.words = {"grid_sample"}, .t = {REAL(2, 4, 4, 4), REAL(2, 3, 3, 2)}},
    {.words = {"affine_grid"}, .t = {REAL(2, 2, 3)}},
    {.words = {"ctc"}, .t = {REAL(3, 2, 4), INDEX(2)}},
    {.words = {"png", "jpeg", "image", "preprocess"}, .t = {BYTES(3, 4, 4)}},
    {.words = {"mixup", "cutmix"}, .t = {REAL(2, 3, 4, 4), INDEX(2)}},
    {.words = {"copy_out"}, .t = {REAL(4, 4)}},
    {.words = {"_text_", "word_counts", "vocabulary", "tokenizer", "_train"}, .t = {BYTES(6)}},
    {.words = {"generate", "beam_search", "transformer_", "bert_forward"}, .t = {INDEX(2, 3)}},
    {.words = {"cvt_encode"}, .t = {INDEX(2, 3), INDEX(2, 3, 4)}},
    {.words = {"cvt_views_loss"}, .t = {REAL(2, 3, 5)}},
    {.words = {"cache_select", "edit_distance"}, .t = {INDEX(2)}},
    {.words = {"mask_tokens"}, .t = {INDEX(3), BYTES(4)}},
    {.words = {"metrics_spans", "metrics_edits", "bleu_ids"}, .t = {INDEX(2, 3)}},
};

static bool fits_function(const fit *f, const char *function)
{
    bool any = false;
    for (int i = 0; i < 5 && f->words[i] && !any; i++) {
        any = strstr(function, f->words[i]) != NULL;
    }
    return any;
}

static const fit *fit_of(const char *function)
{
    const fit *f = fits, *end = fits + sizeof fits / sizeof *fits;
    while (f < end && !fits_function(f, function)) {
        f++;
    }
    return f < end ? f : NULL;
}

/* Of functions that differentiate: their optimizer's parameters, or two of their own, and a number made of one. */
static eg_tensor *followed[2];

static eg_tensor *loss(void)
{
    return eg_sum(eg_square(followed[0]));
}

static eg_tensor *followed_loss(void *user)
{
    (void)user;
    return followed[0] ? loss() : NULL;
}

static eg_tensor *fitting(const char *function, int k)
{
    const fit *f = fit_of(function);
    if (!f) {
        return followed[0] ? loss() : eg_full(EG_SHAPE(2, 3), 2, EG_I64);
    }
    while (k > 3 || !f->t[k].shape.ndim) {
        k--;
    }
    eg_dtype dtype = f->t[k].dtype;
    return dtype == EG_BOOL  ? eg_eye(f->t[k].shape.dim[0], f->t[k].shape.dim[1], 0, EG_F32)
           : dtype == EG_F32 ? eg_full(f->t[k].shape, 0.5, dtype)
                             : eg_zeros(f->t[k].shape, dtype);
}

eg_tensor *v_plausible(const hostile *h, int k)
{
    switch (h->world) {
    case 0:
        return eg_full(EG_SHAPE(2, 3), 0.5, EG_F32);
    case 1:
        return eg_full(EG_SHAPE(2, 4, 4, 4), 0.5, EG_F32);
    case 2:
        return k ? eg_ones(EG_SHAPE(2), EG_I64) : eg_full(EG_SHAPE(2, 3), 0.5, EG_F32);
    case 3:
        return eg_full(EG_SHAPE(4, 4), 0.5, EG_F64);
    case 4:
        return eg_full(EG_SCALAR, 0.5, EG_F32);
    case 5:
        return k ? eg_full(EG_SHAPE(4), 0.5, EG_F32) : eg_full(EG_SHAPE(3, 2, 4), 0.5, EG_F32);
    case 6:
        return eg_zeros(k ? EG_SHAPE(2, 4) : EG_SHAPE(1, 4, 4, 3), k ? EG_F32 : EG_U8);
    case 7:
        return eg_ones(EG_SHAPE(4), EG_I64);
    case 8:
        return eg_ones(EG_SHAPE(2, 3), EG_BOOL);
    default:
        return fitting(h->function, k);
    }
}

eg_tape v_tape(const hostile *h)
{
    eg_tape tape = eg_tape_open();
    if (strstr(h->function, "tape_gradients")) {
        for (int k = 0; k < 2; k++) {
            followed[k] = eg_full(EG_SHAPE(2, 3), 0.5, EG_F32);
            eg_tape_watch(tape, followed[k]);
        }
    }
    return tape;
}

eg_cvt_states v_cvt_states(void)
{
    return (eg_cvt_states){.there = eg_full(EG_SHAPE(2, 3, 2), 0.5, EG_F32),
                           .back = eg_full(EG_SHAPE(2, 3, 2), 0.5, EG_F32),
                           .all = eg_full(EG_SHAPE(2, 3, 8), 0.5, EG_F32)};
}

eg_shape v_shape(const hostile *h, int slot)
{
    const fit *f = h->world > 8 ? fit_of(h->function) : NULL;
    const eg_shape fine = f && f->shape.ndim ? f->shape : EG_SHAPE(2, 3);
    return ONE_OF(eg_shape, h, slot, fine, {-1, {0}}, {INT_MAX, {2}}, {2, {-1, 3}}, {2, {INT64_MAX, 2}},
                  {3, {1 << 20, 1 << 20, 1 << 20}}, {2, {INT64_MIN, 1}});
}

eg_tensor *v_tensor(const hostile *h, int slot, int k)
{
    if (h->at != slot) {
        return v_plausible(h, k);
    }
    return h->how == 0 ? NULL : h->how == 1 ? eg_zeros(EG_SHAPE(0), EG_F32) : eg_zeros(EG_SHAPE(1, 1, 1), EG_BOOL);
}

eg_tensor *v_optional(const hostile *h, int slot)
{
    return h->at == slot ? v_tensor(h, slot, 1) : NULL;
}

eg_tensor **v_tensors(const hostile *h, int slot)
{
    eg_tensor **t = calloc(2, sizeof *t);
    for (int k = 0; k < 2; k++) {
        t[k] = h->at == slot && k ? NULL : followed[0] ? followed[k] : v_plausible(h, k);
    }
    return h->at == slot && h->how ? NULL : t;
}

eg_tensor **v_out(const hostile *h, int slot)
{
    return h->at == slot ? NULL : calloc(64, sizeof(eg_tensor *));
}

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
HANDLE(module, make_module(f))
HANDLE(dataset, make_dataset())
HANDLE(optim, make_optim())
HANDLE(saver, make_saver())
HANDLE(tensors_map, make_map(f))
HANDLE(scaler, eg_scaler_new())
HANDLE(ema, eg_ema_new(eg_module_parameters(linear())))
HANDLE(step, eg_step_new(step, NULL))
HANDLE(events, eg_events_new("events"))
HANDLE(journal, eg_journal_new("journal"))
HANDLE(metrics, make_metrics(f))
HANDLE(example, eg_example_new())
HANDLE(cache, make_cache())
HANDLE(word_counts, make_counts())
HANDLE(vocabulary, make_vocabulary())
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

/* ---- words, files and memory -------------------------------------------------------------------- */

const char *v_text(const hostile *h, int slot, const char *function, const char *name)
{
    static char text[70000], empty[70000]; /* as long as counts beside them may say */
    if (h->at == slot) {
        memset(text, 'x', sizeof text - 1);
        return h->how == 0 ? NULL : h->how == 1 ? empty : text;
    }
    if (!strcmp(function, "eg_json_add_text") && !strcmp(name, "text")) {
        return text; /* its bytes are an argument of their own */
    }
    return !strcmp(name, "equation")                          ? "ij,jk->ik"
           : !strcmp(function, "eg_index")                    ? "0"
           : !strcmp(function, "eg_device_open")              ? "cpu"
           : !strcmp(function, "eg_module_find")              ? ""
           : !strcmp(name, "single")                          ? "$A"
           : !strcmp(name, "pair")                            ? "$A $B"
           : !strcmp(function, "eg_debug")                    ? "nan"
           : strstr(function, "forward_taps")                 ? "**"
           : strstr(function, "eg_model_")                    ? "lenet"
           : strstr(function, "eg_lstm_lm_")                  ? "test"
           : !strcmp(name, "map")                             ? "w* kernel dense\n+ more.{1} zero\nb* {1}"
           : strstr(function, "eg_preprocess")                ? "lenet"
           : !strcmp(function, "eg_debug_isa")                ? "base"
           : strstr(function, "pad_seq")                      ? "post"
           : !strcmp(name, "path") || !strcmp(name, "folder") ? "there"
                                                              : "weight";
}

/* Also tags of spans, and words of a vocabulary. */
const char *const *v_texts(const hostile *h, int slot)
{
    static const char *const texts[] = {"O", "Inside"};
    return h->at == slot ? NULL : texts;
}

FILE *v_file(const hostile *h, int slot)
{
    static FILE *nowhere;
    if (!nowhere) {
        nowhere = fopen("/dev/null", "w");
    }
    return h->at == slot ? NULL : nowhere;
}

void *v_memory(const hostile *h, int slot, bool input)
{
    char *p = calloc(1, 65536);
    for (int i = 0; i < 8 && input; i++) { /* boundaries; scales, ratios, deviations */
        if (strstr(h->function, "bucket")) {
            ((int64_t *)(void *)p)[i] = i + 1;
        } else if (strstr(h->function, "image_normalise") || strstr(h->function, "random_box")) {
            ((double *)(void *)p)[i] = i ? 1 : 0.5;
        }
    }
    return h->at == slot ? NULL : p;
}

void *v_options(const hostile *h, int slot, void *options)
{
    return h->at == slot ? NULL : options;
}
