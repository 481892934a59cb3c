/* test_readers.c - readers of common formats: what they give and what they refuse. */
#define _POSIX_C_SOURCE 200809L
#include "tests/egt.h"

#include <locale.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static const char *in_folder(const char *name)
{
    static char path[4][300];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static void make_folder(void)
{
    strcpy(folder, "/tmp/egret-readers-XXXXXX");
    EGT_CHECK(mkdtemp(folder));
}

static void write_file(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    EGT_CHECK(f && fwrite(bytes, 1, n, f) == n);
    fclose(f);
}

static void write_text(const char *name, const char *text)
{
    write_file(in_folder(name), text, strlen(text));
}

static void remove_all(const char *const *names)
{
    for (; *names; names++) {
        if (unlink(in_folder(*names))) {
            rmdir(in_folder(*names));
        }
    }
    EGT_EQ(rmdir(folder), 0);
}

#define REMOVE(...) remove_all((const char *[]){__VA_ARGS__, NULL})

static bool is_text(const eg_tensor *t, const char *want)
{
    return t && eg_dtype_of(t) == EG_U8 && eg_numel(t) == (int64_t)strlen(want) &&
           (!*want || !memcmp(eg_data(t), want, strlen(want)));
}

static const char *real(const char *name)
{
    static char path[4096];
    if (!egt_data()) {
        egt_skip("no data sets here (EGRET_DATA)");
    }
    snprintf(path, sizeof path, "%s/%s", egt_data(), name);
    return path;
}

/* How walking ends. */
static int64_t walk(eg_dataset *d)
{
    int64_t k = 0;
    EG_FOR_EACH(sample, d)
    {
        k++;
    }
    return k;
}

#define ENDS_WITH(dataset, code, word)                                                             \
    do {                                                                                           \
        eg_dataset *ends_ = dataset;                                                               \
        walk(ends_);                                                                               \
        EGT_EQ(eg_dataset_status(ends_), code);                                                    \
        EGT_CHECK(egt_said(code, word));                                                           \
        eg_dataset_free(ends_);                                                                    \
    } while (0)

/* ---- CIFAR ---------------------------------------------------------------------------------- */

EGT(cifar_records)
{
    static uint8_t b[3 * 3074];
    make_folder();
    for (int i = 0; i < 3 * 3074; i++) {
        b[i] = (uint8_t)(i % 251);
    }
    b[0] = 7;
    b[3073] = 9;
    write_file(in_folder("a.bin"), b, 2 * 3073);
    eg_dataset *d = eg_cifar10_new(in_folder("*.bin"));
    EGT_EQ(eg_dataset_count(d), 2);
    int k = 0;
    EG_FOR_EACH(sample, d)
    {
        EGT_EQ(eg_item(sample[1]), k ? 9 : 7);
        EGT_EQ(eg_get(sample[0], 5), b[k * 3073 + 6]);
        EGT_EQ(eg_get(sample[0], 2 * 1024 + 33), b[k * 3073 + 1 + 2 * 1024 + 33]);
        EGT_EQ(eg_stride(sample[0], 0), 1);
        k++;
    }
    EGT_OK(eg_dataset_status(d));
    eg_dataset_free(d);
    b[3073] = 10;
    write_file(in_folder("a.bin"), b, 2 * 3073);
    ENDS_WITH(eg_cifar10_new(in_folder("*.bin")), EG_EFORMAT, "label 10");
    write_file(in_folder("a.bin"), b, 2 * 3073 - 1);
    EGT_REFUSED(eg_cifar10_new(in_folder("*.bin")), EG_EFORMAT, "whole number");
    b[0] = 3, b[1] = 77, b[3074] = 19, b[3075] = 99;
    write_file(in_folder("a.bin"), b, 2 * 3074);
    d = eg_cifar100_new(in_folder("a.bin"));
    eg_tensor *const *s = eg_dataset_first(d);
    EGT_EQ(eg_item(s[1]), 77);
    EGT_EQ(eg_item(s[2]), 3);
    EGT_CHECK(eg_dataset_next(d) && !eg_dataset_next(d));
    eg_dataset_free(d);
    EGT_REFUSED(eg_cifar10_new("/nowhere/*"), EG_EIO, "/nowhere");
    REMOVE("a.bin");
}

EGT(real_cifar)
{
    eg_dataset *d = eg_cifar10_new(real("cifar10/data_batch_1.first4000.bin"));
    static const int labels[] = {6, 9, 9, 4, 1, 1, 2, 7, 8, 3}; /* as published */
    EGT_EQ(eg_dataset_count(d), 4000);
    eg_tensor *const *s = eg_dataset_first(d);
    for (int i = 0; i < 10; i++, s = eg_dataset_next(d)) {
        EGT_CHECK(s);
        EGT_EQ(eg_item(s[1]), labels[i]);
    }
    eg_dataset_free(d);
}

/* ---- folders and files ---------------------------------------------------------------------- */

EGT(a_folder_for_each_class)
{
    make_folder();
    EGT_REFUSED(eg_image_folder_new(folder), EG_EIO, "0 folders");
    mkdir(in_folder("zebra"), 0777);
    mkdir(in_folder("ant"), 0777);
    mkdir(in_folder(".hidden"), 0777);
    EGT_REFUSED(eg_image_folder_new(folder), EG_EIO, "2 folders and no image");
    write_text("zebra/2.jpg", "two");
    write_text("zebra/1.JPEG", "one");
    write_text("zebra/notes.txt", "no");
    write_text("ant/x.png", "");
    write_text("ant/.png", "no");
    static const char *const want[] = {"", "one", "two"};
    eg_dataset *d = eg_dataset_take(eg_image_folder_new(folder), 100);
    int64_t n = 0, k = 0;
    const char *const *classes = eg_image_folder_classes(d, &n);
    EGT_EQ(n, 2);
    EGT_STR(classes[0], "ant");
    EGT_STR(classes[1], "zebra");
    EGT_EQ(eg_dataset_count(d), 3);
    EG_FOR_EACH(sample, d)
    {
        EGT_CHECK(is_text(sample[0], want[k]));
        EGT_EQ(eg_item(sample[1]), k > 0);
        k++;
    }
    EGT_EQ(k, 3);
    eg_dataset_free(d);
    d = eg_files_new(in_folder("zebra/*"));
    eg_tensor *const *s = eg_dataset_first(d);
    EGT_CHECK(is_text(s[0], in_folder("zebra/1.JPEG")) && is_text(s[1], "one"));
    EGT_EQ(eg_dataset_count(d), 3);
    EGT_REFUSED(eg_image_folder_classes(d, &n), EG_EINVAL, "no folder of images");
    eg_dataset_free(d);
    EGT_REFUSED(eg_image_folder_new("/nowhere"), EG_EIO, "/nowhere");
    EGT_REFUSED(eg_image_folder_new(NULL), EG_EINVAL, "folder");
    EGT_REFUSED(eg_files_new("/nowhere/*"), EG_EIO, "/nowhere");
    REMOVE("zebra/2.jpg", "zebra/1.JPEG", "zebra/notes.txt", "ant/x.png", "ant/.png", "zebra",
           "ant", ".hidden");
}

EGT(real_photos)
{
    eg_dataset *d = eg_image_folder_new(real("cats_and_dogs/train"));
    int64_t n, labels[2] = {0, 0};
    EGT_STR(eg_image_folder_classes(d, &n)[0], "cats");
    EG_FOR_EACH(sample, d)
    {
        labels[(int)eg_item(sample[1])]++;
        EGT_EQ(eg_get(sample[0], 0), 0xff);
    }
    EGT_EQ(labels[0], 150);
    EGT_EQ(labels[1], 150);
    eg_dataset_free(d);
}

static eg_status prepare(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)n, (void)user;
    out[0] = eg_image_decode_crop(eg_data(in[0]), (size_t)eg_numel(in[0]), 32, 24);
    out[1] = in[1];
    *m = 2;
    return out[0] ? EG_OK : eg_last_error()->code;
}

