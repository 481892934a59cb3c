/* test_product.c - what matrix products stand on: the primitive cache and packed copies, seen from inside. */
#include "lib/cpu/dnnl/dnnl.h"
#include "lib/cpu/common/pack.h"
#include "lib/cpu/matrix/product.h"
#include "lib/ops/optable.h"
#include "tests/egt.h"

static eg__call a_call(void)
{
    return (eg__call){.op = &eg__op_matmul, .T = eg__thread_get()};
}

/* ---- products that add, with rows apart --------------------------------------------------------- */

/* Against a plain loop: y [m, n] in rows of n + 3 numbers, already holding something. */
static void check_adding(int64_t m, int64_t n, int64_t k, bool transposed)
{
    eg_tensor *a = egt_random(EG_SHAPE(m, k), EG_F32, -1, 1), *b = egt_random(EG_SHAPE(k, n), EG_F32, -1, 1);
    eg_tensor *y = egt_random(EG_SHAPE(m, n + 3), EG_F32, -1, 1), *before = eg_copy(y);
    if (transposed) {
        b = eg_transpose(eg_reshape(b, EG_SHAPE(n, k)), 0, 1);
    }
    eg__call c = a_call();
    bool done = false, fused = false;
    eg__product p = {.dtype = EG_F32,
                     .add = true,
                     .m = m,
                     .n = n,
                     .k = k,
                     .a = eg__ptr(a),
                     .b = eg__ptr(b),
                     .y = eg__ptr(y),
                     .ra = k,
                     .ca = 1,
                     .rb = b->strides[0],
                     .cb = b->strides[1],
                     .ry = n + 3};
    EGT_OK(eg__product_run_base(&c, &p, &done, &fused));
    EGT_CHECK(done);
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n + 3; j++) {
            double want = eg_get(before, i * (n + 3) + j);
            for (int64_t l = 0; l < k && j < n; l++) {
                want += eg_get(a, i * k + l) * eg_get(b, l * n + j);
            }
            EGT_NEAR(eg_get(y, i * (n + 3) + j), want, 1e-5);
        }
    }
}

EGT(products_that_add)
{
    for (int transposed = 0; transposed < 2; transposed++) {
        check_adding(3, 4, 5, transposed);
        check_adding(1, 300, 40, transposed);
        check_adding(90, 1, 120, transposed);
        check_adding(4, 100, 80, transposed);
        check_adding(30, 40, 50, transposed);
        check_adding(5, 6, 0, transposed);
    }
}

/* ---- packed copies ------------------------------------------------------------------------------ */

EGT(copies_follow_their_storage)
{
    eg__thread *T = eg__thread_get();
    eg_tensor *w = eg_zeros(EG_SHAPE(16), EG_F32);
    const int64_t key[2] = {1, 2};
    eg__pack *p = eg__pack_get(T, w->storage, key, 2, 640);
    EGT_CHECK(p && !p->full);
    eg__pack *other = eg__pack_get(T, w->storage, key, 2, 640);
    EGT_CHECK(other && other != p && !other->full); /* the first is still being filled */
    eg__pack_filled(p);
    eg__pack_put(p);
    eg__pack_put(other);
    eg__pack *again = eg__pack_get(T, w->storage, key, 2, 640);
    EGT_CHECK(again == p && again->full);
    eg__pack_put(again);
    eg_set(w, 0, 1);
    again = eg__pack_get(T, w->storage, key, 2, 640);
    EGT_CHECK((again == p || again == other) && !again->full); /* the old memory serves the new version */
    eg__pack_put(again);
}

EGT(copies_are_few)
{
    eg__thread *T = eg__thread_get();
    eg_tensor *w = eg_zeros(EG_SHAPE(16), EG_F32);
    eg__pack *first = NULL;
    for (int64_t i = 0; i < 100; i++) {
        eg__pack *p = eg__pack_get(T, w->storage, &i, 1, 64);
        EGT_CHECK(p != NULL);
        eg__pack_filled(p);
        first = i ? first : p;
        if (i) {
            eg__pack_put(p); /* the first stays in use */
        }
    }
    int64_t zero = 0;
    eg__pack *p = eg__pack_get(T, w->storage, &zero, 1, 64);
    EGT_CHECK(p == first && p->full);
    eg__pack_put(p);
    eg__pack_put(first);
    int n = 0;
    int64_t last = 99;
    p = eg__pack_get(T, w->storage, &last, 1, 64);
    for (eg__pack *q = p; q; q = q->next) {
        n++;
    }
    eg__pack_put(p);
    EGT_CHECK(n < 10);
}

EGT(packing_pays_after_some_uses)
{
    eg_tensor *w = eg_zeros(EG_SHAPE(16), EG_F32);
    EGT_CHECK(!eg__pack_pays(w->storage, 0) && !eg__pack_pays(w->storage, 1));
    while (!eg__pack_pays(w->storage, 0)) {
    }
    for (int i = 0; i < 20; i++) {
        EGT_CHECK(!eg__pack_pays(w->storage, 1)); /* beside the other way's */
    }
    eg_set(w, 0, 1);
    EGT_CHECK(!eg__pack_pays(w->storage, 0));
    static float data[16];
    eg_tensor *foreign = eg_wrap(data, EG_SHAPE(16), EG_F32, NULL, NULL);
    int64_t key = 0;
    for (int i = 0; i < 20; i++) {
        EGT_CHECK(!eg__pack_pays(foreign->storage, 0));
    }
    EGT_CHECK(!eg__pack_get(eg__thread_get(), foreign->storage, &key, 1, 64));
}

