/* winograd.c - which convolutions are made of tiles, and which cells and taps belong to a tile. */
#include "lib/cpu/conv/winograd.h"

static void read_and_made(const eg__winograd *p, const eg__conv_job *j, int d, eg__winograd_axis *a)
{
    const eg__conv_shape *s = &j->s;
    bool data = j->result == EG__CONV_X;
    int64_t apart = s->stride[d] == 2 ? 1 : p->taps; /* first taps of the two parts */
    int64_t reach = s->k[d] - 1, before = data ? reach - s->before[d] : s->before[d];
    a->from = data ? s->out[d] : s->in[d];
    a->to = data ? s->in[d] : s->out[d];
    a->tiles = (a->to + 1) / 2;
    for (int i = 0; i < p->parts; i++) {
        a->read_at[i] = i * apart - before;
        for (int u = 0; u < p->taps; u++) {
            int64_t t = i * apart + u * s->stride[d];
            a->tap[i][u] = t > reach ? -1 : data ? reach - t : t;
        }
    }
}

/* Cell 2j + q of x gets tap 2u + e of window j + shift - u, e the parity of q + before. */
static void phases_of(const eg__winograd *p, const eg__conv_job *j, int d, eg__winograd_axis *a)
{
    const eg__conv_shape *s = &j->s;
    int64_t least = s->before[d] / 2;
    a->from = s->out[d];
    a->to = s->in[d];
    a->tiles = 0;
    a->read_at[0] = least - (p->taps - 1);
    for (int q = 0; q < 2; q++) {
        int64_t e = (q + s->before[d]) % 2, shift = (q + s->before[d] - e) / 2;
        a->make_at[q] = least - shift;
        int64_t tiles = ((s->in[d] - q + 1) / 2 - a->make_at[q] + 1) / 2;
        a->tiles = tiles > a->tiles ? tiles : a->tiles;
        for (int u = 0; u < p->taps; u++) {
            int64_t t = 2 * (p->taps - 1 - u) + e;
            a->tap[q][u] = t < s->k[d] ? t : -1;
        }
    }
}

/* Taps that lie inside, of all windows. */
static double taps_inside(const eg__conv_shape *s, int d)
{
    int64_t sum = 0;
    for (int64_t t = 0; t < s->k[d]; t++) {
        int64_t low, high;
        eg__conv_inside(s, d, t, &low, &high);
        sum += high - low;
    }
    return (double)sum;
}

static bool fits(const eg__conv_shape *s)
{
    bool fit = s->groups == 1 && s->c % 16 == 0 && s->o % 16 == 0;
    for (int d = 1; d < 3; d++) {
        int64_t k = s->k[d], step = s->stride[d];
        fit = fit && s->dilation[d] == 1 && k == s->k[1] && step == s->stride[1] && step <= 2 &&
              k >= 2 * step && k <= 2 + 2 * step;
    }
    return fit;
}

/* In products of the direct way, measured: to make a sum and what becomes of it costs as much as 20
 * products, for the gradient of w 28, a sum of weights, which come from further away, 60; and the
 * direct kernels run at 85 % of their best. */
static double cost(const eg__winograd *p, bool weight)
{
    double depth = (double)(p->from * p->parts * p->parts), tiles = (double)p->tiles;
    double columns = (double)(p->to * p->phases * p->phases), sum = weight ? 28 : 20;
    return .85 * p->side * p->side *
           (tiles * (depth * columns + sum * (depth + columns)) + 60 * depth * columns);
}

bool eg__winograd_plan(const eg__conv_job *j, eg__winograd *p)
{
    const eg__conv_shape *s = &j->s;
    if (j->x->dtype != EG_F32 || j->x->ndim != 4 || !fits(s)) {
        return false;
    }
    bool halves = s->stride[1] == 2 || s->k[1] > 3, data = j->result == EG__CONV_X;
    bool phases = data && s->stride[1] == 2;
    memset(p, 0, sizeof *p);
    p->taps = (int)(halves ? (s->k[1] + 1) / 2 : s->k[1]);
    p->side = p->taps + 1;
    p->parts = halves && !phases ? 2 : 1;
    p->phases = phases ? 2 : 1;
    p->read_step = data ? 1 : s->stride[1];
    p->make_step = data ? s->stride[1] : 1;
    p->from = data ? s->o : s->c;
    p->to = data ? s->c : s->o;
    p->tiles = s->n;
    double direct = (double)(s->n * s->c * s->o);
    for (int d = 1; d < 3; d++) {
        eg__winograd_axis *a = &p->axis[d - 1];
        (phases ? phases_of : read_and_made)(p, j, d, a);
        p->tiles *= a->tiles;
        direct *= taps_inside(s, d);
    }
    return direct > cost(p, j->result == EG__CONV_W);
}
