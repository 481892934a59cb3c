/* safetensors_index.c - safetensors in several files, and the JSON file that says which tensor is in which. */
#include <stdlib.h>

#include "lib/io/formats.h"
#include "lib/core/counted.h"
#include "lib/io/json.h"
#include "lib/io/safetensors.h"

static const char ENDING[] = ".safetensors.index.json";
static const char PLAIN[] = ".safetensors";
enum { MOST_INDEX = 100000000, MOST_SHARDS = 99999 };

/* ---- reading ------------------------------------------------------------------------------------ */

typedef struct shard {
    char *name;
    eg_tensors *map;
} shard;

/* Where a promised tensor is. */
typedef struct place {
    uint32_t shard;
    int64_t number;
} place;

typedef struct reader {
    eg__backing *backing; /* of the index */
    shard *shards;
    uint32_t count, capacity;
    place *places;
    uint32_t nplaces, cplaces;
} reader;

static eg_tensor *read_one(void *user, int64_t i)
{
    const reader *r = user;
    return eg__lazy_read(r->shards[r->places[i].shard].map, r->places[i].number);
}

static void close_all(void *user)
{
    reader *r = user;
    for (uint32_t i = 0; i < r->count; i++) {
        eg_tensors_free(r->shards[i].map);
        eg__counted_free(r->shards[i].name);
    }
    eg__counted_free(r->shards);
    eg__counted_free(r->places);
    eg__backing_release(r->backing);
    free(r);
}

/* The path of a file beside the index, counted memory. */
static char *beside(const char *index, const char *name)
{
    const char *slash = strrchr(index, '/');
    const size_t folder = slash ? (size_t)(slash - index) + 1 : 0, n = strlen(name) + 1;
    char *path = eg__counted_alloc(folder + n);
    if (path) {
        memcpy(path, index, folder);
        memcpy(path + folder, name, n);
    }
    return path;
}

static eg_status bad(const reader *r, const eg__json *j, const char *words)
{
    return eg__source_bad(&r->backing->source, j->start, "%s", words);
}

/* The shard of that name, opened when it is first named. */
static eg_status find_shard(reader *r, const eg__json *j, uint32_t *which)
{
    const eg__source *s = &r->backing->source;
    const char *name = j->text;
    for (*which = 0; *which < r->count; ++*which) {
        if (!strcmp(r->shards[*which].name, name)) {
            return EG_OK;
        }
    }
    if (!*name || strchr(name, '/') || (int64_t)strlen(name) != j->length || r->count == MOST_SHARDS) {
        return bad(r, j, "no name for a file beside this one, or more than 99999 of them");
    }
    char *path = beside(s->name, name), *copy = beside("", name);
    if (!path || !copy || (r->count == r->capacity && !eg__counted_grow(&r->shards, &r->capacity, sizeof *r->shards))) {
        eg__counted_free(path);
        eg__counted_free(copy);
        return eg__no_memory(s->op, (int64_t)strlen(s->name));
    }
    eg__backing *b = eg__backing_open(s->op, path, r->backing->copy);
    eg__counted_free(path);
    eg_tensors *map = b ? eg__format_open(b, "safetensors") : NULL;
    if (!map) {
        eg__counted_free(copy);
        return eg__why();
    }
    r->shards[r->count++] = (shard){copy, map};
    return EG_OK;
}

static eg_status promise(reader *r, eg_tensors *map, const eg__json *j, const char *name, uint32_t which)
{
    const place at = {which, eg__lazy_number(r->shards[which].map, name)};
    if (at.number < 0) {
        return bad(r, j, "the file has no such tensor");
    }
    if (r->nplaces == r->cplaces && !eg__counted_grow(&r->places, &r->cplaces, sizeof *r->places)) {
        return eg__no_memory(r->backing->source.op, (int64_t)sizeof *r->places);
    }
    r->places[r->nplaces] = at;
    const eg_tensor_about about = eg_tensors_about(r->shards[which].map, at.number);
    eg_status st = eg__lazy_promise(map, name, &about, r->nplaces++);
    return st == EG_EINDEX ? bad(r, j, "a tensor is named twice") : st;
}

