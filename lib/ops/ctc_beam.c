/* ctc_beam.c - prefix beam search. What was spelt so far is a node of a tree, its path from the root; of each there are
 * the probabilities of ending in a blank and in its last label. */
#include <math.h>
#include <stdlib.h>

#include <egret/ops/ctc.h>

#include "lib/core/device.h"
#include "lib/core/follower.h"
#include "lib/ops/ctc_rows.h"
#include "lib/ops/infer.h"

enum { WIDTH = 16, MOST = 1 << 20 };

typedef struct node {
    int64_t parent, label;  /* -1 of the root */
    int64_t child, sibling; /* 0: none */
    int64_t depth;          /* labels up to here */
    double added;           /* by the language */
} node;

/* A beginning that is followed, or would be: then its node is that of its parent until it is chosen. */
typedef struct prefix {
    int64_t node, label; /* label: to be added; -1: none */
    double blank, ends;  /* logarithms of the probabilities */
    double score, added; /* of both, and of the language, which is in it */
} prefix;

typedef struct search {
    const double *x;
    const int64_t *frames; /* NULL: all */
    int64_t steps, rows, classes, blank, width;
    int64_t *labels, *lengths; /* results; NULL: not wanted */
    double *scores;
    char *buffers;
    size_t buffer;
    int64_t pieces;
    double (*language)(void *user, const int64_t *labels, int64_t n, int64_t next);
    void *user;
} search;

/* What a thread has. */
typedef struct work {
    node *nodes;
    prefix *beam, *heap; /* heap: the best so far of the next frame, the least first */
    double *gained;      /* of each prefix in the beam, by being spelt from the one before it */
    int64_t *children;   /* of a prefix in the beam: others there, by label; row of classes */
    int64_t *path;       /* labels of a prefix, for the language */
    int64_t count, chosen, made;
} work;

static double add(double a, double b)
{
    const double most = a > b ? a : b, least = a > b ? b : a;
    return most == -(double)INFINITY ? most : most + log1p(exp(least - most));
}

/* ---- the best of a frame ---------------------------------------------------------------------- */

static void sink(prefix *heap, int64_t n, int64_t i)
{
    const prefix p = heap[i];
    for (int64_t k; (k = 2 * i + 1) < n; i = k) {
        k += k + 1 < n && heap[k + 1].score < heap[k].score;
        if (!(heap[k].score < p.score)) {
            break;
        }
        heap[i] = heap[k];
    }
    heap[i] = p;
}

static void offer(const search *s, work *w, prefix p)
{
    p.score = add(p.blank, p.ends) + p.added;
    if (p.score == -(double)INFINITY || p.score != p.score) {
        return;
    }
    if (w->chosen == s->width) {
        if (p.score > w->heap[0].score) {
            w->heap[0] = p;
            sink(w->heap, w->chosen, 0);
        }
        return;
    }
    int64_t i = w->chosen++;
    for (; i > 0 && p.score < w->heap[(i - 1) / 2].score; i = (i - 1) / 2) {
        w->heap[i] = w->heap[(i - 1) / 2];
    }
    w->heap[i] = p;
}

/* The node behind another one, made if there is none. */
static int64_t follow(work *w, int64_t parent, int64_t label, double added)
{
    int64_t at = w->nodes[parent].child;
    while (at && w->nodes[at].label != label) {
        at = w->nodes[at].sibling;
    }
    if (!at) {
        at = w->made++;
        w->nodes[at] = (node){parent, label, 0, w->nodes[parent].child, w->nodes[parent].depth + 1, added};
        w->nodes[parent].child = at;
    }
    return at;
}

/* The labels of a node into the path; how many. */
static int64_t spell(work *w, int64_t at)
{
    const int64_t n = w->nodes[at].depth;
    for (int64_t i = n; i > 0; at = w->nodes[at].parent) {
        w->path[--i] = w->nodes[at].label;
    }
    return n;
}

/* ---- a row ------------------------------------------------------------------------------------- */

