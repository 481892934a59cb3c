/* test_attention.c - the rows of attention beside the composition they stand for: values, gradients, which weights are
 * dropped, what a row that sees nothing becomes, how results lie. */
#include "lib/ops/options.h"
#include "lib/ops/optable.h"
#include "tests/egt.h"

typedef struct setting {
    eg_tensor *in[4], *dy;
    eg__attention_opts o;
} setting;

static eg_tensor *drawn(eg_shape shape)
{
    return egt_random(shape, EG_F64, -1, 1);
}

/* q, k, v of these leading axes. */
static setting made(eg_shape q, eg_shape k, int64_t t, int64_t s)
{
    setting x = {.o = {.scale = 0.6}};
    eg_shape kv = k;
    q.dim[q.ndim++] = t, q.dim[q.ndim++] = 5;
    k.dim[k.ndim++] = s, k.dim[k.ndim++] = 5;
    kv.dim[kv.ndim++] = s, kv.dim[kv.ndim++] = 3;
    x.in[0] = drawn(q);
    x.in[1] = drawn(k);
    x.in[2] = drawn(kv);
    return x;
}

static void masked(setting *x, eg_tensor *mask)
{
    x->in[3] = mask;
    x->o.mask = true;
}

/* The value of the row, with gradients by its rule; recorded: those that go on. */
static void of_row(setting *x, bool recorded, eg_tensor **y, eg_tensor **g)
{
    eg_tensor *out[EG__MAX_OUT];
    eg_tape outer = {0};
    if (recorded) {
        outer = eg_tape_open();
    }
    eg_tape tape = eg_tape_open();
    for (int i = 0; i < 3; i++) {
        EGT_OK(eg_tape_watch(tape, x->in[i]));
    }
    EGT_OK(eg__dispatch(&eg__op_attention, x->in, 4, &x->o, out));
    EGT_OK(eg_tape_gradients(tape, out[0], x->in, 3, g, .dy = x->dy));
    *y = out[0];
    if (recorded) {
        eg_tape_close(outer);
    }
}

static void of_composition(setting *x, eg_tensor **y, eg_tensor **g)
{
    const eg_random_state back = eg_random_get_state();
    eg_tensor *weights;
    eg_random_set_state(x->o.from);
    eg_tape tape = eg_tape_open();
    for (int i = 0; i < 3; i++) {
        EGT_OK(eg_tape_watch(tape, x->in[i]));
    }
    *y = eg_attention(x->in[0], x->in[1], x->in[2], .mask = x->in[3], .causal = x->o.causal, .scale = x->o.scale,
                      .dropout = x->o.dropout, .softcap = x->o.softcap, .window = x->o.window,
                      .corner = x->o.upper_left ? EG_UPPER_LEFT : EG_LOWER_RIGHT, .weights = &weights);
    EGT_CHECK(*y != NULL);
    x->dy = drawn(eg_shape_of(*y));
    EGT_OK(eg_tape_gradients(tape, *y, x->in, 3, g, .dy = x->dy));
    eg_random_set_state(back);
}

static void compare(setting *x)
{
    eg_tensor *y[3], *g[3][3];
    x->o.from = (eg_random_state){.seed = 77, .offset = 3};
    of_composition(x, &y[0], g[0]);
    of_row(x, false, &y[1], g[1]);
    of_row(x, true, &y[2], g[2]);
    for (int i = 1; i < 3; i++) {
        EGT_CHECK(egt_distance(y[i], y[0]) < 1e-13);
        for (int j = 0; j < 3; j++) {
            EGT_CHECK(egt_distance(g[i][j], g[0][j]) < 1e-13);
        }
    }
}

static void all_ways(eg_shape q, eg_shape k, int64_t t, int64_t s)
{
    for (int way = 0; way < 128; way++) {
        EG_SCOPE {
            setting x = made(q, k, t, s);
            eg_tensor *seen = eg_ge_scalar(drawn(EG_SHAPE(t, s)), -0.2);
            x.o.causal = way & 1;
            x.o.dropout = way & 2 ? 0.3 : 0;
            x.o.upper_left = way & 16;
            x.o.window = way & 32 ? 1 + (way & 1) : 0;
            x.o.softcap = way & 64 ? 0.5 : 0;
            if (way & 4) {
                masked(&x, way & 8 ? seen : drawn(EG_SHAPE(1, s)));
            }
            compare(&x);
        }
    }
}

