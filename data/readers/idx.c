/* idx.c - the idx format and the MNIST digits. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <sys/stat.h>

#include "data/chain/dataset.h"
#include "lib/core/counted.h"
#include "data/readers/stream.h"

static const char me[] = "eg_idx_read";

static eg_status read_exactly(eg__stream *s, void *p, int64_t n)
{
    int64_t at = s->offset, got;
    eg_status st = eg__stream_read(s, p, n, &got);
    if (!st && got < n) {
        st = eg__stream_bad(s, s->offset, "the file ends, %lld bytes from %lld were expected", (long long)n,
                            (long long)at);
    }
    return st;
}

/* ---- idx ------------------------------------------------------------------------------------ */

static const struct {
    uint8_t code, bytes, dtype;
} types[] = {{0x08, 1, EG_U8},  {0x09, 1, EG_I32}, {0x0b, 2, EG_I32},
             {0x0c, 4, EG_I32}, {0x0d, 4, EG_F32}, {0x0e, 8, EG_F64}};

static uint32_t big_endian(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Turns file bytes (at the end of the tensor's memory or apart) into elements. */
static void decode(const unsigned char *from, int code, int64_t n, void *to)
{
    for (int64_t i = 0; i < n; i++) {
        uint64_t wide;
        uint32_t word;
        switch (code) {
        case 0x09:
            ((int32_t *)to)[i] = (int8_t)from[i];
            break;
        case 0x0b:
            ((int32_t *)to)[i] = (int16_t)(from[2 * i] << 8 | from[2 * i + 1]);
            break;
        case 0x0c:
        case 0x0d:
            word = big_endian(from + 4 * i);
            memcpy((char *)to + 4 * i, &word, 4);
            break;
        case 0x0e:
            wide = (uint64_t)big_endian(from + 8 * i) << 32 | big_endian(from + 8 * i + 4);
            memcpy((char *)to + 8 * i, &wide, 8);
            break;
        default:
            ((uint8_t *)to)[i] = from[i];
        }
    }
}

static eg_status read_header(eg__stream *s, eg_shape *shape, int *type)
{
    unsigned char head[4 + 4 * EG_MAX_DIMS];
    eg_status st = read_exactly(s, head, 4);
    if (st) {
        return st;
    }
    for (*type = 0; *type < EG__COUNT(types) && types[*type].code != head[2]; ++*type) {
    }
    if (head[0] || head[1] || *type == EG__COUNT(types)) {
        return eg__stream_bad(s, 0, "the magic is %02x %02x %02x %02x, not that of an idx file", head[0], head[1],
                              head[2], head[3]);
    }
    if (head[3] > EG_MAX_DIMS) {
        return eg__stream_bad(s, 3, "rank %d is above %d", head[3], EG_MAX_DIMS);
    }
    shape->ndim = head[3];
    st = read_exactly(s, head + 4, 4 * shape->ndim);
    for (int d = 0; d < shape->ndim && !st; d++) {
        shape->dim[d] = big_endian(head + 4 + 4 * d);
    }
    return st;
}

/* Elements of several bytes are read apart and turned; bytes go where they belong. */
static eg_status read_elements(eg__stream *s, int type, eg_tensor *t, int64_t bytes)
{
    bool turned = types[type].code != 0x08;
    unsigned char extra, *raw = turned ? eg__counted_alloc((size_t)bytes + 1) : NULL;
    int64_t got;
    if (turned && !raw) {
        return eg__no_memory(me, bytes);
    }
    eg_status st = read_exactly(s, turned ? (void *)raw : eg__ptr(t), bytes);
    st = st ? st : eg__stream_read(s, &extra, 1, &got);
    if (!st && got) {
        st = eg__stream_bad(s, s->offset - 1, "the file goes on where its data end");
    }
    if (!st && turned) {
        decode(raw, types[type].code, t->n, eg__ptr(t));
    }
    eg__counted_free(raw);
    return st;
}

static eg_tensor *read_body(eg__stream *s, eg_shape shape, int type)
{
    int64_t n, bytes, size = s->source.size;
    if (eg__check_shape(me, shape.ndim, shape.dim, EG_F64, &n)) {
        return NULL;
    }
    bytes = n * types[type].bytes;
    if (s->unpacker ? bytes / 1100 > size : s->offset + bytes != size) {
        eg__stream_bad(s, 4, "the header announces %lld bytes after it, the file has %lld", (long long)bytes,
                       (long long)size);
        return NULL;
    }
    if (s->unpacker && eg__source_unpacks(&s->source, 4, "the data have", bytes)) {
        return NULL;
    }
    eg_tensor *t = eg__empty_on(0, shape, (eg_dtype)types[type].dtype);
    return t && !read_elements(s, type, t, bytes) ? t : NULL;
}

eg_tensor *eg_idx_read(const char *path)
{
    eg__stream s;
    eg_shape shape = EG_SCALAR;
    int type = 0;
    if (eg__stream_open(&s, me, path, EG_COMPRESSION_AUTO)) {
        return NULL;
    }
    eg_scope scope = eg_scope_push();
    eg_tensor *t = scope.depth && !read_header(&s, &shape, &type) ? read_body(&s, shape, type) : NULL;
    eg__stream_close(&s);
    return scope.depth ? eg_scope_pop(scope, t) : NULL;
}

/* ---- MNIST ---------------------------------------------------------------------------------- */

/* folder/name or folder/name.gz, whichever is there. */
static eg_tensor *read_part(const char *folder, const char *name)
{
    char path[4096];
    struct stat info;
    for (int gz = 0; gz < 2; gz++) {
        int n = snprintf(path, sizeof path, "%s/%s%s", folder, name, gz ? ".gz" : "");
        if (n < (int)sizeof path && !stat(path, &info)) {
            return eg_idx_read(path);
        }
    }
    return eg__fail_null(EG_EIO, "eg_mnist_new", "%s has neither %s nor %s.gz", folder, name, name);
}

static eg_status scale(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)n, (void)user;
    out[0] = eg_unsqueeze(eg_mul_scalar(eg_cast(in[0], EG_F32), 1.0 / 255), 0);
    out[1] = eg_cast(in[1], EG_I64);
    *m = 2;
    return out[0] && out[1] ? EG_OK : eg__why();
}

eg_dataset *eg_mnist_new(const char *folder, eg_split_name split)
{
    static const char name[] = "eg_mnist_new";
    if (!folder) {
        return eg__null_argument(name, "folder"), NULL;
    }
    bool test = split == EG_TEST;
    eg_scope s = eg_scope_push();
    eg_tensor *t[2] = {read_part(folder, test ? "t10k-images-idx3-ubyte" : "train-images-idx3-ubyte"), NULL};
    t[1] = t[0] ? read_part(folder, test ? "t10k-labels-idx1-ubyte" : "train-labels-idx1-ubyte") : NULL;
    eg_dataset *d = NULL;
    if (t[1] && (eg_ndim(t[0]) != 3 || eg_ndim(t[1]) != 1 || t[0]->dtype != EG_U8 || t[1]->dtype != EG_U8 ||
                 eg_size(t[0], 0) != eg_size(t[1], 0))) {
        eg__fail(EG_EFORMAT, name, "images %s and labels %s of %s do not go together", EG__SHAPE_OF(t[0]),
                 EG__SHAPE_OF(t[1]), folder);
    } else if (t[1]) {
        d = eg_dataset_from_tensors(t, 2);
        d = d ? eg_dataset_map(d, scale, NULL) : NULL;
    }
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return d;
}
