/* devices.c - parameters on several devices: an update is one on each, a norm is made of theirs, and what is decided by
 * it is decided on the CPU. */
#include <stdlib.h>

#include "lib/core/follower.h"
#include "optim/optim.h"

/* Whether row i is the first of its device. */
static bool first_there(eg_tensor *const *in, int i)
{
    int k = 0;
    while (k < i && (!in[k * EG__OPTIM_SLOTS] || in[k * EG__OPTIM_SLOTS]->device != in[i * EG__OPTIM_SLOTS]->device)) {
        k++;
    }
    return k == i;
}

uint8_t eg__rows_device(eg_tensor *const *in, int count)
{
    uint8_t device = count ? in[EG__OPTIM_PARAMETER]->device : 0;
    for (int i = 1; i < count; i++) {
        device = in[i * EG__OPTIM_SLOTS]->device == device ? device : 0;
    }
    return device;
}

bool eg__several_devices(eg_tensor *const *in, int count)
{
    for (int i = 1; i < count; i++) {
        if (in[i * EG__OPTIM_SLOTS]->device != in[0]->device) {
            return true;
        }
    }
    return false;
}

/* The rows of one device, as an update of their own. */
static eg_status run_there(const eg__call *all, uint8_t device, eg_tensor **in, int *group)
{
    const eg__optim_opts *opts = all->opts;
    eg__optim_opts own = *opts;
    eg__call c = *all;
    int n = 0;
    for (int i = 0; i < all->nin / EG__OPTIM_SLOTS; i++) {
        if (all->in[i * EG__OPTIM_SLOTS]->device == device) {
            memcpy(in + n * EG__OPTIM_SLOTS, all->in + i * EG__OPTIM_SLOTS, EG__OPTIM_SLOTS * sizeof *in);
            group[n++] = opts->group[i];
        }
    }
    own.group = group;
    c.in = in;
    c.nin = n * EG__OPTIM_SLOTS;
    c.device = device;
    c.opts = &own;
    return eg__run_call(&c);
}

eg_status eg__run_rows(eg__call *c)
{
    const int count = c->nin / EG__OPTIM_SLOTS;
    if (!eg__several_devices(c->in, count)) {
        return eg__run_call(c);
    }
    const size_t bytes = (size_t)c->nin * sizeof *c->in + (size_t)count * sizeof(int);
    eg_tensor **in = eg__malloc(bytes);
    eg_status st = in ? EG_OK : eg__no_memory(c->op->name, (int64_t)bytes);
    for (int i = 0; i < count && !st; i++) {
        st = first_there(c->in, i) ? run_there(c, c->in[i * EG__OPTIM_SLOTS]->device, in, (int *)(in + c->nin)) : EG_OK;
    }
    free(in);
    return st;
}

/* ---- norms ----------------------------------------------------------------------------------------- */

static eg_status norm_there(const char *op, eg_tensor **gradients, int n, uint8_t device, double p, double *norm)
{
    eg__call c = {.op = &eg__op_total_norm,
                  .T = eg__thread_get(),
                  .in = gradients,
                  .nin = n,
                  .device = device,
                  .opts = &(eg__total_norm_opts){.p = p}};
    eg__desc d = {.dtype = EG_F64, .device = device};
    eg__desc_dense(&d);
    c.out[EG__NORM_ITSELF] = eg__new(&d, op, EG__ID_total_norm);
    eg_status st = c.out[EG__NORM_ITSELF] ? eg__run_call(&c) : eg__why();
    return st ? st : eg_copy_out(c.out[EG__NORM_ITSELF], norm, sizeof *norm);
}

static double joined(double a, double b, double p)
{
    return isnan(a) || isnan(b) ? (double)NAN : p == 1 ? a + b : p == 2 ? hypot(a, b) : a > b ? a : b;
}

eg_status eg__total_norm(const char *op, eg_tensor **gradients, int n, double p, double *norm)
{
    eg_tensor **left = eg__malloc(2 * ((size_t)n + 1) * sizeof *left), **some = left ? left + n + 1 : NULL;
    eg_status st = left ? EG_OK : eg__no_memory(op, n * (int64_t)sizeof *left);
    int count = 0;
    for (int i = 0; i < n && !st; i++) {
        if (gradients[i]) {
            left[count++] = gradients[i];
            st = eg__follow_read(gradients[i], op);
        }
    }
    *norm = 0;
    do { /* of none there is one too, which is 0 */
        int of = 0, others = 0;
        const uint8_t device = count ? left[0]->device : 0;
        double there = 0;
        for (int i = 0; i < count && !st; i++) {
            if (left[i]->device == device) {
                some[of++] = left[i];
            } else {
                left[others++] = left[i];
            }
        }
        const bool single = of == count;
        count = others;
        st = st ? st : norm_there(op, some, of, device, p, &there);
        *norm = *norm == 0 && single ? there : joined(*norm, there, p);
    } while (count && !st);
    free(left);
    return st;
}
