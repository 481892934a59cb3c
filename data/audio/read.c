/* read.c - sounds through libsndfile, WAV after a look at the chunks. */
#include <egret/ops.h>
#include <stdlib.h>

#include "data/audio/sound.h"

enum { MOST_CHANNELS = 1024 };

/* ---- what kind of file it is ------------------------------------------------------------------ */

static uint64_t word(const uint8_t *p, int bytes)
{
    uint64_t v = 0;
    while (bytes--) {
        v = v << 8 | p[bytes];
    }
    return v;
}

/* Chunk layout of a kind of WAV file: RIFF and RF64 with names and sizes of 4 bytes, Sony's Wave64 with names of 16
 * bytes, whose first 4 are those of RIFF, and sizes of 8 bytes that count the chunk's header. */
typedef struct layout {
    const char *name, *form; /* the file begins with, and the form that follows its size */
    int id, size;            /* bytes of a name and of a size */
    bool counts_header;
    int64_t unit; /* chunks begin at multiples of it */
} layout;

static const layout layouts[] = {
    {"RIFF", "WAVE", 4, 4, false, 2}, {"RF64", "WAVE", 4, 4, false, 2}, {"riff", "wave", 16, 8, true, 8}};

/* Sizes that writers to pipes leave, who cannot know: all ones, less a header, or about 2^31. */
static bool is_unknown(uint64_t size)
{
    return (size >= 0xffffff00u && size <= 0xffffffffu) || (size >= 0x7ffff000u && size <= 0x80000000u);
}

static eg_status check_format(const eg__source *s, int64_t at, int64_t n)
{
    uint8_t b[16];
    eg_status st =
        n < 16 ? eg__source_bad(s, at, "a format of %lld bytes", (long long)n) : eg__source_read(s, at, b, sizeof b);
    uint64_t channels = st ? 0 : word(b + 2, 2), rate = st ? 0 : word(b + 4, 4);
    return st || (channels && channels <= MOST_CHANNELS && rate)
               ? st
               : eg__source_bad(s, at + 2, "%llu channels at %llu samples a second", (unsigned long long)channels,
                                (unsigned long long)rate);
}

/* Returns whether a data size of 0 means that the data extend to the end of the file: no chunk follows. */
static bool is_open_end(const uint8_t *riff_size, int64_t start)
{
    uint64_t riff = word(riff_size, 4);
    return !riff || is_unknown(riff) || (int64_t)riff + 8 <= start;
}

/* libsndfile makes do with chunks that leave the file; we do not, but for sound whose size its writer did not know.
 * *empty is the place of a size 0 that stands for all that follows. */
static eg_status check_chunks(const eg__source *s, const layout *l, int64_t *empty)
{
    uint8_t b[24], whole[4];
    const int64_t header = l->id + l->size;
    int64_t of_data = -1; /* as RF64 says in a chunk before */
    bool format = false, data = false;
    eg_status st = eg__source_read(s, 4, whole, sizeof whole);
    for (int64_t at = header + l->id; !st && at < s->size && !data;) {
        if ((st = eg__source_read(s, at, b, header))) {
            return st;
        }
        int64_t start = at + header,
                n = (int64_t)(word(b + l->id, l->size) - (uint64_t)(l->counts_header ? header : 0));
        data = !memcmp(b, "data", 4);
        n = data && of_data >= 0 && n == UINT32_MAX ? of_data : n;
        if (n < 0 || n > s->size - start) {
            return data && of_data < 0 && is_unknown((uint64_t)n)
                       ? EG_OK
                       : eg__source_bad(s, at + l->id, "a chunk of %lld bytes leaves the file", (long long)n);
        }
        if (data && !n && l->size == 4 && is_open_end(whole, start)) {
            *empty = at + l->id;
        } else if (!memcmp(b, "ds64", 4) && n >= 16) {
            st = eg__source_read(s, start + 8, b, 8);
            of_data = (int64_t)(word(b, 8) & INT64_MAX);
        } else if (!memcmp(b, "fmt ", 4)) {
            st = check_format(s, start, n);
            format = true;
        }
        at = start + n + (l->unit - n % l->unit) % l->unit;
    }
    return st || (format && data) ? st : eg__source_bad(s, s->size, "no %s chunk", format ? "data" : "format");
}

/* MP3 begins with a tag, or with eleven bits set and a layer. */
static bool may_be_mp3(const uint8_t *b)
{
    return !memcmp(b, "ID3", 3) || (b[0] == 0xff && (b[1] & 0xe0) == 0xe0 && (b[1] & 0x06));
}