EGT(rows_are_the_composition)
{
    all_ways(EG_SHAPE(2, 3), EG_SHAPE(2, 3), 4, 7);
    all_ways(EG_SHAPE(2, 3), EG_SHAPE(3), 3, 3);
    all_ways(EG_SHAPE(3), EG_SHAPE(2, 1), 5, 6);
    all_ways((eg_shape){0}, EG_SHAPE(2), 1, 4);
}

/* Queries before the first key, behind the window or with nothing that a mask lets through: they, their weights and
 * their gradients are 0, those of the others what they are without them. */
EGT(rows_that_see_nothing)
{
    for (int way = 0; way < 6; way++) {
        EG_SCOPE {
            setting x = made(EG_SHAPE(2), EG_SHAPE(2), 6, 4);
            eg_tensor *late = eg_ge_scalar(eg_unsqueeze(eg_arange(0, 6, 1, EG_F64), 1), 2), *y, *g[3];
            x.o.causal = way != 1 && way != 3;
            x.o.dropout = way == 2 ? 0.5 : 0;
            x.o.softcap = way == 4 ? 0.7 : 0;
            x.o.window = way == 5 ? 1 : 0;
            if (way == 1) {
                masked(&x, late);
            } else if (way == 3) {
                masked(&x, eg_where(late, eg_scalar(0.5, EG_F64), eg_scalar(-(double)INFINITY, EG_F64)));
            }
            compare(&x);
            of_row(&x, false, &y, g);
            EGT_EQ(eg_item(eg_sum(eg_ne_scalar(eg_slice(y, 1, 0, 2, 1), 0))), 0);
            EGT_EQ(eg_item(eg_sum(eg_ne_scalar(eg_slice(g[0], 1, 0, 2, 1), 0))), 0);
            EGT_CHECK(way == 2 || eg_item(eg_all(eg_ne_scalar(eg_slice(y, 1, 2, 6, 1), 0))) == 1);
            for (int i = 0; i < 3; i++) {
                EGT_CHECK(eg_item(eg_all(eg_isfinite(g[i]))) == 1 && eg_item(eg_sum(eg_abs(g[i]))) > 0);
            }
        }
    }
}

/* Which keys are seen, by the weights. */
static void check_seen(const eg_attention_options *o, int64_t t, int64_t s, const char *rows)
{
    eg_attention_options with = *o;
    eg_tensor *weights = NULL, *x = drawn(EG_SHAPE(1, 3));
    with.size = sizeof with;
    with.weights = &weights;
    eg_tensor *k = eg_tile(x, EG_SHAPE(s, 1));
    EGT_CHECK(eg_attention_with(eg_tile(x, EG_SHAPE(t, 1)), k, k, &with));
    for (int64_t i = 0; i < t * s; i++) {
        const char seen = eg_get(weights, i) != 0 ? '1' : '0';
        if (seen != rows[i + i / s]) {
            egt_fail(__FILE__, __LINE__, "query %d, key %d: %c in %s", (int)(i / s), (int)(i % s), seen, rows);
        }
    }
}

EGT(places_of_queries)
{
#define SEEN(t, s, rows, ...) check_seen(&(eg_attention_options){__VA_ARGS__}, t, s, rows)
    SEEN(2, 4, "1111 1111", .dropout = 0);
    SEEN(2, 4, "1110 1111", .causal = true);
    SEEN(2, 4, "1000 1100", .causal = true, .corner = EG_UPPER_LEFT);
    SEEN(4, 2, "00 00 10 11", .causal = true);
    SEEN(4, 2, "10 11 11 11", .causal = true, .corner = EG_UPPER_LEFT);
    SEEN(3, 3, "100 110 011", .causal = true, .window = 1);
    SEEN(3, 3, "110 111 011", .window = 1);
    SEEN(3, 5, "01110 00111 00011", .window = 1);
    SEEN(3, 5, "11000 11100 01110", .window = 1, .corner = EG_UPPER_LEFT);
    SEEN(4, 2, "11 11 01 00", .window = 1, .corner = EG_UPPER_LEFT);
    SEEN(4, 2, "10 11 01 00", .causal = true, .window = 1, .corner = EG_UPPER_LEFT);
    SEEN(2, 3, "110 111", .causal = true, .window = INT64_MAX);
    SEEN(2, 3, "111 111", .window = INT64_MAX, .corner = EG_UPPER_LEFT);
#undef SEEN
}

