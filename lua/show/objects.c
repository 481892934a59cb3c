/* objects.c - eg.draw_objects: a photo with boxes, as an image; see show.h. */
#include <lauxlib.h>

#include <egret/draw.h>

#include "lua/bind.h"
#include "show.h"

/* A tensor that an option is; it stays on the stack. */
static eg_tensor *tensor_of(lua_State *L, int table, const char *name)
{
    return lua_getfield(L, table, name) == LUA_TNIL ? NULL : eg__lua_tensor(L, -1);
}

static double number_of(lua_State *L, int table, const char *name)
{
    const double x = lua_getfield(L, table, name) == LUA_TNIL ? 0 : eg__lua_number(L, -1);
    lua_pop(L, 1);
    return x;
}

/* Names, in an array that stays on the stack above their list. */
static void read_classes(lua_State *L, int table, eg_draw_objects_options *o)
{
    if (lua_getfield(L, table, "classes") == LUA_TNIL) {
        return;
    }
    const int list = lua_gettop(L);
    luaL_argcheck(L, lua_istable(L, list), table, "classes is a list of strings");
    eg__lua_no_names(L, list);
    const lua_Integer n = luaL_len(L, list);
    luaL_argcheck(L, n <= 1 << 20, table, "too many classes");
    const char **names = lua_newuserdatauv(L, sizeof *names * (size_t)(n + 1), 0);
    for (lua_Integer i = 0; i < n; i++) {
        luaL_argcheck(L, lua_rawgeti(L, list, i + 1) == LUA_TSTRING, table, "classes is a list of strings");
        names[i] = eg__lua_string_called(L, -1, "one of the classes");
        lua_pop(L, 1);
    }
    o->classes = names;
    o->classes_count = (int)n;
}

static void read_options(lua_State *L, int table, eg_draw_objects_options *o)
{
    static const char *const names[] = {"labels", "scores", "masks",     "classes", "least",
                                        "dashed", "scale",  "keypoints", "links",   NULL};
    eg__lua_only_names(L, table, "draw_objects", names);
    o->least = number_of(L, table, "least");
    const double scale = number_of(L, table, "scale");
    luaL_argcheck(L, scale >= 0 && scale <= 64 && scale == (int)scale, table, "scale is an integer from 0 to 64");
    o->scale = (int)scale;
    lua_getfield(L, table, "dashed");
    o->dashed = lua_toboolean(L, -1);
    lua_pop(L, 1);
    o->labels = tensor_of(L, table, "labels");
    o->scores = tensor_of(L, table, "scores");
    o->masks = tensor_of(L, table, "masks");
    o->keypoints = tensor_of(L, table, "keypoints");
    o->links = tensor_of(L, table, "links");
    read_classes(L, table, o);
}

int eg__lua_draw_objects(lua_State *L)
{
    eg_draw_objects_options o = {.size = sizeof o};
    EG__LUA_BEGIN(3)
    eg_tensor *image = eg__lua_tensor(L, 1), *boxes = lua_isnil(L, 2) ? NULL : eg__lua_tensor(L, 2);
    if (!lua_isnil(L, 3)) {
        read_options(L, 3, &o);
    }
    eg__lua_box *box = eg__lua_slot(L);
    show_work work = show_begin();
    box->t = eg_keep(eg_draw_objects_with(image, boxes, &o));
    show_end(work);
    return box->t ? 1 : eg__lua_raise(L);
}
