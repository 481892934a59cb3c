/* models.c - nets by their names. */
#include <string.h>

#include <egret/error.h>
#include <egret/models.h>

#include "lib/core/base.h"
#include "nn/models/vision/names.h"

/* ---- the table ---------------------------------------------------------------------------------- */

/* The caller's options with a width, where they have none. */
static const eg_model_options *wide(eg_model_options *room, const eg_model_options *o, double width)
{
    eg__options(room, sizeof *room, o);
    room->size = sizeof *room;
    room->width = room->width != 0 ? room->width : width;
    return room;
}

#define MODEL(name_, maker, ...)                              \
    static eg_module *make_##name_(const eg_model_options *o) \
    {                                                         \
        eg_model_options room;                                \
        (void)room, (void)wide;                               \
        return maker;                                         \
    }
#include "nn/models/models.def"
#undef MODEL

enum { AUX = 1, SIDED };

static const struct model {
    eg_model_info info;
    eg_module *(*make)(const eg_model_options *o);
} models[] = {
#define MODEL(name_, maker, side_, preprocessing_, channels_, classes_, parameters_, names_, takes, source_) \
    {{.name = #name_,                                                                                        \
      .source = source_,                                                                                     \
      .preprocessing = #preprocessing_,                                                                      \
      .side = side_,                                                                                         \
      .channels = channels_,                                                                                 \
      .classes = classes_,                                                                                   \
      .parameters = parameters_,                                                                             \
      .names = eg__names_##names_,                                                                           \
      .aux = takes == AUX,                                                                                   \
      .sided = takes == SIDED},                                                                              \
     make_##name_},
#include "nn/models/models.def"
#undef MODEL
};

enum { COUNT = sizeof models / sizeof *models };

/* ---- by number and by name ---------------------------------------------------------------------- */

int eg_model_count(void)
{
    return COUNT;
}

eg_model_info eg_model_at(int i)
{
    if (i < 0 || i >= COUNT) {
        eg_failf(EG_EINDEX, "eg_model_at", "%d is outside 0..%d", i, COUNT - 1);
        return (eg_model_info){.name = NULL};
    }
    return models[i].info;
}

/* How many letters must be put in, taken out or changed (Levenshtein 1966); of words of up to 63. */
static int distance(const char *a, const char *b)
{
    int row[64], n = (int)strlen(b);
    if (n > 63) {
        return n;
    }
    for (int j = 0; j <= n; j++) {
        row[j] = j;
    }
    for (int i = 0; a[i]; i++) {
        int corner = row[0];
        row[0] = i + 1;
        for (int j = 1; j <= n; j++) {
            int changed = corner + (a[i] != b[j - 1]);
            corner = row[j];
            int moved = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            row[j] = changed < moved ? changed : moved;
        }
    }
    return row[n];
}

static const struct model *find(const char *op, const char *name)
{
    int nearest = 0;
    if (!name) {
        eg_fail(EG_EINVAL, op, "name is NULL");
        return NULL;
    }
    for (int i = 0; i < COUNT; i++) {
        if (!strcmp(models[i].info.name, name)) {
            return &models[i];
        }
        if (distance(name, models[i].info.name) < distance(name, models[nearest].info.name)) {
            nearest = i;
        }
    }
    eg_failf(EG_EINDEX, op, "there is no net \"%.60s\"; the nearest name is \"%s\"", name, models[nearest].info.name);
    return NULL;
}

eg_model_info eg_model_find(const char *name)
{
    const struct model *m = find("eg_model_find", name);
    return m ? m->info : (eg_model_info){.name = NULL};
}

eg_module *eg_model_new_with(const char *name, const eg_model_options *options)
{
    const struct model *m = find("eg_model_new", name);
    return m ? m->make(options) : NULL;
}