/* One query, two keys: the scores 2 and -1 become 3 tanh(2 / 3) and 3 tanh(-1 / 3), then the mask is added. */
EGT(a_soft_cap_by_hand)
{
    eg_tensor *q = eg_ones(EG_SHAPE(1, 1), EG_F64), *k = eg_from_values(EG_SHAPE(2, 1), EG_F64, (double[]){2, -1});
    eg_tensor *mask = eg_from_values(EG_SHAPE(1, 2), EG_F64, (double[]){0.25, 7}), *weights;
    EGT_CHECK(eg_attention(q, k, k, .scale = 1, .softcap = 3, .mask = mask, .weights = &weights));
    const double a = 3 * tanh(2.0 / 3) + 0.25, b = 3 * tanh(-1.0 / 3) + 7;
    EGT_NEAR(eg_get(weights, 0), 1 / (1 + exp(b - a)), 1e-14);
    EGT_REFUSED(eg_attention(q, k, k, .softcap = -1), EG_EINVAL, "softcap is -1");
    EGT_REFUSED(eg_attention(q, k, k, .softcap = (double)NAN), EG_EINVAL, "softcap");
    EGT_REFUSED(eg_attention(q, k, k, .window = -2), EG_EINVAL, "window is -2");
    EGT_REFUSED(eg_attention(q, k, k, .corner = 2), EG_EINVAL, "corner is 2");
}

EGT(shapes_that_do_not_fit)
{
    eg_tensor *q = drawn(EG_SHAPE(2, 3, 4)), *k = drawn(EG_SHAPE(2, 5, 4)), *out[EG__MAX_OUT];
    eg_tensor *mask = eg_ones(EG_SHAPE(4, 5), EG_BOOL), *three = drawn(EG_SHAPE(3, 5, 4));
    eg__attention_opts o = {.scale = 1, .mask = true};
    eg_tensor *bad[][4] = {{q, k, k, mask}, {q, q, k, NULL}, {q, three, k, NULL}, {q, k, eg_cast(k, EG_F32), NULL}};
    for (int i = 0; i < 4; i++) {
        EGT_EQ(eg__dispatch(&eg__op_attention, bad[i], 4, &o, out), i == 3 ? EG_EDTYPE : EG_ESHAPE);
        eg_clear_error();
    }
}

/* Heads side by side in memory give a result whose heads are. */
EGT(results_lie_as_queries_do)
{
    eg_tensor *wide = drawn(EG_SHAPE(2, 5, 3, 3, 4)), *in[4] = {NULL}, *out[EG__MAX_OUT];
    eg__attention_opts o = {.scale = 1};
    for (int i = 0; i < 3; i++) {
        in[i] = eg_permute(eg_select(wide, 2, i), EG_AXES(0, 2, 1, 3));
    }
    EGT_OK(eg__dispatch(&eg__op_attention, in, 4, &o, out));
    EGT_CHECK(eg_is_contiguous(eg_permute(out[0], EG_AXES(0, 2, 1, 3))));
    EGT_CHECK(egt_distance(out[0], eg_attention(in[0], in[1], in[2], .scale = 1)) < 1e-13);
}

/* Heads in groups: as if keys and values were repeated for each, dropped weights too. */
EGT(groups_are_repeated_keys)
{
    for (int way = 0; way < 16; way++) {
        EG_SCOPE {
            eg_tensor *q = drawn(EG_SHAPE(2, 6, 5, 4)), *k = drawn(EG_SHAPE(2, 3, 7, 4)), *y[2], *weights[2] = {NULL};
            eg_tensor *v = drawn(way & 8 ? EG_SHAPE(1, 7, 3) : EG_SHAPE(2, 3, 7, 3));
            eg_tensor *wide[2] = {eg_repeat_interleave(k, 2, 1), way & 8 ? v : eg_repeat_interleave(v, 2, 1)};
            const eg_random_state state = eg_random_get_state();
            for (int i = 0; i < 2; i++) {
                eg_random_set_state(state);
                y[i] =
                    eg_attention(q, i ? wide[0] : k, i ? wide[1] : v, .causal = way & 1, .dropout = way & 2 ? 0.4 : 0,
                                 .slopes = eg_alibi_slopes(6, EG_F64), .weights = way & 4 ? &weights[i] : NULL);
            }
            EGT_CHECK(egt_distance(y[0], y[1]) < 1e-13);
            EGT_CHECK(!weights[0] || egt_distance(weights[0], weights[1]) < 1e-13);
        }
    }
    EGT_REFUSED(eg_attention(drawn(EG_SHAPE(5, 2, 4)), drawn(EG_SHAPE(2, 3, 4)), drawn(EG_SHAPE(2, 3, 4))), EG_ESHAPE,
                "");
}

