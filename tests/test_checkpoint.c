/* test_checkpoint.c - a function through eg_checkpoint has exactly the values and gradients of the function itself: all
 * numbers here are integers that f64 holds exactly, so the order of sums does not matter. */
#include "tests/egt.h"

/* Tensors that functions find outside of their inputs. */
typedef struct world {
    eg_tensor *a, *b, *v; /* watched */
    eg_tensor *w, *p;     /* parameters */
    eg_tensor *c;         /* neither */
    bool checkpointed;
    uint64_t program; /* seed of a random one */
} world;

typedef eg_tensor *function(eg_tensor *const *in, int n, void *user);

static eg_tensor *call(function *f, eg_tensor *const *in, int n, world *at)
{
    return at->checkpointed ? eg_checkpoint(f, in, n, at) : f(in, n, at);
}

/* ---- functions of two inputs ----------------------------------------------------------------------- */

#define FUNCTION(name, result)                                      \
    static eg_tensor *name(eg_tensor *const *in, int n, void *user) \
    {                                                               \
        world *at = user;                                           \
        eg_tensor *x = in[0], *y = in[1];                           \
        (void)at, (void)n, (void)x, (void)y;                        \
        return result;                                              \
    }

FUNCTION(product, eg_mul(x, y))
FUNCTION(of_the_first, eg_mul(eg_square(x), x))
FUNCTION(of_the_second, eg_square(y))
FUNCTION(first_input, x)
FUNCTION(second_input, y)
FUNCTION(watched_outside, at->v)
FUNCTION(parameter_outside, at->w)
FUNCTION(constant_outside, at->c)
FUNCTION(new_constant, eg_add_scalar(at->c, 2))
FUNCTION(detached_input, eg_detach(x))
FUNCTION(half_detached, eg_mul(x, eg_detach(eg_mul(x, y))))
FUNCTION(reads_outside, eg_mul(eg_add(x, at->v), eg_sub(y, at->c)))
FUNCTION(one_parameter, eg_mul(eg_mul(x, at->w), eg_add(y, at->w)))
FUNCTION(two_parameters, eg_add(eg_matmul(x, at->w), eg_mul(at->p, y)))
FUNCTION(input_is_read_outside_too, eg_mul(eg_mul(x, at->a), eg_add(at->b, y)))
FUNCTION(broadcasts, eg_mul(eg_sum(x, .axes = EG_AXES(0), .keepdim = true), eg_add(y, eg_sum(y))))
FUNCTION(a_view, eg_transpose(x, 0, 1))
FUNCTION(joined_twice, eg_concat((eg_tensor *[]){x, y, x}, 3, 0))
FUNCTION(drops, eg_mul(eg_dropout(x, 0.5, true), eg_dropout(y, 0.5, true)))
FUNCTION(drops_nothing, eg_dropout(x, 0.5, false))
FUNCTION(nested, call(one_parameter, in, n, at))
FUNCTION(nested_and_more, eg_mul(call(product, (eg_tensor *[]){eg_add(x, y), x}, 2, at), at->v))
FUNCTION(nested_input, eg_mul(call(second_input, in, n, at), x))
FUNCTION(nested_is_all, call(first_input, in, n, at))
FUNCTION(nested_outside, eg_mul(call(parameter_outside, in, n, at), x))
FUNCTION(nested_drops, eg_mul(call(drops, in, n, at), eg_dropout(x, 0.5, true)))

/* In-place ops on tensors that no tape follows. */
static eg_tensor *in_place(eg_tensor *const *in, int n, void *user)
{
    world *at = user;
    (void)n;
    eg_tensor *t = eg_copy(at->c);
    t = eg_add_(t, eg_detach(in[1]));
    t = t ? eg_mul_scalar_(t, 3) : NULL;
    return eg_mul(in[0], eg_add(in[1], t));
}

/* The gradient of sum(x x y) with respect to x, 2 x y, by a tape inside. */
static eg_tensor *tape_inside(eg_tensor *const *in, int n, void *user)
{
    eg_tensor *dx = NULL;
    (void)n, (void)user;
    eg_tape tape = eg_tape_open();
    if (eg_tape_watch(tape, in[0]) || eg_tape_watch(tape, in[1]) ||
        eg_tape_gradients(tape, eg_sum(eg_mul(eg_square(in[0]), in[1])), in, 1, &dx)) {
        return NULL;
    }
    return eg_mul(dx, in[0]);
}

