/* sort.c - see sort.h. */
#include "sort.h"

#include <stdbool.h>

/* Numbers come first, then strings, then the rest in no order. */
static bool key_is_less(lua_State *L, int a, int b)
{
    int type = lua_type(L, a), other = lua_type(L, b);
    if (type == other) {
        return (type == LUA_TNUMBER || type == LUA_TSTRING) && lua_compare(L, a, b, LUA_OPLT);
    }
    return type == LUA_TNUMBER || (type == LUA_TSTRING && other != LUA_TNUMBER);
}

/* Shell's sort. */
void shell_sort(lua_State *L, int count)
{
    int list = lua_gettop(L);
    for (int gap = count / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11) {
        for (int i = gap + 1; i <= count; i++) {
            int hole = i;
            lua_rawgeti(L, list, i);
            for (; hole > gap; hole -= gap) {
                lua_rawgeti(L, list, hole - gap);
                if (!key_is_less(L, -2, -1)) {
                    lua_pop(L, 1);
                    break;
                }
                lua_rawseti(L, list, hole);
            }
            lua_rawseti(L, list, hole);
        }
    }
}
