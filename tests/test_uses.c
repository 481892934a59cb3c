/* test_uses.c - results do not depend on how often a weight was used before: what serves it faster from some use on,
 * like a packed copy, adds in the same order. Only so does training go on bit for bit after an evaluation or a
 * restart. */
#include "tests/egt.h"

enum { USES = 5, RESULTS = 3 };

/* x and w, and the operator between them. */
typedef eg_tensor *op(eg_tensor *x, eg_tensor *w);

static eg_tensor *linear(eg_tensor *x, eg_tensor *w)
{
    return eg_linear(x, w, NULL);
}

static eg_tensor *activated(eg_tensor *x, eg_tensor *w)
{
    return eg_linear(x, w, NULL, .activation = eg_relu);
}

static eg_tensor *matmul(eg_tensor *x, eg_tensor *w)
{
    return eg_matmul(x, w);
}

static eg_tensor *conv(eg_tensor *x, eg_tensor *w)
{
    return eg_conv2d(x, w, NULL, .padding = EG_SAME);
}

static eg_tensor *transposed(eg_tensor *x, eg_tensor *w)
{
    return eg_conv_transpose2d(x, w, NULL, .stride = 2, .padding = 1);
}

/* One weight for inputs and states, which are of one width. */
static eg_tensor *lstm(eg_tensor *x, eg_tensor *w)
{
    return eg_lstm(x, w, w).y;
}

static eg_tensor *gru(eg_tensor *x, eg_tensor *w)
{
    return eg_gru(x, w, w).y;
}

static bool equal_bits(const eg_tensor *a, const eg_tensor *b)
{
    return a && b && eg_numel(a) == eg_numel(b) &&
           !memcmp(eg_data(a), eg_data(b), (size_t)eg_numel(a) * eg_dtype_size(eg_dtype_of(a)));
}

/* y, dx and dw of sum(y * y) / 2, laid out row by row. */
static void use(op *f, eg_tensor *x, eg_tensor *w, eg_tensor *out[RESULTS])
{
    eg_tape tape = eg_tape_open();
    eg_tape_watch(tape, x);
    eg_tape_watch(tape, w);
    eg_tensor *y = f(x, w);
    eg_tensor *xs[] = {x, w};
    EGT_OK(eg_tape_gradients(tape, y, xs, 2, out + 1, .dy = y));
    out[0] = y;
    for (int i = 0; i < RESULTS; i++) {
        out[i] = eg_contiguous(out[i]);
    }
}

static void check_uses(const char *name, op *f, eg_tensor *x, eg_tensor *w)
{
    eg_tensor *first[RESULTS], *now[RESULTS];
    use(f, x, w, first);
    for (int n = 2; n <= USES; n++) {
        use(f, x, w, now);
        for (int i = 0; i < RESULTS; i++) {
            if (!equal_bits(now[i], first[i])) {
                egt_fail(__FILE__, __LINE__, "%s of %s: %s of use %d differs", name, eg_dtype_name(eg_dtype_of(x)),
                         (const char *[]){"y", "dx", "dw"}[i], n);
            }
        }
    }
}

/* Between random operands of each dtype whose weights are packed. */
static void check(const char *name, op *f, eg_shape x, eg_shape w)
{
    static const eg_dtype dtypes[] = {EG_F32, EG_BF16};
    for (int i = 0; i < 2; i++) {
        EG_SCOPE {
            check_uses(name, f, egt_random(x, dtypes[i], -1, 1), egt_random(w, dtypes[i], -1, 1));
        }
    }
}

static const int64_t rows[] = {1, 3, 5, 8, 16, 17, 32, 33, 64, 200};
enum { ROWS = sizeof rows / sizeof *rows };

EGT(products)
{
    static const int64_t sides[][2] = {{64, 96}, {200, 131}, {256, 512}, {600, 48}};
    for (int s = 0; s < 4; s++) {
        int64_t k = sides[s][0], n = sides[s][1];
        for (int i = 0; i < ROWS; i++) {
            int64_t m = rows[i];
            char name[80];
            snprintf(name, sizeof name, "%d x %d x %d", (int)m, (int)k, (int)n);
            check(name, linear, EG_SHAPE(m, k), EG_SHAPE(n, k));
            check(name, activated, EG_SHAPE(m, k), EG_SHAPE(n, k));
            check(name, matmul, EG_SHAPE(m, k), EG_SHAPE(k, n));
        }
    }
}

EGT(convolutions)
{
    static const int64_t sides[] = {1, 2, 4, 7, 14};
    static const int64_t channels[][2] = {{16, 32}, {64, 64}, {96, 256}};
    for (int s = 0; s < 5; s++) {
        for (int c = 0; c < 3; c++) {
            int64_t side = sides[s], in = channels[c][0], out = channels[c][1];
            for (int64_t n = 1; n <= 3; n += 2) {
                char name[80];
                snprintf(name, sizeof name, "%d images of %d, %d to %d channels", (int)n, (int)side, (int)in, (int)out);
                check(name, conv, EG_SHAPE(n, in, side, side), EG_SHAPE(out, in, 3, 3));
                check(name, conv, EG_SHAPE(n, in, side, side), EG_SHAPE(out, in, 1, 1));
                check(name, transposed, EG_SHAPE(n, in, side, side), EG_SHAPE(in, out, 4, 4));
            }
        }
    }
}

EGT(recurrences)
{
    for (int i = 0; i < ROWS; i++) {
        int64_t n = rows[i];
        char name[80];
        snprintf(name, sizeof name, "%d sequences", (int)n);
        check(name, lstm, EG_SHAPE(6, n, 72), EG_SHAPE(4 * 72, 72));
        check(name, gru, EG_SHAPE(6, n, 72), EG_SHAPE(3 * 72, 72));
    }
}
