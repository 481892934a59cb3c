/* test_npz.c - archives of arrays: what they give, and those that are broken or lie. */
#include "tests/egt.h"

/* numpy.savez_compressed(ids = arange(5), w = zeros((40, 3), float32)) */
static const uint8_t npz[] = {
    0x50, 0x4b, 0x03, 0x04, 0x2d, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x21, 0x00, 0xcb, 0x77, 0x9d, 0xa9, 0xff,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x07, 0x00, 0x14, 0x00, 0x69, 0x64, 0x73, 0x2e, 0x6e, 0x70, 0x79, 0x01,
    0x00, 0x10, 0x00, 0xa8, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x51, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x9b, 0xec, 0x17, 0xea, 0x1b, 0x10, 0xc9, 0xc8, 0x50, 0xc6, 0x50, 0xad, 0x9e, 0x92, 0x5a, 0x9c, 0x5c, 0xa4, 0x6e,
    0xa5, 0xa0, 0x6e, 0x93, 0x69, 0xa1, 0xae, 0xa3, 0xa0, 0x9e, 0x96, 0x5f, 0x54, 0x52, 0x94, 0x98, 0x17, 0x9f, 0x5f,
    0x94, 0x92, 0x0a, 0x12, 0x77, 0x4b, 0xcc, 0x29, 0x4e, 0x05, 0x8a, 0x17, 0x67, 0x24, 0x16, 0xa4, 0x02, 0xf9, 0x1a,
    0xa6, 0x3a, 0x9a, 0x3a, 0x0a, 0xb5, 0x0a, 0x14, 0x00, 0x2e, 0x06, 0x28, 0x60, 0x84, 0xd2, 0x4c, 0x50, 0x9a, 0x19,
    0x4a, 0xb3, 0x40, 0x69, 0x00, 0x50, 0x4b, 0x03, 0x04, 0x2d, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x21, 0x00,
    0x97, 0xad, 0xcc, 0x3b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x05, 0x00, 0x14, 0x00, 0x77, 0x2e, 0x6e,
    0x70, 0x79, 0x01, 0x00, 0x10, 0x00, 0x60, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x4c, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x9b, 0xec, 0x17, 0xea, 0x1b, 0x10, 0xc9, 0xc8, 0x50, 0xc6, 0x50, 0xad, 0x9e, 0x92, 0x5a, 0x9c,
    0x5c, 0xa4, 0x6e, 0xa5, 0xa0, 0x6e, 0x93, 0x66, 0xa2, 0xae, 0xa3, 0xa0, 0x9e, 0x96, 0x5f, 0x54, 0x52, 0x94, 0x98,
    0x17, 0x9f, 0x5f, 0x94, 0x92, 0x0a, 0x12, 0x77, 0x4b, 0xcc, 0x29, 0x4e, 0x05, 0x8a, 0x17, 0x67, 0x24, 0x16, 0xa4,
    0x02, 0xf9, 0x1a, 0x26, 0x06, 0x3a, 0x0a, 0xc6, 0x9a, 0x3a, 0x0a, 0xb5, 0x0a, 0xe4, 0x02, 0x2e, 0x86, 0x51, 0x30,
    0xac, 0x01, 0x00, 0x50, 0x4b, 0x01, 0x02, 0x2d, 0x03, 0x2d, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x21, 0x00,
    0xcb, 0x77, 0x9d, 0xa9, 0x51, 0x00, 0x00, 0x00, 0xa8, 0x00, 0x00, 0x00, 0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0x01, 0x00, 0x00, 0x00, 0x00, 0x69, 0x64, 0x73, 0x2e, 0x6e, 0x70, 0x79, 0x50,
    0x4b, 0x01, 0x02, 0x2d, 0x03, 0x2d, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x21, 0x00, 0x97, 0xad, 0xcc, 0x3b,
    0x4c, 0x00, 0x00, 0x00, 0x60, 0x02, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x80, 0x01, 0x8a, 0x00, 0x00, 0x00, 0x77, 0x2e, 0x6e, 0x70, 0x79, 0x50, 0x4b, 0x05, 0x06, 0x00, 0x00, 0x00,
    0x00, 0x02, 0x00, 0x02, 0x00, 0x68, 0x00, 0x00, 0x00, 0x0d, 0x01, 0x00, 0x00, 0x00, 0x00};

