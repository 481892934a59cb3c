/* test_left_out.c - entries of a file that its reader leaves out, and why; names that are empty. */
#include "tests/egt.h"

#define FOLDER "tests/golden/odd/"

typedef struct entry {
    const char *name, *why; /* why NULL: a tensor whose first element is `first` */
    double first;
} entry;

static void check(const char *path, const entry *entries, int n, int64_t tensors)
{
    snprintf(egt_case, sizeof egt_case, "%s", path);
    eg_tensors *m = eg_tensors_open(path);
    egt_need(m, "zlib");
    EGT_CHECK(m);
    EGT_EQ(eg_tensors_count(m), tensors);
    for (int i = 0; i < n; i++) {
        const entry *e = &entries[i];
        if (!e->why) {
            eg_tensor *t = eg_tensors_get(m, e->name);
            egt_need(t, "zlib");
            EGT_CHECK(eg_numel(t) == 3 && eg_get(t, 0) == e->first && eg_get(t, 2) == e->first + 2);
            continue;
        }
        EGT_CHECK(!eg_tensors_has(m, e->name));
        const char *text = eg_tensors_text(m, e->name);
        EGT_CHECK(text && !strncmp(text, "left out: ", 10) && strstr(text, e->why));
    }
    eg_tensors_free(m);
}

#define CHECK(path, tensors, ...)                                                         \
    do {                                                                                  \
        static const entry entries_[] = {__VA_ARGS__};                                    \
        check(FOLDER path, entries_, (int)(sizeof entries_ / sizeof *entries_), tensors); \
    } while (0)

#define ARRAYS                                                                                                   \
    {"w", NULL, 0}, {"", NULL, 10}, {"text", "'<U2'", 0}, {"bytes", "'|S2'", 0}, {"structure", "structured", 0}, \
        {"many", "structured", 0}, {"when", "M8", 0}, {"long", "f16", 0}, {"object", "'|O'", 0},                 \
    {                                                                                                            \
        "axes", "8 axes", 0                                                                                      \
    }

EGT(arrays_of_npz)
{
    CHECK("odd.npz", 2, ARRAYS);
    CHECK("packed.npz", 2, ARRAYS);
    eg_tensors *m = eg_npz_load(FOLDER "packed.npz");
    egt_need(m, "zlib");
    EGT_EQ(eg_tensors_count(m), 2);
    EGT_EQ(eg_get(eg_tensors_get(m, ""), 1), 11);
    EGT_STR(eg_tensors_text(m, "object"), "left out: descr '|O' is none Egret has");
    eg_tensors_free(m);
}

#define VALUES                                                                                                      \
    {"w", NULL, 0}, {"", NULL, 10}, {"inner.v", NULL, 1}, {"ordered.w", NULL, 2}, {"ordered.", NULL, 3},            \
        {"list.0", NULL, 4}, {"numpy", "scalar", 0}, {"array", "_reconstruct", 0}, {"conj", "conjugated", 0},       \
        {"imaginary", "negated", 0}, {"sparse", "_rebuild_sparse_tensor", 0}, {"csr", "_rebuild_sparse_tensor", 0}, \
        {"quantized", "_rebuild_qtensor", 0}, {"axes", "8 axes", 0}, {"fraction", "fractions.Fraction", 0},         \
        {"slice", "slice", 0}, {"function", "getattr", 0},                                                          \
    {                                                                                                               \
        "list.2", "print", 0                                                                                        \
    }

EGT(values_of_pt)
{
    CHECK("odd.pt", 6, VALUES, {"storage", "without a tensor", 0});
    CHECK("odd.legacy.pt", 6, VALUES);
    eg_tensors *m = eg_tensors_open(FOLDER "odd.pt");
    EGT_STR(eg_tensors_text(m, "number"), "7");
    EGT_CHECK(strstr(eg_tensors_text(m, ""), "neither UTF-8 nor a number")); /* a key that is a tuple */
    eg_tensors_free(m);
}

