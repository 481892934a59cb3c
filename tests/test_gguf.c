/* test_gguf.c - GGUF: files of ggml's own package and of this library, read, written and damaged. */
#include "tests/egt.h"

#include <stdint.h>

#include <egret/io.h>

/* Every bit; NaN is NaN. */
static void same_values(const eg_tensor *a, const eg_tensor *b)
{
    EGT_CHECK(a && b);
    EGT_EQ(eg_dtype_of(a), eg_dtype_of(b));
    EGT_CHECK(!memcmp(eg_shape_of(a).dim, eg_shape_of(b).dim, (size_t)eg_ndim(a) * sizeof(int64_t)));
    EGT_EQ(eg_ndim(a), eg_ndim(b));
    for (int64_t i = 0; i < eg_numel(a); i++) {
        const double x = eg_get(a, i), y = eg_get(b, i);
        EGT_CHECK((isnan(x) && isnan(y)) || (x == y && signbit(x) == signbit(y)));
    }
}

/* ---- of others -------------------------------------------------------------------------------- */

EGT(types_are_what_their_own_package_makes_of_them)
{
    eg_tensors *expected = eg_safetensors_load("tests/golden/gguf/blocks.safetensors");
    for (int copy = 0; copy < 2; copy++) {
        eg_tensors *m = eg_tensors_open("tests/golden/gguf/blocks.gguf", .copy = copy);
        EGT_STR(eg_tensors_format(m), "gguf");
        EGT_EQ(eg_tensors_count(m), eg_tensors_count(expected));
        for (int64_t i = 0; i < eg_tensors_count(m); i++) {
            const char *name = eg_tensors_name(m, i);
            const eg_tensor_about about = eg_tensors_about(m, i);
            snprintf(egt_case, sizeof egt_case, "%s", name);
            EGT_EQ(about.dtype, eg_dtype_of(eg_tensors_get(m, name)));
            const eg_tensor *t = eg_tensors_get(expected, name);
            same_values(eg_tensors_at(m, i), strcmp(name, "bfloat16") ? t : eg_cast((eg_tensor *)t, EG_BF16));
        }
        eg_tensors_free(m);
    }
    eg_tensors_free(expected);
}

static eg_tensor_about about(const eg_tensors *m, const char *name)
{
    int64_t i = 0;
    while (strcmp(eg_tensors_name(m, i), name)) {
        i++;
    }
    return eg_tensors_about(m, i);
}

EGT(what_is_stored_is_said_before_it_is_read)
{
    eg_tensors *m = eg_tensors_open("tests/golden/gguf/blocks.gguf");
    eg_tensor_about a = about(m, "Q4_K");
    EGT_STR(a.stored, "Q4_K");
    EGT_EQ(a.dtype, EG_F32);
    EGT_EQ(a.bytes, 288);
    EGT_EQ(a.shape.dim[1], 256);
    a = about(m, "cube");
    EGT_STR(a.stored, "Q8_0");
    EGT_EQ(a.shape.dim[0], 2);
    EGT_EQ(a.shape.dim[1], 3);
    EGT_EQ(a.shape.dim[2], 64);
    a = about(m, "IQ1_M");
    EGT_STR(a.stored, "IQ1_M");
    EGT_EQ(a.dtype, EG_U8);
    EGT_EQ(a.shape.dim[1], 112);
    EGT_EQ(a.bytes, 224);
    EGT_STR(about(m, "int16").stored, "I16");
    EGT_STR(about(m, "bfloat16").stored, "BF16");
    EGT_OK(eg_unpack_limit(1000));
    EGT_REFUSED(eg_tensors_get(m, "Q4_K"), EG_EFORMAT, "eg_unpack_limit");
    EGT_OK(eg_unpack_limit(0));
    EGT_CHECK(eg_tensors_get(m, "Q4_K"));
    eg_tensors_free(m);
}

