/* write_png.c - see write_png.h. */
#include "write_png.h"

#include <egret/data.h>
#include <egret/ops.h>

eg_status write_png(const canvas *c, const char *path)
{
    if (!c) {
        return eg_last_error()->code;
    }
    eg_scope scope = eg_scope_push();
    eg_tensor *rows = eg_wrap(c->pixels, EG_SHAPE(c->height, c->width, 3), EG_U8, NULL, NULL);
    eg_status st = eg_png_save(eg_permute(rows, EG_AXES(2, 0, 1)), path);
    eg_scope_pop(scope, NULL);
    return st;
}