EGT(arrays_of_npz)
{
    eg_tensors *m = eg_npz_parse(npz, sizeof npz);
    egt_need(m, "zlib");
    EGT_EQ(eg_tensors_count(m), 2);
    EGT_EQ(eg_get(eg_tensors_get(m, "ids"), 4), 4);
    EGT_EQ(eg_size(eg_tensors_get(m, "w"), 0), 40);
    eg_tensors_free(m);
    EGT_OK(eg_unpack_limit(168 + 608)); /* what both unpack to */
    eg_tensors_free(eg_npz_parse(npz, sizeof npz));
    EGT_OK(eg_unpack_limit(168 + 607));
    EGT_REFUSED(eg_npz_parse(npz, sizeof npz), EG_EFORMAT, "the arrays have 776 bytes or more in a file of 395");
    EGT_OK(eg_unpack_limit(0));
    uint8_t *b = malloc(sizeof npz + 1);
    for (size_t cut = 0; cut < sizeof npz; cut++) {
        eg_clear_error();
        EGT_CHECK(!eg_npz_parse(npz, cut) && eg_last_error()->code == EG_EFORMAT);
    }
    int unnoticed = 0;
    for (size_t i = 0; i < sizeof npz; i++) { /* dates, versions, attributes may be anything */
        memcpy(b, npz, sizeof npz);
        b[i] ^= 0x15;
        eg_clear_error();
        m = eg_npz_parse(b, sizeof npz);
        EGT_CHECK(m || eg_last_error()->code == EG_EFORMAT);
        unnoticed += m != NULL;
        eg_tensors_free(m);
    }
    EGT_CHECK(unnoticed < 150);
    eg_clear_error();
    free(b);
}

/* One stored member, told by directory and local header as asked. */
static size_t zip(uint8_t *to, const char *name, const char *local_name, uint32_t size, int flags, int twice)
{
    uint8_t *p = to;
    size_t n = strlen(name);
    for (int i = 0; i < twice; i++) {
        static const uint8_t local[] = {'P', 'K', 3, 4, 20, 0};
        memset(p, 0, 30);
        memcpy(p, local, sizeof local);
        p[6] = (uint8_t)flags;
        p[18] = p[22] = (uint8_t)size;
        p[26] = (uint8_t)n;
        memcpy(p + 30, local_name, n);
        p += 30 + n + size;
    }
    size_t directory = (size_t)(p - to);
    for (int i = 0; i < twice; i++) {
        static const uint8_t entry[] = {'P', 'K', 1, 2, 20, 0, 20, 0};
        memset(p, 0, 46);
        memcpy(p, entry, sizeof entry);
        p[8] = (uint8_t)flags;
        p[20] = p[24] = (uint8_t)size;
        p[28] = (uint8_t)n;
        p[42] = (uint8_t)((size_t)i * (30 + n + size));
        memcpy(p + 46, name, n);
        p += 46 + n;
    }
    static const uint8_t end[] = {'P', 'K', 5, 6};
    memset(p, 0, 22);
    memcpy(p, end, sizeof end);
    p[8] = p[10] = (uint8_t)twice;
    p[12] = (uint8_t)((size_t)(p - to) - directory);
    p[16] = (uint8_t)directory;
    return (size_t)(p + 22 - to);
}

