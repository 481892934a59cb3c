/* write.c - sounds as the bytes of WAV and FLAC, through libsndfile. */
#include <egret/data/audio.h>
#include <egret/ops.h>
#include <math.h>

#include "data/readers/bytes.h"
#include "lib/io/file.h"

typedef struct job {
    const char *op;
    eg_audio_format format;
    int bits;
    int64_t rate, channels, n;
    const float *samples; /* of the channels in turn */
} job;

#ifdef EG_HAVE_SNDFILE
#include <sndfile.h>

#include "lib/core/library.h"

#define FUNCTIONS(X)   \
    X(sf_close)        \
    X(sf_command)      \
    X(sf_open_virtual) \
    X(sf_strerror)     \
    X(sf_writef_float) \
    X(sf_writef_int)
EG__LIBRARY(lib, FUNCTIONS, .title = "libsndfile", .files = {EG_SO_SNDFILE}, .package = "libsndfile1");

/* ---- a file in memory ------------------------------------------------------------------------- */

typedef struct paper {
    eg__bytes b;
    int64_t at;
    bool full; /* there was no memory */
} paper;

static sf_count_t tell_size(void *user)
{
    return ((paper *)user)->b.n;
}

static sf_count_t move(sf_count_t offset, int from, void *user)
{
    paper *p = user;
    int64_t to = (from == SEEK_SET ? 0 : from == SEEK_CUR ? p->at : p->b.n) + (int64_t)offset;
    if (to < 0 || to > p->b.n) {
        return -1;
    }
    return p->at = to;
}

static sf_count_t put(const void *from, sf_count_t n, void *user)
{
    paper *p = user;
    if (n < 1 || !eg__bytes_room(&p->b, eg__max(p->at + n - p->b.n, 0))) {
        p->full |= n > 0;
        return 0;
    }
    memcpy(p->b.p + p->at, from, (size_t)n);
    p->at += n;
    p->b.n = eg__max(p->b.n, p->at);
    return n;
}

static sf_count_t fetch(void *to, sf_count_t n, void *user)
{
    paper *p = user;
    n = eg__min(n, p->b.n - p->at);
    if (n > 0) {
        memcpy(to, p->b.p + p->at, (size_t)n);
        p->at += n;
    }
    return eg__max(n, 0);
}

static sf_count_t tell(void *user)
{
    return ((paper *)user)->at;
}

/* ---- samples ---------------------------------------------------------------------------------- */

enum { AT_ONCE = 4096 };

/* A sample as the upper bits of an int, so that what came from as many bits is the same again. */
static int as_int(float x, int bits)
{
    double most = ldexp(1, bits - 1), v = rint((double)x * most);
    v = isnan(v) ? 0 : fmin(fmax(v, -most), most - 1);
    return (int)v * (1 << (32 - bits));
}

static bool write_samples(SNDFILE *f, const job *j)
{
    int block[AT_ONCE];
    int64_t at_once = AT_ONCE / j->channels;
    for (int64_t i = 0; i < j->n; i += at_once) {
        int64_t n = eg__min(at_once, j->n - i);
        const float *from = j->samples + i * j->channels;
        if (j->bits == 32) {
            if (lib.sf_writef_float(f, from, n) != n) {
                return false;
            }
            continue;
        }
        for (int64_t k = 0; k < n * j->channels; k++) {
            block[k] = as_int(from[k], j->bits);
        }
        if (lib.sf_writef_int(f, block, n) != n) {
            return false;
        }
    }
    return true;
}

static eg_status encode(const job *j, eg__bytes *out)
{
    SF_VIRTUAL_IO io = {.get_filelen = tell_size, .seek = move, .read = fetch, .write = put, .tell = tell};
    int coding = j->bits == 16 ? SF_FORMAT_PCM_16 : j->bits == 24 ? SF_FORMAT_PCM_24 : SF_FORMAT_FLOAT;
    SF_INFO about = {.samplerate = (int)j->rate,
                     .channels = (int)j->channels,
                     .format = (j->format == EG_AUDIO_FLAC ? SF_FORMAT_FLAC : SF_FORMAT_WAV) | coding};
    paper p = {0};
    eg_status st = eg__library_open(&lib_library, j->op);
    if (st) {
        return st;
    }
    SNDFILE *f = lib.sf_open_virtual(&io, SFM_WRITE, &about, &p);
    if (f) {
        lib.sf_command(f, SFC_SET_ADD_PEAK_CHUNK, NULL, SF_FALSE); /* which has the time of day in it */
    }
    bool fine = f && write_samples(f, j);
    if (!fine) {
        st = eg__fail(EG_EINVAL, j->op, "libsndfile: %s", lib.sf_strerror(f));
    }
    if (f && lib.sf_close(f) && fine) {
        st = eg__fail(EG_EINVAL, j->op, "libsndfile cannot end the file");
    }
    if (p.full) {
        st = eg__no_memory(j->op, 2 * p.b.n);
    }
    *out = p.b;
    return st;
}