EGT(keys_become_texts)
{
    static const char *const texts[][2] = {
        {"general.architecture", "none"},
        {"general.alignment", "64"},
        {"list.uint8", "0\n255"},
        {"one.uint8", "0"},
        {"list.int8", "-128\n127"},
        {"list.uint16", "65535"},
        {"list.int16", "-32768"},
        {"list.uint32", "4294967295\n7"},
        {"one.int32", "-2147483648"},
        {"list.uint64", "18446744073709551615"},
        {"list.int64", "-9223372036854775808\n9223372036854775807"},
        {"list.bool", "true\nfalse"},
        {"one.bool", "true"},
        {"list.float32", "0.1\n-9.99995e-41\n3e+38\ninf\nnan\n-0\n16777216"},
        {"one.float32", "0.1"},
        {"list.float64", "0.1\n0.3333333333333333\n4.94065645841247e-324\n-inf"},
        {"list.string", "caf\xc3\xa9\ntwo\\nlines\nback\\\\slash\\0zero\n"},
        {"one.string", "caf\xc3\xa9"},
        {"lines", "a\\b\nc"},
        {"bytes", "\xff\xfe"},
    };
    eg_tensors *m = eg_tensors_open("tests/golden/gguf/keys.gguf");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        EGT_CHECK(eg_tensors_text(m, texts[i][0]));
        EGT_STR(eg_tensors_text(m, texts[i][0]), texts[i][1]);
    }
    EGT_EQ(eg_tensors_text_count(m), 29);
    const char *words = eg_tensors_text(m, "tokenizer.ggml.tokens");
    EGT_CHECK(!strncmp(words, "token0\ntoken1\n", 14) && !strcmp(words + strlen(words) - 9, "\ntoken399"));
    EGT_EQ(eg_get(eg_tensors_get(m, "b"), 4), 4);
    eg_tensors_free(m);
    EGT_OK(eg_unpack_limit(2000));
    EGT_REFUSED(eg_tensors_open("tests/golden/gguf/keys.gguf"), EG_EFORMAT, "eg_unpack_limit");
    EGT_OK(eg_unpack_limit(0));
    EGT_REFUSED(eg_tensors_open("tests/golden/gguf/big_endian.gguf"), EG_EFORMAT, "highest bytes first");
}

/* ---- written ------------------------------------------------------------------------------------ */

static eg_tensors *sample(void)
{
    static const eg_dtype kept[] = {EG_F32, EG_F64, EG_F16, EG_BF16, EG_I64, EG_I32};
    eg_tensors *m = eg_tensors_new();
    eg_scope s = eg_scope_push();
    eg_tensors_set_text(m, "lines", "a\\b\nc");
    for (int i = 0; i < 6; i++) {
        eg_tensors_set(m, eg_dtype_name(kept[i]), egt_random(EG_SHAPE(3, 5), kept[i], -99, 99));
    }
    eg_tensors_set(m, "turned", eg_transpose(egt_random(EG_SHAPE(2, 3, 4, 5), EG_F32, -1, 1), 0, 3));
    eg_tensors_set(m, "none", eg_zeros(EG_SHAPE(0, 3), EG_F32));
    eg_tensors_set(m, "scalar", eg_scalar(7, EG_I64));
    eg_scope_pop(s, NULL);
    return m;
}

EGT(what_is_written_is_read_to_the_bit)
{
    const char *path = egt_path("a.gguf"), *again = egt_path("b.gguf");
    eg_tensors *m = sample();
    EGT_OK(eg_tensors_save(m, path));
    eg_tensors *back = eg_tensors_open(path);
    EGT_EQ(eg_tensors_count(back), eg_tensors_count(m));
    for (int64_t i = 0; i < eg_tensors_count(m); i++) {
        EGT_STR(eg_tensors_name(back, i), eg_tensors_name(m, i));
        same_values(eg_tensors_at(back, i), eg_tensors_at(m, i));
    }
    EGT_STR(eg_tensors_text(back, "lines"), "a\\b\nc");
    EGT_STR(eg_tensors_text(back, "general.architecture"), "egret");
    EGT_EQ(eg_tensors_text_count(back), 2);
    EGT_OK(eg_tensors_set_text(back, "general.alignment", "64"));
    EGT_OK(eg_tensors_save(back, again)); /* from the file, one by one; its alignment is its own */
    size_t n, k;
    char *a = egt_read(path, &n), *b = egt_read(again, &k);
    const bool same = a && b && n == k && !memcmp(a, b, n);
    free(a);
    free(b);
    EGT_CHECK(same);
    eg_tensors *third = eg_tensors_open(again);
    EGT_CHECK(!eg_tensors_text(third, "general.alignment"));
    same_values(eg_tensors_get(third, "turned"), eg_tensors_get(m, "turned"));
    eg_tensors_free(third);
    eg_tensors_free(back);
    eg_tensors_free(m);
}

