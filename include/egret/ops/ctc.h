/* ctc.h - connectionist temporal classification (Graves et al. 2006): the loss of sequences whose labels have no
 * known places in time, and reading labels out of what a net says. A path names a class in each frame; what it
 * spells is what is left of it once classes that follow themselves count as one and blanks are dropped. */
#ifndef EGRET_OPS_CTC_H
#define EGRET_OPS_CTC_H

#include <egret/ops/loss.h>

EG_BEGIN_DECLS

typedef struct eg_ctc_options {
    size_t size;
    eg_tensor *input_lengths;  /* [N], i64, i32 or u8: frames of each row, 0..T; NULL: T */
    eg_tensor *target_lengths; /* [N], i64, i32 or u8: labels of each row; NULL: S */
    int64_t blank;             /* the class that is no label */
    eg_reduction reduction;    /* EG_MEAN: each loss by its number of labels (at least 1) first */
    bool zero_infinity;        /* losses that are infinite, and their gradients, become 0 */
} eg_ctc_options;
/* loss[n] = -log of the sum, over all paths of row n that spell its targets, of the product of their probabilities.
 * log_probs [T, N, C], floats in any layout: of each class in each frame, as log_softmax over the last axis makes
 * them. targets, i64, i32 or u8, are [N, S] of which each row's first count, or [sum of target_lengths] with the rows'
 * labels end to end, for which target_lengths must be given. Without a batch log_probs are [T, C], targets [S], and
 * lengths 0-dim or [1]; the loss is 0-dim. Else it is [N] before it is reduced; of no rows it is 0.
 *
 * A row with fewer frames than its labels and the blanks between equal neighbours take has an infinite loss. f16 and
 * bf16 compute in f32.
 *
 * grad: dy (e^log_probs - share of the paths through the class in that frame), 0 past a row's frames. That is
 * the gradient of the log_softmax's input, which lets it through unchanged, as in PyTorch; of log_probs that are
 * not normalised it is not the derivative. NaN where the loss is infinite, without zero_infinity. Saves log_probs,
 * targets and N T (2 S + 1) numbers. The gradient has no gradient: EG_EINVAL.
 *
 * EG_EINDEX: a label outside 0..C-1, a length outside 0..T or 0..S, lengths whose sum is not that of the labels;
 * EG_EINVAL: a label that is the blank, a blank outside 0..C-1. On a device what is wrong with labels and lengths
 * is found by the kernel, and said by the next call that waits for it. */
EG_API eg_tensor *eg_ctc_loss_with(eg_tensor *log_probs, eg_tensor *targets, const eg_ctc_options *options);
#define eg_ctc_loss(...)                 EG_CTC_(__VA_ARGS__, )
#define EG_CTC_(log_probs, targets, ...) eg_ctc_loss_with(log_probs, targets, EG_OPTIONS_(eg_ctc_options, __VA_ARGS__))

/* What the path of the best class in each frame spells. log_probs [T, N, C], floats, or anything of the same order;
 * input_lengths as above or NULL. labels: i64 [N, T], -1 behind the last; lengths: i64 [N]. Of equal classes the first
 * counts. No gradient, no waiting for a device. Errors as above. */
EG_API eg_status eg_ctc_greedy(eg_tensor *log_probs, eg_tensor *input_lengths, int64_t blank, eg_tensor **labels,
                               eg_tensor **lengths);

typedef struct eg_ctc_beam_options {
    size_t size;
    eg_tensor *input_lengths; /* as above; NULL: T */
    int64_t blank;
    int64_t width; /* beginnings that are followed at a time; 0: 16 */
    /* What a language says of a label behind n others, of `next`; -1: of their end. What it gives, a logarithm times a
     * weight as a rule, is added to the score; -INFINITY: that is never said. Called by several threads at once, also
     * for what is dropped again. NULL: there is none. */
    double (*language)(void *user, const int64_t *labels, int64_t n, int64_t next);
    void *user; /* the language's */
} eg_ctc_beam_options;
/* What most probably was said, all paths that spell it taken together: prefix beam search (Hannun et al. 2014), which
 * in each frame follows the `width` most probable beginnings; exact if that is all there are. labels and lengths as of
 * eg_ctc_greedy; scores: f64 [N], the logarithms of their probabilities, as far as their paths were followed, at most
 * -eg_ctc_loss of the labels, and what the language added. Any of the results may be NULL. Runs on the CPU, where the
 * results are, and waits for the device of log_probs. No gradient. EG_EINVAL: a width below 0 or above 2^20, and as
 * above. */
EG_API eg_status eg_ctc_beam_with(eg_tensor *log_probs, eg_tensor **labels, eg_tensor **lengths, eg_tensor **scores,
                                  const eg_ctc_beam_options *options);
#define eg_ctc_beam(...) EG_CTC_BEAM_(__VA_ARGS__, )
#define EG_CTC_BEAM_(log_probs, labels, lengths, scores, ...) \
    eg_ctc_beam_with(log_probs, labels, lengths, scores, EG_OPTIONS_(eg_ctc_beam_options, __VA_ARGS__))

EG_END_DECLS

#endif
