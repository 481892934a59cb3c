/* net.h - the two nets of the game and what they are told about each other (Radford, Metz, Chintala 2015). */
#ifndef EXAMPLES_DCGAN_NET_H
#define EXAMPLES_DCGAN_NET_H

#include <egret/egret.h>

enum { NOISE = 100 };

/* noise [N, 100] -> images [N, 1, 28, 28] in -1..1 */
eg_module *dcgan_generator(void);
/* images [N, 1, 28, 28] -> logits [N, 1], large for what it takes for real */
eg_module *dcgan_discriminator(void);

typedef struct dcgan_losses {
    eg_tensor *generator, *discriminator;
} dcgan_losses;

/* Both losses of one forward: the discriminator should say 1 to real images and 0 to made ones, the
 * generator wants it to say 1 to its own. NULLs after a failure. */
dcgan_losses dcgan_play(eg_module *generator, eg_module *discriminator, eg_tensor *real, eg_tensor *noise);

#endif
