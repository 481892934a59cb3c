/* test_tensorflow_files.c - checkpoints that TensorFlow wrote, and such as it reads. */
#define _POSIX_C_SOURCE 200809L
#include "tests/egt.h"

#include <unistd.h>

#include <egret/io.h>

#define GOLDEN "tests/golden/tensorflow/"

/* The file, or none if its blocks are packed and this build cannot unpack. */
static eg_tensors *open_golden(const char *file, bool copy)
{
    eg_tensors *m = eg_tensors_open(file, .copy = copy);
    egt_need(m, "snappy");
    return m;
}

/* Those of expected.safetensors under "set:" are those of the map, and no others. */
static void equal_golden(const eg_tensors *m, const char *set)
{
    eg_tensors *want = eg_tensors_open(GOLDEN "expected.safetensors");
    const size_t n = strlen(set);
    int64_t found = 0;
    EGT_CHECK(m && want);
    for (int64_t i = 0; i < eg_tensors_count(want); i++) {
        const char *name = eg_tensors_name(want, i);
        if (strncmp(name, set, n) || name[n] != ':') {
            continue;
        }
        const eg_tensor *t = eg_tensors_get(m, name + n + 1), *there = eg_tensors_at(want, i);
        snprintf(egt_case, sizeof egt_case, "%s", name);
        EGT_CHECK(t);
        EGT_EQ(eg_dtype_of(t), eg_dtype_of(there));
        EGT_EQ(egt_distance(t, there), 0);
        found++;
    }
    EGT_CHECK(found > 2);
    EGT_EQ(found, eg_tensors_count(m));
    eg_tensors_free(want);
}

static void equal_maps(const eg_tensors *a, const eg_tensors *b)
{
    EGT_EQ(eg_tensors_count(a), eg_tensors_count(b));
    for (int64_t i = 0; i < eg_tensors_count(a); i++) {
        const eg_tensor *there = eg_tensors_get(b, eg_tensors_name(a, i));
        EGT_CHECK(there);
        EGT_EQ(eg_dtype_of(there), eg_dtype_of(eg_tensors_at(a, i)));
        EGT_EQ(egt_distance(there, eg_tensors_at(a, i)), 0);
    }
}

/* A file of the fixtures in the test's folder, to be damaged. */
static const char *copy_of(const char *file, const char *as)
{
    char path[200];
    size_t n = 0;
    snprintf(path, sizeof path, GOLDEN "%s", file);
    char *bytes = egt_read(path, &n);
    const char *to = egt_path(as);
    egt_write(to, bytes, n);
    free(bytes);
    return to;
}

/* Whether all tensors of the file of that path are read. */
static bool read_all(void *user)
{
    eg_tensors *m = eg_tensors_open(user);
    bool ok = m != NULL;
    for (int64_t i = 0; i < eg_tensors_count(m) && ok; i++) {
        ok = eg_tensors_at(m, i) != NULL;
    }
    eg_tensors_free(m);
    return ok;
}

/* ---- what TensorFlow wrote ------------------------------------------------------------------------- */

EGT(what_tensorflow_wrote_is_read)
{
    static const struct {
        const char *file, *set, *format;
    } files[] = {
        {"objects.ckpt", "objects", "tf"}, {"objects.ckpt.index", "objects", "tf"}, {"types.ckpt", "types", "tf"},
        {"slices.ckpt", "slices", "tf"},   {"saver.ckpt", "saver", "tf"},           {"two.ckpt.index", "two", "tf"},
        {"old.ckpt", "old", "tf1"},
    };
    for (int copy = 0; copy < 2; copy++) {
        for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
            char path[200];
            snprintf(path, sizeof path, GOLDEN "%s", files[i].file);
            eg_tensors *m = open_golden(path, copy);
            equal_golden(m, files[i].set);
            EGT_STR(eg_tensors_format(m), files[i].format);
            eg_tensors_free(m);
        }
    }
}

