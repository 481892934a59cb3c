/* match.c - n-grams, common subsequences and edits. */
#include "run/record/language/match.h"

#include <stdlib.h>

#include "lib/core/memory.h"

int64_t eg__count_grams(const eg__sequence *s, int length)
{
    return eg__max(eg__ids_count(s) - length + 1, 0);
}

/* n-grams are words of the table: of another length, another word. */
static bool count_own(eg__words *grams, const eg__sequence *s, int from, int to)
{
    bool ok = true;
    for (int length = from; length <= to; length++) {
        for (int64_t i = 0, n = eg__count_grams(s, length); i < n && ok; i++) {
            const int64_t k = eg__words_add(grams, eg__ids(s) + i, length * (int64_t)sizeof(uint32_t));
            ok = k >= 0;
            if (ok) {
                grams->word[k].count++;
            }
        }
    }
    return ok;
}

/* most: of each n-gram, of all references so far; now: of this one. */
static void count_reference(const eg__words *grams, const eg__sequence *s, int from, int to, int64_t *most,
                            int64_t *now)
{
    for (uint32_t k = 0; k < grams->n; k++) {
        now[k] = 0;
    }
    for (int length = from; length <= to; length++) {
        for (int64_t i = 0, n = eg__count_grams(s, length); i < n; i++) {
            const int64_t k = eg__words_find(grams, eg__ids(s) + i, length * (int64_t)sizeof(uint32_t));
            if (k >= 0) {
                most[k] = eg__max(most[k], ++now[k]);
            }
        }
    }
}

eg_status eg__match_grams(const char *op, const eg__sequence *s, const eg__sequence *references, int n, int from,
                          int to, double *right)
{
    eg__words grams = {0};
    bool ok = count_own(&grams, s, from, to);
    int64_t *most = ok ? eg__malloc((2 * (size_t)grams.n + 1) * sizeof *most) : NULL;
    for (int length = from; length <= to; length++) {
        right[length - from] = 0;
    }
    if (most) {
        memset(most, 0, (2 * (size_t)grams.n + 1) * sizeof *most);
        for (int i = 0; i < n; i++) {
            count_reference(&grams, &references[i], from, to, most, most + grams.n);
        }
        for (uint32_t k = 0; k < grams.n; k++) {
            const eg__word *x = &grams.word[k];
            right[(int)(x->bytes / sizeof(uint32_t)) - from] += (double)eg__min(x->count, most[k]);
        }
    }
    const bool done = most != NULL;
    free(most);
    eg__words_free(&grams);
    return done ? EG_OK : eg__no_memory(op, eg__ids_count(s));
}

/* The last cell of a table whose row i, column j is about the first i and j of a and b. Only a row of it is kept; the
 * first row and column are `step` times their number. */
typedef uint32_t cell_fn(bool same, uint32_t corner, uint32_t above, uint32_t left);

static int64_t last_cell(const char *op, const eg__sequence *a, const eg__sequence *b, uint32_t step, cell_fn *cell)
{
    const int64_t n = eg__ids_count(a), m = eg__ids_count(b);
    uint32_t *row = eg__malloc(((size_t)m + 1) * sizeof *row);
    if (!row) {
        return eg__no_memory(op, m), -1;
    }
    for (int64_t j = 0; j <= m; j++) {
        row[j] = (uint32_t)j * step;
    }
    for (int64_t i = 0; i < n; i++) {
        uint32_t corner = row[0];
        row[0] = (uint32_t)(i + 1) * step;
        for (int64_t j = 0; j < m; j++) {
            const uint32_t above = row[j + 1];
            row[j + 1] = cell(eg__ids(a)[i] == eg__ids(b)[j], corner, above, row[j]);
            corner = above;
        }
    }
    const int64_t last = row[m];
    free(row);
    return last;
}

static uint32_t common(bool same, uint32_t corner, uint32_t above, uint32_t left)
{
    return same ? corner + 1 : above > left ? above : left;
}

static uint32_t edits(bool same, uint32_t corner, uint32_t above, uint32_t left)
{
    const uint32_t beside = (above < left ? above : left) + 1, changed = corner + !same;
    return changed < beside ? changed : beside;
}

int64_t eg__match_common(const char *op, const eg__sequence *a, const eg__sequence *b)
{
    return last_cell(op, a, b, 0, common);
}

int64_t eg__match_edits(const char *op, const eg__sequence *a, const eg__sequence *b)
{
    return last_cell(op, a, b, 1, edits);
}
