/* keras.c - models that Keras 3 saved: a zip archive of HDF5 weights, and of what else there is as JSON. */
#include <stdlib.h>

#include "lib/io/formats.h"
#include "lib/core/counted.h"
#include "lib/io/hdf5.h"
#include "lib/io/zip.h"

static const char weights[] = "model.weights.h5";
static const char *const texts[] = {"metadata.json", "config.json"};

/* All of a member, a zero behind it. */
static char *unpack(const eg__source *s, const eg__zip_member *m)
{
    if (eg__source_unpacks(s, m->at, m->name, m->size)) {
        return NULL;
    }
    char *data = eg__counted_alloc((size_t)m->size + 1);
    if (!data) {
        return eg__no_memory(s->op, m->size), NULL;
    }
    if (eg__zip_unpack(s, m, data)) {
        eg__counted_free(data);
        return NULL;
    }
    data[m->size] = 0;
    return data;
}

static eg_status add_text(const eg__source *s, const eg__zip_member *m, eg_tensors *map)
{
    char *text = unpack(s, m);
    eg_status st = !text                              ? eg__why()
                   : (int64_t)strlen(text) == m->size ? eg_tensors_set_text(map, m->name, text)
                                                      : eg__source_bad(s, m->at, "a text with a zero inside");
    eg__counted_free(text);
    return st;
}

/* Weights that lie there as they are stay where they are. */
static eg_tensors *open_weights(eg__backing *b, const eg__zip_member *m)
{
    if (!m->deflated) {
        return eg__hdf5_open(eg__backing_keep(b), m->at, m->size, "keras");
    }
    char *data = unpack(&b->source, m);
    eg__backing *unpacked = data ? eg__backing_memory(b->source.op, b->name, data, (size_t)m->size) : NULL;
    eg__counted_free(data);
    if (!unpacked) {
        return NULL;
    }
    unpacked->copy = b->copy;
    return eg__hdf5_open(unpacked, 0, m->size, "keras");
}

static eg_tensors *open_lazily(eg__backing *b)
{
    const eg__source *s = &b->source;
    eg__zip zip;
    eg_tensors *map = NULL;
    eg_status st = eg__zip_open(&zip, s);
    if (!st) {
        const eg__zip_member *m = eg__zip_find(&zip, weights);
        map = m ? open_weights(b, m) : NULL;
        st = map ? EG_OK : m ? eg__why() : eg__source_bad(s, 0, "there is no \"%s\" in the archive", weights);
        for (int i = 0; i < EG__COUNT(texts) && !st; i++) {
            m = eg__zip_find(&zip, texts[i]);
            st = m ? add_text(s, m, map) : EG_OK;
        }
        eg__zip_close(&zip);
    }
    eg__backing_release(b);
    if (st) {
        eg_tensors_free(map);
    }
    return st ? NULL : map;
}

/* It begins with one of the members that Keras writes. */
static bool is_keras(const eg__source *s)
{
    return eg__zip_begins(s, ".json") || eg__zip_begins(s, ".weights.h5");
}

const eg__format eg__format_keras = {
    .about = {"keras", "models of Keras 3", ".keras", false},
    .is = is_keras,
    .open = open_lazily,
};
