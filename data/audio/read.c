/* read.c - sounds through libsndfile, WAV after a look at the chunks. */
#include <egret/ops.h>

#include "data/audio/sound.h"

enum { MOST_CHANNELS = 1024 };

/* ---- what kind of file it is ------------------------------------------------------------------ */

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
    eg_status st = EG_OK;
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
                return eg__source_bad(s, at + 10, "%u channels at %u samples a second", word(b + 2, 2), word(b + 4, 4));
            }
        }
        at += 8 + n + (n & 1);
    }
    return format && data ? EG_OK : eg__source_bad(s, s->size, "no %s chunk", format ? "data" : "format");
}

/* MP3 begins with a tag, or with eleven bits set and a layer. */
static bool may_be_mp3(const uint8_t *b)
{
    return !memcmp(b, "ID3", 3) || (b[0] == 0xff && (b[1] & 0xe0) == 0xe0 && (b[1] & 0x06));
}

static eg_status check_kind(const eg__source *s, bool *mp3)
{
    uint8_t b[12];
    eg_status st = eg__source_read(s, 0, b, sizeof b);
    *mp3 = false;
    if (st) {
        return st;
    }
    if (!memcmp(b, "RIFF", 4) && !memcmp(b + 8, "WAVE", 4)) {
        return check_chunks(s);
    }
    *mp3 = may_be_mp3(b);
    bool known = !memcmp(b, "fLaC", 4) || !memcmp(b, "OggS", 4) || *mp3;
    return known ? EG_OK : eg__source_bad(s, 0, "neither RIFF/WAVE nor FLAC, Ogg or MP3");
}

#ifdef EG_HAVE_SNDFILE
#include <sndfile.h>

#include "lib/core/library.h"

#define FUNCTIONS(X)   \
    X(sf_close)        \
    X(sf_error)        \
    X(sf_open_virtual) \
    X(sf_readf_float)  \
    X(sf_seek)         \
    X(sf_strerror)
EG__LIBRARY(lib, FUNCTIONS, .title = "libsndfile", .files = {EG_SO_SNDFILE}, .package = "libsndfile1");

enum { AT_ONCE = 4096 };

/* ---- libsndfile reads what we read ------------------------------------------------------------ */

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

/* ---- samples ---------------------------------------------------------------------------------- */

/* Up to `most` samples of each channel; the memory follows what really comes, not what a header says. */
static eg_status collect(const eg__source *s, SNDFILE *f, int64_t most, eg__sound *sound)
{
    int64_t size = sound->channels * (int64_t)sizeof(float), n = 0;
    eg__bytes *b = &sound->samples;
    do {
        int64_t wanted = eg__min(AT_ONCE, most - b->n / size);
        if (!eg__bytes_room(b, wanted * size)) {
            return eg__no_memory(s->op, wanted * size);
        }
        n = lib.sf_readf_float(f, (float *)(void *)(b->p + b->n), wanted);
        b->n += eg__max(n, 0) * size;
    } while (n == AT_ONCE && b->n < most * size);
    return lib.sf_error(f) ? eg__source_bad(s, 0, "libsndfile: %s", lib.sf_strerror(f)) : EG_OK;
}

/* WAV and FLAC say truly how many samples they have. */
static bool is_exact(int format)
{
    format &= SF_FORMAT_TYPEMASK;
    return format == SF_FORMAT_WAV || format == SF_FORMAT_WAVEX || format == SF_FORMAT_FLAC;
}

/* The densest codings of WAV take four bits for a sample; sndfile counts whole blocks. */
static eg_status check_about(const eg__source *s, const SF_INFO *about)
{
    bool dense = is_exact(about->format) && (about->format & SF_FORMAT_TYPEMASK) != SF_FORMAT_FLAC;
    bool bad = about->channels < 1 || about->channels > MOST_CHANNELS || about->samplerate < 1 || about->frames < 0;
    return !bad && !(dense && about->frames > 4 * s->size / about->channels + AT_ONCE)
               ? EG_OK
               : eg__source_bad(s, 0, "%lld samples of %d channels, %d a second, cannot be in %lld bytes",
                                (long long)about->frames, about->channels, about->samplerate, (long long)s->size);
}

