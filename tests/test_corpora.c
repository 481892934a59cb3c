/* test_corpora.c - texts with what is known of them. */
#include "tests/readers.h"

/* ---- words in columns ----------------------------------------------------------------------- */

static bool are_numbers(const eg_tensor *t, int n, const double *want)
{
    double have[16];
    bool good = t && eg_ndim(t) == 1 && eg_numel(t) == n && n <= 16 && !eg_to_values(t, have);
    for (int i = 0; i < n && good; i++) {
        good = have[i] == want[i];
    }
    return good;
}

EGT(words_in_columns)
{
    static const eg_column columns[] = {
        {.at = 0}, {.at = -1}, {.at = 1, .dtype = EG_I64, .optional = true, .fallback = -1}};
    eg_column texts[3];
    memcpy(texts, columns, sizeof texts);
    texts[0].dtype = texts[1].dtype = EG_U8;
    write_text("a.txt", "-DOCSTART- -X- O O\n\n\nThe 1 \t x B-A\n# 2 y O\r\n\n  \nend _ O\n");
    write_text("b.txt", "next\t7\tO\n-DOCSTART- 3 4\nlast 8 O");
    eg_dataset *d = eg_conll_new(egt_path("*.txt"), texts, 3);
    for (int epoch = 0; epoch < 2; epoch++) {
        int k = 0;
        EG_FOR_EACH(s, d) {
            static const char *const words[] = {"The #", "end", "next", "last"}, *const tags[] = {"B-A O", "O", "O",
                                                                                                  "O"};
            static const double numbers[][2] = {{1, 2}, {-1}, {7}, {8}};
            EGT_EQ(eg_dataset_width(d), 3);
            EGT_CHECK(is_text(s[0], words[k]) && is_text(s[1], tags[k]));
            EGT_CHECK(are_numbers(s[2], k ? 1 : 2, numbers[k]));
            k++;
        }
        EGT_OK(eg_dataset_status(d));
        EGT_EQ(k, 4);
    }
    eg_dataset_free(d);
    d = eg_conll_new(egt_path("a.txt"), texts, 2, .comments = true);
    EGT_CHECK(is_text(eg_dataset_first(d)[0], "The"));
    eg_dataset_free(d);
    write_text("c.tsv", "New York\tB-LOC\nx\tO\n");
    d = eg_conll_new(egt_path("c.tsv"), texts, 2, .separator = '\t');
    EGT_CHECK(is_text(eg_dataset_first(d)[0], "New_York x"));
    eg_dataset_free(d);
}

EGT(behind_a_bad_sentence_comes_the_next)
{
    static const eg_column columns[] = {{.at = 0, .dtype = EG_U8}, {.at = 1, .dtype = EG_I32}};
    write_text("a.txt", "a 1\nb\nc 3\n\nd 4\n\ne 5\nf 3000000000\ng 1\n\nh\xff 8\ni 9\n\nj x\nk 1");
    write_text("b.txt", "l 2");
    ENDS_WITH(eg_conll_new(egt_path("*.txt"), columns, 2), EG_EFORMAT, "a.txt, line 2: no column 1 among 1");
    eg_dataset *d = eg_dataset_tolerate(eg_conll_new(egt_path("*.txt"), columns, 2));
    EGT_CHECK(is_text(eg_dataset_first(d)[0], "d"));
    EGT_CHECK(is_text(eg_dataset_next(d)[0], "l"));
    EGT_CHECK(!eg_dataset_next(d));
    EGT_EQ(eg_dataset_left_out(d).count, 4);
    eg_dataset_free(d);
    d = eg_conll_new(egt_path("b.txt"), columns, 2);
    EGT_EQ(walk(d), 1);
    eg_dataset_free(d);
    EGT_REFUSED(eg_conll_new(egt_path("b.txt"), columns, 0), EG_EINVAL, "0 columns");
    EGT_REFUSED(eg_conll_new(egt_path("b.txt"), NULL, 1), EG_EINVAL, "columns");
    EGT_REFUSED(eg_conll_new(egt_path("b.txt"), &(eg_column){.count = 2}, 1), EG_EINVAL, "count 2");
    EGT_REFUSED(eg_conll_new("/nowhere/*", columns, 2), EG_EIO, "/nowhere");
}