EGT(npz_that_lies)
{
    static const struct {
        const char *name, *local;
        uint32_t size;
        int flags, twice;
        const char *word;
    } bad[] = {{"a.npy", "b.npy", 0, 0, 1, "not as the directory tells"},
               {"../a.npy", "../a.npy", 0, 0, 1, "no name"},
               {"/a.npy", "/a.npy", 0, 0, 1, "no name"},
               {"x/../a.npy", "x/../a.npy", 0, 0, 1, "no name"},
               {"a.npy", "a.npy", 0, 1, 1, "encrypted"},
               {"a.npy", "a.npy", 0, 0, 1, "memory/a.npy, byte 0"},
               {"a.npy", "a.npy", 20, 0, 1, "checksum"},
               {"a.npy", "a.npy", 0, 0, 2, "twice"}};
    uint8_t b[512] = {0};
    eg_tensors *m = eg_npz_parse(b, zip(b, "", "", 0, 0, 0));
    egt_need(m, "zlib");
    EGT_EQ(eg_tensors_count(m), 0);
    eg_tensors_free(m);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        memset(b, 'x', sizeof b);
        size_t n = zip(b, bad[i].name, bad[i].local, bad[i].size, bad[i].flags, bad[i].twice);
        eg_clear_error();
        EGT_CHECK(!eg_npz_parse(b, n));
        EGT_CHECK(egt_said(EG_EFORMAT, bad[i].word));
    }
    EGT_REFUSED(eg_npz_load("/nowhere.npz"), EG_EIO, "nowhere");
    size_t n = zip(b, "a.npy", "a.npy", 20, 0, 2);
    b[n - 22 - 51 + 42] = 0; /* the second entry tells of the first member */
    EGT_REFUSED(eg_npz_parse(b, n), EG_EFORMAT, "shares its bytes");
    n = zip(b, "a.npy", "a.npy", 20, 0, 1);
    b[n - 22 + 10] = b[n - 22 + 8] = 9;
    EGT_REFUSED(eg_npz_parse(b, n), EG_EFORMAT, "no 9 entries");
}

/* The same archive with ends of 64 bits, and sizes in an extra field; then these lie. */
EGT(zip_of_64_bits)
{
    static const uint8_t extra[20] = {1, 0, 16, 0, 20, 0, 0, 0, 0, 0, 0, 0, 20}, wide[12] = {'P', 'K', 6, 6, 44};
    static const uint8_t locator[4] = {'P', 'K', 6, 7};
    uint8_t b[512], all[512] = {0};
    memset(b, 'x', sizeof b);
    const size_t n = zip(b, "a.npy", "a.npy", 20, 0, 1), local = 30 + 5 + 20, entry = local + 46 + 5;
    memcpy(all, b, entry);
    memset(all + local + 20, 0xff, 8);
    all[local + 30] = sizeof extra;
    memcpy(all + entry, extra, sizeof extra);
    const size_t end = entry + sizeof extra;
    memcpy(all + end, wide, sizeof wide);
    all[end + 24] = all[end + 32] = 1;
    all[end + 40] = (uint8_t)(end - local);
    all[end + 48] = (uint8_t)local;
    memcpy(all + end + 56, locator, sizeof locator);
    all[end + 64] = (uint8_t)end;
    all[end + 72] = 1;
    memcpy(all + end + 76, b + n - 22, 22);
    memset(all + end + 76 + 8, 0xff, 12);
    const size_t size = end + 98;
    EGT_REFUSED(eg_npz_parse(all, size), EG_EFORMAT, "checksum"); /* all else is as it should be */
    static const struct {
        size_t at; /* from the end of the directory */
        uint8_t value;
        const char *word;
    } lies[] = {{64, 255, "is at 255"}, {71, 255, "no end"},    {4, 45, "no end"},
                {16, 1, "split"},       {24, 2, "split"},       {47, 0x80, "in front"},
                {48, 1, "in front"},    {55, 0x80, "in front"}, {40, 1, "in front"}};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        memcpy(b, all, sizeof b);
        b[end + lies[i].at] = lies[i].value;
        EGT_REFUSED(eg_npz_parse(b, size), EG_EFORMAT, lies[i].word);
    }
    memcpy(b, all, sizeof b);
    b[entry + 2] = 15; /* a field too short for two sizes */
    EGT_REFUSED(eg_npz_parse(b, size), EG_EFORMAT, "lacks its sizes");
    b[entry + 2] = 16;
    b[entry + 19] = 0x80;
    EGT_REFUSED(eg_npz_parse(b, size), EG_EFORMAT, "outside the archive");
}

/* ---- opened and saved ---------------------------------------------------------------------------- */

