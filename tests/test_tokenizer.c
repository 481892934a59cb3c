/* test_tokenizer.c - tokenizers made here, what is asked of them, and what is refused. Those of files are held against
 * others' by lua/tokenizers.lua. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "egt.h"

#define GOLDEN "tests/golden/tokens/"

static eg_vocabulary *vocabulary(const char *const *words, int64_t n)
{
    eg_word_counts *c = eg_word_counts_new();
    eg_vocabulary *v = eg_vocabulary_new(c, .reserved = words, .reserved_count = n);
    eg_word_counts_free(c);
    return v;
}
#define VOCABULARY(...) \
    vocabulary((const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* Tests of what needs utf8proc. */
static void need(void)
{
    eg_tensor *nothing[1] = {NULL};
    eg_tokenizer *t = eg_subtokens_train(nothing, 0, .min_count = 1);
    egt_need(t, "utf8proc");
    eg_tokenizer_free(t);
}

static eg_tokenizer *bert(void)
{
    need();
    eg_vocabulary *v = VOCABULARY("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##aff", "##able", "want", "##ed",
                                  "runn", "##ing", ",", "a");
    eg_tokenizer *t = eg_wordpiece_new(v);
    eg_vocabulary_free(v);
    return t;
}

static bool ints_are(const eg_tensor *t, int n, const int *expected)
{
    bool good = t && eg_numel(t) == n;
    for (int i = 0; i < n && good; i++) {
        good = (int)eg_get(t, i) == expected[i];
    }
    for (int i = 0; !good && t && i < eg_numel(t); i++) {
        printf("%s%d", i ? " " : "  got ", (int)eg_get(t, i));
    }
    return good || (printf("\n"), false);
}
#define INTS(t, ...) EGT_CHECK(ints_are(t, sizeof((int[]){__VA_ARGS__}) / sizeof(int), (int[]){__VA_ARGS__}))

static bool text_is(const eg_tensor *t, const char *s)
{
    return t && eg_numel(t) == (int64_t)strlen(s) && !memcmp(eg_data(t), s, strlen(s));
}

EGT(wordpiece)
{
    eg_tokenizer *t = bert();
    EG_SCOPE {
        eg_tokens x = eg_tokenizer_encode(t, eg_text("UNaffable [MASK] \xc3\xa4 x"));
        INTS(x.ids, 2, 5, 6, 7, 4, 13, 1, 3);
        INTS(x.offsets, 0, 0, 0, 2, 2, 5, 5, 9, 10, 16, 17, 19, 20, 21, 0, 0);
        INTS(x.words, -1, 0, 0, 0, 1, 2, 3, -1);
        INTS(x.special, 1, 0, 0, 0, 0, 0, 0, 1);
        INTS(x.mask, 1, 1, 1, 1, 1, 1, 1, 1);
        INTS(x.texts, 0);
        EGT_CHECK(text_is(eg_tokenizer_decode(t, x.ids), "[CLS] unaffable [MASK] a [UNK] [SEP]"));
        EGT_CHECK(text_is(eg_tokenizer_decode(t, x.ids, .skip_specials = true), "unaffable a"));
        INTS(eg_tokenizer_encode(t, eg_text("[MASK]"), .plain = true, .bare = true).ids, 1, 1, 1);
        EGT_EQ(eg_numel(eg_tokenizer_encode(t, eg_text(""), .bare = true).ids), 0);
        INTS(eg_tokenizer_encode(t, eg_text("runn, wanted")).ids, 2, 10, 12, 8, 9, 3);
    }
    EGT_EQ(eg_tokenizer_size(t), 14);
    EGT_EQ(eg_tokenizer_id(t, "##ing", 5), 11);
    EGT_EQ(eg_tokenizer_id(t, "ing", 3), -1);
    EGT_CHECK(!strcmp(eg_tokenizer_token(t, 12), ","));
    EGT_REFUSED(eg_tokenizer_token(t, 14), EG_EINDEX, "14 is none of the 14");
    EGT_EQ(eg_tokenizer_special(t, EG_SPECIAL_MASK), 4);
    EGT_EQ(eg_tokenizer_special(t, EG_SPECIAL_EOS), -1);
    eg_tokenizer_free(t);
}

