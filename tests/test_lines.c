/* test_lines.c - datasets of lines: text, tables, objects of JSON. */
#include "tests/readers.h"

#include <locale.h>

/* ---- lines ---------------------------------------------------------------------------------- */

EGT(lines_of_text)
{
    write_text("a.txt", "\xef\xbb\xbfone\r\n\ntw\xc3\xb6\n  three ");
    write_text("b.txt", "\nlast\r\n");
    static const char *const want[] = {"one", "", "tw\xc3\xb6", "  three ", "", "last"};
    eg_dataset *d = eg_text_lines_new(egt_path("*.txt"));
    for (int epoch = 0; epoch < 2; epoch++) {
        int k = 0;
        EG_FOR_EACH(sample, d) {
            EGT_CHECK(is_text(sample[0], want[k]));
            k++;
        }
        EGT_EQ(k, 6);
    }
    eg_dataset_free(d);
    d = eg_text_lines_new(egt_path("*.txt"), .skip_empty = true);
    EGT_EQ(walk(d), 4);
    eg_dataset_free(d);
    write_text("a.txt", "fine\nx\xff\x80y\xc3");
    ENDS_WITH(eg_text_lines_new(egt_path("a.txt")), EG_EFORMAT, "line 2: byte 2, 0xff");
    d = eg_dataset_skip(eg_text_lines_new(egt_path("a.txt"), .invalid = EG_UTF8_REPLACE), 1);
    EGT_CHECK(is_text(eg_dataset_first(d)[0], "x\xef\xbf\xbd\xef\xbf\xbdy\xef\xbf\xbd"));
    eg_dataset_free(d);
    d = eg_dataset_skip(eg_text_lines_new(egt_path("a.txt"), .invalid = EG_UTF8_KEEP), 1);
    EGT_CHECK(is_text(eg_dataset_first(d)[0], "x\xff\x80y\xc3"));
    eg_dataset_free(d);
    write_text("a.txt", "");
    d = eg_text_lines_new(egt_path("a.txt"));
    EGT_EQ(walk(d), 0);
    EGT_OK(eg_dataset_status(d));
    eg_dataset_free(d);
    EGT_REFUSED(eg_text_lines_new("/nowhere/*"), EG_EIO, "/nowhere");
    EGT_REFUSED(eg_text_lines_new(egt_folder(), .invalid = (eg_utf8_policy)5), EG_EINVAL, "5");
    ENDS_WITH(eg_text_lines_new(egt_folder()), EG_EIO, "regular");
}

EGT(a_line_of_more_than_100_mb)
{
    FILE *f = fopen(egt_path("a.txt"), "wb"); /* a hole of zeros */
    EGT_CHECK(f && !fseek(f, 100000001, SEEK_SET) && fputs("\nnext\n", f) >= 0);
    fclose(f);
    ENDS_WITH(eg_text_lines_new(egt_path("a.txt")), EG_EFORMAT, "100000000");
    eg_dataset *d = eg_dataset_tolerate(eg_text_lines_new(egt_path("a.txt")));
    EGT_EQ(walk(d), 1); /* the others are there */
    EGT_EQ(eg_dataset_left_out(d).count, 1);
    eg_dataset_free(d);
}

