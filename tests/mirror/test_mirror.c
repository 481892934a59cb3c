/* test_mirror.c - an engine from a module that the library does not know: found by its name, moved to, computed and
 * trained on, and refused what it does not have. */
#define _POSIX_C_SOURCE 200809L
#include <sys/wait.h>
#include <unistd.h>

#include <egret/egret.h>

#include "tests/egt.h"

static const double six[] = {1, -2, 3, -4, 5, -6};

static eg_tensor *six_on(eg_device *d)
{
    return eg_to(eg_from_values(EG_SHAPE(2, 3), EG_F32, six), d);
}

/* ---- which there are ---------------------------------------------------------------------------------- */

EGT(names)
{
    eg_device *d = eg_device_open("mirror");
    EGT_STR(eg_device_name(d), "mirror:0");
    EGT_CHECK(eg_device_open("mirror:0") == d && eg_device_open("mirror:1") != d);
    EGT_REFUSED(eg_device_open("mirror:2"), EG_ENODEVICE, "no device mirror:2: there are 2");
    EGT_REFUSED(eg_device_open("mirror:"), EG_EINVAL, "is no device");
    EGT_REFUSED(eg_device_open("Mirror"), EG_EINVAL, "is no device");
    EGT_REFUSED(eg_device_open("../mirror"), EG_EINVAL, "is no device");
    EGT_REFUSED(eg_device_open(""), EG_EINVAL, "is no device");
    EGT_REFUSED(eg_device_open("a_name_that_is_long"), EG_EINVAL, "is no device");
}

/* What cannot be loaded takes no place for good: more of them are asked for than there are engines. */
EGT(engines_that_are_not_there)
{
    char name[16];
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "none%d", i);
        EGT_REFUSED(eg_device_open(name), EG_ENODEVICE, "libegret-none");
    }
    EGT_CHECK(eg_device_open("mirror"));
}

EGT(described)
{
    eg_device_info i;
    EGT_OK(eg_device_describe(eg_device_open("mirror"), &i));
    EGT_STR(i.name, "mirror of the CPU");
    EGT_CHECK(eg_device_runs(eg_device_open("mirror"), "conv") && eg_device_runs(eg_cpu(), "conv"));
    EGT_CHECK(!eg_device_runs(eg_cpu(), "no such op") && !eg_device_runs(NULL, "conv"));
}

/* ---- moving, computing ----------------------------------------------------------------------------------- */

EGT(there_and_back)
{
    eg_device *d = eg_device_open("mirror"), *other = eg_device_open("mirror:1");
    eg_tensor *x = eg_from_values(EG_SHAPE(2, 3), EG_F32, six), *y = eg_to(x, d),
              *z = eg_to(eg_transpose(y, 0, 1), other);
    EGT_CHECK(eg_device_of(y) == d && eg_device_of(z) == other);
    EGT_EQ(egt_distance(eg_to(y, eg_cpu()), x), 0);
    EGT_EQ(egt_distance(eg_transpose(eg_to(z, eg_cpu()), 0, 1), x), 0);
    EGT_REFUSED(eg_add(y, z), EG_EDEVICE, "mirror:0");
    EGT_REFUSED(eg_add(y, x), EG_EDEVICE, "cpu");
}

EGT(a_step_of_training)
{
    eg_use_device(eg_device_open("mirror"));
    eg_seed(1);
    eg_module *net = eg_sequential_new(eg_linear_new(4, 8), eg_activation_new(eg_relu), eg_linear_new(8, 2));
    eg_optim *adam = eg_adam_new(eg_module_parameters(net), .lr = 0.05);
    eg_tensor *x = eg_uniform(EG_SHAPE(16, 4), 0, 1, EG_F32),
              *labels = eg_argmax(eg_slice(x, 1, 0, 2, 1), .axes = EG_AXES(1));
    double first = 0, last = 0;
    for (int k = 0; k < 40; k++) {
        EG_SCOPE {
            eg_tape tape = eg_tape_open();
            eg_tensor *loss = eg_cross_entropy(eg_module_forward(net, x), labels);
            EGT_OK(eg_optim_minimize(adam, tape, loss));
            last = eg_item(loss);
            first = k ? first : last;
        }
    }
    EGT_CHECK(last < first / 2);
    eg_optim_free(adam);
    eg_module_free(net);
    eg_use_device(eg_cpu());
}

