/* data.c - datasets: walked by `for`, and with functions of Lua among their links.
 *
 *     local train = eg.data.mnist(dir, "train"):map(function(image, label) return image - 0.5, label end,
 *                                                   {workers = 2}):shuffle(10000, {seed = 1}):batch(64)
 *     for image, label in train do ... end
 *
 * The thread that walks lets go of the lock while it waits for samples, so functions of Lua run in the workers
 * then, one at a time; what they call of C does not wait for each other only where that lets go too. */
#include <string.h>

#include "lua/bind.h"

/* ---- walking ------------------------------------------------------------------------------------------ */

/* The tensors of a sample, kept until Lua has them. */
typedef struct hand {
    eg_tensor *t[EG_SAMPLE_MAX];
} hand;

static int hand_gc(lua_State *L)
{
    hand *h = lua_touserdata(L, 1);
    for (int k = 0; k < EG_SAMPLE_MAX; k++) {
        if (h->t[k]) {
            eg_release(h->t[k]);
            h->t[k] = NULL;
        }
    }
    return 0;
}

/* How many tensors a sample has: those that are not NULL in front, at most the maximum. */
static int take(eg_dataset *d, bool first, hand *h, int *n)
{
    eg_scope scope = eg_scope_push(); /* the walk's own scopes end with it, so none is open in the loop's body */
    eg_tensor *const *sample = first ? eg_dataset_first(d) : eg_dataset_next(d);
    eg_status st = sample ? EG_OK : eg_dataset_status(d);
    *n = sample ? eg_dataset_width(d) : 0;
    for (int k = 0; k < *n; k++) {
        h->t[k] = eg_keep(sample[k]);
    }
    eg_error why = *eg_last_error();
    eg_scope_pop(scope, NULL);
    eg_clear_error(); /* a scope that has ended already is no failure here */
    return st ? eg_fail(st, why.op, why.message) : EG_OK;
}

/* dataset(_, control), as `for` calls it: the next sample's tensors, at the beginning the first's. */
static int dataset_call(lua_State *L)
{
    EG__LUA_BEGIN(3)
    eg_dataset *d = eg__lua_handle(L, 1, &eg__lua_type_dataset);
    luaL_argcheck(L, d != NULL, 1, "a dataset is expected");
    bool first = lua_isnil(L, 3);
    hand *h = lua_newuserdatauv(L, sizeof *h, 0);
    memset(h, 0, sizeof *h);
    luaL_setmetatable(L, "egret.hand");
    int n;
    eg_status st;
    EG__LUA_LET_OTHERS(st = (eg_status)take(d, first, h, &n);)
    EG__LUA_STATUS(st)
    luaL_checkstack(L, n + 4, "a sample");
    int64_t bytes = 0;
    for (int k = 0; k < n; k++) {
        eg__lua_slot(L);
    }
    for (int k = 0; k < n; k++) {
        ((eg__lua_box *)lua_touserdata(L, k - n))->t = h->t[k];
        bytes += eg_numel(h->t[k]) * (int64_t)eg_dtype_size(eg_dtype_of(h->t[k]));
        h->t[k] = NULL;
    }
    eg__lua_owe(eg__lua_here(L), L, bytes);
    return n;
}

/* "dataset of 938 samples" */
static int dataset_tostring(lua_State *L)
{
    eg__lua_hold *hold = eg__lua_hold_at(L, 1, &eg__lua_type_dataset);
    int64_t n = hold && hold->p ? eg_dataset_count(hold->p) : -1;
    if (n >= 0) {
        lua_pushfstring(L, "dataset of %I samples", (LUAI_UACINT)n);
    } else {
        lua_pushstring(L, hold && hold->p ? "dataset" : "dataset (closed, or part of another)");
    }
    return 1;
}

/* ---- functions of Lua as links --------------------------------------------------------------------------------- */

typedef struct sample_job {
    eg_tensor *const *in;
    int n;
    eg_tensor **out;
    int *m;
    int64_t index;
    bool keep;
} sample_job;

