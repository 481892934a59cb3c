/* test_onnx_cases.c - the node cases and small models that ONNX comes with, as one model each with inputs and outputs.
 *
 *     test_onnx_cases [FOLDER] [WORD]     cases with that word in their names, told of one by one
 *
 * The folder is that of Debian's libonnx-testdata, or of what the onnx package generates; without it all are skipped.
 */
#define _DEFAULT_SOURCE
#include "tests/egt.h"

#include <dirent.h>
#include <math.h>
#include <sys/stat.h>

#include <egret/io.h>
#include <egret/onnx.h>
#include <egret/ops.h>

/* Cases that are not run, by a word in their names, and why. */
static const char *const left_out[][2] = {
    {"sequence", "sequences"},
    {"identity_opt", "optionals"},
    {"if_opt", "optionals"},
    {"if_seq", "sequences"},
    {"loop13_seq", "sequences"},
    {"loop16_seq", "sequences"},
    {"optional_", "optionals"},
    {"STRING", "texts"},
    {"strnormalizer", "texts"},
    {"adagrad", "training"},
    {"adam", "training"},
    {"momentum", "training"},
    {"gradient_of", "training"},
    {"string_", "texts"},
    {"regex", "texts"},
    {"equal_string", "texts"},
    {"ai_onnx_ml", "another domain"},
    {"strnorm_model", "texts"},
    {"FLOAT_to_BFLOAT16", "rounded otherwise, by the generator of that time"},
    {"castlike_BFLOAT16_to_FLOAT", "a file with another shape than its model"},
    {"training_dropout", "numbers of another generator"},
    {"qlinearmatmul_2D_int8", "numbers that went round, which are to be held"},
    {"qlinearmatmul_3D_int8", "numbers that went round, which are to be held"},
    {"averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_True",
     "of some versions: cells behind all count"},
    {"decode_jpeg2k", "JPEG 2000"},
    {"decode_tiff", "TIFF"},
    {"decode_webp", "WebP"},
};

static const char *why_left_out(const char *name)
{
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++) {
        if (strstr(name, left_out[i][0])) {
            return left_out[i][1];
        }
    }
    return NULL;
}

/* How far a result may be off: a part of the number and more. */
typedef struct tolerance {
    double relative, more;
} tolerance;

/* 1e-7 + 1e-3 |b|, as ONNX's own runner, unless the case says otherwise in a file. NumPy from version 2 on transforms
 * f32 in f32: what is to be 0 is up to 3e-7 in cases made with it. */
static tolerance tolerance_of(const char *folder)
{
    char path[2048];
    tolerance t = {1e-3, strstr(folder, "dft_inverse") ? 1e-6 : 1e-7};
    snprintf(path, sizeof path, "%s/tolerance", folder);
    FILE *file = fopen(path, "r");
    if (file && fscanf(file, "%lf %lf", &t.relative, &t.more) != 2) {
        t = (tolerance){0, 0};
    }
    if (file) {
        fclose(file);
    }
    return t;
}

/* |a - b| within the tolerance, of bf16 2^-6 |b|; NaN is NaN. What was drawn by chance has but its shape and dtype. */
static bool close_to(const eg_tensor *a, const eg_tensor *b, tolerance of, bool by_chance, double *worst)
{
    const eg_shape s = eg_shape_of(a), t = eg_shape_of(b);
    if (s.ndim != t.ndim || memcmp(s.dim, t.dim, (size_t)s.ndim * sizeof *s.dim) || eg_dtype_of(a) != eg_dtype_of(b)) {
        *worst = INFINITY;
        return false;
    }
    const double relative = eg_dtype_of(b) == EG_BF16 ? fmax(of.relative, 0x1p-6) : of.relative;
    const double least = eg_dtype_of(b) == EG_F16 || eg_dtype_of(b) == EG_BF16 ? fmax(of.more, 1e-3) : of.more;
    for (int64_t i = 0; i < eg_numel(a) && !by_chance; i++) {
        const double x = eg_get(a, i), y = eg_get(b, i);
        const double off = x == y || (isnan(x) && isnan(y)) ? 0 : fabs(x - y) - relative * fabs(y);
        *worst = isnan(off) ? INFINITY : fmax(*worst, off);
    }
    return *worst <= least;
}

/* bf16 as files of older versions have it: its bits as u16. */
static eg_tensor *as_bf16(eg_tensor *bits)
{
    enum { MOST = 4096 };
    uint16_t words[MOST];
    for (int64_t i = 0; i < eg_numel(bits) && i < MOST; i++) {
        words[i] = (uint16_t)eg_get_int(bits, i);
    }
    return eg_from(eg_shape_of(bits), EG_BF16, words);
}

