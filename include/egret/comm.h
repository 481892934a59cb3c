/* comm.h - ranks: what several processes, or several threads of one, do together.
 *
 *     eg_comm *comm = eg_comm_mpi_new();                             mpirun -n 4 program
 *     ...
 *     eg_comm_all_reduce(comm, gradients, n, EG_COMM_MEAN);
 *     ...
 *     eg_comm_free(comm);
 *
 * A communicator is one rank's end of a group of ranks, which are numbered from 0. Calls that are not said to be of
 * two ranks are all ranks': each makes them, in the same order and with tensors of the same shapes and dtypes, of which
 * those given together have one dtype.
 *
 * Nothing waits for ever: a rank that does not come within the time limit, is gone or has failed is a failure in words
 * (EG_EIO) on all others. A communicator on which something failed while it was under way is good for nothing but to be
 * freed: each further call gives the same words. What is refused before it begins changes nothing.
 *
 * Sums are added in the order of the ranks, halves in f32, and rounded once: results depend on the number of ranks
 * alone and have the same bits on each of them.
 *
 * Tensors may be on any device, on all ranks alike. Those of CUDA devices go from card to card between threads, and
 * between processes by NCCL, or by MPI if it says that it can; else, and where devices differ, through the CPU's
 * memory. Then a call waits for the device to have done its part. Nothing is recorded on tapes; what is written counts
 * as an in-place change and is refused (EG_ESTATE) while an open tape follows it. */
#ifndef EGRET_COMM_H
#define EGRET_COMM_H

#include <egret/base.h>
#include <egret/device.h>
#include <egret/tensor.h>

EG_BEGIN_DECLS

/* A rank's end; used by one thread at a time. */
typedef struct eg_comm eg_comm;

typedef struct eg_comm_options {
    size_t size;
    double timeout; /* seconds that a rank waits for others; 0: 300 */
} eg_comm_options;

/* All processes that mpirun, or another launcher of MPI, has started; alone if none did. MPI is a module, libegret-mpi,
 * loaded now: EG_ENODEVICE in words where it or MPI is missing. MPI is begun unless the program has begun it, then with
 * MPI_THREAD_MULTIPLE, else EG_ESTATE; it is ended at the program's end if it was begun here and no rank was missing
 * when communicators were freed. */
EG_API eg_comm *eg_comm_mpi_new_with(const eg_comm_options *options);
#define eg_comm_mpi_new(...) eg_comm_mpi_new_with(EG_OPTIONS_(eg_comm_options, __VA_ARGS__))

/* What a launcher of MPI says about this process before MPI is begun, by its environment: of Open MPI, MPICH, Slurm. Of
 * one that nobody launched: rank 0 of 1. Local ranks are those of this machine. Where a number of ranks is not said it
 * is one more than is known of. */
typedef struct eg_comm_launch {
    int rank, ranks, local_rank, local_ranks;
} eg_comm_launch;
EG_API eg_comm_launch eg_comm_launched(void);

/* From now on tensors of `device`, the rank's own, go from card to card by NCCL, which is opened now, where all ranks
 * take part. Messages of two ranks go as before. All ranks call it, with a card each, and nothing under way. If it
 * fails on one, EG_ENOKERNEL, EG_EDEVICE, EG_EIO in words, it does on all, and the communicator is what it was. Of a
 * single rank it only looks whether it could. */
EG_API eg_status eg_comm_use_nccl(eg_comm *comm, eg_device *device);

/* Ranks that have found each other without MPI: rank `rank` of `ranks`, each with a card of its own. All tensors go by
 * NCCL, those of the CPU over the card, and all that is begun, messages of two ranks too, is done in that order: two
 * that both send first wait in vain. `file`, in a folder that all ranks see, is written by rank 0 and must not be there
 * before; NULL: all ranks have the environment's NCCL_COMM_ID, HOST:PORT of rank 0. */
typedef struct eg_comm_nccl_options {
    size_t size;
    double timeout; /* seconds; 0: 300 */
    const char *file;
} eg_comm_nccl_options;
EG_API eg_comm *eg_comm_nccl_new_with(eg_device *device, int rank, int ranks, const eg_comm_nccl_options *options);
#define eg_comm_nccl_new(...) EG_COMM_NCCL_NEW_(__VA_ARGS__, )
#define EG_COMM_NCCL_NEW_(device, rank, ranks, ...) \
    eg_comm_nccl_new_with(device, rank, ranks, EG_OPTIONS_(eg_comm_nccl_options, __VA_ARGS__))

/* Ranks within this process, 1 to 1024, each for a thread of its own: gives rank 0's end, and eg_comm_other those of
 * the other ranks, each once (EG_ESTATE, EG_EINDEX). */
