/* winograd_sums.c - the sums of winograd_sums.h. */
#include "lib/cpu/conv/winograd_sums.h"

#include "lib/cpu/conv/winograd_tile.h"

enum { LANES = sizeof(vec) / sizeof(float), SQUARE = EG__WINOGRAD_SIDE * EG__WINOGRAD_SIDE };
enum { AT_ONCE = 4, AHEAD = 4 }; /* rows of weights */

/* ---- tiles --------------------------------------------------------------------------------- */

typedef struct place {
    int64_t image, at[2]; /* tile along each axis */
} place;

static place place_of(const eg__winograd *p, int64_t tile)
{
    int64_t row = p->axis[1].tiles, all = p->axis[0].tiles * row;
    return (place){tile / all, {tile % all / row, tile % row}};
}

static void advance(const eg__winograd *p, place *t)
{
    if (++t->at[1] == p->axis[1].tiles) {
        t->at[1] = 0;
        if (++t->at[0] == p->axis[0].tiles) {
            t->at[0] = 0;
            t->image++;
        }
    }
}

/* Where the next vector of a row of panels goes. */
typedef struct cursor {
    float *at;
    int64_t left, width; /* floats of the row in this panel that are left, and all */
    int64_t jump;        /* from their end to the next panel's */
} cursor;

static inline cursor cursor_at(const eg__panels *m, int64_t row, int64_t column)
{
    return (cursor){eg__panel_at(m, 0, row, column), m->width - column % m->width, m->width,
                    (m->cells * m->rows - 1) * m->width};
}

static EG__INLINE void put(cursor *c, const vec *v, const int count, int64_t step)
{
    for (int k = 0; k < count; k++) {
        *(vec *)(c->at + k * step) = v[k];
    }
    c->at += LANES;
    if (!(c->left -= LANES)) {
        c->at += c->jump;
        c->left = c->width;
    }
}

/* The cells one part of a tile reads: where each begins, and -1, or 0 for those outside, which are
 * zeros. */
static EG__INLINE void find_cells(const eg__winograd *p, const float *x, int64_t channels, const place *t, int part,
                                  const float **at, int64_t *inside, const int side)
{
    static const float zeros[16];
    const eg__winograd_axis *v = &p->axis[0], *h = &p->axis[1];
    int64_t row = 2 * t->at[0] * p->read_step + v->read_at[part / p->parts];
    int64_t column = 2 * t->at[1] * p->read_step + h->read_at[part % p->parts];
    int64_t right = p->read_step * channels, down = right * h->from;
    const float *first = x + ((t->image * v->from + row) * h->from + column) * channels;
    bool whole = row >= 0 && row + p->read_step * (side - 1) < v->from && column >= 0 &&
                 column + p->read_step * (side - 1) < h->from;
    for (int a = 0; a < side; a++, row += p->read_step, first += down) {
        for (int b = 0; b < side; b++) {
            int64_t c = column + b * p->read_step;
            bool in = whole || (row >= 0 && row < v->from && c >= 0 && c < h->from);
            at[a * side + b] = in ? first + b * right : zeros;
            inside[a * side + b] = -(int64_t)in;
        }
    }
}

static EG__INLINE void read_tile(const eg__winograd *p, const float *x, int64_t channels, const place *t,
                                 const eg__panels *to, int64_t row, const int taps)
{
    const int side = taps + 1;
    cursor out = cursor_at(to, row, 0);
    for (int part = 0; part < p->parts * p->parts; part++) {
        const float *at[SQUARE];
        int64_t inside[SQUARE];
        find_cells(p, x, channels, t, part, at, inside, side);
        for (int64_t c = 0; c < channels; c += LANES) {
            vec d[SQUARE], v[SQUARE];
            for (int k = 0; k < side * side; k++) {
                d[k] = *(const vec *)(at[k] + (c & inside[k]));
            }
            square_map(cells_map, d, side, v, side, taps);
            put(&out, v, side * side, to->rows * to->width);
        }
    }
}

static EG__INLINE void read_tiles(const eg__winograd_job *d, int64_t begin, int64_t end, const eg__panels *to,
                                  int64_t row, const int taps)
{
    const eg__conv_job *j = d->conv;
    const float *x = (const float *)eg__ptr(j->result == EG__CONV_X ? j->y : j->x);
    place t = place_of(d->plan, begin);
    for (int64_t i = begin; i < end; i++, advance(d->plan, &t)) {
        read_tile(d->plan, x, d->plan->from, &t, to, row + i - begin, taps);
    }
}

void ISA(eg__winograd_read)(const eg__winograd_job *d, int64_t begin, int64_t end, const eg__panels *to, int64_t row)
{
    if (d->plan->taps == 3) {
        read_tiles(d, begin, end, to, row, 3);
    } else {
        read_tiles(d, begin, end, to, row, 2);
    }
}

