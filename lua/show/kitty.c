/* kitty.c - pictures for terminals that speak kitty's graphics protocol
 * (https://sw.kovidgoyal.net/kitty/graphics-protocol/): a PNG file in base64, in pieces. */
#include "base64.h"
#include "terminal.h"

/* f=100: PNG; a=T: show it at once; q=2: do not answer, for nobody would read it; m=1: more to
 * come. */
void kitty_write(FILE *out, const uint8_t *png, size_t bytes)
{
    char letters[BASE64_LETTERS];
    for (size_t at = 0; at < bytes; at += BASE64_PIECE) {
        size_t piece = bytes - at < BASE64_PIECE ? bytes - at : BASE64_PIECE;
        fprintf(out, "\033_G%sm=%d;", at == 0 ? "a=T,f=100,q=2," : "", at + piece < bytes);
        fwrite(letters, 1, base64_write(letters, png + at, piece), out);
        fputs("\033\\", out);
    }
    fputc('\n', out);
}