EGT(packed_blocks_are_read)
{
    eg_tensors *m = open_golden(GOLDEN "packed.ckpt", false);
    equal_golden(m, "saver");
    eg_tensors_free(m);
    m = open_golden(GOLDEN "old_packed.ckpt", false);
    equal_golden(m, "old");
    eg_tensors_free(m);
    EGT_CHECK(egt_fail_allocations(read_all, GOLDEN "packed.ckpt") > 10);
}

EGT(names_and_what_is_left_out)
{
    eg_tensors *m = eg_tensors_open(GOLDEN "objects.ckpt");
    const char *kernel = "model/layer/kernel/.ATTRIBUTES/VARIABLE_VALUE";
    EGT_CHECK(eg_tensors_has(m, kernel));
    EGT_STR(eg_tensors_text(m, "_CHECKPOINTABLE_OBJECT_GRAPH"), "left out: string");
    EGT_STR(eg_tensors_text(m, "model/table/1/.ATTRIBUTES/VARIABLE_VALUE"), "left out: string");
    EGT_EQ(eg_tensors_text_count(m), 2);
    eg_tensors *ours = eg_tensors_renamed(m, "model/layer/*/.ATTRIBUTES/VARIABLE_VALUE layer.{1}");
    EGT_STR(eg_tensors_text(ours, "layer.kernel"), kernel);
    EGT_EQ(eg_tensors_count(ours), 2);
    eg_tensors_free(ours);
    eg_tensors_free(m);
    m = eg_tensors_open(GOLDEN "old.ckpt");
    EGT_STR(eg_tensors_text(m, "net/words"), "left out: string");
    EGT_STR(eg_tensors_name(m, 0), "global_step");
    EGT_STR(eg_tensors_about(m, 0).stored, "I64");
    eg_tensors_free(m);
    m = eg_tensors_open(GOLDEN "types.ckpt");
    EGT_STR(eg_tensors_about(m, 0).stored, "F32"); /* "a/scalar" */
    for (int64_t i = 0; i < eg_tensors_count(m); i++) {
        if (!strcmp(eg_tensors_name(m, i), "complex128")) {
            EGT_STR(eg_tensors_about(m, i).stored, "C128");
            EGT_EQ(eg_tensors_about(m, i).shape.ndim, 3);
            EGT_EQ(eg_tensors_about(m, i).bytes, 32);
        }
    }
    eg_tensors_free(m);
}

EGT(version_1_is_read_from_memory_and_version_2_is_not)
{
    size_t n = 0;
    char *bytes = egt_read(GOLDEN "old.ckpt", &n);
    eg_tensors *m = eg_tensors_parse(bytes, n);
    equal_golden(m, "old");
    /* Backwards: each lies before the one read last. */
    eg_tensors *again = eg_tensors_parse(bytes, n, .format = "tf1");
    for (int64_t i = eg_tensors_count(m); i-- > 0;) {
        EGT_EQ(egt_distance(eg_tensors_at(again, i), eg_tensors_at(m, i)), 0);
    }
    eg_tensors_free(again);
    eg_tensors_free(m);
    free(bytes);
    bytes = egt_read(GOLDEN "saver.ckpt.index", &n);
    EGT_REFUSED(eg_tensors_parse(bytes, n), EG_EFORMAT, "path of its index");
    EGT_REFUSED(eg_tensors_parse(bytes, n, .format = "tf"), EG_EFORMAT, "beside it");
    free(bytes);
}

/* ---- damage ---------------------------------------------------------------------------------------- */

static void damage(const char *path, long at, int xor)
{
    FILE *f = fopen(path, "r+b");
    EGT_CHECK(f && !fseek(f, at, at < 0 ? SEEK_END : SEEK_SET));
    const int c = fgetc(f);
    EGT_CHECK(!fseek(f, -1, SEEK_CUR) && fputc(c ^ xor, f) != EOF && !fclose(f));
}