static eg_status read_samples(const eg__source *s, SNDFILE *f, const SF_INFO *about, int64_t start, int64_t most,
                              int64_t limit, eg__sound *sound)
{
    eg_status st = check_about(s, about);
    if (st) {
        return st;
    }
    sound->channels = about->channels;
    sound->rate = about->samplerate;
    int64_t there = eg__max(about->frames - start, 0);
    most = is_exact(about->format) ? eg__min(most, there) : most;
    if (start && !there) {
        return EG_OK; /* it ends before */
    }
    if (start && lib.sf_seek(f, start, SEEK_SET) != start) {
        return eg__source_bad(s, 0, "libsndfile: %s", lib.sf_strerror(f));
    }
    int64_t wanted = eg__min(most, limit / sound->channels + 1);
    st = wanted ? collect(s, f, wanted, sound) : EG_OK;
    int64_t n = sound->samples.n / (sound->channels * (int64_t)sizeof(float));
    if (!st && is_exact(about->format) && n < wanted) {
        st = eg__source_bad(s, s->size, "the sound ends after %lld of %lld samples", (long long)(start + n),
                            (long long)about->frames);
    }
    return st;
}

static eg_status decode(const eg__source *s, int64_t start, int64_t most, int64_t limit, eg__sound *sound)
{
    SF_VIRTUAL_IO io = {.get_filelen = tell_size, .seek = move, .read = fetch, .tell = tell};
    SF_INFO about = {0};
    cursor c = {.source = s};
    eg_status st = eg__library_open(&lib_library, s->op);
    if (st) {
        return st;
    }
    SNDFILE *f = lib.sf_open_virtual(&io, SFM_READ, &about, &c);
    if (!f) {
        return eg__source_bad(s, c.at, "libsndfile: %s", lib.sf_strerror(NULL));
    }
    st = read_samples(s, f, &about, start, most, limit, sound);
    lib.sf_close(f);
    return st;
}

#else

static eg_status decode(const eg__source *s, int64_t start, int64_t most, int64_t limit, eg__sound *sound)
{
    (void)start, (void)most, (void)limit, (void)sound;
    return eg__fail(EG_ENOKERNEL, s->op, "this build has no libsndfile");
}

#endif

/* ---- public ----------------------------------------------------------------------------------- */

/* Samples that take turns as rows, a channel each. */
static eg_tensor *by_channel(const eg__sound *sound)
{
    int64_t channels = sound->channels, n = sound->samples.n / (channels * (int64_t)sizeof(float));
    const float *p = (const float *)(const void *)sound->samples.p;
    eg_tensor *t = eg__empty_on(0, EG_SHAPE(channels, n), EG_F32);
    float *to = t ? (float *)eg__ptr(t) : NULL;
    for (int64_t c = 0; to && c < channels; c++) {
        for (int64_t i = 0; i < n; i++) {
            to[c * n + i] = p[i * channels + c];
        }
    }
    return t;
}

static eg_tensor *read_sound(const eg__source *s, int64_t *rate, const eg_audio_options *o)
{
    eg__sound sound = {0};
    bool mp3;
    int64_t most = o->samples ? o->samples : INT64_MAX, limit = o->max_samples ? o->max_samples : INT64_C(1) << 28;
    eg_status st = check_kind(s, &mp3);
    st = st ? st : (mp3 ? eg__mp3_decode : decode)(s, o->start, most, limit, &sound);
    if (!st && sound.samples.n / (int64_t)sizeof(float) > limit) {
        st = eg__source_bad(s, 0, "more than %lld samples", (long long)limit);
    }
    eg_tensor *t = st ? NULL : by_channel(&sound);
    *rate = t ? sound.rate : *rate;
    eg__bytes_free(&sound.samples);
    return t;
}

static eg_status check(const char *op, const int64_t *rate, const eg_audio_options *given, eg_audio_options *o)
{
    eg__options(o, sizeof *o, given);
    if (!rate) {
        return eg__null_argument(op, "rate");
    }
    if (o->start < 0 || o->samples < 0 || o->max_samples < 0) {
        return eg__fail(EG_EINVAL, op, "start is %lld, samples %lld, max_samples %lld", (long long)o->start,
                        (long long)o->samples, (long long)o->max_samples);
    }
    return EG_OK;
}

eg_tensor *eg_audio_load_with(const char *path, int64_t *rate, const eg_audio_options *options)
{
    eg__source s;
    eg_audio_options o;
    if (check("eg_audio_load", rate, options, &o) || eg__source_open(&s, "eg_audio_load", path)) {
        return NULL;
    }
    eg_tensor *t = read_sound(&s, rate, &o);
    eg__source_close(&s);
    return t;
}

eg_tensor *eg_audio_parse_with(const void *data, size_t bytes, int64_t *rate, const eg_audio_options *options)
{
    eg__source s;
    eg_audio_options o;
    bool fine = !check("eg_audio_parse", rate, options, &o) && !eg__source_memory(&s, "eg_audio_parse", data, bytes);
    return fine ? read_sound(&s, rate, &o) : NULL;
}