/* Threads that decode give the same pictures in the same order as one. */
EGT(real_photos_through_workers)
{
    enum { BATCHES = 6 };
    eg_tensor *want[BATCHES];
    for (int workers = 0; workers < 3; workers += 2) {
        eg_dataset *d =
            eg_dataset_shuffle(eg_image_folder_new(real("cats_and_dogs/val")), 50, .seed = 3);
        d = eg_dataset_batch(eg_dataset_map(d, prepare, NULL, .workers = workers, .seed = 4), 16);
        int k = 0;
        EG_FOR_EACH(sample, d)
        {
            if (k < BATCHES && !workers) {
                want[k] = eg_keep(sample[0]);
            } else if (k < BATCHES) {
                EGT_EQ(egt_distance(sample[0], want[k]), 0);
                eg_release(want[k]);
            }
            k++;
        }
        if (eg_dataset_status(d) == EG_ENOKERNEL) {
            eg_clear_error();
            eg_dataset_free(d);
            egt_skip("built without JPEG");
        }
        EGT_EQ(k, 7);
        eg_dataset_free(d);
    }
}

/* A header of the old form, with its checksum. */
static size_t tar_header(char *to, const char *name, size_t size, char type)
{
    memset(to, 0, 512);
    strcpy(to, name);
    strcpy(to + 100, "0000644");
    strcpy(to + 108, "0000000");
    strcpy(to + 116, "0000000");
    snprintf(to + 124, 12, "%011o", (unsigned)size);
    strcpy(to + 136, "00000000000");
    memset(to + 148, ' ', 8);
    to[156] = type;
    memcpy(to + 257, "ustar\00000", 8);
    unsigned sum = 0;
    for (int i = 0; i < 512; i++) {
        sum += (unsigned char)to[i];
    }
    snprintf(to + 148, 8, "%06o", sum);
    return 512;
}

