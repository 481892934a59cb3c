/* test_text.c - characters, words, vocabularies, rows of one length. */
#include "tests/readers.h"

static eg_tensor *bytes(const char *s, int64_t n)
{
    return eg_from(EG_SHAPE(n), EG_U8, s);
}

/* ---- characters ----------------------------------------------------------------------------- */

static void need_utf8proc(void)
{
    egt_need(eg_text_normalise(eg_text("a")), "utf8proc");
}

EGT(forms)
{
    need_utf8proc();
    eg_tensor *composed = eg_text("\xc3\xa9\xef\xac\x81"), *apart = eg_text("e\xcc\x81\xef\xac\x81");
    EGT_CHECK(is_text(eg_text_normalise(composed), "\xc3\xa9\xef\xac\x81"));
    EGT_CHECK(is_text(eg_text_normalise(composed, .form = EG_NFD), "e\xcc\x81\xef\xac\x81"));
    EGT_CHECK(is_text(eg_text_normalise(apart, .form = EG_NFC), "\xc3\xa9\xef\xac\x81"));
    EGT_CHECK(is_text(eg_text_normalise(apart, .form = EG_NFKC), "\xc3\xa9"
                                                                 "fi"));
    EGT_CHECK(is_text(eg_text_normalise(composed, .form = EG_NFKD), "e\xcc\x81"
                                                                    "fi"));
    EGT_CHECK(is_text(eg_text_normalise(eg_text("\xed\x95\x9c"), .form = EG_NFD),
                      "\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab")); /* Hangul by rule */
    EGT_CHECK(is_text(eg_text_normalise(eg_text("")), ""));
}

EGT(categories_case_and_blanks)
{
    need_utf8proc();
    eg_tensor *t = eg_text("\xc2\xbf"
                           "Est\xc3\xa1s  BIEN?");
    EGT_CHECK(is_text(eg_text_normalise(t, .form = EG_NFD, .drop = "Mn"), "\xc2\xbf"
                                                                          "Estas  BIEN?"));
    EGT_CHECK(is_text(eg_text_normalise(t, .drop = "P"), "Est\xc3\xa1s  BIEN"));
    EGT_CHECK(is_text(eg_text_normalise(t, .drop = "Po Ll"), "E  BIEN"));
    EGT_CHECK(is_text(eg_text_normalise(t, .lower = true), "\xc2\xbf"
                                                           "est\xc3\xa1s  bien?"));
    EGT_CHECK(
        is_text(eg_text_normalise(eg_text("\xc3\x84\xce\xa3\xd0\x96"), .lower = true), "\xc3\xa4\xcf\x83\xd0\xb6"));
    /* As the translation tutorial prepares its sentences. */
    EGT_CHECK(is_text(eg_text_normalise(t, .form = EG_NFD, .drop = "Mn", .lower = true, .apart = "?.!,\xc2\xbf",
                                        .trim = true, .only = "abcdefghijklmnopqrstuvwxyz"),
                      "\xc2\xbf estas bien ?"));
    EGT_CHECK(is_text(eg_text_normalise(eg_text("a-b_c"), .blank = "-_"), "a b c"));
    EGT_CHECK(is_text(eg_text_normalise(eg_text(" \t a\xe3\x80\x80\n b "), .trim = true), "a b"));
    EGT_CHECK(is_text(eg_text_normalise(eg_text("  "), .trim = true), ""));
}

EGT(texts_that_are_none)
{
    need_utf8proc();
    EGT_REFUSED(eg_text_normalise(eg_text("ab\xff")), EG_EFORMAT, "byte 2");
    EGT_REFUSED(eg_text_normalise(eg_text("\xed\xa0\x80"), .form = EG_NFC), EG_EFORMAT, "byte 0");
    EGT_REFUSED(eg_text_normalise(eg_text("a"), .drop = "Xx"), EG_EINVAL, "Xx");
    EGT_REFUSED(eg_text_normalise(eg_text("a"), .apart = "\xff"), EG_EINVAL, "apart");
    EGT_REFUSED(eg_text_normalise(eg_text("a"), .form = (eg_unicode_form)9), EG_EINVAL, "9");
    EGT_REFUSED(eg_text_normalise(eg_zeros(EG_SHAPE(2), EG_F32)), EG_EDTYPE, "f32");
    EGT_REFUSED(eg_text_normalise(eg_zeros(EG_SHAPE(2, 2), EG_U8)), EG_ESHAPE, "[2, 2]");
    EGT_REFUSED(eg_text_normalise(NULL), EG_EINVAL, "text");
    EGT_CHECK(eg_numel(eg_text_normalise(bytes("a\0b", 3))) == 3); /* 0 is a character */
}

