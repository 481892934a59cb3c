/* idx.c - the idx format and the MNIST digits. */
#define _POSIX_C_SOURCE 200809L
#include "data/dataset.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#ifdef EG_HAVE_ZLIB
#include <zlib.h>
#endif

static const char me[] = "eg_idx_read";

/* ---- a plain or compressed file, read from front to back ------------------------------------------- */

typedef struct reader {
    const char *path;
    FILE *plain;
#ifdef EG_HAVE_ZLIB
    gzFile zipped;
#endif
    int64_t offset, size;
    bool compressed;
} reader;

static eg_status open_file(reader *r, const char *path)
{
    struct stat info;
    unsigned char magic[2] = {0, 0};
    *r = (reader){.path = path};
    if (stat(path, &info)) {
        return eg__fail(EG_EIO, me, "%s: %s", path, strerror(errno));
    }
    if (!S_ISREG(info.st_mode)) {
        return eg__fail(EG_EIO, me, "%s is not a regular file", path);
    }
    r->size = (int64_t)info.st_size;
    r->plain = fopen(path, "rb");
    if (!r->plain) {
        return eg__fail(EG_EIO, me, "%s: %s", path, strerror(errno));
    }
    r->compressed = fread(magic, 1, 2, r->plain) == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
    rewind(r->plain);
    if (!r->compressed) {
        return EG_OK;
    }
    fclose(r->plain);
    r->plain = NULL;
#ifdef EG_HAVE_ZLIB
    r->zipped = gzopen(path, "rb");
    return r->zipped ? EG_OK : eg__fail(EG_EIO, me, "%s cannot be opened", path);
#else
    return eg__fail(EG_EFORMAT, me, "%s is gzip, which this build cannot read (no zlib)", path);
#endif
}

static void close_file(reader *r)
{
    if (r->plain) {
        fclose(r->plain);
    }
#ifdef EG_HAVE_ZLIB
    if (r->zipped) {
        gzclose(r->zipped);
    }
#endif
}

/* Up to n bytes; how many there were. */
static int64_t read_some(reader *r, void *p, int64_t n)
{
    int64_t done = 0;
    while (done < n) {
        int64_t want = eg__min(n - done, 1 << 30), got = -1;
        if (r->plain) {
            got = (int64_t)fread((char *)p + done, 1, (size_t)want, r->plain);
        }
#ifdef EG_HAVE_ZLIB
        if (r->zipped) {
            got = gzread(r->zipped, (char *)p + done, (unsigned)want);
        }
#endif
        if (got <= 0) {
            break;
        }
        done += got;
    }
    r->offset += done;
    return done;
}

static eg_status read_exactly(reader *r, void *p, int64_t n)
{
    int64_t at = r->offset;
    if (read_some(r, p, n) == n) {
        return EG_OK;
    }
    return eg__fail(EG_EFORMAT, me, "%s ends at offset %lld, %lld bytes from %lld were expected",
                    r->path, (long long)r->offset, (long long)n, (long long)at);
}

/* ---- idx ----------------------------------------------------------------------------------------------- */

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

static eg_status read_header(reader *r, eg_shape *shape, int *type)
{
    unsigned char head[4 + 4 * EG_MAX_DIMS];
    if (read_exactly(r, head, 4)) {
        return eg__why();
    }
    for (*type = 0; *type < EG__COUNT(types) && types[*type].code != head[2]; ++*type) {
    }
    if (head[0] || head[1] || *type == EG__COUNT(types)) {
        return eg__fail(EG_EFORMAT, me, "%s: the magic at offset 0 is %02x %02x %02x %02x, not that of "
                        "an idx file", r->path, head[0], head[1], head[2], head[3]);
    }
    if (head[3] > EG_MAX_DIMS) {
        return eg__fail(EG_EFORMAT, me, "%s: rank %d at offset 3 is above %d", r->path, head[3],
                        EG_MAX_DIMS);
    }
    shape->ndim = head[3];
    if (read_exactly(r, head + 4, 4 * shape->ndim)) {
        return eg__why();
    }
    for (int d = 0; d < shape->ndim; d++) {
        shape->dim[d] = big_endian(head + 4 + 4 * d);
    }
    return EG_OK;
}

static eg_tensor *read_body(reader *r, eg_shape shape, int type)
{
    int64_t n, bytes;
    if (eg__check_shape(me, shape.ndim, shape.dim, EG_F64, &n)) {
        return NULL;
    }
    bytes = n * types[type].bytes;
    if (r->compressed ? bytes / 1100 > r->size : r->offset + bytes != r->size) {
        return eg__fail_null(EG_EFORMAT, me, "%s has %lld bytes, its header at offset 4 announces %lld "
                             "after it", r->path, (long long)r->size, (long long)bytes);
    }
    eg_tensor *t = eg_empty(shape, (eg_dtype)types[type].dtype);
    unsigned char extra, *raw = t && types[type].code != 0x08 ? eg__malloc((size_t)bytes) : NULL;
    if (t && types[type].code != 0x08 && !raw) {
        return eg__no_memory(me, bytes), NULL;
    }
    if (t && read_exactly(r, raw ? (void *)raw : eg__ptr(t), bytes)) {
        t = NULL;
    }
    if (t && read_some(r, &extra, 1)) {
        t = eg__fail_null(EG_EFORMAT, me, "%s goes on after offset %lld, where its data end", r->path,
                          (long long)(r->offset - 1));
    }
    if (t && raw) {
        decode(raw, types[type].code, n, eg__ptr(t));
    }
    free(raw);
    return t;
}

eg_tensor *eg_idx_read(const char *path)
{
    reader r;
    eg_shape shape = EG_SCALAR;
    int type = 0;
    if (!path) {
        return eg__null_argument(me, "path"), NULL;
    }
    eg_scope s = eg_scope_push();
    eg_status st = open_file(&r, path);
    st = st ? st : read_header(&r, &shape, &type);
    eg_tensor *t = st ? NULL : read_body(&r, shape, type);
    close_file(&r);
    return s.depth ? eg_scope_pop(s, t) : NULL;
}

/* ---- MNIST ---------------------------------------------------------------------------------------------- */

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
    eg_tensor *t[2] = {read_part(folder, test ? "t10k-images-idx3-ubyte" : "train-images-idx3-ubyte"),
                       NULL};
    t[1] = t[0] ? read_part(folder, test ? "t10k-labels-idx1-ubyte" : "train-labels-idx1-ubyte") : NULL;
    eg_dataset *d = NULL;
    if (t[1] && (eg_ndim(t[0]) != 3 || eg_ndim(t[1]) != 1 || t[0]->dtype != EG_U8 ||
                 t[1]->dtype != EG_U8 || eg_size(t[0], 0) != eg_size(t[1], 0))) {
        eg__fail(EG_EFORMAT, name, "images %s and labels %s of %s do not go together",
                 EG__SHAPE_OF(t[0]), EG__SHAPE_OF(t[1]), folder);
    } else if (t[1]) {
        d = eg_dataset_from_tensors(t, 2);
        d = d ? eg_dataset_map(d, scale, NULL) : NULL;
    }
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return d;
}
