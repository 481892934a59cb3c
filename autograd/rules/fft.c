/* fft.c - gradients of Fourier transforms: the transform the other way, with the factor of this
 * one. */
#include "autograd/rules/rules.h"

eg_status eg__grad_fft(eg__walk *w)
{
    eg__fft_opts o = *(const eg__fft_opts *)w->opts;
    o.inverse = !o.inverse;
    return eg__give(w, 0, eg__op1(&eg__op_fft, eg__dy(w, 0), &o));
}

/* Bins times `inner`, but for those without a conjugate: bin 0, and n / 2 of an even n. */
static eg_tensor *weighted(eg_tensor *bins, const eg__fft_opts *o, double inner)
{
    if (!bins) {
        return NULL;
    }
    int64_t m = bins->shape[o->axis], twins = (o->n - 1) / 2;
    eg_shape shape = {.ndim = bins->ndim, .dim = {1, 1, 1, 1, 1, 1, 1, 1}};
    eg_pad_options pad = {.size = sizeof pad, .value = 1};
    shape.dim[o->axis] = twins;
    pad.before[o->axis] = 1;
    pad.after[o->axis] = m - 1 - twins;
    return eg_mul(bins, eg_pad_with(eg__full_on(bins->device, shape, inner, (eg_dtype)bins->dtype), &pad));
}

/* The inverse transform adds every conjugate, of which this sum knows nothing. */
eg_status eg__grad_rfft(eg__walk *w)
{
    const eg__fft_opts *o = w->opts;
    return eg__give(w, 0, eg__op1(&eg__op_irfft, weighted(eg__dy(w, 0), o, 0.5), o));
}

eg_status eg__grad_irfft(eg__walk *w)
{
    const eg__fft_opts *o = w->opts;
    return eg__give(w, 0, weighted(eg__op1(&eg__op_rfft, eg__dy(w, 0), o), o, 2));
}