/* Sizes at which tiles of halves have instructions of their own, and edges of blocks, beside f64. */
static void beside_f64(void)
{
    static const int64_t sizes[][4] = {{32, 32, 32, 32},  {64, 128, 64, 64},  {33, 45, 32, 64}, {70, 130, 64, 32},
                                       {130, 70, 96, 32}, {40, 1100, 32, 32}, {5, 300, 24, 40}, {1, 1030, 32, 24}};
    for (int k = 0; k < EG__COUNT(sizes); k++) {
        for (int way = 0; way < 32; way++) {
            EG_SCOPE {
                const int64_t *n = sizes[k];
                const eg_dtype dtype = way & 1 ? EG_BF16 : EG_F32;
                eg_tensor *in[3], *wide[3], *mask = eg_ge_scalar(drawn(EG_SHAPE(2, 1, n[0], n[1])), -0.5);
                for (int i = 0; i < 3; i++) { /* heads side by side */
                    eg_shape shape = EG_SHAPE(2, i ? n[1] : n[0], i ? 2 : 4, n[2 + i / 2]);
                    in[i] = eg_permute(eg_cast(drawn(shape), dtype), EG_AXES(0, 2, 1, 3));
                    wide[i] = eg_cast(in[i], EG_F64);
                }
                eg_attention_options o = {.size = sizeof o, .causal = way & 2, .window = way & 4 ? 20 : 0};
                o.mask = way & 8 ? mask : NULL;
                o.dropout = way & 16 ? 0.3 : 0;
                o.scale = way & 4 ? 0.3 : 0;
                o.slopes = way & 8 ? eg_alibi_slopes(4, EG_F32) : NULL;
                const eg_random_state state = eg_random_get_state();
                eg_tensor *y = eg_attention_with(in[0], in[1], in[2], &o), *weights;
                eg_random_set_state(state);
                o.weights = &weights;
                eg_tensor *want = eg_attention_with(wide[0], wide[1], wide[2], &o);
                EGT_CHECK(egt_distance(eg_cast(y, EG_F64), want) < (way & 1 ? 2e-2 : 1e-5));
            }
        }
    }
}

EGT(tiles_and_more)
{
    static const char *const sets[] = {"base", "avx2", "avx512"};
    const char *was = eg_cpu_isa();
    for (int set = 0; set < 3; set++) {
        if (eg_debug_isa(sets[set])) {
            eg_clear_error(); /* not in this build, or not on this processor */
            continue;
        }
        beside_f64();
        EG_SCOPE {
            setting x = made(EG_SHAPE(2), EG_SHAPE(2), 70, 137);
            x.o.causal = true;
            compare(&x);
            x = made(EG_SHAPE(3), EG_SHAPE(1), 1, 40);
            compare(&x);
        }
    }
    EGT_OK(eg_debug_isa(was));
}

/* Few heads, whose keys are in parts, and many; of one query and of blocks; by any number of threads. */
EGT(threads_change_no_bits)
{
    static const int64_t sizes[][3] = {{1, 1, 1030}, {1, 40, 1100}, {2, 300, 300}, {20, 33, 45}};
    const int threads = eg_threads();
    for (int k = 0; k < 2 * EG__COUNT(sizes); k++) {
        EG_SCOPE {
            const int64_t *n = sizes[k / 2];
            eg_tensor *in[3], *first[4] = {NULL};
            for (int i = 0; i < 3; i++) {
                in[i] = eg_cast(drawn(EG_SHAPE(n[0], i ? n[2] : n[1], 32)), k % 2 ? EG_BF16 : EG_F32);
            }
            for (int t = 1; t < 6; t += 1 + t / 3) {
                eg_tensor *y[4];
                eg_set_threads(t);
                eg_tape tape = eg_tape_open();
                for (int i = 0; i < 3; i++) {
                    EGT_OK(eg_tape_watch(tape, in[i]));
                }
                y[3] = eg_attention(in[0], in[1], in[2], .causal = n[1] == n[2]);
                EGT_OK(eg_tape_gradients(tape, y[3], in, 3, y, .dy = eg_detach(y[3])));
                for (int i = 0; i < 4; i++) {
                    EGT_EQ(first[i] ? egt_distance(y[i], first[i]) : 0, 0);
                    first[i] = t == 1 ? y[i] : first[i];
                }
            }
        }
    }
    eg_set_threads(threads);
}

static void check_slopes(int64_t heads, int n, const double *exponents)
{
    eg_tensor *slopes = eg_alibi_slopes(heads, EG_F64);
    EGT_EQ(eg_numel(slopes), n);
    for (int i = 0; i < n; i++) {
        EGT_NEAR(eg_get(slopes, i), exp2(-exponents[i]), 1e-15);
    }
}

