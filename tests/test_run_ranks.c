/* test_run_ranks.c - programs of several ranks: the same training by any number of them, resumed by another; one prints
 * and saves; a failure, a mistake and a signal are all ranks'. */
#define _DEFAULT_SOURCE
#include <egret/run.h>
#include <math.h>
#include <signal.h>

#include "tests/ranks.h"

enum { EXAMPLES = 100, TESTS = 22, FEATURES = 6, CLASSES = 3, WORDS_MOST = 16 };

/* What all ranks do. */
static struct plan {
    char *words[WORDS_MOST];
    char folder[4096];
    int fail_at, signal_at; /* steps, of rank 1; 0: none */
    bool normed;            /* with batch norm, which is each rank's */
} plan;

/* What came of it. */
typedef struct result {
    double weights[FEATURES * CLASSES], loss, accuracy;
    int64_t steps;
    int status;
    char out[8192], err[4096];
} result;

static eg_status shaken(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)user;
    out[0] = eg_add(in[0], eg_normal(eg_shape_of(in[0]), 0, 0.1, EG_F64));
    out[1] = in[1];
    *m = n;
    return out[0] ? EG_OK : eg_last_error()->code;
}

static eg_dataset *examples(int64_t n, uint64_t seed)
{
    eg_seed(seed);
    eg_tensor *x = eg_normal(EG_SHAPE(n, FEATURES), 0, 1, EG_F64);
    eg_tensor *sums = eg_sum(eg_reshape(x, EG_SHAPE(n, CLASSES, FEATURES / CLASSES)), .axes = EG_AXES(2));
    return eg_dataset_from_tensors((eg_tensor *[]){x, eg_argmax(sums, .axes = EG_AXES(1))}, 2);
}

static eg_tensor *loss(eg_module *net, eg_tensor *const *sample, eg_metrics *m, void *user)
{
    eg_run *run = user;
    eg_tensor *logits = eg_module_forward(net, sample[0]);
    eg_metrics_accuracy(m, "accuracy", logits, sample[1]);
    if (eg_run_settings_of(run)->rank == 1 && plan.fail_at && eg_run_step(run) == plan.fail_at) {
        eg_fail(EG_EUSER, "loss", "no more");
        return NULL;
    }
    if (eg_run_settings_of(run)->rank == 1 && plan.signal_at && eg_run_step(run) == plan.signal_at) {
        plan.signal_at = 0;
        raise(SIGTERM);
    }
    return eg_cross_entropy(logits, sample[1]);
}

static eg_status fit(eg_run *run, result *r)
{
    const int64_t batch = eg_run_settings_of(run)->batch;
    eg_dataset *train = eg_dataset_map(eg_dataset_shuffle(examples(EXAMPLES, 1), EXAMPLES, .seed = 1), shaken, NULL);
    eg_dataset *valid = eg_dataset_batch(examples(TESTS, 2), 4);
    eg_seed(3);
    eg_module *line = eg_linear_new(FEATURES, CLASSES);
    eg_module *net =
        eg_run_module(run, "net", plan.normed ? eg_sequential_new(eg_batch_norm_new(FEATURES), line) : line);
    eg_status st = net ? eg_module_to(net, EG_F64) : eg_run_status(run);
    eg_optim *adam = st ? NULL : eg_run_optim(run, "adam", eg_adam_new(eg_module_parameters(net), .lr = 0.05));
    train = eg_dataset_prefetch(eg_dataset_batch(train, batch, .drop_last = true), 2);
    st = st ? st : eg_fit(run, net, adam, loss, train, .valid = valid, .user = run);
    r->steps = eg_run_step(run);
    if (!st) {
        eg_metrics *m = eg_run_metrics(run, "again");
        st = eg_evaluate(run, net, loss, valid, m, run);
        r->loss = eg_metrics_value(m, "loss");
        r->accuracy = eg_metrics_value(m, "accuracy");
        st = st ? st : eg_to_values(eg_module_parameters(net).tensors[plan.normed ? 2 : 0], r->weights);
    }
    return st;
}

