/* test_records.c - TFRecord files, and Examples in and out of bytes. */
#include "tests/egt.h"

#include "tests/crc32c.h"

static size_t read_file(const char *path, uint8_t *to, size_t room)
{
    FILE *f = fopen(path, "rb");
    EGT_CHECK(f);
    size_t n = fread(to, 1, room, f);
    fclose(f);
    return n;
}

/* `count` records "0", "11", "222", ... */
static bool write_records(const char *path, int count, eg_compression c)
{
    eg_tfrecord_writer *w = eg_tfrecord_writer_new(path, .compression = c);
    if (!w && egt_said(EG_ENOKERNEL, "")) {
        return false;
    }
    char text[128];
    for (int i = 0; i < count; i++) {
        memset(text, '0' + i % 10, sizeof text);
        EGT_OK(eg_tfrecord_write(w, text, (size_t)(i % 100 + 1)));
    }
    EGT_OK(eg_tfrecord_writer_close(w));
    return true;
}

static int count_records(eg_dataset *d)
{
    int k = 0;
    EG_FOR_EACH(sample, d) {
        EGT_EQ(eg_numel(sample[0]), k % 100 + 1);
        EGT_EQ(eg_get(sample[0], k % 100), '0' + k % 10);
        k++;
    }
    EGT_OK(eg_dataset_status(d));
    return k;
}

EGT(records_come_back)
{
    static const eg_compression ways[] = {EG_COMPRESSION_NONE, EG_COMPRESSION_GZIP, EG_COMPRESSION_ZLIB};
    for (int i = 0; i < 3; i++) {
        static const int counts[] = {0, 1, 250, 3000};
        for (int k = 0; k < 4; k++) {
            int n = counts[k];
            const char *path = egt_path("a.rec");
            if (!write_records(path, n, ways[i])) {
                break;
            }
            eg_dataset *d = eg_tfrecord_new(path);
            EGT_EQ(count_records(d), n);
            EGT_EQ(count_records(d), n); /* again */
            EGT_EQ(eg_dataset_count(d), -1);
            eg_dataset_free(d);
            d = eg_tfrecord_new(path, .compression = ways[i], .no_crc = true);
            EGT_EQ(count_records(d), n);
            eg_dataset_free(d);
        }
    }
}