/* What prefix i of the beam becomes with each class. */
static void extend(const search *s, work *w, int64_t i, const double *x)
{
    const prefix p = w->beam[i];
    const int64_t last = w->nodes[p.node].label, n = s->language ? spell(w, p.node) : 0;
    const double said = p.score - p.added;
    for (int64_t k = 0; k < w->count; k++) { /* others of the beam that it spells with one label more */
        const node *at = &w->nodes[w->beam[k].node];
        if (at->parent == p.node) {
            w->children[at->label] = 1 + k;
        }
    }
    for (int64_t c = 0; c < s->classes; c++) {
        if (c == s->blank) {
            continue;
        }
        const double more = (c == last ? p.blank : said) + x[c]; /* without a blank it is the same label */
        if (w->children[c]) {
            w->gained[w->children[c] - 1] = more;
            w->children[c] = 0;
        } else {
            const double added = s->language ? p.added + s->language(s->user, w->path, n, c) : 0;
            offer(s, w, (prefix){.node = p.node, .label = c, .blank = -(double)INFINITY, .ends = more, .added = added});
        }
    }
}

static void step(const search *s, work *w, const double *x)
{
    w->chosen = 0;
    for (int64_t i = 0; i < w->count; i++) {
        w->gained[i] = -(double)INFINITY;
    }
    for (int64_t i = 0; i < w->count; i++) {
        extend(s, w, i, x);
    }
    for (int64_t i = 0; i < w->count; i++) {
        const prefix p = w->beam[i];
        const int64_t last = w->nodes[p.node].label;
        const double again = last < 0 ? p.ends : p.ends + x[last];
        offer(s, w,
              (prefix){.node = p.node,
                       .label = -1,
                       .blank = p.score - p.added + x[s->blank],
                       .ends = add(again, w->gained[i]),
                       .added = p.added});
    }
    w->count = w->chosen;
    for (int64_t i = 0; i < w->count; i++) {
        prefix p = w->heap[i];
        p.node = p.label < 0 ? p.node : follow(w, p.node, p.label, p.added);
        w->beam[i] = p;
    }
}

static void search_row(const search *s, work *w, int64_t r)
{
    const int64_t frames = s->frames ? s->frames[r] : s->steps;
    w->nodes[0] = (node){-1, -1, 0, 0, 0, 0};
    w->made = w->count = 1;
    w->beam[0] = (prefix){.label = -1, .blank = 0, .ends = -(double)INFINITY, .score = 0};
    for (int64_t t = 0; t < frames; t++) {
        step(s, w, s->x + (t * s->rows + r) * s->classes);
    }
    prefix best = {.score = -(double)INFINITY};
    for (int64_t i = 0; i < w->count; i++) {
        prefix p = w->beam[i];
        p.score += s->language ? s->language(s->user, w->path, spell(w, p.node), -1) : 0;
        best = p.score > best.score ? p : best;
    }
    int64_t n = w->nodes[best.node].depth;
    s->lengths[r] = n;
    s->scores[r] = best.score;
    for (int64_t t = n; t < s->steps; t++) {
        s->labels[r * s->steps + t] = -1;
    }
    for (int64_t at = best.node; at; at = w->nodes[at].parent) {
        s->labels[r * s->steps + --n] = w->nodes[at].label;
    }
}

/* ---- all of them ------------------------------------------------------------------------------- */

static void run_pieces(void *ctx, int64_t begin, int64_t end)
{
    const search *s = ctx;
    for (int64_t k = begin; k < end; k++) {
        work w = {.nodes = (node *)(void *)(s->buffers + (size_t)k * s->buffer)};
        w.beam = (prefix *)(w.nodes + s->steps * s->width + 1);
        w.heap = w.beam + s->width;
        w.gained = (double *)(w.heap + s->width);
        w.children = (int64_t *)(w.gained + s->width);
        w.path = w.children + s->classes;
        memset(w.children, 0, (size_t)s->classes * sizeof *w.children);
        for (int64_t r = s->rows * k / s->pieces; r < s->rows * (k + 1) / s->pieces; r++) {
            search_row(s, &w, r);
        }
    }
}

