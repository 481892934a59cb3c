/* bpe.c - byte-pair encoding: the pair that was learned first, or whose joint piece scores best, becomes one, again and
 * again. */
#include "data/tokens/tokens.h"

/* ---- merges --------------------------------------------------------------------------------------- */

static uint32_t slot_of(uint64_t pair, uint32_t slots)
{
    return (uint32_t)((pair * 0x9e3779b97f4a7c15u) >> 32) & (slots - 1);
}

const eg__merge *eg__merge_of(const eg__model *m, int32_t left, int32_t right)
{
    const uint64_t pair = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    if (!m->slots) {
        return NULL;
    }
    for (uint32_t i = slot_of(pair, m->slots);; i = (i + 1) & (m->slots - 1)) {
        const eg__merge *x = &m->merge[i];
        if (x->rank < 0) {
            return NULL;
        }
        if (x->pair == pair) {
            return x;
        }
    }
}

static void put(eg__merge *to, uint32_t slots, const eg__merge *x)
{
    uint32_t i = slot_of(x->pair, slots);
    while (to[i].rank >= 0 && to[i].pair != x->pair) {
        i = (i + 1) & (slots - 1);
    }
    to[i] = *x;
}

eg_status eg__merges_put(eg__model *m, const char *op, int32_t left, int32_t right, int32_t rank, int32_t id)
{
    if (2 * (m->merges + 1) > m->slots) {
        const uint32_t slots = m->slots ? 2 * m->slots : 1024;
        eg__merge *grown = eg__counted_alloc(slots * sizeof *grown);
        if (!grown) {
            return eg__no_memory(op, (int64_t)(slots * sizeof *grown));
        }
        for (uint32_t i = 0; i < slots; i++) {
            grown[i] = (eg__merge){0, -1, -1};
        }
        for (uint32_t i = 0; i < m->slots; i++) {
            if (m->merge[i].rank >= 0) {
                put(grown, slots, &m->merge[i]);
            }
        }
        eg__counted_free(m->merge);
        m->merge = grown;
        m->slots = slots;
    }
    put(m->merge, m->slots, &(eg__merge){(uint64_t)(uint32_t)left << 32 | (uint32_t)right, rank, id});
    m->merges++;
    return EG_OK;
}

/* ---- a heap of pairs ------------------------------------------------------------------------------- */

/* The least of key << 32 | place first. */
static void push(eg__encoder *w, uint64_t x)
{
    if (!EG__ROOM(w, w->heap, 1)) {
        return;
    }
    uint32_t i = w->heap.n++;
    for (; i && w->heap.p[(i - 1) / 2] > x; i = (i - 1) / 2) {
        w->heap.p[i] = w->heap.p[(i - 1) / 2];
    }
    w->heap.p[i] = x;
}

static uint64_t pop(eg__encoder *w)
{
    uint64_t *h = w->heap.p, least = h[0], x = h[--w->heap.n];
    uint32_t i = 0;
    for (uint32_t k; (k = 2 * i + 1) < w->heap.n; i = k) {
        k += k + 1 < w->heap.n && h[k + 1] < h[k];
        if (h[k] >= x) {
            break;
        }
        h[i] = h[k];
    }
    h[i] = x;
    return least;
}

/* ---- joining --------------------------------------------------------------------------------------- */

enum { FEW = 24 };

/* What a pair of neighbours would become: how soon, the least first, and what. */
typedef struct joint {
    uint32_t key;
    int32_t id;
} joint;

/* Scores in rising order of keys: the largest float first. */
static uint32_t key_of(double score)
{
    union {
        float f;
        uint32_t u;
    } x = {.f = (float)-score};
    return x.u & 0x80000000u ? ~x.u : x.u | 0x80000000u;
}

