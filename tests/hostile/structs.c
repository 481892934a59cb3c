/* structs.c - values that are structs, and fields of options. */
#include "tests/hostile/values.h"

#include <string.h>

/* ---- structs ------------------------------------------------------------------------------------ */

static eg_tensor *rectified(eg_tensor *const *in, int n, void *user)
{
    (void)user;
    return n ? eg_relu(in[0]) : NULL;
}

static eg_status backward(eg_tensor *const *in, int n, eg_tensor *y, eg_tensor *dy, unsigned needed, eg_tensor **dx,
                          void *user)
{
    (void)in;
    (void)n;
    (void)y;
    (void)needed;
    (void)user;
    dx[0] = dy;
    return EG_OK;
}

static eg_tensors *state(void *user)
{
    (void)user;
    eg_tensors *t = eg_tensors_new();
    eg_tensors_set(t, "weight", eg_zeros(EG_SHAPE(3, 3), EG_F32));
    return t;
}

static eg_status load(void *user, const eg_tensors *t)
{
    (void)user;
    (void)t;
    return EG_OK;
}

static eg_tensor *forward(eg_module *m, eg_tensor *x)
{
    (void)m;
    return eg_relu(x);
}

eg_schedule v_schedule(void)
{
    return EG_SCHEDULE(.kind = EG_RATE_EXPONENTIAL, .lr = 0.1, .steps = 10, .factor = 0.5);
}

eg_custom_op v_custom_op(void)
{
    return (eg_custom_op){.size = sizeof(eg_custom_op), .name = "mine", .forward = rectified, .backward = backward};
}

eg_module_kind v_module_kind(void)
{
    return (eg_module_kind){.size = sizeof(eg_module_kind), .name = "mine", .forward = forward};
}

eg_saver_part v_saver_part(void)
{
    return (eg_saver_part){.size = sizeof(eg_saver_part), .state = state, .load = load};
}

/* ---- fields of options -------------------------------------------------------------------------- */

static eg_tensor *says_nothing(eg_tensor *x)
{
    (void)x;
    return NULL;
}

#define SET(name, type)                                  \
    void set_##name(const hostile *h, int slot, type *v) \
    {                                                    \
        if (h->at == slot) {                             \
            *v = v_##name(h, slot);                      \
        }                                                \
    }
SET(real, double)
SET(int64, int64_t)
SET(int, int)
SET(shape, eg_shape)
SET(axes, eg_axes)

void set_bool(const hostile *h, bool *v)
{
    *v = v_bool(h);
}

void set_enum(const hostile *h, int slot, void *v, size_t bytes)
{
    if (h->at == slot && bytes == sizeof(int)) {
        int e = v_enum(h, slot);
        memcpy(v, &e, sizeof e);
    }
}

void set_tensor(const hostile *h, int slot, eg_tensor **v)
{
    if (h->at == slot) {
        *v = h->how == 0 ? v_plausible(h, 1) : v_tensor(h, slot, 1);
    }
}

void set_activation(const hostile *h, int slot, one_fn **v)
{
    if (h->at == slot) {
        *v = says_nothing;
    }
}
