/* trie.c - a double array, filled from sorted texts. */
#include "data/tokens/trie.h"

#include <stdlib.h>

#include "lib/core/counted.h"

enum { FREE = -1, ROOT_CHECK = -2, SPARE = 256, FIRST = 257, WINDOW = 1024 };

typedef struct build {
    eg__trie *t;
    const eg__trie_key *keys;
    int64_t room;  /* nodes */
    int64_t first; /* no node before it is free, but those that are no child of a base of 1 or more */
} build;

/* Keys [begin, end) have the node's text in common, `depth` bytes. */
typedef struct part {
    int64_t begin, end;
    int32_t node;
    uint32_t depth;
} part;

static int by_bytes(const void *a, const void *b)
{
    const eg__trie_key *x = a, *y = b;
    const uint32_t n = x->bytes < y->bytes ? x->bytes : y->bytes;
    const int sign = n ? memcmp(x->s, y->s, n) : 0;
    return sign                   ? sign
           : x->bytes != y->bytes ? (x->bytes > y->bytes) - (x->bytes < y->bytes)
                                  : (x->value > y->value) - (x->value < y->value);
}

/* Room for nodes below n. */
static bool grow(build *b, int64_t n)
{
    if (n + SPARE <= b->room) {
        return true;
    }
    int64_t room = eg__max(2 * b->room, n + SPARE + 1024);
    eg__trie_node *node = room < INT32_MAX ? eg__counted_alloc((size_t)room * sizeof *node) : NULL;
    if (!node) {
        return false;
    }
    if (b->room) {
        memcpy(node, b->t->node, (size_t)b->room * sizeof *node);
    }
    for (int64_t i = b->room; i < room; i++) {
        node[i] = (eg__trie_node){0, FREE, -1};
    }
    eg__counted_free(b->t->node);
    b->t->node = node;
    b->room = room;
    return true;
}

/* A base at which all these children find a free node; 0: out of memory. An only child takes the first node that is
 * free; several are tried in the last WINDOW nodes alone, so that no file makes the search long. */
static int32_t place(build *b, const uint8_t *byte, int n)
{
    while (n == 1) {
        if (!grow(b, b->first + 256)) {
            return 0;
        }
        if (b->t->node[b->first].check == FREE) {
            return (int32_t)(b->first - byte[0]);
        }
        b->first++;
    }
    for (int64_t at = eg__max(b->first, b->t->size - WINDOW);; at++) {
        if (!grow(b, at + 256)) {
            return 0;
        }
        const int64_t base = at - byte[0];
        int i = 0;
        while (i < n && b->t->node[base + byte[i]].check == FREE) {
            i++;
        }
        if (i == n) {
            return (int32_t)base;
        }
    }
}

/* Gives the node its children, which come onto the stack. */
static bool divide(build *b, part p, part *stack, int64_t *depth)
{
    uint8_t byte[256];
    int64_t from[257];
    int n = 0;
    eg__trie_node *node = &b->t->node[p.node];
    for (bool first = true; p.begin < p.end && b->keys[p.begin].bytes == p.depth; first = false) {
        const int32_t value = b->keys[p.begin++].value;
        node->value = first ? value : node->value;
    }
    for (int64_t i = p.begin; i < p.end; i++) {
        const uint8_t c = b->keys[i].s[p.depth];
        if (!n || byte[n - 1] != c) {
            from[n] = i;
            byte[n++] = c;
        }
    }
    from[n] = p.end;
    const int32_t base = n ? place(b, byte, n) : 1;
    if (!base) {
        return false;
    }
    b->t->node[p.node].base = base;
    for (int i = 0; i < n; i++) {
        b->t->node[base + byte[i]].check = p.node;
        b->t->size = eg__max(b->t->size, base + byte[i] + 1);
    }
    for (int i = n; i-- > 0;) {
        stack[(*depth)++] = (part){from[i], from[i + 1], base + byte[i], p.depth + 1};
    }
    return true;
}

eg_status eg__trie_build(eg__trie *t, const char *op, eg__trie_key *keys, int64_t n)
{
    *t = (eg__trie){.size = 1};
    build b = {.t = t, .keys = keys, .first = FIRST};
    if (n) {
        qsort(keys, (size_t)n, sizeof *keys, by_bytes);
    }
    /* Each part on the stack has a key of its own. */
    part *stack = eg__counted_alloc((size_t)(n + 2) * sizeof *stack);
    bool ok = stack && grow(&b, 256);
    if (ok) {
        int64_t depth = 1;
        t->node[0].check = ROOT_CHECK;
        stack[0] = (part){0, n, 0, 0};
        while (ok && depth) {
            depth--;
            ok = divide(&b, stack[depth], stack, &depth);
        }
    }
    eg__counted_free(stack);
    if (!ok) {
        eg__trie_free(t);
    }
    return ok ? EG_OK : eg__no_memory(op, n * (int64_t)sizeof *t->node);
}

void eg__trie_free(eg__trie *t)
{
    eg__counted_free(t->node);
    *t = (eg__trie){0};
}
