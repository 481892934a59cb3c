/* test_hdf5.c - HDF5 files and Keras' archives: numbers of all kinds, however they lie there, links, and what is
 * refused. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/egt.h"

#define FOLDER "tests/golden/keras/"

static eg_tensors *open_file(const char *path, bool copy)
{
    eg_tensors *m = eg_tensors_open(path, .copy = copy);
    EGT_CHECK(m);
    return m;
}

/* The names have what is expected, and there are no others. */
static void check_all(const char *path, const char *wanted, bool copy, int64_t others)
{
    eg_tensors *m = open_file(path, copy), *w = eg_safetensors_load(wanted);
    EGT_CHECK(m && w);
    EGT_EQ(eg_tensors_count(m), eg_tensors_count(w) + others);
    for (int64_t i = 0; i < eg_tensors_count(w); i++) {
        const char *name = eg_tensors_name(w, i);
        snprintf(egt_case, sizeof egt_case, "%s %s", path, name);
        eg_tensor *t = eg_tensors_get(m, name), *there = eg_tensors_at(w, i);
        egt_need(t, "zlib");
        EGT_CHECK(t);
        EGT_EQ(eg_dtype_of(t), eg_dtype_of(there));
        EGT_EQ(egt_distance(t, there), 0);
    }
    eg_tensors_free(m);
    eg_tensors_free(w);
}

EGT(keras_2_keeps_weights_by_layers)
{
    check_all(FOLDER "vgg.h5", FOLDER "vgg.safetensors", false, 0);
    eg_tensors *m = open_file(FOLDER "vgg.h5", false);
    EGT_STR(eg_tensors_format(m), "hdf5");
    EGT_STR(eg_tensors_name(m, 0), "block1_conv1/block1_conv1/bias:0");
    EGT_STR(eg_tensors_text(m, "backend"), "tensorflow");
    EGT_STR(eg_tensors_text(m, "keras_version"), "2.9.0");
    EGT_STR(eg_tensors_text(m, "layer_names"), "block1_conv1\nblock1_pool\npredictions");
    EGT_STR(eg_tensors_text(m, "predictions@weight_names"), "predictions/kernel:0\npredictions/bias:0");
    eg_tensors *ours = eg_tensors_renamed(m, "*/*/kernel:0 {1}.weight hwio\n");
    EGT_CHECK(!ours && egt_said(EG_ESHAPE, "")); /* that of the dense layer is no kernel */
    ours = eg_tensors_renamed(m, "block*_conv*/*/kernel:0 block{1}.conv{2}.weight hwio\n"
                                 "predictions/*/kernel:0 fc.weight dense\n");
    EGT_EQ(eg_tensors_count(ours), 2);
    eg_tensor *kernel = eg_tensors_get(ours, "block1.conv1.weight");
    EGT_EQ(eg_shape_of(kernel).dim[0], 4);
    eg_tensors_free(ours);
    eg_tensors_free(m);
}

EGT(numbers_are_read_however_they_lie_there)
{
    static const char *const files[] = {FOLDER "early", FOLDER "late"};
    for (int i = 0; i < 4; i++) {
        char path[80], wanted[80];
        snprintf(path, sizeof path, "%s.h5", files[i / 2]);
        snprintf(wanted, sizeof wanted, "%s.safetensors", files[i / 2]);
        check_all(path, wanted, i % 2, 1); /* and bf16, which NumPy has not */
        eg_tensors *m = open_file(path, i % 2);
        eg_tensor *half = eg_tensors_get(m, "bf16");
        EGT_EQ(eg_dtype_of(half), EG_BF16);
        EGT_EQ(eg_get(half, 0), 1);
        EGT_EQ(eg_get(half, 1), -2);
        EGT_EQ(eg_get(half, 2), 0.25);
        EGT_STR(eg_tensors_text(m, "titles"), "one\ntwo and \xc3\xa4");
        EGT_STR(eg_tensors_text(m, "group@weight_names"), "w0\nw1");
        EGT_STR(eg_tensors_text(m, "group@about"), "of a group");
        EGT_CHECK(!eg_tensors_has(m, "many/w0") && !eg_tensors_has(m, "group/nowhere"));
        EGT_STR(eg_tensors_text(m, "group/nowhere"), "left out: a soft link to what is no tensor");
        EGT_STR(eg_tensors_text(m, "texts"), "left out: strings or lists of various lengths");
        EGT_STR(eg_tensors_text(m, "pairs"), "left out: structures");
        eg_tensors_free(m);
    }
}

