/* test_io.c - tensors in files: what goes in comes out, what is malformed is refused in words, and
 * a failed write leaves the old file. */
#define _POSIX_C_SOURCE 200809L
#include "tests/egt.h"

#include <sys/stat.h>
#include <unistd.h>

#include <egret/io.h>

/* ---- the map --------------------------------------------------------------------------------- */

EGT(map_keeps_order_and_replaces)
{
    eg_tensors *m = eg_tensors_new();
    eg_scope s = eg_scope_push();
    for (int i = 0; i < 500; i++) {
        char name[16];
        snprintf(name, sizeof name, "t%d", i * 7 % 500);
        EGT_OK(eg_tensors_set(m, name, eg_scalar(i, EG_F64)));
    }
    EGT_OK(eg_tensors_set(m, "t7", eg_scalar(-1, EG_F64)));
    EGT_OK(eg_tensors_set_text(m, "k", "v"));
    EGT_OK(eg_tensors_set_text(m, "k", "w"));
    eg_scope_pop(s, NULL);
    EGT_EQ(eg_tensors_count(m), 500);
    EGT_STR(eg_tensors_name(m, 1), "t7");
    EGT_EQ(eg_item(eg_tensors_at(m, 1)), -1);
    EGT_EQ(eg_item(eg_tensors_get(m, "t14")), 2);
    EGT_CHECK(eg_tensors_has(m, "t499") && !eg_tensors_has(m, "t500"));
    EGT_STR(eg_tensors_text(m, "k"), "w");
    EGT_CHECK(eg_tensors_text(m, "absent") == NULL);
    EGT_EQ(eg_tensors_text_count(m), 1);
    EGT_STR(eg_tensors_text_key(m, 0), "k");
    EGT_REFUSED(eg_tensors_get(m, "no%s"), EG_EINDEX, "no%s");
    EGT_REFUSED(eg_tensors_at(m, 500), EG_EINDEX, "500");
    EGT_REFUSED(eg_tensors_set(m, NULL, NULL), EG_EINVAL, "name");
    EGT_REFUSED(eg_tensors_set(m, "x", NULL), EG_EINVAL, "t");
    EGT_REFUSED(eg_tensors_set_text(NULL, "x", "y"), EG_EINVAL, "map");
    eg_tensors_free(m);
    eg_tensors_free(NULL);
}

/* ---- safetensors ----------------------------------------------------------------------------- */

static eg_tensors *sample(void)
{
    eg_tensors *m = eg_tensors_new();
    eg_scope s = eg_scope_push();
    eg_tensors_set_text(m, "format", "pt");
    eg_tensors_set_text(m, "quotes \" and \\ and \n", "snow \xe2\x98\x83");
    eg_tensors_set(m, "flag", eg_from_values(EG_SHAPE(3), EG_BOOL, (double[]){1, 0, 1}));
    eg_tensors_set(m, "half", egt_random(EG_SHAPE(2, 3), EG_F16, -1, 1));
    eg_tensors_set(m, "brain", egt_random(EG_SHAPE(5), EG_BF16, -1, 1));
    eg_tensors_set(m, "w.weight", eg_transpose(egt_random(EG_SHAPE(3, 4), EG_F32, -1, 1), 0, 1));
    eg_tensors_set(m, "w\"b", egt_random(EG_SHAPE(2, 1, 2), EG_F64, -1, 1));
    eg_tensors_set(m, "i", egt_random(EG_SHAPE(4), EG_I64, -9e15, 9e15));
    eg_tensors_set(m, "j", egt_random(EG_SHAPE(4), EG_I32, -1e9, 1e9));
    eg_tensors_set(m, "u", egt_random(EG_SHAPE(7), EG_U8, 0, 255));
    eg_tensors_set(m, "none", eg_zeros(EG_SHAPE(0, 3), EG_F32));
    eg_tensors_set(m, "scalar", eg_scalar(2.5, EG_F32));
    eg_scope_pop(s, NULL);
    return m;
}