EGT(slopes_of_heads)
{
#define SLOPES(heads, ...) check_slopes(heads, EG_COUNT_(double, __VA_ARGS__), (double[]){__VA_ARGS__})
    SLOPES(1, 8);
    SLOPES(8, 1, 2, 3, 4, 5, 6, 7, 8);
    SLOPES(6, 2, 4, 6, 8, 1, 3);
    SLOPES(12, 1, 2, 3, 4, 5, 6, 7, 8, 0.5, 1.5, 2.5, 3.5);
#undef SLOPES
    EGT_REFUSED(eg_alibi_slopes(0, EG_F32), EG_EINVAL, "heads is 0");
    EGT_REFUSED(eg_alibi_slopes(2, EG_I64), EG_EDTYPE, "dtype is i64");
    eg_tensor *q = drawn(EG_SHAPE(2, 3, 4));
    EGT_REFUSED(eg_attention(q, q, q, .slopes = eg_alibi_slopes(3, EG_F64)), EG_ESHAPE, "slopes is [3]");
    EGT_REFUSED(eg_attention(q, q, q, .slopes = eg_ones(EG_SHAPE(2), EG_I64)), EG_EDTYPE, "slopes is i64");
}

/* What slopes add is a mask of floats. */
EGT(slopes_are_a_mask)
{
    for (int way = 0; way < 8; way++) {
        EG_SCOPE {
            eg_tensor *q = drawn(EG_SHAPE(2, 5, 3)), *k = drawn(EG_SHAPE(2, 8, 3));
            eg_tensor *slopes = eg_from_values(EG_SHAPE(2), EG_F64, (double[]){0.5, 0.125});
            const int64_t from = way & 1 ? 0 : 3;
            eg_tensor *t = eg_unsqueeze(eg_arange((double)from, (double)from + 4.5, 1, EG_F64), 1);
            eg_tensor *far = eg_abs(eg_sub(t, eg_arange(0, 7.5, 1, EG_F64)));
            eg_tensor *mask = eg_mul(eg_reshape(eg_neg(slopes), EG_SHAPE(2, 1, 1)), far);
            eg_attention_options o = {.size = sizeof o, .causal = way & 2, .corner = way & 1 ? EG_UPPER_LEFT : 0};
            o.softcap = way & 4 ? 0.7 : 0;
            o.mask = mask;
            eg_tensor *want = eg_attention_with(q, k, k, &o);
            o.mask = NULL;
            o.slopes = slopes;
            EGT_CHECK(egt_distance(eg_attention_with(q, k, k, &o), want) < 1e-13);
        }
    }
}

/* What the most memory was beyond the inputs. */
static int64_t more_bytes(int64_t t, eg_dtype dtype, bool back)
{
    eg_scope s = eg_scope_push();
    eg_tensor *in[3], *g[3] = {NULL};
    eg_tape tape = {0};
    for (int i = 0; i < 3; i++) {
        in[i] = eg_cast(drawn(EG_SHAPE(1, 8, t, 64)), dtype);
    }
    if (back) {
        tape = eg_tape_open();
        for (int i = 0; i < 3; i++) {
            EGT_OK(eg_tape_watch(tape, in[i]));
        }
    }
    eg_memory_trim();
    eg_memory_reset_peak();
    const int64_t before = eg_memory_stats().reserved_bytes;
    eg_tensor *y = eg_attention(in[0], in[1], in[2], .causal = true);
    if (back) {
        EGT_OK(eg_tape_gradients(tape, y, in, 3, g, .dy = eg_detach(y)));
    }
    const int64_t most = eg_memory_stats().peak_bytes - before;
    eg_scope_pop(s, NULL);
    return most;
}

/* The result and the gradients of the inputs, and less than 16 MiB; of weights there would be 128 at T = 2048,
 * several times. Large blocks are reserved in units of 32 MiB; tensor headers and small blocks take less than 1 MiB. */
EGT(memory_grows_with_the_sequence)
{
    enum { MIB = 1 << 20, PIECE = 32 * MIB };
    const int threads = eg_threads();
    eg_set_threads(2);
    for (int64_t t = 1024; t <= 4096; t *= 2) {
        for (int way = 0; way < 4; way++) {
            const int64_t each = t * 512 * (way & 1 ? 2 : 4), results = way & 2 ? 4 * each : each;
            const int64_t most = results + t / 2048 * 16 * MIB + (t < 2048 ? 16 * MIB : 0);
            const int64_t allowed = (most + PIECE - 1) / PIECE * PIECE + MIB;
            EGT_CHECK(more_bytes(t, way & 1 ? EG_BF16 : EG_F32, way & 2) <= allowed);
        }
    }
    eg_set_threads(threads);
}
