/* sets.c - see sets.h. */
#define _POSIX_C_SOURCE 200809L
#include "sets.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "drawn.h"
#include "ink.h"

enum { CYCLE = 10, BUFFER = 1000000, SHARDS_MOST = 1000, WORD_MOST = 256 };

/* ---- writing --------------------------------------------------------------------------------- */

/* The files of a set. */
typedef struct set {
    eg_tfrecord_writer *files[SHARDS_MOST];
    int64_t shards, count;
} set;

static eg_status begin_set(set *s, const char *folder, const char *name, int64_t shards)
{
    char file[64];
    s->shards = shards;
    for (int64_t i = 0; i < shards; i++) {
        snprintf(file, sizeof file, "%s-%05d-of-%05d", name, (int)i, (int)shards);
        s->files[i] = eg_tfrecord_writer_new(eg_path_in(folder, file).text);
        if (!s->files[i]) {
            return eg_last_error()->code;
        }
    }
    return EG_OK;
}

/* Puts the files in their places, or none of what is left of them. */
static eg_status end_set(set *s, eg_status st)
{
    for (int64_t i = 0; i < s->shards; i++) {
        eg_status closed = EG_OK;
        if (st) {
            eg_tfrecord_writer_free(s->files[i]);
        } else if (s->files[i]) {
            closed = eg_tfrecord_writer_close(s->files[i]);
        }
        st = st ? st : closed;
    }
    return st;
}

static eg_status write_drawing(set *s, eg_tensor *strokes, int64_t class)
{
    eg_tensor *ink = ink_of(strokes);
    eg_example *e = ink ? eg_example_new() : NULL;
    eg_status st = e ? EG_OK : eg_last_error()->code;
    const int64_t shape[2] = {ink ? eg_size(ink, 0) : 0, 3};
    st = st ? st : eg_example_set(e, "class_index", eg_from(EG_SHAPE(1), EG_I64, &class));
    st = st ? st : eg_example_set(e, "ink", eg_flatten(ink, 0, -1));
    st = st ? st : eg_example_set(e, "shape", eg_from(EG_SHAPE(2), EG_I64, shape));
    eg_tensor *bytes = st ? NULL : eg_example_encode(e);
    eg_example_free(e);
    if (!bytes) {
        return st ? st : eg_last_error()->code;
    }
    int64_t at = (int64_t)(eg_item(eg_uniform(EG_SCALAR, 0, 1, EG_F64)) * (double)s->shards);
    s->count++;
    return eg_tfrecord_write(s->files[at], eg_data(bytes), (size_t)eg_numel(bytes));
}

static const eg_json_field fields[] = {{.name = "word", .dtype = EG_U8},
                                       {.name = "drawing", .dtype = EG_F32, .ragged = true}};

/* The drawings of a class into both sets, its name behind the names. */
static eg_status write_class(const sets_options *o, const char *path, int64_t class, set *sets, FILE *names)
{
    int64_t n = 0, all = 0;
    eg_dataset *d = eg_ndjson_new(path, fields, 2);
    EG_FOR_EACH(x, d) {
        (void)x;
        all++;
    }
    int64_t train = all >= o->train + o->eval ? o->train : all * o->train / (o->train + o->eval);
    int64_t last = all >= o->train + o->eval ? train + o->eval : all;
    eg_status st = d ? eg_dataset_status(d) : eg_last_error()->code;
    EG_FOR_EACH(x, d) {
        if (!st && n == 0) {
            fprintf(names, "%.*s\n", (int)eg_numel(x[0]), (const char *)eg_data(x[0]));
        }
        if (!st && n < last) {
            st = write_drawing(&sets[n >= train], eg_strokes(x[1], x[2]), class);
        }
        n++;
    }
    eg_dataset_free(d);
    return st;
}

static eg_status write_all(const sets_options *o, const glob_t *found, set *sets)
{
    eg_status st = EG_OK;
    char *text = NULL;
    size_t bytes = 0;
    FILE *names = open_memstream(&text, &bytes);
    st = names ? EG_OK : eg_fail(EG_ENOMEM, "quickdraw", "out of memory");
    for (size_t i = 0; i < found->gl_pathc && !st; i++) {
        EG_SCOPE {
            st = write_class(o, found->gl_pathv[i], (int64_t)i, sets, names);
        }
    }
    if (names) {
        fclose(names);
    }
    st = st ? st : eg_file_write(eg_path_in(o->to, "training.tfrecord.classes").text, text, bytes);
    st = st ? st : eg_file_write(eg_path_in(o->to, "eval.tfrecord.classes").text, text, bytes);
    free(text);
    return st;
}