EGT(tar_members)
{
    static char b[8192];
    make_folder();
    size_t n = tar_header(b, "dir/", 0, '5');
    n += tar_header(b + n, "dir/a.txt", 5, '0');
    memcpy(b + n, "hello", 5);
    n += 512;
    n += tar_header(b + n, "empty", 0, '0');
    n += tar_header(b + n, "link", 0, '2');
    n += tar_header(b + n, "b", 600, '0');
    memset(b + n, 'b', 600);
    n += 1024;
    write_file(in_folder("x.tar"), b, n + 1024);
    eg_dataset *d = eg_tar_new(in_folder("*.tar"));
    if (!d && eg_last_error()->code == EG_ENOKERNEL) {
        eg_clear_error();
        REMOVE("x.tar");
        egt_skip("built without libarchive");
    }
    for (int epoch = 0; epoch < 2; epoch++) {
        static const char *const names[] = {"dir/a.txt", "empty", "b"};
        static const int sizes[] = {5, 0, 600};
        int k = 0;
        EG_FOR_EACH(sample, d)
        {
            EGT_CHECK(is_text(sample[0], names[k]));
            EGT_EQ(eg_numel(sample[1]), sizes[k]);
            k++;
        }
        EGT_OK(eg_dataset_status(d));
        EGT_EQ(k, 3);
    }
    eg_dataset_free(d);
    write_file(in_folder("x.tar"), b, n - 700);
    ENDS_WITH(eg_tar_new(in_folder("*.tar")), EG_EFORMAT, "libarchive");
    b[512] ^= 1; /* a wrong checksum */
    write_file(in_folder("x.tar"), b, n);
    ENDS_WITH(eg_tar_new(in_folder("*.tar")), EG_EFORMAT, "libarchive");
    REMOVE("x.tar");
}

/* ---- lines ---------------------------------------------------------------------------------- */

EGT(lines_of_text)
{
    make_folder();
    write_text("a.txt", "\xef\xbb\xbfone\r\n\ntw\xc3\xb6\n  three ");
    write_text("b.txt", "\nlast\r\n");
    static const char *const want[] = {"one", "", "tw\xc3\xb6", "  three ", "", "last"};
    eg_dataset *d = eg_text_lines_new(in_folder("*.txt"));
    for (int epoch = 0; epoch < 2; epoch++) {
        int k = 0;
        EG_FOR_EACH(sample, d)
        {
            EGT_CHECK(is_text(sample[0], want[k]));
            k++;
        }
        EGT_EQ(k, 6);
    }
    eg_dataset_free(d);
    d = eg_text_lines_new(in_folder("*.txt"), .skip_empty = true);
    EGT_EQ(walk(d), 4);
    eg_dataset_free(d);
    write_text("a.txt", "fine\nx\xff\x80y\xc3");
    ENDS_WITH(eg_text_lines_new(in_folder("a.txt")), EG_EFORMAT, "line 2: byte 2, 0xff");
    d = eg_dataset_skip(eg_text_lines_new(in_folder("a.txt"), .invalid = EG_UTF8_REPLACE), 1);
    EGT_CHECK(is_text(eg_dataset_first(d)[0], "x\xef\xbf\xbd\xef\xbf\xbdy\xef\xbf\xbd"));
    eg_dataset_free(d);
    d = eg_dataset_skip(eg_text_lines_new(in_folder("a.txt"), .invalid = EG_UTF8_KEEP), 1);
    EGT_CHECK(is_text(eg_dataset_first(d)[0], "x\xff\x80y\xc3"));
    eg_dataset_free(d);
    write_text("a.txt", "");
    d = eg_text_lines_new(in_folder("a.txt"));
    EGT_EQ(walk(d), 0);
    EGT_OK(eg_dataset_status(d));
    eg_dataset_free(d);
    EGT_REFUSED(eg_text_lines_new("/nowhere/*"), EG_EIO, "/nowhere");
    EGT_REFUSED(eg_text_lines_new(folder, .invalid = (eg_utf8_policy)5), EG_EINVAL, "5");
    ENDS_WITH(eg_text_lines_new(folder), EG_EIO, "regular");
    REMOVE("a.txt", "b.txt");
}

