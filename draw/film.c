/* film.c - pictures as a film; see egret/draw.h. */
#include <stdlib.h>
#include <string.h>

#include <egret/draw.h>
#include <egret/egret.h>

#ifdef DRAW_GIF

#include "gif.h"

struct eg_film {
    gif *gif; /* NULL before the first picture */
    double seconds;
    int64_t height, width;
    eg_status failed;
    char path[];
};

eg_film *eg_film_new(const char *path, double seconds)
{
    size_t length = strlen(path);
    eg_film *film = calloc(1, sizeof *film + length + 1);
    if (!film) {
        eg_fail(EG_ENOMEM, "eg_film_new", "out of memory");
        return NULL;
    }
    if (!(seconds >= 0 && seconds <= 600)) {
        free(film);
        eg_failf(EG_EINVAL, "eg_film_new", "a picture is shown for 0 to 600 seconds, not %g", seconds);
        return NULL;
    }
    memcpy(film->path, path, length);
    film->seconds = seconds;
    return film;
}

static eg_status add(eg_film *film, eg_tensor *picture)
{
    int64_t c = eg_size(picture, 0), h = eg_size(picture, 1), w = eg_size(picture, 2);
    if (eg_ndim(picture) != 3 || eg_dtype_of(picture) != EG_U8 || (c != 1 && c != 3)) {
        return eg_fail(EG_ESHAPE, "eg_film_add", "a picture is u8 [1, H, W] or [3, H, W]");
    }
    if (film->gif && (h != film->height || w != film->width)) {
        return eg_failf(EG_ESHAPE, "eg_film_add",
                        "a picture of %lld x %lld pixels does not fit into %s, which has %lld x %lld", (long long)w,
                        (long long)h, film->path, (long long)film->width, (long long)film->height);
    }
    const uint8_t *pixels = eg_data(eg_contiguous(eg_permute(eg_to(picture, eg_cpu()), EG_AXES(1, 2, 0))));
    if (pixels && !film->gif) {
        film->gif = gif_new(film->path, (int)(w < 65536 ? w : 65536), (int)(h < 65536 ? h : 65536), film->seconds);
        film->height = h;
        film->width = w;
    }
    return pixels && film->gif ? gif_add(film->gif, pixels, (int)c) : eg_last_error()->code;
}

eg_status eg_film_add(eg_film *film, eg_tensor *picture)
{
    eg_status st = EG_OK;
    if (!film || !picture) {
        st = eg_last_error()->code;
        return st ? st : eg_fail(EG_EINVAL, "eg_film_add", "there is no film, or no picture");
    }
    EG_SCOPE {
        st = film->failed ? eg_failf(film->failed, "eg_film_add", "%s has failed before", film->path)
                          : add(film, picture);
    }
    film->failed = film->failed ? film->failed : st;
    return st;
}

eg_status eg_film_close(eg_film *film)
{
    if (!film) {
        return eg_last_error()->code;
    }
    eg_status st = film->failed;
    if (!film->gif && !st) {
        st = eg_failf(EG_ESTATE, "eg_film_close", "%s would have no picture", film->path);
    }
    if (film->gif) {
        eg_status closed = gif_close(film->gif, st == EG_OK);
        st = st ? st : closed;
    }
    free(film);
    return st;
}

#else

eg_film *eg_film_new(const char *path, double seconds)
{
    (void)path, (void)seconds;
    eg_fail(EG_ENOKERNEL, "eg_film_new", "this build has no giflib to write films with");
    return NULL;
}

eg_status eg_film_add(eg_film *film, eg_tensor *picture)
{
    (void)film, (void)picture;
    return eg_last_error()->code;
}

eg_status eg_film_close(eg_film *film)
{
    (void)film;
    return eg_last_error()->code;
}

#endif