EGT(rows)
{
    eg_tokenizer *t = bert();
    EG_SCOPE {
        eg_tensor *texts[] = {eg_text("a a a"), eg_text(""), eg_text("wanted"), eg_text("a,")};
        eg_tokens x = eg_tokenizer_encode_batch(t, texts, 4);
        EGT_CHECK(eg_size(x.ids, 0) == 4 && eg_size(x.ids, 1) == 5);
        INTS(x.ids, 2, 13, 13, 13, 3, 2, 3, 0, 0, 0, 2, 8, 9, 3, 0, 2, 13, 12, 3, 0);
        INTS(x.mask, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 0);
        x = eg_tokenizer_encode_batch(t, texts, 4, .pairs = true, .pad_front = true, .pad_multiple = 4);
        INTS(x.ids, 0, 0, 2, 13, 13, 13, 3, 3, 0, 2, 8, 9, 3, 13, 12, 3);
        INTS(x.types, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1, 1);
        INTS(x.texts, 0, 1);
        x = eg_tokenizer_encode(t, texts[0], .pair = texts[3], .max_length = 6, .truncation = EG_TRUNCATE_FIRST);
        INTS(x.ids, 2, 13, 3, 13, 12, 3);
        x = eg_tokenizer_encode(t, texts[0], .max_length = 4, .windows = true, .stride = 1);
        INTS(x.ids, 2, 13, 13, 3, 2, 13, 13, 3);
        INTS(x.offsets, 0, 0, 0, 1, 2, 3, 0, 0, 0, 0, 2, 3, 4, 5, 0, 0);
        x = eg_tokenizer_encode(t, texts[0], .max_length = 4, .windows = true);
        INTS(x.ids, 2, 13, 13, 3, 2, 13, 3, 0);
        x = eg_tokenizer_encode(t, texts[0], .max_length = 3, .cut_front = true, .pad_to = 5);
        INTS(x.ids, 2, 13, 3, 0, 0);
        INTS(x.offsets, 0, 0, 4, 5, 0, 0, 0, 0, 0, 0);
        x = eg_tokenizer_encode_batch(t, texts, 0);
        EGT_CHECK(eg_size(x.ids, 0) == 0 && eg_size(x.ids, 1) == 0);
        EGT_REFUSED(eg_tokenizer_encode(t, texts[0], .max_length = 2).ids, EG_EINVAL, "no room beside 2 special");
        EGT_REFUSED(eg_tokenizer_encode(t, texts[0], .max_length = 4, .windows = true, .stride = 2).ids, EG_EINVAL,
                    "stride is 2");
        EGT_REFUSED(
            eg_tokenizer_encode(t, texts[3], .pair = texts[0], .max_length = 5, .truncation = EG_TRUNCATE_FIRST).ids,
            EG_EINVAL, "no room for the first");
        EGT_REFUSED(eg_tokenizer_encode(t, texts[0], .max_length = -1).ids, EG_EINVAL, "max_length -1");
        EGT_REFUSED(eg_tokenizer_encode(t, eg_ones(EG_SHAPE(2), EG_F32)).ids, EG_EDTYPE, "a text is u8");
        EGT_REFUSED(eg_tokenizer_encode(t, eg_text("a\xff")).ids, EG_EFORMAT, "byte 1");
        eg_tensor *bad[] = {texts[0], eg_text("\xc0\x80")};
        EGT_REFUSED(eg_tokenizer_encode_batch(t, bad, 2).ids, EG_EFORMAT, "text 1: byte 0");
        EGT_REFUSED(eg_tokenizer_encode_batch(t, texts, 3, .pairs = true).ids, EG_EINVAL, "no pairs");
        EGT_REFUSED(eg_tokenizer_decode(t, eg_from_values(EG_SHAPE(2), EG_I64, (double[]){1, 14})), EG_EINDEX,
                    "14 at 1 is none of the 14");
        EGT_REFUSED(eg_tokenizer_decode(t, eg_ones(EG_SHAPE(2), EG_F32)), EG_EDTYPE, "ids are integers");
    }
    eg_tokenizer_free(t);
}

