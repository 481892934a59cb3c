/* show.c - see show.h. What C makes is put into places that Lua owns before anything can raise. */
#include "show.h"

#include <lauxlib.h>
#include <math.h>
#include <string.h>

#include "lua/bind.h"
#include "picture.h"

static const char hook; /* its address is the key of the function in the registry */

bool show_push_hook(lua_State *L)
{
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &hook) == LUA_TFUNCTION) {
        return true;
    }
    lua_pop(L, 1);
    return false;
}

static int display(lua_State *L)
{
    EG__LUA_BEGIN(1)
    if (!lua_isnil(L, 1)) {
        luaL_checktype(L, 1, LUA_TFUNCTION);
    }
    lua_rawgetp(L, LUA_REGISTRYINDEX, &hook);
    lua_insert(L, 1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &hook);
    return 1;
}

show_work show_begin(void)
{
    eg_clear_error();
    return (show_work){eg_scope_push(), eg_use_device(eg_cpu())};
}

void show_end(show_work work)
{
    eg_use_device(work.before);
    eg_scope_pop(work.scope, NULL);
}

/* ---- sending ------------------------------------------------------------------------------- */

enum { SIDE_MOST = 4096 }; /* pixels, of pictures without a screen */

typedef eg_tensor *(*make_fn)(eg_tensor *picture, const show_request *r, const terminal *t);

static eg_tensor *make_png(eg_tensor *picture, const show_request *r, const terminal *t)
{
    int64_t width = SIDE_MOST, height = SIDE_MOST;
    if (t->way == TERMINAL_KITTY) {
        width = (int64_t)t->columns * t->cell_width;
        height = (int64_t)(t->rows - 1) * t->cell_height;
    }
    return picture_png(picture_scaled(picture, r->scale, r->seen, width, height));
}

static eg_tensor *make_pixels(eg_tensor *picture, const show_request *r, const terminal *t)
{
    bool blocks = t->way == TERMINAL_BLOCKS;
    int64_t width = (int64_t)t->columns * (blocks ? 1 : t->cell_width);
    int64_t height = (int64_t)(t->rows - 1) * (blocks ? 2 : t->cell_height);
    return picture_scaled(picture, r->scale, blocks ? 24 : r->seen, width, height > 16 ? height : 16);
}

/* Pushes what `make` makes of the picture. */
static eg_tensor *push_made(lua_State *L, make_fn make, const show_request *r, const terminal *t)
{
    eg_tensor *picture = eg__lua_tensor(L, r->picture);
    eg__lua_box *box = eg__lua_slot(L);
    show_work work = show_begin();
    box->t = eg_keep(make(picture, r, t));
    show_end(work);
    if (!box->t) {
        eg__lua_raise(L);
    }
    return box->t;
}

/* Lets go of the tensor at a place of the stack: the collector does not know how large it is. */
static void drop(lua_State *L, int index)
{
    eg__lua_box *box = lua_touserdata(L, index);
    eg_release(box->t);
    box->t = NULL;
}

/* The place of a file in which "%d" stands for the picture's number. */
static const char *push_path(lua_State *L, const char *path)
{
    static int number;
    lua_pushfstring(L, "%d", ++number);
    return luaL_gsub(L, path, "%d", lua_tostring(L, -1));
}

static void save(lua_State *L, const show_request *r, const char *path)
{
    eg_tensor *picture = eg__lua_tensor(L, r->picture);
    show_work work = show_begin();
    eg_tensor *scaled = picture_scaled(picture, r->scale, r->seen, SIDE_MOST, SIDE_MOST);
    eg_status st = eg_png_save(eg_permute(scaled, EG_AXES(2, 0, 1)), path);
    show_end(work);
    if (st) {
        eg__lua_raise(L);
    }
}

static void send_to_hook(lua_State *L, const show_request *r)
{
    terminal none = {.way = TERMINAL_WORDS};
    eg_tensor *png = push_made(L, make_png, r, &none);
    lua_pushvalue(L, -2); /* the hook */
    lua_pushliteral(L, "image/png");
    lua_pushlstring(L, eg_data(png), (size_t)eg_numel(png));
    drop(L, -4); /* the PNG */
    drop(L, r->picture);
    lua_pushvalue(L, r->text);
    lua_call(L, 3, 0);
}