static bool joint_of(const eg__model *m, const uint8_t *s, const eg__cell *a, const eg__cell *b, joint *j)
{
    if (m->scored) {
        if ((a->id >= 0 && m->type[a->id] == EG__USER_PIECE) || (b->id >= 0 && m->type[b->id] == EG__USER_PIECE)) {
            return false;
        }
        j->id = eg__trie_find(&m->trie, s + a->begin, a->bytes + b->bytes);
        if (j->id < 0 || m->type[j->id] != EG__NORMAL_PIECE) {
            return false;
        }
        j->key = key_of(m->score[j->id]);
        return true;
    }
    const eg__merge *x = a->id >= 0 && b->id >= 0 ? eg__merge_of(m, a->id, b->id) : NULL;
    if (!x) {
        return false;
    }
    *j = (joint){(uint32_t)x->rank, x->id};
    return true;
}

static void offer(eg__encoder *w, const eg__model *m, const uint8_t *s, int32_t left)
{
    const eg__cell *c = w->cells.p;
    joint j;
    if (left >= 0 && c[left].behind >= 0 && joint_of(m, s, &c[left], &c[c[left].behind], &j)) {
        push(w, (uint64_t)j.key << 32 | (uint32_t)left);
    }
}

static void join_all(eg__encoder *w, const eg__model *m, const uint8_t *s)
{
    w->heap.n = 0;
    for (uint32_t i = 0; i + 1 < w->cells.n; i++) {
        offer(w, m, s, (int32_t)i);
    }
    while (w->heap.n && !w->st) {
        const uint64_t x = pop(w);
        const int32_t left = (int32_t)(uint32_t)x;
        eg__cell *c = w->cells.p, *a = &c[left];
        joint j;
        /* what was pushed may be of a pair that is no more */
        if (a->bytes == 0 || a->behind < 0 || !joint_of(m, s, a, &c[a->behind], &j) || j.key != (uint32_t)(x >> 32)) {
            continue;
        }
        eg__cell *b = &c[a->behind];
        a->id = j.id;
        a->bytes += b->bytes;
        b->bytes = 0;
        a->behind = b->behind;
        if (a->behind >= 0) {
            c[a->behind].before = left;
        }
        offer(w, m, s, a->before);
        offer(w, m, s, left);
    }
}

/* The same for few symbols, where looking through all of them is the quicker way. */
static void join_few(eg__encoder *w, const eg__model *m, const uint8_t *s)
{
    eg__cell *c = w->cells.p;
    uint32_t n = w->cells.n;
    joint next[FEW];
    bool may[FEW];
    for (uint32_t i = 0; i + 1 < n; i++) {
        may[i] = joint_of(m, s, &c[i], &c[i + 1], &next[i]);
    }
    while (n > 1) {
        int32_t best = -1;
        for (uint32_t i = 0; i + 1 < n; i++) {
            if (may[i] && (best < 0 || next[i].key < next[best].key)) {
                best = (int32_t)i;
            }
        }
        if (best < 0) {
            break;
        }
        c[best].id = next[best].id;
        c[best].bytes += c[best + 1].bytes;
        const size_t left = n - 2 - (uint32_t)best;
        memmove(&c[best + 1], &c[best + 2], left * sizeof *c);
        if (left) {
            memmove(&next[best + 1], &next[best + 2], (left - 1) * sizeof *next);
            memmove(&may[best + 1], &may[best + 2], (left - 1) * sizeof *may);
        }
        n--;
        if ((uint32_t)best + 1 < n) {
            may[best] = joint_of(m, s, &c[best], &c[best + 1], &next[best]);
        }
        if (best > 0) {
            may[best - 1] = joint_of(m, s, &c[best - 1], &c[best], &next[best - 1]);
        }
    }
    w->cells.n = n;
}

static void join(eg__encoder *w, const eg__model *m, const uint8_t *s)
{
    if (w->st) {
        return;
    }
    if (w->cells.n <= FEW) {
        join_few(w, m, s);
    } else {
        join_all(w, m, s);
    }
}

