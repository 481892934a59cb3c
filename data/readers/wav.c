/* wav.c - sounds through libsndfile, after a look at the chunks. */
#include <egret/data/readers.h>
#include <egret/ops.h>

#include "lib/io/file.h"

#ifdef EG_HAVE_SNDFILE
#include <sndfile.h>

#include "lib/core/library.h"

#define FUNCTIONS(X)   \
    X(sf_close)        \
    X(sf_open_virtual) \
    X(sf_readf_float)  \
    X(sf_strerror)
EG__LIBRARY(lib, FUNCTIONS, .title = "libsndfile", .files = {EG_SO_SNDFILE}, .package = "libsndfile1");

enum { FRAMES = 4096, MOST_CHANNELS = 1024 };

/* ---- chunks --------------------------------------------------------------------------------- */

static uint32_t word(const uint8_t *p, int bytes)
{
    uint32_t v = 0;
    while (bytes--) {
        v = v << 8 | p[bytes];
    }
    return v;
}

/* libsndfile makes do with chunks that leave the file; we do not. */
static eg_status check_chunks(const eg__source *s)
{
    uint8_t b[16];
    bool format = false, data = false;
    eg_status st = eg__source_read(s, 0, b, 12);
    if (st) {
        return st;
    }
    if (memcmp(b, "RIFF", 4) || memcmp(b + 8, "WAVE", 4)) {
        return eg__source_bad(s, 0, "does not begin with RIFF and WAVE");
    }
    for (int64_t at = 12; at < s->size && !data;) {
        if ((st = eg__source_read(s, at, b, 8))) {
            return st;
        }
        int64_t n = word(b + 4, 4);
        if (n > s->size - at - 8) {
            return eg__source_bad(s, at + 4, "a chunk of %lld bytes leaves the file", (long long)n);
        }
        data = !memcmp(b, "data", 4);
        if (!memcmp(b, "fmt ", 4)) {
            if (n < 16 || (st = eg__source_read(s, at + 8, b, 16))) {
                return st ? st : eg__source_bad(s, at + 4, "a format of %lld bytes", (long long)n);
            }
            format = true;
            if (!word(b + 2, 2) || word(b + 2, 2) > MOST_CHANNELS || !word(b + 4, 4)) {
                return eg__source_bad(s, at + 10, "%u channels at %u frames a second", word(b + 2, 2), word(b + 4, 4));
            }
        }
        at += 8 + n + (n & 1);
    }
    return format && data ? EG_OK : eg__source_bad(s, s->size, "no %s chunk", format ? "data" : "format");
}

/* ---- libsndfile reads what we read ---------------------------------------------------------- */

typedef struct cursor {
    const eg__source *source;
    int64_t at;
} cursor;

static sf_count_t tell_size(void *user)
{
    return ((cursor *)user)->source->size;
}

static sf_count_t move(sf_count_t offset, int from, void *user)
{
    cursor *c = user;
    int64_t base = from == SEEK_SET ? 0 : from == SEEK_CUR ? c->at : c->source->size, to;
    if (__builtin_add_overflow(base, (int64_t)offset, &to) || to < 0 || to > c->source->size) {
        return -1;
    }
    return c->at = to;
}

static sf_count_t fetch(void *to, sf_count_t n, void *user)
{
    cursor *c = user;
    n = eg__min(n, c->source->size - c->at);
    if (n < 1 || eg__source_read(c->source, c->at, to, n)) {
        return 0;
    }
    c->at += n;
    return n;
}

static sf_count_t tell(void *user)
{
    return ((cursor *)user)->at;
}

static eg_tensor *read_frames(const eg__source *s, SNDFILE *f, const SF_INFO *about)
{
    int64_t channels = about->channels, frames = about->frames;
    /* The densest codings take four bits for a sample; sndfile counts whole blocks. */
    if (channels < 1 || channels > MOST_CHANNELS || frames < 0 || frames > 4 * s->size / channels + FRAMES) {
        eg__source_bad(s, 0, "%lld frames of %lld channels cannot be in %lld bytes", (long long)frames,
                       (long long)channels, (long long)s->size);
        return NULL;
    }
    eg_tensor *t = eg__empty_on(0, EG_SHAPE(frames, channels), EG_F32);
    for (int64_t done = 0; t && done < frames;) {
        float *to = (float *)eg__ptr(t) + done * channels;
        int64_t n = lib.sf_readf_float(f, to, eg__min(FRAMES, frames - done));
        if (n < 1) {
            eg__source_bad(s, s->size, "the sound ends after %lld of %lld frames", (long long)done, (long long)frames);
            return NULL;
        }
        done += n;
    }
    return eg_contiguous(eg_transpose(t, 0, 1));
}

static eg_tensor *read_sound(const eg__source *s, int64_t *rate)
{
    SF_VIRTUAL_IO io = {.get_filelen = tell_size, .seek = move, .read = fetch, .tell = tell};
    SF_INFO about = {0};
    cursor c = {.source = s};
    if (!rate) {
        return eg__null_argument(s->op, "rate"), NULL;
    }
    if (check_chunks(s) || eg__library_open(&lib_library, s->op)) {
        return NULL;
    }
    SNDFILE *f = lib.sf_open_virtual(&io, SFM_READ, &about, &c);
    if (!f) {
        eg__source_bad(s, c.at, "libsndfile: %s", lib.sf_strerror(NULL));
        return NULL;
    }
    eg_scope scope = eg_scope_push();
    eg_tensor *t = scope.depth ? read_frames(s, f, &about) : NULL;
    lib.sf_close(f);
    *rate = t ? about.samplerate : *rate;
    return scope.depth ? eg_scope_pop(scope, t) : NULL;
}

#else

static eg_tensor *read_sound(const eg__source *s, int64_t *rate)
{
    (void)rate;
    return eg__fail_null(EG_ENOKERNEL, s->op, "this build has no libsndfile");
}

#endif

eg_tensor *eg_wav_load(const char *path, int64_t *rate)
{
    eg__source s;
    if (eg__source_open(&s, "eg_wav_load", path)) {
        return NULL;
    }
    eg_tensor *t = read_sound(&s, rate);
    eg__source_close(&s);
    return t;
}

eg_tensor *eg_wav_parse(const void *data, size_t bytes, int64_t *rate)
{
    eg__source s;
    return eg__source_memory(&s, "eg_wav_parse", data, bytes) ? NULL : read_sound(&s, rate);
}
