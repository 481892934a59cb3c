/* pretrain.c - BERT learns from text alone: which words were hidden, and whether a piece of text follows another
 * (Devlin et al. 2018), as its authors' run_pretraining.py. */
#include <math.h>

#include "encoder.h"
#include "text.h"

typedef struct options {
    encoder_options net;
    const char *judged;
    text_options text;
    double rate, decay;
    int64_t warm_up;
} options;

typedef struct job {
    eg_run *run;
    const options *o;
    eg_tokenizer *words;
    eg_module *net;
    text train, valid;
    eg_dataset *valid_batches;
    eg_optim *adam;
} job;

/* ---- before ---------------------------------------------------------------------------------- */

static eg_status open_data(job *j)
{
    const eg_run_settings *s = eg_run_settings_of(j->run);
    text_options how = j->o->text;
    how.seed = (uint64_t)s->seed;
    eg_status st = text_read(&j->train, s->data, j->words);
    st = st ? st : text_read(&j->valid, j->o->judged ? j->o->judged : s->data, j->words);
    if (st) {
        return st;
    }
    eg_run_say(j->run, "%lld ids of %lld sentences in %lld documents to learn from, %lld ids to be judged by",
               (long long)eg_numel(j->train.ids), (long long)eg_numel(j->train.sentences),
               (long long)eg_numel(j->train.documents), (long long)eg_numel(j->valid.ids));
    eg_run_train_on(j->run, text_batches(&j->train, j->words, &how, s->batch));
    how.seed++; /* where it is the same text, at least other words are hidden */
    j->valid_batches = eg_run_dataset(j->run, NULL, text_batches(&j->valid, j->words, &how, s->batch));
    return eg_run_status(j->run);
}

static eg_status open_net(job *j)
{
    const options *o = j->o;
    const int64_t steps = eg_run_settings_of(j->run)->steps;
    eg_module *bert = encoder_new(&o->net, j->words);
    j->net = eg_run_module(j->run, "net", bert ? eg_bert_pretraining_new(bert) : NULL);
    eg_status st = eg_run_status(j->run);
    st = st || !o->net.init ? st : encoder_load(j->run, j->net, &o->net);
    if (st) {
        return st;
    }
    const eg_schedule rates = EG_SCHEDULE(.kind = EG_RATE_POLYNOMIAL, .lr = o->rate, .steps = steps,
                                          .warm_up = o->warm_up, .warm_up_kind = EG_WARM_UP_OVER);
    j->adam = eg_run_optim(j->run, "adam",
                           eg_adam_new(eg_module_parameters(j->net), .lr = o->rate, .eps = 1e-6,
                                       .weight_decay = o->decay, .decoupled = true, .no_bias_correction = true));
    st = eg_run_status(j->run);
    st = st ? st : eg_optim_group(j->adam, .max_axes = 1); /* biases and norms do not decay */
    st = st ? st : eg_optim_clip_norm(j->adam, 1);
    return st ? st : eg_optim_follow(j->adam, &rates);
}

/* ---- training -------------------------------------------------------------------------------- */

/* Both tasks of a batch. */
typedef struct asked {
    eg_tensor *logits, *labels; /* of hidden words, [N hidden, words] and [N hidden], -1: none */
    eg_tensor *next, *is_other; /* [N, 2], [N] */
    eg_tensor *word_loss, *next_loss;
} asked;

static asked ask(job *j, eg_tensor *const *x)
{
    eg_bert_made made = eg_bert_forward(j->net, x[0], .types = x[1], .mask = x[2], .places = x[3]);
    asked a = {
        .logits = eg_flatten(made.logits, 0, 1), .labels = eg_flatten(x[4], 0, 1), .next = made.next, .is_other = x[5]};
    a.word_loss = eg_cross_entropy(a.logits, a.labels, .ignore = true, .ignore_index = -1);
    a.next_loss = eg_cross_entropy(a.next, a.is_other);
    return a;
}

