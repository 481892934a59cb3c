/* heatmap.c - eg.heatmap: a matrix as colours, words along its sides; see show.h. */
#include <lauxlib.h>

#include "draw/heatmap.h"
#include "lua/bind.h"
#include "map.h"
#include "show.h"

static const char function[] = "heatmap";

enum { SIDE_MOST = 4000, TEXT_COLUMNS = 80 };

/* ---- arguments ----------------------------------------------------------------------------- */

/* Pushes the values of the matrix at index 1. */
static void push_values(lua_State *L, heatmap *h)
{
    eg_tensor *x = eg__lua_tensor(L, 1);
    if (eg_ndim(x) != 2 || eg_size(x, 0) < 1 || eg_size(x, 1) < 1 || eg_size(x, 0) > SIDE_MOST ||
        eg_size(x, 1) > SIDE_MOST) {
        eg__lua_error(L,
                      "heatmap: a map is a matrix of 1 to %d rows and columns; this tensor has %d axes "
                      "(sizes %I, %I, ...)",
                      SIDE_MOST, eg_ndim(x), (LUAI_UACINT)eg_shape_of(x).dim[0], (LUAI_UACINT)eg_shape_of(x).dim[1]);
    }
    h->rows = (int)eg_size(x, 0);
    h->columns = (int)eg_size(x, 1);
    double *values = lua_newuserdatauv(L, sizeof *values * (size_t)eg_numel(x), 0);
    show_work work = show_begin();
    eg_status status = eg_to_values(eg_to(x, eg_cpu()), values);
    show_end(work);
    if (status != EG_OK) {
        eg__lua_raise(L);
    }
    h->values = values;
}

/* Pushes the list of words that an option is, and an array of them, which the list keeps; NULL if there is none. */
static const char *const *push_words(lua_State *L, int table, const char *name, int count)
{
    if (lua_getfield(L, table, name) == LUA_TNIL) {
        return NULL;
    }
    int list = lua_gettop(L);
    if (!lua_istable(L, list)) {
        eg__lua_error(L, "heatmap: %s must be a list of strings", name);
    }
    eg__lua_no_names(L, list);
    int given = (int)lua_rawlen(L, list);
    if (given != count) {
        eg__lua_error(L, "heatmap: %s has %d words, and the map %d %s", name, given, count, name);
    }
    const char **words = lua_newuserdatauv(L, sizeof *words * (size_t)count, 0);
    const char *what = lua_pushfstring(L, "heatmap: one of the %s", name);
    for (int i = 0; i < count; i++) {
        if (lua_rawgeti(L, list, i + 1) != LUA_TSTRING) {
            eg__lua_error(L, "heatmap: %s must be a list of strings", name);
        }
        words[i] = eg__lua_string_called(L, -1, what);
        lua_pop(L, 1);
    }
    return words;
}

/* Everything it points to is on Lua's stack. */
static void read_options(lua_State *L, int table, heatmap *h, show_request *r)
{
    static const char *const names[] = {"rows", "columns", "title", "range", "path", NULL};
    eg__lua_only_names(L, table, function, names);
    r->path = show_word(L, table, function, "path");
    h->title = show_word(L, table, function, "title");
    show_range(L, table, &h->least, &h->most);
    h->row_words = push_words(L, table, "rows", h->rows);
    h->column_words = push_words(L, table, "columns", h->columns);
}

/* ---- drawing ------------------------------------------------------------------------------- */

#ifdef DRAW_PICTURES
static const bool draws_pictures = true;

/* Pushes the drawn picture. */
static eg_status push_picture(lua_State *L, const heatmap *h)
{
    eg__lua_box *box = eg__lua_slot(L);
    show_work work = show_begin();
    font *f = font_if_any();
    canvas *c = heatmap_draw(h, f);
    box->t = c ? eg_keep(eg_from(EG_SHAPE(c->height, c->width, 3), EG_U8, c->pixels)) : NULL;
    show_end(work);
    canvas_free(c);
    font_free(f);
    return box->t ? EG_OK : eg_last_error()->code;
}
#else
static const bool draws_pictures = false;

static eg_status push_picture(lua_State *L, const heatmap *h)
{
    (void)L, (void)h;
    return eg_fail(EG_ENOKERNEL, function, "this build draws no pictures");
}
#endif

/* As characters, where there are no pixels to draw with; false if it is too large for that. */
static bool write_map(lua_State *L, const heatmap *h, const terminal *t)
{
    bool good = map_push(L, h, t->columns - 1, t->colours);
    if (good) {
        size_t length;
        const char *text = lua_tolstring(L, -1, &length);
        fwrite(text, 1, length, stdout);
        fputc('\n', stdout);
        fflush(stdout);
    }
    return good;
}

int eg__lua_heatmap(lua_State *L)
{
    heatmap h = {0};
    show_request r = {.scale = 1, .function = function};
    terminal t;
    EG__LUA_BEGIN(2)
    push_values(L, &h);
    if (!lua_isnil(L, 2)) {
        read_options(L, 2, &h, &r);
    }
    if (terminal_look(&t, stdout)) {
        return eg__lua_raise(L);
    }
    int hook = show_push_hook(L) ? lua_gettop(L) : 0;
    bool pixels = draws_pictures && t.way != TERMINAL_WORDS && t.way != TERMINAL_BLOCKS;
    if (!r.path && !hook && !pixels && write_map(L, &h, &t)) {
        return 0;
    }
    if (!map_push(L, &h, TEXT_COLUMNS, 0)) {
        lua_pushfstring(L, "[a map of %d x %d values]", h.rows, h.columns);
    }
    r.text = lua_gettop(L);
    if (!draws_pictures && !r.path) {
        show_text(L, hook, r.text);
        return 0;
    }
    if (push_picture(L, &h)) {
        return eg__lua_raise(L);
    }
    r.picture = lua_gettop(L);
    show_send(L, &r, &t);
    return 0;
}