EGT(damaged_files_are_refused)
{
    const char *data = copy_of("saver.ckpt.data-00000-of-00001", "x.data-00000-of-00001");
    const char *index = copy_of("saver.ckpt.index", "x.index");
    /* Elements: noticed where they are copied. */
    damage(data, 300, 1);
    eg_tensors *m = eg_tensors_open(index, .copy = true);
    int bad = 0;
    for (int64_t i = 0; i < eg_tensors_count(m); i++) {
        bad += !eg_tensors_at(m, i) && egt_said(EG_EFORMAT, "checksum");
    }
    EGT_EQ(bad, 1);
    eg_tensors_free(m);
    EGT_EQ(truncate(data, 200), 0);
    EGT_REFUSED(eg_tensors_open(index), EG_EFORMAT, "not in its file");
    unlink(data);
    EGT_REFUSED(eg_tensors_open(index), EG_EIO, "x.data-00000-of-00001");
    copy_of("saver.ckpt.data-00000-of-00001", "x.data-00000-of-00001");
    damage(index, 30, 4);
    EGT_REFUSED(eg_tensors_open(index), EG_EFORMAT, "checksum");
    copy_of("saver.ckpt.index", "x.index");
    damage(index, -1, 1);
    EGT_REFUSED(eg_tensors_open(index), EG_EFORMAT, "no format");
    EGT_REFUSED(eg_tensors_open(index, .format = "tf"), EG_EFORMAT, "sorted-string table");
    EGT_REFUSED(eg_tensors_open(index, .format = "tf1"), EG_EFORMAT, "sorted-string table");
    const char *old = copy_of("old.ckpt", "y.ckpt");
    damage(old, 100, 8);
    EGT_REFUSED(eg_tensors_open(old), EG_EFORMAT, "checksum");
}

/* ---- what is written --------------------------------------------------------------------------------- */

static eg_tensors *sample(void)
{
    eg_tensors *m = eg_tensors_new();
    eg_scope s = eg_scope_push();
    eg_tensors_set_text(m, "format", "pt");
    eg_tensors_set(m, "flag", eg_from_values(EG_SHAPE(3), EG_BOOL, (double[]){1, 0, 1}));
    eg_tensors_set(m, "half", egt_random(EG_SHAPE(2, 3), EG_F16, -1, 1));
    eg_tensors_set(m, "brain", egt_random(EG_SHAPE(3), EG_BF16, -1, 1));
    eg_tensors_set(m, "w.weight", eg_transpose(egt_random(EG_SHAPE(30, 40), EG_F32, -1, 1), 0, 1));
    eg_tensors_set(m, "d", egt_random(EG_SHAPE(2, 1, 2), EG_F64, -1, 1));
    eg_tensors_set(m, "i", egt_random(EG_SHAPE(400), EG_I64, -9e15, 9e15));
    eg_tensors_set(m, "j", egt_random(EG_SHAPE(4), EG_I32, -9e5, 9e5));
    eg_tensors_set(m, "u", egt_random(EG_SHAPE(5), EG_U8, 0, 255));
    eg_tensors_set(m, "none", eg_zeros(EG_SHAPE(0, 3), EG_F32));
    eg_tensors_set(m, "scalar", eg_scalar(2.5, EG_F32));
    eg_scope_pop(s, NULL);
    return m;
}

