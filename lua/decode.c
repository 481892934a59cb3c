/* decode.c - decoding in Lua: nets that are functions of ids and a cache. */
#include <egret/models.h>

#include "lua/bind.h"

typedef struct next_job {
    eg_tensor *ids, *logits;
    eg_cache *cache;
} next_job;

/* f(ids, cache): logits. */
static int run_next(lua_State *L)
{
    next_job *j = lua_touserdata(L, 1);
    const int f = lua_gettop(L);
    eg__lua_push_tensor(L, j->ids);
    eg__lua_borrow(L, &eg__lua_type_cache, j->cache);
    lua_replace(L, f + 2);
    lua_settop(L, f + 2);
    lua_call(L, 2, 1);
    j->logits = eg__lua_hand_over(L, f);
    return 0;
}

static eg_tensor *next_f(void *user, eg_tensor *ids, eg_cache *cache)
{
    next_job j = {.ids = ids, .cache = cache};
    return eg__lua_visit(user, run_next, &j) ? NULL : j.logits;
}

typedef struct watch_job {
    eg_tensor *ids;
    int64_t step;
    bool on;
} watch_job;

/* f(step, ids): false ends it. */
static int run_watch(lua_State *L)
{
    watch_job *j = lua_touserdata(L, 1);
    lua_pushinteger(L, j->step);
    eg__lua_push_tensor(L, j->ids);
    lua_call(L, 2, 1);
    j->on = lua_isnil(L, -1) || lua_toboolean(L, -1);
    return 0;
}

/* An error in it ends the decoding; it is on record then. */
static bool watch_f(void *user, int64_t step, eg_tensor *ids)
{
    watch_job j = {.ids = ids, .step = step};
    return !eg__lua_visit(user, run_watch, &j) && j.on;
}

/* The options at 3, without `watch`, which is pushed. */
static void read_options(lua_State *L, eg_decode_options *o)
{
    lua_newtable(L);
    if (lua_istable(L, 3)) {
        for (lua_pushnil(L); lua_next(L, 3);) {
            lua_pushvalue(L, -2);
            lua_insert(L, -2);
            lua_rawset(L, 4);
        }
    } else {
        luaL_argcheck(L, lua_isnil(L, 3), 3, "a table of options is expected");
    }
    lua_replace(L, 3);
    lua_getfield(L, 3, "watch");
    lua_pushnil(L);
    lua_setfield(L, 3, "watch");
    eg__lua_record(L, 3, eg__lua_layout_decode, o);
}

static int decode(lua_State *L, eg_decoded (*function)(eg_decode_fn, void *, eg_tensor *, const eg_decode_options *))
{
    EG__LUA_BEGIN(3)
    luaL_checktype(L, 1, LUA_TFUNCTION);
    eg_tensor *prompts = eg__lua_tensor(L, 2);
    eg_decode_options o;
    read_options(L, &o);
    if (!lua_isnil(L, 4)) {
        luaL_checktype(L, 4, LUA_TFUNCTION);
        o.watch = watch_f;
        o.watch_user = eg__lua_new_callback(L, 4, sizeof(eg__lua_callback));
    }
    void *f = eg__lua_new_callback(L, 1, sizeof(eg__lua_callback));
    if (!o.cache) { /* one that functions of Lua may keep */
        eg__lua_hold *hold = eg__lua_new_hold(L, &eg__lua_type_cache);
        hold->p = o.cache = eg_cache_new();
        eg__lua_own(L, hold);
    }
    for (int k = 0; k < 3; k++) {
        eg__lua_slot(L);
    }
    eg_scope scope = eg_scope_push();
    const eg_decoded made = function(next_f, f, prompts, &o);
    return eg__lua_give_record(L, scope, eg__lua_layout_decoded, &made, 3);
}

/* eg.generate(f, prompts, options). */
static int generate(lua_State *L)
{
    return decode(L, eg_generate_with);
}

/* eg.beam_search(f, prompts, options). */
static int beam_search(lua_State *L)
{
    return decode(L, eg_beam_search_with);
}

/* eg.transformer_next(net, ids, cache), eg.gpt2_next(net, ids, cache): logits. */
static int next_of(lua_State *L, eg_decode_fn function)
{
    EG__LUA_BEGIN(3)
    eg_module *net = eg__lua_handle(L, 1, &eg__lua_type_module);
    eg_tensor *ids = eg__lua_tensor(L, 2);
    eg_cache *cache = eg__lua_handle(L, 3, &eg__lua_type_cache);
    EG__LUA_TENSOR(function(net, ids, cache));
}

static int transformer_next(lua_State *L)
{
    return next_of(L, eg_transformer_next);
}

static int gpt2_next(lua_State *L)
{
    return next_of(L, eg_gpt2_next);
}

/* cache:get(name): nil where there is nothing yet. */
static int cache_get(lua_State *L)
{
    EG__LUA_BEGIN(2)
    eg_cache *cache = eg__lua_handle(L, 1, &eg__lua_type_cache);
    const char *name = eg__lua_string(L, 2);
    eg__lua_box *box = eg__lua_slot(L);
    eg_scope scope = eg_scope_push();
    box->t = eg_keep(eg_cache_get(cache, name));
    eg_scope_pop(scope, NULL);
    if (!box->t && !eg_last_error()->code) {
        return lua_pushnil(L), 1;
    }
    return eg__lua_finish(L, box);
}

/* On the stack: the module's table. */
void eg__lua_open_decoding(lua_State *L)
{
    static const eg__lua_place functions[] = {
        {"", "generate", generate},
        {"", "beam_search", beam_search},
        {"", "transformer_next", transformer_next},
        {"", "gpt2_next", gpt2_next},
        {"nn", "generate", generate},
        {"nn", "beam_search", beam_search},
        {"models", "transformer_next", transformer_next},
        {"models", "gpt2_next", gpt2_next},
        {"", "cache_get", cache_get},
        {0},
    };
    static const eg__lua_place methods[] = {{"cache", "get", cache_get}, {0}};
    eg__lua_set_functions(L, functions);
    eg__lua_set_methods(L, methods);
}