EGT(frames)
{
    eg_tokenizer *t = bert();
    EG_SCOPE {
        EGT_OK(eg_tokenizer_frame(t, "$A [SEP]:3", "[CLS]:1 $B:2 [MASK] $A"));
        eg_tokens x = eg_tokenizer_encode(t, eg_text("a"), .pair = eg_text(","));
        INTS(x.ids, 2, 12, 4, 13);
        INTS(x.types, 1, 2, 0, 0);
        x = eg_tokenizer_encode(t, eg_text("a"));
        INTS(x.ids, 13, 3);
        INTS(x.types, 0, 3);
    }
    EGT_REFUSED(eg_tokenizer_frame(t, "[CLS]", NULL), EG_EINVAL, "needs $A once");
    EGT_REFUSED(eg_tokenizer_frame(t, "$A $B", NULL), EG_EINVAL, "no $B");
    EGT_REFUSED(eg_tokenizer_frame(t, "$A [NONE]", NULL), EG_EINVAL, "\"[NONE]\" is no token");
    EGT_REFUSED(eg_tokenizer_frame(t, "$C", NULL), EG_EINVAL, "$C");
    eg_tokenizer_free(t);
    eg_vocabulary *v = VOCABULARY("a", "b");
    EGT_REFUSED(eg_wordpiece_new(v), EG_EINVAL, "no \"[UNK]\"");
    EGT_REFUSED(eg_word_tokenizer_new(v, .unknown = "c"), EG_EINVAL, "no \"c\"");
    EGT_REFUSED(eg_word_tokenizer_new(v, .pattern = "("), EG_EFORMAT, "regular expression");
    eg_vocabulary_free(v);
}

EGT(whole_words)
{
    need();
    eg_vocabulary *v = VOCABULARY("<pad>", "the", "cat", "don't", "<unk>");
    EG_SCOPE {
        eg_tokenizer *keras = eg_word_tokenizer_new(v, .lower = true, .blank = "!,.");
        INTS(eg_tokenizer_encode(keras, eg_text("The,cat! Don't run.")).ids, 1, 2, 3);
        EGT_REFUSED(eg_tokenizer_save(keras, egt_path("keras.json")), EG_EINVAL, "become blanks");
        eg_tokenizer_free(keras);
        eg_tokenizer *words = eg_word_tokenizer_new(v, .pattern = "[a-z']+", .unknown = "<unk>");
        eg_tokens x = eg_tokenizer_encode(words, eg_text("the cat, the dog"));
        INTS(x.ids, 1, 2, 1, 4);
        INTS(x.offsets, 0, 3, 4, 7, 9, 12, 13, 16);
        EGT_CHECK(text_is(eg_tokenizer_decode(words, x.ids), "the cat the <unk>"));
        EGT_OK(eg_tokenizer_save(words, egt_path("words.json")));
        eg_tokenizer *again = eg_tokenizer_load(egt_path("words.json"));
        INTS(eg_tokenizer_encode(again, eg_text("the cat, the dog")).ids, 1, 2, 1, 4);
        EGT_REFUSED(eg_tokenizer_save(again, egt_path("words.json")), EG_EINVAL, "from a file");
        eg_tokenizer_free(again);
        eg_tokenizer_free(words);
    }
    eg_vocabulary_free(v);
}

