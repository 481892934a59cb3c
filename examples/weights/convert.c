/* convert.c - other files of what one has. */
#include <stdio.h>
#include <string.h>

#include <egret/run/progress.h>

#include "weights.h"

static eg_dtype dtype_of(const char *name)
{
    int d = 0;
    while (d < EG_DTYPE_COUNT && strcmp(eg_dtype_name((eg_dtype)d), name)) {
        d++;
    }
    return (eg_dtype)d;
}

/* Those of the map that are asked for, floats of the dtype that is: a map of its own, to be freed. */
static eg_tensors *chosen(const eg_tensors *all, const weights_options *o)
{
    eg_tensors *map = eg_tensors_new();
    eg_status st = map ? EG_OK : eg_last_error()->code;
    for (int64_t i = 0; i < eg_tensors_count(all) && !st; i++) {
        const char *name = eg_tensors_name(all, i);
        if (!weights_wanted(name, o)) {
            continue;
        }
        eg_scope s = eg_scope_push();
        eg_tensor *t = s.depth ? eg_tensors_at(all, i) : NULL;
        t = t && o->dtype && eg_dtype_of(t) <= EG_BF16 ? eg_cast(t, dtype_of(o->dtype)) : t;
        st = t ? eg_tensors_set(map, name, t) : eg_last_error()->code;
        if (s.depth) {
            eg_scope_pop(s, NULL);
        }
    }
    for (int64_t i = 0; i < eg_tensors_text_count(all) && !st && !o->net && !o->map; i++) {
        const char *key = eg_tensors_text_key(all, i);
        st = eg_tensors_set_text(map, key, eg_tensors_text(all, key));
    }
    if (st) {
        eg_tensors_free(map);
        return NULL;
    }
    return map;
}

static void paint(int64_t done, int64_t all, void *user)
{
    (void)all;
    eg_progress_update(user, done >> 20, "MiB");
}

static int64_t bytes_of(const eg_tensors *map)
{
    int64_t bytes = 0;
    for (int64_t i = 0; i < eg_tensors_count(map); i++) {
        bytes += eg_tensors_about(map, i).bytes;
    }
    return bytes;
}

eg_status weights_convert(char *const *paths, const void *options)
{
    const weights_options *o = options;
    eg_tensors *file = weights_open(paths[0], o);
    /* As they come, unless something is asked of them. */
    eg_tensors *own = file && (o->only || o->dtype || o->map || o->net) ? chosen(file, o) : NULL;
    const eg_tensors *map = own ? own : file;
    eg_status st = file && (own || !(o->only || o->dtype || o->map || o->net)) ? EG_OK : eg_last_error()->code;
    if (!st) {
        eg_progress bar;
        eg_progress_start(&bar, stderr, "writing", bytes_of(map) >> 20, "MiB");
        st = eg_tensors_save(map, paths[1], .format = o->to, .shard_bytes = o->shard_mib << 20, .told = paint,
                             .user = &bar);
        eg_progress_clear(&bar);
    }
    if (!st) {
        printf("%s has %lld tensors\n", paths[1], (long long)eg_tensors_count(map));
    }
    eg_tensors_free(own);
    eg_tensors_free(file);
    return st;
}