EGT(a_line_of_more_than_100_mb)
{
    make_folder();
    FILE *f = fopen(in_folder("a.txt"), "wb"); /* a hole of zeros */
    EGT_CHECK(f && !fseek(f, 100000001, SEEK_SET) && fputc('\n', f) == '\n');
    fclose(f);
    ENDS_WITH(eg_text_lines_new(in_folder("a.txt")), EG_EFORMAT, "100000000");
    REMOVE("a.txt");
}

EGT(real_lines)
{
    eg_dataset *d = eg_text_lines_new(real("spa-eng/spa.txt.gz"));
    eg_tensor *const *s = eg_dataset_first(d);
    if (!s && eg_last_error()->code == EG_ENOKERNEL) {
        eg_clear_error();
        eg_dataset_free(d);
        egt_skip("built without zlib");
    }
    EGT_CHECK(is_text(s[0], "Go.\tVe."));
    EGT_EQ(walk(d), 118964);
    eg_dataset_free(d);
}

/* ---- tables --------------------------------------------------------------------------------- */

EGT(rows_of_tables)
{
    make_folder();
    write_text("b.csv", "x,y,n,name\n7,8,9,\"l1\r\nl2\"\n");
    static const eg_column columns[] = {
        {"name", 0, EG_U8, 0, 0, 0}, {"x", 0, EG_F32, 2, 0, 0}, {"n", 0, EG_I64, 0, true, -7}};
    static const char *const names[] = {"a \"b\", c", "", "l1\nl2"};
    static const double x[] = {1, -1000, 7}, y[] = {2.5, 0.5, 8}, n[] = {3, -7, 9};
    write_text("a.csv", "name,x,y,n\r\n\"a \"\"b\"\", c\",1,2.5,3\r\n\n,-1e3, .5 ,\n");
    eg_dataset *d = eg_csv_new(in_folder("*.csv"), columns, 3, .header = true);
    int k = 0;
    EG_FOR_EACH(sample, d)
    {
        EGT_CHECK(is_text(sample[0], names[k]));
        EGT_EQ(eg_get(sample[1], 0), x[k]);
        EGT_EQ(eg_get(sample[1], 1), y[k]);
        EGT_EQ(eg_item(sample[2]), n[k]);
        k++;
    }
    EGT_OK(eg_dataset_status(d));
    EGT_EQ(k, 3);
    eg_dataset_free(d);
    REMOVE("a.csv", "b.csv");
}

EGT(tables_without_names)
{
    make_folder();
    write_text("a.tsv", "1\t\"x\" y\t\n0\tz\tz");
    static const eg_column columns[] = {{NULL, 1, EG_U8, 0, 0, 0}, {NULL, 0, EG_BOOL, 0, 0, 0}};
    eg_dataset *d =
        eg_csv_new(in_folder("a.tsv"), columns, 2, .separator = '\t', .no_quotes = true);
    eg_tensor *const *s = eg_dataset_first(d);
    EGT_CHECK(is_text(s[0], "\"x\" y"));
    EGT_EQ(eg_item(s[1]), 1);
    s = eg_dataset_next(d);
    EGT_CHECK(is_text(s[0], "z"));
    EGT_CHECK(!eg_dataset_next(d));
    EGT_OK(eg_dataset_status(d));
    eg_dataset_free(d);
    REMOVE("a.tsv");
}

EGT(tables_that_are_refused)
{
    make_folder();
    static const struct {
        const char *text, *word;
    } bad[] = {{"1,2\n3\n", "line 2: 1 fields, the first row has 2"},
               {"1,2\n3,4,5\n", "line 2: 3 fields"},
               {"1,\"2\n3,4\n", "a quote is not closed"},
               {"1,\"2\"3\n", "line 1: text follows"},
               {"1\n", "no column 1"},
               {"1,x\n", "field 2, \"x\", is no f32"},
               {"1,\n", "is no f32"},
               {"1,1,5\n", NULL},
               {"1,1.5.5\n", "1.5.5"},
               {"1,0x10\n", "0x10"},
               {"1,1e\n", "1e"},
               {"1.0,1\n", "is no i32"},
               {"2147483648,1\n", "is no i32"},
               {"99999999999999999999,1\n", "is no i32"},
               {"\xff,1\n", "is no UTF-8"}};
    static const eg_column columns[] = {{NULL, 0, EG_I32, 0, 0, 0}, {NULL, 1, EG_F32, 0, 0, 0}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        write_text("a.csv", bad[i].text);
        if (bad[i].word) {
            ENDS_WITH(eg_csv_new(in_folder("a.csv"), columns, 2), EG_EFORMAT, bad[i].word);
        } else {
            eg_dataset *d = eg_csv_new(in_folder("a.csv"), columns, 2);
            EGT_EQ(walk(d), 1);
            eg_dataset_free(d);
        }
    }
    static const eg_column named[] = {{"x", 0, EG_F32, 0, 0, 0}};
    write_text("a.csv", "a,b\n1,2\n3,4\n");
    eg_dataset *d = eg_dataset_tolerate(eg_csv_new(in_folder("a.csv"), named, 1, .header = true));
    EGT_EQ(walk(d), 0); /* nothing of a file without the column */
    EGT_EQ(eg_dataset_left_out(d).count, 1);
    eg_dataset_free(d);
    static const eg_column odd[] = {{NULL, -1, EG_F32, 0, 0, 0}, {NULL, 0, EG_U8, 3, 0, 0}};
    EGT_REFUSED(eg_csv_new(in_folder("a.csv"), odd, 1), EG_EINVAL, "at -1");
    EGT_REFUSED(eg_csv_new(in_folder("a.csv"), odd + 1, 1), EG_EINVAL, "count 3");
    EGT_REFUSED(eg_csv_new(in_folder("a.csv"), columns, 9), EG_EINVAL, "9 columns");
    EGT_REFUSED(eg_csv_new(in_folder("a.csv"), NULL, 1), EG_EINVAL, "columns");
    EGT_REFUSED(eg_csv_new(in_folder("a.csv"), columns, 2, .separator = '"'), EG_EINVAL, "quote");
    REMOVE("a.csv");
}

