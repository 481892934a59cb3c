/* api.h - what differs between versions 2 and 3 of oneDNN's C API, for primitives.c. */
#ifndef EGRET_DNNL_API_H
#define EGRET_DNNL_API_H

#include <oneapi/dnnl/dnnl.h>

enum { X, W, B, Y, ROLES };

static inline void copy_dims(dnnl_dims_t to, int nd, const int64_t *from)
{
    for (int d = 0; d < DNNL_MAX_NDIMS; d++) {
        to[d] = from && d < nd ? from[d] : 0;
    }
}

#if DNNL_VERSION_MAJOR >= 3
typedef const_dnnl_memory_desc_t md_ref;
#define REF(md) (md)

static inline void md_free(dnnl_memory_desc_t md)
{
    if (md) {
        dnnl_memory_desc_destroy(md);
    }
}

static inline dnnl_status_t md_make(dnnl_memory_desc_t *md, int nd, const int64_t *dims, dnnl_data_type_t dt,
                                    const int64_t *strides)
{
    dnnl_dims_t d, s; /* it declares all 12 as read */
    copy_dims(d, nd, dims);
    copy_dims(s, nd, strides);
    return strides ? dnnl_memory_desc_create_with_strides(md, nd, d, dt, s)
                   : dnnl_memory_desc_create_with_tag(md, nd, d, dt, dnnl_format_tag_any);
}

static inline dnnl_status_t append_add(dnnl_post_ops_t po)
{
    return dnnl_post_ops_append_sum(po, 1, 0, dnnl_data_type_undef);
}

static inline dnnl_status_t append_act(dnnl_post_ops_t po, dnnl_alg_kind_t alg, float alpha)
{
    return dnnl_post_ops_append_eltwise(po, alg, alpha, 0);
}

/* oneDNN's layout as words; 0: it has no such description. */
static inline int md_words(md_ref md, int64_t *to)
{
    int nd = 0, blocks = 0, n = 0;
    dnnl_format_kind_t kind;
    dnnl_dims_t *strides, *padded, *sizes, *axes;
    if (dnnl_memory_desc_query(md, dnnl_query_format_kind, &kind) || kind != dnnl_blocked ||
        dnnl_memory_desc_query(md, dnnl_query_ndims_s32, &nd) ||
        dnnl_memory_desc_query(md, dnnl_query_strides, &strides) ||
        dnnl_memory_desc_query(md, dnnl_query_padded_dims, &padded) ||
        dnnl_memory_desc_query(md, dnnl_query_inner_nblks_s32, &blocks) ||
        dnnl_memory_desc_query(md, dnnl_query_inner_blks, &sizes) ||
        dnnl_memory_desc_query(md, dnnl_query_inner_idxs, &axes)) {
        return 0;
    }
    to[n++] = blocks;
    for (int d = 0; d < nd; d++) {
        to[n++] = (*strides)[d];
        to[n++] = (*padded)[d];
    }
    for (int i = 0; i < blocks; i++) {
        to[n++] = (*sizes)[i];
        to[n++] = (*axes)[i];
    }
    return n;
}
#else
typedef const dnnl_memory_desc_t *md_ref;
#define REF(md) (&(md))

static inline void md_free(dnnl_memory_desc_t md)
{
    (void)md;
}

static inline dnnl_status_t md_make(dnnl_memory_desc_t *md, int nd, const int64_t *dims, dnnl_data_type_t dt,
                                    const int64_t *strides)
{
    dnnl_dims_t d, s; /* it declares all 12 as read */
    copy_dims(d, nd, dims);
    copy_dims(s, nd, strides);
    return strides ? dnnl_memory_desc_init_by_strides(md, nd, d, dt, s)
                   : dnnl_memory_desc_init_by_tag(md, nd, d, dt, dnnl_format_tag_any);
}

static inline dnnl_status_t append_add(dnnl_post_ops_t po)
{
    return dnnl_post_ops_append_sum(po, 1);
}

static inline dnnl_status_t append_act(dnnl_post_ops_t po, dnnl_alg_kind_t alg, float alpha)
{
    return dnnl_post_ops_append_eltwise(po, 1, alg, alpha, 0);
}

static inline int md_words(md_ref md, int64_t *to)
{
    const dnnl_blocking_desc_t *b = &md->format_desc.blocking;
    int n = 0;
    if (md->format_kind != dnnl_blocked || md->extra.flags) {
        return 0;
    }
    to[n++] = b->inner_nblks;
    for (int d = 0; d < md->ndims; d++) {
        to[n++] = b->strides[d];
        to[n++] = md->padded_dims[d];
    }
    for (int i = 0; i < b->inner_nblks; i++) {
        to[n++] = b->inner_blks[i];
        to[n++] = b->inner_idxs[i];
    }
    return n;
}
#endif

