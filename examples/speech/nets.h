/* nets.h - the nets of speech commands (Sainath and Parada 2015; Nakkiran et al. 2015), as TensorFlow's program has
 * them. */
#ifndef EXAMPLES_SPEECH_NETS_H
#define EXAMPLES_SPEECH_NETS_H

#include <egret/nn.h>

/* conv, low_latency_conv, low_latency_svdf, single_fc, tiny_conv: [N, 1, frames, width] -> logits [N, classes].
 * EG_EINVAL: none of these, or a clip too short for it. */
#define SPEECH_NETS "conv|low_latency_conv|low_latency_svdf|single_fc|tiny_conv"
eg_module *speech_net(const char *name, int64_t frames, int64_t width, int64_t classes);

#endif