static eg_status work(eg_run *run, void *user)
{
    eg_status st = EG_OK;
    EG_SCOPE {
        st = fit(run, user);
    }
    return st;
}

static void learn(eg_comm *comm, result *r)
{
    char *argv[WORDS_MOST + 8] = {"learn", "--threads", "1", "--out", plan.folder}, *out = NULL, *err = NULL;
    size_t size;
    int argc = 5;
    for (int i = 0; plan.words[i]; i++) {
        argv[argc++] = plan.words[i];
    }
    FILE *to = open_memstream(&out, &size), *about = open_memstream(&err, &size);
    r->status = eg_run_main(argc, argv, work, r, .name = "learn", .about = "Learns.", .epochs = 4, .batch = 24,
                            .out = to, .err = about, .comm = comm);
    fclose(to);
    fclose(about);
    snprintf(r->out, sizeof r->out, "%s", out);
    snprintf(r->err, sizeof r->err, "%s", err);
    free(out);
    free(err);
    eg_clear_error();
}

static void set_plan(char **words, const char *folder)
{
    plan = (struct plan){.fail_at = 0};
    snprintf(plan.folder, sizeof plan.folder, "%s", egt_path(folder));
    for (int i = 0; words[i]; i++) {
        plan.words[i] = words[i];
    }
}
#define PLAN(folder, ...) set_plan((char *[]){__VA_ARGS__, NULL}, folder)

/* ---- as one ---------------------------------------------------------------------------------------- */

static result one;

static void as_one(rank *r)
{
    static _Thread_local result mine;
    double most = 0;
    learn(r->comm, &mine);
    RANK_CHECK(mine.status == 0 && mine.steps == one.steps);
    for (int i = 0; i < FEATURES * CLASSES; i++) {
        most = fmax(most, fabs(mine.weights[i] - one.weights[i]));
    }
    RANK_CHECK(most <= 1e-12);
    RANK_CHECK(fabs(mine.loss - one.loss) <= 1e-12 && mine.accuracy == one.accuracy);
    RANK_CHECK(r->i == 0 ? strstr(mine.out, "epoch ") != NULL : !*mine.out && !*mine.err);
}

EGT(any_number_of_ranks)
{
    static char *const zero[] = {"0", "1", "2"};
    PLAN("one", "--epochs", "4");
    learn(NULL, &one);
    EGT_EQ(one.status, 0);
    EGT_CHECK(one.accuracy > 0.6 && one.steps == 16);
    for (int n = 1; n <= 8; n *= 2) {
        for (int z = 0; z < 3; z++) {
            PLAN("ranks", "--epochs", "4", "--zero", zero[z]);
            on_ranks(n, 20, as_one);
        }
    }
}

static void keeps_its_words(rank *r)
{
    static _Thread_local result mine;
    char flags[4096] = "", path[8192];
    learn(r->comm, &mine);
    RANK_CHECK(mine.status == 0 && !eg_comm_barrier(r->comm));
    snprintf(path, sizeof path, "%s/flags.conf", plan.folder);
    FILE *f = r->i ? NULL : fopen(path, "r");
    RANK_CHECK(r->i || (f && fread(flags, 1, sizeof flags - 1, f) > 0 && strstr(flags, "\nbatch = 24\n")));
    if (f) {
        fclose(f);
    }
}

EGT(flags_are_kept_as_they_were)
{
    PLAN("ranks", "--steps", "1");
    on_ranks(3, 20, keeps_its_words);
}

static void some_steps(rank *r)
{
    static _Thread_local result mine;
    learn(r->comm, &mine);
    RANK_CHECK(mine.status == 0);
}

