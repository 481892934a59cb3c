/* cvt_encoder.c - words and their letters to states that have seen one side of them, and then both (Clark et al. 2018).
 */
#include <math.h>
#include <string.h>

#include "nn/models/text/cvt.h"

/* ---- forward ------------------------------------------------------------------------------------- */

/* Words by their letters [N, T, C]: the maxima of all filters, [N, T, 3 filters]. */
static eg_tensor *read_letters(eg__cvt_encoder *e, eg_tensor *letters, double dropout)
{
    const int64_t n = eg_size(letters, 0), steps = eg_size(letters, 1);
    eg_tensor *x = eg_embedding(e->letters, eg_flatten(letters, 0, 1)), *most[EG__CVT_FILTERS];
    x = eg_permute(x, EG_AXES(0, 2, 1));
    for (int i = 0; i < EG__CVT_FILTERS; i++) {
        eg_tensor *y = eg_max(eg_module_forward(e->conv[i], x), .axes = EG_AXES(2));
        most[i] = eg__dropped(eg_relu(y), dropout, &e->base); /* of the maxima as of all, but cheaper */
    }
    return eg_reshape(eg_concat(most, EG__CVT_FILTERS, 1), EG_SHAPE(n, steps, -1));
}

static eg_tensor *read_words(eg__cvt_encoder *e, eg_tensor *words, eg_tensor *letters, double dropout)
{
    eg_tensor *own = eg__dropped(eg_embedding(e->words, words), dropout, &e->base);
    eg_tensor *both[2] = {eg_mul(own, e->scale), read_letters(e, letters, dropout)};
    return both[0] && both[1] ? eg_concat(both, 2, 2) : NULL;
}

/* One layer there and back, [N, T, 2 width]. */
static eg_tensor *read_states(eg__cvt_encoder *e, eg_module *layer, eg_tensor *x, const eg_cvt_options *o)
{
    return eg__dropped(eg_rnn_forward(layer, x, .lengths = o->lengths).y, o->dropout, &e->base);
}

static eg_cvt_states encode(eg__cvt_encoder *e, eg_tensor *words, eg_tensor *letters, const eg_cvt_options *o)
{
    eg_tensor *near = read_states(e, e->near, read_words(e, words, letters, o->dropout), o);
    eg_tensor *both[2] = {near, read_states(e, e->deep, near, o)};
    return (eg_cvt_states){.there = eg_slice(near, 2, 0, e->o.width, 1),
                           .back = eg_slice(near, 2, e->o.width, 2 * e->o.width, 1),
                           .all = both[1] ? eg_concat(both, 2, 2) : NULL};
}

eg_status eg__cvt_check_lengths(const char *op, const eg_tensor *lengths, int64_t rows)
{
    return !lengths || (eg_ndim(lengths) == 1 && eg_size(lengths, 0) == rows)
               ? EG_OK
               : eg_failf(EG_ESHAPE, op, "lengths must be [N], N is %lld", (long long)rows);
}

static eg_status check(const char *op, const eg_tensor *words, const eg_tensor *letters, const eg_cvt_options *o)
{
    const int widest = EG__CVT_SHORTEST + EG__CVT_FILTERS - 1;
    if (eg_size(words, 1) < 1 || eg_ndim(letters) != 3 || eg_size(letters, 0) != eg_size(words, 0) ||
        eg_size(letters, 1) != eg_size(words, 1) || eg_size(letters, 2) < widest) {
        return eg_failf(EG_ESHAPE, op, "words must be [N, T], T at least 1, and letters [N, T, C], C at least %d",
                        widest);
    }
    return eg__cvt_check_lengths(op, o->lengths, eg_size(words, 0));
}

eg_cvt_states eg_cvt_encode_with(eg_module *m, eg_tensor *words, eg_tensor *letters, const eg_cvt_options *given)
{
    static const char op[] = "eg_cvt_encode";
    const eg_cvt_states failed = {NULL, NULL, NULL};
    eg_cvt_options o;
    eg__options(&o, sizeof o, given);
    if (eg__check_text_input(op, m, &eg__cvt_encoder_kind, words, "words", 2) ||
        eg__check_text_input(op, m, &eg__cvt_encoder_kind, letters, "letters", 3) || check(op, words, letters, &o)) {
        return failed;
    }
    eg_scope s = eg_scope_push();
    eg_cvt_states r = s.depth ? encode((eg__cvt_encoder *)m, words, letters, &o) : failed;
    eg_tensor *out[3] = {r.there, r.back, r.all};
    return eg_scope_pop_n(s, out, 3) || !r.all ? failed : r;
}

/* ---- the module ---------------------------------------------------------------------------------- */

