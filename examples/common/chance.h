/* chance.h - random numbers of their own for what programs draw, the same on every machine. */
#ifndef EXAMPLES_CHANCE_H
#define EXAMPLES_CHANCE_H

#include <stdint.h>

/* Begins with any number. */
typedef struct chance {
    uint64_t state;
} chance;

uint64_t chance_bits(chance *c);
/* 0..n - 1, and low..high. */
int chance_of(chance *c, int n);
double chance_between(chance *c, double low, double high);

#endif
