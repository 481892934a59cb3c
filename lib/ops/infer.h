/* infer.h - the inference functions the rows of ops.def name; one file per family defines them. */
#ifndef EGRET_INFER_H
#define EGRET_INFER_H

#include "lib/ops/optable.h"

eg__infer eg__infer_power, eg__infer_where, eg__infer_copy, eg__infer_cast, eg__infer_reshape, eg__infer_expand,
    eg__infer_permute, eg__infer_slice, eg__infer_slice_grad, eg__infer_view, eg__infer_to, eg__infer_matmul,
    eg__infer_linear, eg__infer_diagonal, eg__infer_conv, eg__infer_conv_data, eg__infer_conv_weight;
/* reductions and what goes along one axis */
eg__infer eg__infer_sum, eg__infer_reduce, eg__infer_count, eg__infer_any, eg__infer_extreme, eg__infer_place,
    eg__infer_norm, eg__infer_scan, eg__infer_running;

eg__infer eg__infer_resize, eg__infer_resize_grad;
eg__infer eg__infer_grid_sample, eg__infer_grid_sample_grad, eg__infer_grid_sample_points, eg__infer_nms;
eg__infer eg__infer_cross_entropy, eg__infer_cross_entropy_grad;
eg__infer eg__infer_ctc_loss, eg__infer_ctc_loss_grad, eg__infer_ctc_collapse;

eg__infer eg__infer_attention, eg__infer_attention_grad;
eg__infer eg__infer_lstm, eg__infer_lstm_grad, eg__infer_gru, eg__infer_gru_grad;

eg__infer eg__infer_arange, eg__infer_random, eg__infer_categorical, eg__infer_dropout;
eg__infer eg__infer_concat, eg__infer_pad, eg__infer_checked_index, eg__infer_index_select, eg__infer_index_add,
    eg__infer_gather, eg__infer_scatter, eg__infer_ravel_index, eg__infer_unravel_index, eg__infer_nonzero,
    eg__infer_one_hot;

eg__infer eg__infer_fft, eg__infer_rfft, eg__infer_irfft;

eg__infer eg__infer_sort, eg__infer_topk, eg__infer_searchsorted;

eg__infer eg__infer_lu, eg__infer_lu_det, eg__infer_lu_solve, eg__infer_triangular_solve, eg__infer_cholesky,
    eg__infer_qr, eg__infer_svd, eg__infer_eigh;

eg__infer eg__infer_batch_norm, eg__infer_batch_norm_grad, eg__infer_group_norm, eg__infer_layer_norm,
    eg__infer_layer_norm_grad;

eg__infer eg__infer_max_pool, eg__infer_avg_pool, eg__infer_pool_grad, eg__infer_max_pool_places;

/* That the device has memory for a result of this shape at all, or its limit allows it: where the parts it is made of
 * are large too, before they are made. */
eg_status eg__check_room(const char *op, uint8_t device, int ndim, const int64_t *shape, int dtype);

/* What can be said of options before there is an x. */
struct eg_pool_options;
struct eg_resize_options;
eg_status eg__check_pool_options(const char *op, int axes, const struct eg_pool_options *g);
eg_status eg__check_resize_options(eg_shape size, const struct eg_resize_options *g);

#endif
