/* models.c - pieces to tokens: whole words, WordPiece, subtokens of tensor2tensor; and what was met lately. */
#include "data/tokens/tokens.h"

void eg__model_free(eg__model *m)
{
    eg__trie_free(&m->trie);
    eg__counted_free(m->prefix.s);
    eg__counted_free(m->suffix.s);
    eg__counted_free(m->unknown_text.s);
    eg__counted_free(m->merge);
    eg__counted_free(m->score);
    eg__counted_free(m->type);
    *m = (eg__model){0};
}

/* ---- what was met lately -------------------------------------------------------------------------- */

/* Pieces of up to MEMO_BYTES and what became of them, forgotten all at once when there is no more room. */
enum { MEMO_SLOTS = 1 << 14, MEMO_WORDS = 1 << 19, MEMO_BYTES = 48, MEMO_TOKENS = 24 };

typedef struct entry {
    uint32_t hash;
    uint16_t bytes, tokens; /* behind it tokens, three words each, and the bytes */
} entry;

struct eg__memo {
    uint32_t used;
    uint32_t slot[MEMO_SLOTS]; /* where in `words`, from 1; 0: nowhere */
    uint32_t words[MEMO_WORDS];
};

void eg__memo_free(struct eg__memo *memo)
{
    eg__counted_free(memo);
}

static uint32_t hash_of(const uint8_t *s, int64_t n)
{
    uint64_t h = 0x9e3779b97f4a7c15u ^ (uint64_t)n;
    while (n >= 8) {
        uint64_t x;
        memcpy(&x, s, 8);
        h = (h ^ x) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
        s += 8;
        n -= 8;
    }
    uint64_t x = 0;
    for (int64_t i = 0; i < n; i++) {
        x = x << 8 | s[i];
    }
    h = (h ^ x) * 0xff51afd7ed558ccdu;
    return (uint32_t)(h >> 32);
}

static bool recall(eg__encoder *w, const uint8_t *s, int64_t n, uint32_t hash)
{
    const uint32_t at = w->memo->slot[hash % MEMO_SLOTS];
    const entry *e = at ? (const entry *)&w->memo->words[at] : NULL;
    const uint32_t *tokens = e ? (const uint32_t *)(e + 1) : NULL;
    if (!e || e->hash != hash || e->bytes != n || memcmp(tokens + 3 * e->tokens, s, (size_t)n)) {
        return false;
    }
    for (int i = 0; i < e->tokens; i++) {
        eg__emit(w, (int32_t)tokens[3 * i], tokens[3 * i + 1], tokens[3 * i + 2]);
    }
    return true;
}

static void remember(eg__encoder *w, const uint8_t *s, int64_t n, uint32_t hash, uint32_t from)
{
    struct eg__memo *memo = w->memo;
    const uint32_t tokens = w->tokens.n - from;
    const uint32_t words = (uint32_t)(sizeof(entry) / 4) + 3 * tokens + ((uint32_t)n + 3) / 4;
    if (tokens > MEMO_TOKENS || w->st) {
        return;
    }
    if (memo->used + words > MEMO_WORDS) {
        memset(memo->slot, 0, sizeof memo->slot);
        memo->used = 2; /* entries lie at even places, the first behind 0 */
    }
    entry *e = (entry *)&memo->words[memo->used];
    *e = (entry){hash, (uint16_t)n, (uint16_t)tokens};
    uint32_t *to = (uint32_t *)(e + 1);
    for (uint32_t i = 0; i < tokens; i++) {
        const eg__token *x = &w->tokens.p[from + i];
        to[3 * i] = (uint32_t)x->id;
        to[3 * i + 1] = x->begin;
        to[3 * i + 2] = x->end;
    }
    memcpy(to + 3 * tokens, s, (size_t)n);
    memo->slot[hash % MEMO_SLOTS] = memo->used;
    memo->used += words + (words & 1);
}

void eg__model_apply(eg__encoder *w, const eg__model *m, const uint8_t *s, int64_t n)
{
    if (n > MEMO_BYTES || m->kind == EG__WORDS || m->kind == EG__UNIGRAM) {
        m->run(w, m, s, n);
        return;
    }
    if (!w->memo) {
        w->memo = eg__counted_alloc(sizeof *w->memo);
        if (!w->memo) {
            eg__encoder_fail(w, EG_ENOMEM, "%zu bytes", sizeof *w->memo);
            return;
        }
        memset(w->memo->slot, 0, sizeof w->memo->slot);
        w->memo->used = 2;
    }
    const uint32_t hash = hash_of(s, n), from = w->tokens.n;
    if (!recall(w, s, n, hash)) {
        m->run(w, m, s, n);
        remember(w, s, n, hash, from);
    }
}