EGT(types_it_lacks_become_wider_integers)
{
    const char *path = egt_path("small.gguf");
    eg_tensors *m = eg_tensors_new();
    eg_tensor *flags = eg_from_values(EG_SHAPE(3), EG_BOOL, (double[]){1, 0, 1});
    eg_tensor *bytes = eg_from_values(EG_SHAPE(3), EG_U8, (double[]){0, 127, 255});
    EGT_OK(eg_tensors_set(m, "flags", flags));
    EGT_OK(eg_tensors_set(m, "bytes", bytes));
    EGT_OK(eg_tensors_save(m, path));
    eg_tensors *back = eg_tensors_open(path);
    EGT_STR(about(back, "flags").stored, "I8");
    EGT_STR(about(back, "bytes").stored, "I32");
    same_values(eg_tensors_get(back, "flags"), eg_cast(flags, EG_I32));
    same_values(eg_tensors_get(back, "bytes"), eg_cast(bytes, EG_I32));
    eg_tensors_free(back);
    eg_tensors_free(m);
}

static void refuse_to_save(const char *name, const char *key, const char *text, eg_shape shape, const char *word,
                           eg_status code)
{
    eg_tensors *m = eg_tensors_new();
    EGT_OK(eg_tensors_set(m, name, eg_zeros(shape, EG_F32)));
    EGT_OK(eg_tensors_set_text(m, key, text));
    EGT_REFUSED(eg_tensors_save(m, egt_path("no.gguf")), code, word);
    EGT_EQ(egt_files("no.gguf"), 0);
    eg_tensors_free(m);
}

EGT(what_the_format_has_no_place_for_is_not_written)
{
    static char name[65537];
    memset(name, 'a', 65536);
    refuse_to_save(name, "k", "", EG_SHAPE(1), "65535 bytes", EG_EINVAL);
    refuse_to_save("a", "", "", EG_SHAPE(1), "empty", EG_EINVAL);
    refuse_to_save("a", "k", "\xff", EG_SHAPE(1), "UTF-8", EG_EINVAL);
    refuse_to_save("\xff", "k", "", EG_SHAPE(1), "UTF-8", EG_EINVAL);
    refuse_to_save("a", "k", "", EG_SHAPE(1, 1, 1, 1, 1), "5 axes", EG_ESHAPE);
}

/* ---- damaged ------------------------------------------------------------------------------------ */

/* A file put together from numbers of so many bytes. */
typedef struct file {
    uint8_t bytes[1000];
    size_t n;
} file;

static void put(file *f, int bytes, uint64_t v)
{
    for (int i = 0; i < bytes; i++) {
        f->bytes[f->n++] = (uint8_t)(v >> 8 * i);
    }
}

static void put_string(file *f, const char *s)
{
    put(f, 8, strlen(s));
    memcpy(f->bytes + f->n, s, strlen(s));
    f->n += strlen(s);
}

static file begun(uint64_t version, uint64_t tensors, uint64_t keys)
{
    file f = {{0}, 0};
    put(&f, 4, 0x46554747);
    put(&f, 4, version);
    put(&f, 8, tensors);
    put(&f, 8, keys);
    return f;
}

static void put_tensor(file *f, const char *name, uint64_t size, uint64_t type, uint64_t at)
{
    put_string(f, name);
    put(f, 4, 1);
    put(f, 8, size);
    put(f, 4, type);
    put(f, 8, at);
}

/* With 64 bytes of data behind; a word of NULL: it can be read. */
static void check(file f, const char *word)
{
    memset(f.bytes + f.n, 0, 128);
    f.n = (f.n + 31) / 32 * 32 + 64;
    eg_clear_error();
    eg_tensors *m = eg_tensors_parse(f.bytes, f.n, .format = "gguf");
    for (int64_t i = 0; i < eg_tensors_count(m); i++) {
        EGT_CHECK(eg_tensors_at(m, i));
    }
    EGT_CHECK(word ? !m && egt_said(EG_EFORMAT, word) : m != NULL);
    eg_tensors_free(m);
}