static void members(eg_module *m, eg_members *walk)
{
    static const char *const names[EG__CVT_FILTERS] = {"conv2", "conv3", "conv4"};
    eg__cvt_encoder *e = (eg__cvt_encoder *)m;
    eg_member_parameter(walk, "words.weight", &e->words);
    eg_member_parameter(walk, "words.scale", &e->scale);
    eg_member_parameter(walk, "letters.weight", &e->letters);
    for (int i = 0; i < EG__CVT_FILTERS; i++) {
        eg_member_child(walk, names[i], &e->conv[i]);
    }
    eg_member_child(walk, "near", &e->near);
    eg_member_child(walk, "deep", &e->deep);
}

const eg_module_kind eg__cvt_encoder_kind = {.size = sizeof(eg_module_kind), .name = "cvt_encoder", .members = members};

/* Each way as TensorFlow's cell begins: the weights of x and of h are one matrix to glorot's rule. */
static eg_module *layer_new(int64_t in, int64_t cells, int64_t width)
{
    eg_module *lstm = eg__begin(
        eg_lstm_new(in, cells, .bidirectional = true, .batch_first = true, .one_bias = true, .projection = width),
        EG_GLOROT_UNIFORM);
    eg_parameters all = lstm ? eg_module_parameters(lstm) : (eg_parameters){.count = 0};
    const double most = sqrt(6 / (double)(in + width + 4 * cells));
    eg_status st = EG_OK;
    for (int i = 0; i < all.count && !st; i++) {
        if (strncmp(all.names[i], "bias", 4) == 0) {
            EG_SCOPE {
                st = eg_init(eg_slice(all.tensors[i], 0, cells, 2 * cells, 1), EG_CONSTANT, .value = 1);
            }
        } else if (strncmp(all.names[i], "weight_hr", 9) != 0) {
            st = eg_init(all.tensors[i], EG_UNIFORM, .low = -most, .high = most);
        }
    }
    if (st) {
        eg_module_free(lstm);
    }
    return st ? NULL : lstm;
}

static bool fill_in(const char *op, int64_t words, int64_t letters, eg_cvt_encoder_options *o)
{
    const struct {
        int64_t *size, otherwise;
    } all[] = {{&o->word_width, 300}, {&o->letter_width, 50}, {&o->filters, 100},
               {&o->cells, 1024},     {&o->deep_cells, 512},  {&o->width, 512}};
    int64_t least = words < letters ? words : letters;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        *all[i].size = *all[i].size ? *all[i].size : all[i].otherwise;
        least = *all[i].size < least ? *all[i].size : least;
    }
    if (least < 1) {
        eg_failf(EG_EINVAL, op, "%lld words, %lld letters, a width or number of cells: must be at least 1",
                 (long long)words, (long long)letters);
    }
    return least >= 1;
}

static void make_layers(eg__cvt_encoder *e)
{
    const eg_cvt_encoder_options *o = &e->o;
    for (int i = 0; i < EG__CVT_FILTERS; i++) {
        e->conv[i] =
            eg__begin(eg_conv1d_new(o->letter_width, o->filters, .kernel = EG__CVT_SHORTEST + i), EG_GLOROT_UNIFORM);
        if (!e->conv[i]) {
            return;
        }
    }
    e->near = layer_new(o->word_width + EG__CVT_FILTERS * o->filters, o->cells, o->width);
    e->deep = e->near ? layer_new(2 * o->width, o->deep_cells, o->width) : NULL;
}

eg_module *eg_cvt_encoder_new_with(int64_t words, int64_t letters, const eg_cvt_encoder_options *given)
{
    eg_cvt_encoder_options o;
    eg__options(&o, sizeof o, given);
    eg__cvt_encoder *e =
        fill_in(eg__cvt_encoder_kind.name, words, letters, &o) ? eg_module_new(sizeof *e, &eg__cvt_encoder_kind) : NULL;
    if (!e) {
        return NULL;
    }
    e->o = o;
    EG_SCOPE {
        e->words = eg_parameter(eg_zeros(EG_SHAPE(words, o.word_width), EG_F32));
        e->scale = e->words ? eg_parameter(eg_ones(EG_SHAPE(1), EG_F32)) : NULL;
        e->letters = e->scale ? eg_parameter(eg_zeros(EG_SHAPE(letters, o.letter_width), EG_F32)) : NULL;
        if (e->letters && (eg_init(e->words, EG_GLOROT_UNIFORM) || eg_init(e->letters, EG_GLOROT_UNIFORM))) {
            eg_release(e->letters);
            e->letters = NULL;
        }
    }
    if (e->letters) {
        make_layers(e);
    }
    return eg_module_finish(&e->base);
}
