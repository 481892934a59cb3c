/* test_json.c - JSON: what RFC 8259 allows and what it does not, trees and back. */
#include "tests/egt.h"

static eg_json *parse(const char *s)
{
    return eg_json_parse(s, strlen(s));
}

static void is_json(const eg_json *j, int indent, const char *want)
{
    eg_tensor *t = eg_json_encode(j, .indent = indent);
    EGT_CHECK(t);
    char *s = calloc((size_t)eg_numel(t) + 1, 1);
    memcpy(s, eg_data(t), (size_t)eg_numel(t));
    bool same = !strcmp(s, want);
    if (!same) {
        fprintf(stderr, "%s\nis not\n%s\n", s, want);
    }
    free(s);
    EGT_CHECK(same);
}

/* Reads, and writes as `want`. */
static void goes(const char *text, const char *want)
{
    eg_json *j = parse(text);
    EGT_CHECK(j);
    is_json(j, 0, want);
    eg_json_free(j);
}

EGT(values_of_every_kind)
{
    goes(" null ", "null");
    goes("true", "true");
    goes("\t\r\nfalse\n", "false");
    goes("\"\"", "\"\"");
    goes("[]", "[]");
    goes("{ }", "{}");
    goes("[1,[2,{\"a\":[]}],\"x\"]", "[1,[2,{\"a\":[]}],\"x\"]");
    goes("{\"b\" : 1, \"a\":{\"\":2}}", "{\"b\":1,\"a\":{\"\":2}}");
    eg_json *j = parse("{\"n\":null,\"t\":true,\"x\":2.5,\"s\":\"abc\",\"a\":[7,8]}");
    static const eg_json_kind kinds[] = {EG_JSON_NULL, EG_JSON_BOOL, EG_JSON_NUMBER, EG_JSON_TEXT, EG_JSON_ARRAY};
    EGT_EQ(eg_json_kind_of(j), EG_JSON_OBJECT);
    EGT_EQ(eg_json_count(j), 5);
    for (int i = 0; i < 5; i++) {
        EGT_EQ(eg_json_kind_of(eg_json_at(j, i)), kinds[i]);
        EGT_CHECK(eg_json_get(j, eg_json_key(j, i, NULL)) == eg_json_at(j, i));
    }
    size_t n = 0;
    EGT_CHECK(eg_json_bool(eg_json_get(j, "t")));
    EGT_EQ(eg_json_number(eg_json_get(j, "x")), 2.5);
    EGT_STR(eg_json_text(eg_json_get(j, "s"), &n), "abc");
    EGT_EQ(n, 3);
    EGT_EQ(eg_json_number(eg_json_at(eg_json_get(j, "a"), 1)), 8);
    EGT_CHECK(!eg_json_get(j, "missing") && !eg_json_get(eg_json_at(j, 0), "n") && !eg_json_get(NULL, "n"));
    EGT_EQ(eg_json_count(eg_json_at(j, 0)), 0);
    EGT_EQ(eg_json_count(NULL), 0);
    EGT_EQ(eg_json_kind_of(NULL), EG_JSON_NULL);
    eg_json_free(j);
    eg_json_free(NULL);
}