static const char treebank[] = "# newdoc\n"
                               "# sent_id = s-1\n"
                               "# text = v\xc3\xa1monos al mar = ya\n"
                               "1-2\tv\xc3\xa1monos\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n"
                               "1\tvamos\tir\tVERB\t_\t_\t0\troot\t_\t_\n"
                               "2\tnos\tnosotros\tPRON\t_\t_\t1\tobj\t_\t_\n"
                               "2.1\tfue\tir\tVERB\t_\t_\t_\t_\t1:x\t_\n"
                               "3\tal mar\tmar\tNOUN\t_\t_\t1\tobl\t_\t_\n"
                               "\n"
                               "1\tya\tya\tADV\t_\t_\t0\troot\t_\t_\n"
                               "\n";

EGT(treebanks)
{
    static const eg_column columns[] = {{.name = "form", .dtype = EG_U8},
                                        {.name = "head", .dtype = EG_I64, .optional = true, .fallback = -1},
                                        {.at = 3, .dtype = EG_U8},
                                        {.name = "text", .dtype = EG_U8, .optional = true}};
    write_text("a.conllu", treebank);
    eg_dataset *d = eg_conllu_new(egt_path("a.conllu"), columns, 4);
    eg_tensor *const *s = eg_dataset_first(d);
    EGT_CHECK(s && is_text(s[0], "vamos nos al_mar") && is_text(s[2], "VERB PRON NOUN"));
    EGT_CHECK(are_numbers(s[1], 3, (double[]){0, 1, 1}) && is_text(s[3], "v\xc3\xa1monos al mar = ya"));
    s = eg_dataset_next(d);
    EGT_CHECK(s && is_text(s[0], "ya") && is_text(s[3], ""));
    EGT_CHECK(!eg_dataset_next(d));
    EGT_OK(eg_dataset_status(d));
    eg_dataset_free(d);
    d = eg_conllu_new(egt_path("a.conllu"), columns, 2, .surface = true);
    s = eg_dataset_first(d);
    EGT_CHECK(s && is_text(s[0], "v\xc3\xa1monos al_mar") && are_numbers(s[1], 2, (double[]){-1, 1}));
    eg_dataset_free(d);
    d = eg_conllu_new(egt_path("a.conllu"), columns, 1, .empty = true);
    EGT_CHECK(is_text(eg_dataset_first(d)[0], "vamos nos fue al_mar"));
    eg_dataset_free(d);
}

EGT(bad_treebanks)
{
    static const eg_column form = {.name = "form", .dtype = EG_U8}, id = {.name = "sent_id", .dtype = EG_U8},
                           number = {.name = "sent_id", .dtype = EG_I64};
    static const struct {
        const char *text, *word;
    } bad[] = {
        {"1\ta\tb\n", "3 columns"},
        {"2\ta\t_\t_\t_\t_\t_\t_\t_\t_\n", "\"2\" is no number behind 0"},
        {"1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n1\tb\t_\t_\t_\t_\t_\t_\t_\t_\n", "\"1\" is no number behind 1"},
        {"2-1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n", "\"2-1\""},
        {"x\ta\t_\t_\t_\t_\t_\t_\t_\t_\n", "\"x\""},
        {"1.1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n", "\"1.1\""},
        {"1+1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n", "\"1+1\""},
    };
    for (int i = 0; i < (int)(sizeof bad / sizeof *bad); i++) {
        write_text("a.conllu", bad[i].text);
        ENDS_WITH(eg_conllu_new(egt_path("a.conllu"), &form, 1), EG_EFORMAT, bad[i].word);
    }
    write_text("a.conllu", treebank);
    eg_dataset *d = eg_dataset_tolerate(eg_conllu_new(egt_path("a.conllu"), &id, 1));
    EGT_EQ(walk(d), 1);
    EGT_CHECK(strstr(eg_dataset_left_out(d).first.message, "no comment \"sent_id\""));
    eg_dataset_free(d);
    EGT_REFUSED(eg_conllu_new(egt_path("a.conllu"), &number, 1), EG_EINVAL, "sent_id");
}

EGT(real_columns)
{
    static const eg_column columns[] = {{.at = 0, .dtype = EG_U8}, {.at = -1, .dtype = EG_U8}};
    int64_t sentences = 0, words = 0;
    eg_dataset *d = eg_conll_new(egt_real("conll2000/test.txt"), columns, 2);
    EG_FOR_EACH(s, d) {
        const int64_t n = eg_size(eg_text_words(s[0]), 0);
        EGT_EQ(eg_size(eg_text_words(s[1]), 0), n);
        sentences++;
        words += n;
    }
    EGT_OK(eg_dataset_status(d));
    EGT_EQ(sentences, 2012);
    EGT_EQ(words, 47377);
    eg_dataset_free(d);
}

