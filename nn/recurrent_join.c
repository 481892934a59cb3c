/* recurrent_join.c - several recurrent layers as one: two directions, stacks. What is to read backwards is told so,
 * down to the ops, which begin at each row's own end; nothing is turned round in memory. */
#include "lib/ops/optable.h"
#include "nn/nn.h"

/* Runs the one whose states begin at *at in those of s, and moves *at behind them. */
static eg_rnn run_part(eg_module *m, eg_tensor *x, const eg_rnn_start *s, int64_t *at)
{
    const int64_t from = *at;
    eg_rnn_start part = *s;
    *at += eg__rnn_sizes_of(m).states;
    part.h0 = s->h0 ? eg_slice(s->h0, 0, from, *at, 1) : NULL;
    part.c0 = s->c0 ? eg_slice(s->c0, 0, from, *at, 1) : NULL;
    bool sliced = (part.h0 || !s->h0) && (part.c0 || !s->c0);
    return sliced ? eg__rnn_run(m, x, &part) : (eg_rnn){NULL, NULL, NULL};
}

static bool alike(eg__rnn_sizes a, eg__rnn_sizes b)
{
    return a.h == b.h && a.c == b.c;
}

/* ---- two directions -------------------------------------------------------------------------- */

typedef struct bidirectional {
    eg_module base;
    eg_module *there, *back;
    bool batch_first;
} bidirectional;

static eg_tensor *bidirectional_forward(eg_module *m, eg_tensor *x)
{
    bidirectional *b = (bidirectional *)m;
    const eg_axes steps = EG_AXES(b->batch_first && x->ndim == 3 ? 1 : 0);
    eg_tensor *back = eg_flip(eg_module_forward(b->back, eg_flip(x, steps)), steps);
    return eg_concat((eg_tensor *[]){eg_module_forward(b->there, x), back}, 2, -1);
}

static eg_rnn bidirectional_run(eg_module *m, eg_tensor *x, const eg_rnn_start *s)
{
    bidirectional *b = (bidirectional *)m;
    eg_rnn_start turned = *s;
    turned.reverse = !s->reverse;
    int64_t at = 0;
    eg_rnn r = run_part(b->there, x, s, &at), back = r.y ? run_part(b->back, x, &turned, &at) : r;
    if (!back.y) {
        return back;
    }
    return (eg_rnn){eg_concat((eg_tensor *[]){r.y, back.y}, 2, -1), eg_concat((eg_tensor *[]){r.h, back.h}, 2, 0),
                    r.c ? eg_concat((eg_tensor *[]){r.c, back.c}, 2, 0) : NULL};
}

static eg__rnn_sizes bidirectional_sizes(const eg_module *m)
{
    const bidirectional *b = (const bidirectional *)m;
    eg__rnn_sizes there = eg__rnn_sizes_of(b->there), back = eg__rnn_sizes_of(b->back);
    there.out += back.out;
    there.states += back.states;
    return there;
}

static void bidirectional_members(eg_module *m, eg_members *members)
{
    bidirectional *b = (bidirectional *)m;
    eg_member_child(members, "there", &b->there);
    eg_member_child(members, "back", &b->back);
}

/* Of any modules, and of recurrent ones whose states can be joined. */
static const eg_module_kind bidirectional_kind = {.size = sizeof(eg_module_kind),
                                                  .name = "bidirectional",
                                                  .forward = bidirectional_forward,
                                                  .members = bidirectional_members};
static const eg__rnn_kind bidirectional_rnn_kind = {
    {.size = sizeof(eg_module_kind), .name = "bidirectional", .forward = eg__rnn_y, .members = bidirectional_members},
    bidirectional_run,
    bidirectional_sizes};

