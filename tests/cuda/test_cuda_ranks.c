/* test_cuda_ranks.c - several virtual devices on one card, each with its cap, train together: two nets that play, and a
 * residual one, to the bits of a single device where all have the same batch, and near it where they share one out; so
 * do several cards by NCCL. */
#define _DEFAULT_SOURCE
#include "tests/ranks.h"

enum { CAP = 24 << 20, ROWS = 8, NUMBERS_MOST = 4096 };

static eg_device *devices[MOST]; /* of each rank; [0] of the single one too */

/* ---- nets -------------------------------------------------------------------------------------------- */

typedef struct nets {
    eg_module *net[2];
    eg_optim *optim[2];
} nets;

static eg_module *residual_net(void)
{
    return eg_sequential_new(
        eg_conv2d_new(2, 4, .kernel = 3, .padding = 1, .no_bias = true), eg_batch_norm_new(4),
        eg_activation_new(eg_relu),
        eg_residual_new(eg_sequential_new(eg_conv2d_new(4, 4, .kernel = 3, .padding = 1, .no_bias = true),
                                          eg_batch_norm_new(4, .relu = true)),
                        eg_identity_new()),
        eg_global_avg_pool_new(), eg_flatten_new(), eg_linear_new(4, 3));
}

static eg_module *generator(void)
{
    return eg_sequential_new(
        eg_linear_new(6, 4 * 9), eg_unflatten_new(EG_SHAPE(4, 3, 3)), eg_batch_norm_new(4), eg_activation_new(eg_relu),
        eg_conv_transpose2d_new(4, 2, .kernel = 4, .stride = 2, .padding = 1), eg_activation_new(eg_tanh));
}

static eg_module *discriminator(void)
{
    return eg_sequential_new(eg_conv2d_new(2, 4, .kernel = 3, .stride = 2, .padding = 1), eg_activation_new(eg_silu),
                             eg_flatten_new(), eg_linear_new(4 * 9, 1));
}

static eg_status open_nets(nets *n, bool play, eg_device *device, eg_comm *comm, bool sync)
{
    eg_seed(4);
    n->net[0] = play ? generator() : residual_net();
    n->net[1] = play ? discriminator() : NULL;
    eg_status st = n->net[0] && (!play || n->net[1]) ? EG_OK : eg_last_error()->code;
    for (int i = 0; i < 1 + play && !st; i++) {
        st = eg_module_to_device(n->net[i], device);
        st = st || !sync ? st : eg_sync_batch_norm(n->net[i], comm);
        n->optim[i] = st ? NULL : eg_adam_new(eg_module_parameters(n->net[i]), .lr = 0.01);
        st = st || n->optim[i] ? st : eg_last_error()->code;
        st = st || !comm ? st : eg_optim_parallel(n->optim[i], comm, .zero = i, .bucket = 200);
    }
    return st;
}

static void close_nets(nets *n)
{
    for (int i = 0; i < 2; i++) {
        eg_optim_free(n->optim[i]);
        eg_module_free(n->net[i]);
    }
}

/* ---- a step ------------------------------------------------------------------------------------------ */

static eg_tensor *made_up(eg_shape shape, double from)
{
    int64_t n = 1;
    for (int d = 0; d < shape.ndim; d++) {
        n *= shape.dim[d];
    }
    return eg_reshape(eg_sin(eg_add_scalar(eg_mul_scalar(eg_arange(0, (double)n, 1, EG_F32), 1.3), from)), shape);
}

static eg_tensor *rows_of(eg_tensor *x, int64_t first, int64_t end, eg_device *device)
{
    return eg_to(eg_contiguous(eg_slice(x, 0, first, end, 1)), device);
}

static eg_status classify(nets *n, int s, int64_t first, int64_t end, eg_device *device)
{
    eg_tensor *x = rows_of(made_up(EG_SHAPE(ROWS, 2, 6, 6), s), first, end, device);
    eg_tensor *t = rows_of(made_up(EG_SHAPE(ROWS, 3), s + 0.5), first, end, device);
    eg_tape tape = eg_tape_open();
    return eg_optim_minimize(n->optim[0], tape, eg_mean(eg_square(eg_sub(eg_module_forward(n->net[0], x), t))));
}

static eg_status play(nets *n, int s, int64_t first, int64_t end, eg_device *device)
{
    eg_tensor *noise = rows_of(made_up(EG_SHAPE(ROWS, 6), s), first, end, device);
    eg_tensor *real = rows_of(made_up(EG_SHAPE(ROWS, 2, 6, 6), s), first, end, device);
    eg_tape tape = eg_tape_open(.persistent = true);
    eg_tensor *fake = eg_module_forward(n->net[0], noise);
    eg_tensor *judged = eg_module_forward(n->net[1], fake), *seen = eg_module_forward(n->net[1], real);
    eg_tensor *wins = eg_mean(eg_square(eg_add_scalar(judged, -1)));
    eg_tensor *loses = eg_add(eg_mean(eg_square(judged)), eg_mean(eg_square(eg_add_scalar(seen, -1))));
    eg_parameters p[2] = {eg_module_parameters(n->net[0]), eg_module_parameters(n->net[1])};
    eg_tensor *g[2][16];
    eg_status st = eg_tape_gradients(tape, wins, p[0].tensors, p[0].count, g[0]);
    st = st ? st : eg_tape_gradients(tape, loses, p[1].tensors, p[1].count, g[1]);
    st = st ? st : eg_tape_close(tape);
    st = st ? st : eg_optim_step(n->optim[0], g[0]);
    return st ? st : eg_optim_step(n->optim[1], g[1]);
}