/* ---- sentences ------------------------------------------------------------------------------ */

EGT(tasks_of_glue)
{
    write_text("cola.tsv", "gj04\t1\t\tHe \"said.\ngj04\t0\t*\tHe said it.\n");
    eg_dataset *d = eg_glue_new(egt_path("cola.tsv"), EG_GLUE_COLA);
    eg_tensor *const *s = eg_dataset_first(d);
    EGT_CHECK(s && eg_dataset_width(d) == 2 && is_text(s[0], "He \"said.") && eg_item_int(s[1]) == 1);
    s = eg_dataset_next(d);
    EGT_CHECK(s && is_text(s[0], "He said it.") && eg_item_int(s[1]) == 0);
    eg_dataset_free(d);
    write_text("mrpc.tsv", "\xef\xbb\xbfQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t7\t8\ta b\tc\n");
    d = eg_glue_new(egt_path("mrpc.tsv"), EG_GLUE_MRPC);
    s = eg_dataset_first(d);
    EGT_CHECK(s && eg_dataset_width(d) == 3 && is_text(s[0], "a b") && is_text(s[1], "c") && eg_item_int(s[2]) == 1);
    EGT_CHECK(!eg_dataset_next(d));
    eg_dataset_free(d);
    write_text("mnli.tsv", "index\tsentence2\tx\tsentence1\tgold_label\n0\tb\t-\ta\tneutral\n1\tb\t-\ta\tneutra\n");
    d = eg_glue_new(egt_path("mnli.tsv"), EG_GLUE_MNLI);
    s = eg_dataset_first(d);
    EGT_CHECK(s && is_text(s[0], "a") && is_text(s[1], "b") && eg_item_int(s[2]) == 2);
    EGT_CHECK(!eg_dataset_next(d));
    EGT_CHECK(egt_said(EG_EFORMAT, "line 3: \"neutra\" is no label"));
    eg_dataset_free(d);
    write_text("rte.tsv", "index\tsentence1\tsentence2\n0\ta\tb\n"); /* for testing */
    d = eg_glue_new(egt_path("rte.tsv"), EG_GLUE_RTE);
    EGT_EQ(eg_item_int(eg_dataset_first(d)[2]), -1);
    eg_dataset_free(d);
    write_text("stsb.tsv", "index\tsentence1\tsentence2\tscore\n0\ta\tb\t3.25\n1\ta\tb\n");
    d = eg_glue_new(egt_path("stsb.tsv"), EG_GLUE_STSB);
    s = eg_dataset_first(d);
    EGT_CHECK(s && eg_dtype_of(s[2]) == EG_F32 && eg_item(s[2]) == 3.25);
    EGT_CHECK(!eg_dataset_next(d) && egt_said(EG_EFORMAT, "no column 3 among 3"));
    eg_dataset_free(d);
    EGT_REFUSED(eg_glue_new(egt_path("rte.tsv"), (eg_glue_task)9), EG_EINVAL, "task 9");
}

EGT(real_paraphrases)
{
    int64_t pairs = 0, same = 0;
    eg_dataset *d = eg_glue_new(egt_real("mrpc/msr_paraphrase_test.txt"), EG_GLUE_MRPC);
    EG_FOR_EACH(s, d) {
        pairs++;
        same += eg_item_int(s[2]);
    }
    EGT_OK(eg_dataset_status(d));
    EGT_EQ(pairs, 1725);
    EGT_EQ(same, 1147);
    eg_dataset_free(d);
}

