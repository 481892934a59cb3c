/* tensors.c - the map of named tensors, and of keys and texts. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <egret/io.h>

#include "lib/core/counted.h"
#include "lib/core/live.h"
#include "lib/core/tensor.h"
#include "lib/io/element.h"
#include "lib/io/lazy.h"

/* Names in the order they came, found through an open hash of places + 1. */
typedef struct names {
    char **name;
    void **value;
    uint32_t count, cname, cvalue;
    uint32_t *index;
    uint32_t cindex; /* a power of two, at least twice count; or 0 */
} names;

/* What is known of a tensor that was not read yet. */
typedef struct promise {
    eg_tensor_about about;
    int64_t number; /* of the reader's, or REPLACED */
} promise;

enum { REPLACED = -1 };

struct eg_tensors {
    names tensors, texts; /* a tensor that was not read yet is NULL */
    uint64_t seed;        /* of the hash, so that no file can be made to collide */
    const eg__lazy *lazy; /* or NULL */
    void *reader;
    promise *promises; /* of the tensors first set, all of them promised */
    uint32_t npromises, cpromises;
    pthread_mutex_t lock; /* of reading */
    eg__telling *telling; /* while it is saved */
};

/* ---- names ----------------------------------------------------------------------------------- */

static uint64_t hash_of(uint64_t seed, const char *s)
{
    uint64_t h = seed;
    for (; *s; s++) {
        h = (h ^ (unsigned char)*s) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return h * 0xbf58476d1ce4e5b9u >> 32;
}

/* The slot of the index that holds the name, or the free one where it belongs. */
static uint32_t *slot_of(const names *t, uint64_t seed, const char *name)
{
    uint32_t h = (uint32_t)hash_of(seed, name), mask = t->cindex - 1;
    while (t->index[h & mask] && strcmp(t->name[t->index[h & mask] - 1], name)) {
        h++;
    }
    return &t->index[h & mask];
}

static int64_t find(const names *t, uint64_t seed, const char *name)
{
    return t->count ? (int64_t)*slot_of(t, seed, name) - 1 : -1;
}

static bool grow_index(names *t, uint64_t seed)
{
    uint32_t *index = t->index;
    if (!eg__counted_grow(&index, &t->cindex, sizeof *index)) {
        return false;
    }
    t->index = index;
    memset(index, 0, t->cindex * sizeof *index);
    for (uint32_t i = 0; i < t->count; i++) {
        *slot_of(t, seed, t->name[i]) = i + 1;
    }
    return true;
}

/* A place for a new name, its value still NULL; -1: out of memory, nothing changed. */
static int64_t add(names *t, uint64_t seed, const char *name)
{
    if ((t->count == t->cname && !eg__counted_grow(&t->name, &t->cname, sizeof *t->name)) ||
        (t->count == t->cvalue && !eg__counted_grow(&t->value, &t->cvalue, sizeof *t->value)) ||
        (2 * (t->count + 1) > t->cindex && !grow_index(t, seed))) {
        return -1;
    }
    size_t bytes = strlen(name) + 1;
    char *copy = eg__counted_alloc(bytes);
    if (!copy) {
        return -1;
    }
    memcpy(copy, name, bytes);
    *slot_of(t, seed, name) = t->count + 1;
    t->name[t->count] = copy;
    t->value[t->count] = NULL;
    return t->count++;
}

static void free_names(names *t, void (*free_value)(void *))
{
    for (uint32_t i = 0; i < t->count; i++) {
        eg__counted_free(t->name[i]);
        if (t->value[i]) {
            free_value(t->value[i]);
        }
    }
    eg__counted_free(t->name);
    eg__counted_free(t->value);
    eg__counted_free(t->index);
}

/* ---- the map --------------------------------------------------------------------------------- */

static void release(void *t)
{
    eg_release(t);
}

eg_tensors *eg_tensors_new(void)
{
    eg_tensors *map = eg__handle_new(sizeof *map);
    struct timespec now = {0};
    if (!map) {
        return eg__no_memory("eg_tensors_new", sizeof *map), NULL;
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    *map = (eg_tensors){.seed = (uint64_t)(uintptr_t)map * 0x9e3779b97f4a7c15u ^ (uint64_t)now.tv_nsec << 20 ^
                                (uint64_t)now.tv_sec};
    pthread_mutex_init(&map->lock, NULL);
    return map;
}

void eg_tensors_free(eg_tensors *map)
{
    if (eg__handle_ends(map, "eg_tensors_free")) {
        free_names(&map->tensors, release);
        free_names(&map->texts, eg__counted_free);
        if (map->lazy) {
            map->lazy->close(map->reader);
        }
        eg__counted_free(map->promises);
        pthread_mutex_destroy(&map->lock);
        free(map);
    }
}

/* Whether the arguments of a setter are all there. */
static eg_status check(const eg_tensors *map, const char *name, const char *op)
{
    return !map ? eg__null_argument(op, "map") : !name ? eg__null_argument(op, "name") : EG_OK;
}

static eg_status set(eg_tensors *map, names *t, const char *name, void *value, void (*free_value)(void *),
                     const char *op)
{
    int64_t i = find(t, map->seed, name);
    if (i < 0) {
        i = add(t, map->seed, name);
    }
    if (i < 0) {
        free_value(value);
        return eg__no_memory(op, (int64_t)strlen(name));
    }
    if (t->value[i]) {
        free_value(t->value[i]);
    }
    t->value[i] = value;
    return EG_OK;
}

eg_status eg_tensors_set(eg_tensors *map, const char *name, eg_tensor *t)
{
    static const char op[] = "eg_tensors_set";
    eg_status st = check(map, name, op);
    st = st ? st : eg__check(t, op, "t");
    if (st) {
        return st;
    }
    int64_t i = find(&map->tensors, map->seed, name);
    if (i >= 0 && i < map->npromises) {
        map->promises[i].number = REPLACED;
    }
    return set(map, &map->tensors, name, eg_keep(t), release, op);
}

/* ---- reading when asked ------------------------------------------------------------------------ */

eg_tensors *eg__lazy_new(const eg__lazy *how, void *reader)
{
    eg_tensors *map = eg_tensors_new();
    if (!map) {
        how->close(reader);
        return NULL;
    }
    map->lazy = how;
    map->reader = reader;
    return map;
}

eg_status eg__lazy_promise(eg_tensors *map, const char *name, const eg_tensor_about *about, int64_t number)
{
    if (find(&map->tensors, map->seed, name) >= 0) {
        return EG_EINDEX;
    }
    if ((map->npromises == map->cpromises &&
         !eg__counted_grow(&map->promises, &map->cpromises, sizeof *map->promises)) ||
        add(&map->tensors, map->seed, name) < 0) {
        return eg__no_memory("eg_tensors_open", (int64_t)sizeof *map->promises);
    }
    map->promises[map->npromises++] = (promise){*about, number};
    return EG_OK;
}

/* Reads the i-th tensor into the innermost scope. */
static eg_tensor *read_now(const eg_tensors *map, int64_t i)
{
    eg_scope s = eg_scope_push();
    eg_tensor *t = s.depth ? map->lazy->read(map->reader, map->promises[i].number) : NULL;
    return s.depth ? eg_scope_pop(s, t) : NULL;
}

static eg_tensor *tensor_at(const eg_tensors *map, int64_t i)
{
    eg_tensors *m = (eg_tensors *)map; /* to whoever looks from outside it had the tensor from the beginning */
    if (i >= map->npromises) {
        return map->tensors.value[i];
    }
    pthread_mutex_lock(&m->lock);
    eg_tensor *t = m->tensors.value[i];
    if (!t) {
        eg_scope s = eg_scope_push();
        t = s.depth ? eg_keep(read_now(m, i)) : NULL;
        m->tensors.value[i] = t;
        if (s.depth) {
            eg_scope_pop(s, NULL);
        }
    }
    pthread_mutex_unlock(&m->lock);
    return t;
}

int64_t eg__lazy_number(const eg_tensors *map, const char *name)
{
    return find(&map->tensors, map->seed, name);
}

eg_tensor *eg__lazy_read(const eg_tensors *map, int64_t i)
{
    pthread_mutex_t *lock = &((eg_tensors *)map)->lock;
    pthread_mutex_lock(lock);
    eg_tensor *t = map->tensors.value[i];
    t = t ? t : read_now(map, i);
    if (t && map->telling) {
        eg__telling *tell = map->telling;
        tell->done += t->n * (int64_t)eg__esize(t);
        tell->told(tell->done, tell->all, tell->user);
    }
    pthread_mutex_unlock(lock);
    return t;
}

void eg__lazy_tell(const eg_tensors *map, eg__telling *telling)
{
    eg_tensors *m = (eg_tensors *)map;
    pthread_mutex_lock(&m->lock);
    m->telling = telling;
    pthread_mutex_unlock(&m->lock);
}

eg_status eg__target_write_lazy(eg__target *file, const eg_tensors *map, int64_t i)
{
    eg_scope s = eg_scope_push();
    eg_tensor *t = s.depth ? eg__lazy_read(map, i) : NULL;
    eg_status st = t ? eg__target_write_tensor(file, t) : eg__why();
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return st;
}

/* ---- tensors ------------------------------------------------------------------------------------ */

eg_tensor *eg_tensors_get(const eg_tensors *map, const char *name)
{
    static const char op[] = "eg_tensors_get";
    if (check(map, name, op)) {
        return NULL;
    }
    int64_t i = find(&map->tensors, map->seed, name);
    return i < 0 ? eg__fail_null(EG_EINDEX, op, "no tensor is named \"%.160s\"", name) : tensor_at(map, i);
}

bool eg_tensors_has(const eg_tensors *map, const char *name)
{
    return map && name && find(&map->tensors, map->seed, name) >= 0;
}

int64_t eg_tensors_count(const eg_tensors *map)
{
    return map ? map->tensors.count : 0;
}

/* Place i of the tensors or of the texts? */
static bool inside(const eg_tensors *map, bool texts, int64_t i, const char *op)
{
    if (!map) {
        return eg__null_argument(op, "map"), false;
    }
    const names *t = texts ? &map->texts : &map->tensors;
    if (i < 0 || i >= t->count) {
        return eg__fail(EG_EINDEX, op, "there are %u, so no %lld", t->count, (long long)i), false;
    }
    return true;
}

const char *eg_tensors_name(const eg_tensors *map, int64_t i)
{
    return inside(map, false, i, "eg_tensors_name") ? map->tensors.name[i] : NULL;
}

eg_tensor *eg_tensors_at(const eg_tensors *map, int64_t i)
{
    return inside(map, false, i, "eg_tensors_at") ? tensor_at(map, i) : NULL;
}

eg_tensor_about eg_tensors_about(const eg_tensors *map, int64_t i)
{
    static const char op[] = "eg_tensors_about";
    eg_tensor_about about = {.stored = NULL};
    if (!inside(map, false, i, op)) {
        return about;
    }
    if (i < map->npromises && map->promises[i].number >= 0) {
        return map->promises[i].about;
    }
    const eg_tensor *t = map->tensors.value[i];
    const eg_shape shape = eg_shape_of(t);
    eg__element_about(op, (eg__element)t->dtype, &shape, &about); /* of a tensor that there is it cannot fail */
    return about;
}

const char *eg_tensors_format(const eg_tensors *map)
{
    return map && map->lazy ? map->lazy->format : NULL;
}

eg_status eg_tensors_set_text(eg_tensors *map, const char *key, const char *text)
{
    static const char op[] = "eg_tensors_set_text";
    eg_status st = check(map, key, op);
    if (st || !text) {
        return st ? st : eg__null_argument(op, "text");
    }
    size_t bytes = strlen(text) + 1;
    char *copy = eg__counted_alloc(bytes);
    if (!copy) {
        return eg__no_memory(op, (int64_t)bytes);
    }
    memcpy(copy, text, bytes);
    return set(map, &map->texts, key, copy, eg__counted_free, op);
}

static const char left_out[] = "left out: ";

eg_status eg__lazy_left_out(eg_tensors *map, const char *name, const char *why)
{
    char words[300];
    snprintf(words, sizeof words, "%s%.280s", left_out, why);
    return eg_tensors_set_text(map, name, words);
}

const char *eg__lazy_why_left_out(const eg_tensors *map, const char *name)
{
    const char *text = map->lazy ? eg_tensors_text(map, name) : NULL;
    const size_t n = sizeof left_out - 1;
    return text && !strncmp(text, left_out, n) ? text + n : NULL;
}

const char *eg_tensors_text(const eg_tensors *map, const char *key)
{
    int64_t i = map && key ? find(&map->texts, map->seed, key) : -1;
    return i < 0 ? NULL : map->texts.value[i];
}

int64_t eg_tensors_text_count(const eg_tensors *map)
{
    return map ? map->texts.count : 0;
}

const char *eg_tensors_text_key(const eg_tensors *map, int64_t i)
{
    return inside(map, true, i, "eg_tensors_text_key") ? map->texts.name[i] : NULL;
}
