/* fft_plan.c - plans of Fourier transforms. One lock guards the list: it is held while a plan is
 * looked for or made, not while it is used. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "lib/cpu/matrix/fft.h"
#include "lib/core/subsystem.h"

#define TWO_PI 6.283185307179586476925287

#ifdef EG_TINY_LIMITS
enum { MOST_PLANS = 4 };
#else
enum { MOST_PLANS = 64 };
#endif
static const size_t most_bytes = (size_t)128 << 20;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static eg__fft_plan *plans;
static uint64_t now;

static void around_fork(eg__fork when)
{
    eg__fork_lock(&lock, when);
}

static eg__fft_plan *get(int64_t n, bool wide, int64_t most, bool real);

/* cos and -sin of 2 pi j k / n at place i of the table, `apart` scalars between them. */
static void put(eg__fft_plan *p, int64_t i, int64_t apart, int64_t j, int64_t k, int64_t n)
{
    double angle = TWO_PI * (double)((__int128)j * k % n) / (double)n;
    if (p->wide) {
        ((double *)p->table)[i] = cos(angle);
        ((double *)p->table)[i + apart] = -sin(angle);
    } else {
        ((float *)p->table)[i] = (float)cos(angle);
        ((float *)p->table)[i + apart] = (float)-sin(angle);
    }
}

static bool make_table(eg__fft_plan *p, int64_t pairs)
{
    p->bytes = (size_t)pairs * 2 * (p->wide ? sizeof(double) : sizeof(float));
    p->table = eg__malloc(p->bytes ? p->bytes : 1);
    return p->table != NULL;
}

/* The radices of n, whether there is no prime above EG__FFT_PRIME in it. As few powers of two up to
 * 16 as possible, of like size. */
static bool factors(eg__fft_plan *p, int64_t n)
{
    int twos = 0;
    for (; n % 2 == 0; n /= 2) {
        twos++;
    }
    int k = (twos + 3) / 4;
    for (int i = 0; i < k; i++) {
        p->radix[i] = 1 << (twos / k + (i < twos % k));
    }
    for (int r = 3; r <= EG__FFT_PRIME; r += 2) {
        for (; n % r == 0; n /= r) {
            p->radix[k++] = r;
        }
    }
    p->passes = k;
    return n == 1;
}

/* How many turns the table of a pass begins with: none for radices with formulas of their own. */
static int turns(int radix)
{
    return radix > 5 && radix % 2 ? radix : 0;
}

/* Of pass i the turns of a radix that has no formula, then for each p the factors of its results
 * but the first. */
static bool make_direct(eg__fft_plan *p)
{
    int64_t pairs = 0, left = p->n;
    for (int i = 0; i < p->passes; i++) {
        p->table_at[i] = pairs;
        left /= p->radix[i];
        pairs += left * (p->radix[i] - 1) + turns(p->radix[i]);
    }
    if (!make_table(p, pairs)) {
        return false;
    }
    left = p->n;
    for (int i = 0; i < p->passes; i++) {
        int64_t r = p->radix[i], at = p->table_at[i];
        for (int64_t k = 0; k < turns(p->radix[i]); k++) {
            put(p, 2 * at++, 1, k, 1, r);
        }
        for (int64_t j = 0; j < left / r; j++) {
            for (int64_t k = 1; k < r; k++) {
                put(p, 2 * at++, 1, j, k, left);
            }
        }
        left /= r;
    }
    return true;
}

static int64_t rounded_up(int64_t n)
{
    return (n + EG__FFT_LANES - 1) / EG__FFT_LANES * EG__FFT_LANES;
}

/* Two factors of n, of least waste in vectors, then most alike, the rows rather than the columns a number that fills
 * them; false if n has none to speak of. */
static bool split(eg__fft_plan *p)
{
    p->rows = 0;
    int64_t least = INT64_MAX;
    for (int64_t r = 2; r <= p->n / r; r++) {
        if (p->n % r == 0 && rounded_up(r) * rounded_up(p->n / r) <= least) {
            p->rows = r;
            p->columns = p->n / r;
            least = rounded_up(r) * rounded_up(p->columns);
        }
    }
    if (p->rows % EG__FFT_LANES && p->rows && p->columns % EG__FFT_LANES == 0) {
        int64_t rows = p->rows;
        p->rows = p->columns;
        p->columns = rows;
    }
    bool choosy = p->most > EG__FFT_ALONE && p->n <= EG__FFT_CHOOSY;
    return eg__min(p->rows, p->columns) >= 4 && (!choosy || least <= p->n * 7 / 4);
}