/* Every number of a list, as text and as strtod reads it in the C locale. */
EGT(numbers_whatever_the_locale)
{
    static const char *const texts[] = {"0.1",
                                        "-2.5e-3",
                                        "123456789.125",
                                        "1e22",
                                        "1e23",
                                        "9007199254740993",
                                        "0.30000000000000004",
                                        "1.7976931348623157e308",
                                        "5e-324",
                                        "2.2250738585072011e-308",
                                        "1e-400",
                                        "1e400",
                                        "00012.50",
                                        ".5",
                                        "5.",
                                        "+7",
                                        "179769313486231580793728971405301e276"};
    make_folder();
    double want[17];
    FILE *f = fopen(in_folder("a.csv"), "w");
    for (int i = 0; i < 17; i++) {
        want[i] = strtod(texts[i], NULL);
        fprintf(f, "%s\n", texts[i]);
    }
    fclose(f);
    static const char *const locales[] = {"C", "de_DE.UTF-8", "fr_FR.UTF-8"};
    for (int l = 0; l < 3; l++) {
        setlocale(LC_NUMERIC, locales[l]); /* where it is installed */
        const eg_column column = {NULL, 0, EG_F64, 0, 0, 0};
        eg_dataset *d = eg_csv_new(in_folder("a.csv"), &column, 1);
        int k = 0;
        EG_FOR_EACH(sample, d)
        {
            EGT_EQ(eg_item(sample[0]), want[k]);
            k++;
        }
        EGT_EQ(k, 17);
        eg_dataset_free(d);
    }
    setlocale(LC_NUMERIC, "C");
    REMOVE("a.csv");
}

