/* nasnet.c - NASNet-A (Zoph et al. 2017) and PNASNet-5 (Liu et al. 2017), as TF-Slim has them. */
#include <math.h>
#include <stdio.h>

#include "nn/models/vision/nasnet_cell.h"

/* ---- what the searches have found --------------------------------------------------------------- */

#define NONE EG__CELL_NONE
#define AVG  EG__CELL_AVG
#define MAX  EG__CELL_MAX
#define SEP3 EG__CELL_SEP3
#define SEP5 EG__CELL_SEP5
#define SEP7 EG__CELL_SEP7
static const eg__cell_plan normal = {{{{SEP5, 0}, {SEP3, 1}},
                                      {{SEP5, 1}, {SEP3, 1}},
                                      {{AVG, 0}, {NONE, 1}},
                                      {{AVG, 1}, {AVG, 1}},
                                      {{SEP3, 0}, {NONE, 0}}},
                                     {true, false, false, false, false, false, false}};
static const eg__cell_plan reduction = {{{{SEP5, 0}, {SEP7, 1}},
                                         {{MAX, 0}, {SEP7, 1}},
                                         {{AVG, 0}, {SEP5, 1}},
                                         {{NONE, 3}, {AVG, 2}},
                                         {{SEP3, 2}, {MAX, 0}}},
                                        {true, true, true, false, false, false, false}};
static const eg__cell_plan progressive = {{{{SEP5, 1}, {MAX, 1}},
                                           {{SEP7, 0}, {MAX, 0}},
                                           {{SEP5, 0}, {SEP3, 0}},
                                           {{SEP3, 4}, {MAX, 0}},
                                           {{SEP3, 1}, {NONE, 0}}},
                                          {true, true, false, false, false, false, false}};

typedef struct size {
    const char *name;
    int64_t classes, filters, stem; /* channels of the last third by 4, and of the first convolution */
    int cells;
    double dropout, drop_path, momentum, eps;
    bool skip;  /* a cell behind a reduction reads what was in front of the reduction's input */
    bool cifar; /* no stem of cells */
    int places; /* along each side of what the auxiliary head reads, behind its means */
} size;

static const size nasnets[] = {
    [EG_NASNET_CIFAR] = {"nasnet_cifar", 10, 32, 96, 18, 0, 0.4, 0.1, 1e-5, false, true, 4},
    [EG_NASNET_MOBILE] = {"nasnet_mobile", 1001, 44, 32, 12, 0.5, 0, 1 - 0.9997, 1e-3, false, false, 4},
    [EG_NASNET_LARGE] = {"nasnet_large", 1001, 168, 96, 18, 0.5, 0.3, 1 - 0.9997, 1e-3, true, false, 6},
};
static const size pnasnets[] = {
    [EG_NASNET_CIFAR] = {.name = NULL},
    [EG_NASNET_MOBILE] = {"pnasnet_mobile", 1001, 54, 32, 9, 0.5, 0, 1 - 0.9997, 1e-3, true, false, 4},
    [EG_NASNET_LARGE] = {"pnasnet_large", 1001, 216, 96, 12, 0.5, 0.4, 1 - 0.9997, 1e-3, true, false, 6},
};

/* ---- the net ------------------------------------------------------------------------------------ */

enum { CELLS_MOST = 24 };

typedef struct nasnet {
    eg_module base;
    eg_module *stem, *aux, *head, *cells[CELLS_MOST];
    int before[CELLS_MOST]; /* which result each cell reads beside the last one; -1: none; 0: the stem's */
    int count, aux_behind;  /* which cell */
} nasnet;

static eg_tensor *nasnet_forward(eg_module *m, eg_tensor *x)
{
    nasnet *n = (nasnet *)m;
    eg_tensor *made[CELLS_MOST + 1] = {eg_module_forward(n->stem, x)};
    for (int i = 0; i < n->count; i++) {
        made[i + 1] = eg__cell_forward(n->cells[i], made[i], n->before[i] < 0 ? NULL : made[n->before[i]]);
        if (n->aux && i == n->aux_behind && made[i + 1] && eg__aux_wanted(m)) {
            eg_tensor *logits = eg_module_forward(n->aux, eg_relu(made[i + 1]));
            if (!logits) {
                return NULL;
            }
            eg__aux_made(logits);
        }
    }
    return eg_module_forward(n->head, eg_relu(made[n->count]));
}