static bool make_split(eg__fft_plan *p)
{
    int64_t wide = rounded_up(p->columns);
    p->first = get(p->rows, p->wide, INT64_MAX, false);
    p->then = p->first ? get(p->columns, p->wide, INT64_MAX, false) : NULL;
    if (!p->then || !make_table(p, p->rows * wide)) {
        return false;
    }
    for (int64_t k = 0; k < p->rows; k++) {
        for (int64_t j = 0; j < wide; j++) {
            put(p, k * 2 * wide + j, wide, j, k, p->n);
        }
    }
    return true;
}

static bool make_chirp(eg__fft_plan *p)
{
    int64_t m = 8, least = 2 * p->n - 1;
    while (m < least) {
        m *= 2;
    }
    m = m / 8 * 5 >= least ? m / 8 * 5 : m / 4 * 3 >= least ? m / 4 * 3 : m;
    /* a line by itself is multiplied one by one */
    p->first = get(m, p->wide, p->most > EG__FFT_ALONE ? 4096 : p->most, false);
    if (!p->first || !make_table(p, p->n)) {
        return false;
    }
    for (int64_t j = 0; j < p->n; j++) {
        put(p, 2 * j, 1, j, j, 2 * p->n);
    }
    return true;
}

static bool make_real(eg__fft_plan *p)
{
    p->first = get(p->n / 2, p->wide, p->most, false);
    p->way = p->first ? p->first->way : EG__FFT_DIRECT;
    if (!p->first || !make_table(p, p->n / 4 + 1)) {
        return false;
    }
    for (int64_t k = 0; k <= p->n / 4; k++) {
        put(p, 2 * k, 1, k, 1, p->n);
    }
    return true;
}

static bool make(eg__fft_plan *p)
{
    if (p->real) {
        return make_real(p);
    }
    if (!factors(p, p->n)) {
        p->way = EG__FFT_CHIRP;
        return make_chirp(p);
    }
    if (p->n > p->most && split(p)) {
        p->way = EG__FFT_SPLIT;
        return make_split(p);
    }
    return make_direct(p);
}

static void drop(eg__fft_plan **at)
{
    eg__fft_plan *p = *at;
    *at = p->next;
    for (int i = 0; i < 2; i++) {
        eg__fft_plan *part = i ? p->then : p->first;
        if (part) {
            part->users--;
        }
    }
    free(p->table);
    free(p);
}

/* Lets go of those used longest ago, while there are too many. */
static void evict(void)
{
    for (;;) {
        int count = 0;
        size_t bytes = 0;
        eg__fft_plan **oldest = NULL;
        for (eg__fft_plan **p = &plans; *p; p = &(*p)->next, count++) {
            bytes += (*p)->bytes;
            oldest = !(*p)->users && (!oldest || (*p)->used < (*oldest)->used) ? p : oldest;
        }
        if (!oldest || (count <= MOST_PLANS && bytes <= most_bytes)) {
            return;
        }
        drop(oldest);
    }
}

/* Under the lock. */
static eg__fft_plan *get(int64_t n, bool wide, int64_t most, bool real)
{
    eg__fft_plan *p = plans;
    while (p && (p->n != n || p->wide != wide || p->most != most || p->real != real)) {
        p = p->next;
    }
    if (!p) {
        p = eg__malloc(sizeof *p);
        if (!p) {
            return NULL;
        }
        *p = (eg__fft_plan){.n = n, .wide = wide, .most = most, .real = real};
        bool made = make(p);
        p->next = plans;
        plans = p;
        if (!made) {
            drop(&plans);
            return NULL;
        }
    }
    p->users++;
    p->used = ++now;
    return p;
}

static void forget(void)
{
    while (plans) {
        drop(&plans);
    }
}

eg__fft_plan *eg__fft_plan_get(int64_t n, bool wide, int64_t most, bool real)
{
    static eg__subsystem part = {.fork = around_fork, .end = forget};
    eg__subsystem_join(&part);
    pthread_mutex_lock(&lock);
    eg__fft_plan *p = get(n, wide, most, real);
    pthread_mutex_unlock(&lock);
    return p;
}

void eg__fft_plan_put(eg__fft_plan *p)
{
    pthread_mutex_lock(&lock);
    p->users--;
    evict();
    pthread_mutex_unlock(&lock);
}
