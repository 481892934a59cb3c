/* random.h - random numbers, and dropout.
 *
 * All of it reads one stream per thread, which eg_seed starts and eg_random_get_state locates: the words of
 * Philox 4x32-10 (Salmon et al. 2011) under the seed as key, word w being word w % 4 of block w / 4. An op starts
 * at the block where the state stands, element i reads the words i * k .. i * k + k - 1 from there, and the
 * state moves on by ceil(n * k / 4) blocks for n elements. k is 1 for floats up to 32 bits, for bernoulli and
 * for dropout, and 2 for f64, integers, permutations and draws. So the same seed gives the same numbers
 * whatever the threads, the instruction set and the device; f16 and bf16 are rounded from the f32 numbers.
 * A refused call leaves the state alone. Nothing here but dropout is differentiable. */
#ifndef EGRET_OPS_RANDOM_H
#define EGRET_OPS_RANDOM_H

#include <egret/tensor.h>

EG_BEGIN_DECLS

/* Uniform in low <= y < high (f16 and bf16 may round up to high); float dtypes. 2^24 steps, of f64 2^53.
 * EG_EINVAL unless low < high, both numbers of the dtype, and high - low is finite, of all but f64 in f32. */
EG_API eg_tensor *eg_uniform(eg_shape shape, double low, double high, eg_dtype dtype);

/* Normal with the mean and standard deviation, by Box and Muller (1958): two neighbours share their words.
 * EG_EINVAL for a negative std, NaN or infinity. */
EG_API eg_tensor *eg_normal(eg_shape shape, double mean, double std, eg_dtype dtype);

/* Normal without what lies further than 2 std from the mean; the inverse distribution function of a uniform
 * number, so one number costs one word (the distribution is that of drawing again until within 2 std). */
EG_API eg_tensor *eg_truncated_normal(eg_shape shape, double mean, double std, eg_dtype dtype);

/* 1 with probability p (to 24 bits, rounded up), else 0; any dtype. EG_EINVAL unless 0 <= p <= 1. */
EG_API eg_tensor *eg_bernoulli(eg_shape shape, double p, eg_dtype dtype);

/* Integers in low <= y < high, all alike; any dtype but bool. Floats are the whole numbers that i64 would be.
 * EG_EINVAL unless low < high and the dtype holds every integer between (of floats that ends where the next
 * integer is not there: 2^53 in f64, 2^24 in f32, 2048 in f16, 256 in bf16). */
EG_API eg_tensor *eg_randint(eg_shape shape, int64_t low, int64_t high, eg_dtype dtype);

/* 0..n-1 in random order, [n] i64: from the last element down, each is exchanged with one of those up to
 * itself (Fisher and Yates). */
EG_API eg_tensor *eg_permutation(int64_t n);

typedef struct eg_categorical_options {
    size_t size;
    bool logits; /* x holds log-probabilities, up to a constant per row */
} eg_categorical_options;

/* n independent draws of a class per row of x [..., classes], whose entries are probabilities up to a factor
 * per row: y [..., n] i64. EG_EINVAL names the entry that is negative or NaN, or the row that sums to 0; of
 * tensors on a GPU the next call that waits for it does, and the row's draws mean nothing. */
EG_API eg_tensor *eg_categorical_with(eg_tensor *x, int64_t n, const eg_categorical_options *options);
#define eg_categorical(...)        EG_CATEGORICAL_(__VA_ARGS__, )
#define EG_CATEGORICAL_(x, n, ...) eg_categorical_with(x, n, EG_OPTIONS_(eg_categorical_options, __VA_ARGS__))

typedef struct eg_multinomial_options {
    size_t size;
    bool replacement; /* an index may come again */
} eg_multinomial_options;

/* k indices per row of weights [..., n], drawn in proportion to them: y [..., k] i64. With replacement that is
 * eg_categorical. Without, each is drawn from what is left: every index waits an exponential time of rate its
 * weight, and the k first are taken in order (Efraimidis and Spirakis 2006); it reads f64 uniforms, and waits for
 * the device to check. EG_EINVAL: a weight that is negative, NaN or infinite, a row with fewer than k weights above
 * 0; k negative. */
EG_API eg_tensor *eg_multinomial_with(eg_tensor *weights, int64_t k, const eg_multinomial_options *options);
#define eg_multinomial(...) EG_MULTINOMIAL_(__VA_ARGS__, )
#define EG_MULTINOMIAL_(weights, k, ...) \
    eg_multinomial_with(weights, k, EG_OPTIONS_(eg_multinomial_options, __VA_ARGS__))

/* Inverted dropout (Srivastava et al. 2014): y = 0 with probability p, else x / (1 - p); p = 1 gives zeros.
 * Element i in the memory of y, row-major or channels-last as x, reads word i. x itself unless training or
 * if p is 0. grad: dy with the same elements dropped; saves nothing: the mask is made again. EG_EINVAL unless
 * 0 <= p <= 1. */
EG_API eg_tensor *eg_dropout(eg_tensor *x, double p, bool training);

EG_END_DECLS

#endif