static eg_status check_kind(const eg__source *s, bool *mp3, int64_t *empty)
{
    uint8_t b[28] = {0};
    eg_status st = eg__source_read(s, 0, b, eg__max(eg__min(s->size, (int64_t)sizeof b), 12));
    *mp3 = false;
    if (st) {
        return st;
    }
    for (int i = 0; i < EG__COUNT(layouts); i++) {
        const layout *l = &layouts[i];
        if (!memcmp(b, l->name, 4) && !memcmp(b + l->id + l->size, l->form, 4)) {
            return check_chunks(s, l, empty);
        }
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
    int64_t at, empty; /* empty: as check_chunks found it, or 0 */
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
    for (int64_t i = 0; c->empty && i < 4; i++) { /* the size that was meant */
        int64_t place = c->empty + i - c->at;
        if (place >= 0 && place < n) {
            ((uint8_t *)to)[place] = (uint8_t)(eg__min(c->source->size - c->empty - 4, UINT32_MAX) >> (8 * i));
        }
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

/* The number of samples that WAV files and FLAC state is true; a FLAC encoder that writes to a pipe states none. */
static bool is_wave(int format)
{
    format &= SF_FORMAT_TYPEMASK;
    return format == SF_FORMAT_WAV || format == SF_FORMAT_WAVEX || format == SF_FORMAT_RF64 || format == SF_FORMAT_W64;
}

static bool is_exact(const SF_INFO *about)
{
    bool flac = (about->format & SF_FORMAT_TYPEMASK) == SF_FORMAT_FLAC;
    return is_wave(about->format) || (flac && about->frames < SF_COUNT_MAX);
}

/* The densest coding of WAV is GSM 6.10, 320 samples in 65 bytes; sndfile counts whole blocks. */
static eg_status check_about(const eg__source *s, const SF_INFO *about)
{
    bool bad = about->channels < 1 || about->channels > MOST_CHANNELS || about->samplerate < 1 || about->frames < 0;
    return !bad && !(is_wave(about->format) && about->frames > 5 * s->size / about->channels + AT_ONCE)
               ? EG_OK
               : eg__source_bad(s, 0, "%lld samples of %d channels, %d a second, cannot be in %lld bytes",
                                (long long)about->frames, about->channels, about->samplerate, (long long)s->size);
}

/* Passes over `start` samples of each channel; *ended: there are no more. libsndfile finds the exact place where a
 * sample has a place in the file; Vorbis, Opus and codings of blocks are decoded up to it. */
static eg_status pass_over(const eg__source *s, SNDFILE *f, const SF_INFO *about, int64_t start, bool *ended)
{
    const int coding = about->format & SF_FORMAT_SUBMASK;
    const bool seeks =
        is_exact(about) && ((about->format & SF_FORMAT_TYPEMASK) == SF_FORMAT_FLAC || coding <= SF_FORMAT_DOUBLE ||
                            coding == SF_FORMAT_ULAW || coding == SF_FORMAT_ALAW);
    if (seeks) {
        return lib.sf_seek(f, start, SEEK_SET) == start ? EG_OK
                                                        : eg__source_bad(s, 0, "libsndfile: %s", lib.sf_strerror(f));
    }
    int64_t at_once = AT_ONCE / about->channels + 1;
    float *scrap = start ? eg__malloc((size_t)(at_once * about->channels) * sizeof(float)) : NULL;
    if (start && !scrap) {
        return eg__no_memory(s->op, at_once * about->channels * (int64_t)sizeof(float));
    }
    for (int64_t n = 1; start > 0 && n > 0; start -= n) {
        n = eg__max(lib.sf_readf_float(f, scrap, eg__min(start, at_once)), 0);
        *ended = !n;
    }
    free(scrap);
    return lib.sf_error(f) ? eg__source_bad(s, 0, "libsndfile: %s", lib.sf_strerror(f)) : EG_OK;
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
    bool ended = is_exact(about) && !there;
    most = is_exact(about) ? eg__min(most, there) : most;
    st = ended ? EG_OK : pass_over(s, f, about, start, &ended);
    int64_t wanted = ended ? 0 : eg__min(most, limit / sound->channels + 1);
    st = st || !wanted ? st : collect(s, f, wanted, sound);
    int64_t n = sound->samples.n / (sound->channels * (int64_t)sizeof(float));
    if (!st && is_exact(about) && n < wanted) {
        st = eg__source_bad(s, s->size, "the sound ends after %lld of %lld samples", (long long)(start + n),
                            (long long)about->frames);
    }
    return st;
}

static eg_status decode(const eg__source *s, int64_t empty, int64_t start, int64_t most, int64_t limit,
                        eg__sound *sound)
{
    SF_VIRTUAL_IO io = {.get_filelen = tell_size, .seek = move, .read = fetch, .tell = tell};
    SF_INFO about = {0};
    cursor c = {.source = s, .empty = empty};
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

static eg_status decode(const eg__source *s, int64_t empty, int64_t start, int64_t most, int64_t limit,
                        eg__sound *sound)
{
    (void)empty, (void)start, (void)most, (void)limit, (void)sound;
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
    int64_t empty = 0;
    int64_t most = o->samples ? o->samples : INT64_MAX, limit = o->max_samples ? o->max_samples : INT64_C(1) << 28;
    eg_status st = check_kind(s, &mp3, &empty);
    st = st    ? st
         : mp3 ? eg__mp3_decode(s, o->start, most, limit, &sound)
               : decode(s, empty, o->start, most, limit, &sound);
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