/* ---- several devices ------------------------------------------------------------------------------------------ */

/* Three layers, the second on another device; clipped, with averages and a scaler; the losses. */
static bool train_apart(eg_device *other, double *losses, double *weights)
{
    eg_seed(7);
    eg_module *net[3] = {eg_linear_new(4, 8), eg_linear_new(8, 8), eg_linear_new(8, 2)};
    eg_status st = eg_module_to_device(net[1], other);
    eg_tensor *p[6];
    for (int i = 0; i < 6; i++) {
        p[i] = eg_module_parameters(net[i / 2]).tensors[i % 2];
    }
    eg_optim *adam = eg_adam_new(((eg_parameters){p, NULL, 6}), .lr = 0.1);
    eg_ema *ema = eg_ema_new(((eg_parameters){p, NULL, 6}), .decay = 0.5);
    eg_scaler *scaler = eg_scaler_new(.start = 8);
    st = st ? st : eg_optim_clip_norm(adam, 0.1);
    for (int s = 0; s < 6 && !st; s++) {
        EG_SCOPE {
            eg_tensor *x = eg_sin(eg_add_scalar(eg_reshape(eg_arange(0, 12, 1, EG_F32), EG_SHAPE(3, 4)), s));
            eg_tape tape = eg_tape_open();
            eg_tensor *h = eg_tanh(eg_module_forward(net[0], x));
            h = eg_to(eg_tanh(eg_module_forward(net[1], eg_to(h, other))), eg_cpu()); /* there and back, on the tape */
            eg_tensor *loss = eg_mean(eg_square(eg_module_forward(net[2], h)));
            losses[s] = eg_item(loss);
            if (s == 4) {
                loss = eg_mul_scalar(loss, (double)INFINITY); /* is skipped */
            }
            st = eg_scaler_minimize(scaler, adam, tape, loss);
            st = st ? st : eg_ema_update(ema);
        }
    }
    st = st ? st : eg_ema_swap(ema);
    for (int i = 0; i < 6 && !st; i++) {
        st = eg_to_values(p[i], weights);
        weights += eg_numel(p[i]);
    }
    const bool skipped = eg_scaler_skipped(scaler) == 1 && eg_optim_steps(adam) == 5;
    eg_scaler_free(scaler);
    eg_ema_free(ema);
    eg_optim_free(adam);
    for (int i = 0; i < 3; i++) {
        eg_module_free(net[i]);
    }
    return !st && skipped;
}

EGT(layers_on_several_devices)
{
    double one[6], two[6], w[2][4 * 8 + 8 + 8 * 8 + 8 + 8 * 2 + 2];
    EGT_CHECK(train_apart(eg_cpu(), one, w[0]));
    EGT_CHECK(train_apart(eg_device_open("mirror"), two, w[1]));
    for (int s = 0; s < 6; s++) {
        EGT_NEAR(two[s], one[s], 1e-6);
    }
    for (size_t i = 0; i < sizeof w[0] / sizeof *w[0]; i++) {
        EGT_NEAR(w[1][i], w[0][i], 1e-5);
    }
}

static eg_module *five_layers(void)
{
    eg_seed(2);
    return eg_sequential_new(eg_linear_new(4, 8), eg_activation_new(eg_tanh), eg_linear_new(8, 8),
                             eg_activation_new(eg_tanh), eg_linear_new(8, 3));
}