EGT(saved_and_loaded)
{
    eg_tokenizer *t = bert();
    EG_SCOPE {
        eg_tensor *text = eg_text("unaffable, wanted [MASK]");
        EGT_OK(eg_tokenizer_save(t, egt_path("tokenizer.json")));
        eg_tokenizer *again = eg_tokenizer_load(egt_folder());
        eg_tokens a = eg_tokenizer_encode(t, text, .pair = text), b = eg_tokenizer_encode(again, text, .pair = text);
        EGT_CHECK(egt_same_bits(a.ids, b.ids) && egt_same_bits(a.types, b.types) &&
                  egt_same_bits(a.offsets, b.offsets));
        eg_tokenizer_free(again);
        eg_tokenizer *learned =
            eg_bpe_train(&text, 1, .vocabulary = 262, .specials = (const char *const[]){"<s>"}, .specials_count = 1);
        EGT_EQ(eg_tokenizer_size(learned), 262);
        EGT_OK(eg_tokenizer_save(learned, egt_path("bpe.json")));
        again = eg_tokenizer_load(egt_path("bpe.json"));
        a = eg_tokenizer_encode(learned, text);
        EGT_CHECK(egt_same_bits(a.ids, eg_tokenizer_encode(again, text).ids) && eg_numel(a.ids) < 24);
        EGT_CHECK(egt_same_bits(eg_tokenizer_decode(again, a.ids), text));
        eg_tokenizer_free(again);
        eg_tokenizer_free(learned);
        eg_tokenizer *sub = eg_subtokens_train(&text, 1, .min_count = 1);
        EGT_OK(eg_tokenizer_save(sub, egt_path("subtokens.txt")));
        again = eg_tokenizer_load(egt_path("subtokens.txt"));
        eg_tensor *odd = eg_text("want_ed \\ \xe2\x82\xac\n able");
        EGT_CHECK(egt_same_bits(eg_tokenizer_decode(again, eg_tokenizer_encode(sub, odd).ids), odd));
        EGT_EQ(eg_tokenizer_special(again, EG_SPECIAL_EOS), 1);
        eg_tokenizer_free(again);
        eg_tokenizer_free(sub);
    }
    eg_tokenizer_free(t);
}

static void same_row(const eg_tokenizer *t, const eg_tokens *all, int i, eg_tensor *text)
{
    EG_SCOPE {
        eg_tokens one = eg_tokenizer_encode(t, text);
        int64_t n = eg_size(one.ids, 0);
        EGT_CHECK(egt_same_bits(eg_slice(eg_select(all->ids, 0, i), 0, 0, n, 1), one.ids));
        EGT_CHECK(egt_same_bits(eg_slice(eg_select(all->offsets, 0, i), 0, 0, n, 1), one.offsets));
    }
}

/* All of it is as one text after another, whatever the threads. */
EGT(batches_on_threads)
{
    need();
    eg_tokenizer *t = eg_tokenizer_load(GOLDEN "roberta.json");
    EG_SCOPE {
        eg_tensor *texts[200];
        for (int i = 0; i < 200; i++) {
            char line[80];
            snprintf(line, sizeof line, "A man %d is riding, \xc3\xa4nd \xe4\xba\xba %d", i * 7919 % 1000, i);
            texts[i] = eg_text(line);
        }
        eg_tokens all = eg_tokenizer_encode_batch(t, texts, 200);
        for (int i = 0; i < 200; i++) {
            same_row(t, &all, i, texts[i]);
        }
    }
    eg_tokenizer_free(t);
}

static void refused(const char *json, eg_status code, const char *word)
{
    egt_write(egt_path("bad.json"), json, strlen(json));
    EGT_REFUSED(eg_tokenizer_load(egt_path("bad.json")), code, word);
}