EGT(real_captions)
{
    static const eg_column columns[] = {{"image", 0, EG_U8, 0, 0, 0},
                                        {"caption", 0, EG_U8, 0, 0, 0}};
    eg_dataset *d = eg_csv_new(real("flickr8k/captions.txt"), columns, 2, .header = true);
    int64_t k = 0;
    EG_FOR_EACH(sample, d)
    {
        const char *name = eg_data(sample[0]);
        EGT_CHECK(!memcmp(name + eg_numel(sample[0]) - 4, ".jpg", 4));
        k++;
    }
    EGT_OK(eg_dataset_status(d));
    EGT_EQ(k, 3385);
    eg_dataset_free(d);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

EGT(objects_line_by_line)
{
    make_folder();
    write_text(
        "a.json",
        "{\"word\":\"c\\u00e4t\", \"other\":{\"n\":[1,{}]}, \"n\":3, \"grid\":[[1,2,3],[4,5,6]],"
        "\"lists\":[[1,2],[3],[]], \"ok\":true}\n\n"
        "{\"lists\":[], \"grid\":[[],[]], \"n\":-9007199254740993, \"word\":null, \"ok\":0}\n");
    static const eg_json_field fields[] = {
        {"word", EG_U8, 0, true, 0},   {"n", EG_I64, 0, 0, 0},   {"grid", EG_F32, 0, 0, 0},
        {"lists", EG_I32, true, 0, 0}, {"ok", EG_BOOL, 0, 0, 0}, {"none", EG_F32, 0, true, 2.5}};
    eg_dataset *d = eg_ndjson_new(in_folder("a.json"), fields, 6);
    eg_tensor *const *s = eg_dataset_first(d);
    EGT_CHECK(s && is_text(s[0], "c\xc3\xa4t"));
    EGT_EQ(eg_item(s[1]), 3);
    EGT_EQ(eg_size(s[2], 0), 2);
    EGT_EQ(eg_size(s[2], 1), 3);
    EGT_EQ(eg_get(s[2], 5), 6);
    EGT_EQ(eg_numel(s[3]), 3);
    EGT_EQ(eg_get(s[3], 2), 3);
    EGT_EQ(eg_numel(s[4]), 3);
    EGT_EQ(eg_get(s[4], 0), 2);
    EGT_EQ(eg_get(s[4], 2), 0);
    EGT_EQ(eg_item(s[5]), 1);
    EGT_EQ(eg_item(s[6]), 2.5);
    s = eg_dataset_next(d);
    EGT_CHECK(s && is_text(s[0], ""));
    EGT_CHECK(*(const int64_t *)eg_data(s[1]) == -9007199254740993);
    EGT_EQ(eg_size(s[2], 0), 2);
    EGT_EQ(eg_size(s[2], 1), 0);
    EGT_EQ(eg_numel(s[3]), 0);
    EGT_CHECK(!eg_dataset_next(d));
    EGT_OK(eg_dataset_status(d));
    eg_dataset_free(d);
    REMOVE("a.json");
}

EGT(objects_that_are_refused)
{
    make_folder();
    static const struct {
        const char *text, *word;
    } bad[] = {{"[1]", "is no object"},
               {"{\"x\":1", "line 1: byte"},
               {"{\"x\":1}}", "byte"},
               {"{\"y\":1}", "\"x\" is missing"},
               {"{\"x\":null}", "\"x\" is null"},
               {"{\"x\":1,\"x\":2}", "\"x\" is there twice"},
               {"{\"x\":\"1\"}", "no number"},
               {"{\"x\":{}}", "no number"},
               {"{\"x\":[1,[2]]}", "numbers beside lists"},
               {"{\"x\":[[1],2]}", "numbers beside lists"},
               {"{\"x\":[[1],[2,3]]}", "several lengths"},
               {"{\"x\":[[[[[[[[[1]]]]]]]]]}", "too deep"},
               {"{\"x\":1.5}", "1.5 is no i32"},
               {"{\"x\":4294967296}", "is no i32"},
               {"\xff", "UTF-8"}};
    const eg_json_field field = {"x", EG_I32, 0, 0, 0}, ragged = {"x", EG_I32, true, 0, 0},
                        text = {"x", EG_U8, 0, 0, 0}, wrong = {"x", EG_U8, true, 0, 0};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        write_text("a.json", bad[i].text);
        ENDS_WITH(eg_ndjson_new(in_folder("a.json"), &field, 1), EG_EFORMAT, bad[i].word);
    }
    write_text("a.json", "{\"x\":1}");
    ENDS_WITH(eg_ndjson_new(in_folder("a.json"), &ragged, 1), EG_EFORMAT, "is no list");
    ENDS_WITH(eg_ndjson_new(in_folder("a.json"), &text, 1), EG_EFORMAT, "is no string");
    EGT_REFUSED(eg_ndjson_new(in_folder("a.json"), &wrong, 1), EG_EINVAL, "ragged");
    EGT_REFUSED(eg_ndjson_new(in_folder("a.json"), NULL, 1), EG_EINVAL, "fields");
    REMOVE("a.json");
}

EGT(strokes_of_drawings)
{
    eg_tensor *v = eg_from_values(EG_SHAPE(6), EG_I32, (double[]){1, 2, 10, 20, 3, 30});
    eg_tensor *n = eg_from_values(EG_SHAPE(4), EG_I64, (double[]){2, 2, 1, 1});
    static const double want[] = {1, 10, 0, 2, 20, 1, 3, 30, 1};
    eg_tensor *t = eg_strokes(v, n);
    EGT_EQ(eg_size(t, 0), 3);
    for (int i = 0; i < 9; i++) {
        EGT_EQ(eg_get(t, i), want[i]);
    }
    EGT_REFUSED(eg_strokes(v, eg_slice(n, 0, 0, 3, 1)), EG_ESHAPE, "no pairs");
    EGT_REFUSED(eg_strokes(v, eg_slice(n, 0, 0, 2, 1)), EG_ESHAPE, "no pairs");
    EGT_REFUSED(eg_strokes(eg_slice(v, 0, 0, 5, 1), n), EG_ESHAPE, "no pairs");
    EGT_REFUSED(eg_strokes(v, v), EG_ESHAPE, "i32");
}

