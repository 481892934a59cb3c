/* nasnet_net.c - cells in thirds, as NASNet and PNASNet put them together; see nasnet.h. */
#include <math.h>
#include <stdio.h>

#include "nn/models/vision/nasnet.h"

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
static void add_cells(builder *b, const eg__nasnet *of)
{
    const eg__cell_plan *halving = of->halving ? of->halving : of->plan;
    if (!of->cifar) {
        add(b, halving, 0.25, 2, -1);
        add(b, halving, 0.5, 2, 0);
    }
    double scale = 1;
    for (int i = 0; i < of->cells; i++) {
        int last = b->net->count, before = last - 1;
        bool halves = i == of->cells / 3 || i == 2 * of->cells / 3;
        scale *= halves ? 2 : 1;
        if (halves && of->halving) {
            add(b, halving, scale, 2, before);
            before = of->skip ? before : last;
        }
        add(b, of->plan, scale, halves && !of->halving ? 2 : 1, before);
        if (i == 2 * of->cells / 3 - 1) {
            b->net->aux_behind = b->net->count - 1;
        }
    }
}

eg_module *eg__nasnet_new(const eg__nasnet *of, const eg_model_options *given)
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
    b.total = of->cells + (of->cifar || !of->halving ? 2 : 4);
    b.made[0] = (eg__cell_state){of->stem, 0};
    n->stem = eg__conv_new(&s, "conv0", o.channels, of->stem, 3, .stride = of->cifar ? 1 : 2, .valid = !of->cifar,
                           .linear = true);
    add_cells(&b, of);
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
