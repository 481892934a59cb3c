/* cases.h - what the sweep (test_ops.c) tries of each op. A family's file under tests/cases/ lists its cases
 * with EGT_CASES; the sweep then checks for every case
 *   - the value, in each dtype of the case and for inputs laid out contiguous, transposed, with gaps,
 *     channels-last, back to front, and inside a larger tensor: tuned kernels against the reference loops,
 *     f16/bf16/f32 against f64
 *   - the gradient of every float input not in `skip` by finite differences in f64, also through inputs of
 *     odd layouts, and the gradient of the gradient unless EGT_NO_SECOND
 *   - that each input replaced by NULL is refused in words
 *   - that each allocation of a forward and backward may fail: in words, leaving nothing behind
 * and that every row of the op table is named by some case. */
#ifndef EGRET_CASES_H
#define EGRET_CASES_H

#include "tests/egt.h"

typedef struct egt_input {
    eg_shape shape;
    double low, high; /* uniform in between; integers rounded down */
    int fixed;        /* 0: the dtype of the run; else 1 + the dtype it always has (indices, masks) */
} egt_input;

enum {
    EGT_NO_GRAD = 1,    /* no gradient to check */
    EGT_NO_SECOND = 2,  /* piecewise linear, or not twice differentiable on purpose */
    EGT_NO_HALF = 4,    /* not for f16 and bf16 */
    EGT_NO_LAYOUT = 8,  /* contiguous inputs only: the op looks at the layout itself */
    EGT_INTS = 16,      /* also in i64, i32, u8, exactly */
    EGT_BOOL = 32,      /* also in bool, exactly */
    EGT_NO_REF = 64,    /* a composition or a random op: compared in layouts and dtypes only */
    EGT_NO_FLOAT = 128, /* integers only */
};

enum { EGT_MAX_INPUTS = 8 };

/* A row says the first four in their order and names the rest, where it is not 0:
 *     {"where", "broadcast", where, {{DIMS(3, 1), 0, 2, 1 + EG_BOOL}, IN(3, 4), IN(2, 1, 4)}, .flags = EGT_INTS} */
typedef struct egt_op_case {
    const char *ops;                                         /* names of the rows it tries, separated by spaces */
    const char *name;                                        /* of the case, unique within its ops */
    eg_tensor *(*f)(eg_tensor *const *x, int n, void *user); /* an eg_function */
    egt_input in[EGT_MAX_INPUTS];                            /* as many as are given */
    unsigned flags, skip;                                    /* skip: bit i, input i has no gradient */
    double tolerance; /* of f32 values against f64, relative to 1 + |v|; 0: 1e-5; halves 2e-2 */
    void *user;
} egt_op_case;

/* How many inputs the case has. One is given if it says anything: axes, numbers or a dtype. */
static inline int egt_inputs(const egt_op_case *k)
{
    int n = 0;
    for (const egt_input *in = k->in; n < EGT_MAX_INPUTS; in++, n++) {
        if (!in->shape.ndim && in->low == 0 && in->high == 0 && !in->fixed) {
            break;
        }
    }
    return n;
}

typedef struct egt_op_cases {
    const egt_op_case *cases;
    int count;
    struct egt_op_cases *next;
} egt_op_cases;

void egt_add_cases(egt_op_cases *c);

/* The shape of an input. */
#define DIMS(...)                        \
    {                                    \
        EG_COUNT_(int64_t, __VA_ARGS__), \
        {                                \
            __VA_ARGS__                  \
        }                                \
    }
/* A case's function in one expression of its inputs. */
#define CASE_FUNCTION(name, call)                                  \
    static eg_tensor *name(eg_tensor *const *x, int n, void *user) \
    {                                                              \
        (void)n, (void)user;                                       \
        return call;                                               \
    }

/* EGT_CASES(pool, {...}, {...}) in tests/cases/pool.c */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers" /* what a row leaves out is meant to be 0 */
#define EGT_CASES(family, ...)                                                   \
    __attribute__((constructor)) static void egt_add_##family(void)              \
    {                                                                            \
        static const egt_op_case list[] = {__VA_ARGS__};                         \
        static egt_op_cases c = {list, (int)(sizeof list / sizeof *list), NULL}; \
        egt_add_cases(&c);                                                       \
    }

#endif
