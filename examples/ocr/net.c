/* net.c - see net.h. */
#include "net.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trunk.h"

typedef struct ocr {
    eg_module base;
    ocr_sizes sizes;
    eg_module *trunk, *keys, *query, *mix, *lstm, *join, *letter;
    eg_tensor *attend;
} ocr;

/* ---- what there is to look at -------------------------------------------------------------------- */

/* [N, 3, side, views side] to [N views, 3, side, side]. */
static eg_tensor *apart(const ocr *m, eg_tensor *images)
{
    const int64_t side = m->sizes.side, views = m->sizes.views;
    if (eg_ndim(images) != 4 || eg_size(images, 2) != side || eg_size(images, 3) != views * side) {
        return images ? (eg_failf(EG_ESHAPE, "ocr", "images must be [N, 3, %lld, %lld]", (long long)side,
                                  (long long)(views * side)),
                         NULL)
                      : NULL;
    }
    eg_tensor *x = eg_reshape(images, EG_SHAPE(-1, 3, side, views, side));
    return eg_reshape(eg_permute(x, EG_AXES(0, 3, 1, 2, 4)), EG_SHAPE(-1, 3, side, side));
}

/* One-hot rows and columns of k x k places, [1, k, k, 2 k]. */
static eg_tensor *coordinates(int64_t k, eg_tensor *like)
{
    eg_tensor *one = eg_one_hot(eg_arange(0, (double)k, 1, EG_I64), k, .dtype = eg_dtype_of(like));
    eg_tensor *rows = eg_expand(eg_reshape(one, EG_SHAPE(1, k, 1, k)), EG_SHAPE(1, k, k, k));
    eg_tensor *columns = eg_expand(eg_reshape(one, EG_SHAPE(1, 1, k, k)), EG_SHAPE(1, k, k, k));
    return eg_concat((eg_tensor *[]){rows, columns}, 2, 3);
}

/* The places of all views of a sign, [N, places, channels]. */
static eg_tensor *look(const ocr *m, eg_tensor *images)
{
    eg_tensor *maps = eg_module_forward(m->trunk, eg_channels_last(apart(m, images)));
    eg_tensor *places = eg_permute(maps, EG_AXES(0, 2, 3, 1));
    if (places && m->sizes.coordinates) {
        const int64_t k = eg_size(places, 1);
        eg_tensor *where = eg_expand(coordinates(k, places), EG_SHAPE(eg_size(places, 0), k, k, 2 * k));
        places = eg_concat((eg_tensor *[]){places, where}, 2, 3);
    }
    return places ? eg_reshape(places, EG_SHAPE(eg_size(images, 0), -1, eg_size(places, 3))) : NULL;
}

/* ---- one letter ---------------------------------------------------------------------------------- */

typedef struct reader {
    eg_tensor *places, *keys; /* [N, places, channels], and what of them is compared with a question */
    eg_tensor *seen, *h, *c;  /* what was read from the places, [N, channels]; states of the LSTM, [N, units] */
} reader;

/* Additive attention (Bahdanau et al. 2014): what both states of the LSTM ask for, [N, places]. */
static eg_tensor *ask(const ocr *m, reader *r)
{
    eg_tensor *states = eg_concat((eg_tensor *[]){r->c, r->h}, 2, 1);
    eg_tensor *asked = eg_unsqueeze(eg_module_forward(m->query, states), 1);
    eg_tensor *weights = eg_softmax(eg_matmul(eg_tanh(eg_add(r->keys, asked)), m->attend), 1);
    r->seen = eg_squeeze(eg_matmul(eg_unsqueeze(weights, 1), r->places), EG_AXES(1));
    return weights;
}

/* Behind a letter, [N, classes]: logits of the next, and where it looked. */
static eg_tensor *step(const ocr *m, reader *r, eg_tensor *before, eg_tensor **weights)
{
    eg_tensor *x = eg_module_forward(m->mix, eg_concat((eg_tensor *[]){before, r->seen}, 2, 1));
    eg_rnn next = eg_rnn_forward(m->lstm, eg_unsqueeze(x, 0), .h0 = eg_unsqueeze(r->h, 0), .c0 = eg_unsqueeze(r->c, 0));
    r->h = eg_squeeze(next.h, EG_AXES(0));
    r->c = eg_squeeze(next.c, EG_AXES(0));
    *weights = ask(m, r);
    return eg_module_forward(m->letter, eg_module_forward(m->join, eg_concat((eg_tensor *[]){r->h, r->seen}, 2, 1)));
}

