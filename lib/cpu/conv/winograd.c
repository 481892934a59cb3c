/* winograd.c - which convolutions are made of tiles, and which cells and taps belong to a tile. */
#include "lib/cpu/conv/winograd.h"

static void read_and_made(const eg__winograd *p, const eg__conv_job *j, int d, eg__winograd_axis *a)
{
    const eg__conv_geometry *g = &j->g;
    bool data = j->result == EG__CONV_X;
    int64_t apart = g->stride[d] == 2 ? 1 : p->taps; /* first taps of the two parts */
    int64_t reach = g->k[d] - 1, before = data ? reach - g->before[d] : g->before[d];
    a->from = data ? g->out[d] : g->in[d];
    a->to = data ? g->in[d] : g->out[d];
    a->tiles = (a->to + 1) / 2;
    for (int i = 0; i < p->parts; i++) {
        a->read_at[i] = i * apart - before;
        for (int u = 0; u < p->taps; u++) {
            int64_t t = i * apart + u * g->stride[d];
            a->tap[i][u] = t > reach ? -1 : data ? reach - t : t;
        }
    }
}

/* Cell 2j + q of x gets tap 2u + e of window j + shift - u, e the parity of q + before. */
static void phases_of(const eg__winograd *p, const eg__conv_job *j, int d, eg__winograd_axis *a)
{
    const eg__conv_geometry *g = &j->g;
    int64_t least = g->before[d] / 2;
    a->from = g->out[d];
    a->to = g->in[d];
    a->tiles = 0;
    a->read_at[0] = least - (p->taps - 1);
    for (int q = 0; q < 2; q++) {
        int64_t e = (q + g->before[d]) % 2, shift = (q + g->before[d] - e) / 2;
        a->make_at[q] = least - shift;
        int64_t tiles = ((g->in[d] - q + 1) / 2 - a->make_at[q] + 1) / 2;
        a->tiles = tiles > a->tiles ? tiles : a->tiles;
        for (int u = 0; u < p->taps; u++) {
            int64_t t = 2 * (p->taps - 1 - u) + e;
            a->tap[q][u] = t < g->k[d] ? t : -1;
        }
    }
}

/* Taps that lie inside, of all windows. */
static double taps_inside(const eg__conv_geometry *g, int d)
{
    int64_t sum = 0;
    for (int64_t t = 0; t < g->k[d]; t++) {
        int64_t low, high;
        eg__conv_inside(g, d, t, &low, &high);
        sum += high - low;
    }
    return (double)sum;
}

static bool fits(const eg__conv_geometry *g)
{
    bool fit = g->groups == 1 && g->c % 16 == 0 && g->o % 16 == 0;
    for (int d = 1; d < 3; d++) {
        int64_t k = g->k[d], step = g->stride[d];
        fit = fit && g->dilation[d] == 1 && k == g->k[1] && step == g->stride[1] && step <= 2 && k >= 2 * step &&
              k <= 2 + 2 * step;
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
    return .85 * p->side * p->side * (tiles * (depth * columns + sum * (depth + columns)) + 60 * depth * columns);
}

bool eg__winograd_plan(const eg__conv_job *j, eg__winograd *p)
{
    const eg__conv_geometry *g = &j->g;
    if (j->x->dtype != EG_F32 || j->x->ndim != 4 || !fits(g)) {
        return false;
    }
    bool halves = g->stride[1] == 2 || g->k[1] > 3, data = j->result == EG__CONV_X;
    bool phases = data && g->stride[1] == 2;
    memset(p, 0, sizeof *p);
    p->taps = (int)(halves ? (g->k[1] + 1) / 2 : g->k[1]);
    p->side = p->taps + 1;
    p->parts = halves && !phases ? 2 : 1;
    p->phases = phases ? 2 : 1;
    p->read_step = data ? 1 : g->stride[1];
    p->make_step = data ? g->stride[1] : 1;
    p->from = data ? g->o : g->c;
    p->to = data ? g->c : g->o;
    p->tiles = g->n;
    double direct = (double)(g->n * g->c * g->o);
    for (int d = 1; d < 3; d++) {
        eg__winograd_axis *a = &p->axis[d - 1];
        (phases ? phases_of : read_and_made)(p, j, d, a);
        p->tiles *= a->tiles;
        direct *= taps_inside(g, d);
    }
    return direct > cost(p, j->result == EG__CONV_W);
}