EGT(chunks_are_found_by_every_kind_of_index)
{
    static const char *const files[] = {FOLDER "trees.h5", FOLDER "arrays.h5", FOLDER "latest.h5"};
    for (int i = 0; i < 3; i++) {
        check_all(files[i], FOLDER "indexed.safetensors", i == 1, 0);
        eg_tensors *m = open_file(files[i], false);
        EGT_EQ(eg_tensors_text_count(m), 12); /* so many that they are apart from the header */
        EGT_STR(eg_tensors_text(m, "ordered@text3"), "number 8");
        eg_tensors_free(m);
    }
}

EGT(groups_of_many_links_are_walked)
{
    static const char *const files[] = {FOLDER "many_early.h5", FOLDER "many_late.h5"};
    for (int i = 0; i < 2; i++) {
        eg_tensors *m = open_file(files[i], false);
        EGT_EQ(eg_tensors_count(m), 1503);
        for (int k = 0; k < 1500; k++) {
            char name[20];
            snprintf(name, sizeof name, "many/w%d", k);
            EGT_EQ(eg_get(eg_tensors_get(m, name), 0), k % 3);
        }
        eg_tensors_free(m);
    }
}

EGT(what_lies_there_as_here_is_a_view)
{
    eg_tensors *m = open_file(FOLDER "early.h5", false), *again = open_file(FOLDER "early.h5", false);
    eg_tensor *t = eg_tensors_get(m, "types/f4le");
    EGT_OK(eg_set(t, 0, 77));
    EGT_EQ(eg_get(eg_tensors_get(m, "types/again"), 0), 77); /* the same place of the file */
    EGT_EQ(eg_get(eg_tensors_get(again, "types/f4le"), 0), 0);
    const eg_tensor *packed = NULL;
    for (int64_t i = 0; i < eg_tensors_count(m); i++) {
        if (!strcmp(eg_tensors_name(m, i), "types/u2be")) {
            EGT_STR(eg_tensors_about(m, i).stored, "U16");
            EGT_EQ(eg_tensors_about(m, i).bytes, 12);
            packed = eg_tensors_at(m, i);
        }
    }
    EGT_EQ(eg_dtype_of(packed), EG_I32);
    eg_tensors_free(m);
    eg_tensors_free(again);
}

EGT(keras_3_keeps_weights_and_archives_of_them)
{
    check_all(FOLDER "model.weights.h5", FOLDER "model.safetensors", false, 0);
    check_all(FOLDER "model.keras", FOLDER "model.safetensors", false, 0);
    check_all(FOLDER "model.keras", FOLDER "model.safetensors", true, 0);
    eg_tensors *m = open_file(FOLDER "model.keras", false);
    EGT_STR(eg_tensors_format(m), "keras");
    EGT_CHECK(strstr(eg_tensors_text(m, "config.json"), "BatchNormalization"));
    EGT_CHECK(strstr(eg_tensors_text(m, "metadata.json"), "keras_version"));
    eg_tensors_free(m);
}

EGT(bytes_in_memory_are_as_a_file)
{
    size_t n;
    char *bytes = egt_read(FOLDER "early.h5", &n);
    eg_tensors *m = eg_tensors_parse(bytes, n);
    free(bytes);
    eg_tensor *packed = eg_tensors_get(m, "chunks/packed");
    egt_need(packed, "zlib");
    EGT_EQ(eg_get(packed, 139), 139);
    EGT_EQ(eg_get(eg_tensors_get(m, "chunks/sparse"), 0), 7);
    eg_tensors_free(m);
}

