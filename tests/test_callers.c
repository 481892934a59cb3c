/* test_callers.c - callers that do what they should not: functions that fail in silence, things freed twice, given
 * to two, put into themselves, or asked for in sizes that no memory has. */
#include "tests/egt.h"

#include <float.h>

/* ---- functions that fail without a word ------------------------------------------------------------- */

static eg_tensor *silent(eg_tensor *x)
{
    (void)x;
    return NULL;
}

static eg_tensor *silent_of_many(eg_tensor *const *in, int n, void *user)
{
    (void)in;
    (void)n;
    (void)user;
    return NULL;
}

static eg_status silent_step(void *user, eg_tensor *const *in, int nin, eg_tensor **out, int nout)
{
    (void)user;
    (void)in;
    (void)nin;
    (void)out;
    (void)nout;
    return EG_EINVAL;
}

static eg_status silent_map(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)in;
    (void)n;
    (void)out;
    (void)m;
    (void)user;
    return EG_EINVAL;
}

static eg_tensor *silent_forward(eg_module *m, eg_tensor *x)
{
    (void)m;
    (void)x;
    return NULL;
}

EGT(silent_functions)
{
    eg_tensor *x = eg_ones(EG_SHAPE(1, 2, 4, 4), EG_F32), *w = eg_ones(EG_SHAPE(3, 2, 3, 3), EG_F32), *out;
    eg_tensor *y = eg_ones(EG_SHAPE(2, 2), EG_F32);
    EGT_REFUSED(eg_conv2d(x, w, NULL, .activation = silent), EG_EUSER, "activation failed without a word");
    EGT_REFUSED(eg_linear(y, y, NULL, .activation = silent), EG_EUSER, "activation failed without a word");
    EGT_REFUSED(eg_checkpoint(silent_of_many, &x, 1, NULL), EG_EUSER, "failed without a word");
    eg_tape tape = eg_tape_open();
    EGT_OK(eg_tape_watch(tape, x));
    EGT_REFUSED(eg_checkpoint(silent_of_many, &x, 1, NULL), EG_EUSER, "failed without a word");
    EGT_OK(eg_tape_close(tape));
    eg_module *m = eg_activation_new(silent);
    EGT_REFUSED(eg_module_forward(m, x), EG_EUSER, "failed without a word");
    EGT_OK(eg_module_free(m));
    static const eg_module_kind kind = {.size = sizeof kind, .name = "mine", .forward = silent_forward};
    m = eg_module_finish(eg_module_new(sizeof(eg_module), &kind));
    EGT_REFUSED(eg_module_forward(m, x), EG_EUSER, "forward failed without a word");
    EGT_OK(eg_module_free(m));
    eg_step *step = eg_step_new(silent_step, NULL);
    EGT_REFUSED(eg_step_run(step, &x, 1, &out, 1), EG_EUSER, "failed without a word");
    eg_step_free(step);
    eg_dataset *d = eg_dataset_map(eg_dataset_from_tensors(&y, 1), silent_map, NULL);
    EGT_REFUSED(eg_dataset_first(d), EG_EUSER, "failed without a word");
    eg_dataset_free(d);
}

/* ---- arguments -------------------------------------------------------------------------------------- */

EGT(no_arrays)
{
    eg_tensor *x = eg_ones(EG_SHAPE(2, 2), EG_F64), *g = NULL;
    EGT_REFUSED(eg_as_strided(x, EG_SHAPE(2), NULL, 0), EG_EINVAL, "strides");
    EGT_REFUSED(eg_to_values(x, NULL), EG_EINVAL, "values");
    EGT_REFUSED(eg_copy_out(x, NULL, 32), EG_EINVAL, "data");
    EGT_REFUSED(eg_meshgrid(&g, 1, &g), EG_EINVAL, "xs[0]");
    eg_tensor *line = eg_ones(EG_SHAPE(2), EG_F64);
    EGT_REFUSED(eg_meshgrid(&line, 1, NULL), EG_EINVAL, "out");
    EGT_REFUSED(eg_scope_pop_n(eg_scope_push(), NULL, 2), EG_EINVAL, "results");
    EGT_REFUSED(eg_scope_pop_n(eg_scope_push(), &x, -1), EG_EINVAL, "n is -1");
    eg_tape tape = eg_tape_open();
    EGT_OK(eg_tape_watch(tape, x));
    eg_tensor *y = eg_sum(x);
    EGT_REFUSED(eg_tape_gradients(tape, y, NULL, 1, &g), EG_EINVAL, "xs");
    EGT_REFUSED(eg_tape_gradients(tape, y, &x, 1, NULL), EG_EINVAL, "out");
    EGT_REFUSED(eg_tape_gradients(tape, y, &x, -1, &g), EG_EINVAL, "n is -1");
    EGT_OK(eg_tape_gradients(tape, y, &x, 1, &g)); /* the refusals left it as it was */
    EGT_EQ(eg_get(g, 3), 1);
}
