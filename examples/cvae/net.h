/* net.h - a convolutional variational autoencoder (Kingma and Welling 2013; Rezende, Mohamed, Wierstra 2014). */
#ifndef EXAMPLES_CVAE_NET_H
#define EXAMPLES_CVAE_NET_H

#include <egret/egret.h>

enum { LATENT = 50 };

/* images [N, 1, 28, 28] -> mean and log-variance of their codes, side by side: [N, 2 LATENT] */
eg_module *cvae_encoder(void);
/* codes [N, LATENT] -> logits [N, 1, 28, 28] of each pixel being 1 */
eg_module *cvae_decoder(void);

/* Minus the evidence lower bound, estimated with one code per image: the mean over the batch of
 * -(log p(x|z) + log p(z) - log q(z|x)), z = mean + e^(log_var / 2) noise; noise is [N, LATENT]. */
eg_tensor *cvae_loss(eg_module *encoder, eg_module *decoder, eg_tensor *x, eg_tensor *noise);

#endif