EGT(words_of_a_text)
{
    eg_tensor *w = eg_text_words(eg_text("  one\ttw\xc3\xb6\xc2\xa0\xe2\x80\x83three\n"));
    static const double want[] = {2, 3, 6, 4, 15, 5};
    EGT_EQ(eg_size(w, 0), 3);
    for (int i = 0; i < 6; i++) {
        EGT_EQ(eg_get(w, i), want[i]);
    }
    EGT_EQ(eg_size(eg_text_words(eg_text(" ")), 0), 0);
    EGT_EQ(eg_size(eg_text_words(eg_text("")), 0), 0);
    EGT_REFUSED(eg_text_words(eg_text("a \x80")), EG_EFORMAT, "byte 2");
}

/* ---- vocabularies --------------------------------------------------------------------------- */

static eg_word_counts *counted(void)
{
    eg_word_counts *c = eg_word_counts_new();
    EGT_OK(eg_word_counts_add(c, eg_text("b a c b a b d")));
    EGT_OK(eg_word_counts_add(c, eg_text("d e b <pad>")));
    EGT_EQ(eg_word_counts_size(c), 6); /* b 4, a 2, d 2, c 1, e 1, <pad> 1 */
    return c;
}

static void check_order(const eg_word_counts *c, const eg_vocabulary_options *o, const char *want)
{
    eg_vocabulary *v = eg_vocabulary_new_with(c, o);
    char got[200] = "";
    for (int64_t i = 0; i < eg_vocabulary_size(v); i++) {
        const char *w = eg_vocabulary_word(v, i);
        EGT_EQ(eg_vocabulary_id(v, w, strlen(w)), i);
        strcat(strcat(got, i ? " " : ""), w);
    }
    EGT_STR(got, want);
    eg_vocabulary_free(v);
}

EGT(which_words_and_in_which_order)
{
    eg_word_counts *c = counted();
    static const char *const reserved[] = {"<pad>", "<unk>"};
    eg_vocabulary_options o = {.size = sizeof o};
    check_order(c, NULL, "b a d c e <pad>");
    o.sorted = true;
    check_order(c, &o, "<pad> a b c d e");
    o.min_count = 2;
    check_order(c, &o, "a b d");
    o.reserved = reserved;
    o.reserved_count = 2;
    check_order(c, &o, "<pad> <unk> a b d");
    o.max_size = 4; /* the most frequent, then in order */
    o.min_count = 0;
    check_order(c, &o, "<pad> <unk> a b");
    o.sorted = false;
    check_order(c, &o, "<pad> <unk> b a");
    o.max_size = 2;
    check_order(c, &o, "<pad> <unk>");
    o.max_size = 1;
    EGT_REFUSED(eg_vocabulary_new_with(c, &o), EG_EINVAL, "max_size is 1");
    EGT_REFUSED(eg_vocabulary_new(c, .min_count = -2), EG_EINVAL, "min_count -2");
    static const char *const bad[] = {"x", "x", "", "a b"};
    EGT_REFUSED(eg_vocabulary_new(c, .reserved = bad, .reserved_count = 2), EG_EINVAL, "twice");
    EGT_REFUSED(eg_vocabulary_new(c, .reserved = bad + 2, .reserved_count = 1), EG_EINVAL, "empty");
    EGT_REFUSED(eg_vocabulary_new(c, .reserved = bad + 3, .reserved_count = 1), EG_EINVAL, "several");
    EGT_REFUSED(eg_vocabulary_new(NULL), EG_EINVAL, "counts");
    EGT_REFUSED(eg_word_counts_add(c, eg_text("\xff")), EG_EFORMAT, "byte 0");
    EGT_REFUSED(eg_word_counts_add(NULL, eg_text("")), EG_EINVAL, "c");
    eg_word_counts_free(c);
    eg_word_counts_free(NULL);
}

