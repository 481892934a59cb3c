/* kitty.c - pictures for terminals that speak kitty's graphics protocol
 * (https://sw.kovidgoyal.net/kitty/graphics-protocol/): a PNG file in base64, in pieces. */
#include "terminal.h"

enum { PIECE = 4096 / 4 * 3 }; /* bytes that make 4096 characters */

static void write_base64(FILE *out, const uint8_t *bytes, size_t count)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < count; i += 3) {
        size_t left = count - i;
        unsigned group =
            (unsigned)bytes[i] << 16 | (left > 1 ? (unsigned)bytes[i + 1] << 8 : 0) | (left > 2 ? bytes[i + 2] : 0);
        fputc(digits[group >> 18], out);
        fputc(digits[group >> 12 & 63], out);
        fputc(left > 1 ? digits[group >> 6 & 63] : '=', out);
        fputc(left > 2 ? digits[group & 63] : '=', out);
    }
}

/* f=100: PNG; a=T: show it at once; q=2: do not answer, for nobody would read it; m=1: more to
 * come. */
void kitty_write(FILE *out, const uint8_t *png, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += PIECE) {
        size_t piece = bytes - at < PIECE ? bytes - at : PIECE;
        fprintf(out, "\033_G%sm=%d;", at == 0 ? "a=T,f=100,q=2," : "", at + piece < bytes);
        write_base64(out, png + at, piece);
        fputs("\033\\", out);
    }
    fputc('\n', out);
}
