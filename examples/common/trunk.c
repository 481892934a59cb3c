/* trunk.c - see trunk.h. */
#include "trunk.h"

#include <stdio.h>
#include <string.h>

#include <egret/models.h>

enum { LAYERS_MOST = 256 };

static const char op[] = "trunk";

/* ---- which layers -------------------------------------------------------------------------------- */

/* The layers one behind the other, and what the net calls them: "features." where dense layers follow. */
static eg_module *layers_of(eg_module *net, const char **prefix)
{
    static const char *const inside[] = {"features", "body"};
    for (int i = 0; i < 2; i++) {
        eg_module *part = eg_module_find(net, inside[i]);
        if (part) {
            *prefix = inside[i];
            return part;
        }
    }
    eg_clear_error();
    *prefix = "";
    return net;
}

/* How many layers there are up to the last one of `taps`; -1 after a failure. */
static int count_up_to(eg_module *layers, const char *taps)
{
    int count = 0, all = eg_module_count(layers);
    for (const char *at = taps + strspn(taps, ", "); *at && all >= 0; at += strcspn(at, ","), at += strspn(at, ", ")) {
        char name[128];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "., "), at);
        eg_module *wanted = eg_module_find(layers, name);
        if (!wanted) {
            return -1;
        }
        for (int i = count; i < all; i++) {
            count = eg_module_at(layers, i) == wanted ? i + 1 : count;
        }
    }
    return all < 0 ? -1 : count;
}

static eg_module *copy_of(eg_module *layer, bool means)
{
    if (!means || strcmp(layer->kind->name, "pool") != 0) {
        return eg_module_copy(layer);
    }
    eg_module *pool = eg_avg_pool2d_new(.kernel = 2);
    return layer->name ? eg_named(layer->name, pool) : pool;
}

static eg_module *begin_of(eg_module *layers, int count, bool means)
{
    eg_module *some[LAYERS_MOST];
    if (count > LAYERS_MOST) {
        eg_failf(EG_EINVAL, op, "a trunk has at most %d layers", LAYERS_MOST);
        return NULL;
    }
    for (int i = 0; i < count; i++) {
        some[i] = copy_of(eg_module_at(layers, i), means);
    }
    return eg_sequential_new_with(some, count);
}

/* ---- weights ------------------------------------------------------------------------------------- */

/* One tensor of the trunk: of the file, or of the file with its names changed; NULL and EG_OK if neither has it. */
static eg_status find(const eg_tensors *file, const eg_tensors *renamed, const char *prefix, const char *name,
                      eg_tensor **found)
{
    char inside[512];
    snprintf(inside, sizeof inside, "%s%s%s", prefix, *prefix ? "." : "", name);
    const struct {
        const eg_tensors *in;
        const char *name;
    } places[] = {{file, name}, {file, inside}, {renamed, name}, {renamed, inside}};
    *found = NULL;
    for (int i = 0; i < 4; i++) {
        if (places[i].in && eg_tensors_has(places[i].in, places[i].name)) {
            *found = eg_tensors_get(places[i].in, places[i].name);
            return *found ? EG_OK : eg_last_error()->code;
        }
    }
    return EG_OK;
}

/* All that the trunk has; loading names what is missing. */
static eg_status load(eg_module *trunk, const char *prefix, const eg_tensors *file, const eg_tensors *renamed)
{
    eg_tensors *state = eg_module_state(trunk), *taken = eg_tensors_new();
    eg_status st = state && taken ? EG_OK : eg_last_error()->code;
    for (int64_t i = 0; !st && i < eg_tensors_count(state); i++) {
        const char *name = eg_tensors_name(state, i);
        eg_tensor *found;
        st = find(file, renamed, prefix, name, &found);
        st = st || !found ? st : eg_tensors_set(taken, name, found);
    }
    st = st ? st : eg_module_load_state(trunk, taken);
    eg_tensors_free(taken);
    eg_tensors_free(state);
    return st;
}

static eg_status fill(eg_module *trunk, const char *prefix, const trunk_options *o)
{
    if (!o->weights) {
        return eg_module_init(trunk, EG_HE_NORMAL);
    }
    const char *names = eg_model_find(o->net).names;
    eg_tensors *file = eg_tensors_open(o->weights);
    eg_tensors *renamed = file && names ? eg_tensors_renamed(file, names) : NULL;
    eg_status st = file && (!names || renamed) ? load(trunk, prefix, file, renamed) : eg_last_error()->code;
    eg_tensors_free(renamed);
    eg_tensors_free(file);
    return st;
}

eg_module *trunk_new(const trunk_options *o, const char *taps)
{
    const char *prefix = "";
    eg_module *net = eg_model_new(o->net), *layers = net ? layers_of(net, &prefix) : NULL, *trunk = NULL;
    int count = layers ? count_up_to(layers, taps) : -1;
    if (count > 0) {
        trunk = begin_of(layers, count, strcmp(o->pool, "avg") == 0);
    }
    eg_status st = trunk ? fill(trunk, prefix, o) : EG_OK;
    st = st || !trunk ? st : eg_module_eval(trunk);
    st = st || !trunk ? st : eg_module_freeze(trunk);
    eg_module_free(net);
    if (st) {
        eg_module_free(trunk);
    }
    return st ? NULL : trunk;
}