/* Descriptors of the operands, NULL where there is none. */
typedef struct descs {
    md_ref md[ROLES];
} descs;

typedef struct geometry {
    dnnl_dims_t stride, dilation, low, high;
} geometry;

#if DNNL_VERSION_MAJOR >= 3
static inline dnnl_status_t describe_matmul(dnnl_primitive_desc_t *pd, dnnl_engine_t e, const descs *o,
                                            dnnl_primitive_attr_t attr)
{
    return dnnl_matmul_primitive_desc_create(pd, e, o->md[X], o->md[W], o->md[B], o->md[Y], attr);
}

static inline dnnl_status_t describe_forward(dnnl_primitive_desc_t *pd, dnnl_engine_t e, const descs *o,
                                             const geometry *g, dnnl_primitive_attr_t attr)
{
    return dnnl_convolution_forward_primitive_desc_create(pd, e, dnnl_forward_training, dnnl_convolution_direct,
                                                          o->md[X], o->md[W], o->md[B], o->md[Y], g->stride,
                                                          g->dilation, g->low, g->high, attr);
}

static inline dnnl_status_t describe_dx(dnnl_primitive_desc_t *pd, dnnl_engine_t e, const descs *o, const geometry *g,
                                        dnnl_primitive_desc_t hint, dnnl_primitive_attr_t attr)
{
    return dnnl_convolution_backward_data_primitive_desc_create(pd, e, dnnl_convolution_direct, o->md[X], o->md[W],
                                                                o->md[Y], g->stride, g->dilation, g->low, g->high, hint,
                                                                attr);
}

static inline dnnl_status_t describe_dw(dnnl_primitive_desc_t *pd, dnnl_engine_t e, const descs *o, const geometry *g,
                                        dnnl_primitive_desc_t hint, dnnl_primitive_attr_t attr)
{
    return dnnl_convolution_backward_weights_primitive_desc_create(pd, e, dnnl_convolution_direct, o->md[X], o->md[W],
                                                                   o->md[B], o->md[Y], g->stride, g->dilation, g->low,
                                                                   g->high, hint, attr);
}
#else
static inline dnnl_status_t describe_matmul(dnnl_primitive_desc_t *pd, dnnl_engine_t e, const descs *o,
                                            dnnl_primitive_attr_t attr)
{
    dnnl_matmul_desc_t d;
    dnnl_status_t st = dnnl_matmul_desc_init(&d, o->md[X], o->md[W], o->md[B], o->md[Y]);
    return st ? st : dnnl_primitive_desc_create(pd, &d, attr, e, NULL);
}

static inline dnnl_status_t describe_forward(dnnl_primitive_desc_t *pd, dnnl_engine_t e, const descs *o,
                                             const geometry *g, dnnl_primitive_attr_t attr)
{
    dnnl_convolution_desc_t d;
    dnnl_status_t st = dnnl_dilated_convolution_forward_desc_init(&d, dnnl_forward_training, dnnl_convolution_direct,
                                                                  o->md[X], o->md[W], o->md[B], o->md[Y], g->stride,
                                                                  g->dilation, g->low, g->high);
    return st ? st : dnnl_primitive_desc_create(pd, &d, attr, e, NULL);
}

static inline dnnl_status_t describe_dx(dnnl_primitive_desc_t *pd, dnnl_engine_t e, const descs *o, const geometry *g,
                                        dnnl_primitive_desc_t hint, dnnl_primitive_attr_t attr)
{
    dnnl_convolution_desc_t d;
    dnnl_status_t st = dnnl_dilated_convolution_backward_data_desc_init(
        &d, dnnl_convolution_direct, o->md[X], o->md[W], o->md[Y], g->stride, g->dilation, g->low, g->high);
    return st ? st : dnnl_primitive_desc_create(pd, &d, attr, e, hint);
}

static inline dnnl_status_t describe_dw(dnnl_primitive_desc_t *pd, dnnl_engine_t e, const descs *o, const geometry *g,
                                        dnnl_primitive_desc_t hint, dnnl_primitive_attr_t attr)
{
    dnnl_convolution_desc_t d;
    dnnl_status_t st = dnnl_dilated_convolution_backward_weights_desc_init(
        &d, dnnl_convolution_direct, o->md[X], o->md[W], o->md[B], o->md[Y], g->stride, g->dilation, g->low, g->high);
    return st ? st : dnnl_primitive_desc_create(pd, &d, attr, e, hint);
}
#endif

#endif
