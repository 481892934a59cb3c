/* mp3.c - MP3 through libmpg123 itself: told to by libsndfile, it prints what it finds damaged. */
#include "data/audio/sound.h"

#ifdef EG_HAVE_MPG123
#include <mpg123.h>

#include "lib/core/library.h"

#define FUNCTIONS(X)         \
    X(mpg123_delete)         \
    X(mpg123_feed)           \
    X(mpg123_getformat)      \
    X(mpg123_init)           \
    X(mpg123_new)            \
    X(mpg123_open_feed)      \
    X(mpg123_param)          \
    X(mpg123_plain_strerror) \
    X(mpg123_read)           \
    X(mpg123_strerror)
EG__LIBRARY(lib, FUNCTIONS, .title = "libmpg123", .files = {EG_SO_MPG123}, .package = "libmpg123-0");

enum { FEED = 1 << 16, ROOM = 1 << 15 }; /* bytes */

static eg_status bad(const eg__source *s, int64_t at, mpg123_handle *m)
{
    return eg__source_bad(s, at, "libmpg123: %s", lib.mpg123_strerror(m));
}

/* Rate and channels, which stay what they first are. */
static eg_status note_format(const eg__source *s, int64_t at, mpg123_handle *m, eg__sound *sound)
{
    long rate;
    int channels, encoding;
    if (lib.mpg123_getformat(m, &rate, &channels, &encoding) || rate < 1 || channels < 1 || channels > 2 ||
        encoding != MPG123_ENC_FLOAT_32) {
        return bad(s, at, m);
    }
    if (sound->rate && (sound->rate != rate || sound->channels != channels)) {
        return eg__source_bad(s, at, "%lld channels at %lld samples a second become %d at %ld",
                              (long long)sound->channels, (long long)sound->rate, channels, rate);
    }
    sound->rate = rate;
    sound->channels = channels;
    return EG_OK;
}

/* What can be decoded of the bytes it has been fed. */
static eg_status drain(const eg__source *s, int64_t at, mpg123_handle *m, int64_t *skip, eg__sound *sound)
{
    for (;;) {
        if (!eg__bytes_room(&sound->samples, ROOM)) {
            return eg__no_memory(s->op, ROOM);
        }
        uint8_t *to = sound->samples.p + sound->samples.n;
        size_t made = 0;
        int said = lib.mpg123_read(m, (void *)to, ROOM, &made);
        int64_t frame = sound->channels * (int64_t)sizeof(float), n = frame ? (int64_t)made / frame : 0;
        int64_t left_out = eg__min(n, *skip);
        if (left_out) {
            memmove(to, to + left_out * frame, (size_t)((n - left_out) * frame));
            *skip -= left_out;
        }
        sound->samples.n += (n - left_out) * frame;
        eg_status st = said == MPG123_NEW_FORMAT ? note_format(s, at, m, sound) : EG_OK;
        if (st || said == MPG123_NEED_MORE || said == MPG123_DONE) {
            return st;
        }
        if (said != MPG123_OK && said != MPG123_NEW_FORMAT) {
            return bad(s, at, m);
        }
    }
}

static eg_status decode(const eg__source *s, mpg123_handle *m, int64_t skip, int64_t most, int64_t limit,
                        eg__sound *sound)
{
    unsigned char piece[FEED];
    eg_status st = EG_OK;
    for (int64_t at = 0; !st && at < s->size;) {
        int64_t n = eg__min(FEED, s->size - at);
        st = eg__source_read(s, at, piece, n);
        if (!st && lib.mpg123_feed(m, piece, (size_t)n)) {
            st = bad(s, at, m);
        }
        st = st ? st : drain(s, at, m, &skip, sound);
        at += n;
        int64_t frame = eg__max(1, sound->channels) * (int64_t)sizeof(float), there = sound->samples.n / frame;
        if (there >= most || there * sound->channels > limit) {
            break;
        }
    }
    return st || sound->rate ? st : eg__source_bad(s, s->size, "there is no sound in it");
}

eg_status eg__mp3_decode(const eg__source *s, int64_t start, int64_t most, int64_t limit, eg__sound *sound)
{
    eg_status st = eg__library_open(&lib_library, s->op);
    if (st) {
        return st;
    }
    int failed = lib.mpg123_init(); /* which versions before 1.27 need */
    mpg123_handle *m = failed ? NULL : lib.mpg123_new(NULL, &failed);
    if (!m) {
        return eg__fail(EG_ENOMEM, s->op, "libmpg123: %s", lib.mpg123_plain_strerror(failed));
    }
    long flags = MPG123_QUIET | MPG123_FORCE_FLOAT | MPG123_GAPLESS;
    bool ready = !lib.mpg123_param(m, MPG123_ADD_FLAGS, flags, 0) && !lib.mpg123_open_feed(m);
    st = ready ? decode(s, m, start, most, limit, sound) : bad(s, 0, m);
    lib.mpg123_delete(m);
    int64_t frame = eg__max(1, sound->channels) * (int64_t)sizeof(float);
    if (!st && sound->samples.n / frame > most) {
        sound->samples.n = most * frame;
    }
    return st;
}

#else

eg_status eg__mp3_decode(const eg__source *s, int64_t start, int64_t most, int64_t limit, eg__sound *sound)
{
    (void)start, (void)most, (void)limit, (void)sound;
    return eg__fail(EG_ENOKERNEL, s->op, "this build has no libmpg123");
}

#endif
