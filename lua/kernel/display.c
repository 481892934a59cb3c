/* display.c - pictures and other rich data in a notebook. */
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "session.h"
#include "text.h"

/* Text goes as it is, all else as base64. */
static json_t *encode(const char *kind, const char *bytes, size_t n)
{
    if (strncmp(kind, "text/", 5) == 0 || strcmp(kind, "image/svg+xml") == 0) {
        return text_json(bytes, n);
    }
    char *text = text_base64(bytes, n);
    json_t *json = text ? json_string_nocheck(text) : NULL;
    free(text);
    return json;
}

/* f(kind, data, text): shows data of a MIME type, or the text where a frontend cannot show that. */
static int show(lua_State *L)
{
    session *s = lua_touserdata(L, lua_upvalueindex(1));
    size_t n, text_length;
    const char *kind = luaL_checkstring(L, 1);
    const char *bytes = luaL_checklstring(L, 2, &n);
    const char *text = luaL_optlstring(L, 3, "", &text_length);
    if (!s->request) { /* a collector's last words */
        return 0;
    }
    json_t *data = json_object();
    bool good = json_object_set_new(data, "text/plain", text_json(text, text_length)) == 0 &&
                json_object_set_new(data, kind, encode(kind, bytes, n)) == 0;
    if (!good) {
        json_decref(data);
        return luaL_error(L, "out of memory, or %s is no text", kind);
    }
    wire_tell(s->w, "display_data", s->request->header,
              json_pack("{s:o, s:{}, s:{}}", "data", data, "metadata", "transient"));
    return 0;
}

void display_open(lua_State *L, session *s)
{
    if (lua_getfield(L, -1, "display") == LUA_TFUNCTION) {
        lua_pushlightuserdata(L, s);
        lua_pushcclosure(L, show, 1);
        lua_call(L, 1, 0);
    } else {
        lua_pop(L, 1);
    }
}
