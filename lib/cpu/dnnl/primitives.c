/* primitives.c - oneDNN's primitives: made from descriptions, cached per thread, run with reorders. */
#include <stdlib.h>

#include "lib/cpu/common/pack.h"
#include "lib/cpu/dnnl/api.h"
#include "lib/cpu/dnnl/module.h"
#include "lib/core/subsystem.h"
#include "lib/cpu/dnnl/signals.h"

enum { WAYS = 4, KEY_WORDS = 80, LAYOUT_WORDS = 3 + 2 * EG__DNNL_DIMS + 2 * DNNL_MAX_NDIMS };
#ifdef EG_TINY_LIMITS
enum { SETS = 2 };
#else
enum { SETS = 256 };
#endif

/* A primitive with its arguments. */
typedef struct step {
    dnnl_primitive_t prim; /* NULL: nothing to do */
    int narg;
    dnnl_exec_arg_t arg[ROLES + 1]; /* the last one is the scratchpad */
    void *handle[ROLES + 1];        /* what the memories point at now */
    size_t scratch;
} step;

struct eg__dnnl_prim {
    uint64_t hash, used;
    step main;
    step move[ROLES];    /* brings an operand from or to the caller's layout */
    size_t moved[ROLES]; /* bytes in oneDNN's layout */
    int place[ROLES];    /* of the operand among main's arguments, or -1 */
    size_t scratch;      /* bytes any of the steps needs */
    int nkey, nlayout, key_start;
    int64_t key[KEY_WORDS];
    int64_t layout[LAYOUT_WORDS]; /* of w: the caller's geometry and oneDNN's */
    bool output[ROLES];
    bool signals_wait; /* while main runs: signals.h */
};

struct eg__dnnl {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    uint64_t now;
    int64_t made;
    eg__dnnl_prim *prims[SETS][WAYS];
    uint32_t forks; /* primitives are made for the threads of one process */
};

