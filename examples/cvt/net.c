/* net.c - see net.h. */
#include "net.h"

#include <math.h>
#include <string.h>

enum { SIZES = 7 };

/* ---- begin and end ------------------------------------------------------------------------------- */

static eg_module *head_new(const net *n, const book *b, task t)
{
    const int64_t marks = eg_vocabulary_size(b->marks[t]);
    return t == ARCS ? eg_cvt_parser_new(n->encoder, marks) : eg_cvt_tagger_new(n->encoder, marks);
}

static eg_module *all_new(net *n, const book *b, const eg_cvt_encoder_options *o)
{
    eg_module *parts[1 + TASKS];
    int count = 1;
    parts[0] = n->encoder = eg_named("encoder", eg_cvt_encoder_new_with(eg_vocabulary_size(b->words), LETTERS, o));
    for (int t = 0; t < TASKS; t++) {
        if (b->marks[t]) {
            parts[count++] = n->heads[t] = eg_named(task_names[t], head_new(n, b, (task)t));
        }
    }
    return eg_module_list_new_with(parts, count);
}

eg_status net_new(net *n, eg_run *run, const book *b, const eg_cvt_encoder_options *o, double decay)
{
    const int64_t sizes[SIZES] = {
        o->word_width, o->letter_width, o->filters, o->cells, o->deep_cells, o->width, eg_vocabulary_size(b->words)};
    *n = (net){.all = NULL};
    EG_SCOPE {
        n->sizes = eg_keep(eg_from(EG_SHAPE(SIZES), EG_I64, sizes));
    }
    n->all = n->sizes ? eg_run_module(run, "net", all_new(n, b, o)) : NULL;
    if (!n->all || eg_run_tensor(run, "sizes", n->sizes)) {
        return eg_last_error()->code;
    }
    n->averages = eg_run_ema(run, "averages", eg_ema_new(eg_module_parameters(n->all), .decay = decay));
    return eg_run_status(run);
}

void net_free(net *n)
{
    eg_release(n->sizes);
    *n = (net){.all = NULL};
}

static eg_status read_sizes(const char *checkpoint, const book *b, eg_cvt_encoder_options *o)
{
    eg_tensors *file = eg_safetensors_load(checkpoint);
    eg_tensor *sizes = file ? eg_tensors_get(file, "sizes") : NULL;
    eg_status st = sizes ? EG_OK : eg_last_error()->code;
    if (sizes && (eg_dtype_of(sizes) != EG_I64 || eg_numel(sizes) != SIZES)) {
        st = eg_failf(EG_EFORMAT, "cvt", "%.200s is no checkpoint of this program", checkpoint);
    }
    int64_t words = 0, *const to[SIZES] = {&o->word_width, &o->letter_width, &o->filters, &o->cells,
                                           &o->deep_cells, &o->width,        &words};
    for (int i = 0; i < SIZES && !st; i++) {
        *to[i] = (int64_t)eg_get(sizes, i);
    }
    eg_tensors_free(file);
    return st || words == eg_vocabulary_size(b->words)
               ? st
               : eg_failf(EG_EFORMAT, "cvt", "the checkpoint knows %lld words, words.txt has %lld", (long long)words,
                          (long long)eg_vocabulary_size(b->words));
}

eg_status net_open(net *n, eg_run *run, const book *b)
{
    eg_path newest = eg_run_latest(run);
    eg_cvt_encoder_options o = {.size = sizeof o};
    *n = (net){.all = NULL};
    eg_status st = read_sizes(newest.text, b, &o);
    st = st ? st : net_new(n, run, b, &o, 0.5);
    st = st ? st : eg_run_restore(run, newest.text);
    st = st ? st : eg_module_eval(n->all);
    return st ? st : eg_ema_swap(n->averages);
}

eg_status net_words(net *n, const book *b, const char *file)
{
    eg_status st = EG_OK;
    EG_SCOPE {
        eg_tensors *state = eg_module_state(n->encoder);
        eg_tensor *table = state ? eg_tensors_get(state, "words.weight") : NULL;
        eg_tensor *vectors =
            table ? eg_word_vectors_load(file, b->words, .otherwise = eg_to(eg_copy(table), eg_cpu())) : NULL;
        st = vectors && eg_copy_(table, eg_to(vectors, eg_device_of(table))) ? EG_OK : eg_last_error()->code;
        eg_tensors_free(state);
    }
    return st;
}

/* ---- learning ------------------------------------------------------------------------------------ */