/* A step of each: the same y, gradients and weights. */
EGT(a_pipeline_is_its_sequence)
{
    static const char *const names[6] = {"0.weight", "0.bias", "2.weight", "2.bias", "4.weight", "4.bias"};
    eg_device *devices[3] = {eg_cpu(), eg_device_open("mirror"), eg_device_split(eg_device_open("mirror"), 1 << 20)};
    for (int n = 1; n <= 3; n++) {
        for (int64_t parts = 0; parts <= 7; parts += parts ? 6 : 1) {
            static const int64_t given[3] = {0, 1, 4};
            eg_module *one = five_layers();
            eg_module *p =
                eg_pipeline_new(five_layers(), devices, n, .micro_batches = parts, .first = parts == 1 ? given : NULL);
            EGT_CHECK(p && eg_module_count(p) == 5);
            eg_module *nets[2] = {one, eg_module_copy(p)};
            eg_module_free(p);
            double y[2][15], w[2][4 * 8 + 8 + 72 + 27];
            for (int k = 0; k < 2; k++) {
                eg_optim *sgd = eg_sgd_new(eg_module_parameters(nets[k]), .lr = 0.5);
                eg_tensor *x = eg_sin(eg_reshape(eg_arange(0, 20, 1, EG_F32), EG_SHAPE(5, 4)));
                eg_tape tape = eg_tape_open();
                eg_tensor *made = eg_module_forward(nets[k], x);
                EGT_OK(eg_to_values(made, y[k]));
                EGT_OK(eg_optim_minimize(sgd, tape, eg_sum(eg_square(made))));
                double *to = w[k];
                for (int i = 0; i < 6; i++) {
                    eg_tensor *t = eg_module_parameters(nets[k]).tensors[i];
                    EGT_STR(eg_module_parameters(nets[k]).names[i], names[i]);
                    EGT_OK(eg_to_values(t, to));
                    to += eg_numel(t);
                }
                eg_optim_free(sgd);
            }
            for (int i = 0; i < 15; i++) {
                EGT_NEAR(y[1][i], y[0][i], 1e-6);
            }
            for (size_t i = 0; i < sizeof w[0] / sizeof *w[0]; i++) {
                EGT_NEAR(w[1][i], w[0][i], 1e-5);
            }
            eg_module_free(nets[0]);
            eg_module_free(nets[1]);
        }
    }
    EGT_REFUSED(eg_pipeline_new(five_layers(), devices, 3, .micro_batches = -1), EG_EINVAL, "micro_batches");
    EGT_REFUSED(eg_pipeline_new(five_layers(), devices, 3, .first = (const int64_t[]){0, 3, 3}), EG_EINVAL, "first[2]");
    EGT_REFUSED(eg_pipeline_new(eg_linear_new(2, 2), devices, 1), EG_EINVAL, "a linear of 0 modules");
    EGT_REFUSED(eg_pipeline_new(NULL, devices, 1), EG_EINVAL, "net");
}

EGT(norms_over_several_devices)
{
    eg_tensor *g[2] = {eg_from_values(EG_SHAPE(2), EG_F32, (double[]){3, -6}), NULL};
    g[1] = eg_to(eg_from_values(EG_SHAPE(1), EG_F32, (double[]){2}), eg_device_open("mirror"));
    static const double of[][2] = {{1, 11}, {2, 7}, {(double)INFINITY, 6}};
    for (int i = 0; i < 3; i++) {
        double norm;
        EGT_OK(eg_clip_grad_norm(g, 2, (double)INFINITY, &norm, .p = of[i][0]));
        EGT_EQ(norm, of[i][1]);
    }
    double norm;
    EGT_OK(eg_clip_grad_norm(g, 2, 3.5, &norm));
    EGT_NEAR(eg_get(g[0], 1), -3, 1e-6);
    EGT_NEAR(eg_item(g[1]), 1, 1e-6);
}

/* ---- what it has, and has not ------------------------------------------------------------------------------- */

