"""Egret's stream of random numbers (include/egret/ops/random.h), for goldens in which chance is at work."""
import struct


def philox(seed, block):
    """The four words of a block of the stream of a seed (Salmon et al. 2011)."""
    c = [block & 0xffffffff, block >> 32, 0, 0]
    k = [seed & 0xffffffff, seed >> 32]
    for _ in range(10):
        p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(q >> 32) ^ c[1] ^ k[0], q & 0xffffffff, (p >> 32) ^ c[3] ^ k[1], p & 0xffffffff]
        k = [(k[0] + 0x9E3779B9) & 0xffffffff, (k[1] + 0xBB67AE85) & 0xffffffff]
    return c


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


class Dice:
    """Words from a block of a stream on, as data/dice.h reads them."""

    def __init__(self, seed, block=0):
        self.seed, self.at = seed, 4 * block

    def word(self):
        self.at += 1
        return philox(self.seed, (self.at - 1) // 4)[(self.at - 1) % 4]

    def uniform(self):
        return (self.word() >> 8) / 2 ** 24

    def between(self, low, high):
        low, high = f32(low), f32(high)
        return f32(low + (high - low) * self.uniform())

    def below(self, n):
        return self.word() * n >> 32

    def chance(self):
        return self.uniform() < .5