static eg_tensor *product_forward(eg_tensor *const *x, int n, void *user)
{
    (void)n, (void)user;
    return eg_mul(x[0], x[1]);
}

static eg_status product_backward(eg_tensor *const *x, int n, eg_tensor *y, eg_tensor *dy, unsigned needed,
                                  eg_tensor **dx, void *user)
{
    (void)n, (void)y, (void)user;
    for (int i = 0; i < 2; i++) {
        dx[i] = needed >> i & 1 ? eg_mul(dy, x[1 - i]) : NULL;
        if (needed >> i & 1 && !dx[i]) {
            return eg_last_error()->code;
        }
    }
    return EG_OK;
}

static eg_tensor *first_forward(eg_tensor *const *x, int n, void *user)
{
    (void)n, (void)user;
    return x[0];
}

static eg_status first_backward(eg_tensor *const *x, int n, eg_tensor *y, eg_tensor *dy, unsigned needed,
                                eg_tensor **dx, void *user)
{
    (void)x, (void)n, (void)y, (void)user;
    dx[0] = needed & 1 ? dy : NULL;
    return EG_OK;
}

static const eg_custom_op product_op = {sizeof product_op, "product", product_forward, product_backward, NULL};
static const eg_custom_op first_op = {sizeof first_op, "first", first_forward, first_backward, NULL};

FUNCTION(custom, eg_mul(eg_custom(&product_op, in, n), at->w))
FUNCTION(custom_is_all, eg_custom(&product_op, in, n))
FUNCTION(custom_of_an_input, eg_mul(eg_custom(&first_op, in, n), y))

static const struct {
    const char *name;
    function *f;
} functions[] = {
#define ROW(f) \
    {          \
#f, f  \
    }
    ROW(product),
    ROW(of_the_first),
    ROW(of_the_second),
    ROW(first_input),
    ROW(second_input),
    ROW(watched_outside),
    ROW(parameter_outside),
    ROW(constant_outside),
    ROW(new_constant),
    ROW(detached_input),
    ROW(half_detached),
    ROW(reads_outside),
    ROW(one_parameter),
    ROW(two_parameters),
    ROW(input_is_read_outside_too),
    ROW(broadcasts),
    ROW(a_view),
    ROW(joined_twice),
    ROW(drops),
    ROW(drops_nothing),
    ROW(nested),
    ROW(nested_and_more),
    ROW(nested_input),
    ROW(nested_is_all),
    ROW(nested_outside),
    ROW(nested_drops),
    ROW(in_place),
    ROW(tape_inside),
    ROW(custom),
    ROW(custom_is_all),
    ROW(custom_of_an_input),
};

/* ---- inputs and tapes ------------------------------------------------------------------------------ */

typedef enum inputs { DISTINCT, TWICE, DERIVED, VIEW, PARAMETER, UNTRACKED, CONSTANTS, INPUT_PATTERNS } inputs;

static void choose_inputs(inputs pattern, const world *at, eg_tensor **in)
{
    in[0] = pattern == PARAMETER ? at->w : pattern == CONSTANTS ? at->c : at->a;
    in[1] = pattern == DISTINCT    ? at->b
            : pattern == TWICE     ? at->a
            : pattern == DERIVED   ? eg_add(at->a, at->w)
            : pattern == VIEW      ? eg_transpose(at->a, 0, 1)
            : pattern == PARAMETER ? at->w
                                   : at->c;
    in[2] = at->a;
}

/* FEW: gradients of the parameters alone are asked for. */
enum { PERSISTENT = 1, SECOND = 2, OUTER = 4, FEW = 8, MODES = 16, XS = 5, MOST = 3 * XS };

typedef struct answers {
    eg_tensor *value, *gradient[MOST];
    eg_random_state random;
} answers;

/* A scalar in which the result is used twice, beside one of the inputs. */
static eg_tensor *loss_of(eg_tensor *y, const world *at)
{
    return y ? eg_add(eg_sum(eg_square(y)), eg_sum(eg_mul(at->a, at->w))) : NULL;
}