/* f(tensors...) or f(index): the tensors of a sample. */
static int run_sample(lua_State *L)
{
    sample_job *j = lua_touserdata(L, 1);
    int f = lua_gettop(L);
    if (j->in) {
        luaL_checkstack(L, j->n + 4, "a sample");
        for (int k = 0; k < j->n; k++) {
            eg__lua_push_tensor(L, j->in[k]);
        }
    } else {
        lua_pushinteger(L, j->index);
    }
    lua_call(L, j->in ? j->n : 1, LUA_MULTRET);
    int m = lua_gettop(L) - f + 1;
    if (m < 1 || m > EG_SAMPLE_MAX) {
        return eg__lua_error(L, "the function gave %d tensors, 1..%d are possible", m, EG_SAMPLE_MAX);
    }
    for (int k = 0; k < m; k++) {
        j->out[k] = eg__lua_hand_over(L, f + k);
    }
    *j->m = m;
    return 0;
}

static eg_status map_f(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    sample_job j = {.in = in, .n = n, .out = out, .m = m};
    return eg__lua_visit(user, run_sample, &j);
}

static eg_status from_f(int64_t index, eg_tensor **sample, int *n, void *user)
{
    sample_job j = {.index = index, .out = sample, .m = n};
    return eg__lua_visit(user, run_sample, &j);
}

static int run_filter(lua_State *L)
{
    sample_job *j = lua_touserdata(L, 1);
    luaL_checkstack(L, j->n + 4, "a sample");
    for (int k = 0; k < j->n; k++) {
        eg__lua_push_tensor(L, j->in[k]);
    }
    lua_call(L, j->n, 1);
    j->keep = lua_toboolean(L, -1);
    return 0;
}

static eg_status filter_f(eg_tensor *const *in, int n, bool *keep, void *user)
{
    sample_job j = {.in = in, .n = n};
    eg_status st = eg__lua_visit(user, run_filter, &j);
    *keep = j.keep;
    return st;
}

/* dataset:map(f, options). */
static int dataset_map(lua_State *L)
{
    EG__LUA_BEGIN(3)
    eg_dataset *d = eg__lua_handle_to_take(L, 1, &eg__lua_type_dataset);
    luaL_checktype(L, 2, LUA_TFUNCTION);
    eg_map_options o;
    eg__lua_record(L, 3, eg__lua_layout_map, &o);
    eg__lua_callback *f = eg__lua_new_callback(L, 2, sizeof *f);
    int callback = lua_gettop(L);
    eg__lua_hold *hold = eg__lua_new_hold(L, &eg__lua_type_dataset);
    eg__lua_keep_part(L, -1, callback);
    eg__lua_taking(L, 1, 1);
    EG__LUA_LET_OTHERS(hold->p = eg_dataset_map_with(d, map_f, f, &o);)
    eg__lua_taken(L, 1, 1);
    return eg__lua_own(L, hold);
}

/* dataset:filter(f): those for which f(tensors...) is true. */
static int dataset_filter(lua_State *L)
{
    EG__LUA_BEGIN(2)
    eg_dataset *d = eg__lua_handle_to_take(L, 1, &eg__lua_type_dataset);
    luaL_checktype(L, 2, LUA_TFUNCTION);
    eg__lua_callback *f = eg__lua_new_callback(L, 2, sizeof *f);
    int callback = lua_gettop(L);
    eg__lua_hold *hold = eg__lua_new_hold(L, &eg__lua_type_dataset);
    eg__lua_keep_part(L, -1, callback);
    eg__lua_taking(L, 1, 1);
    EG__LUA_LET_OTHERS(hold->p = eg_dataset_filter(d, filter_f, f);)
    eg__lua_taken(L, 1, 1);
    return eg__lua_own(L, hold);
}

/* eg.data.from(f, count): samples f(0), f(1), ... f(count - 1). */
static int dataset_from(lua_State *L)
{
    EG__LUA_BEGIN(2)
    luaL_checktype(L, 1, LUA_TFUNCTION);
    int64_t count = luaL_checkinteger(L, 2);
    eg__lua_callback *f = eg__lua_new_callback(L, 1, sizeof *f);
    int callback = lua_gettop(L);
    eg__lua_hold *hold = eg__lua_new_hold(L, &eg__lua_type_dataset);
    eg__lua_keep_part(L, -1, callback);
    hold->p = eg_dataset_from(from_f, count, f, NULL);
    return eg__lua_own(L, hold);
}