static void cell(eg__encoder *w, int64_t begin, int64_t bytes, int32_t id)
{
    if (EG__ROOM(w, w->cells, 1)) {
        const int32_t i = (int32_t)w->cells.n++;
        w->cells.p[i] =
            (eg__cell){.begin = (uint32_t)begin, .bytes = (uint32_t)bytes, .before = i - 1, .behind = -1, .id = id};
        if (i) {
            w->cells.p[i - 1].behind = i;
        }
    }
}

/* Bytes that are no token's, as <0x..> each; the last of them stands for all. */
static void emit_bytes(eg__encoder *w, const eg__model *m, const uint8_t *s, int64_t begin, int64_t bytes)
{
    for (int64_t k = 0; k < bytes; k++) {
        eg__emit(w, m->byte[s[begin + k]], begin, k + 1 < bytes ? begin : begin + bytes);
    }
}

/* The token that these bytes are, all of them. */
static int32_t bytes_find(const eg__model *m, const uint8_t *s, int64_t n)
{
    int32_t node = 0;
    for (int64_t i = 0; i < n && node >= 0; i++) {
        uint8_t c[4];
        node = eg__trie_walk(&m->trie, node, c, eg__put_character(c, eg__byte_character(s[i])));
    }
    return node > 0 ? m->trie.node[node].value : -1;
}

/* Bytes of the longest symbol of the user's that begins here, 0: none does. */
static int64_t user_piece(const eg__model *m, const uint8_t *s, int64_t n)
{
    int64_t longest = 0;
    int32_t node = 0;
    for (int64_t k = 0; m->users && k < n && (node = eg__trie_step(&m->trie, node, s[k])) >= 0; k++) {
        const int32_t id = m->trie.node[node].value;
        longest = id >= 0 && m->type[id] == EG__USER_PIECE ? k + 1 : longest;
    }
    return longest;
}

/* ---- of bytes, and of characters --------------------------------------------------------------------- */

/* The id of a character, written with what goes before what continues a word and behind what ends one. */
static int32_t character_id(const eg__model *m, const uint8_t *c, int64_t bytes, bool first, bool last)
{
    int32_t node = 0;
    if (!first && m->prefix.n) {
        node = eg__trie_walk(&m->trie, node, m->prefix.s, m->prefix.n);
    }
    node = node >= 0 ? eg__trie_walk(&m->trie, node, c, bytes) : -1;
    if (node >= 0 && last && m->suffix.n) {
        node = eg__trie_walk(&m->trie, node, m->suffix.s, m->suffix.n);
    }
    return node >= 0 ? m->trie.node[node].value : -1;
}

bool eg__has_bytes(const eg__model *m, const uint8_t *s, int64_t n)
{
    bool all = m->fallback;
    for (int64_t i = 0; i < n && all; i++) {
        all = m->byte[s[i]] >= 0;
    }
    return all;
}

/* Cells are stored in the order in which `tokenizers` adds them: unknown characters behind those for
 * which there are tokens of bytes. */
static void begin_cells(eg__encoder *w, const eg__model *m, const uint8_t *s, int64_t n)
{
    const bool around = m->prefix.n || m->suffix.n;
    int64_t at = 0, unknown = 0;
    for (int64_t i = 0, bytes = 1; i < n; i += bytes) {
        uint8_t c[4];
        int k = 0;
        if (!m->bytes) {
            eg__character(s + i, &k);
            bytes = k;
        } else if (around) {
            k = eg__put_character(c, eg__byte_character(s[i]));
        }
        const int32_t id =
            m->bytes && !around ? m->byte[s[i]] : character_id(m, m->bytes ? c : s + i, k, i == 0, i + bytes >= n);
        const bool by_bytes = id < 0 && !m->bytes && eg__has_bytes(m, s + i, bytes);
        if (unknown && (id >= 0 || (!by_bytes && !m->fuse))) {
            cell(w, at, unknown, m->unknown);
            at += unknown;
            unknown = 0;
        }
        for (int64_t b = 0; b < bytes && by_bytes; b++) {
            cell(w, at++, 1, m->byte[s[i + b]]);
        }
        if (id >= 0) {
            const int64_t wide = m->loses ? eg__utf8_bytes(eg__byte_character(s[i])) : bytes;
            cell(w, at, wide, id);
            at += wide;
        } else if (!by_bytes && m->unknown >= 0) {
            unknown += bytes;
        }
    }
    if (unknown) {
        cell(w, at, unknown, m->unknown);
    }
}

