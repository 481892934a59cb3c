/* word_table.c - different words. */
#include "data/text/word_table.h"
#include "lib/core/counted.h"

#include "lib/core/counted.h"

/* FNV-1a. */
static uint32_t hash_of(const uint8_t *s, int64_t bytes)
{
    uint32_t h = 2166136261u;
    for (int64_t i = 0; i < bytes; i++) {
        h = (h ^ s[i]) * 16777619u;
    }
    return h;
}

/* Where the word is or would be. */
static uint32_t place(const eg__words *w, const void *s, int64_t bytes, uint32_t hash)
{
    uint32_t i = (hash ^ hash >> 15) & (w->slots - 1);
    while (w->slot[i]) {
        const eg__word *x = &w->word[w->slot[i] - 1];
        if (x->hash == hash && x->bytes == bytes && !memcmp(w->text.p + x->at, s, (size_t)bytes)) {
            break;
        }
        i = (i + 1) & (w->slots - 1);
    }
    return i;
}

int64_t eg__words_find(const eg__words *w, const void *s, int64_t bytes)
{
    return w->slots ? (int64_t)w->slot[place(w, s, bytes, hash_of(s, bytes))] - 1 : -1;
}

static void fill_slots(eg__words *w)
{
    memset(w->slot, 0, (size_t)w->slots * sizeof *w->slot);
    for (uint32_t i = 0; i < w->n; i++) {
        const eg__word *x = &w->word[i];
        w->slot[place(w, w->text.p + x->at, x->bytes, x->hash)] = i + 1;
    }
}

/* At most half of the slots are taken. */
static bool grow_slots(eg__words *w)
{
    uint32_t slots = w->slots ? 2 * w->slots : 64;
    uint32_t *was = w->slot, *slot = eg__counted_alloc((size_t)slots * sizeof *slot);
    if (!slot) {
        return false;
    }
    w->slot = slot;
    w->slots = slots;
    fill_slots(w);
    eg__counted_free(was);
    return true;
}

int64_t eg__words_add(eg__words *w, const void *s, int64_t bytes)
{
    uint32_t hash = hash_of(s, bytes);
    if (bytes > INT32_MAX || w->n >= UINT32_MAX / 4 || (2 * w->n >= w->slots && !grow_slots(w))) {
        return -1;
    }
    uint32_t i = place(w, s, bytes, hash);
    if (w->slot[i]) {
        return (int64_t)w->slot[i] - 1;
    }
    if ((w->n == w->capacity && !eg__counted_grow(&w->word, &w->capacity, sizeof *w->word)) ||
        !eg__bytes_room(&w->text, bytes + 1)) {
        return -1;
    }
    w->word[w->n] = (eg__word){w->text.n, (uint32_t)bytes, hash, 0};
    eg__bytes_add(&w->text, s, bytes);
    eg__bytes_add(&w->text, "", 1);
    w->slot[i] = ++w->n;
    return (int64_t)w->n - 1;
}

void eg__words_cut(eg__words *w, uint32_t n)
{
    if (n < w->n) {
        w->text.n = w->word[n].at;
        w->n = n;
        fill_slots(w);
    }
}

void eg__words_free(eg__words *w)
{
    eg__bytes_free(&w->text);
    eg__counted_free(w->word);
    eg__counted_free(w->slot);
    *w = (eg__words){0};
}