EGT(real_lines)
{
    eg_dataset *d = eg_text_lines_new(egt_real("spa-eng/spa.txt.gz"));
    eg_tensor *const *s = eg_dataset_first(d);
    if (!s && egt_said(EG_ENOKERNEL, "")) {
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
    write_text("b.csv", "x,y,n,name\n7,8,9,\"l1\r\nl2\"\n");
    static const eg_column columns[] = {
        {"name", 0, EG_U8, 0, 0, 0}, {"x", 0, EG_F32, 2, 0, 0}, {"n", 0, EG_I64, 0, true, -7}};
    static const char *const names[] = {"a \"b\", c", "", "l1\r\nl2"};
    static const double x[] = {1, -1000, 7}, y[] = {2.5, 0.5, 8}, n[] = {3, -7, 9};
    write_text("a.csv", "name,x,y,n\r\n\"a \"\"b\"\", c\",1,2.5,3\r\n\n,-1e3, .5 ,\n");
    eg_dataset *d = eg_csv_new(egt_path("*.csv"), columns, 3, .header = true);
    int k = 0;
    EG_FOR_EACH(sample, d) {
        EGT_CHECK(is_text(sample[0], names[k]));
        EGT_EQ(eg_get(sample[1], 0), x[k]);
        EGT_EQ(eg_get(sample[1], 1), y[k]);
        EGT_EQ(eg_item(sample[2]), n[k]);
        k++;
    }
    EGT_OK(eg_dataset_status(d));
    EGT_EQ(k, 3);
    eg_dataset_free(d);
}

/* Fields of all rows, each ended by a |, rows by a ;. */
static void check_rows(const char *text, const char *want)
{
    static const eg_column columns[] = {{NULL, 0, EG_U8, 0, 0, 0}, {NULL, 1, EG_U8, 0, 0, 0}};
    char got[200] = "";
    write_text("rows.csv", text);
    eg_dataset *d = eg_csv_new(egt_path("rows.csv"), columns, 2);
    EG_FOR_EACH(sample, d) {
        for (int k = 0; k < 2; k++) {
            if (eg_numel(sample[k])) {
                strncat(got, eg_data(sample[k]), (size_t)eg_numel(sample[k]));
            }
            strcat(got, k ? "|;" : "|");
        }
    }
    EGT_OK(eg_dataset_status(d));
    eg_dataset_free(d);
    EGT_CHECK(!strcmp(got, want));
}

/* As Python's csv.reader(open(path, newline=""), strict=True) has them. */
EGT(rows_end_with_any_line_end)
{
    check_rows("a,b\rc,d\r", "a|b|;c|d|;");
    check_rows("a,b\r\nc,d\r\r\n\n\re,f", "a|b|;c|d|;e|f|;");
    check_rows("a,\"b\rc\"\rd,\"\r\n\"\r\n", "a|b\rc|;d|\r\n|;");
    check_rows("\"\n\n\r\",\"\"\r\"\"\"\",\n", "\n\n\r||;\"||;");
    check_rows("a, \"b\"\nc\"d,e\"\"f\r", "a| \"b\"|;c\"d|e\"\"f|;");
    char *text = malloc(70000); /* a CR LF over the end of the reader's buffer */
    for (int at = 65530; at < 65542; at++) {
        memset(text, 'x', (size_t)at);
        strcpy(text + at, "\r\na,b");
        text[at / 2] = ',';
        write_text("rows.csv", text);
        static const eg_column column = {NULL, 1, EG_U8, 0, 0, 0};
        eg_dataset *d = eg_csv_new(egt_path("rows.csv"), &column, 1);
        eg_tensor *const *s = eg_dataset_first(d);
        EGT_EQ(eg_numel(s[0]), at - at / 2 - 1);
        s = eg_dataset_next(d);
        EGT_CHECK(s && is_text(s[0], "b") && !eg_dataset_next(d));
        eg_dataset_free(d);
    }
    free(text);
}

/* Of several bad lines the first one of the file is reported first, whichever is drawn. */
EGT(first_bad_line_is_reported_after_a_shuffle)
{
    char text[1024] = "";
    for (int i = 1; i <= 60; i++) {
        size_t n = strlen(text);
        snprintf(text + n, sizeof text - n, i % 20 == 13 ? "x%d\n" : "%d\n", i);
    }
    write_text("bad.csv", text);
    const eg_column column = {.dtype = EG_F32};
    for (uint64_t seed = 1; seed <= 8; seed++) {
        eg_dataset *d = eg_dataset_shuffle(eg_csv_new(egt_path("bad.csv"), &column, 1), 100, .seed = seed);
        ENDS_WITH(eg_dataset_batch(d, 4), EG_EFORMAT, "bad.csv, line 13: field 1, \"x13\"");
    }
}

EGT(blank_lines_of_json_are_skipped)
{
    static const eg_json_field field = {"a", EG_I64, 0, 0, 0};
    write_text("blank.json", "\n{\"a\":1}\n  \t\n\r\n{\"a\":2}\r\n \r");
    eg_dataset *d = eg_ndjson_new(egt_path("blank.json"), &field, 1);
    double sum = 0;
    EG_FOR_EACH(sample, d) {
        sum = 10 * sum + eg_item(sample[0]);
    }
    EGT_OK(eg_dataset_status(d));
    EGT_EQ(sum, 12);
    eg_dataset_free(d);
}

EGT(tables_without_names)
{
    write_text("a.tsv", "1\t\"x\" y\t\n0\tz\tz");
    static const eg_column columns[] = {{NULL, 1, EG_U8, 0, 0, 0}, {NULL, 0, EG_BOOL, 0, 0, 0}};
    eg_dataset *d = eg_csv_new(egt_path("a.tsv"), columns, 2, .separator = '\t', .no_quotes = true);
    eg_tensor *const *s = eg_dataset_first(d);
    EGT_CHECK(is_text(s[0], "\"x\" y"));
    EGT_EQ(eg_item(s[1]), 1);
    s = eg_dataset_next(d);
    EGT_CHECK(is_text(s[0], "z"));
    EGT_CHECK(!eg_dataset_next(d));
    EGT_OK(eg_dataset_status(d));
    eg_dataset_free(d);
}

EGT(tables_that_are_refused)
{
    static const struct {
        const char *text, *word;
    } bad[] = {{"1,2\n3\n", "line 2: 1 fields, the first row has 2"},
               {"1,2\n3,4,5\n", "line 2: 3 fields"},
               {"1,\"2\n3,4\n", "line 1: a quote is not closed"},
               {"1,\"2\"3\n", "line 1: text follows"},
               {"1\n", "no column 1"},
               {"1,x\n", "field 2, \"x\", is no f32"},
               {"1,\n", "is no f32"},
               {"1,1,5\n", NULL},
               {"1,1.5.5\n", "1.5.5"},
               {"1,0x10\n", "0x10"},
               {"1,1e\n", "1e"},
               {"1,1e39\n", "\"1e39\", is no f32"},
               {"1,-1e999\n", "is no f32"},
               {"1.0,1\n", "is no i32"},
               {"2147483648,1\n", "is no i32"},
               {"99999999999999999999,1\n", "is no i32"},
               {"\xff,1\n", "is no UTF-8"}};
    static const eg_column columns[] = {{NULL, 0, EG_I32, 0, 0, 0}, {NULL, 1, EG_F32, 0, 0, 0}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        write_text("a.csv", bad[i].text);
        if (bad[i].word) {
            ENDS_WITH(eg_csv_new(egt_path("a.csv"), columns, 2), EG_EFORMAT, bad[i].word);
        } else {
            eg_dataset *d = eg_csv_new(egt_path("a.csv"), columns, 2);
            EGT_EQ(walk(d), 1);
            eg_dataset_free(d);
        }
    }
    static const eg_column named[] = {{"x", 0, EG_F32, 0, 0, 0}};
    write_text("a.csv", "a,b\n1,2\n3,4\n");
    eg_dataset *d = eg_dataset_tolerate(eg_csv_new(egt_path("a.csv"), named, 1, .header = true));
    EGT_EQ(walk(d), 0); /* nothing of a file without the column */
    EGT_EQ(eg_dataset_left_out(d).count, 1);
    eg_dataset_free(d);
    static const eg_column odd[] = {{NULL, -1, EG_F32, 0, 0, 0}, {NULL, 0, EG_U8, 3, 0, 0}};
    write_text("a.csv", "a,\xff\n1,2\n3,4\n"); /* of a header that cannot be read nothing is guessed */
    d = eg_dataset_tolerate(eg_csv_new(egt_path("a.csv"), columns, 2, .header = true));
    EGT_EQ(walk(d), 0);
    EGT_EQ(eg_dataset_left_out(d).count, 1);
    eg_dataset_free(d);
    write_text("a.csv", "1,2\n");
    static const eg_column far = {NULL, INT64_MAX, EG_F32, 2, 0, 0};
    ENDS_WITH(eg_csv_new(egt_path("a.csv"), &far, 1), EG_EFORMAT, "no column 9223372036854775808");
    EGT_REFUSED(eg_csv_new(egt_path("a.csv"), odd, 1), EG_EINVAL, "at -1");
    EGT_REFUSED(eg_csv_new(egt_path("a.csv"), odd + 1, 1), EG_EINVAL, "count 3");
    EGT_REFUSED(eg_csv_new(egt_path("a.csv"), columns, 9), EG_EINVAL, "9 columns");
    EGT_REFUSED(eg_csv_new(egt_path("a.csv"), NULL, 1), EG_EINVAL, "columns");
    EGT_REFUSED(eg_csv_new(egt_path("a.csv"), columns, 2, .separator = '"'), EG_EINVAL, "quote");
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
                                        "inf",
                                        "00012.50",
                                        ".5",
                                        "5.",
                                        "+7",
                                        "179769313486231580793728971405301e276"};
    double want[17];
    FILE *f = fopen(egt_path("a.csv"), "w");
    for (int i = 0; i < 17; i++) {
        want[i] = strtod(texts[i], NULL);
        fprintf(f, "%s\n", texts[i]);
    }
    fclose(f);
    static const char *const locales[] = {"C", "de_DE.UTF-8", "fr_FR.UTF-8"};
    for (int l = 0; l < 3; l++) {
        setlocale(LC_NUMERIC, locales[l]); /* where it is installed */
        const eg_column column = {NULL, 0, EG_F64, 0, 0, 0};
        eg_dataset *d = eg_csv_new(egt_path("a.csv"), &column, 1);
        int k = 0;
        EG_FOR_EACH(sample, d) {
            EGT_EQ(eg_item(sample[0]), want[k]);
            k++;
        }
        EGT_EQ(k, 17);
        eg_dataset_free(d);
    }
    setlocale(LC_NUMERIC, "C");
}