static eg_status run(search *s)
{
    size_t nodes;
    s->pieces = eg__max(1, eg__min(eg_threads(), s->rows));
    if (__builtin_mul_overflow((size_t)s->steps * sizeof(node), (size_t)s->width, &nodes)) {
        return eg__no_memory("ctc_beam", INT64_MAX);
    }
    s->buffer =
        nodes + sizeof(node) + (size_t)s->width * (2 * sizeof(prefix) + 8) + (size_t)(s->classes + s->steps) * 8;
    s->buffers = eg__malloc(s->buffer * (size_t)s->pieces);
    if (!s->buffers) {
        return eg__no_memory("ctc_beam", (int64_t)s->buffer * s->pieces);
    }
    eg__parallel(s->pieces, 1, run_pieces, s);
    free(s->buffers);
    return EG_OK;
}

eg_status eg_ctc_beam_with(eg_tensor *x, eg_tensor **labels, eg_tensor **lengths, eg_tensor **scores,
                           const eg_ctc_beam_options *options)
{
    static const char op[] = "ctc_beam";
    eg_tensor **to[3] = {labels, lengths, scores}, *made[3] = {NULL}, *keep[3] = {NULL};
    eg_ctc_beam_options o;
    eg__options(&o, sizeof o, options);
    for (int i = 0; i < 3; i++) {
        *(to[i] ? to[i] : &made[i]) = NULL;
    }
    if (eg__ctc_check_probs(op, x, o.blank, false)) {
        return eg__why();
    }
    if (o.width < 0 || o.width > MOST) {
        return eg__fail(EG_EINVAL, op, "width is %lld, must be 0..%d", (long long)o.width, MOST);
    }
    search s = {.steps = x->shape[0],
                .rows = x->shape[1],
                .classes = x->shape[2],
                .blank = o.blank,
                .width = o.width ? o.width : WIDTH,
                .language = o.language,
                .user = o.user};
    eg_scope scope = eg_scope_push();
    eg_tensor *frames = o.input_lengths ? eg_to(eg_detach(o.input_lengths), eg_cpu()) : NULL;
    frames = frames ? eg__lengths(op, "input_lengths", frames, s.rows, s.steps) : NULL;
    eg_tensor *numbers = eg_contiguous(eg_cast(eg_to(eg_detach(x), eg_cpu()), EG_F64));
    made[0] = eg__full_on(0, EG_SHAPE(s.rows, s.steps), -1, EG_I64);
    made[1] = eg__full_on(0, EG_SHAPE(s.rows), 0, EG_I64);
    made[2] = eg__full_on(0, EG_SHAPE(s.rows), 0, EG_F64);
    eg_status read = numbers ? eg__follow_read(numbers, op) : EG_OK;
    eg_status st = read                                                                           ? read
                   : !numbers || (o.input_lengths && !frames) || !made[0] || !made[1] || !made[2] ? eg__why()
                                                                                                  : EG_OK;
    if (!st) {
        s.x = (const double *)eg__ptr(numbers);
        s.frames = frames ? (const int64_t *)eg__ptr(frames) : NULL;
        s.labels = (int64_t *)eg__ptr(made[0]);
        s.lengths = (int64_t *)eg__ptr(made[1]);
        s.scores = (double *)eg__ptr(made[2]);
        st = run(&s);
    }
    for (int i = 0; i < 3 && !st; i++) {
        keep[i] = to[i] ? made[i] : NULL;
    }
    if (st) {
        eg_scope_pop(scope, NULL);
        return st;
    }
    st = eg_scope_pop_n(scope, keep, 3);
    for (int i = 0; i < 3 && !st; i++) {
        *(to[i] ? to[i] : &made[i]) = keep[i];
    }
    return st;
}