/* "weight_map": {"a.weight": "model-00001-of-00002.safetensors", ...} */
static eg_status read_weight_map(reader *r, eg_tensors *map, eg__json *j)
{
    eg__json_token t = eg__json_next(j);
    eg_status st = t == EG__JSON_OBJECT ? EG_OK : bad(r, j, "weight_map is no object");
    while (!st && (t = eg__json_next(j)) == EG__JSON_KEY) {
        const char *name = j->text;
        uint32_t which = 0;
        const bool whole = (int64_t)strlen(name) == j->length;
        st = eg__json_next(j) == EG__JSON_STRING && whole ? find_shard(r, j, &which)
                                                          : bad(r, j, "a name and a file's name were expected");
        st = st ? st : promise(r, map, j, name, which);
    }
    return st ? st : t == EG__JSON_OBJECT_END ? EG_OK : bad(r, j, j->error ? j->error : "weight_map is broken");
}

/* Skips a value, whose first token is the next. */
static eg_status skip(reader *r, eg__json *j)
{
    int depth = 0;
    do {
        eg__json_token t = eg__json_next(j);
        if (t == EG__JSON_ERROR || t == EG__JSON_END) {
            return bad(r, j, j->error ? j->error : "the index ends too early");
        }
        depth += (t == EG__JSON_OBJECT || t == EG__JSON_ARRAY) - (t == EG__JSON_OBJECT_END || t == EG__JSON_ARRAY_END);
    } while (depth);
    return EG_OK;
}

static eg_status read_index(reader *r, eg_tensors *map, eg__json *j)
{
    bool found = false;
    eg__json_token t = eg__json_next(j);
    eg_status st = t == EG__JSON_OBJECT ? EG_OK : bad(r, j, j->error ? j->error : "the index is no object");
    while (!st && (t = eg__json_next(j)) == EG__JSON_KEY) {
        const bool here = eg__json_is(j, "weight_map");
        st = here && found ? bad(r, j, "weight_map twice") : here ? read_weight_map(r, map, j) : skip(r, j);
        found = found || here;
    }
    if (!st && (t != EG__JSON_OBJECT_END || eg__json_next(j) != EG__JSON_END)) {
        st = bad(r, j, j->error ? j->error : "the index goes on behind its end");
    }
    return st || found ? st : bad(r, j, "the index has no weight_map");
}

/* The texts of the first file are those of all. */
static eg_status copy_texts(const reader *r, eg_tensors *map)
{
    const eg_tensors *first = r->count ? r->shards[0].map : NULL;
    eg_status st = EG_OK;
    for (int64_t i = 0; i < eg_tensors_text_count(first) && !st; i++) {
        const char *key = eg_tensors_text_key(first, i);
        st = eg_tensors_set_text(map, key, eg_tensors_text(first, key));
    }
    return st;
}

static eg_tensors *open_index(eg__backing *b)
{
    static const eg__lazy how = {"safetensors-index", read_one, close_all};
    const eg__source *s = &b->source;
    reader *r = s->size <= MOST_INDEX ? eg__malloc(sizeof *r) : NULL;
    char *text = r ? eg__counted_alloc((size_t)s->size + 1) : NULL;
    if (!text) {
        (void)(s->size <= MOST_INDEX ? eg__no_memory(s->op, s->size)
                                     : eg__source_bad(s, 0, "an index has at most %d bytes", MOST_INDEX));
        free(r);
        eg__backing_release(b);
        return NULL;
    }
    *r = (reader){.backing = b};
    eg_tensors *map = eg__lazy_new(&how, r);
    eg_status st = map ? eg__source_read(s, 0, text, s->size) : eg__why();
    if (!st) {
        eg__json j;
        eg__json_begin(&j, text, s->size);
        st = read_index(r, map, &j);
        st = st ? st : copy_texts(r, map);
    }
    eg__counted_free(text);
    if (st) {
        eg_tensors_free(map);
        return NULL;
    }
    return map;
}

static bool is_index(const eg__source *s)
{
    return eg__ends_with(s->name, ENDING);
}

/* ---- writing ------------------------------------------------------------------------------------ */

/* The path of a shard, or of the index with `which` 0, for "dir/model.safetensors" or
 * "dir/model.safetensors.index.json"; to be freed. */
