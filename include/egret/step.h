/* step.h - a step that is done again and again, as one piece of work for the device.
 *
 *     static eg_status train(void *user, eg_tensor *const *in, int nin, eg_tensor **out, int nout)
 *     {
 *         trainer *t = user;
 *         eg_tape tape = eg_tape_open();
 *         out[0] = eg_cross_entropy(eg_module_forward(t->net, in[0]), in[1]);
 *         return eg_optim_minimize(t->adam, tape, out[0]);
 *     }
 *     ...
 *     eg_step *step = eg_step_new(train, &trainer);
 *     EG_FOR_EACH(sample, dataset) {
 *         eg_tensor *loss;
 *         if (eg_step_run(step, sample, 2, &loss, 1)) { ... }
 *     }
 *     eg_step_free(step);
 *
 * Queueing the kernels of a small step takes the host longer than the device needs for them. On a CUDA device a
 * step therefore calls its function a few times as it is, which makes plans and states; then once more while all
 * it queues is recorded as a CUDA graph; and from then on only launches that graph, a few microseconds for the
 * whole step. There is a graph for each set of shapes and dtypes of the inputs. Results are those of calling the
 * function, bit for bit.
 *
 * What is the same in every call, and so is not the function's business while graphs are launched: the code it
 * runs, the tensors it uses, and every number that it computes on the host. What may change:
 *   - the inputs, and all tensors on the device, by whatever changes them in place: parameters, states
 *   - random numbers, which go on as they would
 *   - what optimizers, their schedules, loss scalers and averages (eg_ema) count
 * A number that changes from call to call has to come as an input. What the function itself does on the host is
 * not done when a graph is launched: it must not count, log or print. After a change to what it would do (a
 * module in another mode or on another device, another rate by eg_optim_set_rate excepted, which is seen) call
 * eg_step_reset.
 *
 * What cannot be captured: asking for values (eg_item, eg_copy_out) and all else that waits for the device;
 * computing on tensors of the CPU that were made outside of the function; copies from the host; other streams and
 * devices; eg_optim_backward and eg_optim_update; more than 16 optimizers, scalers and averages; keeping what the
 * function made in it. If the function does such a thing while it is captured, what it has queued so far is
 * launched, it goes on as usual, and later calls with such inputs just call it. Nothing is lost by that but time.
 * With the word "step" in EG_DEBUG a line on stderr says which op it was; eg_step_stats has it too.
 *
 * On the CPU the function is called each time, and its tensors are laid out in one piece of memory that is planned
 * from what the first calls asked for: later ones ask the allocator for nothing. */
#ifndef EGRET_STEP_H
#define EGRET_STEP_H

#include <egret/base.h>
#include <egret/device.h>
#include <egret/tensor.h>

EG_BEGIN_DECLS

typedef struct eg_step eg_step;

/* Fills in all of out (NULL is fine for one that there is not), borrowed as the results of ops are. It is called
 * inside a scope of its own. `in` are the inputs of eg_step_run, or copies of them. */
typedef eg_status eg_step_fn(void *user, eg_tensor *const *in, int nin, eg_tensor **out, int nout);

typedef struct eg_step_options {
    size_t size;
    eg_device *device; /* where the inputs are brought to first; NULL: where makers of tensors make them */
    int warmup;        /* calls as usual for each set of shapes, before one is captured; 0: 2 */
    int most;          /* sets of shapes that are captured; 0: 32. Further ones are called as usual */
    bool eager;        /* never capture: for comparing */
} eg_step_options;

/* A step of that function; the caller frees it. EG_EINVAL for negative options. */
EG_API eg_step *eg_step_new_with(eg_step_fn *fn, void *user, const eg_step_options *options);
#define eg_step_new(...)            EG_STEP_NEW_(__VA_ARGS__, )
#define EG_STEP_NEW_(fn, user, ...) eg_step_new_with(fn, user, EG_OPTIONS_(eg_step_options, __VA_ARGS__))
/* Waits for the device if it has launched graphs. NULL is fine. */
EG_API void eg_step_free(eg_step *step);

/* One step: at most 16 inputs and 16 results, in any layout and on any device. Results are borrowed from the
 * innermost scope and, where a graph was launched, copies of what it computed. Fails as the function does, then
 * all results are NULL; as eg_optim_step does for what it finds out late; and EG_EINVAL for counts out of range.
 * While a tape records, or profile or a debug word watches single ops, the function is just called. A step is used
 * by one thread at a time. */
EG_API eg_status eg_step_run(eg_step *step, eg_tensor *const *in, int nin, eg_tensor **out, int nout);
/* Forgets all that was captured or planned. */
EG_API void eg_step_reset(eg_step *step);

typedef struct eg_step_info {
    int64_t calls;   /* of the function */
    int64_t replays; /* graphs launched instead */
    int graphs;      /* captured */
    const char *op;  /* what last could not be captured, NULL: nothing; valid until the step is freed */
    const char *why; /* and why, in words */
    int64_t planned; /* bytes of memory laid out for it on the CPU */
} eg_step_info;
EG_API eg_step_info eg_step_stats(const eg_step *step);

EG_END_DECLS

#endif