EGT(what_is_written_comes_back)
{
    eg_tensors *m = sample();
    const char *path = egt_path("model.ckpt");
    EGT_OK(eg_tensors_save(m, path));
    EGT_EQ(egt_files("model.ckpt"), 2);
    for (int copy = 0; copy < 2; copy++) {
        eg_tensors *back = eg_tensors_open(path, .copy = copy);
        EGT_STR(eg_tensors_format(back), "tf");
        equal_maps(m, back);
        eg_tensors_free(back);
    }
    /* By the index's name they are the same files; nothing else is left behind. */
    EGT_OK(eg_tensors_save(m, egt_path("model.ckpt.index")));
    EGT_OK(eg_tensors_save(m, egt_path("other"), .format = "tf"));
    EGT_EQ(egt_files("model.ckpt"), 2);
    EGT_EQ(egt_files("other."), 2);
    eg_tensors *none = eg_tensors_new(), *back;
    EGT_OK(eg_tensors_save(none, egt_path("none.ckpt")));
    back = eg_tensors_open(egt_path("none.ckpt"));
    EGT_EQ(eg_tensors_count(back), 0);
    eg_tensors_free(back);
    EGT_OK(eg_tensors_set(none, "", eg_scalar(1, EG_F32)));
    EGT_REFUSED(eg_tensors_save(none, egt_path("none.ckpt")), EG_EINVAL, "empty name");
    EGT_REFUSED(eg_tensors_save(m, egt_path("x"), .format = "tf1"), EG_EINVAL, "tf1");
    eg_tensors_free(none);
    eg_tensors_free(m);
}

/* Names enough for many blocks, restarts and names that begin alike. */
EGT(large_indices)
{
    eg_tensors *m = eg_tensors_new();
    eg_scope s = eg_scope_push();
    for (int i = 0; i < 5000; i++) {
        char name[80];
        snprintf(name, sizeof name, "%s/layer_%d/kernel", i % 3 ? "encoder" : "decoder\xff\x01", i);
        EGT_OK(eg_tensors_set(m, name, eg_scalar(i, EG_I32)));
    }
    eg_scope_pop(s, NULL);
    EGT_OK(eg_tensors_save(m, egt_path("many.ckpt")));
    eg_tensors *back = eg_tensors_open(egt_path("many.ckpt"));
    equal_maps(m, back);
    EGT_OK(eg_unpack_limit(100000));
    EGT_REFUSED(eg_tensors_open(egt_path("many.ckpt")), EG_EFORMAT, "names become");
    EGT_OK(eg_unpack_limit(0));
    eg_tensors_free(back);
    eg_tensors_free(m);
}

EGT(tensors_are_views_where_they_are_aligned)
{
    eg_tensors *m = sample();
    const char *path = egt_path("v.ckpt");
    EGT_OK(eg_tensors_save(m, path));
    eg_tensors *a = eg_tensors_open(path);
    eg_tensor *kept = eg_keep(eg_tensors_get(a, "i"));
    FILE *f = fopen(egt_path("v.ckpt.data-00000-of-00001"), "r+b");
    EGT_CHECK(f && !fseek(f, 0, SEEK_END));
    const long size = ftell(f);
    /* Bytes that change in the file change in a view of it. */
    for (long at = 0; at < size; at++) {
        EGT_CHECK(!fseek(f, at, SEEK_SET) && fputc(0, f) == 0);
    }
    EGT_CHECK(!fclose(f));
    EGT_EQ(eg_get(kept, 7), 0);
    eg_tensors_free(a);
    EGT_EQ(eg_get(kept, 9), 0);
    eg_release(kept);
    eg_tensors_free(m);
}

/* ---- memory ------------------------------------------------------------------------------------------ */

static bool write_all(void *user)
{
    return !eg_tensors_save(user, egt_path("failing.ckpt"));
}

EGT(memory_that_runs_out)
{
    static char *const files[] = {GOLDEN "slices.ckpt", GOLDEN "old.ckpt", GOLDEN "types.ckpt"};
    for (int i = 0; i < 3; i++) {
        EGT_CHECK(egt_fail_allocations(read_all, files[i]) > 10);
    }
    eg_tensors *m = sample();
    EGT_CHECK(egt_fail_allocations(write_all, m) > 10);
    EGT_EQ(egt_files("tmp"), 0);
    eg_tensors_free(m);
}
