/* values.c - plausible arguments, and the hostile ones in their places: numbers, tensors, words and memory. */
#include "tests/hostile/values.h"

#include <egret/models.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ------------------------------------------------------------------------------------ */

double v_real(const hostile *h, int slot)
{
    double fine = strstr(h->function, "audio_features") ? 16000 : h->world % 2 ? slot : 0.5; /* a part, or rising */
    return ONE_OF(double, h, slot, fine, REALS);
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
    {.words = {"istft"}, .t = {REAL(3, 2, 2)}},
    {.words = {"griffin_lim"}, .t = {REAL(9, 2)}},
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
    {.words = {"detector_loss"}, .t = {REAL(1, 3, 32, 32), REAL(1, 2, 4), INDEX(1, 2)}},
    {.words = {"detector_find"}, .t = {REAL(1, 3, 32, 32)}},
    {.words = {"detection_masks"}, .t = {REAL(2, 4), REAL(2, 28, 28)}},
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
eg_tensor *followed[2];

eg_tensor *v_loss(void)
{
    return eg_sum(eg_square(followed[0]));
}

static eg_tensor *fitting(const char *function, int k)
{
    const fit *f = fit_of(function);
    if (!f) {
        return followed[0] ? v_loss() : eg_full(EG_SHAPE(2, 3), 2, EG_I64);
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
           : strstr(function, "audio_save")                   ? "there.wav"
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