EGT(real_captions)
{
    static const eg_column columns[] = {{"image", 0, EG_U8, 0, 0, 0}, {"caption", 0, EG_U8, 0, 0, 0}};
    eg_dataset *d = eg_csv_new(egt_real("flickr8k/captions.txt"), columns, 2, .header = true);
    int64_t k = 0;
    EG_FOR_EACH(sample, d) {
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
    write_text("a.json", "{\"word\":\"c\\u00e4t\", \"other\":{\"n\":[1,{}]}, \"n\":3, \"grid\":[[1,2,3],[4,5,6]],"
                         "\"lists\":[[1,2],[3],[]], \"ok\":true}\n\n"
                         "{\"lists\":[], \"grid\":[[],[]], \"n\":-9007199254740993, \"word\":null, \"ok\":0}\n");
    static const eg_json_field fields[] = {{"word", EG_U8, 0, true, 0}, {"n", EG_I64, 0, 0, 0},
                                           {"grid", EG_F32, 0, 0, 0},   {"lists", EG_I32, true, 0, 0},
                                           {"ok", EG_BOOL, 0, 0, 0},    {"none", EG_F32, 0, true, 2.5}};
    eg_dataset *d = eg_ndjson_new(egt_path("a.json"), fields, 6);
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
}

EGT(objects_that_are_refused)
{
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
        ENDS_WITH(eg_ndjson_new(egt_path("a.json"), &field, 1), EG_EFORMAT, bad[i].word);
    }
    write_text("a.json", "{\"x\":1}");
    ENDS_WITH(eg_ndjson_new(egt_path("a.json"), &ragged, 1), EG_EFORMAT, "is no list");
    ENDS_WITH(eg_ndjson_new(egt_path("a.json"), &text, 1), EG_EFORMAT, "is no string");
    const eg_json_field half = {"x", EG_F16, 0, 0, 0};
    write_text("a.json", "{\"x\":65520}");
    ENDS_WITH(eg_ndjson_new(egt_path("a.json"), &half, 1), EG_EFORMAT, "65520 is no f16");
    EGT_REFUSED(eg_ndjson_new(egt_path("a.json"), &wrong, 1), EG_EINVAL, "ragged");
    EGT_REFUSED(eg_ndjson_new(egt_path("a.json"), NULL, 1), EG_EINVAL, "fields");
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
    static const eg_json_field fields[] = {{"word", EG_U8, 0, 0, 0}, {"drawing", EG_I32, true, 0, 0}};
    eg_dataset *d = eg_ndjson_new(egt_real("quickdraw/simplified/*.ndjson"), fields, 2);
    int64_t k = 0;
    EG_FOR_EACH(sample, d) {
        eg_tensor *points = eg_strokes(sample[1], sample[2]);
        EGT_CHECK(points && eg_size(points, 0) > 0);
        EGT_EQ(eg_get(points, eg_numel(points) - 1), 1);
        k++;
    }
    EGT_OK(eg_dataset_status(d));
    EGT_CHECK(k >= 8600);
    eg_dataset_free(d);
}
