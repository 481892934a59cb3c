/* test_masked.c - what masked language models learn from: hidden ids, and pairs of pieces of texts. */
#include <stdlib.h>

#include "tests/readers.h"

/* ---- hidden ids ----------------------------------------------------------------------------- */

/* Words 0 [PAD], 1 [CLS], 2 [SEP], 3 [MASK], then a ##b c ##d e f ... */
static eg_vocabulary *vocabulary(void)
{
    write_text("words.txt", "[PAD]\n[CLS]\n[SEP]\n[MASK]\na\n##b\nc\n##d\ne\nf\ng\n##\n");
    return eg_vocabulary_load(egt_path("words.txt"));
}

static eg_tensor *pieces(void)
{
    static const char *const special[] = {"[CLS]", "[SEP]"};
    eg_vocabulary *v = vocabulary();
    eg_tensor *t = eg_vocabulary_pieces(v, "##", special, 2);
    eg_vocabulary_free(v);
    EGT_CHECK(t);
    return t;
}

EGT(pieces_of_words)
{
    static const double want[] = {0, 2, 2, 0, 0, 1, 0, 1, 0, 0, 0, 1};
    eg_tensor *t = pieces();
    EGT_EQ(eg_numel(t), 12);
    for (int i = 0; i < 12; i++) {
        EGT_EQ(eg_get(t, i), want[i]);
    }
    eg_vocabulary *v = vocabulary();
    static const char *const unknown[] = {"[CLS]", "[UNK]"}, *const none[] = {NULL};
    EGT_REFUSED(eg_vocabulary_pieces(v, "##", unknown, 2), EG_EINVAL, "\"[UNK]\"");
    EGT_REFUSED(eg_vocabulary_pieces(v, "##", none, 1), EG_EINVAL, "a special word");
    EGT_REFUSED(eg_vocabulary_pieces(v, "", NULL, 0), EG_EINVAL, "prefix");
    EGT_REFUSED(eg_vocabulary_pieces(NULL, "##", NULL, 0), EG_EINVAL, "v");
    EGT_CHECK(eg_vocabulary_pieces(v, "##", NULL, 0));
    eg_vocabulary_free(v);
}

/* [CLS] a ##b ##d c [SEP] ##b e f ##d g a c e [SEP]: the second ##b goes with c. */
static const double text[] = {1, 4, 5, 7, 6, 2, 5, 8, 9, 7, 10, 4, 6, 8, 2};
enum { N = 15 };

static eg_tensor *some_ids(void)
{
    return eg_from_values(EG_SHAPE(N), EG_I64, text);
}

EGT(hidden_as_bert_hides)
{
    int64_t masked = 0, kept = 0, others = 0;
    eg_tensor *kinds = pieces(), *ids = some_ids();
    eg_seed(5);
    for (int turn = 0; turn < 2000; turn++) {
        EG_SCOPE {
            eg_tensor *labels, *y;
            EGT_OK(eg_mask_tokens(ids, kinds, 3, &y, &labels, .share = 0.3, .most = turn % 2 ? 3 : 0));
            int64_t hidden = 0;
            for (int i = 0; i < N; i++) {
                const double was = eg_get(labels, i), now = eg_get(y, i);
                EGT_CHECK(was == -1 ? now == text[i] : was == text[i] && text[i] > 2);
                hidden += was != -1;
                masked += was != -1 && now == 3;
                kept += was != -1 && now == was;
                others += was != -1 && now != 3 && now != was;
                EGT_CHECK(now >= 0 && now < 12);
            }
            EGT_EQ(hidden, turn % 2 ? 3 : 4); /* 4.5 is rounded to the even one */
        }
    }
    /* Of 7000: one in 12 of any word is the mask, and as many what was there. */
    EGT_NEAR((double)masked / 7000, 0.8 + 0.1 / 12, 0.02);
    EGT_NEAR((double)kept / 7000, 0.1 + 0.1 / 12, 0.02);
    EGT_NEAR((double)others / 7000, 0.1 * 10 / 12, 0.02);
    EGT_EQ(masked + kept + others, 7000);
}