EGT(files_that_are_none)
{
    need();
#define WORDS "\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"[UNK]\",\"vocab\":{\"[UNK]\":0,\"a\":1}}"
    refused("{}", EG_EFORMAT, "there is no model");
    refused("{\"model\":{\"type\":\"Markov\"}}", EG_EFORMAT, "\"Markov\" is not known");
    refused("{" WORDS ",\"normalizer\":{\"type\":\"Loud\"}}", EG_EFORMAT, "the normalizer \"Loud\"");
    refused("{" WORDS ",\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"X\"}]}}", EG_EFORMAT,
            "the pre-tokenizer \"X\"");
    refused("{" WORDS ",\"pre_tokenizer\":{\"type\":\"ByteLevel\"}}", EG_EFORMAT, "only with BPE");
    refused("{" WORDS ",\"added_tokens\":[{\"id\":1,\"content\":\"b\"}]}", EG_EFORMAT, "1 is of \"a\" and of \"b\"");
    refused("{\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"?\",\"vocab\":{\"a\":1}}}", EG_EFORMAT, "no \"?\"");
    refused("{\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"a\",\"vocab\":{\"a\":1,\"b\":-1}}}", EG_EFORMAT, "-1");
    refused("{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1},\"merges\":[\"a b\"]}}", EG_EFORMAT, "merge 0");
    refused("{\"model\":{\"type\":\"Unigram\",\"unk_id\":3,\"vocab\":[[\"a\",-1]]}}", EG_EFORMAT, "none of the 1");
    refused("{" WORDS ",\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[]}}", EG_EFORMAT,
            "each text once");
    refused("'a'\n'b'\n", EG_EFORMAT, "<pad> and <EOS>");
    refused("'<pad>'\nb\n", EG_EFORMAT, "line 2 is no subtoken");
    egt_write(egt_path("bad.model"),
              "\n\x05\n\x03"
              "abc\x12\x01",
              9);
    EGT_REFUSED(eg_tokenizer_load(egt_path("bad.model")), EG_EFORMAT, "");
    EGT_REFUSED(eg_tokenizer_load(egt_folder()), EG_EIO, "no tokenizer.json");
    EGT_REFUSED(eg_tokenizer_load(egt_path("none")), EG_EIO, "none");
    EGT_REFUSED(eg_tokenizer_load(NULL), EG_EINVAL, "path");
    EGT_REFUSED(eg_bpe_train(NULL, 1), EG_EINVAL, "texts");
    eg_tensor *nothing[1] = {NULL};
    EGT_REFUSED(eg_bpe_train(nothing, 0, .characters = true, .unknown = "?"), EG_EINVAL, "none of the specials");
    EGT_REFUSED(eg_subtokens_train(nothing, 0, .vocabulary = -1), EG_EINVAL, "vocabulary -1");
}

/* ---- text that is not UTF-8, and growth ---------------------------------------------------------- */

/* Rules for characters in base64 by which "a" becomes the text at `at` of these n bytes. */
static const char *rules(const char *text, int64_t n, uint32_t at)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    enum { UNITS = 256 };
    static char out[4 * UNITS * 2];
    uint32_t unit[1 + UNITS] = {4 * UNITS};
    uint8_t bytes[sizeof unit + 64];
    unit[1] = 1 << 10;                              /* a double array: from the root to 1 ^ 'a' */
    unit[1 + ('a' ^ 1)] = 'a' | 1u << 8 | 1u << 10; /* which is the end of a rule, with its value beside it */
    unit[1 + 'a'] = 1u << 31 | at;
    memcpy(bytes, unit, sizeof unit);
    memcpy(bytes + sizeof unit, text, (size_t)n);
    const size_t all = sizeof unit + (size_t)n;
    size_t k = 0;
    for (size_t i = 0; i < all; i += 3) {
        const uint32_t x = (uint32_t)bytes[i] << 16 | (i + 1 < all ? (uint32_t)bytes[i + 1] << 8 : 0) |
                           (i + 2 < all ? bytes[i + 2] : 0);
        for (int j = 0; j < 4; j++) {
            out[k++] = i + (size_t)j > all ? '=' : digits[x >> (18 - 6 * j) & 63];
        }
    }
    out[k] = '\0';
    return out;
}