/* ---- a whole text -------------------------------------------------------------------------------- */

static reader begin(const ocr *m, eg_tensor *images)
{
    reader r = {.places = look(m, images)};
    r.keys = eg_module_forward(m->keys, r.places);
    if (r.keys) {
        const int64_t n = eg_size(r.places, 0);
        r.seen = eg_zeros(EG_SHAPE(n, eg_size(r.places, 2)), eg_dtype_of(r.places));
        r.h = eg_zeros(EG_SHAPE(n, m->sizes.units), eg_dtype_of(r.places));
        r.c = eg_zeros_like(r.h);
    }
    return r;
}

/* Letter t as the LSTM is told it, one-hot; while learning some are not told. */
static eg_tensor *told(const ocr *m, eg_tensor *texts, int64_t t, eg_tensor *logits)
{
    eg_tensor *id = texts ? eg_select(texts, 1, t) : eg_argmax(logits, .axes = EG_AXES(1));
    eg_tensor *one = eg_one_hot(id, m->sizes.classes, .dtype = eg_dtype_of(logits));
    if (!one || !m->base.training || m->sizes.untold == 0) {
        return one;
    }
    eg_tensor *chance = eg_uniform(EG_SHAPE(eg_size(one, 0), 1), 0, 1, eg_dtype_of(logits));
    return eg_mul(one, eg_cast(eg_ge_scalar(chance, m->sizes.untold), eg_dtype_of(logits)));
}

static ocr_reading walk(const ocr *m, eg_tensor *images, eg_tensor *texts, eg_tensor **logits, eg_tensor **weights)
{
    const int64_t length = m->sizes.length, k = trunk_side(m->sizes.side);
    reader r = begin(m, images);
    eg_tensor *before = r.c ? eg_zeros(EG_SHAPE(eg_size(r.c, 0), m->sizes.classes), eg_dtype_of(r.c)) : NULL;
    for (int64_t t = 0; t < length && before; t++) {
        logits[t] = step(m, &r, before, &weights[t]);
        before = m->sizes.no_feedback && logits[t] ? before : told(m, texts, t, logits[t]);
    }
    if (!before) {
        return (ocr_reading){NULL, NULL};
    }
    eg_tensor *where = eg_reshape(eg_stack(weights, (int)length, 1), EG_SHAPE(-1, length, m->sizes.views, k, k));
    return (ocr_reading){eg_stack(logits, (int)length, 1), where};
}

ocr_reading ocr_read(eg_module *net, eg_tensor *images, eg_tensor *texts)
{
    const ocr *m = (const ocr *)net;
    eg_tensor **lists = net && images ? calloc(2 * (size_t)m->sizes.length, sizeof *lists) : NULL;
    if (!lists) {
        if (net && images) {
            eg_fail(EG_ENOMEM, "ocr", "out of memory");
        }
        return (ocr_reading){NULL, NULL};
    }
    ocr_reading r = walk(m, images, texts, lists, lists + m->sizes.length);
    free(lists);
    return r;
}

eg_tensor *ocr_loss(eg_tensor *logits, eg_tensor *texts, double smoothing)
{
    eg_tensor *sum = eg_cross_entropy(eg_flatten(logits, 0, 1), eg_flatten(texts, 0, 1), .label_smoothing = smoothing,
                                      .reduction = EG_SUM);
    return sum ? eg_div_scalar(sum, (double)eg_size(texts, 0)) : NULL;
}

/* ---- a step -------------------------------------------------------------------------------------- */

static bool decays(const char *name, eg_tensor *weight)
{
    return strncmp(name, "letter.", 7) == 0 || (strncmp(name, "trunk.", 6) == 0 && eg_ndim(weight) > 1);
}

