/* pyramid.c - features for detectors: stages of a residual net, and over them a pyramid in which each level knows of
 * the coarser ones (Lin et al. 2017). */
#include <stdio.h>
#include <string.h>

#include "nn/models/detection/detection.h"

enum { STAGES = 4 };

typedef struct pyramid {
    eg_module base;
    eg_module *trunk;
    eg_module *inner[STAGES], *layer[STAGES]; /* 1 x 1 from a stage, 3 x 3 behind the sum; NULL below `first` */
    eg_module *top[2];                        /* of convs: strided */
    int first;
    eg_detector_options o;
} pyramid;

/* ---- the residual net --------------------------------------------------------------------------- */

/* Which stage a part of the net belongs to: 0, or the number of its block. */
static int stage_of(const eg_module *part)
{
    return part->name && !strncmp(part->name, "block", 5) ? part->name[5] - '0' : 0;
}

/* 1: what is in front of the blocks, and then blocks. */
static eg_status freeze_first(eg_module *trunk, int stages)
{
    eg_status st = EG_OK;
    for (int i = 0; i < eg_module_count(trunk) && !st; i++) {
        eg_module *part = eg_module_at(trunk, i);
        st = stage_of(part) < stages ? eg_module_freeze(part) : EG_OK;
    }
    return st;
}

/* Freezes all norms, which are called so. */
static eg_status freeze_norms(eg_module *trunk)
{
    static const char end[] = ".norm.weight";
    eg_tensors *state = eg_module_state(trunk);
    eg_status st = state ? EG_OK : eg_last_error()->code;
    for (int64_t i = 0; i < eg_tensors_count(state) && !st; i++) {
        const char *name = eg_tensors_name(state, i);
        size_t n = strlen(name), tail = sizeof end - 1;
        char path[128];
        if (n >= tail && n < sizeof path && !strcmp(name + n - tail, end)) {
            snprintf(path, sizeof path, "%.*s", (int)(n - strlen(".weight")), name);
            st = eg_module_freeze(eg_module_find(trunk, path));
        }
    }
    eg_tensors_free(state);
    return st;
}

eg_status eg__trunk_freeze(eg_module *trunk, const eg_detector_options *o)
{
    eg_status st = freeze_first(trunk, o->frozen_stages);
    return st || !o->frozen_norms ? st : freeze_norms(trunk);
}

eg_tensor *eg__trunk_run(eg_module *trunk, const eg_detector_options *o, eg_tensor *x, eg_tensor **stage)
{
    int count = eg_module_count(trunk);
    for (int i = 0; i < count && x; i++) {
        eg_module *part = eg_module_at(trunk, i);
        int now = stage_of(part), next = i + 1 < count ? stage_of(eg_module_at(trunk, i + 1)) : 0;
        if ((o->frozen_norms || now < o->frozen_stages) && part->training && eg_module_eval(part)) {
            return NULL;
        }
        x = eg_module_forward(part, x);
        if (stage && now && next != now) {
            stage[now - 1] = x;
        }
    }
    return x;
}

/* ---- the pyramid -------------------------------------------------------------------------------- */

/* Each level is the stage's own, and that of the coarser one, as large. */
static bool run_levels(pyramid *p, eg_tensor *const *stage, eg__levels *l)
{
    eg_tensor *above = NULL;
    for (int s = STAGES - 1; s >= p->first - 1; s--) {
        eg_tensor *x = eg_module_forward(p->inner[s], stage[s]);
        if (above && x) {
            x = eg_add(x, eg_resize(above, EG_SHAPE(eg_size(x, 2), eg_size(x, 3)), .mode = EG_RESIZE_NEAREST));
        }
        above = x;
        l->x[s - p->first + 1] = eg_module_forward(p->layer[s], x);
    }
    l->count = STAGES - p->first + 1;
    return above != NULL;
}

static bool run_top(pyramid *p, eg__levels *l)
{
    eg_tensor *last = l->x[l->count - 1];
    if (!p->top[0]) {
        l->x[l->count++] = eg_max_pool2d(last, .kernel = 1, .stride = 2);
    } else {
        l->x[l->count] = eg_module_forward(p->top[0], last);
        l->x[l->count + 1] = eg_module_forward(p->top[1], eg_relu(l->x[l->count]));
        l->count += 2;
    }
    return l->x[l->count - 1] != NULL;
}

eg__levels eg__pyramid_run(eg_module *m, eg_tensor *images)
{
    pyramid *p = (pyramid *)m;
    eg_tensor *stage[STAGES] = {NULL};
    eg__levels l = {.count = 0};
    return eg__trunk_run(p->trunk, &p->o, images, stage) && run_levels(p, stage, &l) && run_top(p, &l)
               ? l
               : (eg__levels){.count = 0};
}

/* ---- the module --------------------------------------------------------------------------------- */

static void members(eg_module *m, eg_members *walk)
{
    pyramid *p = (pyramid *)m;
    eg_member_child(walk, "trunk", &p->trunk);
    char name[24];
    for (int s = p->first - 1; s < STAGES; s++) {
        snprintf(name, sizeof name, "inner%d", s + 1);
        eg_member_child(walk, name, &p->inner[s]);
        snprintf(name, sizeof name, "layer%d", s + 1);
        eg_member_child(walk, name, &p->layer[s]);
    }
    for (int i = 0; i < 2 && p->top[0]; i++) {
        snprintf(name, sizeof name, "top%d", i + 1);
        eg_member_child(walk, name, &p->top[i]);
    }
}

static const eg_module_kind kind = {.size = sizeof(eg_module_kind), .name = "pyramid", .members = members};

static eg_module *conv(int64_t in, int64_t out, int64_t kernel, int64_t stride)
{
    eg_module *m = eg_conv2d_new(in, out, .kernel = kernel, .stride = stride, .padding = kernel / 2);
    return eg__begin(m, EG_HE_UNIFORM, .gain = 1);
}

static eg_module *finish(pyramid *p)
{
    eg_module *m = eg_module_finish(&p->base);
    if (m && eg__trunk_freeze(p->trunk, &p->o)) {
        eg_module_free(m);
        return NULL;
    }
    return m;
}

eg_module *eg__pyramid_new(const eg_detector_options *o, int first, bool convs)
{
    pyramid *p = eg_module_new(sizeof *p, &kind);
    if (!p) {
        return NULL;
    }
    p->first = first;
    p->o = *o;
    p->trunk = eg_resnet_new(o->layers, .channels = o->channels, .classes = EG_NO_CLASSES, .no_global_pool = true);
    for (int s = first - 1; s < STAGES; s++) {
        p->inner[s] = conv((int64_t)(o->layers < 50 ? 64 : 256) << s, o->width, 1, 1);
        p->layer[s] = conv(o->width, o->width, 3, 1);
    }
    for (int i = 0; i < 2 && convs; i++) {
        p->top[i] = conv(o->width, o->width, 3, 2);
    }
    return finish(p);
}