/* ---- refusals ----------------------------------------------------------------------------------- */

EGT(no_other_file_is_opened)
{
    static const char *const files[][2] = {{FOLDER "external.h5", "another file"},
                                           {FOLDER "virtual.h5", "other files"},
                                           {FOLDER "storage.h5", "other files"},
                                           {FOLDER "filter.h5", "deflate"}};
    for (int i = 0; i < 4; i++) {
        eg_tensors *m = eg_tensors_open(files[i][0]);
        EGT_CHECK(m && eg_tensors_count(m) == (i == 0) && eg_tensors_text_count(m) == 1);
        EGT_CHECK(strstr(eg_tensors_text(m, eg_tensors_text_key(m, 0)), files[i][1]));
        eg_tensors_free(m);
    }
}

/* A file with some of its bytes others. */
static eg_tensors *changed(const char *path, size_t at, const void *bytes, size_t n)
{
    size_t size;
    char *all = egt_read(path, &size);
    memcpy(all + at, bytes, n);
    eg_tensors *m = eg_tensors_parse(all, size);
    free(all);
    return m;
}

EGT(superblocks_that_lie_are_refused)
{
    static const uint8_t zeros[8], many[8] = {0, 0, 0, 0, 1}, high[8] = {0, 0, 0, 0, 0, 0, 0, 0x80};
    EGT_REFUSED(changed(FOLDER "vgg.h5", 8, "\x09", 1), EG_EFORMAT, "version");
    EGT_REFUSED(changed(FOLDER "vgg.h5", 13, "\x04", 1), EG_EFORMAT, "8 bytes");
    EGT_REFUSED(changed(FOLDER "vgg.h5", 24, "\x01", 1), EG_EFORMAT, "elsewhere");
    EGT_REFUSED(changed(FOLDER "vgg.h5", 40, many, 8), EG_EFORMAT, "ends before");
    EGT_REFUSED(changed(FOLDER "vgg.h5", 48, zeros, 8), EG_EFORMAT, "goes on elsewhere");
    EGT_REFUSED(changed(FOLDER "late.h5", 20, zeros, 8), EG_EFORMAT, "goes on elsewhere");
    EGT_REFUSED(changed(FOLDER "late.h5", 36, zeros, 8), EG_EFORMAT, "damaged is the header of \"/\"");
    EGT_REFUSED(changed(FOLDER "late.h5", 36, high, 8), EG_EFORMAT, "ends before");
    EGT_REFUSED(eg_tensors_parse("\x89HDF\r\n\x1a\n", 8), EG_EFORMAT, "too few");
}

/* Where in a file these bytes begin after place `at`. */
static size_t find(const char *path, size_t at, const void *bytes, size_t n)
{
    size_t size;
    char *all = egt_read(path, &size);
    while (at + n <= size && memcmp(all + at, bytes, n)) {
        at++;
    }
    EGT_CHECK(at + n <= size);
    free(all);
    return at;
}

EGT(what_is_damaged_is_refused)
{
    /* The first words of elements whose sum is told behind them. */
    const size_t sum = find(FOLDER "latest.h5", 0, "\0\0\1\0\2\0\3\0\4\0\5\0\6\0\7\0\x8\0\x9\0\xa\0", 22);
    eg_tensors *m = changed(FOLDER "latest.h5", sum + 2, "\2", 1);
    EGT_CHECK(m);
    EGT_REFUSED(eg_tensors_get(m, "sum/even"), EG_EFORMAT, "checksum");
    eg_tensors_free(m);
    const size_t links = find(FOLDER "many_early.h5", 0, "TREE\0\1", 6),
                 node = find(FOLDER "many_late.h5", 0, "BTIN", 4);
    uint8_t self[8] = {(uint8_t)links, (uint8_t)(links >> 8), (uint8_t)(links >> 16)};
    EGT_REFUSED(changed(FOLDER "many_early.h5", links + 32, self, 8), EG_EFORMAT, "a tree of \"many\"");
    EGT_REFUSED(changed(FOLDER "many_late.h5", node, "BTLF", 4), EG_EFORMAT, "leads to \"many\"");
    const size_t heap = find(FOLDER "many_late.h5", 0, "FRHP", 4);
    EGT_REFUSED(changed(FOLDER "many_late.h5", heap + 110, "\3", 1), EG_EFORMAT, "a heap of \"many\"");
    EGT_REFUSED(changed(FOLDER "many_late.h5", heap + 7, "\1", 1), EG_EFORMAT, "packed");
}

