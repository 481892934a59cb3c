/* safetensors_save.c - writing safetensors: wide elements first, so that all data are aligned. */
#include "lib/io/safetensors.h"

#include "lib/io/element.h"
#include "lib/io/lazy.h"

enum { LENGTH_BYTES = EG__SAFETENSORS_LENGTH, MOST_HEADER = EG__SAFETENSORS_HEADER };

/* In quotes; refused unless it is UTF-8. */
static eg_status put_string(const char *op, eg__buffer *t, const char *s)
{
    return eg__put_string(t, s) ? EG_OK : eg__fail(EG_EINVAL, op, "a name or text is not UTF-8: \"%.160s\"", s);
}

static eg_status put_texts(const char *op, eg__buffer *t, const eg_tensors *map)
{
    eg_status st = EG_OK;
    eg__put_word(t, "\"__metadata__\":{");
    for (int64_t i = 0; i < eg_tensors_text_count(map) && !st; i++) {
        const char *key = eg_tensors_text_key(map, i);
        eg__put_word(t, i ? "," : "");
        st = put_string(op, t, key);
        eg__put_word(t, ":");
        st = st ? st : put_string(op, t, eg_tensors_text(map, key));
    }
    eg__put_word(t, "}");
    return st;
}

static eg_status put_tensor(const char *op, eg__buffer *t, const char *name, const eg_tensor_about *x, int64_t *at)
{
    if (!strcmp(name, "__metadata__")) {
        return eg__fail(EG_EINVAL, op, "no tensor can be named __metadata__");
    }
    eg_status st = put_string(op, t, name);
    eg__put_word(t, ":{\"dtype\":\"");
    eg__put_word(t, eg__element_word((eg__element)x->dtype));
    eg__put_word(t, "\",\"shape\":[");
    for (int d = 0; d < x->shape.ndim; d++) {
        eg__put_word(t, d ? "," : "");
        eg__put_int(t, x->shape.dim[d]);
    }
    eg__put_word(t, "],\"data_offsets\":[");
    eg__put_int(t, *at);
    eg__put_word(t, ",");
    eg__put_int(t, *at += eg__about_bytes(x));
    eg__put_word(t, "]}");
    return st;
}

/* Calls for each tensor of the part, those with the widest elements first. */
#define EACH_BY_WIDTH(part, i, x)                                          \
    for (size_t width = 8; width && !st; width /= 2)                       \
        for (int64_t i = 0; i < eg_tensors_count((part)->map) && !st; i++) \
            if ((!(part)->shard || (part)->shard[i] == (part)->which) &&   \
                (x = eg_tensors_about((part)->map, i), eg_dtype_size(x.dtype) == width))

eg_status eg__safetensors_header(const char *op, const eg__part *part, eg__buffer *t)
{
    eg_status st = EG_OK;
    const char *comma = "";
    eg_tensor_about x;
    int64_t at = 0;
    eg__put(t, "\0\0\0\0\0\0\0", LENGTH_BYTES);
    eg__put_word(t, "{");
    if (eg_tensors_text_count(part->map)) {
        st = put_texts(op, t, part->map);
        comma = ",";
    }
    EACH_BY_WIDTH(part, i, x)
    {
        eg__put_word(t, comma);
        st = put_tensor(op, t, eg_tensors_name(part->map, i), &x, &at);
        comma = ",";
    }
    eg__put_word(t, "}");
    while (!t->full && t->n % 8) {
        eg__put_word(t, " ");
    }
    if (!st && (t->full || t->n > MOST_HEADER)) {
        st = t->full ? eg__no_memory(op, t->n)
                     : eg__fail(EG_EINVAL, op, "the header would have %u bytes, %d are possible", t->n, MOST_HEADER);
    }
    if (st) {
        return st;
    }
    for (int i = 0; i < LENGTH_BYTES; i++) {
        t->s[i] = (char)((uint64_t)(t->n - LENGTH_BYTES) >> 8 * i);
    }
    return EG_OK;
}

eg_status eg__safetensors_data(const eg__part *part, eg__target *file)
{
    eg_status st = EG_OK;
    eg_tensor_about x;
    EACH_BY_WIDTH(part, i, x)
    {
        st = eg__target_write_lazy(file, part->map, i);
    }
    return st;
}

eg_status eg__safetensors_write(const char *op, const eg__part *part, const char *path)
{
    eg__target file;
    eg__buffer t = {0};
    eg_status st = eg__safetensors_header(op, part, &t);
    st = st ? st : eg__target_open(&file, op, path);
    if (!st) {
        st = eg__target_write(&file, t.s, t.n);
        st = eg__target_close(&file, st ? st : eg__safetensors_data(part, &file));
    }
    eg__buffer_free(&t);
    return st;
}

eg_status eg_safetensors_save(const eg_tensors *map, const char *path)
{
    static const char op[] = "eg_safetensors_save";
    return !map || !path ? eg__null_argument(op, map ? "path" : "map")
                         : eg__safetensors_write(op, &(eg__part){.map = map}, path);
}
