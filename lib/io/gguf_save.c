/* gguf_save.c - writing GGUF of version 3: all texts as strings, each tensor as the type that has its values. */

#include <egret/ops.h>

#include "lib/io/gguf.h"
#include "lib/io/lazy.h"

enum { MOST_AXES = 4, STRING = 8 };

static const char ARCHITECTURE[] = "general.architecture";

/* What elements become that have no type there. */
static eg__element stored_as(eg_dtype dtype)
{
    return dtype == EG_U8 ? EG__I32 : dtype == EG_BOOL ? EG__I8 : (eg__element)dtype;
}

static int64_t stored_bytes(const eg_tensor_about *x)
{
    return eg__about_bytes(x) * (x->dtype == EG_U8 ? (int64_t)sizeof(int32_t) : 1);
}

static int64_t padding(int64_t at)
{
    return -at & (EG__GGUF_ALIGNMENT - 1);
}

/* ---- the header --------------------------------------------------------------------------------- */

static void put_number(eg__buffer *b, int bytes, uint64_t v)
{
    for (int i = 0; i < bytes; i++) {
        eg__put(b, &(char){(char)(v >> 8 * i)}, 1);
    }
}

/* Refused unless it is UTF-8 of at most so many bytes. */
static eg_status put_string(const char *op, eg__buffer *b, const char *s, int64_t most)
{
    const int64_t n = (int64_t)strlen(s);
    put_number(b, 8, (uint64_t)n);
    eg__put(b, s, (size_t)n);
    return n <= most && eg__utf8(s, n)
               ? EG_OK
               : eg__fail(EG_EINVAL, op, "a name or text is not UTF-8 of at most %lld bytes: \"%.120s\"",
                          (long long)most, s);
}

static eg_status put_text(const char *op, eg__buffer *b, const char *key, const char *text)
{
    eg_status st = *key ? put_string(op, b, key, EG__GGUF_NAME) : eg__fail(EG_EINVAL, op, "a key is empty");
    put_number(b, 4, STRING);
    return st ? st : put_string(op, b, text, INT64_MAX);
}

/* The alignment is this file's own. */
static eg_status put_texts(const char *op, eg__buffer *b, const eg_tensors *map)
{
    const bool named = eg_tensors_text(map, ARCHITECTURE), aligned = eg_tensors_text(map, EG__GGUF_ALIGNS);
    put_number(b, 8, (uint64_t)(eg_tensors_text_count(map) + !named - aligned));
    eg_status st = named ? EG_OK : put_text(op, b, ARCHITECTURE, "egret");
    for (int64_t i = 0; i < eg_tensors_text_count(map) && !st; i++) {
        const char *key = eg_tensors_text_key(map, i);
        st = strcmp(key, EG__GGUF_ALIGNS) ? put_text(op, b, key, eg_tensors_text(map, key)) : EG_OK;
    }
    return st;
}

static eg_status put_tensor(const char *op, eg__buffer *b, const char *name, const eg_tensor_about *x, int64_t *at)
{
    if (x->shape.ndim > MOST_AXES) {
        return eg__fail(EG_ESHAPE, op, "\"%.80s\" has %d axes, the format has at most %d", name, x->shape.ndim,
                        MOST_AXES);
    }
    eg_status st = put_string(op, b, name, EG__GGUF_NAME);
    put_number(b, 4, (uint64_t)x->shape.ndim);
    for (int d = x->shape.ndim; d-- > 0;) {
        put_number(b, 8, (uint64_t)x->shape.dim[d]);
    }
    put_number(b, 4, eg__gguf_number(stored_as(x->dtype)));
    put_number(b, 8, (uint64_t)*at);
    *at += stored_bytes(x);
    *at += padding(*at);
    return st;
}

static eg_status put_header(const char *op, eg__buffer *b, const eg_tensors *map)
{
    int64_t at = 0;
    eg__put_word(b, "GGUF");
    put_number(b, 4, 3);
    put_number(b, 8, (uint64_t)eg_tensors_count(map));
    eg_status st = put_texts(op, b, map);
    for (int64_t i = 0; i < eg_tensors_count(map) && !st; i++) {
        const eg_tensor_about x = eg_tensors_about(map, i);
        st = put_tensor(op, b, eg_tensors_name(map, i), &x, &at);
    }
    for (int64_t i = padding(b->n); i-- > 0;) {
        put_number(b, 1, 0);
    }
    return st ? st : b->full ? eg__no_memory(op, b->n) : EG_OK;
}

/* ---- the file ----------------------------------------------------------------------------------- */

/* Bytes, as wider integers. */
static eg_status write_bytes(eg__target *file, const eg_tensors *map, int64_t i)
{
    eg_scope s = eg_scope_push();
    eg_tensor *t = s.depth ? eg__lazy_read(map, i) : NULL;
    t = t ? eg_cast(t, EG_I32) : NULL;
    eg_status st = t ? eg__target_write_tensor(file, t) : eg__why();
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return st;
}

static eg_status write_tensors(eg__target *file, const eg_tensors *map)
{
    static const char zeros[EG__GGUF_ALIGNMENT];
    eg_status st = EG_OK;
    for (int64_t i = 0; i < eg_tensors_count(map) && !st; i++) {
        const eg_tensor_about x = eg_tensors_about(map, i);
        st = x.dtype == EG_U8 ? write_bytes(file, map, i) : eg__target_write_lazy(file, map, i);
        st = st ? st : eg__target_write(file, zeros, (size_t)padding(stored_bytes(&x)));
    }
    return st;
}

eg_status eg__gguf_save(const char *op, const eg_tensors *map, const char *path, const eg_save_options *o)
{
    (void)o;
    eg__target file;
    eg__buffer b = {0};
    eg_status st = put_header(op, &b, map);
    st = st ? st : eg__target_open(&file, op, path);
    if (!st) {
        st = eg__target_write(&file, b.s, b.n);
        st = eg__target_close(&file, st ? st : write_tensors(&file, map));
    }
    eg__buffer_free(&b);
    return st;
}