/* The two by two cells of a phase of a tile: where in the result, NULL outside. */
static void find_made(const eg__winograd *p, float *y, int64_t channels, const place *t, int phase, float **at)
{
    const eg__winograd_axis *v = &p->axis[0], *h = &p->axis[1];
    int q = phase / p->phases, r = phase % p->phases;
    for (int a = 0, k = 0; a < 2; a++) {
        int64_t i = 2 * t->at[0] + a + v->make_at[q], row = i * p->make_step + q;
        for (int b = 0; b < 2; b++, k++) {
            int64_t j = 2 * t->at[1] + b + h->make_at[r], column = j * p->make_step + r;
            bool in = i >= 0 && row < v->to && j >= 0 && column < h->to;
            at[k] = in ? y + ((t->image * v->to + row) * h->to + column) * channels : NULL;
        }
    }
}

/* Columns begin..begin + width - 1 of the products of a tile. */
static EG__INLINE void make_tile(const eg__winograd_job *d, const place *t, const eg__panels *from, int64_t row,
                                 int64_t begin, const int taps)
{
    const int side = taps + 1;
    const eg__conv_job *j = d->conv;
    int64_t channels = d->plan->to, step = from->rows * from->width, o = begin % channels;
    const float *bias = j->bias ? (const float *)eg__ptr(j->bias) + o : NULL;
    const float *products = eg__panel_at(from, 0, row, 0);
    float *at[4];
    eg_tensor *made = j->result == EG__CONV_Y ? j->y : j->x;
    find_made(d->plan, (float *)eg__ptr(made) + o, channels, t, (int)(begin / channels), at);
    for (int64_t c = 0; c < from->width; c += LANES) {
        vec m[SQUARE], y[4], add = {0};
        if (bias) {
            add = *(const vec *)(bias + c);
        }
        for (int k = 0; k < side * side; k++) {
            m[k] = *(const vec *)(products + k * step + c);
        }
        square_map(sums_map, m, side, y, 2, taps);
        for (int k = 0; k < 4; k++) {
            if (at[k]) {
                *(vec *)(at[k] + c) = y[k] + add;
            }
        }
    }
}

static EG__INLINE void make_tiles(const eg__winograd_job *d, int64_t begin, int64_t end, const eg__panels *from,
                                  int64_t row, int64_t column, const int taps)
{
    place t = place_of(d->plan, begin);
    for (int64_t i = begin; i < end; i++, advance(d->plan, &t)) {
        make_tile(d, &t, from, row + i - begin, column, taps);
    }
}

void ISA(eg__winograd_make)(const eg__winograd_job *d, int64_t begin, int64_t end, const eg__panels *from, int64_t row,
                            int64_t column)
{
    if (d->plan->taps == 3) {
        make_tiles(d, begin, end, from, row, column, 3);
    } else {
        make_tiles(d, begin, end, from, row, column, 2);
    }
}

/* The two by two cells of dy of a tile, channels from..from + many - 1, as the gradient of w
 * multiplies them. */
static EG__INLINE void read_back(const eg__winograd_job *d, const place *t, const eg__panels *to, int64_t row,
                                 int64_t from, int64_t many, const int taps)
{
    const int side = taps + 1;
    int64_t channels = d->plan->to;
    cursor out = cursor_at(to, row, 0);
    float *at[4];
    find_made(d->plan, (float *)eg__ptr(d->conv->y) + from, channels, t, 0, at);
    for (int64_t c = 0; c < many; c += LANES) {
        vec y[4], v[SQUARE];
        for (int k = 0; k < 4; k++) {
            y[k] = (vec){0};
            if (at[k]) {
                y[k] = *(const vec *)(at[k] + c);
            }
        }
        square_map(sums_back, y, 2, v, side, taps);
        put(&out, v, side * side, to->rows * to->width);
    }
}

static EG__INLINE void read_backs(const eg__winograd_job *d, int64_t begin, int64_t end, const eg__panels *to,
                                  int64_t row, int64_t column, int64_t many, const int taps)
{
    place t = place_of(d->plan, begin);
    for (int64_t i = begin; i < end; i++, advance(d->plan, &t)) {
        read_back(d, &t, to, row + i - begin, column, many, taps);
    }
}

void ISA(eg__winograd_read_back)(const eg__winograd_job *d, int64_t begin, int64_t end, const eg__panels *to,
                                 int64_t row, int64_t column, int64_t many)
{
    if (d->plan->taps == 3) {
        read_backs(d, begin, end, to, row, column, many, 3);
    } else {
        read_backs(d, begin, end, to, row, column, many, 2);
    }
}

/* ---- weights ------------------------------------------------------------------------------- */

/* Where in w the taps of a part or phase are, for a row of the matrices and LANES columns. */
typedef struct taps_at {
    float *w;
    int64_t lane, row;   /* from lane to lane and row to row */
    int64_t offset[9];   /* of those there are, */
    int place[9], count; /* and which they are */
} taps_at;

