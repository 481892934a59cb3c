/* optim_loops.h - the optimizers' rules for an element type T; optim.c includes it per type. x holds the parameter, its
 * gradient and its states, NULL where there is none. */

/* The group's numbers in T. */
typedef struct TYPED(numbers) {
#define NUMBER(name, value) T name;
#define FLAG(name)          bool name;
    EG__UPDATE_NUMBERS(NUMBER) EG__UPDATE_FLAGS(FLAG)
#undef NUMBER
#undef FLAG
} TYPED(numbers);

static inline TYPED(numbers) TYPED(numbers_of)(const eg__optim_group *o)
{
#define NUMBER(name, value) .name = (T)(value),
#define FLAG(flag)          .flag = o->flag,
    return (TYPED(numbers)){EG__UPDATE_NUMBERS(NUMBER) EG__UPDATE_FLAGS(FLAG)};
#undef NUMBER
#undef FLAG
}

/* The gradient as rules see it. Comparisons so that NaN passes. */
static inline T TYPED(slope)(const TYPED(numbers) * k, T g, T p)
{
    g *= k->scale;
    g = g > k->limit ? k->limit : g;
    g = g < -k->limit ? -k->limit : g;
    return g + k->decay * p;
}

/* has0..has2: whether there are these states; keep: whether zeros stay. Constants, so that each combination is a loop
 * of its own. */
#define EG_UPDATE(rule, states, ...)                                                                               \
    static inline void TYPED(rule##_of)(const eg__optim_group *o, char *const *x, int64_t n, bool has0, bool has1, \
                                        bool has2, bool keep)                                                      \
    {                                                                                                              \
        const TYPED(numbers) k = TYPED(numbers_of)(o);                                                             \
        T *restrict p = (T *)x[0], *restrict s0 = (T *)x[2], *restrict s1 = (T *)x[3], *restrict s2 = (T *)x[4];   \
        const T *restrict g = (const T *)x[1];                                                                     \
        for (int64_t i = 0; i < n; i++) {                                                                          \
            T S0 = has0 ? s0[i] : 0, S1 = has1 ? s1[i] : 0, S2 = has2 ? s2[i] : 0;                                 \
            T P = p[i];                                                                                            \
            const bool stays = keep && P == 0;                                                                     \
            T G = stays ? 0 : TYPED(slope)(&k, g[i], P);                                                           \
            __VA_ARGS__;                                                                                           \
            p[i] = stays ? 0 : P;                                                                                  \
            if (has0) {                                                                                            \
                s0[i] = S0;                                                                                        \
            }                                                                                                      \
            if (has1) {                                                                                            \
                s1[i] = S1;                                                                                        \
            }                                                                                                      \
            if (has2) {                                                                                            \
                s2[i] = S2;                                                                                        \
            }                                                                                                      \
        }                                                                                                          \
    }                                                                                                              \
    static void TYPED(rule)(const eg__optim_group *o, char *const *x, int64_t n)                                   \
    {                                                                                                              \
        WITH_##states(TYPED(rule##_of));                                                                           \
    }
#include "lib/ops/updates.def"
#undef EG_UPDATE

/* Whether n elements are all zero; most rows that are not show it soon. */
static bool TYPED(zeros)(const char *data, int64_t n)
{
    const T *restrict x = (const T *)data;
    for (int64_t at = 0; at < n; at += STRETCH) {
        const int64_t end = eg__min(at + STRETCH, n);
        int other = 0;
        for (int64_t i = at; i < end; i++) {
            other |= x[i] != 0;
        }
        if (other) {
            return false;
        }
    }
    return true;
}