EGT(whole_words_are_hidden)
{
    static const int words[] = {0, 1, 1, 1, 2, 0, 2, 3, 4, 4, 5, 6, 7, 8, 0};
    int64_t seen[9] = {0};
    eg_tensor *kinds = pieces(), *ids = some_ids();
    eg_seed(6);
    for (int turn = 0; turn < 500; turn++) {
        EG_SCOPE {
            eg_tensor *labels, *y;
            int hidden = 0, of[9] = {0}, all[9] = {0};
            EGT_OK(eg_mask_tokens(ids, kinds, 3, &y, &labels, .whole = true));
            for (int i = 0; i < N; i++) {
                all[words[i]]++;
                of[words[i]] += eg_get(labels, i) != -1;
                hidden += eg_get(labels, i) != -1;
            }
            EGT_EQ(hidden, 2); /* 2.25; so never the word of three */
            EGT_EQ(of[0] + of[1], 0);
            for (int w = 2; w < 9; w++) {
                EGT_CHECK(!of[w] || of[w] == all[w]);
                seen[w] += of[w] > 0;
            }
        }
    }
    for (int w = 2; w < 9; w++) {
        EGT_CHECK(seen[w] > 30);
    }
}

static eg_status hide(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    *m = n + 1;
    return eg_mask_tokens(in[0], user, 3, &out[0], &out[1]);
}

EGT(a_map_hides_by_its_seed)
{
    eg_tensor *kinds = pieces(), *rows = eg_stack((eg_tensor *[]){some_ids(), some_ids(), some_ids()}, 3, 0);
    eg_tensor *seen[6];
    int k = 0;
    for (int workers = 0; workers < 3; workers += 2) {
        eg_dataset *d = eg_dataset_map(eg_dataset_from_tensors(&rows, 1), hide, kinds, .seed = 4, .workers = workers);
        EG_FOR_EACH(s, d) {
            seen[k++] = eg_keep(s[1]);
        }
        EGT_OK(eg_dataset_status(d));
        eg_dataset_free(d);
    }
    EGT_EQ(k, 6);
    for (int i = 0; i < 3; i++) {
        EGT_CHECK(egt_same_bits(seen[i], seen[i + 3]));
    }
    EGT_CHECK(!egt_same_bits(seen[0], seen[1]) || !egt_same_bits(seen[0], seen[2]));
    for (int i = 0; i < 6; i++) {
        eg_release(seen[i]);
    }
}

static bool hide_once(void *user)
{
    eg_tensor *y, *labels;
    return !eg_mask_tokens(((eg_tensor **)user)[0], ((eg_tensor **)user)[1], 3, &y, &labels, .whole = true);
}

EGT(hiding_refuses)
{
    eg_tensor *kinds = pieces(), *ids = some_ids(), *y, *labels, *given[] = {ids, kinds};
    EGT_OK(eg_mask_tokens(eg_zeros(EG_SHAPE(0), EG_I64), kinds, 3, &y, &labels));
    EGT_CHECK(eg_numel(y) == 0 && eg_numel(labels) == 0);
    EGT_OK(eg_mask_tokens(eg_full(EG_SHAPE(3), 2, EG_I64), kinds, 3, &y, &labels));
    EGT_EQ(eg_item(eg_max(labels)), -1);
    EGT_OK(eg_mask_tokens(ids, kinds, 3, &y, &labels, .share = EG_ZERO));
    EGT_EQ(eg_item(eg_max(labels)), -1);
    EGT_REFUSED(eg_mask_tokens(eg_full(EG_SHAPE(3), 12, EG_I64), kinds, 3, &y, &labels), EG_EINDEX, "id 12 at 0");
    EGT_CHECK(!labels);
    EGT_REFUSED(eg_mask_tokens(eg_full(EG_SHAPE(3), -1, EG_I64), kinds, 3, &y, &labels), EG_EINDEX, "id -1");
    EGT_REFUSED(eg_mask_tokens(eg_zeros(EG_SHAPE(3), EG_I32), kinds, 3, &y, &labels), EG_ESHAPE, "i32");
    EGT_REFUSED(eg_mask_tokens(ids, ids, 3, &y, &labels), EG_ESHAPE, "pieces i64");
    EGT_REFUSED(eg_mask_tokens(ids, kinds, 3, &y, &labels, .share = 2), EG_EINVAL, "share is 2");
    EGT_REFUSED(eg_mask_tokens(ids, kinds, 3, &y, &labels, .most = -1), EG_EINVAL, "-1");
    EGT_REFUSED(eg_mask_tokens(ids, kinds, 3, &y, NULL), EG_EINVAL, "labels");
    EGT_REFUSED(eg_mask_tokens(NULL, kinds, 3, &y, &labels), EG_EINVAL, "ids");
    EGT_CHECK(egt_fail_allocations(hide_once, given) > 0);
}