EGT(safetensors_come_back_as_they_were)
{
    const char *path = egt_path("a.safetensors");
    eg_tensors *m = sample();
    EGT_OK(eg_safetensors_save(m, path));
    eg_tensors *back = eg_safetensors_load(path);
    EGT_CHECK(back);
    EGT_EQ(eg_tensors_count(back), eg_tensors_count(m));
    for (int64_t i = 0; i < eg_tensors_count(m); i++) {
        EGT_EQ(egt_distance(eg_tensors_get(back, eg_tensors_name(m, i)), eg_tensors_at(m, i)), 0);
    }
    EGT_EQ(eg_tensors_text_count(back), 2);
    EGT_STR(eg_tensors_text(back, "quotes \" and \\ and \n"), "snow \xe2\x98\x83");
    /* The same map gives the same bytes; what was read may be written over the file it came
     * from. */
    size_t n, n2;
    char *first = egt_read(path, &n);
    EGT_OK(eg_safetensors_save(back, path));
    char *second = egt_read(path, &n2);
    EGT_CHECK(n == n2 && !memcmp(first, second, n));
    free(first);
    free(second);
    eg_tensors_free(m);
    eg_tensors_free(back);
}

/* A file of this header and `data` bytes of zeros. */
static eg_tensors *parse(const char *header, size_t length, size_t data)
{
    size_t total = 8 + length + data;
    char *file = calloc(1, total);
    for (int i = 0; i < 8; i++) {
        file[i] = (char)((uint64_t)length >> 8 * i);
    }
    memcpy(file + 8, header, length);
    eg_tensors *m = eg_safetensors_parse(file, total);
    free(file);
    return m;
}

#define T(offsets) "{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[" offsets "]}"

static const struct malformed {
    const char *header;
    size_t data;
    const char *word;
} malformed[] = {
    {"", 0, "{"},
    {" {}", 0, "{"},
    {"\xef\xbb\xbf{}", 0, "{"},
    {"[]", 0, "{"},
    {"{", 0, "key"},
    {"{} x", 0, "after"},
    {"{}}", 0, "after"},
    {"{}", 1, "no tensor"},
    {"{\"a\"}", 0, "colon"},
    {"{\"a\":1}", 0, "object was expected"},
    {"{\"a\":" T("0,8") ",}", 8, "key"},
    {"{\"a\":" T("0,8") " \"b\":" T("8,16") "}", 16, "comma"},
    {"{\"a\":" T("0,8") ",\"a\":" T("8,16") "}", 16, "two tensors"},
    {"{\"a\":" T("0,8") ",\"\\u0061\":" T("8,16") "}", 16, "two tensors"},
    {"{\"a\":" T("0,8") ",\"b\":" T("4,12") "}", 12, "begin at 4"},
    {"{\"a\":" T("0,8") ",\"b\":" T("9,17") "}", 17, "begin at 9"},
    {"{\"a\":" T("1,9") "}", 9, "begin at 1"},
    {"{\"a\":" T("8,0") "}", 8, "needs other"},
    {"{\"a\":" T("0,7") "}", 7, "needs other"},
    {"{\"a\":" T("0,8") "}", 7, "the file's at 7"},
    {"{\"a\":" T("0,8") "}", 9, "no tensor"},
    {"{\"a\":" T("-8,0") "}", 0, "number"},
    {"{\"a\":" T("0,8.0") "}", 8, "number"},
    {"{\"a\":" T("0,8,9") "}", 8, "more than 2"},
    {"{\"a\":" T("8") "}", 8, "not 2"},
    {"{\"a\":" T("0,9223372036854775808") "}", 8, "number"},
    {"{\"a\":" T("00,8") "}", 8, "comma"},
    {"{\"a\":{\"dtype\":\"I17\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4, "I17"},
    {"{\"a\":{\"dtype\":4,\"shape\":[2],\"data_offsets\":[0,4]}}", 4, "dtype"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2],\"x\":1}}", 2, "unknown"},
    {"{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}", 2, "twice"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2]}}", 2, "lacks"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[-1],\"data_offsets\":[0,2]}}", 2, "number"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,1]}}", 1, "more than 8"},
    {"{\"a\":{\"dtype\":\"F64\",\"shape\":[2305843009213693952],\"data_offsets\":[0,0]}}", 0, "needs other"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}", 0, "needs other"},
    {"{\"a\\u0000b\":" T("0,8") "}", 8, "zero"},
    {"{\"a\\ud800\":" T("0,8") "}", 8, "escape"},
    {"{\"a\\x\":" T("0,8") "}", 8, "escape"},
    {"{\"a\xff\":" T("0,8") "}", 8, "UTF-8"},
    {"{\"a\xed\xa0\x80\":" T("0,8") "}", 8, "UTF-8"},
    {"{\"a\n\":" T("0,8") "}", 8, "control"},
    {"{\"a:", 8, "without an end"},
    {"{\"__metadata__\":{\"a\":1}}", 0, "a text"},
    {"{\"__metadata__\":{\"a\":\"\",\"a\":\"\"}}", 0, "twice"},
    {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "twice"},
    {"{\"__metadata__\":[]}", 0, "object"},
    {"{'a':1}", 0, "key"},
    {"{\"a\":nan}", 0, "value"},
};

