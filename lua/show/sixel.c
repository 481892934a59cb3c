/* sixel.c - pictures for terminals with sixel graphics, through libsixel. */
#include "terminal.h"

#ifdef EG_HAVE_SIXEL
#include <sixel.h>

bool sixel_known(void)
{
    return true;
}

static int write_bytes(char *data, int size, void *out)
{
    return fwrite(data, 1, (size_t)size, out) == (size_t)size ? size : -1;
}

eg_status sixel_write(FILE *out, const uint8_t *pixels, int width, int height)
{
    sixel_output_t *to = NULL;
    sixel_dither_t *palette = NULL;
    uint8_t *same = (uint8_t *)(uintptr_t)pixels; /* libsixel asks for bytes it may write, and only reads */
    SIXELSTATUS status = sixel_output_new(&to, write_bytes, out, NULL);
    if (SIXEL_SUCCEEDED(status)) {
        status = sixel_dither_new(&palette, 256, NULL);
    }
    if (SIXEL_SUCCEEDED(status)) {
        status = sixel_dither_initialize(palette, same, width, height, SIXEL_PIXELFORMAT_RGB888, SIXEL_LARGE_AUTO,
                                         SIXEL_REP_AUTO, SIXEL_QUALITY_HIGH);
    }
    if (SIXEL_SUCCEEDED(status)) {
        status = sixel_encode(same, width, height, 3, palette, to);
    }
    if (palette) {
        sixel_dither_unref(palette);
    }
    if (to) {
        sixel_output_unref(to);
    }
    fputc('\n', out);
    return SIXEL_SUCCEEDED(status) ? EG_OK : eg_fail(EG_EIO, "sixel", sixel_helper_format_error(status));
}

#else

bool sixel_known(void)
{
    return false;
}

eg_status sixel_write(FILE *out, const uint8_t *pixels, int width, int height)
{
    (void)out, (void)pixels, (void)width, (void)height;
    return eg_fail(EG_ENOKERNEL, "sixel", "this build has no libsixel");
}
#endif
