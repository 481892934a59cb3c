/* tape.h - recording and differentiating.
 *
 * One linear record per thread; a tape is an *interval* of it. Ops on tracked tensors append an entry
 * while a tape is open; parameters are tracked by themselves, other tensors once watched. With no tape
 * open nothing is recorded and nothing costs. An entry holds only what its gradient needs.
 *
 *     eg_tape tape = eg_tape_open();
 *     eg_tape_watch(tape, x);
 *     eg_tensor *y = eg_sum(eg_mul(x, x)), *dx;
 *     eg_tape_gradients(tape, y, &x, 1, &dx);
 *
 * Asking a tape inside another records the backward pass in the outer one: that is how higher derivatives are
 * made. Everything recorded while an outer tape is open stays until it closes (about 900 bytes and two
 * saved tensors per small inner step). In-place ops are never recorded and refused on tensors an open
 * tape follows. Views of a parameter made while no tape was open are plain tensors: gradients do not
 * reach the parameter through them. */
#ifndef EGRET_TAPE_H
#define EGRET_TAPE_H

#include <egret/base.h>
#include <egret/tensor.h>

EG_BEGIN_DECLS

/* A handle by value; a stale one is refused, never followed. */
typedef struct eg_tape {
    uint64_t id;
} eg_tape;

typedef struct eg_tape_options {
    size_t size;
    bool persistent; /* may be asked several times about what was recorded until the first */
} eg_tape_options;

/* Starts recording in the calling thread. The tape belongs to the innermost scope and is closed with
 * it, so an early return is safe. Out of memory: a zero handle. */
EG_API eg_tape eg_tape_open_with(const eg_tape_options *options);
#define eg_tape_open(...) eg_tape_open_with(EG_OPTIONS_(eg_tape_options, __VA_ARGS__))

/* Stops recording and forgets. Closing twice is EG_ESTATE. */
EG_API eg_status eg_tape_close(eg_tape tape);

/* Tracks x from now on in every open tape of this thread; ops done before are not recorded. Float
 * dtypes only (EG_EDTYPE). Watching a tracked tensor does nothing. */
EG_API eg_status eg_tape_watch(eg_tape tape, eg_tensor *x);

/* Makes t a parameter: kept, and tracked by itself under every recording tape. Float dtypes only.
 * Returns t; release it with eg_release. */
EG_API eg_tensor *eg_parameter(eg_tensor *t);
EG_API bool eg_is_parameter(const eg_tensor *t);

typedef struct eg_gradients_options {
    size_t size;
    eg_tensor *dy;         /* gradient of y; needed unless y has one element. y's shape and dtype */
    bool null_unconnected; /* NULL instead of zeros for an x that y does not depend on */
    /* Called in the middle of the walk, once for each xs[i], as soon as its gradient is whole: those that y does not
     * depend on first, then the latest used first. Then `out` may be NULL, and a gradient lives only as long as `ready`
     * keeps it. A failure ends the walk; one without a record is EG_EUSER. It must not ask this tape. */
    eg_status (*ready)(int i, eg_tensor *gradient, void *user);
    void *user;
} eg_gradients_options;

/* out[i] = d y / d xs[i] (summed against dy), for n tracked tensors: parameters, watched tensors or
 * results in between, made before or after the tape was opened, repeated or not. Results are
 * borrowed, without gaps (channels-last where they were made so), and share storage with nothing.
 * The first question ends the tape's interval and, unless it is persistent, uses it up. EG_ESTATE:
 * the tape is used up, closed or being walked; y was not recorded; an x was never watched; a saved
 * tensor was changed in place (both ops are named). After a failure all of out is NULL. */
EG_API eg_status eg_tape_gradients_with(eg_tape tape, eg_tensor *y, eg_tensor *const *xs, int n, eg_tensor **out,
                                        const eg_gradients_options *options);
#define eg_tape_gradients(...) EG_TAPE_GRADIENTS_(__VA_ARGS__, )
#define EG_TAPE_GRADIENTS_(tape, y, xs, n, out, ...) \
    eg_tape_gradients_with(tape, y, xs, n, out, EG_OPTIONS_(eg_gradients_options, __VA_ARGS__))

/* x, cut off: gradients stop here. A view. */
EG_API eg_tensor *eg_detach(eg_tensor *x);

/* ---- your own ops ------------------------------------------------------------------------ */

/* An op of the user's, with the same rights as the library's own. forward makes y from n inputs;
 * backward fills dx[i] (NULL: zero) from the inputs, y and dy for every i with bit i of `needed` set,
 * from public ops, so that it can itself be differentiated. Either returns EG_OK or a failure, whose
 * record is left as it is; a failure without a record is EG_EUSER. The struct must outlive every tape
 * that recorded it. */
typedef struct eg_custom_op {
    size_t size;
    const char *name;
    eg_tensor *(*forward)(eg_tensor *const *inputs, int n, void *user);
    eg_status (*backward)(eg_tensor *const *inputs, int n, eg_tensor *y, eg_tensor *dy, unsigned needed, eg_tensor **dx,
                          void *user);
    void *user;
} eg_custom_op;

/* Runs op->forward unrecorded and leaves one entry that saves the inputs and y. At most 16 inputs. */
EG_API eg_tensor *eg_custom(const eg_custom_op *op, eg_tensor *const *inputs, int n);

/* y = f(inputs) without saving what happens inside: one entry that saves the inputs; the backward pass runs f
 * again (Chen et al. 2016, "Training Deep Nets with Sublinear Memory Cost"). Parameters used inside get
 * their gradients too. f must do the same both times; random ops inside repeat their numbers. `user` must
 * live until then. At most 16 inputs, tensors used inside included. Gradients equal those of f itself, also where one
 * tensor is given several times. A result that f did not compute from tracked tensors (an input, a tensor from
 * outside, a constant) is returned as it is. */
EG_API eg_tensor *eg_checkpoint(eg_tensor *(*f)(eg_tensor *const *inputs, int n, void *user), eg_tensor *const *inputs,
                                int n, void *user);

EG_END_DECLS

#endif