/* ---- pairs ---------------------------------------------------------------------------------- */

enum { DOCUMENTS = 12, CLS = 1, SEP = 2 };

/* Documents of 1 to 7 sentences of 1 to 9 ids, which are 1000 (document + 1) and up. */
static void texts(eg_tensor **t)
{
    double ids[DOCUMENTS * 7 * 9], sentences[DOCUMENTS * 7], documents[DOCUMENTS];
    int n = 0, m = 0;
    for (int d = 0; d < DOCUMENTS; d++) {
        documents[d] = 1 + d * 5 % 7;
        for (int s = 0, at = 0; s < (int)documents[d]; s++) {
            sentences[m] = 1 + (d + s) * 7 % 9;
            for (int i = 0; i < (int)sentences[m]; i++) {
                ids[n++] = 1000 * (d + 1) + at++;
            }
            m++;
        }
    }
    t[0] = eg_from_values(EG_SHAPE(n), EG_I64, ids);
    t[1] = eg_from_values(EG_SHAPE(m), EG_I32, sentences);
    t[2] = eg_from_values(EG_SHAPE(DOCUMENTS), EG_I64, documents);
}

static void check_pair(eg_tensor *const *s, int64_t length, int *elsewhere)
{
    const int64_t n = eg_numel(s[0]);
    int64_t id[64], first = 0;
    EGT_CHECK(n <= length && n >= 5 && n <= 64 && eg_numel(s[1]) == n);
    for (int64_t i = 0; i < n; i++) {
        id[i] = (int64_t)eg_get(s[0], i);
        first = eg_get(s[1], i) == 0 ? i + 1 : first;
    }
    EGT_CHECK(id[0] == CLS && id[n - 1] == SEP && id[first - 1] == SEP && first > 2 && n - first > 1);
    for (int64_t i = 1; i < n - 1; i++) {
        EGT_CHECK(eg_get(s[1], i) == (i >= first));
        EGT_CHECK(i == first - 1 || i == 1 || i == first || id[i] == id[i - 1] + 1); /* pieces of a document */
    }
    /* Cut at its ends, what follows still comes behind. */
    const bool same = id[1] / 1000 == id[first] / 1000;
    *elsewhere = (int)eg_item(s[2]);
    EGT_CHECK(*elsewhere ? !same : same && id[first] > id[first - 2]);
}

EGT(pairs_of_pieces)
{
    eg_tensor *t[3];
    texts(t);
    eg_dataset *d = eg_sentence_pairs_new(t[0], t[1], t[2], CLS, SEP, .length = 20, .seed = 3);
    int64_t counts[2] = {0, 0}, passes = 60, shorter = 0;
    for (int e = 0; e < passes; e++) {
        EG_FOR_EACH(s, d) {
            int elsewhere;
            check_pair(s, 20, &elsewhere);
            counts[elsewhere]++;
            shorter += eg_numel(s[0]) < 12;
        }
        EGT_OK(eg_dataset_status(d));
    }
    EGT_CHECK(counts[0] > 300 && counts[1] > counts[0]); /* those of one sentence are all with something else */
    EGT_CHECK(shorter > 100);
    eg_dataset_free(d);
}

