/* conv.h - convolutions over one, two or three axes, and their transposes.
 *
 * Logical layouts are PyTorch's: x is [N, C, spatial...], a weight [O, C / groups, kernel...], a
 * bias [O]. An x [C, spatial...] is one image, and its result has no batch either. Results lie
 * channels-last in memory (tensor.h, eg_is_channels_last), which is what the fast kernels read and
 * write; an x in another layout is converted once, and networks stay channels-last from there on.
 * Convolution is meant as networks mean it, a correlation: the kernel is not flipped.
 *
 * Floats of any width, brought to one dtype first; f16 and bf16 compute and accumulate in f32. */
#ifndef EGRET_OPS_CONV_H
#define EGRET_OPS_CONV_H

#include <egret/ops/padding.h>
#include <egret/tensor.h>

EG_BEGIN_DECLS

/* Zero-initialised: stride 1, dilation 1, one group, no padding. A number for all axes or, where an
 * entry of the array is not 0, one per axis. Negative numbers other than EG_SAME, numbers above
 * 2^31 - 1 and entries for axes that are not there are EG_EINVAL. */
typedef struct eg_conv_options {
    size_t size;
    int64_t stride, dilation; /* 0: 1 */
    int64_t groups;           /* 0: 1; channels split evenly; groups == C is a depthwise convolution */
    int64_t padding;          /* cells of zeros on both sides of every axis, or EG_SAME (padding.h) */
    int64_t strides[3], dilations[3];
    int64_t pads[3][2];        /* cells before and after each axis, instead of padding */
    int64_t output_padding[3]; /* transposes: more at the end of the result, below the stride or the dilation */
    /* Any function of one tensor: y = activation(convolution). With eg_relu, eg_tanh and eg_sigmoid a convolution
     * and it are one op: what comes before it takes no memory, and on devices ReLU after a bias takes no pass. */
    eg_tensor *(*activation)(eg_tensor *x);
} eg_conv_options;
#define EG_CONV_(function, a, b, c, ...) function(a, b, c, EG_OPTIONS_(eg_conv_options, __VA_ARGS__))
#define EG_CONV(function, ...)           EG_CONV_(function, __VA_ARGS__, )

/* y[n, o, p] = bias[o] + sum over channels c of o's group and taps t of
 *              x[n, c, p * stride + t * dilation - before] * weight[o, c, t]
 *
 * with zeros outside x: eg_conv2d(x, weight, NULL, .stride = 2, .padding = EG_SAME). The bias may be
 * NULL. y is [N, O, out...] with out = (in + before + after - k') / stride + 1 rounded down, where
 * k' = (k - 1) * dilation + 1; an empty axis stays empty.
 *
 * On the CPU, f32 results over 16, 32, ... channels may be had from fewer products, of sums (Winograd;
 * Lavin and Gray 2016, arXiv:1509.09308), to within 1e-5 of the largest; an infinity in x may come out
 * as NaN. f64 always adds product by product.
 *
 * EG_ESHAPE: ranks, channels or groups that do not fit, an empty kernel, a kernel larger than the
 * padded axis. grad: eg_conv_data, eg_conv_weight, and dy summed for the bias; saves x for the
 * weight's gradient, the weight for x's, nothing for the bias's; with such an activation y too. */
EG_API eg_tensor *eg_conv1d_with(eg_tensor *x, eg_tensor *weight, eg_tensor *bias, const eg_conv_options *options);
EG_API eg_tensor *eg_conv2d_with(eg_tensor *x, eg_tensor *weight, eg_tensor *bias, const eg_conv_options *options);
EG_API eg_tensor *eg_conv3d_with(eg_tensor *x, eg_tensor *weight, eg_tensor *bias, const eg_conv_options *options);
#define eg_conv1d(...) EG_CONV(eg_conv1d_with, __VA_ARGS__)
#define eg_conv2d(...) EG_CONV(eg_conv2d_with, __VA_ARGS__)
#define eg_conv3d(...) EG_CONV(eg_conv3d_with, __VA_ARGS__)

/* The transposed convolution: the linear map of which the convolution with this weight, stride,
 * dilation and padding is the adjoint. x is [N, C, spatial...], y [N, O, out...], the weight
 * [C, O / groups, kernel...], and
 *
 *   out = (in - 1) * stride + k' - before - after + output_padding
 *   out = in * stride for EG_SAME, cropped as the gradient of the SAME convolution from out is
 *
 * and an empty axis stays empty. Errors, gradients and saves as above. */
EG_API eg_tensor *eg_conv_transpose1d_with(eg_tensor *x, eg_tensor *weight, eg_tensor *bias,
                                           const eg_conv_options *options);
EG_API eg_tensor *eg_conv_transpose2d_with(eg_tensor *x, eg_tensor *weight, eg_tensor *bias,
                                           const eg_conv_options *options);
EG_API eg_tensor *eg_conv_transpose3d_with(eg_tensor *x, eg_tensor *weight, eg_tensor *bias,
                                           const eg_conv_options *options);
#define eg_conv_transpose1d(...) EG_CONV(eg_conv_transpose1d_with, __VA_ARGS__)
#define eg_conv_transpose2d(...) EG_CONV(eg_conv_transpose2d_with, __VA_ARGS__)
#define eg_conv_transpose3d(...) EG_CONV(eg_conv_transpose3d_with, __VA_ARGS__)

/* The gradients of a convolution as ops of their own, for 1 to 3 axes; the options are the
 * convolution's.
 *
 * eg_conv_data:   dx of shape x_shape = [N, C, in...] from dy [N, O, out...] and the weight
 * eg_conv_weight: dw of shape w_shape = [O, C / groups, kernel...] from x and dy; row-major in
 * memory
 *
 * Every size must be what the convolution would have had, else EG_ESHAPE. Both are linear in both
 * operands; their gradients are the convolution and each other. */
EG_API eg_tensor *eg_conv_data_with(eg_tensor *dy, eg_tensor *weight, eg_shape x_shape, const eg_conv_options *options);
EG_API eg_tensor *eg_conv_weight_with(eg_tensor *x, eg_tensor *dy, eg_shape w_shape, const eg_conv_options *options);
#define eg_conv_data(...)   EG_CONV(eg_conv_data_with, __VA_ARGS__)
#define eg_conv_weight(...) EG_CONV(eg_conv_weight_with, __VA_ARGS__)

EG_END_DECLS

#endif
