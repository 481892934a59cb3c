/* mnist.h - where the digits of MNIST are to be had. */
#ifndef EXAMPLES_MNIST_H
#define EXAMPLES_MNIST_H

#include <egret/error.h>

/* Fetches the four files into the folder, from where `from` says (NULL: a public mirror), and checks their sums. */
eg_status mnist_get(const char *folder, const char *from);

#endif