EGT(memory)
{
    eg_device *part = eg_device_split(eg_device_open("mirror"), 1 << 16);
    EGT_CHECK(!strncmp(eg_device_name(part), "mirror:0/", 9));
    EGT_CHECK(six_on(part) && eg_device_memory(part).live_bytes > 0);
    EGT_OK(eg_use_device(part) ? EG_OK : EG_EINVAL);
    EGT_REFUSED(eg_zeros(EG_SHAPE(1 << 16), EG_F32), EG_ENOMEM, "on mirror:0/");
    eg_use_device(eg_cpu());
    EGT_OK(eg_device_memory_limit(part, 1 << 13));
    EGT_EQ(eg_device_memory(part).limit_bytes, 1 << 13);
    EGT_OK(eg_device_memory_limit(part, 0));
}

EGT(sizes_in_words)
{
    static const struct {
        const char *text;
        int64_t bytes;
    } good[] = {{"15500MB", 15500000000}, {"1.5GiB", 3 << 29},   {"4096", 4096}, {"7B", 7}, {"2kB", 2000},
                {"1KiB", 1024},           {"1TB", 1000000000000}};
    static const char *const bad[] = {"",    "MB",     "1.5.GB", "-1GB", "0",          "1 GB",
                                      "1mb", "9e99GB", "0x10MB", "nan",  "40000000TiB"};
    int64_t bytes = 0;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        EGT_OK(eg_parse_bytes(good[i].text, &bytes));
        EGT_EQ(bytes, good[i].bytes);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        EGT_REFUSED(eg_parse_bytes(bad[i], &bytes), EG_EINVAL, "is not a size");
    }
    EGT_REFUSED(eg_parse_bytes(NULL, &bytes), EG_EINVAL, "text");
    EGT_OK(eg_find_module("mirror"));
    EGT_REFUSED(eg_find_module("nonesuch"), EG_ENODEVICE, "libegret-nonesuch");
    EGT_REFUSED(eg_find_module("../x"), EG_EINVAL, "no module has the name");
}

/* In a process of its own: what the environment says counts when a device is first asked for. */
static int capped(const char *cap)
{
    pid_t pid = fork();
    if (pid == 0) {
        char device[] = "EGRET_GPU_MEMORY";
        setenv(device, cap, 1);
        execl("/proc/self/exe", "test_mirror", "a_cap", (char *)NULL);
        _exit(99);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

EGT(a_cap_from_the_environment)
{
    const char *cap = getenv("EGRET_GPU_MEMORY");
    if (!cap) {
        EGT_EQ(capped("1MiB"), 0);
        EGT_EQ(capped("much"), 0);
        return;
    }
    if (!strcmp(cap, "much")) {
        EGT_REFUSED(eg_device_open("mirror:1"), EG_EINVAL, "EGRET_GPU_MEMORY is \"much\"");
        return;
    }
    eg_device *d = eg_device_open("mirror:1");
    EGT_CHECK(d && eg_device_memory(d).limit_bytes == 1 << 20);
    eg_use_device(d);
    EGT_CHECK(eg_zeros(EG_SHAPE(1 << 16), EG_F32));
    EGT_REFUSED(eg_zeros(EG_SHAPE(1 << 20), EG_F32), EG_ENOMEM, "mirror:1");
    eg_use_device(eg_cpu());
}

EGT(no_streams_no_times_no_graphs)
{
    eg_device *d = eg_device_open("mirror");
    EGT_REFUSED(eg_stream_new(d), EG_EINVAL, "mirror:0 has no streams");
    EGT_REFUSED(eg_event_new(d), EG_EINVAL, "mirror:0 has no streams");
    EGT_OK(eg_device_synchronize(d));
    EGT_OK(eg_profile_begin());
    EGT_CHECK(eg_add(six_on(d), six_on(d)));
    EGT_OK(eg_profile_end(NULL));
}

EGT(a_child_is_refused)
{
    eg_tensor *x = six_on(eg_device_open("mirror"));
    pid_t child = fork();
    if (!child) {
        _exit(eg_add(x, x) || eg_last_error()->code != EG_EDEVICE ||
              !strstr(eg_last_error()->message, "the parent's") || eg_device_open("mirror:1"));
    }
    int status = -1;
    EGT_CHECK(child > 0 && waitpid(child, &status, 0) == child);
    EGT_EQ(status, 0);
}
