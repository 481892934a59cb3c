/* promotion.c - which dtype comes out, for every pair that goes in; and values of mixed operands.
 */
#include "tests/golden/golden.h"

static eg_dtype dtype_named(const char *name)
{
    for (int d = 0; d < EG_DTYPE_COUNT; d++) {
        if (!strcmp(eg_dtype_name((eg_dtype)d), name)) {
            return (eg_dtype)d;
        }
    }
    egt_fail(__FILE__, __LINE__, "no dtype is called %s", name);
}

/* The dtypes a table's numbers mean, in order; how many. */
static int columns(const golden_case *c, eg_dtype *dtypes)
{
    char list[256];
    int count = 0;
    snprintf(list, sizeof list, "%s", golden_word(c, "dtypes"));
    for (char *name = strtok(list, ","); name && count < EG_DTYPE_COUNT; name = strtok(NULL, ",")) {
        dtypes[count++] = dtype_named(name);
    }
    return count;
}

/* The place of the dtype the op gives for ones of dtypes a and b (b < 0: of a alone); -1 for a
 * refusal. */
static int outcome(const golden_case *table, const eg_dtype *dtypes, int count, int a, int b)
{
    const golden_row *row = golden_find(table->op + strlen("table_"));
    golden_case c = *table;
    eg_tensor *out[GOLDEN_OUTPUTS] = {NULL};
    if (!row) {
        egt_fail(__FILE__, __LINE__, "%s: no row knows the op", table->name);
    }
    eg_shape shape = EG_SHAPE(2);
    shape.ndim = golden_is(table, "left", "zero") ? 0 : 1;
    c.x[0] = eg_ones(shape, dtypes[a]);
    shape.ndim = golden_is(table, "right", "zero") ? 0 : 1;
    c.x[1] = b < 0 ? NULL : eg_ones(shape, dtypes[b]);
    c.nx = b < 0 ? 1 : 2;
    if (!strcmp(table->op, "table_where")) {
        c.x[2] = c.x[1];
        c.x[1] = c.x[0];
        c.x[0] = eg_ones(EG_SCALAR, EG_BOOL);
    }
    if (!golden_run(row, &c, out)) {
        eg_clear_error();
        return -1;
    }
    for (int i = 0; i < count; i++) {
        if (dtypes[i] == eg_dtype_of(out[0])) {
            return i;
        }
    }
    return -1;
}

/* What the op makes of each pair. Pairs that PyTorch refuses are not compared: Egret may know more.
 */
static eg_tensor *table(const golden_case *c)
{
    eg_dtype dtypes[EG_DTYPE_COUNT];
    int count = columns(c, dtypes);
    eg_tensor *y = eg_zeros(eg_shape_of(c->y[0]), EG_I64);
    for (int64_t i = 0; i < eg_numel(y); i++) {
        bool pairs = eg_ndim(y) == 2;
        int a = (int)(pairs ? i / count : i), b = pairs ? (int)(i % count) : -1;
        double expected = eg_get(c->y[0], i);
        eg_set(y, i, expected < 0 ? expected : outcome(c, dtypes, count, a, b));
    }
    return y;
}

static eg_tensor *cast(const golden_case *c)
{
    return eg_cast(c->x[0], eg_dtype_of(c->y[0]));
}

#define TABLE(name)                        \
    {                                      \
        .op = "table_" #name, .one = table \
    }
GOLDEN_ROWS(promotion, TABLE(add), TABLE(sub), TABLE(mul), TABLE(div), TABLE(pow), TABLE(floor_divide),
            TABLE(remainder), TABLE(maximum), TABLE(atan2), TABLE(lt), TABLE(eq), TABLE(logical_and),
            TABLE(bitwise_and), TABLE(where), TABLE(concat), TABLE(exp), TABLE(sqrt), TABLE(sigmoid), TABLE(abs),
            TABLE(neg), TABLE(floor), TABLE(isnan), TABLE(relu), TABLE(sum), TABLE(prod), TABLE(mean), TABLE(max),
            TABLE(argmax), TABLE(var), TABLE(cumsum), TABLE(logsumexp), TABLE(softmax), {.op = "cast", .one = cast})
