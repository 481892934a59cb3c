/* restore_ranks.c - a checkpoint that rank 0 finds and sends to the others, who put it beside theirs for as long as it
 * is read. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <sys/stat.h>

#include "lib/io/checked.h"
#include "lib/io/file.h"
#include "run/record/folder.h"
#include "run/record/saver.h"

/* The latest checkpoint, or if those that are damaged are passed over the latest of the others; NULL: there is none. */
static eg_status find(const eg_saver *s, const char *op, bool fall_back, char **path)
{
    int64_t *steps, count;
    const eg_error was = *eg_last_error();
    eg_status st = eg__folder_steps(op, s->folder, &steps, &count);
    for (int64_t i = count; i-- > 0 && !st && !*path;) {
        *path = eg__folder_checkpoint(op, s->folder, steps[i]);
        st = *path ? EG_OK : eg__why();
        if (!st && fall_back && i) {
            eg_tensors *file = eg__checked_load(op, *path);
            if (!file && (eg__why() == EG_EFORMAT || eg__why() == EG_EIO)) {
                free(*path);
                *path = NULL;
                eg__thread_get()->error = was;
            }
            eg_tensors_free(file);
        }
    }
    free(steps);
    return st;
}

/* What rank 0 has read comes to all; NULL: there is none. */
static eg_status send_to_all(const eg_saver *s, eg_tensor **bytes)
{
    eg_comm *comm = s->options.comm;
    eg_tensor *n = eg__from_on(0, EG_SHAPE(1), EG_I64, &(int64_t){*bytes ? (*bytes)->n : -1});
    eg_status st = eg_comm_agree(comm, n ? EG_OK : eg__why());
    st = st ? st : eg_comm_broadcast(comm, &n, 1, 0);
    const int64_t size = st ? -1 : *(const int64_t *)eg__ptr(n);
    if (st || size < 0) {
        return st;
    }
    if (!*bytes) {
        *bytes = eg__empty_on(0, EG_SHAPE(size), EG_U8);
    }
    st = eg_comm_agree(comm, *bytes ? EG_OK : eg__why());
    return st ? st : eg_comm_broadcast(comm, bytes, 1, 0);
}

/* The path of this rank's copy, for free. */
static char *copy_path(const eg_saver *s, const char *op)
{
    char name[64];
    snprintf(name, sizeof name, "received-%d.safetensors", eg_comm_rank(s->options.comm));
    return eg__folder_path(op, s->folder, name);
}

static char *put_down(const eg_saver *s, const char *op, const eg_tensor *bytes)
{
    char *path = copy_path(s, op);
    eg_status st = path ? eg__folder_make(op, s->folder) : eg__why();
    st = st ? st : eg__file_write(op, path, eg__ptr(bytes), (size_t)bytes->n);
    if (st) {
        free(path);
        return NULL;
    }
    return path;
}

static eg_status restore(eg_saver *s, const char *op, char *path, int64_t *step, const eg_restore_options *o)
{
    const bool first = eg__saver_writes(s);
    eg_tensor *bytes = NULL;
    bool damaged;
    if (!first) {
        free(path);
        path = NULL;
    }
    eg_status st = first && !path ? find(s, op, o->fall_back, &path) : EG_OK;
    if (!st && path) {
        bytes = eg__file_bytes(op, path);
        st = bytes ? EG_OK : eg__why();
    }
    st = eg__saver_agree(s, st);
    st = st ? st : send_to_all(s, &bytes);
    if (!st && bytes) {
        path = first ? path : put_down(s, op, bytes);
        st = eg__saver_agree(s, path ? EG_OK : eg__why());
    }
    if (!st && path) {
        st = eg__saver_agree(s, eg__restore_file(s, op, path, step, o, &damaged));
        path = first ? NULL : copy_path(s, op);
        if (path) {
            remove(path);
        }
    }
    free(path);
    return st;
}

eg_status eg__restore_from_first(eg_saver *s, const char *op, char *path, int64_t *step, const eg_restore_options *o)
{
    eg_scope scope = eg_scope_push();
    if (!scope.depth) {
        free(path);
        return eg__why();
    }
    eg_status st = restore(s, op, path, step, o);
    eg_scope_pop(scope, NULL);
    return st;
}
