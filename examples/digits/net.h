/* net.h - what digits trains and digits-read uses: one network, two sources of digits. */
#ifndef EXAMPLES_DIGITS_NET_H
#define EXAMPLES_DIGITS_NET_H

#include <egret/egret.h>

#include "../common/problem.h"

/* Four convolutions with batch norm and a linear layer; [n, 1, 28, 28] in, [n, 10] scores out. */
eg_module *digits_net(void);

/* Digits drawn from the fonts of this machine: `count` images of the series `seed`, made as they are
 * asked for. NULL with words, of the library or of the fonts, on record. */
eg_dataset *digits_drawn(uint64_t seed, int64_t count);

/* The digits of a folder of MNIST files, or drawn ones if folder is NULL. Training and test never
 * share a digit. */
eg_dataset *digits_source(const char *folder, eg_split_name split, uint64_t seed, int64_t drawn);

#endif