static eg_cvt_options options_of(eg_tensor *words, double dropout)
{
    eg_tensor *there = eg_cast(eg_ne_int(words, 0), EG_I64);
    return (eg_cvt_options){
        .size = sizeof(eg_cvt_options), .lengths = eg_sum(there, .axes = EG_AXES(1)), .dropout = dropout};
}

eg_tensor *net_marked_loss(const net *n, eg_tensor *const *batch, double dropout, double smoothing)
{
    const eg_cvt_options o = options_of(batch[0], dropout);
    eg_cvt_states s = eg_cvt_encode_with(n->encoder, batch[0], batch[1], &o);
    eg_tensor *sum = NULL;
    for (int t = 0, at = 2; t < TASKS && s.all; t++) {
        if (n->heads[t]) {
            eg_tensor *logits = eg_flatten(eg_cvt_logits_with(n->heads[t], s, &o), 0, 1);
            eg_tensor *loss = eg_cross_entropy(logits, eg_flatten(batch[at++], 0, 1), .ignore = true,
                                               .ignore_index = -1, .label_smoothing = t == ARCS ? 0 : smoothing);
            sum = sum ? eg_add(sum, loss) : loss;
        }
    }
    return sum;
}

eg_status net_teach(const net *n, eg_tensor *const *batch, eg_tensor *taught[TASKS])
{
    const eg_cvt_options o = options_of(batch[0], 0);
    eg_cvt_states s = eg_cvt_encode_with(n->encoder, batch[0], batch[1], &o);
    eg_status st = s.all ? EG_OK : eg_last_error()->code;
    for (int t = 0; t < TASKS && !st; t++) {
        taught[t] = n->heads[t] ? eg_softmax(eg_cvt_logits_with(n->heads[t], s, &o), 2) : NULL;
        st = n->heads[t] && !taught[t] ? eg_last_error()->code : EG_OK;
    }
    return st;
}

eg_tensor *net_views_loss(const net *n, eg_tensor *const *batch, eg_tensor *const taught[TASKS], double dropout)
{
    const eg_cvt_options o = options_of(batch[0], dropout);
    eg_cvt_states s = eg_cvt_encode_with(n->encoder, batch[0], batch[1], &o);
    eg_tensor *sum = NULL;
    for (int t = 0; t < TASKS && s.all; t++) {
        if (n->heads[t]) {
            eg_tensor *loss = eg_cvt_views_loss_with(n->heads[t], s, taught[t], &o);
            sum = sum ? eg_add(sum, loss) : loss;
        }
    }
    return sum;
}

/* ---- judging ------------------------------------------------------------------------------------- */

/* Of arcs as numbers: the word that is hung on, from 0; -1: the root. */
static eg_tensor *heads_of(eg_tensor *arcs, int64_t relations)
{
    return eg_floor_divide_int(eg_sub_int(arcs, 1), relations);
}

static eg_status judge_arcs(eg_metrics *m, eg_tensor *said, eg_tensor *right, int64_t relations)
{
    eg_tensor *where = eg_reshape(eg_nonzero(eg_flatten(eg_ge_int(right, 0), 0, 1)), EG_SHAPE(-1));
    said = eg_index_select(eg_flatten(said, 0, 1), 0, where);
    right = eg_index_select(eg_flatten(right, 0, 1), 0, where);
    eg_status st = eg_metrics_mean(m, "unlabelled", eg_eq(heads_of(said, relations), heads_of(right, relations)));
    return st ? st : eg_metrics_mean(m, "labelled", eg_eq(said, right));
}

static eg_status judge_batch(const net *n, const book *b, eg_metrics *m, const char *const *chunks,
                             eg_tensor *const *batch)
{
    const eg_cvt_options o = options_of(batch[0], 0);
    eg_cvt_states s = eg_cvt_encode_with(n->encoder, batch[0], batch[1], &o);
    eg_status st = s.all ? EG_OK : eg_last_error()->code;
    for (int t = 0, at = 2; t < TASKS && !st; t++) {
        if (n->heads[t]) {
            eg_tensor *logits = eg_cvt_logits_with(n->heads[t], s, &o), *right = batch[at++];
            const int64_t marks = eg_vocabulary_size(b->marks[t]);
            eg_tensor *said = eg_argmax(logits, .axes = EG_AXES(2));
            st = t == TAGS     ? eg_metrics_accuracy(m, "tags", eg_flatten(logits, 0, 1), eg_flatten(right, 0, 1))
                 : t == CHUNKS ? eg_metrics_spans(m, "chunks", said, right, chunks, (int)marks, EG_SPANS_LENIENT)
                               : judge_arcs(m, said, right, marks);
        }
    }
    return st;
}

