/* net.h - image to image: a U-Net that draws and a critic of patches (Isola, Zhu, Zhou, Efros 2016). */
#ifndef EXAMPLES_PIX2PIX_NET_H
#define EXAMPLES_PIX2PIX_NET_H

#include <egret/egret.h>

enum { PIX2PIX_WIDTH = 64 }; /* channels of the first layers in the paper */

/* images [N, 3, 256, 256] in -1..1 to others of the same size */
eg_module *pix2pix_generator(int64_t width);
/* a drawing and an image, joined [N, 6, 256, 256], to logits [N, 1, 30, 30]: each judges a patch of
 * 70 x 70 pixels */
eg_module *pix2pix_discriminator(int64_t width);

typedef struct pix2pix_losses {
    eg_tensor *generator, *discriminator;
    eg_tensor *made; /* what the generator drew */
} pix2pix_losses;

/* Both losses of one forward; the generator's adds 100 times the mean distance from the target. */
pix2pix_losses pix2pix_play(eg_module *generator, eg_module *discriminator, eg_tensor *input, eg_tensor *target);

#endif