EGT(real_drawings)
{
    static const eg_json_field fields[] = {{"word", EG_U8, 0, 0, 0},
                                           {"drawing", EG_I32, true, 0, 0}};
    eg_dataset *d = eg_ndjson_new(real("quickdraw/simplified/*.ndjson"), fields, 2);
    int64_t k = 0;
    EG_FOR_EACH(sample, d)
    {
        eg_tensor *points = eg_strokes(sample[1], sample[2]);
        EGT_CHECK(points && eg_size(points, 0) > 0);
        EGT_EQ(eg_get(points, eg_numel(points) - 1), 1);
        k++;
    }
    EGT_OK(eg_dataset_status(d));
    EGT_CHECK(k >= 8600);
    eg_dataset_free(d);
}

/* ---- sounds --------------------------------------------------------------------------------- */

static const uint8_t wav[] = {'R', 'I', 'F', 'F',  44, 0, 0,    0, 'W',  'A',  'V',  'E',  'f',
                              'm', 't', ' ', 16,   0,  0, 0,    1, 0,    2,    0,    0x40, 0x1f,
                              0,   0,   0,   0x7d, 0,  0, 4,    0, 16,   0,    'd',  'a',  't',
                              'a', 8,   0,   0,    0,  0, 0x40, 0, 0x80, 0xff, 0x7f, 1,    0};