#else

static eg_status encode(const job *j, eg__bytes *out)
{
    (void)out;
    return eg__fail(EG_ENOKERNEL, j->op, "this build has no libsndfile");
}

#endif

/* ---- what may be written ---------------------------------------------------------------------- */

static bool ends_with(const char *path, const char *end)
{
    size_t n = strlen(path), m = strlen(end);
    return n >= m && !strcmp(path + n - m, end);
}

static eg_status choose(job *j, const eg_tensor *x, const char *path, const eg_audio_write_options *options)
{
    eg_audio_write_options o;
    eg__options(&o, sizeof o, options);
    j->format = o.format != EG_AUDIO_BY_NAME       ? o.format
                : path && ends_with(path, ".flac") ? EG_AUDIO_FLAC
                : !path || ends_with(path, ".wav") ? EG_AUDIO_WAV
                                                   : EG_AUDIO_BY_NAME;
    j->bits = o.bits ? o.bits : 16;
    if (j->format == EG_AUDIO_BY_NAME) {
        return eg__fail(EG_EINVAL, j->op, "\"%s\" ends neither in .wav nor in .flac, and no format is said", path);
    }
    bool fine = j->bits == 16 || j->bits == 24 || (j->bits == 32 && j->format == EG_AUDIO_WAV);
    if ((unsigned)j->format > EG_AUDIO_FLAC || !fine || j->rate < 1 || j->rate > 1 << 20) {
        return eg__fail(EG_EINVAL, j->op, "format %d of %d bits, %lld samples a second", (int)j->format, j->bits,
                        (long long)j->rate);
    }
    if (!eg__is_float(x->dtype)) {
        return eg__fail(EG_EDTYPE, j->op, "x is %s, must be floats", eg_dtype_name((eg_dtype)x->dtype));
    }
    j->channels = x->ndim == 2 ? x->shape[0] : 1;
    if (x->ndim < 1 || x->ndim > 2 || j->channels < 1 || j->channels > (j->format == EG_AUDIO_FLAC ? 8 : 1024)) {
        return eg__fail(EG_ESHAPE, j->op, "x is %s, must be [channels, samples] or [samples]", EG__SHAPE_OF(x));
    }
    j->n = x->shape[x->ndim - 1];
    if (j->format == EG_AUDIO_WAV && x->n > (UINT32_MAX - 256) / (j->bits / 8)) {
        return eg__fail(EG_ESHAPE, j->op, "x is %s: more than the 4 GiB of a WAV file", EG__SHAPE_OF(x));
    }
    return EG_OK;
}

/* The file's bytes; they are the caller's, also after a failure. */
static eg_status make(const char *op, eg_tensor *x, const char *path, int64_t rate,
                      const eg_audio_write_options *options, eg__bytes *out)
{
    job j = {.op = op, .rate = rate};
    eg_status st = eg__check(x, op, "x");
    st = st ? st : choose(&j, x, path, options);
    if (st) {
        return st;
    }
    eg_scope s = eg_scope_push();
    x = eg_to(eg_cast(eg_detach(x), EG_F32), eg_cpu());
    x = x && x->ndim == 2 ? eg_transpose(x, 0, 1) : x;
    x = eg_contiguous(x);
    j.samples = x ? (const float *)eg__ptr(x) : NULL;
    st = x ? encode(&j, out) : eg__why();
    eg_scope_pop(s, NULL);
    return st;
}

eg_tensor *eg_audio_encode_with(eg_tensor *x, int64_t rate, const eg_audio_write_options *options)
{
    eg__bytes b = {0};
    eg_tensor *t = make("eg_audio_encode", x, NULL, rate, options, &b) ? NULL : eg__bytes_tensor(b.p, b.n);
    eg__bytes_free(&b);
    return t;
}

eg_status eg_audio_save_with(eg_tensor *x, const char *path, int64_t rate, const eg_audio_write_options *options)
{
    eg__bytes b = {0};
    if (!path) {
        return eg__null_argument("eg_audio_save", "path");
    }
    eg_status st = make("eg_audio_save", x, path, rate, options, &b);
    st = st ? st : eg__file_write("eg_audio_save", path, b.p, (size_t)b.n);
    eg__bytes_free(&b);
    return st;
}