static void send_to_terminal(lua_State *L, const show_request *r, const terminal *t)
{
    if (t->way == TERMINAL_KITTY) {
        eg_tensor *png = push_made(L, make_png, r, t);
        kitty_write(stdout, eg_data(png), (size_t)eg_numel(png));
        drop(L, -1);
        return;
    }
    eg_tensor *picture = push_made(L, make_pixels, r, t);
    int height = (int)eg_size(picture, 0), width = (int)eg_size(picture, 1);
    eg_status st = EG_OK;
    if (t->way == TERMINAL_BLOCKS) {
        blocks_write(stdout, eg_data(picture), width, height, t->colours);
    } else {
        st = sixel_write(stdout, eg_data(picture), width, height);
    }
    drop(L, -1);
    if (st) {
        eg__lua_raise(L);
    }
}

void show_text(lua_State *L, int taker, int text)
{
    if (taker) {
        lua_pushvalue(L, taker);
        lua_pushliteral(L, "text/plain");
        lua_pushvalue(L, text);
        lua_pushvalue(L, text);
        lua_call(L, 3, 0);
    } else {
        printf("%s\n", lua_tostring(L, text));
        fflush(stdout);
    }
}

void show_send(lua_State *L, const show_request *r, const terminal *t)
{
    int top = lua_gettop(L);
    if (r->path) {
        save(L, r, r->path);
    } else if (show_push_hook(L)) {
        send_to_hook(L, r);
    } else if (t->way == TERMINAL_FILE) {
        save(L, r, push_path(L, t->path));
    } else if (t->way == TERMINAL_WORDS) {
        printf("%s\n", lua_tostring(L, r->text));
    } else {
        send_to_terminal(L, r, t);
    }
    fflush(stdout);
    drop(L, r->picture);
    lua_settop(L, top);
}

/* ---- options ------------------------------------------------------------------------------- */

const char *show_word(lua_State *L, int table, const char *function, const char *name)
{
    if (lua_getfield(L, table, name) == LUA_TNIL) {
        return NULL;
    }
    if (lua_type(L, -1) != LUA_TSTRING) {
        eg__lua_error(L, "%s: %s must be a string", function, name);
    }
    const char *what = lua_pushfstring(L, "%s: %s", function, name);
    const char *word = eg__lua_string_called(L, -2, what);
    lua_pop(L, 1);
    return word;
}

/* ---- eg.show ------------------------------------------------------------------------------- */

static double number_field(lua_State *L, int table, const char *name)
{
    double value = 0;
    if (lua_getfield(L, table, name) != LUA_TNIL) {
        value = lua_tonumber(L, -1); /* 0 for what is none */
        luaL_argcheck(L, value > 0 && value < 1e6, table, lua_pushfstring(L, "%s must be a positive number", name));
    }
    lua_pop(L, 1);
    return value;
}

void show_range(lua_State *L, int table, double *low, double *high)
{
    if (lua_getfield(L, table, "range") != LUA_TNIL) {
        luaL_argcheck(L, lua_istable(L, -1), table, "range is a list of two numbers");
        lua_geti(L, -1, 1);
        lua_geti(L, -2, 2);
        *low = lua_isnumber(L, -2) ? lua_tonumber(L, -2) : NAN;
        *high = lua_isnumber(L, -1) ? lua_tonumber(L, -1) : NAN;
        luaL_argcheck(L, *low < *high && isfinite(*low) && isfinite(*high), table,
                      "range is two numbers, the smaller first");
        lua_pop(L, 2);
    }
    lua_pop(L, 1);
}

/* The path stays on the stack. */
static void read_options(lua_State *L, int table, picture_options *o, show_request *r)
{
    static const char *const names[] = {"scale",    "columns", "range",   "path", "title",
                                        "captions", "gif",     "seconds", NULL};
    if (lua_isnoneornil(L, table)) {
        return;
    }
    eg__lua_only_names(L, table, r->function, names);
    r->path = show_word(L, table, r->function, "path");
    o->title = show_word(L, table, r->function, "title");
    if (lua_getfield(L, table, "captions") != LUA_TNIL) {
        luaL_argcheck(L, lua_istable(L, -1), table, "captions is a list of strings, one for each image");
        o->captions = eg__lua_strings(L, -1, &o->caption_count);
    }
    o->gif = show_word(L, table, r->function, "gif");
    o->seconds = number_field(L, table, "seconds");
    o->scale = number_field(L, table, "scale");
    r->scale = o->title || o->captions ? 1 : o->scale; /* words are drawn as large as they are seen */
    o->columns = (int)number_field(L, table, "columns");
    show_range(L, table, &o->low, &o->high);
}