/* What comes behind a place is the same, however one came there. */
EGT(pairs_can_be_taken_up)
{
    eg_tensor *t[3];
    texts(t);
    eg_dataset *d = eg_sentence_pairs_new(t[0], t[1], t[2], CLS, SEP, .length = 16, .seed = 9);
    eg_dataset *again = eg_sentence_pairs_new(t[0], t[1], t[2], CLS, SEP, .length = 16, .seed = 9);
    eg_tensor *seen[2][64];
    int n[2] = {0, 0};
    for (int e = 0; e < 2; e++) {
        EG_FOR_EACH(s, d) {
            EGT_CHECK(n[e] < 64);
            seen[e][n[e]++] = eg_keep(s[0]);
        }
    }
    EGT_CHECK(n[0] > 12 && n[1] > 12);
    for (int e = 0; e < 2; e++) {
        for (int from = 0; from < n[e]; from += 5) {
            int k = from;
            EGT_OK(eg_dataset_seek(again, (eg_dataset_position){e, from}));
            EG_FOR_EACH(s, again) {
                EGT_CHECK(k < n[e] && egt_same_bits(s[0], seen[e][k]));
                k++;
            }
            EGT_EQ(k, n[e]);
        }
    }
    EGT_CHECK(n[0] != n[1] || !egt_same_bits(seen[0][0], seen[1][0]) || !egt_same_bits(seen[0][1], seen[1][1]));
    for (int e = 0; e < 2; e++) {
        for (int k = 0; k < n[e]; k++) {
            eg_release(seen[e][k]);
        }
    }
    eg_dataset_free(d);
    eg_dataset_free(again);
}

static bool walk_pairs(void *user)
{
    eg_tensor **t = user;
    eg_dataset *d = eg_sentence_pairs_new(t[0], t[1], t[2], CLS, SEP);
    const bool good = d && walk(d) >= DOCUMENTS && !eg_dataset_status(d);
    eg_dataset_free(d);
    return good;
}

EGT(pairs_refuse)
{
    eg_tensor *t[3], *one = eg_ones(EG_SHAPE(1), EG_I64);
    texts(t);
    eg_dataset *d = eg_sentence_pairs_new(one, one, one, CLS, SEP); /* with itself, there being no other */
    EGT_EQ(walk(d), 1);
    eg_dataset_free(d);
    EGT_REFUSED(eg_sentence_pairs_new(t[0], t[2], t[2], CLS, SEP), EG_EINVAL, "sentences are of");
    EGT_REFUSED(eg_sentence_pairs_new(t[0], t[1], t[1], CLS, SEP), EG_EINVAL, "documents[");
    EGT_REFUSED(eg_sentence_pairs_new(one, eg_zeros(EG_SHAPE(1), EG_I64), one, CLS, SEP), EG_EINVAL,
                "sentences[0] is 0");
    EGT_REFUSED(eg_sentence_pairs_new(one, one, eg_ones(EG_SHAPE(0), EG_I64), CLS, SEP), EG_EINVAL, "0 documents");
    EGT_REFUSED(eg_sentence_pairs_new(one, one, one, CLS, SEP, .length = 4), EG_EINVAL, "length is 4");
    EGT_REFUSED(eg_sentence_pairs_new(one, one, one, CLS, SEP, .short_share = 2), EG_EINVAL, "short_share is 2");
    EGT_REFUSED(eg_sentence_pairs_new(eg_ones(EG_SHAPE(1), EG_F32), one, one, CLS, SEP), EG_ESHAPE, "ids are f32");
    EGT_REFUSED(eg_sentence_pairs_new(one, NULL, one, CLS, SEP), EG_EINVAL, "sentences");
    EGT_CHECK(egt_fail_allocations(walk_pairs, t) > 0);
}