static void equal_maps(const eg_tensors *a, const eg_tensors *b)
{
    EGT_EQ(eg_tensors_count(a), eg_tensors_count(b));
    for (int64_t i = 0; i < eg_tensors_count(a); i++) {
        const eg_tensor *there = eg_tensors_get(b, eg_tensors_name(a, i));
        EGT_CHECK(there);
        EGT_EQ(egt_distance(there, eg_tensors_at(a, i)), 0);
    }
}

static eg_tensors *sample(void)
{
    eg_tensors *m = eg_tensors_new();
    eg_scope s = eg_scope_push();
    eg_tensors_set(m, "flag", eg_from_values(EG_SHAPE(3), EG_BOOL, (double[]){1, 0, 1}));
    eg_tensors_set(m, "a.b/half", egt_random(EG_SHAPE(2, 3), EG_F16, -1, 1));
    eg_tensors_set(m, "brain", egt_random(EG_SHAPE(5), EG_BF16, -1, 1));
    eg_tensors_set(m, "w", eg_transpose(egt_random(EG_SHAPE(30, 40), EG_F32, -1, 1), 0, 1));
    eg_tensors_set(m, "gr\xc3\xb6\xc3\x9f", egt_random(EG_SHAPE(4), EG_I64, -9e15, 9e15));
    eg_tensors_set(m, "none", eg_zeros(EG_SHAPE(0, 3), EG_F32));
    eg_tensors_set(m, "scalar", eg_scalar(2.5, EG_F64));
    eg_scope_pop(s, NULL);
    return m;
}

EGT(what_is_saved_is_opened_as_views_of_the_file)
{
    const char *path = egt_path("saved.npz");
    eg_tensors *m = sample();
    EGT_OK(eg_tensors_save(m, path));
    eg_tensors *a = eg_tensors_open(path), *b = eg_tensors_open(path, .copy = true), *c = eg_npz_load(path);
    EGT_CHECK(a && b && c);
    EGT_STR(eg_tensors_format(a), "npz");
    EGT_STR(eg_tensors_about(a, 2).stored, "BF16");
    equal_maps(m, a);
    equal_maps(m, b);
    equal_maps(m, c);
    for (int64_t i = 0; i < eg_tensors_count(a); i++) {
        EGT_CHECK((uintptr_t)eg_data(eg_tensors_at(a, i)) % 64 == 0);
    }
    /* In the file's memory, one behind the other, as only views are. */
    const char *w = eg_data(eg_tensors_get(a, "w")), *brain = eg_data(eg_tensors_get(a, "brain"));
    EGT_CHECK(w > brain && w - brain < 1024);
    size_t n;
    char *once = egt_read(path, &n);
    EGT_OK(eg_tensors_save(a, path)); /* over the file it is of */
    size_t again;
    char *twice = egt_read(path, &again);
    EGT_CHECK(n == again && !memcmp(once, twice, n));
    free(once);
    free(twice);
    eg_tensors_free(a);
    eg_tensors_free(b);
    eg_tensors_free(c);
    eg_tensors *bad = eg_tensors_new();
    EGT_OK(eg_tensors_set(bad, "../w", eg_tensors_get(m, "w")));
    EGT_REFUSED(eg_tensors_save(bad, path), EG_EINVAL, "../w");
    EGT_REFUSED(eg_tensors_save(m, path, .shard_bytes = 10), EG_EINVAL, "shards");
    eg_tensors_free(bad);
    eg_tensors_free(m);
}

EGT(packed_members_are_read_when_asked)
{
    eg_tensors *a = eg_tensors_parse(npz, sizeof npz), *b = eg_npz_parse(npz, sizeof npz);
    egt_need(a, "zlib");
    EGT_EQ(eg_tensors_about(a, 1).bytes, 480);
    equal_maps(a, b);
    eg_tensors_free(a);
    EGT_OK(eg_unpack_limit(607));
    a = eg_tensors_parse(npz, sizeof npz);
    EGT_CHECK(eg_tensors_get(a, "ids"));
    EGT_REFUSED(eg_tensors_get(a, "w"), EG_EFORMAT, "608 bytes");
    EGT_OK(eg_unpack_limit(0));
    EGT_CHECK(eg_tensors_get(a, "w"));
    eg_tensors_free(a);
    eg_tensors_free(b);
}