EGT(no_memory_for_a_copy)
{
    eg__thread *T = eg__thread_get();
    int64_t key = 0;
    for (int n = 1; n <= 3; n++) { /* the list, the copy's head, its data */
        eg_tensor *w = eg_zeros(EG_SHAPE(16), EG_F32);
        eg_debug_fail_alloc(n);
        EGT_CHECK(!eg__pack_get(T, w->storage, &key, 1, 64));
        eg_debug_fail_alloc(0);
        eg__pack *p = eg__pack_get(T, w->storage, &key, 1, 64);
        EGT_CHECK(p != NULL);
        eg__pack_put(p);
    }
}

/* ---- the primitive cache -------------------------------------------------------------------------- */

#ifdef EG_HAVE_ONEDNN
static eg__dnnl_op product_op(eg_tensor *a, eg_tensor *b, eg_tensor *y)
{
    return (eg__dnnl_op){
        .kind = EG__DNNL_MATMUL, .x = eg__dnnl_mem_of(a, 2), .w = eg__dnnl_mem_of(b, 2), .y = eg__dnnl_mem_of(y, 2)};
}

EGT(primitives_are_found_again)
{
    eg__call c = a_call();
    int64_t held, made, before;
    eg__dnnl_prim *p, *q;
    eg_tensor *a = eg_ones(EG_SHAPE(20, 30), EG_F32), *b = eg_ones(EG_SHAPE(30, 40), EG_F32);
    eg_tensor *y = eg_zeros(EG_SHAPE(20, 40), EG_F32);
    eg__dnnl_op op = product_op(a, b, y);
    EGT_OK(eg__dnnl_find(&c, &op, &p));
    if (!p) {
        egt_skip("oneDNN has no kernel here");
    }
    eg__dnnl_counts(c.T, &held, &before);
    EGT_OK(eg__dnnl_find(&c, &op, &q));
    EGT_CHECK(p == q);
    op.add = true;
    EGT_OK(eg__dnnl_find(&c, &op, &q));
    EGT_CHECK(p != q);
    eg__dnnl_counts(c.T, &held, &made);
    EGT_EQ(made, before + 1);
    EGT_OK(eg__dnnl_run(&c, q, &(eg__dnnl_data){.x = eg__ptr(a), .w = eg__ptr(b), .y = eg__ptr(y)}));
    EGT_OK(eg__dnnl_run(&c, q, &(eg__dnnl_data){.x = eg__ptr(a), .w = eg__ptr(b), .y = eg__ptr(y)}));
    EGT_EQ(eg_get(y, 0), 60);
}

EGT(the_cache_is_bounded)
{
    eg__call c = a_call();
    int64_t held, made, before;
    eg__dnnl_counts(c.T, &held, &before);
    for (int round = 0; round < 2; round++) {
        for (int64_t n = 1; n <= 1100; n++) {
            eg__dnnl_prim *p;
            /* The smallest of shapes, so that making them takes no time. */
            eg__dnnl_mem m = {.ndim = 2, .dtype = EG_F32, .shape = {1, n}, .strides = {n, 1}};
            eg__dnnl_op op = {.kind = EG__DNNL_MATMUL,
                              .x = m,
                              .y = m,
                              .w = {.ndim = 2, .dtype = EG_F32, .shape = {n, n}, .strides = {n, 1}}};
            EGT_OK(eg__dnnl_find(&c, &op, &p));
        }
    }
    eg__dnnl_counts(c.T, &held, &made);
    EGT_CHECK(held <= 1024);
    EGT_CHECK(made - before >= 1100);
}

EGT(no_memory_for_a_primitive)
{
    eg__call c = a_call();
    eg__dnnl_prim *p;
    eg__dnnl_mem m = {.ndim = 2, .dtype = EG_F32, .shape = {7, 7}, .strides = {7, 1}};
    eg__dnnl_op op = {.kind = EG__DNNL_MATMUL, .act = EG__ACT_TANH, .x = m, .w = m, .y = m};
    eg_debug_fail_alloc(1);
    EGT_REFUSED(eg__dnnl_find(&c, &op, &p), EG_ENOMEM, "matmul");
    eg_debug_fail_alloc(0);
    EGT_OK(eg__dnnl_find(&c, &op, &p));
}

/* Remembered, so that own loops are taken at once the next time. */
EGT(what_onednn_refuses_is_not_found)
{
    eg__call c = a_call();
    eg__dnnl_prim *p;
    eg__dnnl_mem m = {.ndim = 2, .dtype = EG_F32, .shape = {7, 7}, .strides = {7, 1}}, w = m;
    w.shape[0] = 6;
    eg__dnnl_op op = {.kind = EG__DNNL_MATMUL, .x = m, .w = w, .y = m};
    int64_t held, made, once;
    EGT_OK(eg__dnnl_find(&c, &op, &p));
    EGT_CHECK(!p);
    eg__dnnl_counts(c.T, &held, &once);
    EGT_OK(eg__dnnl_find(&c, &op, &p));
    EGT_CHECK(!p);
    eg__dnnl_counts(c.T, &held, &made);
    EGT_EQ(made, once);
}
#endif