EGT(objects_of_hdf5)
{
    CHECK("odd.h5", 3, {"w", NULL, 0}, {"group/v", NULL, 1}, {"soft", NULL, 0}, {"text", "strings", 0},
          {"texts", "strings", 0}, {"empty", "without elements", 0}, {"compound", "structures", 0},
          {"colour", "enumerations", 0}, {"object", "references", 0}, {"axes", "more axes", 0}, {"lzf", "packed by", 0},
          {"outside", "other files", 0}, {"virtual", "other files", 0}, {"external", "another file", 0},
          {"dangling", "soft link", 0}, {"alias", "soft link", 0}, {"type", "no dataset", 0});
}

/* ---- what a load report has of them -------------------------------------------------------------- */

EGT(load_report_has_what_was_not_read)
{
    eg_module *net = eg_sequential_new(eg_named("sparse", eg_linear_new(2, 2)));
    eg_tensors *m = eg_tensors_open(FOLDER "odd.pt");
    eg_load_report *report = NULL;
    EGT_OK(eg_module_load_state(net, m, .allow_missing = true, .allow_unexpected = true, .report = &report));
    EGT_EQ(eg_load_report_of(report, EG_LOAD_NOT_READ), 14);
    EGT_EQ(eg_load_report_of(report, EG_LOAD_MISSING), 2);
    for (int64_t i = 0; i < eg_load_report_count(report); i++) {
        eg_load_row row = eg_load_report_at(report, i);
        EGT_CHECK((row.why != NULL) == (row.fate == EG_LOAD_NOT_READ));
        EGT_CHECK(strcmp(row.name, "numpy") != 0 || !strncmp(row.why, "numpy._core.multiarray.scalar", 29));
    }
    eg_load_report_free(report);
    eg_tensors_free(m);
    EGT_OK(eg_module_free(net));
    /* One that a member wants. */
    net = eg_sequential_new(eg_named("conv", eg_linear_new(2, 2, .no_bias = true)));
    eg_tensors *state = eg_tensors_new();
    EGT_OK(eg_tensors_set(state, "w", eg_zeros(EG_SHAPE(1), EG_F32)));
    EGT_OK(eg_tensors_set_text(state, "conv.weight", "left out: by nobody"));
    EGT_OK(eg_tensors_save(state, egt_path("s.safetensors")));
    eg_tensors *file = eg_tensors_open(egt_path("s.safetensors"));
    EGT_OK(eg_module_load_state(net, file, .allow_missing = true, .allow_unexpected = true, .report = &report));
    EGT_EQ(eg_load_report_of(report, EG_LOAD_NOT_READ), 1);
    EGT_STR(eg_load_report_at(report, 0).name, "conv.weight");
    EGT_STR(eg_load_report_at(report, 0).why, "by nobody");
    FILE *out = fopen(egt_path("table"), "w");
    EGT_OK(eg_load_report_print(out, report));
    fclose(out);
    size_t n;
    char *table = egt_read(egt_path("table"), &n);
    EGT_CHECK(strstr(table, "not read") && strstr(table, "conv.weight  by nobody"));
    free(table);
    eg_load_report_free(report);
    eg_tensors_free(file);
    eg_tensors_free(state);
    EGT_OK(eg_module_free(net));
}

/* ---- empty names ------------------------------------------------------------------------------------ */

EGT(empty_names_are_names)
{
    static const char *const files[] = {"a.safetensors", "a.npz", "a.gguf"};
    eg_tensors *m = eg_tensors_new();
    EGT_OK(eg_tensors_set(m, "", eg_arange(10, 13, 1, EG_F32)));
    EGT_OK(eg_tensors_set(m, "w", eg_arange(0, 3, 1, EG_F32)));
    for (int i = 0; i < (int)(sizeof files / sizeof *files); i++) {
        snprintf(egt_case, sizeof egt_case, "%s", files[i]);
        EGT_OK(eg_tensors_save(m, egt_path(files[i])));
        eg_tensors *back = eg_tensors_open(egt_path(files[i]));
        EGT_CHECK(back);
        EGT_EQ(eg_tensors_count(back), 2);
        EGT_EQ(eg_get(eg_tensors_get(back, ""), 2), 12);
        EGT_EQ(eg_get(eg_tensors_get(back, "w"), 2), 2);
        eg_tensors_free(back);
    }
    eg_tensors_free(m);
}
