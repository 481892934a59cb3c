/* quickdraw.c - tells from its strokes what a drawing is: convolutions and a bidirectional LSTM, as TensorFlow's
 * tutorial has them. */
#include <stdlib.h>
#include <string.h>

#include "ink.h"
#include "net.h"
#include "sets.h"

enum { SHOWN = 24, SIDE = 96, TOLD = 100 /* steps from one word about gradients to the next */ };

/* The names that create_dataset gives its files. */
#define TRAINING "training.tfrecord-*-of-*"
#define EVAL     "eval.tfrecord-*-of-*"
#define CLASSES  "training.tfrecord.classes"

typedef struct options {
    const char *training, *eval, *classes, *model_dir, *features, *kernels;
    quickdraw_options net;
    int64_t steps, batch, drawn, every, batches;
    double lr, clip;
    bool self_test;
    eg_path files[3]; /* of --data */
} options;

typedef struct job {
    eg_run *run;
    options *o;
    sets_classes classes;
    eg_module *net;
    eg_optim *adam;
    eg_dataset *eval;
    eg_metrics *found;
    int64_t judged, seen; /* the step behind which it was last judged; by how many drawings */
} job;

/* ---- learning -------------------------------------------------------------------------------- */

static eg_tensor *loss(eg_module *net, eg_tensor *const *x, eg_metrics *m)
{
    eg_tensor *logits = quickdraw_forward(net, x[0], x[1]);
    eg_metrics_accuracy(m, "accuracy", logits, x[2]);
    return eg_cross_entropy(logits, x[2]);
}

/* Of the first batches that are not learned from. */
static eg_status judge(job *j)
{
    int64_t n = 0;
    j->seen = 0;
    eg_status st = eg_metrics_reset(j->found);
    st = st ? st : eg_module_eval(j->net);
    EG_RUN_EACH(x, j->run, j->eval)
    {
        eg_tensor *mean = st ? NULL : loss(j->net, x, j->found);
        eg_run_heed(j->run, mean ? eg_metrics_mean(j->found, "loss", mean) : eg_last_error()->code);
        j->seen += eg_size(x[0], 0);
        if (++n == j->o->batches) {
            break;
        }
    }
    return eg_run_status(j->run);
}

/* The best net is kept. */
static eg_status evaluate(eg_run *run, void *user)
{
    job *j = user;
    if (j->judged == eg_run_step(run)) {
        return EG_OK;
    }
    j->judged = eg_run_step(run);
    eg_status st = judge(j);
    st = st ? st : eg_run_log_metrics(run, "valid/", j->found);
    double right = eg_metrics_value(j->found, "accuracy");
    st = st || right <= eg_saver_best_score(eg_run_saver(run))
             ? st
             : eg_saver_save_best(eg_run_saver(run), j->judged, right);
    return st ? st : eg_module_train(j->net);
}

/* Of all gradients, where TensorBoard shows how they are distributed. */
static eg_status tell_gradients(job *j, eg_tape tape, eg_tensor *mean)
{
    eg_parameters p = eg_module_parameters(j->net);
    eg_tensor **gradients = calloc((size_t)p.count, sizeof *gradients);
    eg_status st = gradients ? eg_tape_gradients(tape, mean, p.tensors, p.count, gradients)
                             : eg_fail(EG_ENOMEM, "quickdraw", "out of memory");
    for (int i = 0; i < p.count && !st; i++) {
        char tag[256];
        snprintf(tag, sizeof tag, "gradients/%s", p.names[i]);
        st = eg_run_histogram(j->run, tag, gradients[i]);
    }
    free(gradients);
    return st;
}

static void learn(job *j)
{
    eg_run *run = j->run;
    EG_RUN_EPOCHS(run)
    {
        EG_RUN_STEPS(x, run)
        {
            bool tells = eg_run_step(run) % TOLD == 0;
            eg_tape tape = eg_tape_open(.persistent = tells);
            eg_tensor *logits = quickdraw_forward(j->net, x[0], x[1]), *mean = eg_cross_entropy(logits, x[2]);
            eg_run_heed(run, tells ? tell_gradients(j, tape, mean) : EG_OK);
            eg_run_minimize(run, j->adam, tape, mean);
            eg_tensor *right = eg_eq(eg_argmax(logits, .axes = EG_AXES(1)), x[2]);
            eg_run_note(run, EG_RUN_VALUE("loss", mean), EG_RUN_VALUE("accuracy", eg_mean(eg_cast(right, EG_F32))),
                        EG_RUN_NUMBER("rate", eg_optim_rate(j->adam)));
            if (tells && !eg_run_status(run)) {
                eg_run_log(run, EG_REAL("gradient_norm", eg_optim_grad_norm(j->adam)));
                eg_run_heed(run, eg_tape_close(tape));
            }
        }
    }
}

/* ---- what came out --------------------------------------------------------------------------- */