EGT(texts_side_by_side)
{
    write_text("a.de", "eins\nzwei\n\ndrei\n");
    write_text("a.en", "one\ntwo\n\nthree");
    eg_dataset *d = eg_parallel_text_new(egt_path("a.de"), egt_path("a.en"));
    EGT_EQ(walk(d), 4);
    EGT_OK(eg_dataset_status(d));
    EGT_OK(eg_dataset_seek(d, (eg_dataset_position){0, 3}));
    eg_tensor *const *s = eg_dataset_first(d);
    EGT_CHECK(s && is_text(s[0], "drei") && is_text(s[1], "three"));
    eg_dataset_free(d);
    write_text("a.en", "one\ntwo\n\n");
    ENDS_WITH(eg_parallel_text_new(egt_path("a.de"), egt_path("a.en")), EG_EFORMAT, "ends behind 3 lines");
    ENDS_WITH(eg_parallel_text_new(egt_path("a.en"), egt_path("a.de")), EG_EFORMAT, "ends behind 3 lines");
    d = eg_dataset_tolerate(eg_parallel_text_new(egt_path("a.en"), egt_path("a.de")));
    EGT_EQ(walk(d), 3);
    EGT_EQ(eg_dataset_left_out(d).count, 1);
    eg_dataset_free(d);
    d = eg_dataset_skip(eg_parallel_text_new(egt_path("a.en"), egt_path("a.de")), 4); /* over what fails */
    EGT_EQ(walk(d), 0);
    eg_dataset_free(d);
    EGT_REFUSED(eg_parallel_text_new(egt_path("a.en"), "/nowhere/x"), EG_EIO, "/nowhere");
    EGT_REFUSED(eg_parallel_text_new(NULL, egt_path("a.en")), EG_EINVAL, "");
}

/* ---- questions ------------------------------------------------------------------------------ */

static const char questions[] =
    "{\"version\": \"v2.0\", \"data\": [{\"title\": \"t\", \"paragraphs\": ["
    "{\"context\": \"\\u00dcber a cat.\", \"qas\": ["
    "{\"id\": \"1\", \"question\": \"What?\", \"answers\": ["
    "{\"text\": \"a cat\", \"answer_start\": 5}, {\"text\": \"cat\", \"answer_start\": 6},"
    " {\"text\": \"cat.\", \"answer_start\": 7}, {\"text\": \"\", \"answer_start\": 99}]},"
    "{\"id\": \"2\", \"question\": \"Why?\", \"is_impossible\": true, \"plausible_answers\": [1],"
    " \"answers\": [{\"text\": \"cat\", \"answer_start\": 7}]}]},"
    "{\"context\": \"\", \"qas\": [{\"id\": \"3\", \"answers\": []}, {\"id\": \"4\", \"question\": \"\", \"answers\": ["
    "{\"text\": \"x\", \"answer_start\": 0.5}]}, 5]}]}]}";

EGT(questions_and_answers)
{
    write_text("a.json", questions);
    eg_dataset *d = eg_dataset_tolerate(eg_squad_new(egt_path("a.json")));
    EGT_EQ(eg_dataset_count(d), -1);
    eg_tensor *const *s = eg_dataset_first(d);
    EGT_EQ(eg_dataset_width(d), 5);
    EGT_CHECK(is_text(s[0], "1") && is_text(s[1], "\xc3\x9c\x62\x65r a cat.") && is_text(s[2], "What?"));
    EGT_CHECK(are_numbers(s[3], 4, (double[]){6, -1, 8, -1}));
    EGT_CHECK(eg_size(s[4], 0) == 4 && eg_size(s[4], 1) == 5 && !memcmp(eg_data(s[4]), "a catcat\0\0cat.", 15));
    s = eg_dataset_next(d);
    EGT_CHECK(is_text(s[0], "2") && eg_numel(s[3]) == 0 && eg_size(s[4], 0) == 0);
    EGT_CHECK(!eg_dataset_next(d));
    EGT_EQ(eg_dataset_left_out(d).count, 3);
    EGT_CHECK(strstr(eg_dataset_left_out(d).first.message, "paragraphs[1].qas[0]: no text \"question\""));
    eg_dataset_free(d);
    d = eg_squad_new(egt_path("a.json"));
    EGT_EQ(eg_dataset_count(d), 5);
    EGT_OK(eg_dataset_seek(d, (eg_dataset_position){0, 1}));
    EGT_CHECK(is_text(eg_dataset_first(d)[0], "2"));
    EGT_OK(eg_dataset_seek(d, (eg_dataset_position){0, 3}));
    EGT_CHECK(!eg_dataset_first(d) && egt_said(EG_EFORMAT, "answer_start"));
    eg_dataset_free(d);
    write_text("b.json", "{\"data\": [{\"paragraphs\": [{\"context\": \"\"}]}]}");
    EGT_REFUSED(eg_squad_new(egt_path("b.json")), EG_EFORMAT, "no list \"qas\"");
    write_text("b.json", "[]");
    EGT_REFUSED(eg_squad_new(egt_path("b.json")), EG_EFORMAT, "no list \"data\"");
    write_text("b.json", "{");
    EGT_REFUSED(eg_squad_new(egt_path("b.json")), EG_EFORMAT, "");
    EGT_REFUSED(eg_squad_new("/nowhere"), EG_EIO, "nowhere");
    EGT_REFUSED(eg_squad_new(NULL), EG_EINVAL, "path");
}

