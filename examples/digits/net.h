/* net.h - what digits trains and digits-read uses. */
#ifndef EXAMPLES_DIGITS_NET_H
#define EXAMPLES_DIGITS_NET_H

#include <egret/egret.h>

/* Four convolutions with batch norm and a linear layer; [n, 1, 28, 28] in, [n, 10] scores out. */
eg_module *digits_net(void);

#endif