EGT(safetensors_malformed)
{
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        const struct malformed *m = &malformed[i];
        snprintf(egt_case, sizeof egt_case, "safetensors_malformed %s", m->header);
        EGT_REFUSED(parse(m->header, strlen(m->header), m->data), EG_EFORMAT, m->word);
    }
}

EGT(safetensors_small_and_well_formed)
{
    static const char *const fine[] = {"{}", "{} \n\t ", "{\"__metadata__\":{}}", "{\"\":" T("0,8") "}"};
    for (int i = 0; i < 4; i++) {
        eg_tensors *m = parse(fine[i], strlen(fine[i]), i == 3 ? 8 : 0);
        EGT_CHECK(m && eg_tensors_count(m) == (i == 3));
        eg_tensors_free(m);
    }
}

EGT(safetensors_header_lengths)
{
    static const uint64_t lengths[] = {3, 100, 100000001, (uint64_t)1 << 63, UINT64_MAX};
    for (int i = 0; i < 5; i++) {
        char file[10] = {0};
        for (int k = 0; k < 8; k++) {
            file[k] = (char)(lengths[i] >> 8 * k);
        }
        EGT_REFUSED(eg_safetensors_parse(file, sizeof file), EG_EFORMAT, "header's length");
    }
    EGT_REFUSED(eg_safetensors_parse("", 0), EG_EFORMAT, "ends");
    EGT_REFUSED(eg_safetensors_parse(NULL, 3), EG_EINVAL, "data");
    EGT_REFUSED(eg_safetensors_parse("\0\0\0\0\0\0\0", 8), EG_EFORMAT, "{");
}

EGT(safetensors_deep_nesting)
{
    enum { DEPTH = 100000 };
    char *header = malloc(DEPTH + 5);
    memcpy(header, "{\"a\":", 5);
    memset(header + 5, '[', DEPTH);
    EGT_REFUSED(parse(header, DEPTH + 5, 0), EG_EFORMAT, "object was expected");
    free(header);
}