static const char *with_rules(const char *text, int64_t n, uint32_t at)
{
    static char json[8192];
    snprintf(json, sizeof json,
             "{\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"%s\"},\"model\":{\"type\":"
             "\"WordLevel\",\"unk_token\":\"[UNK]\",\"vocab\":{\"[UNK]\":0,\"\xc3\xb6\":1}}}",
             rules(text, n, at));
    return json;
}

EGT(text_of_files_that_is_not_utf8_is_refused)
{
    need();
    const char *good = with_rules("x\0\xc3\xb6", 5, 2);
    egt_write(egt_path("rules.json"), good, strlen(good));
    eg_tokenizer *t = eg_tokenizer_load(egt_path("rules.json"));
    EG_SCOPE {
        INTS(eg_tokenizer_encode(t, eg_text("a")).ids, 1);
    }
    eg_tokenizer_free(t);
    refused(with_rules("\xf4\0", 2, 0), EG_EFORMAT, "not UTF-8: byte 0 of 2 is 0xf4");
    refused(with_rules("\xc3\xb6\0", 3, 1), EG_EFORMAT, "byte 1 of 3, where no text begins");
    refused(with_rules("\xc3\xb6\0", 3, 3), EG_EFORMAT, "byte 3 of 3, where no text begins");
    static const char piece[] = "\n\x03\n\x01\xff", /* a piece; then an unknown piece and what it is decoded to */
        surface[] = "\n\x09\n\x05<unk>\x18\x02\x12\x04\xe2\x02\x01\xff";
    egt_write(egt_path("bad.model"), piece, sizeof piece - 1);
    EGT_REFUSED(eg_tokenizer_load(egt_path("bad.model")), EG_EFORMAT, "not UTF-8");
    egt_write(egt_path("bad.model"), surface, sizeof surface - 1);
    EGT_REFUSED(eg_tokenizer_load(egt_path("bad.model")), EG_EFORMAT, "not UTF-8");
    eg_vocabulary *v = VOCABULARY("[UNK]");
    EGT_REFUSED(eg_wordpiece_new(v, .prefix = "\xc3"), EG_EFORMAT, "not UTF-8");
    EGT_REFUSED(eg_word_tokenizer_new(v, .pattern = "\xc3"), EG_EFORMAT, "a pattern is not UTF-8");
    eg_vocabulary_free(v);
}

/* A list of n steps that make two of each "a". */
static const char *doubling(const char *part, const char *list, int n)
{
    static char json[8192];
    size_t k = (size_t)snprintf(json, sizeof json, "{\"%s\":{\"type\":\"Sequence\",\"%s\":[", part, list);
    for (int i = 0; i < n; i++) {
        k += (size_t)snprintf(json + k, sizeof json - k,
                              "%s{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"aa\"}",
                              i ? "," : "");
    }
    snprintf(json + k, sizeof json - k, "]}," WORDS "}");
    return json;
}

static eg_tokenizer *loaded(const char *json)
{
    egt_write(egt_path("made.json"), json, strlen(json));
    eg_tokenizer *t = eg_tokenizer_load(egt_path("made.json"));
    EGT_CHECK(t);
    return t;
}