/* How many numbers all tensors of the nets have, which are put there. */
static int numbers_of(const nets *n, double *to)
{
    int count = 0;
    for (int i = 0; i < 2 && n->net[i]; i++) {
        eg_tensors *state = eg_module_state(n->net[i]);
        for (int64_t k = 0; k < eg_tensors_count(state); k++) {
            eg_tensor *t = eg_tensors_at(state, k);
            if (count + eg_numel(t) > NUMBERS_MOST || eg_to_values(t, to + count)) {
                count = -1;
                break;
            }
            count += (int)eg_numel(t);
        }
        eg_tensors_free(state);
    }
    return count;
}

static int train(bool plays, eg_device *device, eg_comm *comm, bool sync, int64_t first, int64_t end, double *to)
{
    nets n = {.net = {NULL}};
    eg_device *before = eg_use_device(device);
    eg_status st = open_nets(&n, plays, device, comm, sync);
    for (int s = 0; s < 3 && !st; s++) {
        EG_SCOPE {
            st = (plays ? play : classify)(&n, s, first, end, device);
        }
    }
    const int count = st ? -1 : numbers_of(&n, to);
    close_nets(&n);
    eg_use_device(before);
    return count;
}

/* ---- checks ------------------------------------------------------------------------------------------ */

static bool plays_now, shared_now, nccl_now;

static void as_one(rank *r)
{
    static _Thread_local double one[NUMBERS_MOST], mine[NUMBERS_MOST];
    eg_device *device = devices[r->i];
    const int64_t first = shared_now ? ROWS * r->i / r->n : 0, end = shared_now ? ROWS * (r->i + 1) / r->n : ROWS;
    const int count = train(plays_now, device, NULL, false, 0, ROWS, one);
    RANK_CHECK(!nccl_now || !eg_comm_use_nccl(r->comm, device));
    RANK_CHECK(count > 50);
    RANK_CHECK(train(plays_now, device, r->comm, shared_now, first, end, mine) == count);
    for (int i = 0; i < count; i++) {
        const double apart = mine[i] > one[i] ? mine[i] - one[i] : one[i] - mine[i];
        RANK_CHECK(shared_now ? apart <= 2e-5 : mine[i] == one[i]);
    }
    const eg_memory m = eg_device_memory(device);
    RANK_CHECK(nccl_now || m.limit_bytes == CAP);
    RANK_CHECK(m.peak_bytes > 0 && m.peak_bytes <= CAP);
}

static void train_by(int n)
{
    for (int k = 0; k < 4; k++) {
        plays_now = k % 2;
        shared_now = k / 2;
        on_ranks(n, 60, as_one);
    }
}

EGT(virtual_devices_train_as_one)
{
    eg_device *card = eg_device_open("cuda");
    EGT_CHECK(card);
    for (int i = 0; i < 4; i++) {
        devices[i] = eg_device_split(card, CAP);
        EGT_CHECK(devices[i]);
    }
    train_by(2);
    train_by(4);
}

/* Whole cards, which go by NCCL. */
EGT(cards_train_as_one)
{
    eg_device *split[4];
    memcpy(split, devices, sizeof split);
    for (int i = 0; i < 4; i++) {
        devices[i] = eg_cuda(i);
        EGT_CHECK(devices[i]);
    }
    nccl_now = true;
    train_by(2);
    train_by(4);
    nccl_now = false;
    memcpy(devices, split, sizeof split);
}

EGT(caps_hold)
{
    eg_use_device(devices[1]);
    EGT_REFUSED(eg_zeros(EG_SHAPE(CAP / 4 + 1), EG_F32), EG_ENOMEM, "cuda:0/");
    eg_use_device(devices[2]);
    EGT_CHECK(eg_zeros(EG_SHAPE(1000), EG_F32));
    eg_use_device(eg_cpu());
}

static void one_is_elsewhere(rank *r)
{
    EG_SCOPE {
        eg_tensor *x = eg_to(eg_ones(EG_SHAPE(5000), EG_F32), r->i ? eg_cpu() : devices[0]);
        RANK_CHECK(eg_comm_all_reduce(r->comm, &x, 1, EG_COMM_SUM) == EG_EIO);
        RANK_CHECK(strstr(eg_last_error()->message, "are on") != NULL);
    }
}

EGT(on_all_ranks_alike)
{
    on_ranks(2, 60, one_is_elsewhere);
}