EGT(sounds)
{
    int64_t rate = 5;
    eg_tensor *t = eg_wav_parse(wav, sizeof wav, &rate);
    if (!t && eg_last_error()->code == EG_ENOKERNEL) {
        eg_clear_error();
        egt_skip("built without libsndfile");
    }
    static const double want[] = {0.5, 32767.0 / 32768, -1, 1.0 / 32768};
    EGT_EQ(rate, 8000);
    EGT_EQ(eg_size(t, 0), 2);
    EGT_EQ(eg_size(t, 1), 2);
    for (int i = 0; i < 4; i++) {
        EGT_EQ(eg_get(t, i), want[i]);
    }
    uint8_t b[sizeof wav];
    for (size_t cut = 0; cut < sizeof wav; cut++) {
        eg_clear_error();
        EGT_CHECK(!eg_wav_parse(wav, cut, &rate) && eg_last_error()->code == EG_EFORMAT);
    }
    EGT_EQ(rate, 8000);
    static const struct {
        int at, value;
        const char *word;
    } bad[] = {{0, 'X', "RIFF"},      {22, 0, "0 channels"},      {40, 9, "leaves the file"},
               {43, 0xff, "leaves"},  {36, 'x', "no data chunk"}, {16, 4, "4 bytes"},
               {20, 99, "libsndfile"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        memcpy(b, wav, sizeof wav);
        b[bad[i].at] = (uint8_t)bad[i].value;
        EGT_REFUSED(eg_wav_parse(b, sizeof b, &rate), EG_EFORMAT, bad[i].word);
    }
    memcpy(b, wav, sizeof wav);
    memset(b + 24, 0, 4);
    EGT_REFUSED(eg_wav_parse(b, sizeof b, &rate), EG_EFORMAT, "at 0 frames");
    EGT_REFUSED(eg_wav_parse(wav, sizeof wav, NULL), EG_EINVAL, "rate");
    EGT_REFUSED(eg_wav_load("/nowhere.wav", &rate), EG_EIO, "nowhere");
}

EGT(real_sounds)
{
    int64_t rate = 0;
    eg_dataset *d = eg_files_new(real("speech_commands/yes/*.wav"));
    EG_FOR_EACH(sample, d)
    {
        eg_tensor *t = eg_wav_parse(eg_data(sample[1]), (size_t)eg_numel(sample[1]), &rate);
        if (!t && eg_last_error()->code == EG_ENOKERNEL) {
            eg_clear_error();
            eg_dataset_free(d);
            egt_skip("built without libsndfile");
        }
        EGT_EQ(rate, 16000);
        EGT_EQ(eg_size(t, 0), 1);
        EGT_CHECK(eg_size(t, 1) >= 12288 && eg_size(t, 1) <= 16000);
        EGT_CHECK(eg_item(eg_max(eg_abs(t))) <= 1);
    }
    EGT_OK(eg_dataset_status(d));
    eg_dataset_free(d);
}

/* ---- npz ------------------------------------------------------------------------------------ */

/* numpy.savez_compressed(ids = arange(5), w = zeros((40, 3), float32)) */
static const uint8_t npz[] = {
    0x50, 0x4b, 0x03, 0x04, 0x2d, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x21, 0x00, 0xcb, 0x77,
    0x9d, 0xa9, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x07, 0x00, 0x14, 0x00, 0x69, 0x64,
    0x73, 0x2e, 0x6e, 0x70, 0x79, 0x01, 0x00, 0x10, 0x00, 0xa8, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x51, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x9b, 0xec, 0x17, 0xea, 0x1b, 0x10, 0xc9,
    0xc8, 0x50, 0xc6, 0x50, 0xad, 0x9e, 0x92, 0x5a, 0x9c, 0x5c, 0xa4, 0x6e, 0xa5, 0xa0, 0x6e, 0x93,
    0x69, 0xa1, 0xae, 0xa3, 0xa0, 0x9e, 0x96, 0x5f, 0x54, 0x52, 0x94, 0x98, 0x17, 0x9f, 0x5f, 0x94,
    0x92, 0x0a, 0x12, 0x77, 0x4b, 0xcc, 0x29, 0x4e, 0x05, 0x8a, 0x17, 0x67, 0x24, 0x16, 0xa4, 0x02,
    0xf9, 0x1a, 0xa6, 0x3a, 0x9a, 0x3a, 0x0a, 0xb5, 0x0a, 0x14, 0x00, 0x2e, 0x06, 0x28, 0x60, 0x84,
    0xd2, 0x4c, 0x50, 0x9a, 0x19, 0x4a, 0xb3, 0x40, 0x69, 0x00, 0x50, 0x4b, 0x03, 0x04, 0x2d, 0x00,
    0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x21, 0x00, 0x97, 0xad, 0xcc, 0x3b, 0xff, 0xff, 0xff, 0xff,
    0xff, 0xff, 0xff, 0xff, 0x05, 0x00, 0x14, 0x00, 0x77, 0x2e, 0x6e, 0x70, 0x79, 0x01, 0x00, 0x10,
    0x00, 0x60, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x4c, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x9b, 0xec, 0x17, 0xea, 0x1b, 0x10, 0xc9, 0xc8, 0x50, 0xc6, 0x50, 0xad, 0x9e, 0x92, 0x5a,
    0x9c, 0x5c, 0xa4, 0x6e, 0xa5, 0xa0, 0x6e, 0x93, 0x66, 0xa2, 0xae, 0xa3, 0xa0, 0x9e, 0x96, 0x5f,
    0x54, 0x52, 0x94, 0x98, 0x17, 0x9f, 0x5f, 0x94, 0x92, 0x0a, 0x12, 0x77, 0x4b, 0xcc, 0x29, 0x4e,
    0x05, 0x8a, 0x17, 0x67, 0x24, 0x16, 0xa4, 0x02, 0xf9, 0x1a, 0x26, 0x06, 0x3a, 0x0a, 0xc6, 0x9a,
    0x3a, 0x0a, 0xb5, 0x0a, 0xe4, 0x02, 0x2e, 0x86, 0x51, 0x30, 0xac, 0x01, 0x00, 0x50, 0x4b, 0x01,
    0x02, 0x2d, 0x03, 0x2d, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x21, 0x00, 0xcb, 0x77, 0x9d,
    0xa9, 0x51, 0x00, 0x00, 0x00, 0xa8, 0x00, 0x00, 0x00, 0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0x01, 0x00, 0x00, 0x00, 0x00, 0x69, 0x64, 0x73, 0x2e, 0x6e,
    0x70, 0x79, 0x50, 0x4b, 0x01, 0x02, 0x2d, 0x03, 0x2d, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00,
    0x21, 0x00, 0x97, 0xad, 0xcc, 0x3b, 0x4c, 0x00, 0x00, 0x00, 0x60, 0x02, 0x00, 0x00, 0x05, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0x01, 0x8a, 0x00, 0x00, 0x00,
    0x77, 0x2e, 0x6e, 0x70, 0x79, 0x50, 0x4b, 0x05, 0x06, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x02,
    0x00, 0x68, 0x00, 0x00, 0x00, 0x0d, 0x01, 0x00, 0x00, 0x00, 0x00};

EGT(arrays_of_npz)
{
    eg_tensors *m = eg_npz_parse(npz, sizeof npz);
    if (!m && eg_last_error()->code == EG_ENOKERNEL) {
        eg_clear_error();
        egt_skip("built without zlib");
    }
    EGT_EQ(eg_tensors_count(m), 2);
    EGT_EQ(eg_get(eg_tensors_get(m, "ids"), 4), 4);
    EGT_EQ(eg_size(eg_tensors_get(m, "w"), 0), 40);
    eg_tensors_free(m);
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
static size_t zip(uint8_t *to, const char *name, const char *local_name, uint32_t size, int flags,
                  int twice)
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
               {"a.txt", "a.txt", 0, 0, 1, "no npy file"},
               {"a.npy", "a.npy", 0, 1, 1, "encrypted"},
               {"a.npy", "a.npy", 0, 0, 1, "more bytes"},
               {"a.npy", "a.npy", 20, 0, 1, "checksum"}};
    uint8_t b[512] = {0};
    eg_tensors *m = eg_npz_parse(b, zip(b, "", "", 0, 0, 0));
    if (!m && eg_last_error()->code == EG_ENOKERNEL) {
        eg_clear_error();
        egt_skip("built without zlib");
    }
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
}
