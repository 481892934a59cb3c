/* test_parallel_layers.c - layers of several ranks: batch norm with the statistics of all, parameters shared out. */
#define _DEFAULT_SOURCE
#include "tests/ranks.h"

enum { ROWS = 24, IN = 5 };

/* ---- batch norm over all ranks ----------------------------------------------------------------------------- */

enum { CHANNELS = 3, PLACES = 4 };

/* A net with two of them, which learns on rows first..end-1; its parameters, running numbers and one gradient of x. */
static eg_status normed(eg_comm *comm, int64_t first, int64_t end, bool relu, double *to)
{
    eg_seed(5);
    eg_module *m = eg_sequential_new(eg_conv2d_new(CHANNELS, CHANNELS, .kernel = 1),
                                     eg_batch_norm_new(CHANNELS, .relu = relu), eg_batch_norm_new(CHANNELS));
    eg_status st = m ? eg_module_to(m, EG_F64) : eg_last_error()->code;
    eg_optim *o = st ? NULL : eg_sgd_new(eg_module_parameters(m), .lr = 0.1, .momentum = 0.9);
    st = st || !comm ? st : eg_sync_batch_norm(m, comm);
    st = st || !comm ? st : eg_optim_parallel(o, comm, .bucket = 1);
    for (int s = 0; s < 3 && !st; s++) {
        EG_SCOPE {
            eg_tensor *x = eg_reshape(numbers(EG_SHAPE(8 * CHANNELS * PLACES), EG_F64, s), EG_SHAPE(8, CHANNELS, 2, 2));
            eg_tensor *own = eg_slice(x, 0, first, end, 1);
            eg_tape tape = eg_tape_open();
            eg_tensor *y = eg_module_forward(m, eg_add_scalar(own, 10));
            eg_tensor *t = eg_slice(eg_cos(eg_mul_scalar(x, 3)), 0, first, end, 1);
            st = eg_optim_minimize(o, tape, eg_mean(eg_square(eg_sub(y, t))));
        }
    }
    eg_tensors *state = st ? NULL : eg_module_state(m);
    for (int64_t i = 0; i < eg_tensors_count(state) && !st; i++) {
        eg_tensor *t = eg_tensors_at(state, i);
        st = eg_to_values(t, to);
        to += eg_numel(t);
    }
    eg_tensors_free(state);
    eg_optim_free(o);
    eg_module_free(m);
    return st;
}

enum { NORMED = CHANNELS * CHANNELS + CHANNELS + 2 * (4 * CHANNELS + 1) };

static void norms_as_one(rank *r)
{
    for (int relu = 0; relu < 2; relu++) {
        double one[NORMED], mine[NORMED];
        RANK_CHECK(!normed(NULL, 0, 8, relu, one));
        RANK_CHECK(!normed(r->comm, 8 * r->i / r->n, 8 * (r->i + 1) / r->n, relu, mine));
        RANK_CHECK(apart(mine, one, NORMED) <= 1e-12);
    }
}

EGT(norms_of_all_ranks)
{
    for (int n = 1; n <= 8; n *= 2) {
        on_ranks(n, 20, norms_as_one);
    }
}

/* Forwards with batches of different sizes, one of them empty; and a second derivative, which goes over ranks as well.
 */
static void uneven(rank *r)
{
    static const int64_t ends[] = {0, 5, 5, 8};
    eg_module *norm = eg_batch_norm_new(CHANNELS);
    RANK_CHECK(norm && !eg_module_to(norm, EG_F64) && !eg_sync_batch_norm(norm, r->comm));
    EG_SCOPE {
        eg_tensor *x = numbers(EG_SHAPE(8, CHANNELS), EG_F64, 1), *dx, *g;
        eg_tensor *want =
            eg_slice(eg_batch_norm(x, NULL, NULL, NULL, NULL, .training = true), 0, ends[r->i], ends[r->i + 1], 1);
        eg_tensor *own = eg_copy(eg_slice(x, 0, ends[r->i], ends[r->i + 1], 1));
        RANK_CHECK(egt_distance(eg_module_forward(norm, own), want) < 1e-12);
        eg_tape outer = eg_tape_open();
        eg_tape_watch(outer, own);
        eg_tape inner = eg_tape_open();
        RANK_CHECK(!eg_tape_gradients(inner, eg_sum(eg_exp(eg_module_forward(norm, own))), &own, 1, &dx));
        RANK_CHECK(!eg_tape_gradients(outer, eg_sum(eg_square(dx)), &own, 1, &g));
        RANK_CHECK(eg_numel(g) == eg_numel(own));
    }
    eg_module_free(norm);
}

EGT(norms_of_uneven_batches)
{
    on_ranks(3, 20, uneven);
}

/* ---- layers whose parameters are shared out -------------------------------------------------------------- */

enum { LAYERS = 3, OF_LAYERS = 5 * 9 + 9 + 9 * 9 + 9 + 9 * 2 + 2 };

/* A net of layers, each a shard of comm, unless that is NULL; the weights, as one vector, when it has learned; and the
 * whole states of net and optimizer in `maps`, from which it begins if they are there. */