EGT(words_to_numbers_and_back)
{
    eg_word_counts *c = counted();
    eg_vocabulary *v = eg_vocabulary_new(c, .sorted = true); /* <pad> a b c d e */
    eg_tensor *text = eg_text(" e  nothing b\n"), *ids = eg_vocabulary_encode(v, text, 0);
    static const double want[] = {5, 0, 2};
    EGT_EQ(eg_numel(ids), 3);
    for (int i = 0; i < 3; i++) {
        EGT_EQ(eg_get(ids, i), want[i]);
    }
    EGT_CHECK(is_text(eg_vocabulary_decode(v, ids), "e <pad> b"));
    EGT_EQ(eg_numel(eg_vocabulary_encode(v, text, -1)), 2);
    EGT_CHECK(is_text(eg_vocabulary_decode(v, eg_zeros(EG_SHAPE(0), EG_I32)), ""));
    EGT_REFUSED(eg_vocabulary_decode(v, eg_full(EG_SHAPE(2), 6, EG_I64)), EG_EINDEX, "ids[0] is 6");
    EGT_REFUSED(eg_vocabulary_decode(v, eg_full(EG_SHAPE(2), 6, EG_F32)), EG_ESHAPE, "f32");
    EGT_REFUSED(eg_vocabulary_word(v, -1), EG_EINDEX, "-1");
    EGT_REFUSED(eg_vocabulary_encode(NULL, text, 0), EG_EINVAL, "v");
    EGT_EQ(eg_vocabulary_id(v, "", 0), -1);
    eg_vocabulary_free(v);
    eg_word_counts_free(c);
}

static int64_t met(const eg_word_counts *c, int64_t times)
{
    eg_vocabulary *v = eg_vocabulary_new(c, .min_count = times);
    int64_t n = eg_vocabulary_size(v);
    eg_vocabulary_free(v);
    return n;
}

EGT(a_text_is_counted_whole_or_not)
{
    eg_word_counts *c = counted();
    EGT_REFUSED(eg_word_counts_add(c, eg_text("b new b newer b \xff")), EG_EFORMAT, "byte 16");
    EGT_EQ(eg_word_counts_size(c), 6);
    EGT_EQ(met(c, 5), 0);
    char text[1000] = "b f ";
    for (int i = 0; i < 100; i++) {
        snprintf(text + 4 + 5 * i, 6, "w%03d ", i);
    }
    eg_status st = EG_ENOMEM;
    for (int n = 1; st && n < 50; n++) {
        eg_tensor *t = eg_text(text);
        eg_debug_fail_alloc(n);
        st = eg_word_counts_add(c, t);
        eg_debug_fail_alloc(0);
        EGT_CHECK(st == EG_OK || egt_said(EG_ENOMEM, ""));
        EGT_EQ(eg_word_counts_size(c), st ? 6 : 107);
        EGT_EQ(met(c, 5), st ? 0 : 1);
    }
    EGT_OK(st);
    EGT_EQ(met(c, 2), 3);
    EGT_OK(eg_word_counts_add(c, eg_text("w007 newer")));
    EGT_EQ(met(c, 2), 4);
    eg_word_counts_free(c);
}

EGT(many_words)
{
    eg_word_counts *c = eg_word_counts_new();
    char text[16];
    for (int i = 0; i < 20000; i++) {
        EG_SCOPE {
            snprintf(text, sizeof text, "w%d w%d", i, i / 2);
            EGT_OK(eg_word_counts_add(c, eg_text(text)));
        }
    }
    eg_vocabulary *v = eg_vocabulary_new(c);
    EGT_EQ(eg_vocabulary_size(v), 20000);
    for (int i = 0; i < 20000; i += 7) {
        snprintf(text, sizeof text, "w%d", i);
        int64_t id = eg_vocabulary_id(v, text, strlen(text));
        EGT_CHECK(id >= 0 && (id < 10000) == (i < 10000)); /* met three times, or once */
        EGT_STR(eg_vocabulary_word(v, id), text);
    }
    eg_vocabulary_free(v);
    eg_word_counts_free(c);
}