static size_t aligned(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

/* ---- words ------------------------------------------------------------------------------------ */

static EG__COLD eg_status refused(const char *op, dnnl_status_t st)
{
    if (st == dnnl_out_of_memory) {
        return eg__no_memory(op, 0);
    }
    return eg__fail(st == dnnl_invalid_arguments ? EG_EINVAL : EG_ENOKERNEL, op, "oneDNN refused with status %d (%s)",
                    (int)st,
                    st == dnnl_invalid_arguments ? "invalid arguments"
                    : st == dnnl_unimplemented   ? "not implemented"
                                                 : "run-time error");
}

/* ---- making primitives ------------------------------------------------------------------------ */

/* Of a kind: where each operand stands in a primitive, and whether it is written. */
static const struct role {
    dnnl_query_t query;
    int arg;
    bool output;
} roles[][ROLES] = {
    [EG__DNNL_MATMUL] = {{dnnl_query_src_md, DNNL_ARG_SRC, false},
                         {dnnl_query_weights_md, DNNL_ARG_WEIGHTS, false},
                         {dnnl_query_weights_md, DNNL_ARG_BIAS, false},
                         {dnnl_query_dst_md, DNNL_ARG_DST, true}},
    [EG__DNNL_CONV] = {{dnnl_query_src_md, DNNL_ARG_SRC, false},
                       {dnnl_query_weights_md, DNNL_ARG_WEIGHTS, false},
                       {dnnl_query_weights_md, DNNL_ARG_BIAS, false},
                       {dnnl_query_dst_md, DNNL_ARG_DST, true}},
    [EG__DNNL_CONV_DX] = {{dnnl_query_diff_src_md, DNNL_ARG_DIFF_SRC, true},
                          {dnnl_query_weights_md, DNNL_ARG_WEIGHTS, false},
                          {dnnl_query_weights_md, DNNL_ARG_BIAS, false},
                          {dnnl_query_diff_dst_md, DNNL_ARG_DIFF_DST, false}},
    [EG__DNNL_CONV_DW] = {{dnnl_query_src_md, DNNL_ARG_SRC, false},
                          {dnnl_query_diff_weights_md, DNNL_ARG_DIFF_WEIGHTS, true},
                          {dnnl_query_diff_weights_md, DNNL_ARG_DIFF_BIAS, true},
                          {dnnl_query_diff_dst_md, DNNL_ARG_DIFF_DST, false}},
};

static const eg__dnnl_mem *operand(const eg__dnnl_op *op, int role)
{
    const eg__dnnl_mem *m[ROLES] = {&op->x, &op->w, &op->b, &op->y};
    return m[role];
}

static dnnl_data_type_t type_of(const eg__dnnl_mem *m)
{
    return m->dtype == EG_BF16 ? dnnl_bf16 : dnnl_f32;
}

static dnnl_status_t add_argument(step *s, int arg, md_ref md, dnnl_engine_t e)
{
    dnnl_memory_t m;
    dnnl_status_t st = dnnl_memory_create(&m, md, e, DNNL_MEMORY_NONE);
    if (!st) {
        s->arg[s->narg++] = (dnnl_exec_arg_t){arg, m};
    }
    return st;
}

/* The primitive's scratchpad comes last. */
static dnnl_status_t finish_step(step *s, dnnl_primitive_desc_t pd, dnnl_engine_t e)
{
    md_ref scratch = dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
    dnnl_status_t st = dnnl_success;
    s->scratch = scratch ? dnnl_memory_desc_get_size(scratch) : 0;
    if (s->scratch) {
        st = add_argument(s, DNNL_ARG_SCRATCHPAD, scratch, e);
    }
    return st ? st : dnnl_primitive_create(&s->prim, pd);
}

static void free_step(step *s)
{
    if (s->prim) {
        dnnl_primitive_destroy(s->prim);
    }
    for (int i = 0; i < s->narg; i++) {
        dnnl_memory_destroy(s->arg[i].memory);
    }
}

static void free_prim(eg__dnnl_prim *p)
{
    free_step(&p->main);
    for (int r = 0; r < ROLES; r++) {
        free_step(&p->move[r]);
    }
    free(p);
}

static dnnl_status_t make_attr(dnnl_primitive_attr_t *attr, const eg__dnnl_op *op)
{
    static const dnnl_alg_kind_t algorithms[] = {
        [EG__ACT_TANH] = dnnl_eltwise_tanh,           [EG__ACT_SIGMOID] = dnnl_eltwise_logistic,
        [EG__ACT_GELU] = dnnl_eltwise_gelu_erf,       [EG__ACT_SILU] = dnnl_eltwise_swish,
        [EG__ACT_GELU_TANH] = dnnl_eltwise_gelu_tanh,
    };
    if (op->act == EG__ACT_RELU) {
        return dnnl_unimplemented; /* oneDNN's makes NaN 0 and so hides what went wrong */
    }
    dnnl_post_ops_t po = NULL;
    dnnl_status_t st = dnnl_primitive_attr_create(attr);
    st = st ? st : dnnl_primitive_attr_set_scratchpad_mode(*attr, dnnl_scratchpad_mode_user);
    if (!st && (op->add || op->act)) {
        st = dnnl_post_ops_create(&po);
        st = st || !op->add ? st : append_add(po);
        st = st || !op->act ? st : append_act(po, algorithms[op->act], op->act == EG__ACT_SILU);
        st = st ? st : dnnl_primitive_attr_set_post_ops(*attr, po);
        if (po) {
            dnnl_post_ops_destroy(po);
        }
    }
    return st;
}

static dnnl_status_t describe(dnnl_primitive_desc_t *pd, dnnl_engine_t e, const eg__dnnl_op *op, const descs *o,
                              dnnl_primitive_attr_t attr)
{
    if (op->kind == EG__DNNL_MATMUL) {
        return describe_matmul(pd, e, o, attr);
    }
    geometry g;
    for (int d = 0; d < op->x.ndim - 2; d++) {
        g.stride[d] = op->stride[d];
        g.dilation[d] = op->dilation[d] - 1;
        g.low[d] = op->low[d];
        g.high[d] = op->high[d];
    }
    if (op->kind == EG__DNNL_CONV) {
        return describe_forward(pd, e, o, &g, attr);
    }
    dnnl_primitive_desc_t hint = NULL;
    dnnl_status_t st = describe_forward(&hint, e, o, &g, NULL);
    if (!st) {
        st = (op->kind == EG__DNNL_CONV_DX ? describe_dx : describe_dw)(pd, e, o, &g, hint, attr);
        dnnl_primitive_desc_destroy(hint);
    }
    return st;
}

/* The step between the caller's layout of an operand and the one oneDNN chose, if they differ. */
static dnnl_status_t make_move(eg__dnnl_prim *p, int r, const eg__dnnl_mem *m, md_ref chosen, dnnl_engine_t e,
                               dnnl_primitive_attr_t attr)
{
    dnnl_memory_desc_t plain;
    dnnl_primitive_desc_t pd = NULL;
    step *s = &p->move[r];
    dnnl_status_t st = md_make(&plain, m->ndim, m->shape, type_of(m), m->strides);
    if (st || dnnl_memory_desc_equal(REF(plain), chosen)) {
        if (!st) {
            md_free(plain);
        }
        return st;
    }
    md_ref from = p->output[r] ? chosen : REF(plain), to = p->output[r] ? REF(plain) : chosen;
    st = dnnl_reorder_primitive_desc_create(&pd, from, e, to, e, attr);
    st = st ? st : add_argument(s, DNNL_ARG_FROM, from, e);
    st = st ? st : add_argument(s, DNNL_ARG_TO, to, e);
    st = st ? st : finish_step(s, pd, e);
    if (pd) {
        dnnl_primitive_desc_destroy(pd);
    }
    if (r == W) {
        int n = 0;
        for (int d = 0; d < m->ndim; d++) {
            p->layout[n++] = m->shape[d];
            p->layout[n++] = m->strides[d];
        }
        int more = md_words(chosen, p->layout + n + 2);
        p->layout[n] = m->dtype;
        p->nlayout = more ? n + 2 + more : 0; /* one word is left for where w starts */
        p->key_start = n + 1;
    }
    p->moved[r] = dnnl_memory_desc_get_size(chosen);
    md_free(plain);
    return st;
}

static dnnl_status_t make_prim(eg__dnnl_prim *p, const eg__dnnl_op *op, dnnl_engine_t e)
{
    dnnl_memory_desc_t md[ROLES];
    descs o = {{NULL, NULL, NULL, NULL}};
    dnnl_primitive_attr_t attr = NULL, plain = NULL;
    dnnl_primitive_desc_t pd = NULL;
    const char *name = "";
    dnnl_status_t st = make_attr(&attr, op);
    st = st ? st : make_attr(&plain, &(eg__dnnl_op){.act = EG__ACT_NONE});
    for (int r = 0; r < ROLES && !st; r++) {
        const eg__dnnl_mem *m = operand(op, r);
        p->output[r] = roles[op->kind][r].output;
        if (m->ndim) {
            st = md_make(&md[r], m->ndim, m->shape, type_of(m), m->any ? NULL : m->strides);
            o.md[r] = st ? NULL : REF(md[r]);
        }
    }
    st = st ? st : describe(&pd, e, op, &o, attr);
    if (!st) {
        dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, (void *)&name);
        st = name && strstr(name, "ref") ? dnnl_unimplemented : dnnl_success;
        p->signals_wait = name && strstr(name, "gemm:jit") &&
                          (op->kind != EG__DNNL_MATMUL || op->x.shape[op->x.ndim - 1] > EG__MOST_ON_STACK);
    }
    for (int r = 0; r < ROLES && !st; r++) {
        const struct role *k = &roles[op->kind][r];
        p->place[r] = -1;
        if (o.md[r]) {
            md_ref chosen = dnnl_primitive_desc_query_md(pd, k->query, r == B);
            p->place[r] = p->main.narg;
            st = add_argument(&p->main, k->arg, chosen, e);
            if (!st && operand(op, r)->any) {
                st = make_move(p, r, operand(op, r), chosen, e, plain);
            }
        }
    }
    st = st ? st : finish_step(&p->main, pd, e);
    p->scratch = aligned(p->main.scratch);
    for (int r = 0; r < ROLES; r++) {
        size_t need = aligned(p->move[r].scratch);
        p->scratch = need > p->scratch ? need : p->scratch;
        if (o.md[r]) {
            md_free(md[r]);
        }
    }
    if (pd) {
        dnnl_primitive_desc_destroy(pd);
    }
    if (attr) {
        dnnl_primitive_attr_destroy(attr);
    }
    if (plain) {
        dnnl_primitive_attr_destroy(plain);
    }
    return st;
}