static char *path_of(const char *path, uint32_t which, uint32_t count)
{
    size_t stem = strlen(path);
    stem -= eg__ends_with(path, ENDING) ? sizeof ENDING - 1 : eg__ends_with(path, PLAIN) ? sizeof PLAIN - 1 : 0;
    const size_t room = stem + 64;
    char *p = eg__malloc(room);
    if (p && which) {
        snprintf(p, room, "%.*s-%05u-of-%05u%s", (int)stem, path, which, count, PLAIN);
    } else if (p) {
        snprintf(p, room, "%.*s%s", (int)stem, path, ENDING);
    }
    return p;
}

/* Gives each tensor its shard, counted from 1, in the order of the map; returns how many there are; 0: too many. */
static uint32_t share_out(const char *op, const eg_tensors *map, int64_t most, uint32_t *in, int64_t *total)
{
    uint32_t count = 1;
    int64_t bytes = 0;
    for (int64_t i = 0; i < eg_tensors_count(map); i++) {
        const eg_tensor_about about = eg_tensors_about(map, i);
        const int64_t more = eg__about_bytes(&about);
        if (bytes && more > most - bytes) {
            bytes = 0;
            count++;
        }
        bytes += more;
        *total += more;
        in[i] = count;
    }
    if (count > MOST_SHARDS) {
        eg__fail(EG_EINVAL, op, "shards of %lld bytes would be %u, at most %d are possible", (long long)most, count,
                 MOST_SHARDS);
    }
    return count > MOST_SHARDS ? 0 : count;
}

static eg_status write_index(const char *op, const eg_tensors *map, const char *path, const uint32_t *in,
                             uint32_t count, int64_t total)
{
    eg__buffer t = {0};
    eg_status st = EG_OK;
    eg__put_word(&t, "{\"metadata\":{\"total_size\":");
    eg__put_int(&t, total);
    eg__put_word(&t, "},\"weight_map\":{");
    for (int64_t i = 0; i < eg_tensors_count(map) && !st; i++) {
        char *name = path_of(path, in[i], count);
        const char *slash = name ? strrchr(name, '/') : NULL;
        eg__put_word(&t, i ? ",\n" : "\n");
        eg__put_string(&t, eg_tensors_name(map, i));
        eg__put_word(&t, ":");
        st = !name                                           ? eg__no_memory(op, (int64_t)strlen(path))
             : !eg__put_string(&t, slash ? slash + 1 : name) ? eg__fail(EG_EINVAL, op, "the path is not UTF-8")
                                                             : EG_OK;
        free(name);
    }
    eg__put_word(&t, "\n}}\n");
    st = st ? st : t.full ? eg__no_memory(op, t.n) : EG_OK;
    char *index = path_of(path, 0, 0);
    st = st ? st : index ? eg__file_write(op, index, t.s, t.n) : eg__no_memory(op, (int64_t)strlen(path));
    free(index);
    eg__buffer_free(&t);
    return st;
}

static eg_status write_shards(const char *op, const eg_tensors *map, const char *path, int64_t most)
{
    const size_t bytes = ((size_t)eg_tensors_count(map) + 1) * sizeof(uint32_t);
    uint32_t *in = eg__malloc(bytes);
    if (!in) {
        return eg__no_memory(op, (int64_t)bytes);
    }
    int64_t total = 0;
    uint32_t count = share_out(op, map, most, in, &total);
    eg_status st = count ? EG_OK : eg__why();
    for (uint32_t which = 1; which <= count && !st; which++) {
        char *name = path_of(path, which, count);
        st = name ? eg__safetensors_write(op, &(eg__part){map, in, which}, name)
                  : eg__no_memory(op, (int64_t)strlen(path));
        free(name);
    }
    st = st ? st : write_index(op, map, path, in, count, total); /* last: it names what is there */
    free(in);
    return st;
}

eg_status eg__safetensors_save(const char *op, const eg_tensors *map, const char *path, const eg_save_options *o)
{
    return o->shard_bytes ? write_shards(op, map, path, o->shard_bytes)
                          : eg__safetensors_write(op, &(eg__part){.map = map}, path);
}

static eg_status save_index(const char *op, const eg_tensors *map, const char *path, const eg_save_options *o)
{
    return write_shards(op, map, path, o->shard_bytes ? o->shard_bytes : 5000000000);
}

const eg__format eg__format_safetensors_index = {
    .about = {"safetensors-index", "safetensors in several files, by their index", ".safetensors.index.json", true},
    .is = is_index,
    .open = open_index,
    .save = save_index,
};