/* 2 KB of file and one byte of text made 4.6 GB. */
EGT(growth_of_texts_is_bounded)
{
    need();
    EG_SCOPE {
        eg_tokenizer *t = loaded(doubling("normalizer", "normalizers", 30));
        EGT_REFUSED(eg_tokenizer_encode(t, eg_text("a")).ids, EG_EINVAL, "more than 65600 bytes of the text");
        EGT_CHECK(eg_tokenizer_encode(t, eg_text("b")).ids);
        eg_tokenizer_free(t);
        t = loaded(doubling("normalizer", "normalizers", 15));
        EGT_CHECK(eg_tokenizer_encode(t, eg_text("a")).ids);
        EGT_REFUSED(eg_tokenizer_encode(t, eg_text("aaa")).ids, EG_EINVAL, "64 times its length and 65536");
        eg_tokenizer_free(t);
        t = loaded(doubling("decoder", "decoders", 30));
        eg_tensor *ids = eg_from_values(EG_SHAPE(1), EG_I64, (double[]){1});
        EGT_REFUSED(eg_tokenizer_decode(t, ids), EG_EINVAL, "the decoders make more than");
        eg_tokenizer_free(t);
    }
    refused("{\"padding\":{\"strategy\":{\"Fixed\":2000000000}}," WORDS "}", EG_EFORMAT, "at most 1048576");
    refused("{\"added_tokens\":[{\"id\":16000000,\"content\":\"x\"}]," WORDS "}", EG_EFORMAT,
            "the largest for so many");
    refused("{\"post_processor\":{\"type\":\"BertProcessing\",\"cls\":[\"a\",1],\"sep\":[\"b\",2]}," WORDS "}",
            EG_EFORMAT, "the token 2; there are 2 tokens");
    refused("{\"padding\":{\"pad_id\":2}," WORDS "}", EG_EFORMAT, "the token 2; there are 2 tokens");
    refused("{\"padding\":{\"strategy\":\"BatchLongest\",\"pad_to_multiple_of\":2000000000}," WORDS "}", EG_EFORMAT,
            "at most 1048576");
}

/* Frames whose one token has many ids, many times. */
EGT(frames_of_files_are_bounded)
{
    need();
    enum { IDS = 200, TIMES = 200 };
    static char json[1 << 16];
    size_t k = (size_t)snprintf(json, sizeof json,
                                "{" WORDS ",\"post_processor\":{\"type\":\"TemplateProcessing\",\"special_tokens\":"
                                "{\"s\":{\"id\":\"s\",\"ids\":[1");
    for (int i = 1; i < IDS; i++) {
        k += (size_t)snprintf(json + k, sizeof json - k, ",1");
    }
    k += (size_t)snprintf(json + k, sizeof json - k,
                          "],\"tokens\":[\"s\"]}},\"pair\":[{\"Sequence\":{\"id\":\"A\"}},{\"Sequence\":"
                          "{\"id\":\"B\"}}],\"single\":[");
    for (int i = 0; i < TIMES; i++) {
        k += (size_t)snprintf(json + k, sizeof json - k, "{\"SpecialToken\":{\"id\":\"s\",\"type_id\":0}},");
    }
    snprintf(json + k, sizeof json - k, "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}]}}");
    refused(json, EG_EFORMAT, "more than 4096 special tokens");
}

/* ---- as others have it ------------------------------------------------------------------------------ */

/* An added token that does not count, since it is not alone, hides those that begin within it. */
EGT(rejected_added_tokens_hide_others)
{
    need();
    eg_tokenizer *t =
        loaded("{\"added_tokens\":[{\"id\":2,\"content\":\"abc\",\"single_word\":true,\"normalized\":false},"
               "{\"id\":3,\"content\":\"bc\",\"normalized\":false}],\"model\":{\"type\":\"WordLevel\","
               "\"unk_token\":\"[UNK]\",\"vocab\":{\"[UNK]\":0,\"xabc\":1}}}");
    EG_SCOPE {
        INTS(eg_tokenizer_encode(t, eg_text("xabc")).ids, 1);
        INTS(eg_tokenizer_encode(t, eg_text("abc")).ids, 2);
        INTS(eg_tokenizer_encode(t, eg_text("xbc")).ids, 0, 3);
    }
    eg_tokenizer_free(t);
}