static eg_status learn_in_shards(eg_comm *comm, int i, int n, int from, int to, eg_tensors **maps, double *weights)
{
    static const int64_t sizes[LAYERS + 1] = {IN, 9, 9, 2};
    eg_module *layers[LAYERS];
    eg_seed(11);
    for (int k = 0; k < LAYERS; k++) {
        layers[k] = eg_sequential_new(eg_linear_new(sizes[k], sizes[k + 1]), eg_activation_new(eg_tanh));
        eg_status st = eg_module_to(layers[k], EG_F64);
        layers[k] = comm && !st ? eg_shard_new(layers[k], comm) : layers[k];
    }
    eg_module *all = eg_sequential_new_with(layers, LAYERS);
    eg_optim *o = all ? eg_adam_new(eg_module_parameters(all), .lr = 0.05) : NULL;
    eg_status st = o ? eg_optim_clip_norm(o, 0.2) : eg_last_error()->code;
    st = st || !comm ? st : eg_optim_parallel(o, comm, .zero = 3, .check_every = 1);
    if (maps && maps[0] && !st) {
        st = eg_module_load_full_state(all, maps[0]);
        st = st ? st : eg_optim_load_state(o, maps[1]);
    }
    for (int s = from; s < to && !st; s++) {
        EG_SCOPE {
            eg_tensor *x = eg_slice(numbers(EG_SHAPE(ROWS, IN), EG_F64, s), 0, ROWS * i / n, ROWS * (i + 1) / n, 1);
            eg_tensor *t =
                eg_slice(numbers(EG_SHAPE(ROWS, 2), EG_F64, s + 0.5), 0, ROWS * i / n, ROWS * (i + 1) / n, 1);
            eg_tape tape = eg_tape_open();
            st = eg_optim_minimize(o, tape, eg_mean(eg_square(eg_sub(eg_module_forward(all, x), t))));
        }
    }
    eg_tensors *state = st ? NULL : eg_module_full_state(all);
    for (int64_t k = 0; k < eg_tensors_count(state) && !st; k++) {
        EG_SCOPE {
            eg_tensor *t = eg_tensors_at(state, k);
            const int64_t own = comm ? sizes[k] * sizes[k + 1] + sizes[k + 1] : eg_numel(t);
            st = eg_to_values(eg_slice(eg_flatten(eg_detach(t), 0, -1), 0, 0, own, 1), weights);
            weights += own;
        }
    }
    if (maps && !maps[0] && !st) {
        maps[0] = state;
        maps[1] = eg_optim_state(o);
        st = maps[1] ? EG_OK : eg_last_error()->code;
    } else {
        eg_tensors_free(state);
    }
    eg_optim_free(o);
    eg_module_free(all);
    return st;
}

static void shards_as_one(rank *r)
{
    double one[OF_LAYERS], mine[OF_LAYERS];
    RANK_CHECK(!learn_in_shards(NULL, 0, 1, 0, 4, NULL, one));
    RANK_CHECK(!learn_in_shards(r->comm, r->i, r->n, 0, 4, NULL, mine));
    RANK_CHECK(apart(mine, one, OF_LAYERS) <= 1e-12);
}

EGT(layers_in_shards)
{
    for (int n = 1; n <= 8; n *= 2) {
        on_ranks(n, 20, shards_as_one);
    }
    on_ranks(3, 20, shards_as_one);
}

static eg_tensors *halfway[2];

static void first_shards(rank *r)
{
    double mine[OF_LAYERS];
    eg_tensors *maps[2] = {NULL, NULL};
    RANK_CHECK(!learn_in_shards(r->comm, r->i, r->n, 0, 2, maps, mine));
    for (int k = 0; k < 2; k++) {
        if (r->i == 0) {
            halfway[k] = maps[k];
        } else {
            eg_tensors_free(maps[k]);
        }
    }
}

static void other_shards(rank *r)
{
    double one[OF_LAYERS], mine[OF_LAYERS];
    RANK_CHECK(!learn_in_shards(NULL, 0, 1, 0, 4, NULL, one));
    RANK_CHECK(!learn_in_shards(r->comm, r->i, r->n, 2, 4, halfway, mine));
    RANK_CHECK(apart(mine, one, OF_LAYERS) <= 1e-12);
}

EGT(shards_of_other_ranks)
{
    static const int counts[][2] = {{4, 2}, {1, 3}, {3, 8}};
    for (int k = 0; k < 3 && !getenv("EGT_MPI"); k++) {
        on_ranks(counts[k][0], 20, first_shards);
        on_ranks(counts[k][1], 20, other_shards);
        eg_tensors_free(halfway[0]);
        eg_tensors_free(halfway[1]);
    }
}

EGT(shards_refused)
{
    eg_comm *seven = eg_comm_threads_new(7), *two = eg_comm_threads_new(2);
    EGT_REFUSED(eg_shard_new(eg_linear_new(2, 2), seven), EG_EINVAL, "7 ranks");
    EGT_REFUSED(eg_shard_new(eg_batch_norm_new(2), two), EG_EINVAL, "running_mean");
    EGT_REFUSED(eg_shard_new(eg_activation_new(eg_relu), two), EG_EINVAL, "no parameters");
    EGT_REFUSED(eg_shard_new(NULL, two), EG_EINVAL, "body");
    EGT_REFUSED(eg_shard_new(eg_linear_new(2, 2), NULL), EG_EINVAL, "comm");
    eg_comm_free(seven);
    eg_comm_free(two);
}
