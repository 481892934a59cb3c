/* test_cuda_random.c - random numbers on a device are those of the CPU, bit for bit. */
#include "tests/cuda/module.h"

enum { KINDS = 17 };

static eg_tensor *kind(int k, int64_t n)
{
    eg_shape s = EG_SHAPE(n);
    switch (k) {
    case 0:
        return eg_uniform(s, -3, 7, EG_F32);
    case 1:
        return eg_uniform(s, 0.1, 0.3, EG_F64);
    case 2:
        return eg_uniform(s, 0, 1, EG_F16);
    case 3:
        return eg_normal(s, 1, 2, EG_F32);
    case 4:
        return eg_normal(s, 1, 2, EG_F64);
    case 5:
        return eg_normal(s, 0, 1, EG_BF16);
    case 6:
        return eg_truncated_normal(s, 1, 3, EG_F32);
    case 7:
        return eg_truncated_normal(s, 0, 1, EG_F64);
    case 8:
        return eg_bernoulli(s, 0.3, EG_BOOL);
    case 9:
        return eg_bernoulli(s, 0.7, EG_F32);
    case 10:
        return eg_bernoulli(s, 0.5, EG_BF16);
    case 11:
        return eg_bernoulli(s, 0.1, EG_I64);
    case 12:
        return eg_randint(s, -5, 1000, EG_I64);
    case 13:
        return eg_randint(s, INT64_MIN, INT64_MAX, EG_I64);
    case 14:
        return eg_randint(s, 0, 256, EG_U8);
    case 15:
        return eg_randint(s, -7, 70000, EG_I32);
    default:
        return eg_permutation(n);
    }
}

static bool same_state(eg_random_state a, eg_random_state b)
{
    return a.seed == b.seed && a.offset == b.offset;
}

/* Both devices from one state; then both must have moved it equally. */
static void compare(int k, int64_t n, eg_random_state from)
{
    eg_scope s = eg_scope_push();
    snprintf(egt_case, sizeof egt_case, "kind %d, n %lld", k, (long long)n);
    eg_random_set_state(from);
    eg_tensor *here = kind(k, n);
    eg_random_state after = eg_random_get_state();
    eg_random_set_state(from);
    eg_device *before = eg_use_device(cuda(0));
    eg_tensor *there = kind(k, n);
    eg_use_device(before);
    EGT_CHECK(there && eg_device_of(there) == cuda(0));
    EGT_CHECK(same_state(eg_random_get_state(), after));
    EGT_CHECK(egt_same_bits(here, there));
    eg_scope_pop(s, NULL);
}

EGT(the_numbers_are_those_of_the_cpu)
{
    static const int64_t sizes[] = {0, 1, 2, 3, 4, 5, 7, 8, 1023, 1024, 1025, 2047, 4099};
    const eg_random_state far[] = {{17, 0}, {~(uint64_t)0, ((uint64_t)1 << 32) - 3}, {5, (uint64_t)1 << 40}};
    for (int k = 0; k < KINDS; k++) {
        for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++) {
            compare(k, sizes[i], far[i % 3]);
        }
    }
    eg_seed(0);
}

EGT(long_permutations)
{
    compare(16, 70001, (eg_random_state){3, 9});
    eg_seed(0);
}

/* Every layout, for y is laid out like x; and the gradient drops the same. */
EGT(dropout_drops_what_the_cpu_drops)
{
    static const eg_dtype dtypes[] = {EG_F32, EG_F64, EG_F16, EG_BF16};
    eg_device *d = cuda(0);
    for (int i = 0; i < 24; i++) {
        EG_SCOPE {
            snprintf(egt_case, sizeof egt_case, "case %d", i);
            eg_shape s = i / 12 ? EG_SHAPE(3, 5, 7, 8) : EG_SHAPE(2, 3, 5, 7);
            eg_tensor *x = eg_cast(egt_random(s, EG_F32, -1, 1), dtypes[i % 4]), *y[2], *dx[2];
            int layout = i / 4 % 3;
            for (int on = 0; on < 2; on++) {
                eg_tensor *v = on ? eg_to(x, d) : x;
                v = layout == 1 ? eg_channels_last(v) : layout == 2 ? eg_slice(v, 3, 1, EG_END, 2) : v;
                eg_random_set_state((eg_random_state){1, ((uint64_t)1 << 32) - 2});
                eg_tape tape = eg_tape_open();
                eg_tape_watch(tape, v);
                y[on] = eg_dropout(v, 0.4, true);
                EGT_CHECK(eg_is_channels_last(y[on]) == (layout == 1));
                EGT_OK(eg_tape_gradients(tape, y[on], &v, 1, &dx[on], .dy = y[on]));
            }
            EGT_EQ(egt_distance(y[0], eg_to(y[1], eg_cpu())), 0);
            EGT_EQ(egt_distance(dx[0], eg_to(dx[1], eg_cpu())), 0);
        }
    }
    eg_seed(0);
}

EGT(draws_are_those_of_the_cpu)
{
    static const int64_t classes[] = {1, 5, 31, 257, 3000, 9001};
    eg_device *d = cuda(0);
    for (int i = 0; i < 2 * (int)(sizeof classes / sizeof *classes); i++) {
        EG_SCOPE {
            const bool logits = i % 2;
            eg_tensor *x = egt_random(EG_SHAPE(3, classes[i / 2]), i % 4 < 2 ? EG_F32 : EG_F64, 0, 1);
            eg_seed(11);
            eg_tensor *here = eg_categorical(x, 50, .logits = logits);
            eg_random_state after = eg_random_get_state();
            eg_seed(11);
            eg_tensor *there = eg_categorical(eg_to(x, d), 50, .logits = logits);
            EGT_CHECK(same_state(eg_random_get_state(), after));
            EGT_CHECK(egt_same_bits(here, there));
        }
    }
    eg_seed(0);
}

EGT(bad_weights_are_reported_when_the_host_waits)
{
    eg_device *d = cuda(0);
    eg_tensor *p = eg_from_values(EG_SHAPE(2, 3), EG_F32, (double[]){1, 2, 3, 1, -2, (double)NAN});
    EGT_CHECK(eg_categorical(eg_to(p, d), 3) != NULL);
    EGT_EQ(eg_device_synchronize(d), EG_EINVAL);
    EGT_CHECK(strstr(eg_last_error()->message, "row 1, class 1"));
    eg_tensor *y = eg_categorical(eg_to(eg_zeros(EG_SHAPE(2, 3), EG_F32), d), 3);
    EGT_EQ(eg_device_synchronize(d), EG_EINVAL);
    EGT_CHECK(strstr(eg_last_error()->message, "sum to 0"));
    eg_clear_error();
    y = eg_to(y, eg_cpu()); /* the device lives */
    for (int i = 0; i < 6; i++) {
        EGT_CHECK(eg_get(y, i) >= 0 && eg_get(y, i) < 3);
    }
    eg_seed(0);
}