static eg_tensor *read_pb(const char *folder, const char *set, const char *what, int i, eg_dtype dtype)
{
    char path[2048];
    snprintf(path, sizeof path, "%s/%s/%s_%d.pb", folder, set, what, i);
    eg_tensors *map = eg_tensors_open(path, .format = "onnx-tensor");
    eg_scope s = eg_scope_push();
    eg_tensor *t = eg_tensors_count(map) ? eg_tensors_at(map, 0) : NULL;
    t = eg_keep(t && dtype == EG_BF16 && eg_dtype_of(t) == EG_I32 ? as_bf16(t) : t);
    eg_scope_pop(s, NULL);
    eg_tensors_free(map);
    return t;
}

static bool there(const char *folder, const char *set)
{
    char path[2048];
    struct stat about;
    snprintf(path, sizeof path, "%s/%s", folder, set);
    return !stat(path, &about);
}

/* One set of inputs and outputs; words say what is wrong. */
static bool run_set(eg_module *net, const char *folder, const char *set, char *words, size_t room)
{
    eg_tensor *in[64] = {0}, *wanted[64] = {0}, *out[64] = {0};
    const int nin = eg_onnx_inputs(net), nout = eg_onnx_outputs(net);
    const tolerance within = tolerance_of(folder);
    bool good = true;
    int given = 0;
    for (int i = 0; i < nin; i++) {
        in[i] = read_pb(folder, set, "input", i, eg_onnx_input_at(net, i).dtype);
        given = in[i] ? i + 1 : given;
    }
    eg_scope s = eg_scope_push();
    eg_clear_error();
    if (eg_onnx_forward(net, in, given, out)) {
        snprintf(words, room, "%s", eg_last_error()->message);
        good = false;
    }
    for (int i = 0; i < nout && good; i++) {
        double worst = 0;
        wanted[i] = read_pb(folder, set, "output", i, eg_onnx_output_at(net, i).dtype);
        if (!wanted[i] || !close_to(out[i], wanted[i], within, strstr(folder, "test_bernoulli"), &worst)) {
            const eg_shape a = eg_shape_of(out[i]), b = eg_shape_of(wanted[i]);
            snprintf(words, room, "output %d is %g too far off, %s %d axes (%lld ..) for %s %d axes (%lld ..)", i,
                     worst, eg_dtype_name(eg_dtype_of(out[i])), a.ndim, (long long)a.dim[0],
                     eg_dtype_name(eg_dtype_of(wanted[i])), b.ndim, (long long)b.dim[0]);
            good = false;
        }
    }
    eg_scope_pop(s, NULL);
    for (int i = 0; i < 64; i++) {
        eg_release(in[i]);
        eg_release(wanted[i]);
    }
    return good;
}

static bool run_case(const char *folder, char *words, size_t room)
{
    char model[2048], set[64];
    snprintf(model, sizeof model, "%s/model.onnx", folder);
    eg_module *net = eg_onnx_load(model);
    if (!net) {
        snprintf(words, room, "%s", eg_last_error()->message);
        return false;
    }
    bool good = true;
    for (int i = 0; good && (snprintf(set, sizeof set, "test_data_set_%d", i), there(folder, set)); i++) {
        good = run_set(net, folder, set, words, room);
    }
    eg_module_free(net);
    return good;
}

typedef struct counts {
    int passed, failed, left;
} counts;

static void run_all(const char *root, const char *part, const char *word, counts *n)
{
    char folder[512], one[1024];
    struct dirent **entries;
    snprintf(folder, sizeof folder, "%s/%s", root, part);
    const int count = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        char words[300] = "";
        snprintf(one, sizeof one, "%s/%s", folder, name);
        if (*name != '.' && there(one, "model.onnx") && strstr(name, word)) {
            if (why_left_out(name)) {
                n->left++;
            } else if (run_case(one, words, sizeof words)) {
                n->passed++;
            } else {
                printf("  %s/%s: %s\n", part, name, words);
                n->failed++;
            }
        }
        free(entries[i]);
    }
    if (count >= 0) {
        free(entries);
    }
}

int main(int argc, char **argv)
{
    static const char *const parts[] = {"node", "simple", "pytorch-operator", "pytorch-converted"};
    const char *root = argc > 1 ? argv[1] : "/usr/share/libonnx-testdata/data";
    counts n = {0};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        run_all(root, parts[i], argc > 2 ? argv[2] : "", &n);
    }
    printf("%d passed, %d failed, %d skipped\n", n.passed, n.failed, n.left + (n.passed + n.failed == 0));
    return n.failed != 0;
}
