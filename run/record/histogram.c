/* histogram.c - see histogram.h. */
#include "run/record/histogram.h"

#include <float.h>
#include <math.h>

/* +-1e-12 * 1.1^k below 1e20, 0, and the largest numbers; returns how many. */
static int make_limits(double *limit)
{
    int half = 0;
    for (double v = 1e-12; v < 1e20; v *= 1.1) {
        half++;
    }
    int n = 2 * half + 3;
    double v = 1e-12;
    limit[0] = -DBL_MAX;
    limit[half + 1] = 0;
    limit[n - 1] = DBL_MAX;
    for (int k = 0; k < half; k++, v *= 1.1) {
        limit[half + 2 + k] = v;
        limit[half - k] = -v;
    }
    return n;
}

/* The first limit that is greater; the last for the largest number. */
static int bucket_of(const double *limit, int n, double v)
{
    int low = 0, high = n - 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (limit[middle] > v) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

static void merge_empty(eg__histogram *h, int n)
{
    int kept = 0;
    for (int i = 0; i < n; i++) {
        bool joins = kept && h->in[i] == 0 && h->in[kept - 1] == 0;
        kept += !joins;
        h->limit[kept - 1] = h->limit[i];
        h->in[kept - 1] = h->in[i];
    }
    h->buckets = kept;
}

void eg__histogram_fill(eg__histogram *h, const eg_tensor *t)
{
    memset(h, 0, sizeof *h);
    int n = make_limits(h->limit);
    for (int64_t i = 0; i < t->n; i++) {
        double v = eg__load(eg__ptr(t), t->dtype, i);
        if (!isfinite(v)) {
            continue;
        }
        h->least = h->count == 0 || v < h->least ? v : h->least;
        h->most = h->count == 0 || v > h->most ? v : h->most;
        h->count++;
        h->sum += v;
        h->squares += v * v;
        h->in[bucket_of(h->limit, n, v)]++;
    }
    merge_empty(h, n);
}