/* The gradients of the loss and, from an outer tape, those of the sum of their squares. */
static eg_status ask(eg_tape tape, eg_tape outer, int mode, eg_tensor *loss, eg_tensor *const *xs, answers *r)
{
    const int n = mode & FEW ? 2 : XS;
    xs += XS - n;
    eg_status st = eg_tape_gradients(tape, loss, xs, n, r->gradient, .null_unconnected = true);
    if (!st && mode & PERSISTENT) {
        st = eg_tape_gradients(tape, loss, xs, n, r->gradient + XS, .null_unconnected = true);
    }
    eg_tensor *sum = loss;
    for (int i = 0; i < XS && !st && mode & SECOND; i++) {
        sum = r->gradient[i] ? eg_add(sum, eg_sum(eg_square(r->gradient[i]))) : sum;
    }
    if (!st && mode & (SECOND | OUTER)) {
        st = eg_tape_gradients(outer, sum, xs, n, r->gradient + 2 * XS, .null_unconnected = true);
    }
    return sum ? st : eg_last_error()->code;
}

/* Answers are kept. */
static eg_status answer(function *f, inputs pattern, int mode, world *at, answers *r)
{
    eg_tensor *in[3], *xs[XS] = {at->a, at->b, at->v, at->w, at->p};
    eg_status st = EG_OK;
    memset(r, 0, sizeof *r);
    eg_seed(7);
    EG_SCOPE {
        eg_tape outer = {0};
        if (mode & (SECOND | OUTER)) {
            outer = eg_tape_open();
        }
        eg_tape tape = eg_tape_open(.persistent = mode & PERSISTENT);
        for (int i = 0; i < 3 && !st; i++) {
            st = eg_tape_watch(tape, xs[i]);
        }
        choose_inputs(pattern, at, in);
        eg_tensor *y = st ? NULL : call(f, in, 3, at), *loss = loss_of(y, at);
        st = st ? st : loss ? ask(tape, outer, mode, loss, xs, r) : eg_last_error()->code;
        r->random = eg_random_get_state();
        r->value = eg_keep(y);
        for (int i = 0; i < MOST; i++) {
            r->gradient[i] = st ? NULL : eg_keep(r->gradient[i]);
        }
    }
    return st;
}

static void release(answers *r)
{
    eg_release(r->value);
    for (int i = 0; i < MOST; i++) {
        eg_release(r->gradient[i]);
    }
}

static bool same_or_none(eg_tensor *a, eg_tensor *b)
{
    return a && b ? egt_distance(a, b) == 0 : a == b;
}

static void compare(function *f, inputs pattern, int mode, world *at)
{
    answers plain, got;
    at->checkpointed = false;
    EGT_OK(answer(f, pattern, mode, at, &plain));
    at->checkpointed = true;
    EGT_OK(answer(f, pattern, mode, at, &got));
    EGT_CHECK(same_or_none(got.value, plain.value));
    EGT_CHECK(got.random.seed == plain.random.seed && got.random.offset == plain.random.offset);
    for (int i = 0; i < MOST; i++) {
        if (!same_or_none(got.gradient[i], plain.gradient[i])) {
            egt_fail(__FILE__, __LINE__, "gradient %d differs (inputs %d, mode %d, program %llu)", i, pattern, mode,
                     (unsigned long long)at->program);
        }
    }
    release(&plain);
    release(&got);
}

/* Small integers: products of a dozen of them and their sums are exact. */
static eg_tensor *integers(void)
{
    return eg_cast(eg_randint(EG_SHAPE(2, 2), -2, 4, EG_I64), EG_F64);
}

static void make_world(world *at, uint64_t seed)
{
    eg_seed(seed);
    *at = (world){.a = integers(), .b = integers(), .v = integers(), .c = integers()};
    at->w = eg_parameter(integers());
    at->p = eg_parameter(integers());
}

static void end_world(world *at)
{
    eg_release(at->w);
    eg_release(at->p);
}

EGT(checkpoints_have_the_gradients_of_their_functions)
{
    world at;
    make_world(&at, 1);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        snprintf(egt_case, sizeof egt_case, "checkpoint of %s", functions[i].name);
        for (int k = 0; k < INPUT_PATTERNS * MODES; k++) {
            compare(functions[i].f, (inputs)(k / MODES), k % MODES, &at);
        }
    }
    end_world(&at);
}

/* ---- random programs --------------------------------------------------------------------------------- */

static uint32_t draw(uint64_t *state, uint32_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % below;
}

