/* pairs.c - see pairs.h. */
#include "pairs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "chance.h"
#include "records.h"
#include "shapes.h"

struct pairs {
    pairs_options o;
    char folder[EG_PATH_SIZE]; /* "": shapes are drawn */
    double focal;
};

double pairs_focal(const pairs *p)
{
    return p->focal;
}

/* ---- drawn --------------------------------------------------------------------------------------- */

/* Two views of an object from around it and somewhat above, not more than a quarter of a turn apart. */
static eg_status views_of(int64_t i, view *v)
{
    double c[4];
    eg_status st = chance(0x7a1e5u + (uint64_t)i, c, 4);
    const double quarter = acos(0), around = 4 * quarter * c[0];
    v[0] = render_view(around, 0.1 + 0.5 * c[1]);
    v[1] = render_view(around + quarter * (2 * c[2] - 1), 0.1 + 0.5 * c[3]);
    return st;
}

eg_status pairs_draw(const pairs_options *o, int64_t i, eg_tensor **picture, view *v)
{
    solid *s = shapes_new(o->shape, i / o->each);
    eg_status st = s ? views_of(i, v) : eg_last_error()->code;
    for (int k = 0; k < 2 && !st; k++) {
        picture[k] = render_solid(s, &v[k], o->side);
        st = picture[k] ? EG_OK : eg_last_error()->code;
    }
    free(s);
    return st;
}

/* ---- samples ------------------------------------------------------------------------------------- */

static eg_status ready(eg_tensor *const *picture, eg_tensor *const *into, eg_tensor *const *back, eg_tensor **out,
                       int *m)
{
    out[PICTURES] = eg_mul_scalar(eg_cast(eg_stack(picture, 2, 0), EG_F32), 1 / 255.0);
    out[INTO] = eg_stack(into, 2, 0);
    out[BACK] = eg_stack(back, 2, 0);
    *m = 3;
    return out[PICTURES] && out[INTO] && out[BACK] ? EG_OK : eg_last_error()->code;
}

static eg_status ready_drawn(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)n;
    view v[2];
    eg_tensor *picture[2], *into[2], *back[2];
    eg_status st = pairs_draw(&((const pairs *)user)->o, (int64_t)eg_item(in[0]), picture, v);
    for (int k = 0; k < 2 && !st; k++) {
        into[k] = eg_from_values(EG_SHAPE(4, 4), EG_F32, v[k].into);
        back[k] = eg_from_values(EG_SHAPE(4, 4), EG_F32, v[k].back);
    }
    return st ? st : ready(picture, into, back, out, m);
}

static eg_status ready_read(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)n;
    (void)user;
    eg_tensor *picture[2], *into[2], *back[2];
    eg_status st = records_read(in[0], picture, into, back);
    return st ? st : ready(picture, into, back, out, m);
}

pairs *pairs_open(eg_run *run, const char *folder, const pairs_options *o)
{
    pairs *p = calloc(1, sizeof *p);
    if (!p) {
        eg_fail(EG_ENOMEM, "keypoints", "out of memory");
    }
    if (eg_run_own(run, p, free)) {
        return NULL;
    }
    p->o = *o;
    p->focal = RENDER_FOCAL;
    snprintf(p->folder, sizeof p->folder, "%s", folder ? folder : "");
    return folder && eg_run_heed(run, records_focal(folder, &p->focal)) ? NULL : p;
}

/* ---- datasets ------------------------------------------------------------------------------------ */

/* Numbers of the pairs that are drawn to be learned from, or of the others, in the order of records. */
static eg_dataset *numbers(const pairs_options *o, bool train)
{
    const int64_t end = o->shapes * o->each;
    eg_tensor *all =
        train ? eg_arange_int(0, end, 1, EG_I64) : eg_arange_int(end, end + o->others * o->each, 1, EG_I64);
    if (!train) {
        all = eg_flatten(eg_transpose(eg_reshape(all, EG_SHAPE(o->others, o->each)), 0, 1), 0, 1);
    }
    return eg_dataset_from_tensors(&all, 1);
}

eg_dataset *pairs_dataset(pairs *p, bool train, uint64_t seed)
{
    enum { AT_ONCE = 400 }; /* records that are held to be shuffled */
    if (!p) {
        return NULL;
    }
    eg_dataset *d = NULL;
    EG_SCOPE {
        d = *p->folder ? records_open(p->folder, train) : numbers(&p->o, train);
    }
    if (train) {
        const int64_t n = eg_dataset_count(d);
        d = eg_dataset_shuffle(d, n > 0 ? n : AT_ONCE, .seed = seed);
    }
    d = eg_dataset_map(d, *p->folder ? ready_read : ready_drawn, p, .workers = 1, .seed = seed);
    return eg_dataset_prefetch(eg_dataset_batch(d, p->o.batch, .drop_last = train), 2);
}
