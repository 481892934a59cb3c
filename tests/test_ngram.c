/* test_ngram.c - language models of n-grams: learned, asked, as files. */
#include <egret/egret.h>

#include "tests/egt.h"

static const char *file_of(const char *name, const char *text)
{
    egt_write(egt_path(name), text, strlen(text));
    return egt_path(name);
}

static eg_dataset *lines(const char *text)
{
    return eg_text_lines_new(file_of("lines.txt", text));
}

static int64_t id(const eg_ngram *lm, const char *word)
{
    return eg_ngram_id(lm, word, strlen(word));
}

static double p2(const eg_ngram *lm, const char *before, const char *word)
{
    return exp(eg_ngram_score(lm, (int64_t[]){id(lm, before), id(lm, word)}, 2));
}

/* Two sentences: "a b a" and "a c". */
EGT(learned_by_hand)
{
    eg_ngram *lm = eg_ngram_train(lines("a b a\n a  c \n"), 2);
    EGT_EQ(eg_ngram_order(lm), 2);
    EGT_EQ(eg_ngram_count(lm, 1), 6); /* <s> </s> <unk> a b c */
    EGT_EQ(eg_ngram_count(lm, 2), 6); /* <s>a ab ba a</s> ac c</s> */
    /* 7 words were said, of 4 kinds; 5 may be said */
    double a = (3 + 4 / 5.0) / 11, b = (1 + 4 / 5.0) / 11, end = (2 + 4 / 5.0) / 11, other = 4 / 5.0 / 11;
    EGT_NEAR(exp(eg_ngram_score(lm, (int64_t[]){id(lm, "a")}, 1)), a, 1e-6);
    EGT_NEAR(exp(eg_ngram_score(lm, (int64_t[]){id(lm, "zebra")}, 1)), other, 1e-6);
    EGT_NEAR(p2(lm, "<s>", "a"), (2 + a) / 3, 1e-6);
    EGT_NEAR(p2(lm, "a", "b"), (1 + 3 * b) / 6, 1e-6); /* behind a: b, c and the end, once each */
    EGT_NEAR(p2(lm, "a", "zebra"), 3 * other / 6, 1e-6);
    EGT_NEAR(p2(lm, "zebra", "b"), b, 1e-6);
    int64_t words = 0;
    double sum = log((2 + a) / 3) + log((1 + 3 * b) / 6) + log((1 + a) / 2) + log((1 + 3 * end) / 6);
    EGT_NEAR(eg_ngram_sentence(lm, "a b a", &words), sum, 1e-5);
    EGT_EQ(words, 4);
    eg_ngram_free(lm);
}

/* Behind anything the words' probabilities add up to 1. */
EGT(probabilities_add_up)
{
    for (int order = 1; order <= 4; order++) {
        eg_ngram *lm =
            eg_ngram_train(lines("the cat sat on the mat\nthe dog sat\non the mat the cat\n\nsat sat sat\n"), order);
        const char *all[] = {"the", "cat", "sat", "on", "mat", "dog", "</s>", "<unk>"};
        for (int i = 0; i < 8 * 8 * 8; i++) {
            int64_t said[4] = {id(lm, all[i / 64]), id(lm, all[i / 8 % 8]), id(lm, all[i % 8]), 0};
            double sum = 0;
            for (int k = 0; k < 8; k++) {
                said[3] = id(lm, all[k]);
                sum += exp(eg_ngram_score(lm, said, 4));
            }
            EGT_NEAR(sum, 1, 1e-5);
        }
        eg_ngram_free(lm);
    }
}

static const char arpa[] =
    "anything\n\n\\data\\\nngram 1=5\nngram 2=3\nngram 3=1\n\n\\1-grams:\n-99\t<s>\t-0.3\n-1.0\t</s>\n"
    "-0.7 the -0.2\r\n-0.8\tcat\t-0.1\n-1.5\t<unk>\n\n\\2-grams:\n-0.2\t<s> the -0.4\n-0.3\tthe cat\n"
    "-0.5\tcat </s>\n\n\\3-grams:\n-0.1\t<s> the cat\n\n\\end\\\n";

EGT(files_of_others)
{
    eg_ngram *lm = eg_ngram_parse(arpa, strlen(arpa));
    EGT_EQ(eg_ngram_order(lm), 3);
    double ten = log(10);
    EGT_NEAR(eg_ngram_sentence(lm, "the cat", NULL), ten * (-0.2 - 0.1 - 0.5), 1e-5);
    /* cat: behind <s> the weight -0.3; the: behind cat -0.1; the end behind "cat the": the's -0.2 */
    EGT_NEAR(eg_ngram_sentence(lm, "cat the", NULL), ten * (-0.3 - 0.8 - 0.1 - 0.7 - 0.2 - 1.0), 1e-5);
    EGT_NEAR(eg_ngram_sentence(lm, "dog", NULL), ten * (-0.3 - 1.5 - 1.0), 1e-5);
    EGT_EQ(eg_ngram_score(lm, (int64_t[]){99}, 1), -INFINITY);
    EGT_NEAR(eg_ngram_score(lm, (int64_t[]){-1, id(lm, "cat")}, 2), ten * -0.8, 1e-5);
    eg_ngram_free(lm);
    lm = eg_ngram_load(file_of("a.arpa", arpa));
    EGT_EQ(eg_ngram_count(lm, 2), 3);
    eg_ngram_free(lm);
}