/* ---- vectors of words ----------------------------------------------------------------------- */

static eg_vocabulary *small_vocabulary(void)
{
    write_text("words.txt", "cat\n. .\nthe\nnone\n");
    return eg_vocabulary_load(egt_path("words.txt"));
}

static bool are_rows(const eg_tensor *t, const double *want)
{
    return t && eg_ndim(t) == 2 && eg_size(t, 0) == 4 &&
           are_numbers(eg_flatten((eg_tensor *)t, 0, 1), (int)eg_numel(t), want);
}

EGT(vectors_of_words)
{
    static const double want[] = {3, 4.5, 1, 2, -1, 0.25, 0, 0}, other[] = {3, 4.5, 1, 2, -1, 0.25, 7, 7};
    static const float binary[] = {3, 4.5F, 9, 9, -1, 0.25F};
    eg_vocabulary *v = small_vocabulary();
    eg_tensor *found;
    write_text("glove.txt", "the -1 2.5e-1\n. . 1 2\nunknown x y\ncat 3 4.5\ncat 5 6\n");
    EGT_CHECK(are_rows(eg_word_vectors_load(egt_path("glove.txt"), v, .found = &found), want));
    EGT_CHECK(are_numbers(found, 4, (double[]){1, 1, 1, 0}));
    EGT_CHECK(are_rows(eg_word_vectors_load(egt_path("glove.txt"), v, .otherwise = eg_full(EG_SHAPE(4, 2), 7, EG_F32)),
                       other));
    write_text("w2v.txt", "4 2\nthe -1 0.25 \ncat 3 4.5\n. . 1 2\n");
    EGT_CHECK(are_rows(eg_word_vectors_load(egt_path("w2v.txt"), v), want));
    char file[80];
    const int head = snprintf(file, sizeof file, "3 2\ncat ");
    size_t n = (size_t)head;
    memcpy(file + n, binary, 8);
    n += 8;
    memcpy(file + n, "\ndog ", 5);
    memcpy(file + n + 5, binary + 2, 8);
    memcpy(file + n + 13, "the ", 4);
    memcpy(file + n + 17, binary + 4, 8);
    n += 25;
    egt_write(egt_path("w2v.bin"), file, n);
    static const double some[] = {3, 4.5, 0, 0, -1, 0.25, 0, 0};
    EGT_CHECK(are_rows(eg_word_vectors_load(egt_path("w2v.bin"), v, .binary = true), some));
    egt_write(egt_path("cut.bin"), file, n - 1);
    EGT_REFUSED(eg_word_vectors_load(egt_path("cut.bin"), v, .binary = true), EG_EFORMAT, "ends within a vector");
    eg_vocabulary_free(v);
}

EGT(bad_vectors_of_words)
{
    static const struct {
        const char *text, *word;
    } bad[] = {{"", "no vector"},
               {"3 2\n", "no vector"},
               {"the\n", "0 numbers"},
               {"the 1 2\ncat 3\n", "line 2: 2 fields"},
               {"the 1 x\n", "line 1: \"x\" is no number"},
               {"1 70000\n", "70000 numbers"}};
    eg_vocabulary *v = small_vocabulary();
    for (int i = 0; i < (int)(sizeof bad / sizeof *bad); i++) {
        write_text("bad.txt", bad[i].text);
        EGT_REFUSED(eg_word_vectors_load(egt_path("bad.txt"), v), EG_EFORMAT, bad[i].word);
    }
    EGT_REFUSED(eg_word_vectors_load(egt_path("bad.txt"), v, .binary = true), EG_EFORMAT, "70000 numbers");
    write_text("bad.txt", "the 1 2\n");
    EGT_REFUSED(eg_word_vectors_load(egt_path("bad.txt"), v, .binary = true), EG_EFORMAT, "first line");
    EGT_REFUSED(eg_word_vectors_load(egt_path("bad.txt"), v, .otherwise = eg_zeros(EG_SHAPE(4, 3), EG_F32)), EG_ESHAPE,
                "f32 [4, 2]");
    EGT_REFUSED(eg_word_vectors_load(egt_path("bad.txt"), NULL), EG_EINVAL, "v is NULL");
    EGT_REFUSED(eg_word_vectors_load(NULL, v), EG_EINVAL, "path");
    eg_vocabulary_free(v);
}

