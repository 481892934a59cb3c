/* lerp_loops.h - the loops of linear interpolation for an element type T and an unsigned integer U of its size; lerp.c
 * includes it per type, with FN to name them. */

/* From the nearer of the two, so that a weight of 1 gives b and neither is lost beside a much larger one. Returns
 * whether all results are finite: else a difference may have passed the range. */
static bool FN(near)(int64_t n, const T *a, const T *b, const T *w, T *restrict y)
{
    U bad = 0;
    for (int64_t i = 0; i < n; i++) {
        const T far = b[i] - a[i], from_a = a[i] + w[i] * far, from_b = b[i] - (1 - w[i]) * far;
        const T v = w[i] < (T)0.5 ? from_a : from_b;
        U bits;
        memcpy(&bits, &v, sizeof bits);
        bad |= (bits & EXPONENT) == EXPONENT;
        y[i] = v;
    }
    return !bad;
}

static void FN(lerp)(int64_t n, const T *a, const T *b, const T *w, T *y)
{
    if (!FN(near)(n, a, b, w, y)) {
        for (int64_t i = 0; i < n; i++) {
            y[i] = (T)eg__f64_lerp((double)a[i], (double)b[i], (double)w[i]);
        }
    }
}
