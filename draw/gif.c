/* gif.c - see gif.h. */
#define _POSIX_C_SOURCE 200809L
#include "gif.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <egret/io.h>
#include <gif_lib.h>

#include "palette.h"

struct gif {
    char *path, *bytes; /* where the file goes, and what is in it so far */
    size_t size;
    FILE *stream; /* to bytes */
    GifFileType *out;
    int width, height, frames, delay;
    uint8_t *index;   /* of a frame: numbers of colours */
    eg_status failed; /* the first failure */
};

static int write_to(GifFileType *out, const GifByteType *data, int bytes)
{
    return (int)fwrite(data, 1, (size_t)bytes, out->UserData);
}

static eg_status complain(gif *g, int error)
{
    const char *words = GifErrorString(error);
    g->failed = error == E_GIF_ERR_NOT_ENOUGH_MEM ? EG_ENOMEM : EG_EIO;
    return eg_failf(g->failed, "gif", "cannot write %s: %s", g->path, words ? words : "GIF error");
}

/* Films repeat for ever by an extension that Netscape thought of. */
static eg_status put_head(gif *g)
{
    static const uint8_t forever[] = {1, 0, 0};
    GifFileType *out = g->out;
    EGifSetGifVersion(out, true);
    bool good = EGifPutScreenDesc(out, g->width, g->height, 8, 0, NULL) == GIF_OK &&
                EGifPutExtensionLeader(out, APPLICATION_EXT_FUNC_CODE) == GIF_OK &&
                EGifPutExtensionBlock(out, 11, "NETSCAPE2.0") == GIF_OK &&
                EGifPutExtensionBlock(out, sizeof forever, forever) == GIF_OK && EGifPutExtensionTrailer(out) == GIF_OK;
    return good ? EG_OK : complain(g, out->Error);
}

gif *gif_new(const char *path, int width, int height, double seconds)
{
    enum { SIDE_MOST = 65535 };
    if (width < 1 || height < 1 || width > SIDE_MOST || height > SIDE_MOST || !(seconds >= 0) || seconds > 600) {
        eg_failf(EG_EINVAL, "gif_new", "a film of %d x %d pixels and %g seconds per frame cannot be written", width,
                 height, seconds);
        return NULL;
    }
    gif *g = calloc(1, sizeof *g);
    size_t area = (size_t)width * (size_t)height;
    if (g) {
        *g = (gif){.width = width, .height = height, .delay = (int)(seconds * 100 + 0.5), .index = malloc(area)};
    }
    if (!g || !g->index) {
        free(g);
        eg_failf(EG_ENOMEM, "gif_new", "out of memory for a film of %d x %d pixels", width, height);
        return NULL;
    }
    g->path = strdup(path);
    g->stream = g->path ? open_memstream(&g->bytes, &g->size) : NULL;
    if (!g->stream) {
        g->failed = eg_failf(EG_ENOMEM, "gif_new", "out of memory");
        gif_close(g, false);
        return NULL;
    }
    int error = 0;
    g->out = EGifOpen(g->stream, write_to, &error);
    if (g->out ? put_head(g) : complain(g, error)) {
        gif_close(g, false);
        return NULL;
    }
    return g;
}

static bool put_frame(gif *g, const palette *p)
{
    GifFileType *out = g->out;
    ColorMapObject *map = GifMakeMapObject(256, NULL);
    GraphicsControlBlock control = {
        .DisposalMode = DISPOSE_DO_NOT, .DelayTime = g->delay, .TransparentColor = NO_TRANSPARENT_COLOR};
    uint8_t block[4];
    if (!map) {
        out->Error = E_GIF_ERR_NOT_ENOUGH_MEM;
        return false;
    }
    for (int i = 0; i < p->count; i++) {
        map->Colors[i] = (GifColorType){p->colour[i].r, p->colour[i].g, p->colour[i].b};
    }
    EGifGCBToExtension(&control, block);
    bool good = EGifPutExtension(out, GRAPHICS_EXT_FUNC_CODE, sizeof block, block) == GIF_OK &&
                EGifPutImageDesc(out, 0, 0, g->width, g->height, false, map) == GIF_OK;
    for (int y = 0; y < g->height && good; y++) {
        good = EGifPutLine(out, g->index + (size_t)y * (size_t)g->width, g->width) == GIF_OK;
    }
    GifFreeMapObject(map);
    return good;
}

eg_status gif_add(gif *g, const uint8_t *pixels, int channels)
{
    int64_t area = (int64_t)g->width * g->height;
    palette p = {.count = 256};
    if (g->failed || (channels != 1 && channels != 3)) {
        g->failed = g->failed ? g->failed : EG_EINVAL;
        return eg_failf(g->failed, "gif_add", "cannot add a frame of %d channels to %s", channels, g->path);
    }
    if (channels == 1) {
        for (int i = 0; i < 256; i++) {
            p.colour[i] = (rgb){(uint8_t)i, (uint8_t)i, (uint8_t)i};
        }
        memcpy(g->index, pixels, (size_t)area);
    } else if (!palette_make(&p, pixels, g->width, g->height, g->index)) {
        return complain(g, E_GIF_ERR_NOT_ENOUGH_MEM);
    }
    g->frames++;
    return put_frame(g, &p) ? EG_OK : complain(g, g->out->Error);
}

eg_status gif_close(gif *g, bool write)
{
    int error = 0;
    eg_status st = g->failed;
    if (!st && write && !g->frames) {
        st = eg_failf(EG_ESTATE, "gif_close", "%s would have no frame", g->path);
    }
    if (g->out && EGifCloseFile(g->out, &error) != GIF_OK && !st) {
        st = complain(g, error);
    }
    if (g->stream && fclose(g->stream) && !st) {
        st = eg_failf(EG_ENOMEM, "gif_close", "out of memory for %s", g->path);
    }
    st = st || !write ? st : eg_file_write(g->path, g->bytes, g->size);
    free(g->bytes);
    free(g->path);
    free(g->index);
    free(g);
    return st;
}