/* ---- ids ------------------------------------------------------------------------------------ */

EGT(windows_of_a_text)
{
    eg_tensor *ids = eg_arange(0, 23, 1, EG_I64);
    eg_dataset *d = eg_token_windows_new(ids, 2, 4); /* parts of 11, two windows and two words left */
    int k = 0;
    EG_FOR_EACH(s, d) {
        EGT_CHECK(eg_size(s[0], 0) == 4 && eg_size(s[0], 1) == 2);
        for (int64_t i = 0; i < 8; i++) {
            EGT_EQ(eg_get(s[0], i), (double)(k * 4 + i / 2 + i % 2 * 11));
            EGT_EQ(eg_get(s[1], i), eg_get(s[0], i) + 1);
        }
        k++;
    }
    EGT_EQ(k, 2);
    eg_dataset_free(d);
    d = eg_token_windows_new(ids, 2, 4, .last = true, .rows_first = true);
    EGT_EQ(eg_dataset_count(d), 3);
    k = 0;
    EG_FOR_EACH(s, d) {
        const int64_t steps = k < 2 ? 4 : 2;
        EGT_CHECK(eg_size(s[0], 0) == 2 && eg_size(s[0], 1) == steps);
        EGT_EQ(eg_get(s[1], steps), k * 4 + 12);
        k++;
    }
    EGT_EQ(k, 3);
    eg_dataset_free(d);
    d = eg_token_windows_new(ids, 11, 4, .last = true); /* shorter than a window */
    EGT_EQ(eg_size(eg_dataset_first(d)[0], 0), 1);
    eg_dataset_free(d);
    EGT_REFUSED(eg_token_windows_new(ids, 11, 4), EG_EINVAL, "too short for 11 rows of 4");
    EGT_REFUSED(eg_token_windows_new(ids, 0, 4), EG_EINVAL, "0 rows");
    EGT_REFUSED(eg_token_windows_new(ids, 2, 0), EG_EINVAL, "rows of 0");
    EGT_REFUSED(eg_token_windows_new(eg_zeros(EG_SHAPE(4), EG_F32), 2, 1), EG_ESHAPE, "f32 [4]");
    EGT_REFUSED(eg_token_windows_new(NULL, 2, 1), EG_EINVAL, "ids");
}

/* ---- memory --------------------------------------------------------------------------------- */

static bool walk_all(void *user)
{
    static const eg_column columns[] = {{.name = "form", .dtype = EG_U8},
                                        {.name = "text", .dtype = EG_U8, .optional = true}};
    static const eg_column first[] = {{.at = 0, .dtype = EG_U8}};
    eg_dataset *d[] = {eg_conllu_new(egt_path("a.conllu"), columns, 2),
                       eg_conll_new(egt_path("a.conllu"), first, 1),
                       eg_glue_new(egt_path("a.tsv"), EG_GLUE_SST2),
                       eg_parallel_text_new(egt_path("a.tsv"), egt_path("a.tsv")),
                       eg_squad_new(egt_path("a.json")),
                       eg_token_windows_new(eg_arange(0, 9, 1, EG_I64), 2, 3, .last = true)};
    eg_vocabulary *v = eg_vocabulary_load(egt_path("words.txt"));
    eg_tensor *vectors = eg_word_vectors_load(egt_path("glove.txt"), v);
    bool good = vectors != NULL;
    (void)user;
    eg_vocabulary_free(v);
    for (int i = 0; i < 6; i++) {
        good = d[i] && walk(d[i]) > 0 && !eg_dataset_status(d[i]) && good;
        eg_dataset_free(d[i]);
    }
    return good;
}

EGT(corpora_without_memory)
{
    write_text("a.conllu", treebank);
    write_text("a.tsv", "sentence\tlabel\na b\t1\n");
    write_text("words.txt", "the\n");
    write_text("glove.txt", "the 1 2\n");
    write_text("a.json",
               "{\"data\": [{\"paragraphs\": [{\"context\": \"a\", \"qas\": [{\"id\": \"1\", \"question\": \"b\", "
               "\"answers\": [{\"text\": \"a\", \"answer_start\": 0}]}]}]}]}");
    EGT_CHECK(egt_fail_allocations(walk_all, NULL) > 0);
}