/* With a stop on the way, behind which there are fewer ranks, and more. */
EGT(resumed_by_others)
{
    static const int ranks[][3] = {{4, 2, 1}, {1, 4, 8}, {2, 3, 6}};
    if (getenv("EGT_MPI")) {
        return;
    }
    PLAN("whole", "--epochs", "4");
    learn(NULL, &one);
    for (int k = 0; k < 3; k++) {
        PLAN("parts", "--steps", "5", "--zero", "1");
        on_ranks(ranks[k][0], 20, some_steps);
        PLAN("parts", "--steps", "10", "--resume", "--zero", "2");
        on_ranks(ranks[k][1], 20, some_steps);
        PLAN("parts", "--epochs", "4", "--resume");
        on_ranks(ranks[k][2], 20, as_one);
    }
}

/* Rank 0's log has the means of all ranks; files are rank 0's. */
EGT(the_log_is_of_all)
{
    PLAN("one", "--steps", "4");
    learn(NULL, &one);
    PLAN("ranks", "--steps", "4");
    on_ranks(4, 20, some_steps);
    if (getenv("EGT_MPI")) {
        return;
    }
    eg_tensor *rows[2];
    for (int k = 0; k < 2; k++) {
        const eg_json_field fields[] = {{.name = "loss", .dtype = EG_F64}};
        eg_dataset *d = eg_dataset_batch(
            eg_dataset_take(eg_ndjson_new(egt_path(k ? "ranks/log.jsonl" : "one/log.jsonl"), fields, 1), 4), 4);
        rows[k] = eg_keep(eg_dataset_first(d)[0]);
        eg_dataset_free(d);
    }
    EGT_CHECK(egt_distance(rows[0], rows[1]) <= 1e-12);
    EGT_EQ(egt_files("ranks"), egt_files("one"));
    eg_release(rows[0]);
    eg_release(rows[1]);
}

/* ---- each rank's batch norm, then everybody's -------------------------------------------------------- */

static double of_rank_0;

static void normed(rank *r)
{
    static _Thread_local result mine;
    learn(r->comm, &mine);
    RANK_CHECK(mine.status == 0);
    if (r->i == 0) {
        of_rank_0 = mine.loss;
    }
    RANK_CHECK(!eg_comm_barrier(r->comm));
    RANK_CHECK(getenv("EGT_MPI") || mine.loss == of_rank_0);
}

EGT(running_means_are_rank_0s)
{
    PLAN("ranks", "--epochs", "2");
    plan.normed = true;
    on_ranks(4, 20, normed);
}

/* ---- what goes wrong --------------------------------------------------------------------------------- */

static void fails(rank *r)
{
    static _Thread_local result mine;
    learn(r->comm, &mine);
    RANK_CHECK(mine.status == 1);
    const char *said[] = {"rank 1 has failed: loss: no more", "rank 1: ", ""};
    RANK_CHECK(*said[r->i] ? strstr(mine.err, said[r->i]) != NULL : !*mine.err);
    RANK_CHECK(mine.steps <= 3);
}

EGT(a_failure_is_all_ranks)
{
    PLAN("ranks", "--steps", "10");
    plan.fail_at = 3;
    on_ranks(3, 20, fails);
}

static void refused(rank *r)
{
    static _Thread_local result mine;
    learn(r->comm, &mine);
    RANK_CHECK(mine.status == 2 && mine.steps == 0);
    RANK_CHECK(r->i ? !*mine.err : strstr(mine.err, "--batch 25 cannot be shared out among 2 ranks") != NULL);
}

EGT(a_batch_that_cannot_be_shared_out)
{
    PLAN("ranks", "--batch", "25");
    on_ranks(2, 20, refused);
}

static void stops(rank *r)
{
    static _Thread_local result mine;
    learn(r->comm, &mine);
    RANK_CHECK(mine.status == 128 + SIGTERM);
    RANK_CHECK(mine.steps == 6); /* one behind the step in which it came */
}

EGT(a_signal_to_one_stops_all)
{
    if (getenv("EGT_MPI")) {
        return;
    }
    PLAN("one", "--epochs", "4");
    learn(NULL, &one);
    PLAN("ranks", "--epochs", "4");
    plan.signal_at = 5;
    on_ranks(2, 20, stops);
    PLAN("ranks", "--epochs", "4", "--resume");
    on_ranks(4, 20, as_one);
}
