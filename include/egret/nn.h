/* nn.h - modules: functions with parameters, put together like building blocks.
 *
 *     eg_module *net = eg_sequential_new(
 *         eg_conv2d_new(1, 32, .kernel = 3, .padding = EG_SAME), eg_activation_new(eg_relu),
 *         eg_max_pool2d_new(.kernel = 2), eg_flatten_new(), eg_linear_new(32 * 14 * 14, 10));
 *     eg_tensor *logits = eg_module_forward(net, images);
 *     eg_module_free(net);
 *
 * A module owns its children, parameters and buffers (running statistics and the like). What is given to a
 * constructor belongs to it from then on, also when it fails: a NULL anywhere frees the others and the result
 * is NULL, so one check at the end covers all. Names are PyTorch's for the same layer ("0.weight",
 * "4.bias"), so that published weights load. Parameters begin as PyTorch's layers begin, with numbers from
 * the calling thread's random sequence (eg_seed). A new module is in training mode.
 *
 * Modules are not locked: use one from several threads only where nothing changes it (eval mode). */
#ifndef EGRET_NN_H
#define EGRET_NN_H

#include <egret/nn/attention.h>
#include <egret/nn/audio.h>
#include <egret/nn/blocks.h>
#include <egret/nn/decode.h>
#include <egret/nn/init.h>
#include <egret/nn/layers.h>
#include <egret/nn/module.h>
#include <egret/nn/recurrent.h>

#endif