static eg_tensor *one_product(eg_tensor *const *in, int n, void *user)
{
    (void)user;
    return n > 1 ? eg_mul(in[0], in[1]) : eg_add(in[0], in[0]);
}

/* One op on values x and y and a leaf; products are with leaves alone, so that numbers stay small. */
static eg_tensor *random_op(uint64_t *state, world *at, eg_tensor *x, eg_tensor *y, eg_tensor *leaf)
{
    switch (draw(state, 12)) {
    case 0:
        return eg_add(x, y);
    case 1:
        return eg_sub(x, y);
    case 2:
        return eg_mul(x, leaf);
    case 3:
        return eg_matmul(leaf, x);
    case 4:
        return eg_transpose(x, 0, 1);
    case 5:
        return eg_detach(x);
    case 6:
        return eg_sub(y, eg_sum(x, .axes = EG_AXES(1), .keepdim = true));
    case 7:
        return eg_dropout(x, 0.5, draw(state, 2));
    case 8:
        return eg_custom(&product_op, (eg_tensor *[]){x, leaf}, 2);
    case 9:
        return call(one_product, (eg_tensor *[]){x, leaf}, 2, at);
    case 10:
        return call(one_product, &x, 1, at);
    default:
        return call(draw(state, 2) ? first_input : second_input, (eg_tensor *[]){x, y}, 2, at);
    }
}

static eg_tensor *random_program(eg_tensor *const *in, int n, void *user)
{
    enum { LENGTH = 7, LEAVES = 7 };
    world *at = user;
    uint64_t state = at->program;
    eg_tensor *value[LEAVES + LENGTH] = {in[0], in[n - 1], at->a, at->v, at->w, at->p, at->c};
    int count = LEAVES;
    for (int length = (int)draw(&state, LENGTH + 1); length > 0; length--) {
        eg_tensor *x = value[draw(&state, (uint32_t)count)], *y = value[draw(&state, (uint32_t)count)];
        value[count] = random_op(&state, at, x, y, value[draw(&state, LEAVES)]);
        if (!value[count++]) {
            return NULL;
        }
    }
    return draw(&state, 8) ? value[count - 1] : value[draw(&state, (uint32_t)count)];
}

EGT(random_programs_in_checkpoints)
{
    world at;
    for (uint64_t program = 1; program <= 5000; program++) {
        EG_SCOPE {
            make_world(&at, program);
            at.program = program * 0x9e3779b97f4a7c15u;
            compare(random_program, (inputs)(program % INPUT_PATTERNS), (int)(program / INPUT_PATTERNS) % MODES, &at);
            end_world(&at);
        }
    }
}

/* ---- custom ops of one tensor twice ------------------------------------------------------------------ */

EGT(custom_ops_with_one_tensor_twice)
{
    const eg_custom_op *const ops[] = {&product_op, &first_op};
    for (int k = 0; k < 4; k++) {
        eg_tensor *x = eg_scalar(3, EG_F64), *in[2] = {x, x}, *dx, *ddx;
        eg_tape outer = eg_tape_open(), tape = eg_tape_open();
        EGT_OK(eg_tape_watch(tape, x));
        eg_tensor *y = k / 2 ? eg_mul(eg_custom(ops[k % 2], in, 2), x) : eg_custom(ops[k % 2], in, 2);
        EGT_OK(eg_tape_gradients(tape, y, &x, 1, &dx)); /* of x^2, x, x^3, x^2 */
        EGT_EQ(eg_item(dx), ((double[]){6, 1, 27, 6})[k]);
        if (k != 1) {
            EGT_OK(eg_tape_gradients(outer, dx, &x, 1, &ddx));
            EGT_EQ(eg_item(ddx), ((double[]){2, 0, 18, 2})[k]);
        } else {
            EGT_OK(eg_tape_close(outer));
        }
    }
}

/* ---- failures ---------------------------------------------------------------------------------------- */

static bool job(void *user)
{
    answers r;
    bool ok = !answer(two_parameters, TWICE, SECOND, user, &r);
    ok = ok && !eg_last_error()->code;
    release(&r);
    return ok;
}

EGT(checkpoints_without_memory)
{
    world at;
    make_world(&at, 3);
    at.checkpointed = true;
    EGT_CHECK(egt_fail_allocations(job, &at) > 10);
    end_world(&at);
}
