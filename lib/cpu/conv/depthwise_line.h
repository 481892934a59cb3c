/* depthwise_line.h - one line of results for one type T, by vectors V of it, LINE(f); there are as many channels as
 * fill one of them. */

enum { LINE(LANES) = sizeof(V) / sizeof(T) };

/* `side` results from q on, `wide` vectors of channels from c on, taps i0..i1-1 of every line of
 * sources. */
static EG__INLINE void LINE(tile)(const line *l, const T *const *from, const T *const *w, int n, int64_t q, int64_t i0,
                                  int64_t i1, int64_t channels, int64_t c, const T *bias, T *to, const int side,
                                  const int wide)
{
    V sum[SIDE][WIDE];
    int64_t at = (l->at + q * l->step + i0 * l->tap) * channels + c, wat = (l->w + i0 * l->wstep) * channels + c;
    for (int v = 0; v < wide; v++) {
        V b = bias ? *(const V *)(bias + c + v * LINE(LANES)) : (V){0};
        for (int p = 0; p < side; p++) {
            sum[p][v] = b;
        }
    }
    int64_t step = l->step * channels, tap = l->tap * channels, wtap = l->wstep * channels;
    for (int k = 0; k < n; k++) {
        const T *x[SIDE], *y = w[k] + wat;
        for (int p = 0; p < side; p++) {
            x[p] = from[k] + at + p * step;
        }
        const T *end = y + (i1 - i0) * wtap;
        for (int64_t d = 0; y != end; d += tap, y += wtap) {
            for (int v = 0; v < wide; v++) {
                V f = *(const V *)(y + v * LINE(LANES));
                for (int p = 0; p < side; p++) {
                    sum[p][v] += *(const V *)(x[p] + d + v * LINE(LANES)) * f;
                }
            }
        }
    }
    for (int p = 0; p < side; p++) {
        for (int v = 0; v < wide; v++) {
            *(V *)(to + (l->to + (q + p) * l->tostep) * channels + c + v * LINE(LANES)) = sum[p][v];
        }
    }
}

/* All results of a line; n lines of sources and weights add up. The last channels are those of a whole vector, some of
 * which are there a second time. */
static void LINE(run)(const line *l, const T *const *from, const T *const *w, int n, int64_t channels, const T *bias,
                      T *to)
{
    enum { L = LINE(LANES) };
    for (int64_t q = 0, side; q < l->count; q += side) {
        int64_t c = 0, i0 = 0, i1 = l->taps;
        side = 1;
        if (l->taps && whole(l, q) && q + SIDE <= l->count && whole(l, q + SIDE - 1)) {
            side = SIDE;
            for (; c + 2 * L <= channels; c += 2 * L) {
                LINE(tile)(l, from, w, n, q, 0, i1, channels, c, bias, to, SIDE, 2);
            }
            for (; c < channels; c += L) {
                LINE(tile)(l, from, w, n, q, 0, i1, channels, eg__min(c, channels - L), bias, to, SIDE, 1);
            }
            continue;
        }
        inside(l, q, &i0, &i1);
        for (; c + WIDE * L <= channels; c += WIDE * L) {
            LINE(tile)(l, from, w, n, q, i0, i1, channels, c, bias, to, 1, WIDE);
        }
        for (; c < channels; c += L) {
            LINE(tile)(l, from, w, n, q, i0, i1, channels, eg__min(c, channels - L), bias, to, 1, 1);
        }
    }
}
