/* depthwise_rows.h - the loops of depthwise.c for one type: T, V a vector of them, NAME(f); those of a line are
 * there by V and by vectors of half as many. */

/* Channels that fill no vector at all. */
static void NAME(few)(const line *l, const T *const *from, const T *const *w, int n, int64_t channels, const T *bias,
                      T *to)
{
    for (int64_t q = 0; q < l->count; q++) {
        int64_t i0 = 0, i1 = l->taps;
        inside(l, q, &i0, &i1);
        for (int64_t c = 0; c < channels; c++) {
            T sum = bias ? bias[c] : 0;
            for (int k = 0; k < n; k++) {
                for (int64_t i = i0; i < i1; i++) {
                    sum += from[k][(l->at + q * l->step + i * l->tap) * channels + c] *
                           w[k][(l->w + i * l->wstep) * channels + c];
                }
            }
            to[(l->to + q * l->tostep) * channels + c] = sum;
        }
    }
}

/* By the widest vectors that the channels fill. */
static void NAME(run_line)(const line *l, const T *const *from, const T *const *w, int n, int64_t channels,
                           const T *bias, T *to)
{
    if (channels >= NAME(LANES)) {
        NAME(run)(l, from, w, n, channels, bias, to);
    } else if (channels >= NAME(LANES_half)) {
        NAME(run_half)(l, from, w, n, channels, bias, to);
    } else {
        NAME(few)(l, from, w, n, channels, bias, to);
    }
}

/* Rows begin..end of y. */
static void NAME(forward_rows)(void *ctx, int64_t begin, int64_t end)
{
    const job *d = ctx;
    const eg__conv_geometry *g = d->g;
    const T *bias = d->j->bias ? (const T *)eg__ptr(d->j->bias) : NULL, *from[EG__CONV_LINES], *w[EG__CONV_LINES];
    line l = {-g->before[2], g->stride[2], g->dilation[2], g->in[2], 0, 1, g->k[2], 0, 1, g->out[2]};
    for (int64_t r = begin; r < end; r++) {
        int64_t oy = r % g->out[1], oz = r / g->out[1] % g->out[0], b = r / g->out[1] / g->out[0];
        int n = 0;
        for (int64_t t = 0; t < g->k[0] * g->k[1]; t++) {
            int64_t z = eg__conv_at(g, 0, oz, t / g->k[1]), y = eg__conv_at(g, 1, oy, t % g->k[1]);
            if (z >= 0 && z < g->in[0] && y >= 0 && y < g->in[1]) {
                from[n] = (const T *)d->source + ((b * g->in[0] + z) * g->in[1] + y) * g->in[2] * g->c;
                w[n++] = (const T *)d->w + t * g->k[2] * g->c;
            }
        }
        NAME(run_line)(&l, from, w, n, g->c, bias, (T *)d->result + r * g->out[2] * g->c);
    }
}

/* The cells of a row of x that are `phase` past a multiple of the stride: the taps that reach them
 * follow each other at equal distance, and so do the windows they belong to. */
static line NAME(data_line)(const eg__conv_geometry *g, int64_t phase)
{
    int64_t stride = g->stride[2], dilation = g->dilation[2], at = phase + g->before[2], first = 0, every = 1;
    while (every < g->k[2] && every * dilation % stride) {
        every++;
    }
    while (first < every && (at - first * dilation) % stride) {
        first++;
    }
    return (line){.at = (at - first * dilation) / stride,
                  .step = 1,
                  .tap = -(every * dilation / stride),
                  .limit = g->out[2],
                  .w = first,
                  .wstep = every,
                  .taps = first < every && first < g->k[2] ? (g->k[2] - first - 1) / every + 1 : 0,
                  .to = phase,
                  .tostep = stride,
                  .count = (g->in[2] - phase + stride - 1) / stride};
}

/* The window whose tap t lies on cell i of axis d; -1: none. */
static inline int64_t NAME(window_over)(const eg__conv_geometry *g, int d, int64_t i, int64_t t)
{
    int64_t at = i + g->before[d] - t * g->dilation[d];
    return at >= 0 && at % g->stride[d] == 0 && at / g->stride[d] < g->out[d] ? at / g->stride[d] : -1;
}

