/* test_load_report.c - loading a part of a state, and what is reported of it. */
#include "tests/egt.h"

/* A convolution, a norm, and a layer for three classes. */
static eg_module *net_of(int64_t classes)
{
    return eg_sequential_new(eg_named("conv", eg_conv2d_new(1, 2, .kernel = 3)), eg_named("norm", eg_batch_norm_new(2)),
                             eg_flatten_new(), eg_named("fc", eg_linear_new(8, classes)));
}

/* What a net of three classes has, all numbers 5, with something in front of the names. */
static eg_tensors *state_of(const char *prefix)
{
    eg_module *net = net_of(3);
    eg_tensors *own = eg_module_state(net), *state = eg_tensors_new();
    for (int64_t i = 0; i < eg_tensors_count(own); i++) {
        char name[100];
        const eg_tensor *t = eg_tensors_at(own, i);
        snprintf(name, sizeof name, "%s%s", prefix, eg_tensors_name(own, i));
        EGT_OK(eg_tensors_set(state, name, eg_full(eg_shape_of(t), 5, eg_dtype_of(t))));
    }
    eg_tensors_free(own);
    EGT_OK(eg_module_free(net));
    return state;
}

static double first_of(eg_module *net, const char *name)
{
    eg_tensors *own = eg_module_state(net);
    double v = eg_get(eg_tensors_get(own, name), 0);
    eg_tensors_free(own);
    return v;
}

static eg_load_row row_of(const eg_load_report *report, const char *name)
{
    for (int64_t i = 0; i < eg_load_report_count(report); i++) {
        eg_load_row row = eg_load_report_at(report, i);
        if (!strcmp(row.name, name)) {
            return row;
        }
    }
    return (eg_load_row){.name = NULL};
}

/* The table, for free(). */
static char *printed(const eg_load_report *report)
{
    size_t n;
    FILE *file = fopen(egt_path("table"), "w");
    EGT_OK(eg_load_report_print(file, report));
    fclose(file);
    return egt_read(egt_path("table"), &n);
}

EGT(all_of_it)
{
    eg_module *net = net_of(3);
    eg_tensors *state = state_of("");
    eg_load_report *report;
    EGT_OK(eg_module_load_state(net, state, .report = &report));
    EGT_EQ(eg_load_report_count(report), eg_tensors_count(state));
    EGT_EQ(eg_load_report_of(report, EG_LOAD_LOADED), eg_tensors_count(state));
    EGT_CHECK(eg_load_report_done(report));
    EGT_STR(row_of(report, "fc.bias").from, "fc.bias");
    EGT_REFUSED(eg_load_report_at(report, eg_tensors_count(state)), EG_EINDEX, "9");
    EGT_REFUSED(eg_load_report_at(report, -1), EG_EINDEX, "-1");
    EGT_REFUSED(eg_load_report_at(NULL, 0), EG_EINVAL, "report");
    EGT_REFUSED(eg_load_report_print(NULL, report), EG_EINVAL, "stream");
    EGT_EQ(eg_load_report_of(report, (eg_load_fate)99), 0);
    eg_load_report_free(report);
    eg_load_report_free(NULL);
    eg_tensors_free(state);
    EGT_OK(eg_module_free(net));
}

EGT(every_fate)
{
    eg_module *net = net_of(4);
    eg_tensors *state = state_of("old."), *some = eg_tensors_new();
    eg_load_report *report = NULL;
    double bias = first_of(net, "fc.bias"), mean = first_of(net, "norm.running_mean");
    for (int64_t i = 0; i < eg_tensors_count(state); i++) { /* all but one, one as halves */
        const char *name = eg_tensors_name(state, i);
        eg_tensor *t = eg_tensors_at(state, i);
        if (strcmp(name, "old.norm.bias") != 0) {
            EGT_OK(eg_tensors_set(some, name, strcmp(name, "old.conv.bias") ? t : eg_cast(t, EG_F16)));
        }
    }
    EGT_OK(eg_tensors_set(some, "old.aux.weight", eg_zeros(EG_SHAPE(7), EG_F32)));
    EGT_OK(eg_tensors_set(some, "step", eg_scalar(3, EG_I64)));
    EGT_OK(eg_module_load_state(net, some, .prefix = "old.", .allow_missing = true, .allow_unexpected = true,
                                .trainable_only = true, .skip_shape = true, .report = &report));
    static const int64_t counts[] = {2, 1, 2, 0, 1, 3, 1};
    for (int fate = 0; fate < 7; fate++) {
        EGT_EQ(eg_load_report_of(report, (eg_load_fate)fate), counts[fate]);
    }
    EGT_EQ(eg_load_report_count(report), 10);
    EGT_EQ(row_of(report, "conv.weight").fate, EG_LOAD_LOADED);
    EGT_EQ(row_of(report, "conv.bias").from_dtype, EG_F16);
    EGT_EQ(row_of(report, "fc.weight").from_shape.dim[0], 3);
    EGT_EQ(row_of(report, "fc.weight").shape.dim[0], 4);
    EGT_CHECK(!row_of(report, "norm.bias").from);
    EGT_EQ(row_of(report, "norm.running_mean").fate, EG_LOAD_PASSED_OVER);
    EGT_STR(row_of(report, "aux.weight").from, "old.aux.weight");
    EGT_EQ(first_of(net, "conv.weight") + first_of(net, "conv.bias"), 10);
    EGT_EQ(first_of(net, "fc.bias"), bias);
    EGT_EQ(first_of(net, "norm.running_mean"), mean);
    char *table = printed(report);
    EGT_STR(table, "loaded                      2\n"
                   "  conv.weight               from old.conv.weight\n"
                   "  norm.weight               from old.norm.weight\n"
                   "converted                   1\n"
                   "  conv.bias                 f16 there, f32 here\n"
                   "of another shape            2\n"
                   "  fc.weight                 [3, 8] there, [4, 8] here\n"
                   "  fc.bias                   [3] there, [4] here\n"
                   "missing                     1\n"
                   "  norm.bias                 [2]\n"
                   "passed over                 3\n"
                   "  norm.running_mean         [2]\n"
                   "  norm.running_var          [2]\n"
                   "  norm.num_batches_tracked  []\n"
                   "left over                   1\n"
                   "  aux.weight                [7]\n");
    free(table);
    eg_load_report_free(report);
    eg_tensors_free(some);
    eg_tensors_free(state);
    EGT_OK(eg_module_free(net));
}