/* Every shorter file, and every file with one bit changed, is refused or read: never a crash. */
EGT(safetensors_cut_and_flipped)
{
    const char *path = egt_path("b.safetensors");
    eg_tensors *m = sample();
    EGT_OK(eg_safetensors_save(m, path));
    eg_tensors_free(m);
    size_t bytes;
    char *file = egt_read(path, &bytes);
    for (size_t n = 0; n < bytes; n++) {
        EGT_REFUSED(eg_safetensors_parse(file, n), EG_EFORMAT, "byte");
    }
    for (size_t bit = 0; bit < 8 * bytes; bit++) {
        file[bit / 8] ^= (char)(1 << bit % 8);
        eg_tensors *t = eg_safetensors_parse(file, bytes);
        EGT_CHECK(t || egt_said(EG_EFORMAT, "byte"));
        eg_tensors_free(t);
        file[bit / 8] ^= (char)(1 << bit % 8);
    }
    free(file);
}

EGT(safetensors_of_many)
{
    enum { COUNT = 100000 };
    char *header = malloc(COUNT * 64 + 2), *p = header;
    for (int i = 0; i < COUNT; i++) {
        p += sprintf(p, "%c\"n%d\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[%d,%d]}", i ? ',' : '{', i,
                     COUNT - 1 - i, COUNT - i);
    }
    *p++ = '}';
    eg_tensors *m = parse(header, (size_t)(p - header), COUNT);
    EGT_CHECK(m && eg_tensors_count(m) == COUNT && eg_tensors_has(m, "n99999"));
    eg_tensors_free(m);
    free(header);
}

EGT(safetensors_what_cannot_be_written)
{
    eg_tensors *m = eg_tensors_new();
    const char *path = egt_path("c.safetensors");
    eg_tensors_set(m, "\xff", eg_scalar(1, EG_F32));
    EGT_REFUSED(eg_safetensors_save(m, path), EG_EINVAL, "UTF-8");
    eg_tensors_free(m);
    m = eg_tensors_new();
    eg_tensors_set(m, "__metadata__", eg_scalar(1, EG_F32));
    EGT_REFUSED(eg_safetensors_save(m, path), EG_EINVAL, "__metadata__");
    EGT_REFUSED(eg_safetensors_save(NULL, path), EG_EINVAL, "map");
    EGT_REFUSED(eg_safetensors_save(m, NULL), EG_EINVAL, "path");
    eg_tensors_free(m);
    EGT_CHECK(access(path, F_OK) != 0);
    EGT_EQ(egt_files(""), 0); /* nothing was left behind */
}

static bool loads(void *user)
{
    (void)user;
    eg_tensors *m = eg_safetensors_load(egt_path("d.safetensors"));
    eg_tensors_free(m);
    return m;
}

static bool saves(void *user)
{
    return !eg_safetensors_save(user, egt_path("d.safetensors"));
}

EGT(safetensors_without_memory)
{
    eg_tensors *m = sample();
    EGT_CHECK(egt_fail_allocations(saves, m) > 0);
    EGT_CHECK(egt_fail_allocations(loads, NULL) > 2);
    eg_tensors_free(m);
}

/* ---- files ----------------------------------------------------------------------------------- */

EGT(paths_that_are_no_files)
{
    EGT_REFUSED(eg_safetensors_load(NULL), EG_EINVAL, "path");
    EGT_REFUSED(eg_safetensors_load(egt_path("absent")), EG_EIO, "absent");
    EGT_REFUSED(eg_safetensors_load(egt_folder()), EG_EIO, "regular");
    const char *fifo = egt_path("fifo");
    EGT_CHECK(mkfifo(fifo, 0600) == 0);
    EGT_REFUSED(eg_safetensors_load(fifo), EG_EIO, "regular");
    eg_tensors *m = sample();
    EGT_REFUSED(eg_safetensors_save(m, fifo), EG_EIO, "regular");
    EGT_REFUSED(eg_safetensors_save(m, egt_folder()), EG_EIO, "regular");
    EGT_REFUSED(eg_safetensors_save(m, egt_path("absent/file")), EG_EIO, "create");
    eg_tensors_free(m);
}

