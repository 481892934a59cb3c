/* unigram.c - the likeliest way to write a piece in tokens, each of which has a probability (Kudo 2018). */
#include "data/tokens/tokens.h"

/* SentencePiece adds in single precision, `tokenizers` in double; ties hang on it. */
static double sum_of(const eg__model *m, double a, double b)
{
    return m->single ? (double)((float)a + (float)b) : a + b;
}

static void offer(eg__encoder *w, const eg__model *m, int64_t begin, int64_t end, int32_t id, double score)
{
    const double sum = sum_of(m, w->cells.p[begin].score, score);
    eg__cell *to = &w->cells.p[end];
    if (to->starts < 0 || sum > to->score) {
        to->starts = (int32_t)begin;
        to->score = sum;
        to->id = id;
    }
}

/* All tokens that begin at a place that is reached. */
static void offer_from(eg__encoder *w, const eg__model *m, const uint8_t *s, int64_t n, int64_t at)
{
    int bytes;
    eg__character(s + at, &bytes);
    bool single = false;
    int32_t node = 0;
    for (int64_t k = at; k < n && (node = eg__trie_step(&m->trie, node, s[k])) >= 0; k++) {
        const int32_t id = m->trie.node[node].value;
        const uint8_t type = id >= 0 && m->type ? m->type[id] : EG__NORMAL_PIECE;
        if (id < 0 || (type != EG__NORMAL_PIECE && type != EG__USER_PIECE)) {
            continue;
        }
        const int64_t length = k + 1 - at;
        offer(w, m, at, k + 1, id, type == EG__USER_PIECE ? (double)length * m->max_score - 0.1 : m->score[id]);
        single |= length == bytes;
    }
    if (!single) {
        offer(w, m, at, at + bytes, m->unknown, m->unknown_score);
    }
}

void eg__model_unigram(eg__encoder *w, const eg__model *m, const uint8_t *s, int64_t n)
{
    w->cells.n = 0;
    if (!EG__ROOM(w, w->cells, n + 1)) {
        return;
    }
    w->cells.n = (uint32_t)n + 1;
    for (int64_t i = 0; i <= n; i++) {
        w->cells.p[i] = (eg__cell){.starts = -1};
    }
    for (int64_t at = 0, bytes; at < n; at += bytes) {
        int k;
        eg__character(s + at, &k);
        bytes = k;
        offer_from(w, m, s, n, at);
    }
    /* from the end back, then the other way */
    int64_t next = -1;
    for (int64_t at = n; at >= 0; at = at ? w->cells.p[at].starts : -1) {
        w->cells.p[at].behind = (int32_t)next;
        next = at;
    }
    bool after_unknown = false;
    for (int64_t at = 0; at < n && !w->st; at = w->cells.p[at].behind) {
        int64_t end = w->cells.p[at].behind;
        const int32_t id = w->cells.p[end].id;
        bool bytes = false;
        if (id == m->unknown && m->fallback) {
            while (m->fuse && !m->single && end < n && w->cells.p[w->cells.p[end].behind].id == id) {
                end = w->cells.p[end].behind;
                w->cells.p[at].behind = (int32_t)end;
            }
            bytes = eg__trie_find(&m->trie, s + at, end - at) < 0 && eg__has_bytes(m, s + at, end - at);
        }
        if (bytes) {
            for (int64_t k = at; k < end; k++) {
                eg__emit(w, m->byte[s[k]], at, m->single && k + 1 < end ? at : end);
            }
        } else if (id == m->unknown && m->fuse && after_unknown) {
            w->tokens.p[w->tokens.n - 1].end = (uint32_t)end;
        } else if (id < 0) {
            eg__encoder_fail(w, EG_EINVAL, "\"%.*s\" is not known, and there is no token for what is unknown",
                             (int)(end - at), (const char *)s + at);
        } else {
            eg__emit(w, id, at, end);
        }
        after_unknown = id == m->unknown && !bytes;
    }
}