/* As CLIP has it. */
EGT(pieces_of_bytes_have_suffixes)
{
    need();
    eg_tokenizer *t =
        loaded("{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false},\"model\":{\"type\":\"BPE\","
               "\"end_of_word_suffix\":\"</w>\",\"vocab\":{\"c\":0,\"a\":1,\"t\":2,\"t</w>\":3,\"a</w>\":4,\"ca\":5,"
               "\"cat</w>\":6},\"merges\":[[\"c\",\"a\"],[\"ca\",\"t</w>\"]]}}");
    EG_SCOPE {
        INTS(eg_tokenizer_encode(t, eg_text("cat")).ids, 6);
        INTS(eg_tokenizer_encode(t, eg_text("catta")).ids, 5, 2, 2, 4);
    }
    eg_tokenizer_free(t);
    refused("{\"model\":{\"type\":\"BPE\",\"continuing_subword_prefix\":\"##\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},"
            "\"merges\":[\"a b\"]}}",
            EG_EFORMAT, "does not begin with \"##\"");
}

EGT(replace_puts_text_at_empty_matches)
{
    need();
    eg_tokenizer *t =
        loaded("{\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"(?=B)|c*\"},\"content\":\"-\"},"
               "\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"[UNK]\",\"vocab\":{\"[UNK]\":0,"
               "\"-a-B-\":1}}}");
    EG_SCOPE {
        INTS(eg_tokenizer_encode(t, eg_text("aBcc")).ids, 1);
    }
    eg_tokenizer_free(t);
}

/* One U+FFFD for each bad byte of pieces <0x..>, which are no character together with those behind a control. */
EGT(sentencepiece_replaces_bad_bytes_one_by_one)
{
    eg_tokenizer *t = eg_tokenizer_load("tests/fuzz/corpus/tokenizer/bytes.model");
    egt_need(t, "utf8proc, or protobuf-c");
    const double first = (double)eg_tokenizer_id(t, "<0xE4>", 6), second = (double)eg_tokenizer_id(t, "<0xBA>", 6),
                 third = (double)eg_tokenizer_id(t, "<0xBB>", 6), control = (double)eg_tokenizer_id(t, "<s>", 3);
    EG_SCOPE {
        eg_tensor *ids = eg_from_values(EG_SHAPE(3), EG_I64, (double[]){first, second, third});
        EGT_CHECK(text_is(eg_tokenizer_decode(t, ids), "\xe4\xba\xbb"));
        EGT_CHECK(text_is(eg_tokenizer_decode(t, eg_slice(ids, 0, 0, 2, 1)), "\xef\xbf\xbd\xef\xbf\xbd"));
        ids = eg_from_values(EG_SHAPE(4), EG_I64, (double[]){first, second, control, third});
        EGT_CHECK(text_is(eg_tokenizer_decode(t, ids), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"));
    }
    eg_tokenizer_free(t);
}

static bool load_and_encode(void *user)
{
    eg_tokenizer *t = eg_tokenizer_load(user);
    eg_scope s = eg_scope_push();
    eg_tokens x =
        eg_tokenizer_encode(t, eg_text("Ein Ma\xcc\x88nnchen steht 12 im Walde, <mask> ganz still \xe4\xba\xba."));
    bool ok = s.depth && x.ids && eg_tokenizer_decode(t, x.ids);
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    eg_tokenizer_free(t);
    return ok;
}

static bool learn(void *user)
{
    (void)user;
    eg_scope s = eg_scope_push();
    eg_tensor *text = s.depth ? eg_text("the cat that sat on the mat") : NULL;
    eg_tokenizer *a = text ? eg_bpe_train(&text, 1, .vocabulary = 262) : NULL;
    eg_tokenizer *b = a ? eg_subtokens_train(&text, 1, .min_count = 2) : NULL;
    bool ok = b && eg_tokenizer_save(a, egt_path("a.json")) == EG_OK;
    eg_tokenizer_free(a);
    eg_tokenizer_free(b);
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return ok;
}

EGT(memory_runs_out)
{
    need();
    static char *const files[] = {GOLDEN "plain.model", GOLDEN "subtokens.txt", GOLDEN "words.json"};
    for (int i = 0; i < 3; i++) {
        EGT_CHECK(egt_fail_allocations(load_and_encode, files[i]) > 4);
    }
    EGT_CHECK(egt_fail_allocations(learn, NULL) > 4);
}