EGT(vocabularies_in_files)
{
    const char *path = egt_path("words.txt");
    eg_word_counts *c = counted();
    eg_vocabulary *v = eg_vocabulary_new(c);
    EGT_OK(eg_vocabulary_save(v, path));
    eg_vocabulary *w = eg_vocabulary_load(path);
    EGT_EQ(eg_vocabulary_size(w), 6);
    EGT_STR(eg_vocabulary_word(w, 5), "<pad>");
    eg_vocabulary_free(v);
    eg_vocabulary_free(w);
    EGT_OK(eg_word_counts_add(c, bytes("x\0y", 3)));
    v = eg_vocabulary_new(c);
    EGT_REFUSED(eg_vocabulary_save(v, path), EG_EINVAL, "word 6");
    eg_vocabulary_free(v);
    eg_word_counts_free(c);
    egt_write(path, "one\r\ntw\xc3\xb6\r\nthree", 16);
    v = eg_vocabulary_load(path);
    EGT_EQ(eg_vocabulary_size(v), 3);
    EGT_EQ(eg_vocabulary_id(v, "tw\xc3\xb6", 4), 1);
    eg_vocabulary_free(v);
    static const struct {
        const char *text;
        int n;
        const char *word;
    } bad[] = {{"a\nb\na\n", 6, "line 3, \"a\", is there twice"},
               {"a\n\nb\n", 5, "line 2, \"\", is empty"},
               {"a\nb\0c\n", 6, "holds a 0"},
               {"a\n\xff\n", 4, "no UTF-8"}};
    for (int i = 0; i < 4; i++) {
        egt_write(path, bad[i].text, (size_t)bad[i].n);
        EGT_REFUSED(eg_vocabulary_load(path), EG_EFORMAT, bad[i].word);
    }
    remove(path);
    EGT_REFUSED(eg_vocabulary_load(path), EG_EIO, path);
    eg_vocabulary_free(NULL);
}

EGT(a_real_vocabulary)
{
    eg_vocabulary *v = eg_vocabulary_load(egt_real("bert/vocab.txt"));
    EGT_EQ(eg_vocabulary_size(v), 30522);
    EGT_EQ(eg_vocabulary_id(v, "[PAD]", 5), 0);
    EGT_EQ(eg_vocabulary_id(v, "[CLS]", 5), 101);
    EGT_EQ(eg_vocabulary_id(v, "hello", 5), 7592);
    eg_vocabulary_free(v);
}

/* ---- rows of one length --------------------------------------------------------------------- */

static void check_rows(eg_tensor *t, const double *want)
{
    EGT_CHECK(t);
    for (int64_t i = 0; i < eg_numel(t); i++) {
        EGT_EQ(eg_get(t, i), want[i]);
    }
}

EGT(sequences_padded_as_keras_does)
{
    eg_tensor *x[] = {eg_from_values(EG_SHAPE(3), EG_I32, (double[]){1, 2, 3}), eg_empty(EG_SHAPE(0), EG_I32),
                      eg_from_values(EG_SHAPE(1), EG_I32, (double[]){4})};
    check_rows(eg_pad_sequences(x, 3), (double[]){1, 2, 3, 0, 0, 0, 0, 0, 4});
    check_rows(eg_pad_sequences(x, 3, .pad_after = true, .value = 9), (double[]){1, 2, 3, 9, 9, 9, 4, 9, 9});
    check_rows(eg_pad_sequences(x, 3, .maxlen = 2), (double[]){2, 3, 0, 0, 0, 4});
    check_rows(eg_pad_sequences(x, 3, .maxlen = 2, .cut_after = true), (double[]){1, 2, 0, 0, 0, 4});
    check_rows(eg_pad_sequences(x, 3, .maxlen = 4), (double[]){0, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 4});
    EGT_EQ(eg_numel(eg_pad_sequences(x + 1, 1)), 0);
    eg_tensor *deep[] = {eg_ones(EG_SHAPE(1, 2), EG_F32), eg_transpose(eg_full(EG_SHAPE(2, 3), 2, EG_F32), 0, 1)};
    check_rows(eg_pad_sequences(deep, 2), (double[]){0, 0, 0, 0, 1, 1, 2, 2, 2, 2, 2, 2});
    eg_tensor *mixed[] = {x[0], deep[0]}, *types[] = {x[0], eg_zeros(EG_SHAPE(1), EG_F32)},
              *flat[] = {eg_scalar(1, EG_I32)};
    EGT_REFUSED(eg_pad_sequences(mixed, 2), EG_ESHAPE, "sequence 1");
    EGT_REFUSED(eg_pad_sequences(types, 2), EG_EDTYPE, "sequence 1 is f32");
    EGT_REFUSED(eg_pad_sequences(flat, 1), EG_ESHAPE, "[]");
    EGT_REFUSED(eg_pad_sequences(x, 0), EG_EINVAL, "n is 0");
    EGT_REFUSED(eg_pad_sequences(x, 3, .maxlen = -1), EG_EINVAL, "-1");
    EGT_REFUSED(eg_pad_sequences(NULL, 3), EG_EINVAL, "sequences");
}