eg_status ocr_step(eg_module *net, eg_optim *optim, eg_tape tape, eg_tensor *loss, double decay, double clip)
{
    eg_parameters p = eg_module_parameters(net);
    eg_tensor **g = p.tensors ? calloc((size_t)p.count, sizeof *g) : NULL;
    eg_status st = g           ? eg_tape_gradients(tape, loss, p.tensors, p.count, g)
                   : p.tensors ? eg_fail(EG_ENOMEM, "ocr", "out of memory")
                               : eg_last_error()->code;
    for (int i = 0; i < p.count && !st; i++) {
        if (decay > 0 && decays(p.names[i], p.tensors[i])) {
            g[i] = eg_add(g[i], eg_mul_scalar(p.tensors[i], decay));
        }
        eg_tensor *norm = eg_sqrt(eg_sum(eg_square(g[i])));
        g[i] = clip > 0 ? eg_mul_scalar(eg_div(g[i], eg_clamp_min(norm, clip)), clip) : g[i];
        st = g[i] ? EG_OK : eg_last_error()->code;
    }
    st = st ? st : eg_optim_step(optim, g);
    free(g);
    return st;
}

/* ---- the module ---------------------------------------------------------------------------------- */

static void members(eg_module *net, eg_members *list)
{
    ocr *m = (ocr *)net;
    eg_member_child(list, "trunk", &m->trunk);
    eg_member_child(list, "keys", &m->keys);
    eg_member_child(list, "query", &m->query);
    eg_member_child(list, "mix", &m->mix);
    eg_member_child(list, "lstm", &m->lstm);
    eg_member_child(list, "join", &m->join);
    eg_member_child(list, "letter", &m->letter);
    eg_member_parameter(list, "attend", &m->attend);
}

static const eg_module_kind kind = {.size = sizeof(eg_module_kind), .name = "ocr", .members = members};

/* Rows of TensorFlow's one kernel, which has those of x and those of h below each other, are orthonormal together. */
static eg_status begin_lstm(ocr *m)
{
    const int64_t in = m->sizes.classes, units = m->sizes.units;
    eg_parameters p = eg_module_parameters(m->lstm);
    eg_status st = p.tensors ? EG_OK : eg_last_error()->code;
    EG_SCOPE {
        eg_tensor *both = eg_empty(EG_SHAPE(4 * units, in + units), EG_F32);
        st = st ? st : eg_init(both, EG_ORTHOGONAL);
        if (!st && (!eg_copy_(p.tensors[0], eg_slice(both, 1, 0, in, 1)) ||
                    !eg_copy_(p.tensors[1], eg_slice(both, 1, in, in + units, 1)))) {
            st = eg_last_error()->code;
        }
    }
    return st;
}

static eg_status begin_weights(ocr *m)
{
    eg_module *const dense[] = {m->keys, m->query, m->mix, m->join};
    eg_status st = EG_OK;
    for (int i = 0; i < 4 && !st; i++) {
        st = eg_module_init(dense[i], EG_GLOROT_UNIFORM);
    }
    const double bound = sqrt(3.0 / (double)eg_numel(m->attend));
    st = st ? st : eg_init(m->attend, EG_UNIFORM, .low = -bound, .high = bound);
    st = st ? st : eg_module_init(m->letter, EG_ORTHOGONAL);
    return st ? st : begin_lstm(m);
}

eg_module *ocr_new(const ocr_sizes *s)
{
    const int64_t k = trunk_side(s->side), c = s->classes;
    const int64_t channels = trunk_channels(s->width) + (s->coordinates ? 2 * k : 0);
    if (s->side < TRUNK_LEAST_SIDE) {
        eg_failf(EG_EINVAL, "ocr", "views of %lld pixels: must have at least %d", (long long)s->side, TRUNK_LEAST_SIDE);
        return NULL;
    }
    ocr *m = eg_module_new(sizeof *m, &kind);
    if (!m) {
        return NULL;
    }
    m->sizes = *s;
    m->trunk = trunk_new(s->width, s->norm_decay);
    m->keys = eg_linear_new(channels, channels, .no_bias = true);
    m->query = eg_linear_new(2 * s->units, channels);
    m->mix = eg_linear_new(c + channels, c);
    m->lstm = eg_lstm_new(c, s->units, .clip = 10, .forget_bias = 1, .one_bias = true);
    m->join = eg_linear_new(s->units + channels, s->units);
    m->letter = eg_linear_new(s->units, c);
    m->attend = eg_parameter(eg_zeros(EG_SHAPE(channels), EG_F32));
    eg_module *net = eg_module_finish(&m->base);
    if (net && begin_weights(m)) {
        eg_module_free(net);
        return NULL;
    }
    return net;
}