static double percent(eg_metrics *m, bool there, const char *name)
{
    return there ? 100 * eg_metrics_value(m, name) : NAN;
}

enum { MARKS_MOST = 512 };

judged net_judge(net *n, eg_run *run, const book *b, eg_dataset *batches)
{
    judged j = {NAN, NAN, NAN, NAN, NAN, NAN};
    const char *chunks[MARKS_MOST];
    for (int64_t i = 0; b->marks[CHUNKS] && i < eg_vocabulary_size(b->marks[CHUNKS]) && i < MARKS_MOST; i++) {
        chunks[i] = eg_vocabulary_word(b->marks[CHUNKS], i);
    }
    eg_metrics *m = eg_metrics_new();
    eg_status st = m ? eg_ema_swap(n->averages) : eg_last_error()->code;
    EG_RUN_EACH(batch, run, batches)
    {
        st = st ? st : judge_batch(n, b, m, chunks, batch);
    }
    if (eg_ema_swapped(n->averages)) {
        eg_status back = eg_ema_swap(n->averages);
        st = st ? st : back;
    }
    eg_run_heed(run, st);
    if (!eg_run_status(run)) {
        j.tags = percent(m, n->heads[TAGS], "tags");
        j.f1 = percent(m, n->heads[CHUNKS], "chunks");
        j.precision = n->heads[CHUNKS] ? 100 * eg_metrics_of(m, "chunks", EG_PRECISION, -2) : NAN;
        j.recall = n->heads[CHUNKS] ? 100 * eg_metrics_of(m, "chunks", EG_RECALL, -2) : NAN;
        j.unlabelled = percent(m, n->heads[ARCS], "unlabelled");
        j.labelled = percent(m, n->heads[ARCS], "labelled");
    }
    eg_metrics_free(m);
    return j;
}

/* ---- using it ------------------------------------------------------------------------------------ */

/* The columns of one word: of arcs the number of the head, 0 the root, and the relation. */
static void write_word(const net *n, const book *b, eg_tensor *const said[TASKS], int64_t i, FILE *to)
{
    for (int t = 0; t < TASKS; t++) {
        const int64_t mark = n->heads[t] ? (int64_t)eg_get(said[t], i) : 0;
        const int64_t relations = t == ARCS && n->heads[t] ? eg_vocabulary_size(b->marks[t]) : 1;
        if (n->heads[t] && t != ARCS) {
            fprintf(to, " %s", eg_vocabulary_word(b->marks[t], mark));
        } else if (n->heads[t] && mark == 0) {
            fprintf(to, " 0 root");
        } else if (n->heads[t]) {
            fprintf(to, " %lld %s", (long long)((mark - 1) / relations + 1),
                    eg_vocabulary_word(b->marks[t], (mark - 1) % relations));
        }
    }
}

eg_status net_read(const net *n, eg_run *run, const book *b, eg_tensor *text, FILE *to)
{
    eg_status st = EG_OK;
    EG_RUN_COMPUTES(run)
    {
        eg_tensor *one[2] = {NULL, NULL}, *said[TASKS] = {NULL};
        st = sentence_read(b, text, one);
        const int64_t count = st ? 0 : eg_numel(one[0]);
        for (int i = 0; i < 2 && count; i++) {
            one[i] = eg_run_here(run, eg_unsqueeze(one[i], 0));
        }
        st = count ? net_teach(n, one, said) : st;
        for (int t = 0; t < TASKS && !st && count; t++) {
            eg_tensor *best = n->heads[t] ? eg_argmax(said[t], .axes = EG_AXES(2)) : NULL;
            said[t] = best ? eg_to(eg_select(best, 0, 0), eg_cpu()) : NULL;
            st = n->heads[t] && !said[t] ? eg_last_error()->code : EG_OK;
        }
        eg_tensor *words = st || !count ? NULL : eg_text_words(text);
        for (int64_t i = 0; i < count && words; i++) {
            fprintf(to, "%lld %.*s", (long long)i + 1, (int)eg_get(words, 2 * i + 1),
                    (const char *)eg_data(text) + (int64_t)eg_get(words, 2 * i));
            write_word(n, b, said, i, to);
            fputc('\n', to);
        }
    }
    fputc('\n', to);
    return st;
}
