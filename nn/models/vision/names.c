/* names.c - what others call the nets' weights: see names.h. */
#include "nn/models/vision/names.h"

#include "nn/models/rules.h"

/* Rules for one layer; `last` is the number of the star that is behind those of theirs. */

/* ---- TF-Slim's layers --------------------------------------------------------------------------- */

/* With a bias; the kernel is a convolution's, or a dense layer's. */
#define PLAIN(theirs, ours) RULE(theirs "/weights", ours ".weight", "hwio") RULE(theirs "/biases", ours ".bias", "")
#define DENSE(theirs, ours) RULE(theirs "/weights", ours ".weight", "dense") RULE(theirs "/biases", ours ".bias", "")

/* A norm; theirs has no counter. */
#define NORMS LIST("norm", "gamma=weight beta=bias moving_variance=running_var")
#define NORM(theirs, ours, last)                          \
    RULE(theirs "/moving_mean", ours ".running_mean", "") \
    RULE("+", ours ".num_batches_tracked", "zero")        \
    RULE(theirs "/*", ours ".{" last ":norm}", "")

/* A convolution with a norm. */
#define CONV(theirs, ours, last)                         \
    RULE(theirs "/weights", ours ".conv.weight", "hwio") \
    NORM(theirs "/BatchNorm", ours ".norm", last)

/* The head in the middle of three of the Inceptions. */
#define AUX(scope)                                                                         \
    LIST("aux", "Conv2d_1b_1x1=Conv2d_1b_1x1 Conv2d_2a=Conv2d_2a Conv2d_2a_5x5=Conv2d_2a") \
    CONV(scope "/AuxLogits/*", "aux.{1:aux}", "2")                                         \
    DENSE(scope "/AuxLogits/*", "aux.Logits.fc")

/* ---- Keras' layers ------------------------------------------------------------------------------ */

/* Of HDF5 files, in which a layer's parts lie in a group of its name, twice: "fc1/fc1/kernel:0", in files of Keras 3
 * without ":0". */
#define KERAS_CONV(theirs, ours)                      \
    RULE(theirs "/*/kernel*", ours ".weight", "hwio") \
    RULE(theirs "/*/bias*", ours ".bias", "")
#define KERAS_DENSE(theirs, ours)                      \
    RULE(theirs "/*/kernel*", ours ".weight", "dense") \
    RULE(theirs "/*/bias*", ours ".bias", "")
#define KERAS_DEPTHWISE(theirs, ours) RULE(theirs "/*/*kernel*", ours ".weight", "depthwise")

#define KERAS_NORMS                                                                                \
    LIST("keras", "gamma=weight beta=bias moving_variance=running_var gamma:0=weight beta:0=bias " \
                  "moving_variance:0=running_var")
#define KERAS_NORM(theirs, ours, last)                       \
    RULE(theirs "/*/moving_mean*", ours ".running_mean", "") \
    RULE("+", ours ".num_batches_tracked", "zero")           \
    RULE(theirs "/*/*", ours ".{" last ":keras}", "")

/* ---- maps --------------------------------------------------------------------------------------- */

#define MAP(name, ...) const char eg__names_##name[] = __VA_ARGS__;
#include "nn/models/vision/names.def"