static void judge(job *j)
{
    enum { MOST = 100 };
    eg_metrics *m = eg_metrics_new();
    eg_status st = m ? eg_module_eval(j->net) : eg_last_error()->code;
    int batches = 0;
    EG_RUN_EACH(x, j->run, j->valid_batches)
    {
        if (!st && batches++ < MOST) {
            asked a = ask(j, x);
            eg_tensor *there = eg_reshape(eg_nonzero(eg_ge_scalar(a.labels, 0)), EG_SHAPE(-1));
            eg_tensor *logits = eg_index_select(a.logits, 0, there), *labels = eg_index_select(a.labels, 0, there);
            st = eg_metrics_accuracy(m, "words", logits, labels);
            st = st ? st : eg_metrics_perplexity(m, "loss", a.word_loss, eg_numel(labels));
            st = st ? st : eg_metrics_accuracy(m, "next", a.next, a.is_other);
        }
    }
    eg_run_heed(j->run, st ? st : eg_module_train(j->net));
    if (!eg_run_status(j->run)) {
        const double words = eg_metrics_value(m, "words"), next = eg_metrics_value(m, "next");
        eg_run_log(j->run, EG_REAL("valid words", words), EG_REAL("valid next", next),
                   EG_REAL("valid loss", log(eg_metrics_value(m, "loss"))));
        eg_run_say(j->run, "of text not learned from %.2f %% of hidden words, %.2f %% of what follows", 100 * words,
                   100 * next);
    }
    eg_metrics_free(m);
}

static eg_status learn(job *j)
{
    eg_run *run = j->run;
    EG_RUN_EPOCHS(run)
    {
        EG_RUN_STEPS(x, run)
        {
            eg_tape tape = eg_tape_open();
            asked a = ask(j, x);
            eg_tensor *loss = eg_add(a.word_loss, a.next_loss);
            eg_run_minimize(run, j->adam, tape, loss);
            eg_run_note(run, EG_RUN_VALUE("loss", a.word_loss), EG_RUN_VALUE("next loss", a.next_loss),
                        EG_RUN_NUMBER("rate", eg_optim_rate(j->adam)));
        }
        if (!eg_run_status(run)) {
            judge(j);
            eg_run_plot(run, "losses.png", "Cross entropy per hidden word", "loss, valid loss");
        }
    }
    eg_status st = eg_run_status(run);
    st = st ? st : eg_run_heed(run, eg_module_save(j->net, eg_run_path(run, "bert.safetensors").text));
    if (!st) {
        eg_run_say(run, "for bert --init: %s", eg_run_path(run, "bert.safetensors").text);
    }
    return st ? st : eg_run_check_fell(run, "loss", 0.95);
}

static eg_status work(eg_run *run, void *user)
{
    job j = {.run = run, .o = user};
    j.words = encoder_words(&j.o->net, eg_run_settings_of(run)->data);
    eg_status st = eg_run_heed(run, j.words ? EG_OK : eg_last_error()->code);
    st = st ? st : eg_run_heed(run, open_data(&j));
    st = st ? st : eg_run_heed(run, open_net(&j));
    st = st ? st : learn(&j);
    text_free(&j.train);
    text_free(&j.valid);
    eg_tokenizer_free(j.words);
    return st;
}

/* ---- the command line ------------------------------------------------------------------------ */

static void settle(eg_run_settings *s, void *user)
{
    options *o = user;
    encoder_settle(&o->net, !s->data || s->smoke);
    s->steps = s->steps ? s->steps : s->data ? 10000 : 1000;
    if (s->smoke) {
        o->text.length = 32;
        o->warm_up = 2;
        o->rate = 2e-3;
    }
}

int main(int argc, char **argv)
{
    options o = {0};
    const eg_flag flags[] = {
        EG_FLAG_INTEGER("max-length", &o.text.length, "128", 8, 512, "ids of a sample, its special ones too"),
        EG_FLAG_INTEGER("most-hidden", &o.text.hidden, "20", 1, 512, "words hidden in a sample, at most; of 15 %"),
        EG_FLAG_SWITCH("whole-words", &o.text.whole, "are hidden with all their pieces"),
        EG_FLAG_REAL("rate", &o.rate, "1e-4", 1e-9, 1, "highest learning rate"),
        EG_FLAG_INTEGER("warm-up", &o.warm_up, "1000", 0, 1000000000, "steps over which it rises"),
        EG_FLAG_REAL("weight-decay", &o.decay, "0.01", 0, 1, "of all but biases and norms"),
        EG_FLAG_TEXT("judge", &o.judged, NULL, "FILE",
                     "text that is not learned from; else the same, otherwise hidden"),
        ENCODER_FLAGS(&o.net),
    };
    return eg_run_main(argc, argv, work, &o, .name = "bert-pretrain", .unit = "sequences",
                       .about = "BERT learns from text which words were hidden, and what follows what.", .flags = flags,
                       .flag_count = EG_FLAG_COUNT(flags), .settle = settle, .without = "epochs", .batch = 32,
                       .save_every = 1000, .smoke_steps = 12, .smoke_batch = 8,
                       .data = "a file of text, or a pattern of some: a sentence a line, an empty line behind each "
                               "document; without it sentences about a small world");
}