static taps_at find_taps(const eg__winograd_job *d, int64_t k, int64_t n)
{
    const eg__winograd *p = d->plan;
    bool data = d->conv->result == EG__CONV_X;
    int64_t s[5], variant = k / p->from + n / p->to, kinds = p->parts * p->phases;
    eg__conv_strides(d->conv->w, s);
    taps_at t = {.lane = s[data ? 1 : 0], .row = s[data ? 0 : 1]};
    t.w = (float *)eg__ptr(d->conv->w) + k % p->from * t.row + n % p->to * t.lane;
    for (int i = 0; i < p->taps * p->taps; i++) {
        int64_t row = p->axis[0].tap[variant / kinds][i / p->taps];
        int64_t column = p->axis[1].tap[variant % kinds][i % p->taps];
        if (row >= 0 && column >= 0) {
            t.place[t.count] = i;
            t.offset[t.count++] = row * s[3] + column * s[4];
        }
    }
    return t;
}

/* [place][lane] */
typedef float some_taps[9][LANES];

/* The places of taps that are not there are left alone. */
static EG__INLINE void take(const taps_at *t, const float *from, some_taps to, const int all)
{
    if (t->count == all) {
        for (int l = 0; l < LANES; l++) {
            const float *w = from + l * t->lane;
            __builtin_prefetch(w + AHEAD * t->row);
            EG__UNROLLED
            for (int i = 0; i < all; i++) {
                to[i][l] = w[t->offset[i]];
            }
        }
        return;
    }
    for (int i = 0; i < t->count; i++) {
        for (int l = 0; l < LANES; l++) {
            to[t->place[i]][l] = from[l * t->lane + t->offset[i]];
        }
    }
}

static EG__INLINE void sums_of_taps(some_taps from, float *u, int64_t step, const int taps)
{
    const int side = taps + 1;
    vec g[9], v[SQUARE];
    memcpy(g, from, sizeof g);
    square_map(taps_map, g, taps, v, side, taps);
    for (int i = 0; i < side * side; i++) {
        *(vec *)(u + i * step) = v[i];
    }
}

/* Rows begin..end-1, of one part. Some are taken before their sums are made: a vector is not read
 * where its lanes have just been written. */
static EG__INLINE void read_rows(const taps_at *t, int64_t count, float *u, int64_t next, int64_t step, const int taps)
{
    some_taps taken[AT_ONCE] = {0};
    const float *w = t->w;
    for (int64_t k = 0; k < count; k += AT_ONCE) {
        int many = (int)eg__min(AT_ONCE, count - k);
        for (int i = 0; i < many; i++, w += t->row) {
            take(t, w, taken[i], taps * taps);
        }
        for (int i = 0; i < many; i++, u += next) {
            sums_of_taps(taken[i], u, step, taps);
        }
    }
}

static EG__INLINE void make_rows(const taps_at *t, int64_t count, const float *u, int64_t next, int64_t step,
                                 int64_t copies, int64_t apart, const int taps)
{
    const int side = taps + 1;
    float *to = t->w;
    for (int64_t k = 0; k < count; k++, u += next, to += t->row) {
        some_taps given;
        vec g[9], m[SQUARE];
        for (int i = 0; i < side * side; i++) {
            m[i] = *(const vec *)(u + i * step);
            for (int64_t c = 1; c < copies; c++) {
                m[i] += *(const vec *)(u + i * step + c * apart);
            }
        }
        square_map(taps_back, m, side, g, taps, taps);
        memcpy(given, g, sizeof given);
        for (int l = 0; l < LANES; l++) {
            float *w = to + l * t->lane;
            for (int i = 0; i < t->count; i++) {
                w[t->offset[i]] = given[t->place[i]][l];
            }
        }
    }
}

/* One way if there are copies, else the other. */
static EG__INLINE void all_taps(const eg__winograd_job *d, int64_t begin, int64_t end, int64_t column, int64_t many,
                                const eg__panels *u, int64_t copies, int64_t apart, const int taps)
{
    int64_t step = u->rows * u->width, from = d->plan->from;
    for (int64_t n = 0; n < many; n += LANES) {
        for (int64_t k = begin; k < end;) {
            int64_t count = eg__min(end, (k / from + 1) * from) - k;
            taps_at t = find_taps(d, k, column + n);
            float *at = eg__panel_at(u, 0, k - begin, n);
            if (copies) {
                make_rows(&t, count, at, u->width, step, copies, apart, taps);
            } else {
                read_rows(&t, count, at, u->width, step, taps);
            }
            k += count;
        }
    }
}

void ISA(eg__winograd_read_taps)(const eg__winograd_job *d, int64_t begin, int64_t end, int64_t column, int64_t many,
                                 const eg__panels *u)
{
    if (d->plan->taps == 3) {
        all_taps(d, begin, end, column, many, u, 0, 0, 3);
    } else {
        all_taps(d, begin, end, column, many, u, 0, 0, 2);
    }
}

void ISA(eg__winograd_make_taps)(const eg__winograd_job *d, int64_t begin, int64_t end, int64_t column, int64_t many,
                                 const eg__panels *u, int64_t copies, int64_t apart)
{
    if (d->plan->taps == 3) {
        all_taps(d, begin, end, column, many, u, copies, apart, 3);
    } else {
        all_taps(d, begin, end, column, many, u, copies, apart, 2);
    }
}
