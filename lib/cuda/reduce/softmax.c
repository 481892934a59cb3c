/* softmax.c - the host side of softmax, its logarithm and their gradients. */
#include "lib/cuda/reduce/softmax.h"
#include "lib/cuda/common/launches.h"
#include "lib/ops/options.h"

/* How many threads a line gets. */
static void share(eg__lines *l, int processors)
{
    enum { EACH = EG__SOFTMAX_HELD / 256 }; /* elements a thread holds at most */
    if (l->along) {
        const bool few = l->at.n * (l->n / EACH) < (int64_t)processors * 512;
        l->lanes = (unsigned)eg__power(few ? (l->n + 3) / 4 : (l->n + EACH - 1) / EACH, 256);
    } else {
        const bool few = l->at.n < (int64_t)processors * 512;
        const int64_t wanted = l->n / (few ? 4 : 64);
        l->lanes = 256 / (unsigned)eg__power(l->at.n, 256 / eg__power(wanted, 8));
    }
}

static eg_status softmax(const eg__call *c, eg_tensor *const *t, int nops, bool logarithm)
{
    eg__lines l;
    if (!c->out[0]->n) {
        return EG_OK;
    }
    eg__lines_make(&l, t, nops, ((const eg__scan_opts *)c->opts)->axis);
    if (l.n >= (int64_t)1 << 31) {
        return eg__fail(EG_ESHAPE, c->op->name,
                        "the axis has %lld elements, at most 2^31 - 1 are possible "
                        "on %s",
                        (long long)l.n, eg__cuda_at(c->device)->device->name);
    }
    share(&l, eg__cuda_at(c->device)->processors);
    return eg__launched(c, nops == 2 ? eg__launch_softmax(&l, logarithm, eg__stream_of(c))
                                     : eg__launch_softmax_grad(&l, logarithm, eg__stream_of(c)));
}

#define SOFTMAX(name, logarithm)                                                         \
    eg_status eg__cuda_##name(const eg__call *c)                                         \
    {                                                                                    \
        return softmax(c, (eg_tensor *[]){c->in[0], c->out[0]}, 2, logarithm);           \
    }                                                                                    \
    eg_status eg__cuda_##name##_grad(const eg__call *c)                                  \
    {                                                                                    \
        return softmax(c, (eg_tensor *[]){c->in[0], c->in[1], c->out[0]}, 3, logarithm); \
    }
SOFTMAX(softmax, false)
SOFTMAX(log_softmax, true)