eg_status sets_write(const sets_options *o, int64_t *classes, int64_t *train, int64_t *eval)
{
    glob_t found;
    set *sets = calloc(2, sizeof *sets);
    eg_path pattern = eg_path_in(o->from, "*.ndjson");
    if (!sets) {
        return eg_fail(EG_ENOMEM, "quickdraw", "out of memory");
    }
    if (glob(pattern.text, 0, NULL, &found) != 0) {
        free(sets);
        return eg_failf(EG_EIO, "quickdraw", "no file is called %.200s", pattern.text);
    }
    eg_seed((uint64_t)o->seed);
    eg_status st = begin_set(&sets[0], o->to, "training.tfrecord", o->shards);
    st = st ? st : begin_set(&sets[1], o->to, "eval.tfrecord", o->shards);
    st = st ? st : write_all(o, &found, sets);
    st = end_set(&sets[0], st);
    st = end_set(&sets[1], st);
    *classes = (int64_t)found.gl_pathc;
    *train = sets[0].count;
    *eval = sets[1].count;
    globfree(&found);
    free(sets);
    return st;
}

/* ---- reading --------------------------------------------------------------------------------- */

static eg_status parse(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    static const eg_feature features[] = {{.name = "ink", .dtype = EG_F32, .shape = {1, {3}}, .variable = true},
                                          {.name = "shape", .dtype = EG_I64, .shape = {1, {2}}},
                                          {.name = "class_index", .dtype = EG_I64}};
    (void)n, (void)user;
    eg_status st = eg_example_read(in[0], features, 3, out);
    *m = 3;
    if (!st && eg_get(out[1], 0) != (double)eg_size(out[0], 0)) {
        return eg_failf(EG_EFORMAT, "quickdraw", "%lld points where the shape says %g", (long long)eg_size(out[0], 0),
                        eg_get(out[1], 0));
    }
    out[1] = st ? NULL : eg_select(out[1], 0, 0);
    return st;
}

static eg_dataset *batched(eg_dataset *d, int64_t buffer, int64_t batch, bool learned, uint64_t seed)
{
    d = learned ? eg_dataset_shuffle(d, buffer, .seed = seed) : d;
    return eg_dataset_prefetch(eg_dataset_padded_batch(d, batch, .drop_last = learned), 8);
}

eg_dataset *sets_read(const char *pattern, int64_t batch, bool learned, uint64_t seed)
{
    eg_dataset *d = eg_tfrecord_new(pattern, .shuffle_files = learned, .seed = seed, .cycle = CYCLE, .block = 1);
    return batched(eg_dataset_map(d, parse, NULL, .workers = 1), BUFFER, batch, learned, seed);
}

static eg_status draw(int64_t index, eg_tensor **sample, int *n, void *user)
{
    const int64_t i = index + (user ? 1 << 24 : 0); /* others to be judged by */
    sample[0] = ink_of(drawn_strokes(i));
    sample[1] = eg_full_int(EG_SCALAR, sample[0] ? eg_size(sample[0], 0) : 0, EG_I64);
    sample[2] = eg_full_int(EG_SCALAR, i % DRAWN_KINDS, EG_I64);
    *n = 3;
    return sample[0] && sample[2] ? EG_OK : eg_last_error()->code;
}

eg_dataset *sets_drawn(int64_t count, int64_t batch, bool learned, uint64_t seed)
{
    static char others;
    return batched(eg_dataset_from(draw, count, learned ? NULL : &others, NULL), count, batch, learned, seed);
}

/* ---- classes --------------------------------------------------------------------------------- */

static eg_status split_lines(sets_classes *c)
{
    char *rest = NULL;
    c->names = calloc(strlen(c->text) / 2 + 1, sizeof *c->names);
    for (char *line = c->names ? strtok_r(c->text, "\r\n", &rest) : NULL; line; line = strtok_r(NULL, "\r\n", &rest)) {
        c->names[c->count++] = line;
    }
    return c->names ? EG_OK : eg_fail(EG_ENOMEM, "quickdraw", "out of memory");
}

eg_status sets_load_classes(const char *path, sets_classes *c)
{
    *c = (sets_classes){.count = path ? 0 : DRAWN_KINDS};
    if (!path) {
        c->names = calloc(DRAWN_KINDS, sizeof *c->names);
        if (c->names) {
            memcpy(c->names, drawn_names, sizeof drawn_names);
        }
        return c->names ? EG_OK : eg_fail(EG_ENOMEM, "quickdraw", "out of memory");
    }
    eg_dataset *d = eg_files_new(path);
    eg_status st = d ? EG_OK : eg_last_error()->code;
    EG_FOR_EACH(x, d) {
        c->text = c->text ? c->text : strndup(eg_data(x[1]), (size_t)eg_numel(x[1]));
    }
    st = st ? st : eg_dataset_status(d);
    eg_dataset_free(d);
    st = st ? st : c->text ? split_lines(c) : eg_fail(EG_ENOMEM, "quickdraw", "out of memory");
    return st || c->count ? st : eg_failf(EG_EFORMAT, "quickdraw", "%.200s names no class", path);
}

void sets_free_classes(sets_classes *c)
{
    free(c->names);
    free(c->text);
    *c = (sets_classes){.count = 0};
}