/* Pushes all of a file. */
static void push_file(lua_State *L, const char *path)
{
    char piece[4096];
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    FILE *file = fopen(path, "rb");
    for (size_t n; file && (n = fread(piece, 1, sizeof piece, file)) > 0;) {
        luaL_addlstring(&b, piece, n);
    }
    if (file) {
        fclose(file);
    }
    luaL_pushresult(&b);
}

/* The images as an animation: a file, and in a notebook shown. */
static int show_film(lua_State *L, eg_tensor *const *tensors, int n, const picture_options *o)
{
    show_work work = show_begin();
    const int frames = picture_film(tensors, n, o, o->gif, o->seconds > 0 ? o->seconds : 0.2);
    show_end(work);
    if (!frames) {
        return eg__lua_raise(L);
    }
    lua_pushfstring(L, "[an animation of %d images: %s]", frames, o->gif);
    const int text = lua_gettop(L);
    if (show_push_hook(L)) {
        lua_pushliteral(L, "image/gif");
        push_file(L, o->gif);
        lua_pushvalue(L, text);
        lua_call(L, 3, 0);
    } else {
        printf("%s\n", lua_tostring(L, text));
        fflush(stdout);
    }
    return 0;
}

/* Pushes an array of the tensors at index 1, one or a list. */
static eg_tensor **push_tensors(lua_State *L, int *n)
{
    bool one = eg__lua_is_tensor(L, 1);
    if (!one && !lua_istable(L, 1)) {
        luaL_typeerror(L, 1, "tensor or list of tensors");
    }
    if (!one) {
        eg__lua_no_names(L, 1);
    }
    lua_Integer count = one ? 1 : luaL_len(L, 1);
    luaL_argcheck(L, count >= 1 && count <= 1024, 1, "1 to 1024 images");
    eg_tensor **all = lua_newuserdatauv(L, sizeof(eg_tensor *) * (size_t)count, 0);
    for (lua_Integer i = 0; i < count; i++) {
        if (one) {
            lua_pushvalue(L, 1);
        } else {
            lua_geti(L, 1, i + 1);
        }
        all[i] = eg__lua_tensor(L, -1); /* the list holds it */
        lua_pop(L, 1);
    }
    *n = (int)count;
    return all;
}

static int show(lua_State *L)
{
    picture_options o = {0};
    show_request r = {.seen = 256, .function = "show"};
    terminal t;
    int n;
    EG__LUA_BEGIN(2)
    read_options(L, 2, &o, &r);
    eg_tensor **tensors = push_tensors(L, &n);
    if (o.gif) {
        return show_film(L, tensors, n, &o);
    }
    eg__lua_box *box = eg__lua_slot(L);
    r.picture = lua_gettop(L);
    show_work work = show_begin();
    box->t = eg_keep(picture_of(tensors, n, &o));
    show_end(work);
    if (!box->t || terminal_look(&t, stdout)) {
        return eg__lua_raise(L);
    }
    lua_pushfstring(L, "[a picture of %d x %d pixels]", (int)eg_size(box->t, 1), (int)eg_size(box->t, 0));
    r.text = lua_gettop(L);
    show_send(L, &r, &t);
    return 0;
}

int eg__lua_open_show(lua_State *L)
{
    static const luaL_Reg functions[] = {{"show", show},
                                         {"plot", eg__lua_plot},
                                         {"heatmap", eg__lua_heatmap},
                                         {"sound", eg__lua_sound},
                                         {"draw_objects", eg__lua_draw_objects},
                                         {"display", display}};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        eg__lua_push_function(L, functions[i].func);
        lua_setfield(L, -2, functions[i].name);
    }
    return 0;
}
