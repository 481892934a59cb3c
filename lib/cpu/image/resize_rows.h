/* resize_rows.h - the loops of resize.c for one arithmetic type T, with LANE(x) defined. */

/* y = sum of weights times pixels that lie `step` apart, for n results. */
static void LANE(gather)(int64_t n, const int32_t *restrict first, int64_t width, int64_t step,
                         const T *restrict weight, const T *restrict x, T *restrict y)
{
    const T *v = weight + n;
    if (width == 2) {
        for (int64_t i = 0; i < n; i++) {
            T a = x[first[i]], b = x[first[i] + step];
            a = weight[i] != 0 ? weight[i] * a : 0; /* infinity times 0 is no pixel */
            b = v[i] != 0 ? v[i] * b : 0;
            y[i] = a + b;
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        y[i] = weight[i] != 0 ? weight[i] * x[first[i]] : 0;
    }
    for (int64_t k = 1; k < width; k++, v += n) {
        for (int64_t i = 0; i < n; i++) {
            T a = x[first[i] + k * step];
            y[i] += v[i] != 0 ? v[i] * a : 0;
        }
    }
}

/* A sum of rows, four at a time. */
typedef struct LANE(sum) {
    int64_t n;
    T *y;
    const T *row[4];
    T weight[4];
    int count;
    bool begun;
} LANE(sum);

static void LANE(flush)(LANE(sum) * s)
{
    const T *a = s->row[0], *b = s->row[1], *c = s->row[2], *d = s->row[3];
    T p = s->weight[0], q = s->weight[1], u = s->weight[2], v = s->weight[3];
    T *restrict y = s->y;
    int64_t n = s->n;
    if (!s->begun && s->count == 2) {
        for (int64_t i = 0; i < n; i++) {
            y[i] = p * a[i] + q * b[i];
        }
    } else if (!s->begun && s->count == 1) {
        for (int64_t i = 0; i < n; i++) {
            y[i] = p * a[i];
        }
    } else if (!s->begun && s->count == 4) {
        for (int64_t i = 0; i < n; i++) {
            y[i] = p * a[i] + q * b[i] + (u * c[i] + v * d[i]);
        }
    } else if (!s->begun && s->count == 3) {
        for (int64_t i = 0; i < n; i++) {
            y[i] = p * a[i] + q * b[i] + u * c[i];
        }
    } else if (!s->begun) {
        memset(y, 0, (size_t)n * sizeof *y);
    } else if (s->count == 4) {
        for (int64_t i = 0; i < n; i++) {
            y[i] += p * a[i] + q * b[i] + (u * c[i] + v * d[i]);
        }
    } else {
        for (int k = 0; k < s->count; k++) {
            a = s->row[k];
            p = s->weight[k];
            for (int64_t i = 0; i < n; i++) {
                y[i] += p * a[i];
            }
        }
    }
    s->begun = true;
    s->count = 0;
}

static inline void LANE(add_row)(LANE(sum) * s, double weight, const T *row)
{
    if (weight != 0) {
        s->row[s->count] = row;
        s->weight[s->count++] = (T)weight;
        if (s->count == 4) {
            LANE(flush)(s);
        }
    }
}

static inline void LANE(end_sum)(LANE(sum) * s)
{
    if (s->count || !s->begun) {
        LANE(flush)(s);
    }
}

/* Input row `at` of all, in T: where it lies, or in `room`. */
static const T *LANE(load)(const job *j, int64_t at, T *room)
{
    const char *from = j->x + (size_t)(at * j->row_in) * j->element;
    if (j->element == sizeof(T)) {
        return (const T *)from;
    }
    ISA(eg__halves_to_f32)(j->row_in, j->dtype, from, 2, (float *)room);
    return room;
}

/* Input row `at` resized along itself, into y. */
static void LANE(along)(const job *j, int64_t at, T *room, T *y)
{
    const T *x = LANE(load)(j, at, room);
    const eg__band *b = j->along;
    if (!b) {
        memcpy(y, x, (size_t)j->row_in * sizeof *y);
    } else if (j->table) {
        LANE(gather)(j->row_out, j->table_first, b->width, j->inner, (const T *)j->table, x, y);
    } else {
        for (int64_t o = 0; o < b->n; o++) {
            LANE(sum) s = {.n = j->inner, .y = y + o * j->inner};
            for (int64_t k = 0; k < b->width; k++) {
                LANE(add_row)(&s, b->weight[o * b->width + k], x + (b->first[o] + k) * j->inner);
            }
            LANE(end_sum)(&s);
        }
    }
}

/* Output rows of one part: rows resized along themselves wait in a ring until no result needs
 * them. */
static void LANE(part)(const job *j, int64_t part, int64_t begin, int64_t end)
{
    int64_t *held = (int64_t *)(j->buffers + (size_t)part * j->buffer_bytes);
    T *ring = (T *)(held + j->ring), *room = ring + j->ring * j->row_out, *result = room + j->row_in;
    bool half = j->element < sizeof(T), direct = !j->along && !half;
    const eg__band *b = j->across;
    for (int64_t k = 0; k < j->ring; k++) {
        held[k] = -1;
    }
    for (int64_t item = begin; item < end; item++) {
        int64_t unit = item / j->rows_out, o = item % j->rows_out;
        char *to = j->y + (size_t)(item * j->row_out) * j->element;
        T *y = half ? result : (T *)to;
        if (!b) {
            LANE(along)(j, item, room, y);
        } else {
            LANE(sum) s = {.n = j->row_out, .y = y};
            for (int64_t k = 0; k < b->width; k++) {
                double weight = b->weight[o * b->width + k];
                int64_t at = unit * j->rows_in + b->first[o] + k, slot = at % j->ring;
                if (weight == 0) {
                    continue;
                }
                if (direct) {
                    LANE(add_row)(&s, weight, (const T *)j->x + at * j->row_in);
                    continue;
                }
                if (held[slot] != at) {
                    LANE(along)(j, at, room, ring + slot * j->row_out);
                    held[slot] = at;
                }
                LANE(add_row)(&s, weight, ring + slot * j->row_out);
            }
            LANE(end_sum)(&s);
        }
        if (half) {
            ISA(eg__f32_to_halves)(j->row_out, j->dtype, (const float *)result, to, 2);
        }
    }
}

/* The band along rows, by tap, for every element of a result's row. */
static void LANE(fill_table)(const eg__band *b, int64_t inner, T *weight, int32_t *first)
{
    int64_t n = b->n * inner;
    for (int64_t i = 0; i < n; i++) {
        first[i] = (int32_t)(b->first[i / inner] * inner + i % inner);
        for (int64_t k = 0; k < b->width; k++) {
            weight[k * n + i] = (T)b->weight[i / inner * b->width + k];
        }
    }
}
