/* published.h - where data sets that several programs want are to be had. */
#ifndef EXAMPLES_PUBLISHED_H
#define EXAMPLES_PUBLISHED_H

#include <egret/error.h>

/* Fetches the four files of MNIST into the folder, from where `from` says (NULL: a public mirror), and checks their
 * sums. */
eg_status published_mnist(const char *folder, const char *from);

/* The three files of the Penn Treebank's words as T. Mikolov prepared them, likewise. */
eg_status published_ptb(const char *folder, const char *from);

/* Multi30k (Elliott et al. 2016): captions of pictures in English and German, .gz, likewise. */
eg_status published_multi30k(const char *folder, const char *from);

/* The binary files of CIFAR-10, into unpacked/cifar-10-batches-bin there; sha256 is the archive's (NULL: as its
 * author's has it). */
eg_status published_cifar10(const char *folder, const char *url, const char *sha256);

#endif