/* More members than 16 bits count: the ends of 64 bits. */
EGT(very_many_members)
{
    enum { MANY = 65536 };
    const char *path = egt_path("many.npz");
    eg_tensors *m = eg_tensors_new();
    eg_tensor *t = eg_keep(eg_arange(0, 2, 1, EG_U8));
    for (int i = 0; i < MANY; i++) {
        char name[16];
        snprintf(name, sizeof name, "t%d", i);
        EGT_OK(eg_tensors_set(m, name, t));
    }
    EGT_OK(eg_tensors_save(m, path));
    eg_tensors *back = eg_tensors_open(path);
    EGT_CHECK(back);
    EGT_EQ(eg_tensors_count(back), MANY);
    EGT_EQ(eg_get(eg_tensors_get(back, "t65535"), 1), 1);
    eg_tensors_free(back);
    eg_tensors_free(m);
    eg_release(t);
}

/* numpy.array(...) of types Egret has not, of either byte and storage order, as numpy.save has them. */
EGT(npy_files_are_maps_of_one)
{
    static const struct {
        const char *descr;
        bool fortran;
        const char *bytes;
        size_t n;
        eg_dtype dtype;
        double first, second;
    } all[] = {{"<i2", false, "\1\0\xfe\xff", 4, EG_I32, 1, -2},
               {">i2", false, "\0\1\xff\xfe", 4, EG_I32, 1, -2},
               {">u4", false, "\0\0\0\1\xff\xff\xff\xff", 8, EG_I64, 1, 4294967295},
               {"|i1", false, "\1\xff", 2, EG_I32, 1, -1},
               {"<c8", false, "\0\0\x80\x3f\0\0\0\x40\0\0\x80\xbf\0\0\0\xc0", 16, EG_F32, 1, 2},
               {">c8", true, "\x3f\x80\0\0\x40\0\0\0\xbf\x80\0\0\xc0\0\0\0", 16, EG_F32, 1, 2}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char b[256];
        snprintf(egt_case, sizeof egt_case, "npy %s", all[i].descr);
        memset(b, ' ', sizeof b);
        memcpy(b, "\x93NUMPY\1\0\x76\0", 10);
        const int n = snprintf(b + 10, 118, "{'descr': '%s', 'fortran_order': %s, 'shape': (1, 2), }", all[i].descr,
                               all[i].fortran ? "True" : "False");
        b[10 + n] = ' ';
        memcpy(b + 128, all[i].bytes, all[i].n);
        eg_tensors *m = eg_tensors_parse(b, 128 + all[i].n);
        EGT_CHECK(m);
        EGT_STR(eg_tensors_format(m), "npy");
        eg_tensor *t = eg_tensors_get(m, "array");
        EGT_EQ(eg_dtype_of(t), all[i].dtype);
        EGT_EQ(eg_get(t, 0), all[i].first);
        EGT_EQ(eg_get(t, 1), all[i].second);
        egt_write(egt_path("one.npy"), b, 128 + all[i].n);
        eg_tensors *named = eg_tensors_open(egt_path("one.npy"));
        EGT_EQ(egt_distance(eg_tensors_get(named, "one"), t), 0);
        eg_tensors_free(named);
        eg_tensors_free(m);
    }
}

static bool open_and_save(void *user)
{
    const char *path = user;
    eg_tensors *m = eg_tensors_open(path);
    const bool saved = m && !eg_tensors_save(m, path);
    eg_tensors_free(m);
    return saved;
}

EGT(any_allocation_may_fail)
{
    char path[512];
    snprintf(path, sizeof path, "%s", egt_path("saved.npz"));
    eg_tensors *m = sample();
    EGT_OK(eg_tensors_save(m, path));
    eg_tensors_free(m);
    EGT_CHECK(egt_fail_allocations(open_and_save, path) > 20);
}