static void nasnet_members(eg_module *m, eg_members *members)
{
    nasnet *n = (nasnet *)m;
    char name[24];
    eg_member_child(members, "stem", &n->stem);
    for (int i = 0; i < n->count; i++) {
        snprintf(name, sizeof name, "cell_%d", i);
        eg_member_child(members, name, &n->cells[i]);
    }
    if (n->aux) {
        eg_member_child(members, "aux", &n->aux);
    }
    eg_member_child(members, "final_layer", &n->head);
}

static const eg_module_kind nasnet_kind = {
    .size = sizeof(eg_module_kind), .name = "nasnet", .forward = nasnet_forward, .members = nasnet_members};

/* ---- building ----------------------------------------------------------------------------------- */

typedef struct builder {
    nasnet *net;
    const eg__style *s;
    eg__cell_state made[CELLS_MOST + 1];
    double drop_path;
    int64_t filters;
    int total, numbered; /* cells, and how many there are so far: drop path grows with them */
} builder;

static void add(builder *b, const eg__cell_plan *plan, double scale, int64_t stride, int before)
{
    nasnet *n = b->net;
    int i = n->count;
    const eg__cell_state none = {0, 0};
    n->before[i] = before;
    n->cells[i] =
        eg__cell_new(b->s, plan, b->made[i], before < 0 ? none : b->made[before], (int64_t)((double)b->filters * scale),
                     stride, b->drop_path * (b->numbered + 1) / b->total, &b->made[i + 1]);
    b->numbered++;
    n->count++;
}

/* Cells in thirds, each but the first behind one that halves the places and doubles the filters. */
static void add_cells(builder *b, const size *of, bool progresses)
{
    const eg__cell_plan *halving = progresses ? &progressive : &reduction, *plain = progresses ? &progressive : &normal;
    if (!of->cifar) {
        add(b, halving, 0.25, 2, -1);
        add(b, halving, 0.5, 2, 0);
    }
    double scale = 1;
    for (int i = 0; i < of->cells; i++) {
        int last = b->net->count, before = last - 1;
        bool halves = i == of->cells / 3 || i == 2 * of->cells / 3;
        scale *= halves ? 2 : 1;
        if (halves && !progresses) {
            add(b, halving, scale, 2, before);
            before = of->skip ? before : last;
        }
        add(b, plain, scale, halves && progresses ? 2 : 1, before);
        if (i == 2 * of->cells / 3 - 1) {
            b->net->aux_behind = b->net->count - 1;
        }
    }
}

static eg_module *make(const size *of, bool progresses, const eg_model_options *given)
{
    eg_model_options o;
    if (!eg__model_options(of->name, given, of->classes, 3, EG__TAKES_DROP_PATH | EG__TAKES_AUX, &o)) {
        return NULL;
    }
    eg__style s = eg__style_of(&o, of->momentum, of->eps, eg_relu);
    nasnet *n = eg_module_new(sizeof *n, &nasnet_kind);
    if (!n) {
        return NULL;
    }
    bool wants_aux = !o.no_aux && o.classes != EG_NO_CLASSES;
    builder b = {.net = n, .s = &s, .drop_path = eg__or(o.drop_path, of->drop_path), .filters = of->filters};
    b.total = of->cells + (of->cifar ? 2 : progresses ? 2 : 4);
    b.made[0] = (eg__cell_state){of->stem, 0};
    n->stem = eg__conv_new(&s, "conv0", o.channels, of->stem, 3, .stride = of->cifar ? 1 : 2, .valid = !of->cifar,
                           .linear = true);
    add_cells(&b, of, progresses);
    n->aux = eg__aux_new(&s, b.made[n->aux_behind + 1].channels, of->places, o.classes, &o);
    n->head = eg__head_new("final_layer", b.made[n->count].channels, o.classes, of->dropout, &o);
    bool good = n->aux || !wants_aux;
    eg_module *net = eg_module_finish(&n->base);
    if (!good) {
        eg_module_free(net);
        return NULL;
    }
    return eg__begin(net, EG_HE_NORMAL, .fan_out = true);
}

eg_module *eg_nasnet_new_with(eg_nasnet_size of, const eg_model_options *options)
{
    if ((int)of < EG_NASNET_CIFAR || of > EG_NASNET_LARGE) {
        eg_failf(EG_EINVAL, "nasnet", "there is no size %d", (int)of);
        return NULL;
    }
    return make(&nasnets[of], false, options);
}

eg_module *eg_pnasnet_new_with(eg_nasnet_size of, const eg_model_options *options)
{
    if (of != EG_NASNET_MOBILE && of != EG_NASNET_LARGE) {
        eg_failf(EG_EINVAL, "pnasnet", "there is no size %d: mobile or large", (int)of);
        return NULL;
    }
    return make(&pnasnets[of], true, options);
}
