/* parallel.h - several ranks train one net: data parallel training, and optimizers whose states are shared out.
 *
 *     eg_comm *comm = eg_comm_mpi_new();                             mpirun -n 4 program
 *     eg_module *net = lenet();
 *     eg_optim *adam = eg_adam_new(eg_module_parameters(net));
 *     eg_optim_parallel(adam, comm);
 *     ...
 *     eg_optim_minimize(adam, tape, loss);                           of this rank's share of the batch
 *
 * From then on a step is all ranks': each has the loss of its own share of the examples, gradients are averaged over
 * the ranks, and all take the same step. Of shares of one size and a loss that is a mean over examples that is the step
 * of one process with all of them, but for the order in which is added up: with clipping, loss scaling, masters of
 * halves, averages of weights. It needs nothing else, but that each rank makes the same calls.
 *
 * A rank that fails in such a step tells the others, whose step fails with its words (eg_comm_give_up). */
#ifndef EGRET_PARALLEL_H
#define EGRET_PARALLEL_H

#include <egret/comm.h>
#include <egret/device.h>
#include <egret/nn/module.h>
#include <egret/optim.h>

EG_BEGIN_DECLS

typedef struct eg_parallel_options {
    size_t size;
    int64_t bucket; /* bytes of gradients that leave together; 0: 1 MiB, on devices 25 MiB, more with many ranks. The
                       same on all ranks, as all of these */
    int64_t check_every; /* steps between looks whether parameters are the same on all ranks; 0: 1000 */
    /* What each rank has only its share of (Rajbhandari et al. 2019, "ZeRO: Memory Optimizations Toward Training
     * Trillion Parameter Models"): 0 nothing, 1 the optimizer's states, 2 the averaged gradients too, 3 the
     * parameters, which are of eg_shard_new, all of them. */
    int zero;
} eg_parallel_options;

/* Makes steps of the optimizer those of all ranks of comm, which must outlive it; a single one changes nothing.
 * Parameters must be the same on all of them: EG_ESTATE names one that is not (eg_comm_broadcast makes them so).
 *
 * Gradients leave in buckets while the tape is still being walked (eg_optim_minimize, eg_scaler_minimize), from the
 * last parameter in the list to the first. eg_optim_backward keeps its gradients here, eg_optim_update averages them. A
 * parameter that no rank used has no gradient; one that some did not use has zeros from these. Frozen ones must be the
 * same on all ranks.
 *
 * At most four buckets are in flight: the backward pass waits for the oldest before it starts another, so that buffers
 * for sending and receiving stay small.
 *
 * With states shared out each rank updates its part of every parameter and gathers the others; eg_optim_state and
 * eg_optim_load_state are then all ranks' calls, whose maps are of the CPU and as those of a single process: what was
 * saved with any number of ranks can be loaded with any other. With .zero = 2 the norm for clipping is added up from
 * the ranks' parts. Not for rules that need whole rows (.lazy): EG_EINVAL; nor for those that need the loss as a
 * function, which have it averaged as gradients are: EG_ESTATE; nor twice: EG_ESTATE; nor can parameters be added
 * later to states that are shared out. */
EG_API eg_status eg_optim_parallel_with(eg_optim *optim, eg_comm *comm, const eg_parallel_options *options);
#define eg_optim_parallel(...) EG_OPTIM_PARALLEL_(__VA_ARGS__, )
#define EG_OPTIM_PARALLEL_(optim, comm, ...) \
    eg_optim_parallel_with(optim, comm, EG_OPTIONS_(eg_parallel_options, __VA_ARGS__))

/* From now on batch norms of the module and all below it have, in training, the mean and variance of the batches of all
 * ranks of comm, which must outlive them; NULL: of their own again. Gradients flow through these numbers to all ranks.
 * Batches may be of different sizes, also empty. It speaks in the middle of forwards and walks: where ranks do not all
 * do the same, give it a communicator of its own. */
EG_API eg_status eg_sync_batch_norm(eg_module *m, eg_comm *comm);

/* The body with its parameters shared out among the ranks of comm, which must outlive it: each keeps its part of all of
 * them, "flat", as one vector. They are gathered for a forward and again for its gradient, which computes the forward
 * once more (eg_checkpoint), and are not kept in between: of a net made of such layers a rank has no more than one
 * layer whole. Gradients are averaged over the ranks on the way and leave as parts too. Takes the body, whose
 * parameters are of one dtype and device and the same on all ranks, and which has no buffers (EG_EINVAL; batch norm).
 * The number of ranks has to divide 46,080. Its optimizer is made parallel with .zero = 3. */
EG_API eg_module *eg_shard_new(eg_module *body, eg_comm *comm);
/* eg_module_state of a net with such layers, whose vectors are whole, on the CPU, and do not depend on how many ranks
 * there are; and the other way round. All ranks' calls. */
EG_API eg_tensors *eg_module_full_state(eg_module *m);
EG_API eg_status eg_module_load_full_state(eg_module *m, const eg_tensors *map);

/* ---- layers on several devices ----------------------------------------------------------------------------- */

typedef struct eg_pipeline_options {
    size_t size;
    int64_t
        micro_batches; /* parts of a batch that go through one behind the other, up to 1024; 0: one for each device */
    const int64_t
        *first; /* the first child on each device, rising from 0; NULL: as many parameters on each as can be */
} eg_pipeline_options;

/* The modules of a sequence (eg_sequential_new), from now on the pipeline's, each on one of `count` devices: forward
 * takes x on any device through all of them and brings y back there. Devices that queue their work compute at the same
 * time, each another part of the batch. Results and gradients are those of the sequence, but for batch norm, which sees
 * a part. Names are the sequence's. Optimizers take parameters of several devices; where a net is not a sequence, eg_to
 * between its layers does the same. EG_EINVAL: fewer modules than devices, numbers out of range. */
EG_API eg_module *eg_pipeline_new_with(eg_module *net, eg_device *const *devices, int count,
                                       const eg_pipeline_options *options);
#define eg_pipeline_new(...) EG_PIPELINE_NEW_(__VA_ARGS__, )
#define EG_PIPELINE_NEW_(net, devices, count, ...) \
    eg_pipeline_new_with(net, devices, count, EG_OPTIONS_(eg_pipeline_options, __VA_ARGS__))

EG_END_DECLS

#endif