/* Bytes without a token are left out, and later tokens move to their places, counted in the bytes of the characters by
 * which ByteLevel writes bytes, as in `tokenizers`: from there to places in the piece. */
static void places_of_bytes(eg__encoder *w, const uint8_t *s, int64_t n, uint32_t from)
{
    int64_t at = 0; /* where byte i is written */
    uint32_t i = 0;
    for (uint32_t k = from; k < w->tokens.n; k++) {
        eg__token *x = &w->tokens.p[k];
        const int64_t last = x->end - 1;
        int64_t wide;
        while (i < n && at + (wide = eg__utf8_bytes(eg__byte_character(s[i]))) <= x->begin) {
            at += wide;
            i++;
        }
        x->begin = i;
        while (i < n && at + (wide = eg__utf8_bytes(eg__byte_character(s[i]))) <= last) {
            at += wide;
            i++;
        }
        x->end = i < n ? i + 1 : (uint32_t)n;
    }
}

void eg__model_bpe(eg__encoder *w, const eg__model *m, const uint8_t *s, int64_t n)
{
    if (m->whole) {
        const int32_t id = m->bytes ? bytes_find(m, s, n) : eg__trie_find(&m->trie, s, n);
        if (id >= 0) {
            eg__emit(w, id, 0, n);
            return;
        }
    }
    w->cells.n = 0;
    begin_cells(w, m, s, n);
    join(w, m, s);
    const uint32_t from = w->tokens.n;
    for (uint32_t i = 0; i < w->cells.n && !w->st; i++) {
        const eg__cell *c = &w->cells.p[i];
        if (c->bytes) {
            eg__emit(w, c->id, c->begin, c->begin + c->bytes);
        }
    }
    if (m->loses) {
        places_of_bytes(w, s, n, from);
    }
}

/* ---- SentencePiece's ----------------------------------------------------------------------------------- */

void eg__model_bpe_scored(eg__encoder *w, const eg__model *m, const uint8_t *s, int64_t n)
{
    bool after_unknown = false;
    w->cells.n = 0;
    for (int64_t i = 0, bytes; i < n; i += bytes) {
        const int64_t user = user_piece(m, s + i, n - i);
        int k;
        eg__character(s + i, &k);
        bytes = user ? user : k;
        cell(w, i, bytes, eg__trie_find(&m->trie, s + i, bytes));
    }
    join(w, m, s);
    for (uint32_t i = 0; i < w->cells.n && !w->st; i++) {
        const eg__cell c = w->cells.p[i];
        if (!c.bytes) {
            continue;
        }
        const int32_t id = eg__trie_find(&m->trie, s + c.begin, c.bytes);
        const bool known = id >= 0 && (m->type[id] == EG__NORMAL_PIECE || m->type[id] == EG__USER_PIECE);
        if (known) {
            eg__emit(w, id, c.begin, c.begin + c.bytes);
        } else if (m->fallback) {
            emit_bytes(w, m, s, c.begin, c.bytes);
        } else if (after_unknown) {
            w->tokens.p[w->tokens.n - 1].end = c.begin + c.bytes;
        } else {
            eg__emit(w, m->unknown, c.begin, c.begin + c.bytes);
        }
        after_unknown = !known && !m->fallback;
    }
}