EGT(also_of_a_refusal)
{
    eg_module *net = net_of(4);
    eg_tensors *state = state_of("");
    eg_load_report *report;
    double before = first_of(net, "conv.weight");
    EGT_REFUSED(eg_module_load_state(net, state, .report = &report), EG_ESHAPE, "[3, 8] there and [4, 8] here");
    EGT_EQ(eg_load_report_of(report, EG_LOAD_OTHER_SHAPE), 2);
    EGT_CHECK(!eg_load_report_done(report));
    EGT_EQ(first_of(net, "conv.weight"), before);
    char *table = printed(report);
    EGT_CHECK(!strncmp(table, "nothing was loaded\n", 19));
    free(table);
    eg_load_report_free(report);
    EGT_OK(eg_tensors_set(state, "fc.weight", eg_zeros(EG_SHAPE(4, 8), EG_I32)));
    EGT_REFUSED(eg_module_load_state(net, state, .skip_shape = true, .report = &report), EG_EDTYPE, "i32");
    EGT_EQ(eg_load_report_of(report, EG_LOAD_OTHER_DTYPE), 1);
    eg_load_report_free(report);
    EGT_REFUSED(eg_module_load_state(net, state, .prefix = "none.", .report = &report), EG_EFORMAT, "missing");
    EGT_EQ(eg_load_report_of(report, EG_LOAD_MISSING), 9);
    eg_load_report_free(report);
    report = (eg_load_report *)net;
    EGT_REFUSED(eg_module_load(net, egt_path("none"), .report = &report), EG_EIO, "none");
    EGT_CHECK(!report);
    char prefix[600];
    memset(prefix, 'p', sizeof prefix);
    prefix[sizeof prefix - 1] = '\0';
    EGT_REFUSED(eg_module_load_state(net, state, .prefix = prefix, .report = &report), EG_EINVAL, "prefix");
    EGT_CHECK(!report);
    eg_tensors_free(state);
    EGT_OK(eg_module_free(net));
}

EGT(long_lists_are_counted)
{
    eg_module *net = net_of(3);
    eg_tensors *state = state_of("");
    eg_load_report *report;
    for (int i = 0; i < 30; i++) {
        char name[100];
        snprintf(name, sizeof name, "a.rather.long.name.that.is.longer.than.any.column.should.be.%d", i);
        EGT_OK(eg_tensors_set(state, name, eg_zeros(EG_SHAPE(1), EG_F32)));
    }
    EGT_OK(eg_module_load_state(net, state, .allow_unexpected = true, .report = &report));
    char *table = printed(report);
    EGT_CHECK(strstr(table, "should.be.7  [1]\n  and 22 more\n") && !strstr(table, "should.be.8"));
    EGT_CHECK(strstr(table, "  and 1 more\n"));
    free(table);
    eg_load_report_free(report);
    eg_tensors_free(state);
    EGT_OK(eg_module_free(net));
}

/* What a map of names made of others' is reported by what they call it. */
EGT(names_of_others)
{
    eg_module *net = eg_linear_new(2, 2);
    eg_tensors *theirs = eg_tensors_new();
    EGT_OK(eg_tensors_set(theirs, "fc6/weights", eg_ones(EG_SHAPE(2, 2), EG_F32)));
    eg_tensors *ours = eg_tensors_renamed(theirs, "fc6/weights weight dense\n");
    eg_load_report *report;
    EGT_OK(eg_module_load_state(net, ours, .allow_missing = true, .report = &report));
    EGT_STR(row_of(report, "weight").from, "fc6/weights");
    eg_tensors_free(ours); /* the report does not need it */
    eg_tensors_free(theirs);
    EGT_OK(eg_module_free(net));
    EGT_STR(row_of(report, "weight").from, "fc6/weights");
    eg_load_report_free(report);
}

static bool load_some(void *user)
{
    eg_module *net = net_of(4);
    eg_load_report *report = NULL;
    bool done = net && !eg_module_load_state(net, user, .skip_shape = true, .report = &report);
    done = done && eg_load_report_count(report) == 9;
    eg_load_report_free(report);
    return net && eg_module_free(net) == EG_OK && done;
}

EGT(without_memory)
{
    eg_tensors *state = state_of("");
    EGT_CHECK(egt_fail_allocations(load_some, state) > 0);
    eg_tensors_free(state);
}