EGT(a_file_without_permission)
{
    const char *path = egt_path("locked");
    eg_tensors *m = sample();
    EGT_OK(eg_safetensors_save(m, path));
    eg_tensors_free(m);
    chmod(path, 0);
    bool super = geteuid() == 0; /* who may read everything */
    if (super && seteuid(65534)) {
        egt_skip("cannot become a user without rights");
    }
    eg_tensors *locked = eg_safetensors_load(path);
    EGT_CHECK(!super || seteuid(0) == 0);
    EGT_CHECK(!locked && egt_said(EG_EIO, "locked"));
}

EGT(a_failed_write_leaves_the_old_file)
{
    const char *path = egt_path("kept");
    eg_tensors *m = sample();
    EGT_OK(eg_safetensors_save(m, path));
    eg_tensors_set(m, "big", eg_zeros(EG_SHAPE(100000), EG_F32));
    egt_limit_files(4096);
    eg_status st = eg_safetensors_save(m, path);
    egt_limit_files(-1);
    EGT_CHECK(st == EG_EIO && egt_said(EG_EIO, "write"));
    eg_tensors *back = eg_safetensors_load(path);
    EGT_CHECK(back && !eg_tensors_has(back, "big"));
    eg_tensors_free(back);
    eg_tensors_free(m);
    EGT_EQ(egt_files(""), 1);
}

static bool holds(const char *path, const char *text)
{
    char found[64] = "";
    FILE *f = fopen(path, "rb");
    const size_t n = f ? fread(found, 1, sizeof found - 1, f) : 0;
    if (f) {
        fclose(f);
    }
    return f && n == strlen(text) && strcmp(found, text) == 0;
}

static bool writes(void *user)
{
    return !eg_file_write(user, "third", 5);
}

EGT(any_bytes_whole_or_not_at_all)
{
    const char *path = egt_path("any");
    EGT_OK(eg_file_write(path, "first", 5));
    EGT_CHECK(holds(path, "first"));
    EGT_REFUSED(eg_file_write(path, NULL, 1), EG_EINVAL, "data");
    EGT_REFUSED(eg_file_write(NULL, "x", 1), EG_EINVAL, "path");
    EGT_REFUSED(eg_file_write(path, "x", SIZE_MAX), EG_EINVAL, "bytes");
    EGT_REFUSED(eg_file_write(egt_path("absent/file"), "x", 1), EG_EIO, "create");
    EGT_CHECK(holds(path, "first"));
    EGT_CHECK(egt_fail_allocations(writes, (void *)path) > 0);
    EGT_CHECK(holds(path, "third"));
    EGT_OK(eg_file_write(path, NULL, 0));
    EGT_CHECK(holds(path, ""));
    EGT_EQ(egt_files(""), 1);
}

/* ---- npy ------------------------------------------------------------------------------------- */

/* An npy file of this version, literal and data. */
static eg_tensor *npy(int version, const char *literal, const void *data, size_t bytes)
{
    size_t length = strlen(literal), prefix = version == 1 ? 10 : 12;
    char *file = malloc(prefix + length + bytes);
    memcpy(file, "\x93NUMPY", 6);
    file[6] = (char)version;
    file[7] = 0;
    for (size_t i = 8; i < prefix; i++) {
        file[i] = (char)(length >> 8 * (i - 8));
    }
    memcpy(file + prefix, literal, length);
    memcpy(file + prefix + length, data, bytes);
    eg_tensor *t = eg_npy_parse(file, prefix + length + bytes);
    free(file);
    return t;
}