/* ---- the cache --------------------------------------------------------------------------------- */

static int make_key(const eg__dnnl_op *op, int64_t *key)
{
    int n = 1;
    int64_t head = op->kind | op->act << 4 | op->add << 8 | (int64_t)eg_threads() << 40;
    for (int r = 0; r < ROLES; r++) {
        const eg__dnnl_mem *m = operand(op, r);
        head |= (int64_t)(m->ndim | m->any << 3 | (m->dtype == EG_BF16) << 4) << (10 + 5 * r);
        for (int d = 0; d < m->ndim; d++) {
            key[n++] = m->shape[d];
            key[n++] = m->strides[d];
        }
    }
    for (int d = 0; op->kind != EG__DNNL_MATMUL && d < op->x.ndim - 2; d++) {
        key[n++] = op->stride[d];
        key[n++] = op->dilation[d];
        key[n++] = op->low[d];
        key[n++] = op->high[d];
    }
    key[0] = head;
    return n;
}

static uint64_t hash_of(const int64_t *key, int n)
{
    uint64_t a = 0x9e3779b97f4a7c15u, b = 0xc2b2ae3d27d4eb4fu; /* two chains run side by side */
    for (int i = 0; i + 1 < n; i += 2) {
        a = (a ^ (uint64_t)key[i]) * 0xff51afd7ed558ccdu;
        b = (b ^ (uint64_t)key[i + 1]) * 0xc4ceb9fe1a85ec53u;
        a ^= a >> 29;
        b ^= b >> 31;
    }
    a ^= n & 1 ? (uint64_t)key[n - 1] * 0xff51afd7ed558ccdu : 0;
    a = (a ^ (b << 1 | b >> 63)) * 0x9e3779b97f4a7c15u;
    return a ^ a >> 32;
}