/* A header that goes on in a block that goes on in itself, and so without end. */
EGT(circles_end)
{
    const size_t block = find(FOLDER "late.h5", 0, "OCHK", 4);
    const uint8_t lo = (uint8_t)block, hi = (uint8_t)(block >> 8);
    const uint8_t on[] = {16, 16, 0, 0, lo, hi, 0, 0, 0, 0, 0, 0, 32, 0, 0, 0, 0, 0, 0, 0};
    EGT_REFUSED(changed(FOLDER "late.h5", block + 4, on, sizeof on), EG_EFORMAT, "the header of");
}

EGT(what_unpacks_to_more_than_is_allowed_is_refused)
{
    EGT_OK(eg_unpack_limit(100));
    eg_tensors *m = eg_tensors_open(FOLDER "early.h5");
    const bool said = egt_said(EG_EFORMAT, "eg_unpack_limit");
    EGT_OK(eg_unpack_limit(0));
    EGT_CHECK(!m && said);
}

/* ---- forks, threads, memory -------------------------------------------------------------------------- */

static void *read_packed(void *user)
{
    bool *good = user;
    *good = true;
    for (int i = 0; i < 20 && *good; i++) {
        eg_scope s = eg_scope_push();
        eg_tensors *m = eg_tensors_open(FOLDER "late.h5");
        *good = m && eg_get(eg_tensors_get(m, "chunks/packed"), 139) == 139;
        eg_tensors_free(m);
        eg_scope_pop(s, NULL);
    }
    return NULL;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { FORKS = 0 }; /* their allocators may be locked by another thread when the child begins, and stay so */
#else
enum { FORKS = 1 };
#endif

EGT(threads_read_and_a_child_goes_on)
{
    eg_tensors *m = open_file(FOLDER "early.h5", false);
    egt_need(eg_tensors_get(m, "chunks/packed"), "zlib");
    enum { THREADS = 3 };
    pthread_t thread[THREADS];
    bool good[THREADS];
    for (int i = 0; i < THREADS; i++) {
        EGT_EQ(pthread_create(&thread[i], NULL, read_packed, &good[i]), 0);
    }
    int status = 0;
    const pid_t child = FORKS ? fork() : -1;
    if (!child) {
        bool fine = false;
        read_packed(&fine);
        _exit(fine && eg_get(eg_tensors_get(m, "chunks/packed"), 7) == 7 ? 0 : 1);
    }
    EGT_CHECK(!FORKS || (child > 0 && waitpid(child, &status, 0) == child));
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        EGT_CHECK(good[i]);
    }
    EGT_EQ(status, 0);
    eg_tensors_free(m);
}

static bool read_file(void *user)
{
    const char *path = user;
    eg_scope s = eg_scope_push();
    eg_tensors *m = s.depth ? eg_tensors_open(path, .copy = true) : NULL;
    bool good = m;
    for (int64_t i = 0; good && i < eg_tensors_count(m); i++) {
        good = eg_tensors_at(m, i);
    }
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    eg_tensors_free(m);
    return good;
}

EGT(memory_that_runs_out_is_said)
{
    EGT_CHECK(egt_fail_allocations(read_file, FOLDER "early.h5") > 10);
    EGT_CHECK(egt_fail_allocations(read_file, FOLDER "latest.h5") > 10);
    EGT_CHECK(egt_fail_allocations(read_file, FOLDER "model.keras") > 10);
}