EGT(the_bytes_of_a_record)
{
    /* Length 1, its checksum, 'x', its checksum, worked out bit by bit. */
    static const uint8_t want_length[] = {1, 0, 0, 0, 0, 0, 0, 0};
    uint8_t got[64];
    eg_tfrecord_writer *w = eg_tfrecord_writer_new(egt_path("one"));
    EGT_OK(eg_tfrecord_write(w, "x", 1));
    EGT_OK(eg_tfrecord_writer_close(w));
    EGT_EQ(read_file(egt_path("one"), got, sizeof got), 17);
    for (int part = 0; part < 2; part++) {
        uint32_t crc = part ? crc32c_masked("x", 1) : crc32c_masked(want_length, 8);
        const uint8_t *at = got + (part ? 13 : 8);
        EGT_EQ((uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24, crc);
    }
    EGT_CHECK(!memcmp(got, want_length, 8) && got[12] == 'x');
}

/* Every byte of a file of five records broken in turn: what can be read is, with words where not.
 */
EGT(damage_is_found_and_passed_over)
{
    uint8_t good[512], bad[512];
    write_records(egt_path("a.rec"), 5, EG_COMPRESSION_NONE);
    size_t n = read_file(egt_path("a.rec"), good, sizeof good);
    EGT_EQ(n, 5 * 16 + 15);
    write_records(egt_path("b.rec"), 2, EG_COMPRESSION_NONE);
    for (size_t i = 0; i < n; i++) {
        memcpy(bad, good, n);
        bad[i] ^= 0x40;
        egt_write(egt_path("a.rec"), bad, n);
        eg_dataset *d = eg_tfrecord_new(egt_path("*.rec"));
        int whole = 0;
        EG_FOR_EACH(sample, d) {
            whole++;
        }
        EGT_EQ(eg_dataset_status(d), EG_EFORMAT);
        EGT_CHECK(egt_said(EG_EFORMAT, "checksum"));
        EGT_CHECK(whole < 5);
        /* Behind a wrong length nothing of that file can be read, behind wrong bytes the rest. */
        static const int begins[] = {0, 17, 35, 54, 74};
        int record = 4;
        while ((int)i < begins[record]) {
            record--;
        }
        d = eg_dataset_tolerate(d);
        whole = 0;
        EG_FOR_EACH(sample, d) {
            whole++;
        }
        EGT_OK(eg_dataset_status(d));
        EGT_EQ(whole, ((int)i - begins[record] < 12 ? record : 4) + 2);
        eg_dataset_free(d);
    }
    memcpy(bad, good, n);
    bad[17 + 12] ^= 1;
    egt_write(egt_path("a.rec"), bad, n);
    eg_dataset *d = eg_tfrecord_new(egt_path("*.rec"));
    int whole = 0, failed = 0;
    for (eg_tensor *const *s = eg_dataset_first(d); s; s = eg_dataset_next(d)) {
        whole++;
    }
    failed += eg_dataset_status(d) != EG_OK;
    EGT_CHECK(egt_said(EG_EFORMAT, "byte 17"));
    EGT_EQ(whole, 1);
    EGT_EQ(failed, 1);
    eg_dataset_free(d);
    d = eg_tfrecord_new(egt_path("*.rec"), .no_crc = true);
    EGT_CHECK(eg_dataset_first(d) != NULL);
    whole = 1;
    while (eg_dataset_next(d)) {
        whole++;
    }
    EGT_OK(eg_dataset_status(d));
    EGT_EQ(whole, 7);
    eg_dataset_free(d);
}

EGT(records_cut_short)
{
    static uint8_t good[8192];
    for (int packed = 0; packed < 2; packed++) {
        if (!write_records(egt_path("a.rec"), 5, packed ? EG_COMPRESSION_GZIP : EG_COMPRESSION_NONE)) {
            continue;
        }
        size_t n = read_file(egt_path("a.rec"), good, sizeof good);
        for (size_t cut = 0; cut < n; cut++) {
            egt_write(egt_path("a.rec"), good, cut);
            eg_dataset *d = eg_tfrecord_new(egt_path("a.rec"), .compression = packed ? EG_COMPRESSION_GZIP : 0);
            int whole = 0;
            EG_FOR_EACH(sample, d) {
                whole++;
            }
            bool at_a_record = cut == 0 || cut == 17 || cut == 35 || cut == 54 || cut == 74;
            EGT_EQ(eg_dataset_status(d), packed ? (cut ? EG_EFORMAT : EG_OK) : (at_a_record ? EG_OK : EG_EFORMAT));
            EGT_CHECK(whole < 5 || packed);
            eg_clear_error();
            eg_dataset_free(d);
        }
        memset(good + n, 'z', 20);
        egt_write(egt_path("a.rec"), good, n + 20); /* something behind the last */
        eg_dataset *d = eg_tfrecord_new(egt_path("a.rec"));
        EG_FOR_EACH(sample, d) {
        }
        EGT_EQ(eg_dataset_status(d), EG_EFORMAT);
        eg_clear_error();
        eg_dataset_free(d);
    }
}

EGT(lengths_that_lie)
{
    static const uint8_t lengths[][8] = {{0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0},
                                         {0, 0, 0, 0, 0, 0, 0, 0x80},
                                         {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
    for (int i = 0; i < 3; i++) {
        uint8_t b[64] = {0};
        memcpy(b, lengths[i], 8);
        egt_write(egt_path("a.rec"), b, sizeof b);
        eg_dataset *d = eg_tfrecord_new(egt_path("a.rec"), .no_crc = true, .compression = EG_COMPRESSION_NONE);
        EGT_CHECK(!eg_dataset_first(d));
        EGT_CHECK(egt_said(EG_EFORMAT, "a record of"));
        eg_dataset_free(d);
    }
}

/* gzip with a block that is not packed: the file tells of a record that is not there. */
EGT(a_packed_record_that_is_too_large)
{
    static const uint8_t file[] = {0x1f, 0x8b, 8, 0, 0,    0, 0, 0, 0, 3, 1, 12, 0, 0xf3,
                                   0xff, 1,    0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0,  0};
    egt_write(egt_path("a.rec"), file, sizeof file);
    for (int k = 0; k < 2; k++) {
        EGT_OK(eg_unpack_limit(k ? (1 << 28) + 1 : 0));
        eg_dataset *d = eg_tfrecord_new(egt_path("a.rec"), .no_crc = true, .compression = EG_COMPRESSION_GZIP);
        EG_FOR_EACH(sample, d) {
            EGT_CHECK(!sample[0]);
        }
        eg_status st = eg_dataset_status(d);
        eg_dataset_free(d);
        if (st == EG_ENOKERNEL) {
            egt_skip("no zlib");
        }
        EGT_CHECK(egt_said(EG_EFORMAT, k ? "too early" : "a record has 268435457 bytes or more in a file of 27"));
    }
    EGT_OK(eg_unpack_limit(0));
}

EGT(records_passed_over)
{
    write_records(egt_path("a.rec"), 60, EG_COMPRESSION_NONE);
    write_records(egt_path("b.rec"), 60, EG_COMPRESSION_NONE);
    if (!write_records(egt_path("c.rec"), 60, EG_COMPRESSION_GZIP)) {
        write_records(egt_path("c.rec"), 60, EG_COMPRESSION_NONE);
    }
    for (int n = 0; n <= 180; n += 12) {
        eg_dataset *d = eg_dataset_skip(eg_tfrecord_new(egt_path("*.rec")), n);
        int k = n;
        EG_FOR_EACH(sample, d) {
            EGT_EQ(eg_numel(sample[0]), k % 60 + 1);
            k++;
        }
        EGT_OK(eg_dataset_status(d));
        EGT_EQ(k, 180);
        eg_dataset_free(d);
    }
}

EGT(no_records_are_an_error)
{
    EGT_REFUSED(eg_tfrecord_new("/nowhere/*.rec"), EG_EIO, "/nowhere/*.rec");
    EGT_REFUSED(eg_tfrecord_new(NULL), EG_EINVAL, "pattern");
    EGT_REFUSED(eg_tfrecord_new("/tmp", .compression = (eg_compression)9), EG_EINVAL, "9");
    EGT_REFUSED(eg_tfrecord_writer_new("/nowhere/x"), EG_EIO, "/nowhere/x");
    EGT_REFUSED(eg_tfrecord_writer_new(""), EG_EINVAL, "empty");
    EGT_REFUSED(eg_tfrecord_write(NULL, "", 0), EG_EINVAL, "w");
    eg_dataset *d = eg_tfrecord_new("/tmp");
    EGT_REFUSED(eg_dataset_first(d), EG_EIO, "regular");
    eg_dataset_free(d);
    eg_tfrecord_writer *w = eg_tfrecord_writer_new(egt_path("given up"));
    EGT_OK(eg_tfrecord_write(w, "abc", 3));
    eg_tfrecord_writer_free(w);
    EGT_EQ(egt_files(""), 0); /* nothing is left */
    eg_tfrecord_writer_free(NULL);
    w = eg_tfrecord_writer_new(egt_path("broken"));
    eg_debug_fail_alloc(1);
    EGT_REFUSED(eg_tfrecord_write(w, "abc", 3), EG_ENOMEM, "");
    eg_debug_fail_alloc(0);
    EGT_REFUSED(eg_tfrecord_write(w, "abc", 3), EG_ESTATE, "broken");
    EGT_REFUSED(eg_tfrecord_writer_close(w), EG_ESTATE, "broken");
    EGT_EQ(egt_files(""), 0);
}

/* ---- Examples ------------------------------------------------------------------------------- */

static eg_example *new_example(void)
{
    eg_example *e = eg_example_new();
    egt_need(e, "protobuf-c");
    return e;
}

static eg_tensor *ints(int n, const double *v)
{
    return eg_from_values(EG_SHAPE(n), EG_I64, v);
}

static eg_tensor *sample_example(void)
{
    eg_example *e = new_example();
    EGT_OK(eg_example_set(e, "label", ints(1, (double[]){-3})));
    EGT_OK(eg_example_set(e, "box", eg_from_values(EG_SHAPE(2, 2), EG_F64, (double[]){1, 2, 3, 4.5})));
    EGT_OK(eg_example_set(e, "ids", ints(6, (double[]){1, 2, 3, 4, 5, 1099511627776})));
    EGT_OK(eg_example_set_bytes(e, "image", "abc\0d", 5));
    EGT_REFUSED(eg_example_set_bytes(e, "image", "x", 1), EG_EINVAL, "image");
    eg_tensor *t = eg_example_encode(e);
    eg_example_free(e);
    return t;
}

EGT(examples_come_back)
{
    static const eg_feature table[] = {{"image", EG_U8, {0}, 0, 0, 0},
                                       {"box", EG_F32, {2, {2, 2}}, 0, 0, 0},
                                       {"label", EG_I32, {0}, 0, 0, 0},
                                       {"ids", EG_I64, {1, {2}}, true, 0, 0},
                                       {"none", EG_F32, {1, {3}}, 0, true, 7},
                                       {"no string", EG_U8, {0}, 0, true, 0},
                                       {"no row", EG_I64, {1, {2}}, true, true, 0},
                                       {"image", EG_U8, {2, {5, 1}}, 0, 0, 0},
                                       {"image", EG_U8, {0}, true, 0, 0},
                                       {"label", EG_BOOL, {1, {1}}, 0, 0, 0}};
    eg_tensor *t[10];
    EGT_OK(eg_example_read(sample_example(), table, 10, t));
    EGT_EQ(eg_numel(t[0]), 5);
    EGT_EQ(eg_get(t[0], 4), 'd');
    EGT_EQ(eg_get(t[1], 3), 4.5);
    EGT_EQ(eg_ndim(t[2]), 0);
    EGT_EQ(eg_item(t[2]), -3);
    EGT_EQ(eg_size(t[3], 0), 3);
    EGT_EQ(eg_get(t[3], 5), 1099511627776);
    EGT_EQ(eg_get(t[4], 2), 7);
    EGT_EQ(eg_numel(t[5]), 0);
    EGT_EQ(eg_size(t[6], 0), 0);
    EGT_EQ(eg_size(t[6], 1), 2);
    EGT_EQ(eg_size(t[7], 0), 5);
    EGT_EQ(eg_size(t[8], 0), 1);
    EGT_EQ(eg_size(t[8], 1), 5);
    EGT_EQ(eg_item(t[9]), 1);
}

EGT(examples_that_found_no_memory)
{
    eg_example *empty = new_example();
    eg_tensor *three = ints(3, (double[]){1, 2, 3}), *nothing = eg_example_encode(empty);
    eg_example_free(empty);
    eg_status st = EG_ENOMEM;
    for (int n = 1; st; n++) {
        eg_example *e = new_example();
        eg_debug_fail_alloc(n);
        st = eg_example_set(e, "a", three);
        eg_debug_fail_alloc(0);
        EGT_CHECK(st == EG_OK || egt_said(EG_ENOMEM, ""));
        eg_tensor *t = eg_example_encode(e); /* what was refused is not there */
        EGT_EQ(eg_numel(t) == eg_numel(nothing), st != EG_OK);
        EGT_CHECK(st == EG_OK || eg_example_set(e, "a", three) == EG_OK);
        eg_example_free(e);
        EGT_CHECK(n < 20);
    }
}

EGT(examples_that_do_not_fit)
{
    eg_tensor *record = sample_example(), *t[2];
    static const struct {
        eg_feature f;
        eg_status code;
        const char *word;
    } bad[] = {{{"label", EG_F32, {0}, 0, 0, 0}, EG_EFORMAT, "integers, not floats"},
               {{"box", EG_I64, {1, {4}}, 0, 0, 0}, EG_EFORMAT, "floats, not integers"},
               {{"box", EG_F32, {1, {5}}, 0, 0, 0}, EG_EFORMAT, "4 values, not [5]"},
               {{"ids", EG_I64, {1, {4}}, true, 0, 0}, EG_EFORMAT, "6 values, not rows of [4]"},
               {{"ids", EG_I32, {1, {6}}, 0, 0, 0}, EG_EFORMAT, "no i32"},
               {{"image", EG_U8, {1, {4}}, 0, 0, 0}, EG_EFORMAT, "5 bytes, not [4]"},
               {{"nothing", EG_U8, {0}, 0, 0, 0}, EG_EFORMAT, "\"nothing\" is missing"},
               {{"ids", EG_F16, {0}, 0, 0, 0}, EG_EDTYPE, "f16"},
               {{"ids", EG_I64, {1, {0}}, true, 0, 0}, EG_ESHAPE, "empty"},
               {{NULL, EG_I64, {0}, 0, 0, 0}, EG_EINVAL, "name"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const eg_feature two[] = {{"label", EG_I64, {0}, 0, 0, 0}, bad[i].f};
        EGT_REFUSED(eg_example_read(record, two, 2, t), bad[i].code, bad[i].word);
        EGT_CHECK(!t[0] && !t[1]);
    }
    const eg_feature one = {"label", EG_I64, {0}, 0, 0, 0};
    EGT_REFUSED(eg_example_read(eg_zeros(EG_SHAPE(4), EG_F32), &one, 1, t), EG_ESHAPE, "f32 [4]");
    EGT_REFUSED(eg_example_read(NULL, &one, 1, t), EG_EINVAL, "record");
    EGT_REFUSED(eg_example_read(record, &one, 1, NULL), EG_EINVAL, "out");
}

/* Bytes of a message: broken ones are refused, odd but legal ones read. */
EGT(examples_byte_by_byte)
{
    eg_example_free(new_example());
    static const struct {
        const char *bytes;
        int n, value; /* -1: refused */
    } cases[] = {
        {"\x0a\x0a\x0a\x08\x0a\x01k\x12\x03\x1a\x01\x05", 12, -1},            /* integers: 05 is no field */
        {"\x0a\x0c\x0a\x0a\x0a\x01k\x12\x05\x1a\x03\x0a\x01\x05", 14, 5},     /* packed */
        {"\x0a\x0b\x0a\x09\x0a\x01k\x12\x04\x1a\x02\x08\x05", 13, 5},         /* one by one */
        {"\x0a\x0b\x0a\x09\x0a\x01k\x12\x04\x1a\x02\x08\x05\x38\x01", 15, 5}, /* an unknown field */
        {"\x0a\x0c\x0a\x0a\x0a\x01k\x12\x05\x1a\x03\x0a\x02\x05", 14, -1},    /* beyond the end */
        {"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12, -1},         /* 11-byte varint */
        {"\x0b\x0a\x01k", 4, -1},                                             /* a group */
        {"\x0a", 1, -1},
        {"", 0, -1}, /* no features: the one wanted is missing */
        {"\x0a\x16\x0a\x09\x0a\x01k\x12\x04\x1a\x02\x08\x05\x0a\x09\x0a\x01k\x12\x04\x1a\x02\x08"
         "\x06",
         24, -1}, /* the name twice */
    };
    const eg_feature one = {"k", EG_I64, {0}, 0, 0, 0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        eg_tensor *record = eg_from(EG_SHAPE(cases[i].n), EG_U8, cases[i].bytes), *t = NULL;
        eg_status st = eg_example_read(record, &one, 1, &t);
        EGT_EQ(st, cases[i].value < 0 ? EG_EFORMAT : EG_OK);
        EGT_CHECK(!t == (cases[i].value < 0));
        if (t) {
            EGT_EQ(eg_item(t), cases[i].value);
        }
        eg_clear_error();
    }
}

EGT(sequences_of_steps)
{
    eg_example *e = new_example();
    EGT_OK(eg_example_set(e, "id", ints(1, (double[]){9})));
    for (int i = 0; i < 4; i++) {
        char text[] = "aaaaaa";
        eg_tensor *frame = eg_from(EG_SHAPE(i + 1), EG_U8, text);
        EGT_OK(eg_example_step(e, "frame", frame));
        EGT_OK(eg_example_step(e, "tokens", eg_full(EG_SHAPE(4 - i), i + 1, EG_I64)));
        EGT_OK(eg_example_step(e, "pair", eg_full(EG_SHAPE(2), i, EG_F32)));
    }
    eg_tensor *record = eg_example_encode(e), *t[5];
    eg_example_free(e);
    static const eg_feature context[] = {{"id", EG_I64, {0}, 0, 0, 0}};
    static const eg_feature lists[] = {{"frame", EG_U8, {0}, 0, 0, 0},
                                       {"tokens", EG_I64, {0}, true, 0, -1},
                                       {"pair", EG_F32, {1, {2}}, 0, 0, 0},
                                       {"none", EG_F32, {1, {2}}, 0, true, 0}};
    EGT_OK(eg_sequence_example_read(record, context, 1, lists, 4, t));
    EGT_EQ(eg_item(t[0]), 9);
    EGT_EQ(eg_size(t[1], 0), 4);
    EGT_EQ(eg_size(t[1], 1), 4);
    EGT_EQ(eg_get(t[1], 0), 'a');
    EGT_EQ(eg_get(t[1], 1), 0);
    EGT_EQ(eg_size(t[2], 1), 4);
    EGT_EQ(eg_get(t[2], 15), -1);
    EGT_EQ(eg_get(t[2], 12), 4);
    EGT_EQ(eg_get(t[3], 6), 3);
    EGT_EQ(eg_size(t[4], 0), 0);
    EGT_EQ(eg_size(t[4], 1), 2);
    const eg_feature fixed = {"tokens", EG_I64, {1, {4}}, 0, 0, 0};
    EGT_REFUSED(eg_sequence_example_read(record, NULL, 0, &fixed, 1, t), EG_EFORMAT, "3 values");
    const eg_feature missing = {"token", EG_I64, {1, {4}}, 0, 0, 0};
    EGT_REFUSED(eg_sequence_example_read(record, NULL, 0, &missing, 1, t), EG_EFORMAT, "token");
}

/* ---- files of others ------------------------------------------------------------------------ */

EGT(real_examples)
{
    eg_example_free(new_example());
    static const eg_feature table[] = {{"image/encoded", EG_U8, {0}, 0, 0, 0},
                                       {"image/height", EG_I64, {0}, 0, 0, 0},
                                       {"image/width", EG_I64, {0}, 0, 0, 0},
                                       {"image/object/bbox/xmin", EG_F32, {0}, true, 0, 0},
                                       {"image/object/class/text", EG_U8, {0}, true, 0, 0}};
    eg_dataset *d = eg_tfrecord_new(egt_real("tfrecord/pets_examples.record"));
    int k = 0;
    EG_FOR_EACH(sample, d) {
        eg_tensor *t[5];
        EGT_OK(eg_example_read(sample[0], table, 5, t));
        EGT_EQ(eg_size(t[3], 0), eg_size(t[4], 0));
        eg_tensor *image = eg_image_decode(eg_data(t[0]), (size_t)eg_numel(t[0]));
        if (image) {
            EGT_EQ(eg_size(image, 1), eg_item(t[1]));
            EGT_EQ(eg_size(image, 2), eg_item(t[2]));
        }
        eg_clear_error();
        k++;
    }
    EGT_OK(eg_dataset_status(d));
    EGT_EQ(k, 10);
    eg_dataset_free(d);
}

EGT(a_real_sequence)
{
    eg_example_free(new_example());
    static const eg_feature lists[] = {{"image/encoded", EG_U8, {0}, 0, 0, 0}};
    eg_dataset *d = eg_tfrecord_new(egt_real("tfrecord/snapshot_serengeti_sequence_examples.record"));
    eg_tensor *const *sample = eg_dataset_first(d), *frames;
    EGT_CHECK(sample);
    EGT_OK(eg_sequence_example_read(sample[0], NULL, 0, lists, 1, &frames));
    EGT_EQ(eg_size(frames, 0), 10);
    EGT_CHECK(eg_get(frames, 0) == 0xff && eg_get(frames, 1) == 0xd8);
    EGT_CHECK(!eg_dataset_next(d));
    EGT_OK(eg_dataset_status(d));
    eg_dataset_free(d);
}