/* What this thread has of oneDNN, NULL before its first call. */
static inline struct eg__dnnl **own(eg__thread *T)
{
    return (struct eg__dnnl **)&T->lane[0].state;
}

static EG__COLD eg_status start(eg__thread *T, const char *op)
{
    struct eg__dnnl *D = T->dead ? NULL : eg__malloc(sizeof *D);
    if (!D) {
        return eg__no_memory(op, sizeof *D);
    }
    memset(D, 0, sizeof *D);
    dnnl_status_t st = dnnl_engine_create(&D->engine, dnnl_cpu, 0);
    if (!st) {
        st = dnnl_stream_create(&D->stream, D->engine, dnnl_stream_default_flags);
        if (st) {
            dnnl_engine_destroy(D->engine);
        }
    }
    if (st) {
        free(D);
        return refused(op, st);
    }
    D->forks = eg__forks();
    *own(T) = D;
    return EG_OK;
}

/* A new primitive in place of the set's oldest. One that oneDNN lacks is remembered too, as is one for strides it does
 * not take: those below 0, and of a batch whose matrices meet. */
static EG__COLD eg_status add(const eg__call *c, const eg__dnnl_op *op, const int64_t *key, int nkey, uint64_t hash,
                              eg__dnnl_prim **found)
{
    struct eg__dnnl *D = *own(c->T);
    eg__dnnl_prim **set = D->prims[hash % SETS], **at = &set[0];
    eg__dnnl_prim *p = eg__malloc(sizeof *p);
    if (!p) {
        return eg__no_memory(c->op->name, sizeof *p);
    }
    memset(p, 0, sizeof *p);
    p->hash = hash;
    p->used = ++D->now;
    p->nkey = nkey;
    memcpy(p->key, key, (size_t)nkey * sizeof *key);
    const double start_of = eg__seconds();
    dnnl_status_t st = make_prim(p, op, D->engine);
    eg__took(c->op->name, "making oneDNN's primitive", eg__seconds() - start_of);
    if (st && st != dnnl_unimplemented && st != dnnl_invalid_arguments) {
        free_prim(p);
        return refused(c->op->name, st);
    }
    if (st && p->main.prim) {
        dnnl_primitive_destroy(p->main.prim);
        p->main.prim = NULL;
    }
    for (int i = 0; i < WAYS && *at; i++) {
        at = !set[i] || set[i]->used < (*at)->used ? &set[i] : at;
    }
    if (*at) {
        free_prim(*at);
    }
    D->made++;
    *at = p;
    *found = p->main.prim ? p : NULL;
    if (!*found) {
        eg__log_words(EG__DEBUG_FALLBACK, c->op->name, "oneDNN has no way for it, own loops are taken");
    }
    return EG_OK;
}

eg_status eg__dnnl_find(const eg__call *c, const eg__dnnl_op *op, eg__dnnl_prim **found)
{
    int64_t key[KEY_WORDS];
    int nkey = make_key(op, key);
    uint64_t hash = hash_of(key, nkey);
    *found = NULL;
    struct eg__dnnl **D = own(c->T);
    if (unlikely(*D && (*D)->forks != eg__forks())) {
        eg__dnnl_thread_end(c->T);
    }
    if (unlikely(!*D)) {
        eg_status st = start(c->T, c->op->name);
        if (st) {
            return st;
        }
    }
    eg__dnnl_prim **set = (*D)->prims[hash % SETS];
    for (int i = 0; i < WAYS; i++) {
        eg__dnnl_prim *p = set[i];
        if (p && p->hash == hash && p->nkey == nkey && !memcmp(p->key, key, (size_t)nkey * sizeof *key)) {
            p->used = ++(*D)->now;
            *found = p->main.prim ? p : NULL;
            return EG_OK;
        }
    }
    return add(c, op, key, nkey, hash, found);
}

