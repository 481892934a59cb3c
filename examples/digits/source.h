/* source.h - digits for programs to learn from: MNIST's, or drawn ones. */
#ifndef EXAMPLES_DIGITS_SOURCE_H
#define EXAMPLES_DIGITS_SOURCE_H

#include <egret/egret.h>
#include <egret/run.h>

/* Digits drawn from the fonts of this machine: `count` images of the series `seed`, made as they are
 * asked for. */
eg_dataset *digits_drawn(uint64_t seed, int64_t count);

/* The digits of a folder of MNIST files, or drawn ones if folder is NULL. Training and test never
 * share a digit. */
eg_dataset *digits_source(const char *folder, eg_split_name split, uint64_t seed, int64_t drawn);

/* Fetches the four files of MNIST into the folder, from where `from` says (NULL: a public mirror), and
 * checks their sums: a run's get_data. */
eg_status digits_get(const char *folder, const char *from, void *user);

#endif