EGT(what_is_no_json)
{
    static const struct {
        const char *text, *word;
    } bad[] = {
        {"", "ends early"},
        {" ", "ends early"},
        {"nul", "value was expected"},
        {"[1,]", "value was"},
        {"[1 2]", "comma"},
        {"{\"a\"}", "colon"},
        {"{\"a\":1,}", "key"},
        {"{a:1}", "key"},
        {"[1]]", "behind"},
        {"1 2", "something after"},
        {"01", "something after"},
        {"-", "digits"},
        {"1.", "digits"},
        {".5", "value was"},
        {"1e", "digits"},
        {"+1", "value was"},
        {"NaN", "value was"},
        {"'a'", "value was"},
        {"\"a", "without an end"},
        {"\"\t\"", "control"},
        {"\"\\x\"", "escape"},
        {"\"\\ud800\"", "escape"},
        {"\"\\u12g4\"", "escape"},
        {"\"\\", "escape"},
        {"\"\xff\"", "UTF-8"},
        {"1e999", "beyond f64"},
        {"[", "ends early"},
        {"{", "key"},
        {"\xef\xbb\xbf[]", "v"},
        {"[1}", "comma"},
        {"\"\xed\xa0\x80\"", "UTF-8"},
        {"tru", "value was"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *word = !strcmp(bad[i].word, "behind") ? "something after" : bad[i].word;
        snprintf(egt_case, sizeof egt_case, "%s", bad[i].text);
        EGT_REFUSED(parse(bad[i].text), EG_EFORMAT, word);
    }
    EGT_REFUSED(parse("[1, x]"), EG_EFORMAT, "byte 4");
    EGT_REFUSED(eg_json_parse("[]\0", 3), EG_EFORMAT, "something after");
    EGT_REFUSED(eg_json_parse(NULL, 3), EG_EINVAL, "data");
    char deep[140];
    memset(deep, '[', 70);
    memset(deep + 70, ']', 70);
    EGT_REFUSED(eg_json_parse(deep, 140), EG_EFORMAT, "deeper than 64");
    eg_json *j = eg_json_parse(deep + 6, 128);
    EGT_CHECK(j);
    eg_json_free(j);
}

EGT(numbers_are_exact)
{
    goes("[9223372036854775807,-9223372036854775808,-0,0]", "[9223372036854775807,-9223372036854775808,-0.0,0]");
    goes("[9223372036854775808,1.0,1e2,0.1,1e-400,-1.5E+3]", "[9.223372036854776e+18,1.0,100.0,0.1,0.0,-1500.0]");
    goes("123456789012345678901234567890", "1.2345678901234568e+29");
    eg_json *j = parse("[3,3.0,3.5,1e300,9007199254740993,9007199254740993.0,\"3\"]");
    int64_t v = 0;
    EGT_OK(eg_json_integer(eg_json_at(j, 0), &v));
    EGT_EQ(v, 3);
    EGT_OK(eg_json_integer(eg_json_at(j, 1), &v));
    EGT_EQ(v, 3);
    EGT_CHECK(eg_json_is_integer(eg_json_at(j, 0)) && !eg_json_is_integer(eg_json_at(j, 1)));
    EGT_REFUSED(eg_json_integer(eg_json_at(j, 2), &v), EG_EINVAL, "3.5");
    EGT_REFUSED(eg_json_integer(eg_json_at(j, 3), &v), EG_EINVAL, "exact");
    EGT_OK(eg_json_integer(eg_json_at(j, 4), &v));
    EGT_CHECK(v == 9007199254740993);
    EGT_REFUSED(eg_json_integer(eg_json_at(j, 5), &v), EG_EINVAL, "exact");
    EGT_REFUSED(eg_json_integer(eg_json_at(j, 6), &v), EG_EINVAL, "a text, not a number");
    EGT_REFUSED(eg_json_integer(eg_json_at(j, 0), NULL), EG_EINVAL, "value");
    EGT_CHECK(isnan(eg_json_number(eg_json_at(j, 6))));
    eg_clear_error();
    eg_json_free(j);
}

EGT(texts_have_lengths)
{
    goes("\"\\u0000\\u001f\\/\\b\\f\\n\\r\\t\\\"\\\\\"",
         "\"\\u0000\\u001f/\\u0008\\u000c\\u000a\\u000d\\u0009\\\"\\\\\"");
    goes("\"\\u00e9\\ud83d\\ude00\"", "\"\xc3\xa9\xf0\x9f\x98\x80\"");
    eg_json *j = parse("{\"a\\u0000b\":\"\\u0000\",\"a\":1}");
    size_t n = 9;
    EGT_CHECK(!memcmp(eg_json_key(j, 0, &n), "a\0b", 4) && n == 3);
    EGT_CHECK(eg_json_find(j, "a\0b", 3) == eg_json_at(j, 0) && eg_json_get(j, "a") == eg_json_at(j, 1));
    EGT_CHECK(!memcmp(eg_json_text(eg_json_at(j, 0), &n), "\0", 2) && n == 1);
    eg_json_free(j);
}

EGT(of_a_key_twice_the_last_holds)
{
    goes("{\"a\":1,\"b\":2,\"a\":[3]}", "{\"a\":[3],\"b\":2}");
    goes("{\"a\":1,\"\\u0061\":2}", "{\"a\":2}");
}

EGT(large_objects)
{
    enum { MANY = 20000 };
    eg_json *j = eg_json_object();
    char key[24];
    for (int i = 0; i < MANY; i++) {
        snprintf(key, sizeof key, "k%d", i * 7919 % MANY);
        EGT_OK(eg_json_add_integer(j, key, i));
    }
    EGT_EQ(eg_json_count(j), MANY);
    eg_tensor *t = eg_json_encode(j);
    eg_json *back = eg_json_parse(eg_data(t), (size_t)eg_numel(t));
    for (int i = 0; i < MANY; i++) {
        int64_t v = -1;
        snprintf(key, sizeof key, "k%d", i * 7919 % MANY);
        EGT_OK(eg_json_integer(eg_json_get(back, key), &v));
        EGT_EQ(v, i);
        EGT_STR(eg_json_key(back, i, NULL), key);
    }
    EGT_CHECK(!eg_json_get(back, "k20000"));
    eg_json_free(back);
    eg_json_free(j);
}

EGT(made_by_hand)
{
    eg_json *j = eg_json_object();
    EGT_OK(eg_json_add_null(j, "n"));
    EGT_OK(eg_json_add_bool(j, "b", true));
    EGT_OK(eg_json_add_number(j, "x", 0.1));
    EGT_OK(eg_json_add_number(j, "whole", 3));
    EGT_OK(eg_json_add_integer(j, "i", INT64_MIN));
    EGT_OK(eg_json_add_text(j, "s", "q\"\0z", 4));
    eg_json *a = eg_json_add_array(j, "a"), *o = eg_json_add_object(a, NULL);
    EGT_OK(eg_json_add_null(o, "deep"));
    EGT_OK(eg_json_add_integer(a, NULL, 2));
    EGT_CHECK(eg_json_add_array(j, "none"));
    is_json(j, 0,
            "{\"n\":null,\"b\":true,\"x\":0.1,\"whole\":3.0,\"i\":-9223372036854775808,\"s\":\"q\\\"\\u0000z\","
            "\"a\":[{\"deep\":null},2],\"none\":[]}");
    is_json(a, 2, "[\n  {\n    \"deep\": null\n  },\n  2\n]");
    EGT_OK(eg_json_add_integer(j, "a", 5)); /* a's values live on */
    EGT_EQ(eg_json_count(a), 2);
    EGT_EQ(eg_json_number(eg_json_get(j, "a")), 5);
    EGT_EQ(eg_json_count(j), 8);
    EGT_REFUSED(eg_json_add_number(j, "x", NAN), EG_EINVAL, "nan");
    EGT_REFUSED(eg_json_add_number(j, "x", -INFINITY), EG_EINVAL, "inf");
    EGT_REFUSED(eg_json_add_text(j, "x", "\xff", 1), EG_EINVAL, "UTF-8");
    EGT_REFUSED(eg_json_add_null(j, "\xff"), EG_EINVAL, "UTF-8");
    EGT_REFUSED(eg_json_add_null(j, NULL), EG_EINVAL, "no array");
    EGT_REFUSED(eg_json_add_null(a, "k"), EG_EINVAL, "no object");
    EGT_REFUSED(eg_json_add_object(a, "k"), EG_EINVAL, "no object");
    EGT_REFUSED(eg_json_add_null(NULL, "k"), EG_EINVAL, "in");
    EGT_REFUSED(eg_json_encode(j, .indent = -1), EG_EINVAL, "indent is -1");
    EGT_REFUSED(eg_json_encode(NULL), EG_EINVAL, "j");
    EGT_REFUSED(eg_json_at(j, 8), EG_EINDEX, "value 8 of an object of 8");
    EGT_REFUSED(eg_json_at(j, -1), EG_EINDEX, "-1");
    EGT_REFUSED(eg_json_key(j, 8, NULL), EG_EINDEX, "8");
    EGT_REFUSED(eg_json_key(a, 0, NULL), EG_EINVAL, "an array, not an object");
    EGT_REFUSED(eg_json_text(a, NULL), EG_EINVAL, "an array, not a text");
    eg_json *deep = a;
    for (int i = 2; i < 64; i++) {
        deep = eg_json_add_array(deep, NULL);
        EGT_CHECK(deep);
    }
    EGT_REFUSED(eg_json_add_array(deep, NULL), EG_EINVAL, "64");
    EGT_OK(eg_json_add_null(deep, NULL));
    eg_tensor *t = eg_json_encode(a);
    eg_json *back = eg_json_parse(eg_data(t), (size_t)eg_numel(t));
    EGT_CHECK(back);
    eg_json_free(back);
    eg_clear_error();
    eg_json_free(a); /* no owner */
    EGT_CHECK(egt_said(EG_ESTATE, "eg_json_free"));
    eg_json_free(j);
}

EGT(files)
{
    eg_json *j = parse("{\"a\":[1,2.5]}"), *back;
    EGT_OK(eg_json_save(j, egt_path("a.json"), .indent = 4));
    size_t n;
    char *text = egt_read(egt_path("a.json"), &n);
    EGT_STR(text, "{\n    \"a\": [\n        1,\n        2.5\n    ]\n}\n");
    free(text);
    back = eg_json_load(egt_path("a.json"));
    is_json(back, 0, "{\"a\":[1,2.5]}");
    eg_json_free(back);
    EGT_REFUSED(eg_json_load(egt_path("none.json")), EG_EIO, "none.json");
    EGT_REFUSED(eg_json_load(NULL), EG_EINVAL, "path");
    EGT_REFUSED(eg_json_save(j, NULL), EG_EINVAL, "path");
    egt_write(egt_path("bad.json"), "{\"a\":", 5);
    EGT_REFUSED(eg_json_load(egt_path("bad.json")), EG_EFORMAT, "bad.json, byte 5");
    egt_limit_files(4);
    EGT_REFUSED(eg_json_save(j, egt_path("a.json")), EG_EIO, "a.json");
    egt_limit_files(-1);
    EGT_EQ(egt_files("a.json"), 1); /* the old one, nothing beside it */
    eg_json_free(j);
}

static bool read_and_write(void *user)
{
    (void)user;
    eg_json *j =
        parse("{\"a\":[1,2,3,4,5,{\"b\":\"c\"}],\"k1\":1,\"k2\":1,\"k3\":1,\"k4\":1,\"k5\":1,\"k6\":1,\"k7\":1,"
              "\"k8\":1,\"k9\":1,\"k10\":1}");
    bool ok = j != NULL;
    eg_scope s = eg_scope_push();
    for (int i = 0; ok && i < 40; i++) {
        char key[2] = {(char)('A' + i), 0};
        int64_t before = eg_json_count(j);
        ok = !eg_json_add_text(j, key, "some text", 9);
        if (!ok && eg_json_count(j) != before) {
            ok = true; /* half an addition: the harness sees a success where it wants none */
        }
    }
    ok = ok && eg_json_encode(j, .indent = 1) && !eg_json_save(j, egt_path("x.json"));
    eg_scope_pop(s, NULL);
    eg_json_free(j);
    return ok;
}

EGT(memory_runs_out)
{
    EGT_CHECK(egt_fail_allocations(read_and_write, NULL) > 4);
}