EGT(hostile_counts_and_sizes_are_refused)
{
    const uint64_t large = (uint64_t)1 << 60;
    check(begun(3, 0, 0), NULL);
    check(begun(2, 0, 0), NULL);
    check(begun(1, 0, 0), "version 1");
    check(begun(4, 0, 0), "version 4");
    check(begun(0, 0, 0), "version 0");
    check(begun(3, 0, large), "more than the file has room for");
    check(begun(3, large, 0), "more than the file has room for");
    check(begun(3, 0, 3), "is there twice"); /* keys that are empty */
    file f = begun(3, 0, 1);
    put(&f, 8, large);
    check(f, "bytes of a string");
    f = begun(3, 0, 1);
    put_string(&f, "k");
    put(&f, 4, 13);
    check(f, "type 13");
    f = begun(3, 0, 1);
    put_string(&f, "k");
    put(&f, 4, 7);
    put(&f, 1, 2);
    check(f, "boolean is 2");
    for (uint64_t type = 0; type < 13; type++) {
        f = begun(3, 0, 1);
        put_string(&f, "k");
        put(&f, 4, 9);
        put(&f, 4, type);
        put(&f, 8, large);
        check(f, type == 9 ? "list of lists" : "values of a list");
    }
    const uint64_t alignments[][2] = {{4, 0}, {4, 24}, {10, 32}};
    for (int i = 0; i < 3; i++) {
        f = begun(3, 0, 1);
        put_string(&f, "general.alignment");
        put(&f, 4, alignments[i][0]);
        put(&f, 8, alignments[i][1]);
        check(f, "power of two");
    }
    f = begun(3, 0, 2);
    for (int i = 0; i < 2; i++) {
        put_string(&f, "k");
        put(&f, 4, 0);
        put(&f, 1, 0);
    }
    check(f, "twice");
}

EGT(hostile_tensors_are_refused)
{
    const struct {
        uint64_t size, type, at;
        const char *word;
    } rows[] = {
        {16, 0, 0, NULL},
        {17, 0, 0, "beyond the file"},
        {8, 0, 32, NULL},
        {8, 0, 8, "not aligned"},
        {1, 0, 1 << 20, "behind the file"},
        {1, 0, (uint64_t)1 << 63, "behind the file"},
        {32, 2, 0, NULL},
        {31, 2, 0, "whole blocks"},
        {0, 2, 0, NULL},
        {(uint64_t)1 << 62, 0, 0, "too large"},
        {(uint64_t)1 << 62, 8, 0, "too large"},
        {(uint64_t)1 << 62, 29, 0, "beyond the file"},
        {(uint64_t)1 << 60, 28, 0, "too large"},
        {(uint64_t)1 << 63, 0, 0, "2^63"},
        {1, 4, 0, "type 4"},
        {1, 43, 0, "type 43"},
        {1, 0xffffffff, 0, "none known"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        file f = begun(3, 1, 0);
        put_tensor(&f, "a", rows[i].size, rows[i].type, rows[i].at);
        snprintf(egt_case, sizeof egt_case, "tensor %zu", i);
        check(f, rows[i].word);
    }
    file f = begun(3, 2, 0);
    put_tensor(&f, "a", 9, 0, 0);
    put_tensor(&f, "b", 1, 0, 32);
    check(f, "those of another");
    f = begun(3, 2, 0);
    put_tensor(&f, "a", 1, 0, 0);
    put_tensor(&f, "a", 1, 0, 32);
    check(f, "two tensors");
    f = begun(3, 1, 0);
    put_string(&f, "a");
    put(&f, 4, 9);
    check(f, "9 axes");
    f = begun(3, 1, 0);
    put_string(&f, "\xff");
    check(f, "at most 65535 bytes");
}

/* ---- memory ------------------------------------------------------------------------------------- */

static bool open_and_read(void *path)
{
    eg_tensors *m = eg_tensors_open(path);
    bool all = m != NULL;
    EG_SCOPE {
        all = all && eg_tensors_get(m, "Q4_K") && eg_tensors_get(m, "cube");
    }
    eg_tensors_free(m);
    return all;
}

static bool save(void *m)
{
    return eg_tensors_save(m, egt_path("memory.gguf")) == EG_OK;
}

EGT(without_memory_nothing_leaks)
{
    EGT_CHECK(egt_fail_allocations(open_and_read, "tests/golden/gguf/blocks.gguf") > 10);
    eg_tensors *m = sample();
    egt_fail_allocations(save, m);
    eg_tensors_free(m);
}