/* Drawings from all over the first batches, with what they were taken for; in red where that is wrong. */
static eg_tensor *draw_guesses(const job *j)
{
    eg_tensor *images[SHOWN], *made = NULL;
    const char *words[SHOWN];
    bool wrong[SHOWN];
    int n = 0;
    EG_RUN_EACH(x, j->run, j->eval)
    {
        eg_tensor *guess = eg_to(eg_argmax(quickdraw_forward(j->net, x[0], x[1]), .axes = EG_AXES(1)), eg_cpu());
        eg_tensor *length = eg_to(x[1], eg_cpu()), *label = eg_to(x[2], eg_cpu());
        for (int64_t i = 0; guess && i < eg_size(x[0], 0) && i < 6 && n < SHOWN; i++) {
            eg_tensor *image = ink_image(eg_select(x[0], 0, i), (int64_t)eg_get(length, i), SIDE);
            words[n] = j->classes.names[(int64_t)eg_get(guess, i)];
            wrong[n] = eg_get(guess, i) != eg_get(label, i);
            images[n++] = eg_keep(image ? eg_add_scalar(eg_neg(image), 1) : NULL);
        }
        if (n == SHOWN) {
            break;
        }
    }
    made = n ? eg_draw_grid(eg_stack(images, n, 0), .low = 0, .high = 1, .captions = words, .wrong = wrong,
                            .columns = 6, .scale = 2)
             : NULL;
    for (int i = 0; i < n; i++) {
        eg_release(images[i]);
    }
    return made;
}

static eg_status report(job *j)
{
    eg_run *run = j->run;
    eg_path best = eg_run_path(run, "best.safetensors");
    eg_run_heed(run, evaluate(run, j));
    eg_run_heed(run, eg_saver_restore_from(eg_run_saver(run), best.text, NULL, .allow_others = true));
    if (!eg_run_status(run) && !judge(j)) {
        eg_run_say(run, "the best net takes %.2f %% of %lld drawings it has not learned from for what they are",
                   100 * eg_metrics_value(j->found, "accuracy"), (long long)j->seen);
    }
    EG_SCOPE {
        eg_run_picture(run, "guesses", eg_run_status(run) ? NULL : draw_guesses(j));
    }
    eg_run_plot(run, "loss.png", "Cross entropy", "loss, valid/loss");
    eg_run_plot(run, "accuracy.png", "Accuracy", "accuracy, valid/accuracy");
    return eg_run_check_fell(run, "loss", 0.9);
}

/* ---- a run ----------------------------------------------------------------------------------- */

static bool list_of(const char *text, int64_t *numbers, int *count)
{
    *count = 0;
    text += strspn(text, "[ ");
    for (char *end = NULL; *count < CONVS_MAX; text = end + strspn(end, ", ")) {
        numbers[*count] = strtoll(text, &end, 10);
        if (end == text || numbers[*count] < 1 || numbers[*count] > 100000) {
            return false;
        }
        (*count)++;
        if (end[strspn(end, "] ")] == '\0') {
            return true;
        }
    }
    return false;
}

static eg_status open_net(job *j)
{
    quickdraw_options *o = &j->o->net;
    int kernels = 0;
    if (!list_of(j->o->features, o->features, &o->convs) || !list_of(j->o->kernels, o->kernels, &kernels) ||
        kernels != o->convs) {
        return eg_run_refuse(j->run, "--num-conv and --conv-len are as many numbers, not %s and %s", j->o->features,
                             j->o->kernels);
    }
    j->net = eg_run_module(j->run, "net", quickdraw_net(j->classes.count, o));
    j->adam = eg_run_optim(j->run, "adam", eg_adam_new(eg_module_parameters(j->net), .lr = j->o->lr));
    j->found = eg_run_metrics(j->run, "found");
    return eg_run_status(j->run) ? eg_run_status(j->run) : eg_optim_clip_norm(j->adam, j->o->clip);
}

static eg_status open_data(job *j)
{
    const options *o = j->o;
    uint64_t seed = (uint64_t)eg_run_settings_of(j->run)->seed;
    if (o->training && (!o->eval || !o->classes)) {
        return eg_run_refuse(j->run, "--training-data goes with --eval-data and --classes-file; --data is all three");
    }
    eg_status st = sets_load_classes(o->training ? o->classes : NULL, &j->classes);
    if (st) {
        return st;
    }
    eg_dataset *train =
        o->training ? sets_read(o->training, o->batch, true, seed) : sets_drawn(o->drawn, o->batch, true, seed);
    eg_run_train_on(j->run, train);
    j->eval = eg_run_dataset(j->run, NULL,
                             o->training ? sets_read(o->eval, o->batch, false, seed)
                                         : sets_drawn(o->drawn / 5, o->batch, false, seed));
    return eg_run_status(j->run);
}

static void close_job(void *user)
{
    job *j = user;
    sets_free_classes(&j->classes);
    free(j);
}