eg_module *eg_bidirectional_new(eg_module *there, eg_module *back)
{
    static const char op[] = "bidirectional";
    eg_module *given[2] = {there, back};
    bidirectional *b = eg__check_given(op, given, 2) ? NULL : eg_module_new(sizeof *b, &bidirectional_kind);
    if (!b) {
        eg__free_given(given, 2);
        return NULL;
    }
    b->there = there;
    b->back = back;
    if (!eg_module_finish(&b->base)) {
        return NULL;
    }
    const bool recurrent[2] = {eg__rnn_kind_of(there), eg__rnn_kind_of(back)};
    eg__rnn_sizes s[2] = {{0}, {0}};
    for (int i = 0; i < 2; i++) {
        s[i] = recurrent[i] ? eg__rnn_sizes_of(given[i]) : s[i];
        b->batch_first = b->batch_first || s[i].batch_first;
    }
    if (recurrent[0] && recurrent[1] && s[0].batch_first != s[1].batch_first) {
        eg__fail(EG_EINVAL, op, "of a %s and a %s one is batch_first", there->kind->name, back->kind->name);
        eg_module_free(&b->base);
        return NULL;
    }
    if (recurrent[0] && recurrent[1] && s[0].in == s[1].in && alike(s[0], s[1])) {
        b->base.kind = &bidirectional_rnn_kind.base;
    }
    return &b->base;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

enum { LAYERS_MOST = 64 };

static eg_rnn stack_run(eg_module *m, eg_tensor *x, const eg_rnn_start *s)
{
    const eg__list *q = (const eg__list *)m;
    eg_tensor *h[LAYERS_MOST] = {NULL}, *c[LAYERS_MOST] = {NULL};
    eg_rnn r = {x, NULL, NULL};
    int64_t at = 0;
    for (int i = 0; i < q->count && r.y; i++) {
        r = run_part(q->child[i], r.y, s, &at);
        h[i] = r.h;
        c[i] = r.c;
    }
    if (r.y) {
        r.h = eg_concat(h, q->count, 0);
        r.c = r.c ? eg_concat(c, q->count, 0) : NULL;
    }
    return r;
}

static eg__rnn_sizes stack_sizes(const eg_module *m)
{
    const eg__list *q = (const eg__list *)m;
    eg__rnn_sizes all = eg__rnn_sizes_of(q->child[0]);
    for (int i = 1; i < q->count; i++) {
        eg__rnn_sizes s = eg__rnn_sizes_of(q->child[i]);
        all.states += s.states;
        all.out = s.out;
    }
    return all;
}

static const eg__rnn_kind stack_kind = {
    {.size = sizeof(eg_module_kind), .name = "rnn_stack", .forward = eg__rnn_y, .members = eg__list_members},
    stack_run,
    stack_sizes};

static eg_status check_stack(const eg__list *q)
{
    static const char op[] = "rnn_stack";
    eg__rnn_sizes before = {0};
    eg_status st = EG_OK;
    for (int i = 0; i < q->count && !st; i++) {
        st = eg__rnn_check(op, q->child[i]);
        if (st) {
            return st;
        }
        const eg__rnn_sizes s = eg__rnn_sizes_of(q->child[i]);
        if (i && s.in != before.out) {
            st = eg__fail(EG_ESHAPE, op, "layer %d makes %lld columns, layer %d reads %lld", i - 1,
                          (long long)before.out, i, (long long)s.in);
        } else if (i && s.batch_first != before.batch_first) {
            st = eg__fail(EG_EINVAL, op, "of layers %d and %d one is batch_first", i - 1, i);
        } else if (i && !alike(s, before)) {
            st = eg__fail(EG_ESHAPE, op,
                          "h and c of layer %d have %lld and %lld columns, of layer %d %lld and %lld: they must be the "
                          "same (c 0: there is none)",
                          i - 1, (long long)before.h, (long long)before.c, i, (long long)s.h, (long long)s.c);
        }
        before = s;
    }
    return st;
}

eg_module *eg_rnn_stack_new_with(eg_module *const *modules, int count)
{
    static const char op[] = "rnn_stack";
    if (!modules || count < 1 || count > LAYERS_MOST) {
        eg__free_given(modules, modules && count > 0 ? count : 0);
        return eg__fail_null(EG_EINVAL, op, "%d layers at %p: 1..%d are possible", count, (const void *)modules,
                             LAYERS_MOST);
    }
    eg_module *m = eg__list_new(&stack_kind.base, modules, count, 0);
    if (m && check_stack((const eg__list *)m)) {
        eg_module_free(m);
        return NULL;
    }
    return m;
}