/* Rows begin..end of x. */
static void NAME(data_rows)(void *ctx, int64_t begin, int64_t end)
{
    const job *d = ctx;
    const eg__conv_geometry *g = d->g;
    const T *bias = d->j->bias ? (const T *)eg__ptr(d->j->bias) : NULL, *from[EG__CONV_LINES], *w[EG__CONV_LINES];
    for (int64_t r = begin; r < end; r++) {
        int64_t iy = r % g->in[1], iz = r / g->in[1] % g->in[0], b = r / g->in[1] / g->in[0];
        int n = 0;
        for (int64_t t = 0; t < g->k[0] * g->k[1]; t++) {
            int64_t z = NAME(window_over)(g, 0, iz, t / g->k[1]), y = NAME(window_over)(g, 1, iy, t % g->k[1]);
            if (z >= 0 && y >= 0) {
                from[n] = (const T *)d->source + ((b * g->out[0] + z) * g->out[1] + y) * g->out[2] * g->c;
                w[n++] = (const T *)d->w + t * g->k[2] * g->c;
            }
        }
        for (int64_t phase = 0; phase < eg__min(g->stride[2], g->in[2]); phase++) {
            line l = NAME(data_line)(g, phase);
            NAME(run_line)(&l, from, w, n, g->c, bias, (T *)d->result + r * g->in[2] * g->c);
        }
    }
}

/* sum[i] += over windows low..high-1 of dy times the cell under tap t + i, for `taps` taps. */
static EG__INLINE void NAME(weight_tile)(const eg__conv_geometry *g, const T *x, const T *dy, int64_t t, int64_t low,
                                         int64_t high, int64_t c, T *sums, const int taps, const int wide)
{
    V sum[SIDE][2];
    for (int i = 0; i < taps; i++) {
        for (int v = 0; v < wide; v++) {
            sum[i][v] = (V){0};
        }
    }
    int64_t step = g->stride[2] * g->c, tap = g->dilation[2] * g->c;
    x += eg__conv_at(g, 2, low, t) * g->c + c;
    dy += low * g->c + c;
    for (int64_t q = low; q < high; q++, x += step, dy += g->c) {
        for (int v = 0; v < wide; v++) {
            V f = *(const V *)(dy + v * NAME(LANES));
            for (int i = 0; i < taps; i++) {
                sum[i][v] += *(const V *)(x + i * tap + v * NAME(LANES)) * f;
            }
        }
    }
    for (int i = 0; i < taps; i++) {
        for (int v = 0; v < wide; v++) {
            *(V *)(sums + (t + i) * g->c + c + v * NAME(LANES)) += sum[i][v];
        }
    }
}

/* Tap t over windows low..high-1, channels c..end-1. */
static void NAME(weight_windows)(const eg__conv_geometry *g, const T *x, const T *dy, int64_t t, int64_t low,
                                 int64_t high, int64_t c, int64_t end, T *sums)
{
    for (int64_t q = low; q < high; q++) {
        const T *restrict a = x + eg__conv_at(g, 2, q, t) * g->c, *restrict b = dy + q * g->c;
        T *restrict to = sums + t * g->c;
        for (int64_t i = c; i < end; i++) {
            to[i] += a[i] * b[i];
        }
    }
}

/* Taps t..t+taps-1 of channels begin..end-1 over the windows that all of them see, then the others one by one. */
static EG__INLINE void NAME(weight_taps)(const eg__conv_geometry *g, const T *x, const T *dy, int64_t t, int64_t begin,
                                         int64_t end, T *sums, const int taps)
{
    enum { L = NAME(LANES) };
    int64_t low[SIDE], high[SIDE], l = 0, h = g->out[2], c = begin;
    for (int i = 0; i < taps; i++) {
        eg__conv_inside(g, 2, t + i, &low[i], &high[i]);
        l = eg__max(l, low[i]);
        h = eg__min(h, high[i]);
    }
    h = eg__max(h, l);
    for (; c + 2 * L <= end; c += 2 * L) {
        NAME(weight_tile)(g, x, dy, t, l, h, c, sums, taps, 2);
    }
    for (; c + L <= end; c += L) {
        NAME(weight_tile)(g, x, dy, t, l, h, c, sums, taps, 1);
    }
    for (int i = 0; i < taps; i++) {
        NAME(weight_windows)(g, x, dy, t + i, low[i], eg__min(l, high[i]), begin, end, sums);
        NAME(weight_windows)(g, x, dy, t + i, eg__max(h, low[i]), high[i], begin, end, sums);
        if (c < end) {
            NAME(weight_windows)(g, x, dy, t + i, l, h, c, end, sums);
        }
    }
}