EGT(npy_comes_back_as_it_was)
{
    const char *path = egt_path("a.npy");
    for (int d = 0; d < EG_DTYPE_COUNT; d++) {
        eg_tensor *x = egt_random(EG_SHAPE(3, 4, 2), d, 0, 100), *all[6];
        all[0] = x;
        all[1] = eg_permute(x, EG_AXES(2, 0, 1));
        all[2] = eg_slice(x, 0, 0, 0, 1);
        all[3] = eg_flatten(x, 0, 2);
        all[4] = eg_reshape(eg_slice(eg_flatten(x, 0, 2), 0, 5, 6, 1), EG_SCALAR);
        all[5] = eg_channels_last(x);
        for (int i = 0; i < 6; i++) {
            EGT_OK(eg_npy_save(all[i], path));
            eg_tensor *back = eg_npy_load(path);
            EGT_CHECK(back && eg_is_contiguous(back));
            EGT_EQ(egt_distance(back, all[i]), 0);
        }
    }
}

EGT(npy_header_as_numpy_writes_it)
{
    const char *path = egt_path("h.npy");
    EGT_OK(eg_npy_save(eg_arange(0, 3, 1, EG_F32), path));
    size_t bytes;
    char *file = egt_read(path, &bytes);
    EGT_EQ(bytes, 128 + 12);
    EGT_CHECK(!memcmp(file, "\x93NUMPY\x01\x00\x76\x00", 10));
    file[127] = 0;
    const char *wanted = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }";
    EGT_CHECK(!strncmp(file + 10, wanted, strlen(wanted)));
    EGT_EQ(strspn(file + 10 + strlen(wanted), " "), 117 - strlen(wanted));
    free(file);
}

EGT(npy_orders_and_versions)
{
    static const uint8_t big[] = {0x3f, 0x80, 0, 0, 0x40, 0, 0, 0}, six[] = {0, 1, 2, 3, 4, 5};
    eg_tensor *t = npy(1, "{'descr':'>f4','fortran_order':False,'shape':(2,)}", big, 8);
    EGT_CHECK(t && eg_get(t, 0) == 1 && eg_get(t, 1) == 2);
    t = npy(2, "{\"shape\": (2, 3), 'fortran_order': True, 'descr': '|u1'} \n", six, 6);
    EGT_CHECK(t && eg_is_contiguous(t) && eg_get(t, 0) == 0 && eg_get(t, 1) == 2 && eg_get(t, 3) == 1);
    t = npy(3, "{'descr': '|b1', 'fortran_order': False, 'shape': (2L, 3L), }", six, 6);
    EGT_CHECK(t && eg_ndim(t) == 2 && eg_get(t, 0) == 0 && eg_get(t, 5) == 1);
    static const uint8_t brain[] = {0x80, 0x3f};
    t = npy(1, "{'descr': '<V2', 'fortran_order': False, 'shape': (), }", brain, 2);
    EGT_CHECK(t && eg_dtype_of(t) == EG_BF16 && eg_item(t) == 1);
    EGT_REFUSED(npy(4, "{}", "", 0), EG_EFORMAT, "version 4.0");
    EGT_REFUSED(npy(9, "{}", "", 0), EG_EFORMAT, "version 9.0");
    EGT_REFUSED(npy(0, "{}", "", 0), EG_EFORMAT, "version 0.0");
}

#define D "{'descr': '<f4', 'fortran_order': False, 'shape': "

