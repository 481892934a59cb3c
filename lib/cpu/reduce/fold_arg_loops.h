/* fold_arg_loops.h - the search for the place of the largest or smallest element, for an element
 * type T; fold_arg.c includes it per type, with FN to name the functions, FN(type), the dtype, and
 * LOAD(v), an element as it is compared. WORD is the word's field for its value; PLACE an integer
 * as wide as T, so that both go through the same lanes. `lowest` is a constant. */

/* Where in a row `best` is, or the first NaN; it is there. Whole groups are passed over without a
 * branch for each element. */
static int64_t FN(find)(const eg__tile *t, const T best)
{
    const char *x = t->x;
    int64_t i = 0;
    for (; t->step == sizeof(T) && i + GROUP <= t->n; i += GROUP) {
        int found = 0;
        for (int l = 0; l < GROUP; l++) {
            const T v = LOAD(((const T *)x)[i + l]);
            found |= (v == best) | NAN_IN(v);
        }
        if (found) {
            break;
        }
    }
    for (;; i++) {
        const T v = LOAD(*(const T *)(x + i * t->step));
        if ((v == best) | NAN_IN(v)) {
            return i;
        }
    }
}

/* The extreme of a stretch first, which is fast, then its place, only when it is a new one. */
static EG__INLINE void FN(row)(const eg__tile *t, bool lowest, eg__word *w)
{
    const eg__fold *f = lowest ? &ISA(eg__fold_min)[FN(type)] : &ISA(eg__fold_max)[FN(type)];
    for (int64_t i = 0; i < t->n; i += STRETCH) {
        eg__tile part = *t;
        eg__word best = f->start[0];
        part.x = t->x + i * t->step;
        part.n = eg__min(STRETCH, t->n - i);
        f->row(&part, &best);
        if (BEATEN(w[0].WORD, best.WORD, lowest)) {
            w[0] = best;
            w[1].i = t->first + i + FN(find)(&part, (T)best.WORD);
        }
    }
}

static void FN(max_row)(const eg__tile *t, eg__word *w)
{
    FN(row)(t, false, w);
}

static void FN(min_row)(const eg__tile *t, eg__word *w)
{
    FN(row)(t, true, w);
}

/* Columns lie `across` bytes apart. */
static EG__INLINE void FN(columns_across)(const eg__tile *t, int64_t across, bool lowest, eg__word *w)
{
    _Alignas(64) T best[COLS];
    _Alignas(64) PLACE place[COLS];
    const int64_t cols = t->cols, step = t->step;
    for (int64_t r = 0; r < t->n; r += STRETCH) {
        const char *x = t->x + r * step;
        const int k = (int)eg__min(STRETCH, t->n - r);
        for (int64_t c = 0; c < cols; c++) {
            best[c] = LOAD(*(const T *)(x + c * across));
            place[c] = 0;
        }
        for (int j = 1; j < k; j++) {
            const char *e = x + j * step;
            for (int64_t c = 0; c < cols; c++) {
                const T v = LOAD(*(const T *)(e + c * across)), b = best[c];
                best[c] = BEATEN(b, v, lowest) ? v : b;
                place[c] = BEATEN(b, v, lowest) ? (PLACE)j : place[c];
            }
        }
        for (int64_t c = 0; c < cols; c++) {
            if (BEATEN(w[c].WORD, best[c], lowest)) {
                w[c].WORD = best[c];
                w[cols + c].i = t->first + r + (int64_t)place[c];
            }
        }
    }
}

static EG__INLINE void FN(columns)(const eg__tile *t, bool lowest, eg__word *w)
{
    if (t->across == sizeof(T)) {
        FN(columns_across)(t, sizeof(T), lowest, w);
    } else {
        FN(columns_across)(t, t->across, lowest, w);
    }
}

static void FN(max_columns)(const eg__tile *t, eg__word *w)
{
    FN(columns)(t, false, w);
}

static void FN(min_columns)(const eg__tile *t, eg__word *w)
{
    FN(columns)(t, true, w);
}