typedef struct open_job {
    eg__lua_callback *callback;
    const char *path;
    eg_dataset *d;
} open_job;

/* f(path): a dataset, which goes to C. What of Lua is in its chain lives as long as the function. */
static int run_open(lua_State *L)
{
    open_job *j = lua_touserdata(L, 1);
    int at = lua_gettop(L);
    lua_pushstring(L, j->path);
    lua_call(L, 1, 1);
    eg_dataset *d = eg__lua_handle_to_take(L, at, &eg__lua_type_dataset);
    if (!d) {
        return eg__lua_error(L, "the function gave a %s for \"%s\", a dataset is expected", luaL_typename(L, at),
                             j->path);
    }
    if (lua_getiuservalue(L, at, 2) == LUA_TTABLE) {
        eg__lua_push_callback(L, j->callback);
        eg__lua_keep_part(L, -1, at);
    }
    eg__lua_hold *hold = eg__lua_hold_at(L, at, &eg__lua_type_dataset);
    hold->owned = false;
    hold->p = NULL;
    j->d = d;
    return 0;
}

static eg_dataset *open_f(const char *path, void *user)
{
    open_job j = {.callback = user, .path = path};
    return eg__lua_visit(user, run_open, &j) ? NULL : j.d;
}

/* eg.data.shards(pattern, f, options): the samples of the files f(path) opens. */
static int dataset_shards(lua_State *L)
{
    EG__LUA_BEGIN(3)
    const char *pattern = eg__lua_string(L, 1);
    luaL_checktype(L, 2, LUA_TFUNCTION);
    eg_shards_options o;
    eg__lua_record(L, 3, eg__lua_layout_shards, &o);
    eg__lua_callback *f = eg__lua_new_callback(L, 2, sizeof *f);
    int callback = lua_gettop(L);
    eg__lua_hold *hold = eg__lua_new_hold(L, &eg__lua_type_dataset);
    eg__lua_keep_part(L, -1, callback);
    hold->p = eg_shards_new_with(pattern, open_f, f, &o);
    return eg__lua_own(L, hold);
}

/* dataset:classes(): the names of the classes of a folder of images, or of a set of photos. */
static int dataset_classes(lua_State *L)
{
    EG__LUA_BEGIN(1)
    int64_t n = 0;
    eg_dataset *d = eg__lua_handle(L, 1, &eg__lua_type_dataset);
    const char *const *names = eg_photo_classes(d, &n);
    names = names ? names : eg_image_folder_classes(d, &n);
    if (!names) {
        return eg__lua_raise(L);
    }
    lua_createtable(L, (int)n, 0);
    for (int64_t k = 0; k < n; k++) {
        lua_pushstring(L, names[k]);
        lua_rawseti(L, -2, k + 1);
    }
    return 1;
}

/* On the stack: the module's table. */
void eg__lua_open_data(lua_State *L)
{
    static const eg__lua_place functions[] = {
        {"", "dataset_from", dataset_from},
        {"data", "from", dataset_from},
        {"", "shards_new", dataset_shards},
        {"data", "shards", dataset_shards},
        {"", "dataset_map", dataset_map},
        {"", "dataset_filter", dataset_filter},
        {0},
    };
    static const eg__lua_place methods[] = {
        {"dataset", "__call", dataset_call},     {"dataset", "__tostring", dataset_tostring},
        {"dataset", "map", dataset_map},         {"dataset", "filter", dataset_filter},
        {"dataset", "classes", dataset_classes}, {0},
    };
    luaL_newmetatable(L, "egret.hand");
    lua_pushcfunction(L, hand_gc);
    lua_setfield(L, -2, "__gc");
    lua_pop(L, 1);
    eg__lua_set_functions(L, functions);
    eg__lua_set_methods(L, methods);
}