EG_API eg_comm *eg_comm_threads_new_with(int ranks, const eg_comm_options *options);
#define eg_comm_threads_new(...)         EG_COMM_THREADS_NEW_(__VA_ARGS__, )
#define EG_COMM_THREADS_NEW_(ranks, ...) eg_comm_threads_new_with(ranks, EG_OPTIONS_(eg_comm_options, __VA_ARGS__))
EG_API eg_comm *eg_comm_other(eg_comm *comm, int rank);

/* Frees this rank's end; NULL is fine. Works that are under way fail. Ranks that wait for this one are told that it is
 * gone. Of processes, unless something has failed, it returns when all ranks have come to it or time is up. */
EG_API void eg_comm_free(eg_comm *comm);

/* Of NULL: rank 0 of 1. */
EG_API int eg_comm_rank(const eg_comm *comm);
EG_API int eg_comm_size(const eg_comm *comm);
/* "mpi", "threads", "nccl" or, of a single rank, "alone"; "none" for NULL. */
EG_API const char *eg_comm_transport(const eg_comm *comm);

/* ---- together ------------------------------------------------------------------------------ */

typedef enum eg_comm_reduction {
    EG_COMM_SUM,
    EG_COMM_MEAN, /* floats only */
    EG_COMM_MAX,  /* NaN if there is one */
} eg_comm_reduction;

/* Each of n tensors becomes the sum, mean or maximum of those of all ranks. Not of bool, but for EG_COMM_MAX. */
EG_API eg_status eg_comm_all_reduce(eg_comm *comm, eg_tensor *const *x, int n, eg_comm_reduction how);
/* Each of n tensors becomes that of rank `root`. */
EG_API eg_status eg_comm_broadcast(eg_comm *comm, eg_tensor *const *x, int n, int root);
/* y [ranks * d0, ...] becomes the ranks' x [d0, ...], one behind the other. */
EG_API eg_status eg_comm_all_gather(eg_comm *comm, eg_tensor *x, eg_tensor *y);
/* y [d0, ...] becomes this rank's part of the sum, mean or maximum of the ranks' x [ranks * d0, ...]. */
EG_API eg_status eg_comm_reduce_scatter(eg_comm *comm, eg_tensor *x, eg_tensor *y, eg_comm_reduction how);
/* Part r of x [ranks * d0, ...] becomes this rank's part of rank r's y, of the same shape. */
EG_API eg_status eg_comm_all_to_all(eg_comm *comm, eg_tensor *x, eg_tensor *y);
/* Returns when all ranks have come. */
EG_API eg_status eg_comm_barrier(eg_comm *comm);

/* EG_OK if status is on all ranks; else the first failure: this rank's own, whose words stay on record, or EG_EIO that
 * says which rank has failed. So all know alike, and can go on with the communicator. */
EG_API eg_status eg_comm_agree(eg_comm *comm, eg_status status);

/* Two ranks: what this one sends, that one receives into a tensor of the same number of elements and dtype. Between two
 * ranks messages arrive in the order they were sent. */
EG_API eg_status eg_comm_send(eg_comm *comm, eg_tensor *x, int to);
EG_API eg_status eg_comm_receive(eg_comm *comm, eg_tensor *x, int from);

/* ---- meanwhile ----------------------------------------------------------------------------- */

/* The same, begun: they are done by a thread of the communicator, in the order they were begun; messages of two ranks
 * are waited for beside the others. Until eg_work_wait what is written must not be used, what is read not written. */
typedef struct eg_work eg_work;
EG_API eg_work *eg_comm_all_reduce_start(eg_comm *comm, eg_tensor *const *x, int n, eg_comm_reduction how);
EG_API eg_work *eg_comm_broadcast_start(eg_comm *comm, eg_tensor *const *x, int n, int root);
EG_API eg_work *eg_comm_all_gather_start(eg_comm *comm, eg_tensor *x, eg_tensor *y);
EG_API eg_work *eg_comm_reduce_scatter_start(eg_comm *comm, eg_tensor *x, eg_tensor *y, eg_comm_reduction how);
EG_API eg_work *eg_comm_all_to_all_start(eg_comm *comm, eg_tensor *x, eg_tensor *y);
EG_API eg_work *eg_comm_send_start(eg_comm *comm, eg_tensor *x, int to);
EG_API eg_work *eg_comm_receive_start(eg_comm *comm, eg_tensor *x, int from);
/* Whether eg_work_wait would return at once; true for NULL. */
EG_API bool eg_work_done(const eg_work *work);
/* Waits until it is done, puts results in their places, and frees the work; of the thread that has begun it. NULL is
 * passed on as a failure. */
EG_API eg_status eg_work_wait(eg_work *work);

/* Tells the other ranks that this one has failed, by the words on record (or a sentence that it has): their calls that
 * wait for it, and later ones, fail with them. For what goes wrong outside of this header: a file that cannot be read,
 * a loss that is not finite. */
EG_API eg_status eg_comm_give_up(eg_comm *comm);

EG_END_DECLS

#endif