/* ---- whole words ---------------------------------------------------------------------------------- */

static void unknown(eg__encoder *w, const eg__model *m, const uint8_t *s, int64_t n)
{
    if (m->unknown >= 0) {
        eg__emit(w, m->unknown, 0, n);
    } else if (!m->silent) {
        eg__encoder_fail(w, EG_EINVAL, "\"%.*s\" is not known, and there is no token for what is unknown",
                         (int)eg__min(n, 60), (const char *)s);
    }
}

void eg__model_words(eg__encoder *w, const eg__model *m, const uint8_t *s, int64_t n)
{
    const int32_t id = eg__trie_find(&m->trie, s, n);
    if (id >= 0) {
        eg__emit(w, id, 0, n);
    } else {
        unknown(w, m, s, n);
    }
}

/* ---- WordPiece ------------------------------------------------------------------------------------- */

static int64_t characters(const uint8_t *s, int64_t n)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        count += (s[i] & 0xc0) != 0x80;
    }
    return count;
}

void eg__model_wordpiece(eg__encoder *w, const eg__model *m, const uint8_t *s, int64_t n)
{
    const uint32_t from = w->tokens.n;
    bool known = n <= m->max_chars || characters(s, n) <= m->max_chars;
    for (int64_t begin = 0, end; begin < n && known && !w->st; begin = end) {
        int32_t node = begin ? m->behind : 0, id = -1;
        end = begin;
        for (int64_t k = begin; k < n && node >= 0 && (node = eg__trie_step(&m->trie, node, s[k])) >= 0; k++) {
            if (m->trie.node[node].value >= 0) {
                id = m->trie.node[node].value;
                end = k + 1;
            }
        }
        known = id >= 0;
        if (known) {
            eg__emit(w, id, begin, end);
        }
    }
    if (!known) {
        w->tokens.n = from;
        unknown(w, m, s, n);
    }
}

/* ---- subtokens ------------------------------------------------------------------------------------- */

/* The piece as the vocabulary has it, "_" behind it; each byte of it knows which of the piece it stands for. */
static void escape(eg__encoder *w, const eg__model *m, const uint8_t *s, int64_t n)
{
    eg__line l = w->other;
    w->other = w->escaped;
    w->other.n = 0;
    for (int64_t i = 0, bytes; i < n; i += bytes) {
        int k;
        const int32_t c = eg__character(s + i, &k);
        const eg__extent at = {(uint32_t)i, (uint32_t)(i + k)};
        bytes = k;
        if (c == '\\' || c == '_') {
            eg__line_put(w, c == '_' ? "\\u" : "\\\\", 2, at);
        } else if (c == '\n' || eg__trie_find(&m->trie, s + i, k) < 0) { /* all of its alphabet are subtokens */
            char code[16];
            eg__line_put(w, code, snprintf(code, sizeof code, "\\%d;", (int)c), at);
        } else {
            eg__line_put(w, s + i, k, at);
        }
    }
    eg__line_put(w, "_", 1, (eg__extent){(uint32_t)n, (uint32_t)n});
    w->escaped = w->other;
    w->other = l;
}

void eg__model_subtokens(eg__encoder *w, const eg__model *m, const uint8_t *s, int64_t n)
{
    escape(w, m, s, n);
    const eg__line *l = &w->escaped;
    for (int64_t begin = 0, end; begin < l->n && !w->st; begin = end) {
        int32_t node = 0, id = -1;
        end = begin;
        for (int64_t k = begin; k < l->n && (node = eg__trie_step(&m->trie, node, l->s[k])) >= 0; k++) {
            if (m->trie.node[node].value >= 0) {
                id = m->trie.node[node].value;
                end = k + 1;
            }
        }
        if (id < 0) {
            eg__encoder_fail(w, EG_EINVAL, "the subtokens lack \"%c\", which is needed to write what they lack",
                             l->s[begin]);
            return;
        }
        eg__emit(w, id, l->at[begin].begin, l->at[end - 1].end);
    }
}
