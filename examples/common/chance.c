/* chance.c - see chance.h. */
#include "chance.h"

/* SplitMix64 (Steele, Lea, Flood 2014). */
uint64_t chance_bits(chance *c)
{
    uint64_t z = c->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

int chance_of(chance *c, int n)
{
    return (int)(chance_bits(c) % (uint64_t)n);
}

double chance_between(chance *c, double low, double high)
{
    return low + (high - low) * (double)(chance_bits(c) >> 11) * 0x1p-53;
}