static const struct bad_literal {
    const char *literal;
    size_t data;
    const char *word;
} bad_literals[] = {
    {"", 0, "dictionary"},
    {"__import__('os').system('true')", 0, "dictionary"},
    {"{'descr': __import__('os'), 'fortran_order': False, 'shape': (1,)}", 4, "in quotes"},
    {"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", 8, "'|O'"},
    {"{'descr': '<U3', 'fortran_order': False, 'shape': (1,)}", 12, "'<U3'"},
    {"{'descr': '<c32', 'fortran_order': False, 'shape': (1,)}", 32, "'<c32'"},
    {"{'descr': '<f16', 'fortran_order': False, 'shape': (1,)}", 16, "'<f16'"},
    {"{'descr': 'f4', 'fortran_order': False, 'shape': (1,)}", 4, "'f4'"},
    {"{'descr': '|f4', 'fortran_order': False, 'shape': (1,)}", 4, "byte order"},
    {"{'descr': '', 'fortran_order': False, 'shape': (1,)}", 4, "descr"},
    {"{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,)}", 4, "structured"},
    {"{'descr': '<f4\\x00', 'fortran_order': False, 'shape': (1,)}", 4, "escape"},
    {"{'descr': '<f4, 'fortran_order': False, 'shape': (1,)}", 4, "none Egret has"},
    {"{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}", 4, "neither"},
    {"{'descr': '<f4', 'fortran_order': False}", 4, "lacks"},
    {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", 4, "twice"},
    {"{'descr': '<f4', 'order': False, 'shape': (1,)}", 4, "unknown"},
    {"{'descr' '<f4'}", 4, "colon"},
    {"{'descr': '<f4' 'fortran_order': False}", 4, "comma"},
    {D "(-1,)}", 4, "sizes"},
    {D "(1)}", 4, "tuple"},
    {D "[1]}", 4, "tuple"},
    {D "(1 1)}", 4, "comma"},
    {D "(,)}", 4, "sizes"},
    {D "(1.0,)}", 4, "comma"},
    {D "(9223372036854775808,)}", 4, "2^63"},
    {D "(1,1,1,1,1,1,1,1,1)}", 4, "more than 8"},
    {D "(4294967296, 4294967296)}", 4, "does not take"},
    {D "(4611686018427387905,)}", 4, "does not take"},
    {D "(2,)}", 4, "does not take"},
    {D "(1,)}", 5, "does not take"},
    {D "(1,)} + 1", 4, "after the dictionary"},
    {D "(1,", 4, "sizes"},
    {D "(1,)", 4, "comma"},
};

EGT(npy_malformed)
{
    static const char data[32];
    for (size_t i = 0; i < sizeof bad_literals / sizeof *bad_literals; i++) {
        const struct bad_literal *b = &bad_literals[i];
        snprintf(egt_case, sizeof egt_case, "npy_malformed %s", b->literal);
        EGT_REFUSED(npy(1, b->literal, data, b->data), EG_EFORMAT, b->word);
    }
    EGT_REFUSED(eg_npy_parse("\x93NUMPY\x01\x00\xff\xff{}", 12), EG_EFORMAT, "length is 65535");
    EGT_REFUSED(eg_npy_parse("\x93NUMPY\x02\x00\xff\xff\xff\xff{}", 14), EG_EFORMAT, "4294967295");
    EGT_REFUSED(eg_npy_parse("NUMPY\x93\x01\x00\x02\x00{}", 12), EG_EFORMAT, "not an npy");
    EGT_REFUSED(eg_npy_parse("", 0), EG_EFORMAT, "ends");
    EGT_REFUSED(eg_npy_load(egt_path("absent.npy")), EG_EIO, "absent");
    EGT_REFUSED(eg_npy_load(egt_folder()), EG_EIO, "regular");
    EGT_REFUSED(eg_npy_save(NULL, "x.npy"), EG_EINVAL, "t");
}

EGT(npy_cut_and_flipped)
{
    const char *path = egt_path("b.npy");
    EGT_OK(eg_npy_save(egt_random(EG_SHAPE(2, 3), EG_F32, -1, 1), path));
    size_t bytes;
    char *file = egt_read(path, &bytes);
    for (size_t n = 0; n < bytes; n++) {
        EGT_REFUSED(eg_npy_parse(file, n), EG_EFORMAT, "byte");
    }
    for (size_t bit = 0; bit < 8 * bytes; bit++) {
        eg_scope s = eg_scope_push();
        file[bit / 8] ^= (char)(1 << bit % 8);
        eg_tensor *t = eg_npy_parse(file, bytes);
        EGT_CHECK(t || egt_said(EG_EFORMAT, "byte"));
        file[bit / 8] ^= (char)(1 << bit % 8);
        eg_scope_pop(s, NULL);
    }
    free(file);
}