EGT(written_and_read_again)
{
    eg_ngram *lm = eg_ngram_train(lines("the cat sat on the mat\nthe dog sat\nein Mädchen sitzt\n"), 3);
    EGT_OK(eg_ngram_save(lm, egt_path("b.arpa")));
    eg_ngram *again = eg_ngram_load(egt_path("b.arpa"));
    EGT_CHECK(again);
    for (int n = 1; n <= 3; n++) {
        EGT_EQ(eg_ngram_count(again, n), eg_ngram_count(lm, n));
    }
    const char *texts[] = {"the cat sat", "the Mädchen on", "", "unknown words here", "on the mat the dog sat"};
    for (int i = 0; i < 5; i++) {
        EGT_NEAR(eg_ngram_sentence(again, texts[i], NULL), eg_ngram_sentence(lm, texts[i], NULL), 1e-4);
    }
    EGT_REFUSED(eg_ngram_save(lm, egt_path("no/such/folder")), EG_EIO, "no/such");
    eg_ngram_free(lm);
    eg_ngram_free(again);
}

static void refuses(const char *from, const char *to, const char *word)
{
    char text[sizeof arpa + 64];
    const char *at = strstr(arpa, from);
    EGT_CHECK(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - arpa), arpa, to, at + strlen(from));
    EGT_REFUSED(eg_ngram_parse(text, strlen(text)), EG_EFORMAT, word);
}

EGT(damage_is_named)
{
    refuses("\\data\\", "data", "nothing begins");
    refuses("ngram 2=3", "ngram 3=3", "line 5");
    refuses("ngram 2=3", "ngram 2=x", "no count");
    refuses("ngram 1=5", "ngram 1=4", "not as many");
    refuses("ngram 2=3", "ngram 2=4", "not as many");
    refuses("\\2-grams:", "\\4-grams:", "should begin here");
    refuses("\\3-grams:", "\\4-grams:", "should begin here");
    refuses("-0.7 the", "0.7 the", "logarithm");
    refuses("-0.7 the", "nan the", "logarithm");
    refuses("-0.7 the -0.2", "-0.7 the -0.2 more", "more behind it");
    refuses("-0.3\tthe cat", "-0.3\tthe bird", "no 1-gram");
    refuses("-0.3\tthe cat", "-0.3\tthe", "too few words");
    refuses("-0.5\tcat </s>", "-0.5\tthe cat", "twice");
    refuses("<s> the cat", "cat cat cat", "beginning");
    refuses("\\end\\", "", "end is missing");
    EGT_REFUSED(eg_ngram_parse("", 0), EG_EFORMAT, "nothing begins");
    EGT_REFUSED(eg_ngram_load(egt_path("none")), EG_EIO, "none");
    EGT_REFUSED(eg_ngram_train(lines("a\n"), 0), EG_EINVAL, "1..16");
    EGT_REFUSED(eg_ngram_train(lines("a\n"), 17), EG_EINVAL, "1..16");
    EGT_REFUSED(eg_ngram_train(lines(""), 2), EG_EINVAL, "no sentence");
    EGT_REFUSED(eg_ngram_train(NULL, 2), EG_EINVAL, "sentences");
    eg_ngram *lm = eg_ngram_parse(arpa, strlen(arpa));
    EGT_REFUSED(eg_ngram_sentence(lm, "\xff", NULL), EG_EFORMAT, "UTF-8");
    EGT_REFUSED(eg_ngram_score(lm, (int64_t[]){0}, 0), EG_EINVAL, "no last");
    eg_ngram_free(lm);
    eg_ngram_free(NULL);
}

/* More words than fit into what the tree begins with. */
EGT(large_ones)
{
    char *text = malloc(1 << 20);
    size_t n = 0;
    for (int i = 0; i < 20000; i++) {
        n += (size_t)sprintf(text + n, "w%d x%d y%d\n", i, i % 71, i % 13);
    }
    eg_ngram *lm = eg_ngram_train(lines(text), 3);
    EGT_EQ(eg_ngram_count(lm, 1), 20000 + 71 + 13 + 3);
    EGT_NEAR(p2(lm, "x70", "y5") + p2(lm, "x70", "y0"), 2.0 / 13, 0.03);
    EGT_OK(eg_ngram_save(lm, egt_path("large.arpa")));
    eg_ngram *again = eg_ngram_load(egt_path("large.arpa"));
    EGT_NEAR(eg_ngram_sentence(again, "w7 x7 y7", NULL), eg_ngram_sentence(lm, "w7 x7 y7", NULL), 1e-3);
    eg_ngram_free(again);
    eg_ngram_free(lm);
    free(text);
}

/* KenLM says the same of what was written here (tests/golden/ngram.py). */
EGT(as_kenlm)
{
    FILE *f = fopen("tests/golden/ngram.txt", "r");
    eg_ngram *lm = eg_ngram_load("tests/golden/ngram.arpa");
    EGT_CHECK(f && lm);
    char line[256];
    int n = 0;
    while (f && fgets(line, sizeof line, f)) {
        char *tab = strchr(line, '\t');
        EGT_CHECK(tab);
        tab[strcspn(tab, "\n")] = '\0';
        EGT_NEAR(eg_ngram_sentence(lm, tab + 1, NULL) / log(10), strtod(line, NULL), 2e-5);
        n++;
    }
    EGT_EQ(n, 8);
    if (f) {
        fclose(f);
    }
    eg_ngram_free(lm);
}
