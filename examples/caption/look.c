/* look.c - see look.h. */
#define _POSIX_C_SOURCE 200809L
#include "look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <egret/data/preprocess.h>
#include <egret/models.h>

enum { SCENE_SIDE = 48 };

/* Layers whose maps are the last ones before classes. */
static const struct {
    const char *net, *tap;
} known[] = {{"efficientnet", "top"},       {"vgg", "pool5"},
             {"resnet_v2", "postnorm"},     {"inception_v3", "Mixed_7c"},
             {"mobilenet_v1", "Conv2d_13"}, {"mobilenet_v2", "Conv_1"}};

static const char *tap_of(const look_options *o)
{
    for (size_t i = 0; i < sizeof known / sizeof *known && !o->tap; i++) {
        if (strncmp(o->trunk.net, known[i].net, strlen(known[i].net)) == 0) {
            return known[i].tap;
        }
    }
    if (!o->tap) {
        eg_failf(EG_EINVAL, "caption", "which layer of %.60s? --tap says it", o->trunk.net);
    }
    return o->tap;
}

/* A folder for files that a net, a layer and weights have in common. */
static eg_status choose_folder(look *f, eg_run *run, const look_options *o, const char *tap)
{
    const char *weights = o->trunk.weights ? o->trunk.weights : "chance", *slash = strrchr(weights, '/');
    char name[256];
    eg_path root = o->cache ? (eg_path){""} : eg_run_path(run, "features");
    snprintf(name, sizeof name, "%.60s-%.40s-%.80s-%lld", o->trunk.net, tap, slash ? slash + 1 : weights,
             (long long)f->side);
    f->folder = eg_path_in(o->cache ? o->cache : root.text, name);
    return eg_folder_make(f->folder.text);
}

eg_status look_open(look *f, eg_run *run, const look_options *o)
{
    const char *tap = tap_of(o);
    *f = (look){.recipe = NULL};
    eg_model_info info = eg_model_find(o->trunk.net);
    if (!tap || !info.name) {
        return eg_last_error()->code;
    }
    f->recipe = o->scenes ? NULL : info.preprocessing;
    f->side = o->side ? o->side : o->scenes ? SCENE_SIDE : info.side;
    eg_seed(42); /* a trunk by chance is always the same, so that its files are right for the next run */
    f->trunk = trunk_new(&o->trunk, tap);
    eg_seed((uint64_t)eg_run_settings_of(run)->seed);
    eg_status st = f->trunk ? eg_module_to_device(f->trunk, eg_run_device(run)) : eg_last_error()->code;
    return st ? st : choose_folder(f, run, o, tap);
}

void look_free(look *f)
{
    eg_module_free(f->trunk);
    f->trunk = NULL;
}

/* ---- one photo ----------------------------------------------------------------------------------- */

/* As the trunk wants it, f32 [3, side, side]. */
static eg_tensor *prepared(const look *f, const photo *p)
{
    if (!p->path) {
        eg_tensor *scene = photos_scene(p->number, f->side);
        return scene ? eg_sub_scalar(eg_mul_scalar(eg_cast(scene, EG_F32), 1 / 127.5), 1) : NULL;
    }
    eg_tensor *image = eg_image_load(p->path, .channels = 3, .other_formats = true);
    return image ? eg_preprocess(f->recipe ? f->recipe : "inception", image, .side = f->side) : NULL;
}

eg_tensor *look_shown(const look *f, const photo *p)
{
    eg_tensor *x = prepared(f, p);
    if (!x) {
        return NULL;
    }
    eg_tensor *low = eg_min(x), *high = eg_max(x);
    return eg_div(eg_sub(x, low), eg_clamp_min(eg_sub(high, low), 1e-6));
}

/* Maps [1, C, H, W] as places. */
static eg_tensor *places_of(look *f, eg_tensor *maps)
{
    if (!maps || eg_ndim(maps) != 4) {
        return maps ? (eg_fail(EG_EINVAL, "caption", "the layer of the trunk makes no maps"), NULL) : NULL;
    }
    f->channels = eg_size(maps, 1);
    f->rows = eg_size(maps, 2);
    f->columns = eg_size(maps, 3);
    eg_tensor *x = eg_permute(eg_select(maps, 0, 0), EG_AXES(1, 2, 0));
    return eg_contiguous(eg_reshape(x, EG_SHAPE(f->rows * f->columns, f->channels)));
}

eg_tensor *look_compute(look *f, eg_run *run, const photo *p)
{
    eg_tensor *x = prepared(f, p);
    x = x ? eg_contiguous(eg_unsqueeze(x, 0)) : NULL;
    eg_tensor *places = x ? places_of(f, eg_module_forward(f->trunk, eg_run_here(run, x))) : NULL;
    return places ? eg_to(eg_cast(places, EG_F32), eg_cpu()) : NULL;
}

/* ---- files --------------------------------------------------------------------------------------- */

static eg_path file_of(const look *f, const photo *p)
{
    char name[256];
    snprintf(name, sizeof name, "%.200s.npy", p->name);
    for (char *c = name; *c; c++) {
        *c = *c == '/' ? '_' : *c;
    }
    return eg_path_in(f->folder.text, name);
}

eg_tensor *look_of(const look *f, const photo *p)
{
    eg_tensor *t = eg_npy_load(file_of(f, p).text);
    if (t && (eg_dtype_of(t) != EG_F32 || eg_ndim(t) != 2 || eg_size(t, 0) != f->rows * f->columns ||
              eg_size(t, 1) != f->channels)) {
        eg_failf(EG_EFORMAT, "caption", "%.200s is not of this trunk", file_of(f, p).text);
        return NULL;
    }
    return t;
}

eg_status look_make(look *f, eg_run *run, const photos *all)
{
    eg_progress bar;
    eg_status st = EG_OK;
    int64_t made = 0;
    eg_progress_start(&bar, stderr, "looking", all->count, "photos");
    for (int64_t i = 0; i < all->count && !st; i++) {
        eg_path path = file_of(f, &all->at[i]);
        if (i > 0 && access(path.text, F_OK) == 0) {
            continue;
        }
        EG_RUN_COMPUTES(run)
        {
            eg_tensor *x = look_compute(f, run, &all->at[i]);
            st = x ? eg_npy_save(x, path.text) : eg_last_error()->code;
            made++;
        }
        eg_progress_update(&bar, i + 1, "%s", "");
    }
    eg_progress_clear(&bar);
    if (!st) {
        eg_run_say(run, "%lld photos of %lld looked at, %lld places of %lld channels each, in %s", (long long)made,
                   (long long)all->count, (long long)(f->rows * f->columns), (long long)f->channels, f->folder.text);
    }
    return st;
}