void eg__dnnl_counts(eg__thread *T, int64_t *held, int64_t *made)
{
    const struct eg__dnnl *D = *own(T);
    *held = 0;
    *made = D ? D->made : 0;
    for (int i = 0; D && i < SETS * WAYS; i++) {
        *held += D->prims[i / WAYS][i % WAYS] != NULL;
    }
}

void eg__dnnl_thread_end(eg__thread *T)
{
    struct eg__dnnl *D = *own(T);
    if (!D) {
        return;
    }
    for (int i = 0; i < SETS * WAYS; i++) {
        if (D->prims[i / WAYS][i % WAYS]) {
            free_prim(D->prims[i / WAYS][i % WAYS]);
        }
    }
    dnnl_stream_destroy(D->stream);
    dnnl_engine_destroy(D->engine);
    free(D);
    *own(T) = NULL;
}

/* ---- running ------------------------------------------------------------------------------------ */

static dnnl_status_t point(step *s, int i, void *data)
{
    if (s->handle[i] == data) {
        return dnnl_success;
    }
    s->handle[i] = data;
    return dnnl_memory_set_data_handle(s->arg[i].memory, data);
}

static dnnl_status_t execute(const eg__call *c, step *s, void *scratch)
{
    dnnl_status_t st = s->scratch ? point(s, s->narg - 1, scratch) : dnnl_success;
    return st ? st : dnnl_primitive_execute(s->prim, (*own(c->T))->stream, s->narg, s->arg);
}

static dnnl_status_t execute_main(const eg__call *c, eg__dnnl_prim *p, void *scratch)
{
    if (!p->signals_wait) {
        return execute(c, &p->main, scratch);
    }
    const uint64_t before = eg__signals_hold();
    dnnl_status_t st = execute(c, &p->main, scratch);
    eg__signals_release(before);
    return st;
}

static dnnl_status_t move(const eg__call *c, step *s, void *from, void *to, void *scratch)
{
    dnnl_status_t st = point(s, 0, from);
    st = st ? st : point(s, 1, to);
    return st ? st : execute(c, s, scratch);
}

/* The kept copy of w in oneDNN's layout, perhaps still to be filled; NULL: none to be had. */
static eg__pack *packed(const eg__call *c, eg__dnnl_prim *p, const eg__dnnl_data *at)
{
    if (!at->keep || !p->nlayout || p->output[W]) {
        return NULL;
    }
    p->layout[p->key_start] = (char *)at->w - at->keep->data;
    return eg__pack_get(c->T, at->keep, p->layout, p->nlayout, p->moved[W]);
}

static dnnl_status_t run(const eg__call *c, eg__dnnl_prim *p, void *const *given, eg__pack *kept, char *scratch)
{
    char *buffer = scratch + p->scratch;
    void *use[ROLES];
    dnnl_status_t st = dnnl_success;
    for (int r = 0; r < ROLES && !st; r++) {
        bool moves = p->move[r].prim, ready = moves && r == W && kept && kept->full;
        use[r] = given[r];
        if (moves && r == W && kept) {
            use[r] = kept->data;
        } else if (moves) {
            use[r] = buffer;
            buffer += aligned(p->moved[r]);
        }
        if (moves && !ready && !p->output[r]) {
            st = move(c, &p->move[r], given[r], use[r], scratch);
            if (!st && r == W && kept) {
                eg__pack_filled(kept);
            }
        }
        if (!st && p->place[r] >= 0) {
            st = point(&p->main, p->place[r], use[r]);
        }
    }
    st = st ? st : execute_main(c, p, scratch);
    for (int r = 0; r < ROLES && !st; r++) {
        if (p->output[r] && p->move[r].prim) {
            st = move(c, &p->move[r], use[r], given[r], scratch);
        }
    }
    return st;
}

eg_status eg__dnnl_run(const eg__call *c, eg__dnnl_prim *p, const eg__dnnl_data *at)
{
    eg__pack *kept = packed(c, p, at);
    size_t bytes = p->scratch;
    for (int r = 0; r < ROLES; r++) {
        bytes += r == W && kept ? 0 : aligned(p->moved[r]);
    }
    eg__scratch s = {NULL, 0};
    eg_status st = bytes ? eg__scratch_get(c, bytes, &s) : EG_OK;
    if (!st) {
        dnnl_status_t r = run(c, p, (void *[]){at->x, at->w, at->b, at->y}, kept, s.data);
        st = r ? refused(c->op->name, r) : EG_OK;
    }
    eg__scratch_put(c, &s);
    if (kept) {
        eg__pack_put(kept);
    }
    return st;
}