static eg_status work(eg_run *run, void *user)
{
    job *j = calloc(1, sizeof *j);
    if (!j) {
        return eg_fail(EG_ENOMEM, "quickdraw", "out of memory");
    }
    *j = (job){.run = run, .o = user};
    eg_status st = eg_run_heed(run, eg_run_own(run, j, close_job));
    EG_SCOPE {
        st = st ? st : eg_run_heed(run, open_data(j));
        st = st ? st : eg_run_heed(run, open_net(j));
        st = st ? st
                : eg_run_hook(run,
                              &(eg_hook){.size = sizeof(eg_hook), .every = j->o->every, .step = evaluate, .user = j});
        if (!st) {
            eg_run_hush(run);
            eg_run_say(run, "%lld classes, %lld parameters", (long long)j->classes.count,
                       (long long)eg_module_numel(j->net));
            learn(j);
            st = eg_run_status(run) ? eg_run_status(run) : report(j);
        }
    }
    return st;
}

static void settle(eg_run_settings *s, void *user)
{
    options *o = user;
    s->batch = o->batch;
    if (s->data) {
        o->files[0] = eg_path_in(s->data, TRAINING);
        o->files[1] = eg_path_in(s->data, EVAL);
        o->files[2] = eg_path_in(s->data, CLASSES);
        o->training = o->training ? o->training : o->files[0].text;
        o->eval = o->eval ? o->eval : o->files[1].text;
        o->classes = o->classes ? o->classes : o->files[2].text;
    }
    s->out = o->model_dir ? o->model_dir : s->out;
    if (o->self_test || s->smoke) {
        s->smoke = true;
        o->drawn = o->drawn < 400 ? o->drawn : 400;
        o->net.nodes = o->net.nodes < 16 ? o->net.nodes : 16;
        o->net.layers = 1;
        o->features = "8,16";
        o->kernels = "5,3";
        o->lr = 1e-2;
        o->batches = 10;
    }
    s->steps = s->steps ? s->steps : s->smoke ? 60 : 100000;
}

static const eg_flag_alias aliases[] = {EG_FLAG_ALIAS("batch", "batch-size")};

int main(int argc, char **argv)
{
    options o = {.training = NULL};
    const eg_flag flags[] = {
        EG_FLAG_TEXT("training-data", &o.training, NULL, "FILES", "TFRecord files to learn from, a pattern"),
        EG_FLAG_TEXT("eval-data", &o.eval, NULL, "FILES", "and those to be judged by"),
        EG_FLAG_TEXT("classes-file", &o.classes, NULL, "FILE", "names of the classes, a line each"),
        EG_FLAG_TEXT("model-dir", &o.model_dir, NULL, "DIR", "where all that comes out goes, as --out"),
        EG_FLAG_INTEGER("drawn", &o.drawn, "5000", 50, 10000000, "drawings to draw where there are no files"),
        EG_FLAG_GROUP("net"),
        EG_FLAG_INTEGER("num-layers", &o.net.layers, "3", 1, 64, "of the LSTM"),
        EG_FLAG_INTEGER("num-nodes", &o.net.nodes, "128", 1, 100000, "of a layer, each way"),
        EG_FLAG_TEXT("num-conv", &o.features, "[48,64,96]", "[N,..]", "features of the convolutions"),
        EG_FLAG_TEXT("conv-len", &o.kernels, "[5,5,3]", "[N,..]", "points of their kernels"),
        EG_FLAG_CHOICE("cell-type", &o.net.cell, "lstm", "lstm|cudnn_lstm|block_lstm",
                       "cudnn_lstm reads the padding too, and has dropout between its layers"),
        EG_FLAG_BOOL("batch-norm", &o.net.batch_norm, "false", "before each convolution"),
        EG_FLAG_REAL("dropout", &o.net.dropout, "0.3", 0, 0.99, "before each convolution but the first"),
        EG_FLAG_GROUP("learning"),
        EG_FLAG_INTEGER("batch-size", &o.batch, "8", 1, 65535, "drawings of a step"),
        EG_FLAG_REAL("learning-rate", &o.lr, "0.0001", 1e-9, 10, "Adam's"),
        EG_FLAG_REAL("gradient-clipping-norm", &o.clip, "9", 1e-6, 1e9, "norm of all gradients"),
        EG_FLAG_INTEGER("eval-every", &o.every, "1000", 1, INT32_MAX, "steps between two evaluations"),
        EG_FLAG_INTEGER("eval-batches", &o.batches, "100", 1, INT32_MAX, "batches of an evaluation"),
        EG_FLAG_BOOL("self-test", &o.self_test, "false", "the same as --smoke"),
    };
    return eg_run_main(
        argc, argv, work, &o, .name = "quickdraw", .unit = "drawings",
        .about =
            "Learns to tell from its strokes what a drawing is. create_dataset makes the files for --data; without "
            "them things are drawn.",
        .flags = flags, .flag_count = EG_FLAG_COUNT(flags), .settle = settle, .without = "epochs batch",
        .save_every = 1000, .aliases = aliases, .alias_count = EG_FLAG_COUNT(aliases),
        .data = "folder with what create_dataset wrote, instead of the three flags; without it things are "
                "drawn");
}