/* The weight's gradient: items are slices of the channels, of shares of y's rows. Each channel adds up alone, in
 * whole vectors but for the last, so that slices change no bits. */
static void NAME(weight_piece)(void *ctx, int64_t begin, int64_t end)
{
    const job *d = ctx;
    const eg__conv_geometry *g = d->g;
    int64_t rows = g->n * g->out[0] * g->out[1], size = g->k[0] * g->k[1] * g->k[2] * g->c;
    int64_t width = 2 * NAME(LANES), tiles = g->c / width;
    for (int64_t i = begin; i < end; i++) {
        int64_t piece = i / d->slices, slice = i % d->slices, c0 = tiles * slice / d->slices * width;
        int64_t c1 = slice + 1 < d->slices ? tiles * (slice + 1) / d->slices * width : g->c;
        T *sums = (T *)d->w + piece * size;
        for (int64_t r = rows * piece / d->pieces; r < rows * (piece + 1) / d->pieces; r++) {
            int64_t oy = r % g->out[1], oz = r / g->out[1] % g->out[0], b = r / g->out[1] / g->out[0];
            const T *dy = (const T *)d->result + r * g->out[2] * g->c;
            for (int64_t t = 0; t < g->k[0] * g->k[1]; t++) {
                int64_t z = eg__conv_at(g, 0, oz, t / g->k[1]), y = eg__conv_at(g, 1, oy, t % g->k[1]);
                if (z < 0 || z >= g->in[0] || y < 0 || y >= g->in[1]) {
                    continue;
                }
                const T *x = (const T *)d->source + ((b * g->in[0] + z) * g->in[1] + y) * g->in[2] * g->c;
                T *to = sums + t * g->k[2] * g->c;
                int64_t k = 0;
                for (; k + 3 <= g->k[2]; k += 3) {
                    NAME(weight_taps)(g, x, dy, k, c0, c1, to, 3);
                }
                for (; k < g->k[2]; k++) {
                    NAME(weight_taps)(g, x, dy, k, c0, c1, to, 1);
                }
            }
        }
    }
}

/* The weight of channel 0 under tap t; *step from one channel to the next. */
static T *NAME(weight_at)(const job *d, int64_t t, int64_t *step)
{
    const int64_t *k = d->g->k;
    int64_t at[5];
    eg__conv_strides(d->j->w, at);
    *step = at[0];
    return (T *)eg__ptr(d->j->w) + t / (k[1] * k[2]) * at[2] + t / k[2] % k[1] * at[3] + t % k[2] * at[4];
}

/* The weight as [tap][channel], or zeros to add up in. */
static void NAME(pack)(job *d)
{
    int64_t taps = d->g->k[0] * d->g->k[1] * d->g->k[2], step;
    T *to = (T *)d->w;
    if (d->j->result == EG__CONV_W) {
        memset(to, 0, (size_t)(d->pieces * taps * d->g->c) * sizeof(T));
        return;
    }
    for (int64_t t = 0; t < taps; t++) {
        const T *from = NAME(weight_at)(d, t, &step);
        for (int64_t c = 0; c < d->g->c; c++) {
            *to++ = from[c * step];
        }
    }
}

/* The pieces' sums into the weight's gradient. */
static void NAME(unpack)(job *d)
{
    int64_t taps = d->g->k[0] * d->g->k[1] * d->g->k[2], step;
    const T *sums = (const T *)d->w;
    for (int64_t t = 0; t < taps; t++) {
        T *to = NAME(weight_at)(d, t, &step);
        for (int64_t c = 0; c < d->g->c; c++, sums++) {
            T sum = 0;
            for (int64_t p = 0; p < d->pieces; p++) {
                sum += sums[p * taps * d->g->c];
            }
            to[c * step] = sum;
        }
    }
}
