/* bind.h - Egret in Lua: what its parts share. luaopen_egret is all a host program needs.
 *
 * Most of what Lua sees is made by lua/generate.py from the public headers, by these rules:
 *
 *   eg_conv2d(x, w, b, .stride = 2)   eg.conv2d(x, w, b, {stride = 2}): options are a table, the last argument
 *   eg_relu(x)                        eg.relu(x) and x:relu(); eg_optim_rate(o) is o:rate()
 *   eg_linear_new(in, out)            eg.nn.linear(in, out); likewise eg.optim and eg.data
 *   enums                             words: "f32", "train", "half_pixel"
 *   structs                           tables with the same fields; shapes and axes are lists, or one number, or
 *                                     numbers one by one where nothing else can be meant: x:reshape(3, 2)
 *   tensors and a count               a list; several results are several values, an array of results is a list
 *   functions called back             functions
 *   eg_status                         an error, or the first argument back, so that calls can be chained
 *
 * Ownership. A tensor in Lua is a userdata that keeps it; what C leaves behind in scopes is gone when the call
 * returns. Handles (modules, optimizers, datasets, ...) are freed by the collector. One that has been given to
 * another (a layer to a sequence, a dataset to the next link) belongs to that one; of a dataset the old handle is
 * then of no use. The collector is driven by the bytes of tensors made since it last ran (state.c).
 *
 * Calls. More arguments than a function takes, names that are no option's and strings with zero bytes are refused:
 * Lua would drop them in silence. Arguments that are not there are nil.
 *
 * Errors. C is never left by a jump: results' places are made before the call, and what fails is raised
 * after it, with the words of the record and the line of Lua. Functions of Lua that C calls run protected;
 * what goes wrong in one becomes a record, and then an error again.
 *
 * Threads. The Lua state has one lock (lock.c), held by the thread that runs Lua and let go while it waits in
 * a dataset, so that functions of Lua may stand in chains with threads. A dataset with one in it must be walked
 * from Lua. */
#ifndef EGRET_LUA_BIND_H
#define EGRET_LUA_BIND_H

#include <pthread.h>

#include <lauxlib.h>
#include <lua.h>

#include <egret/egret.h>

/* Leaves the module's table on the stack: `require "egret"`. */
EG_API int luaopen_egret(lua_State *L);
EG_API int luaopen_egret_run(lua_State *L); /* the module egret.run, of Lua alone */

/* ---- the state ------------------------------------------------------------------------------------- */

/* One per Lua universe; first upvalue of every function here. */
typedef struct eg__lua {
    lua_State *L;                   /* which runs now; functions called back run there */
    const void *tensor_meta;        /* address of the metatable of tensors, their second upvalue */
    int64_t bytes_left, count_left; /* of tensors, until it is time to collect */
    int64_t bytes_limit;            /* what bytes_left was after the last collection */
    int open_tapes;
    pthread_mutex_t lock;
    _Atomic uintptr_t holder; /* the thread that has it, 0: none */
    int foreign;              /* threads in Lua that it does not belong to: nothing is collected meanwhile */
    bool collects;            /* but it was before */
    int deferred;             /* finalizers that wait for these to go */
    lua_State *idle[256];     /* coroutines for threads that come */
    int idle_count;
} eg__lua;

static inline eg__lua *eg__lua_here(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(1));
}

/* The same in a function without upvalues. */
eg__lua *eg__lua_of(lua_State *L);
eg__lua *eg__lua_new_state(lua_State *L); /* for luaopen_egret */

/* Raises what is on record, or that an argument was nil, and clears the record. */
int eg__lua_raise(lua_State *L);

/* The same with words, as luaL_error has them, of whichever line of Lua is the innermost: C may stand between. */
int eg__lua_error(lua_State *L, const char *words, ...);

/* Makes a function of this module: with the upvalues all have. */
void eg__lua_push_function(lua_State *L, lua_CFunction f);
typedef struct eg__lua_place {
    const char *space, *name; /* "", "nn", "optim", "data", "models"; of methods: the type, "tensor" */
    lua_CFunction f;
} eg__lua_place;

/* Puts such functions into the table on top; into the methods of the types that `space` names. */
void eg__lua_set_functions(lua_State *L, const eg__lua_place *rows);
void eg__lua_set_methods(lua_State *L, const eg__lua_place *rows);

/* In a finalizer: whether it must wait, for it runs in a thread that came from a chain of datasets and cannot end
 * that. Its object is then finalized when Lua's own thread goes on. */
bool eg__lua_defer(lua_State *L);

/* Takes the lock again after other threads may have had it, and does what they had to leave. */
void eg__lua_relock(lua_State *L);
void eg__lua_lock(eg__lua *c);
void eg__lua_unlock(eg__lua *c);
bool eg__lua_locked_here(eg__lua *c); /* by this thread */

/* ---- tensors ----------------------------------------------------------------------------------------- */

typedef struct eg__lua_box {
    eg_tensor *t; /* kept */
} eg__lua_box;

/* The tensor at a place of the stack; the first raises if there is none. */
eg_tensor *eg__lua_tensor(lua_State *L, int i);
bool eg__lua_is_tensor(lua_State *L, int i);
bool eg__lua_is_whole(lua_State *L, int i); /* one of integers, not bool */
/* Gives Lua a borrowed tensor; NULL raises the record. */
void eg__lua_push_tensor(lua_State *L, eg_tensor *t);

/* An argument: NULL for nil, and numbers become tensors without axes. */
eg_tensor *eg__lua_argument(lua_State *L, int i);
/* Room for a result, on the stack. */
eg__lua_box *eg__lua_slot(lua_State *L);
/* Gives it, or raises. Counts its bytes. */
int eg__lua_finish(lua_State *L, eg__lua_box *box);
/* After EG_ENOMEM: whether the collector has been run, so that it may be tried again. */
bool eg__lua_made_room(lua_State *L);
/* Counts bytes and collects when it is time. */
void eg__lua_owe(eg__lua *c, lua_State *L, int64_t bytes);
/* When a tape is opened: what the step before made is mostly garbage now, and memory that is used again at once is
 * still in the cache. */
void eg__lua_step_begins(eg__lua *c, lua_State *L);

/* The tensors of a list; room for n of them. Both on the stack. */
eg_tensor *const *eg__lua_tensors(lua_State *L, int i, int *n);
eg_tensor **eg__lua_room(lua_State *L, int64_t n);

/* Adds the methods, and what else tensors have, to the metatables. */
void eg__lua_open_tensor(lua_State *L);
void eg__lua_open_table(lua_State *L);
void eg__lua_open_modules(lua_State *L);
void eg__lua_open_data(lua_State *L);
void eg__lua_open_tape(lua_State *L);
void eg__lua_open_lock(lua_State *L);
void eg__lua_open_steps(lua_State *L);
void eg__lua_open_runs(lua_State *L);
void eg__lua_open_devices(lua_State *L);
void eg__lua_open_lists(lua_State *L);
void eg__lua_open_decoding(lua_State *L);
void eg__lua_open_json(lua_State *L);
void eg__lua_open_manual(lua_State *L);
void eg__lua_open_hints(lua_State *L); /* after all that adds names */
/* Modules in Lua that come with this one. */
void eg__lua_open_scripts(lua_State *L);
/* A list, nested or not, of numbers or booleans as a tensor: pushes it. */
int eg__lua_from_table(lua_State *L);
int eg__lua_index(lua_State *L);
int eg__lua_newindex(lua_State *L);

/* ---- values -------------------------------------------------------------------------------------------- */

typedef struct eg__lua_word {
    const char *word;
    int64_t value;
} eg__lua_word;

typedef struct eg__lua_enumeration {
    const char *name;
    const eg__lua_word *words;
    int count;
} eg__lua_enumeration;

typedef enum eg__lua_kind {
    EG__LUA_SKIP,
    EG__LUA_DOUBLE,
    EG__LUA_BOOL,
    EG__LUA_I64,
    EG__LUA_INT,
    EG__LUA_U64,
    EG__LUA_UNSIGNED,
    EG__LUA_CHAR,
    EG__LUA_STRING,
    EG__LUA_TEXT,
    EG__LUA_ENUM,
    EG__LUA_SHAPE,
    EG__LUA_AXES,
    EG__LUA_TENSOR,
    EG__LUA_WANTED,
    EG__LUA_RECORD,
    EG__LUA_HANDLE,
    EG__LUA_STRINGS,
    EG__LUA_INTEGERS,
    EG__LUA_UNARY,
} eg__lua_kind;

/* A member of a struct. count: elements of an array, 0 for none; inner: of each of them. of: enumeration, layout,
 * type, or of STRINGS where the count is. */
typedef struct eg__lua_field {
    const char *name;
    eg__lua_kind kind;
    int count, inner;
    size_t offset;
    const void *of;
    bool zero; /* 0 is EG_ZERO */
} eg__lua_field;

typedef struct eg__lua_layout {
    const char *name;
    const eg__lua_field *fields;
    int count;
    size_t bytes;
    bool sized; /* begins with its size */
} eg__lua_layout;

double eg__lua_number(lua_State *L, int i);
int64_t eg__lua_integer(lua_State *L, int i);
int64_t eg__lua_integer_called(lua_State *L, int i, const char *what); /* another value than an argument */
uint64_t eg__lua_unsigned(lua_State *L, int i);
int eg__lua_int(lua_State *L, int i);
bool eg__lua_boolean(lua_State *L, int i);
/* One that is not false if nothing is said: that must be said. */
bool eg__lua_decision(lua_State *L, int i, const char *name);
/* Strings of C end at their first zero byte: one within is refused. Of an argument, NULL for nil; of another value,
 * which must be a string and is called `what` in the refusal. */
const char *eg__lua_string(lua_State *L, int i);
const char *eg__lua_string_called(lua_State *L, int i, const char *what);
bool eg__lua_has_zero(lua_State *L, int i);
/* Pushes a list of the keys of the table on top, sorted; returns their number. Raises if one is no string, calling it
 * `what`. */
lua_Integer eg__lua_push_keys(lua_State *L, const char *what);
/* A list of strings, valid while what is left on the stack is there. */
const char *const *eg__lua_strings(lua_State *L, int i, int64_t *n);
/* How many a list has, or 1 for a number; at most `most`. */
int eg__lua_length(lua_State *L, int i, int most);
int64_t eg__lua_enum(lua_State *L, int i, const eg__lua_enumeration *e);
int eg__lua_push_enum(lua_State *L, const eg__lua_enumeration *e, int64_t value);
/* Makes arguments what a function takes: nil for those that are not there; raises, with the way to call it, if
 * there are more. */
void eg__lua_fit(lua_State *L, int arguments);
/* The numbers at i and behind it become one list. */
void eg__lua_gather(lua_State *L, int i);
/* Refuses names in the list at i, which has n elements: options of others who put them into the list. */
void eg__lua_no_names(lua_State *L, int i);
/* Refuses names in the table at i that are none of these, which end with NULL. */
void eg__lua_only_names(lua_State *L, int i, const char *function, const char *const *names);
/* Raises that a function (NULL: the one that runs) has no such option, with the names it has, which end with NULL, and
 * the one that was probably meant. */
int eg__lua_refuse_option(lua_State *L, const char *function, const char *name, const char *const *names);
eg_shape eg__lua_shape(lua_State *L, int i);
int eg__lua_push_shape(lua_State *L, eg_shape shape);
eg_axes eg__lua_axes(lua_State *L, int i);
/* Lists of numbers, of any length (n gives it) or of `count` of them. NULL for nil. */
const int64_t *eg__lua_integers(lua_State *L, int i, int *n, int64_t count);
const double *eg__lua_numbers(lua_State *L, int i, int *n, int64_t count);
/* Refuses a list of another length under that name in the table at i, which has been read. */
void eg__lua_count_in(lua_State *L, int i, const char *name, int64_t count);
/* The bytes of a string or of a u8 tensor without gaps. */
const void *eg__lua_bytes(lua_State *L, int i, size_t *bytes);

/* Fills a struct that is zero from a table; false for nil. Names that are no field's are refused. */
bool eg__lua_record(lua_State *L, int i, const eg__lua_layout *layout, void *to);
const void *eg__lua_records(lua_State *L, int i, const eg__lua_layout *layout, int *n);
void eg__lua_push_record(lua_State *L, const eg__lua_layout *layout, const void *from);
/* Returns whether the value at i is a table with a value by that name. */
bool eg__lua_says(lua_State *L, int i, const char *field);
/* One number at 1 and none at 2 become 0 and the number: a range from 0. */
void eg__lua_range_to(lua_State *L);
/* Whether a further result is asked for: {indices = true}. */
bool eg__lua_wants(lua_State *L, int i, const char *field);
/* Slots for those of n addresses that are not NULL, and once the call is done what is there, kept, from place `first`.
 */
void eg__lua_slots_for(lua_State *L, eg_tensor **const *wanted, int n);
void eg__lua_keep_wanted(lua_State *L, int first, eg_tensor **const *wanted, int n);

eg_parameters eg__lua_parameters(lua_State *L, int i);
int eg__lua_push_parameters(lua_State *L, eg_parameters p);
eg_tensor *(*eg__lua_unary(lua_State *L, int i))(eg_tensor *);

/* ---- handles ------------------------------------------------------------------------------------------- */

typedef struct eg__lua_type {
    const char *name;
    void (*free)(void *p); /* NULL: there is nothing to free */
} eg__lua_type;

typedef struct eg__lua_hold {
    const eg__lua_type *type;
    void *p;    /* NULL: freed, or taken over */
    bool owned; /* else another's */
} eg__lua_hold;

eg__lua_hold *eg__lua_hold_at(lua_State *L, int i, const eg__lua_type *type); /* NULL if it is none */
void *eg__lua_handle(lua_State *L, int i, const eg__lua_type *type);          /* NULL for nil */
void *eg__lua_handle_to_take(lua_State *L, int i, const eg__lua_type *type);  /* raises if it is another's already */
void *const *eg__lua_handles(lua_State *L, int i, const eg__lua_type *type, int *n);
eg__lua_hold *eg__lua_new_hold(lua_State *L, const eg__lua_type *type);
/* Gives p, which belongs to what stands at stack place 1, or to nobody. The same p is the same userdata. */
int eg__lua_borrow(lua_State *L, const eg__lua_type *type, void *p);
int eg__lua_own(lua_State *L, eg__lua_hold *hold);
/* The handles at first..last (lists too) now belong to the one on top. */
void eg__lua_taken(lua_State *L, int first, int last);
void eg__lua_taking(lua_State *L, int first, int last);
/* What is at stack place `part` lives as long as what is at `whole`. */
void eg__lua_keep_part(lua_State *L, int whole, int part);
void eg__lua_open_handles(lua_State *L);
/* A table under a key of the registry whose values are let go of when nobody else has them. */
void eg__lua_new_weak_table(lua_State *L, const void *key);

/* ---- functions of Lua that C calls ------------------------------------------------------------------------ */

/* A userdata with a function of Lua, on top of the stack; its address is for C's `user`. Whoever C gives it to must
 * not outlive it: see eg__lua_keep_part and eg__lua_anchor. */
typedef struct eg__lua_callback {
    eg__lua *c;
} eg__lua_callback;
/* `bytes` of them, zeroed but for c: a struct that begins with a callback. */
void *eg__lua_new_callback(lua_State *L, int function, size_t bytes);
/* The same of the function of that name in the table at i, which belongs to what is called `what`. */
eg__lua_callback *eg__lua_callback_in(lua_State *L, int i, const char *what, const char *name);
/* Pushes it, while it is in use. */
void eg__lua_push_callback(lua_State *L, eg__lua_callback *callback);
/* Runs body in Lua, protected, in whichever thread; it finds `job`, a light userdata, at 1, and the function at 2.
 * It has no upvalues. An error is then on record (EG_EUSER). */
eg_status eg__lua_visit(eg__lua_callback *callback, lua_CFunction body, void *job);
/* Told when such a function begins in a coroutine of its own, and when it ends: who stops Lua from outside has to know
 * what runs. enter gives what leave takes as `outer`. NULL: nobody asks. */
typedef struct eg__lua_watcher {
    lua_State *(*enter)(lua_State *inner);
    void (*leave)(lua_State *outer, lua_State *inner);
} eg__lua_watcher;
extern const eg__lua_watcher *eg__lua_watch;
/* What a body gives to C: the tensor at i as a result of the current scope. Raises if there is none. */
eg_tensor *eg__lua_hand_over(lua_State *L, int i);

typedef struct eg__lua_tape {
    eg_tape tape;
    bool open, persistent;
} eg__lua_tape;
eg__lua_tape *eg__lua_tape_at(lua_State *L, int i);
void eg__lua_tape_used(eg__lua *c, lua_State *L, eg__lua_tape *t);
/* What the open tapes may call must live until they are closed: the value on top, which stays there. */
void eg__lua_anchor(lua_State *L);

/* ---- names of other libraries ------------------------------------------------------------------------------- */

/* A name of PyTorch or Keras; what is used here; whether it is written as a call. Made by hints.py from
 * docs/names.md. */
typedef struct eg__lua_hint {
    const char *name, *text;
    bool call;
} eg__lua_hint;
extern const eg__lua_hint eg__lua_hints[]; /* the last one has no name */

/* For names that are not there: raises with the hint ("eg has no 'cat': use eg.concat({a, b}, 0)"), or pushes nil and
 * returns 1. calls_only: names that are no functions elsewhere are left alone. */
int eg__lua_no_name(lua_State *L, const char *whose, const char *name, bool calls_only);
/* Our dtype, in quotes, for one of PyTorch's: "\"f32\"" for float32; NULL for other words. */
const char *eg__lua_dtype_hint(const char *word);

/* ---- what generate.py makes --------------------------------------------------------------------------------- */

typedef struct eg__lua_function {
    lua_CFunction lua;
    eg_tensor *(*c)(eg_tensor *);
} eg__lua_function;

typedef struct eg__lua_page {
    const char *name, *usage, *header, *about, *prototype, *text;
} eg__lua_page;

extern const eg__lua_place eg__lua_functions[], eg__lua_methods[];
extern const eg__lua_function eg__lua_unaries[];
extern const eg__lua_word eg__lua_constants[];
extern const eg__lua_page eg__lua_pages[];
extern const eg__lua_type *const eg__lua_types[];
extern const eg__lua_type eg__lua_type_module, eg__lua_type_dataset, eg__lua_type_optim, eg__lua_type_scaler,
    eg__lua_type_step, eg__lua_type_device, eg__lua_type_saver, eg__lua_type_journal, eg__lua_type_tensors,
    eg__lua_type_stream, eg__lua_type_cache;
extern const eg__lua_enumeration *const eg__lua_dtypes;
extern const eg__lua_layout *const eg__lua_layout_gradients;
extern const eg__lua_layout *const eg__lua_layout_gradcheck;
extern const eg__lua_layout *const eg__lua_layout_map;
extern const eg__lua_layout *const eg__lua_layout_shards;
extern const eg__lua_layout *const eg__lua_layout_step;
extern const eg__lua_layout *const eg__lua_layout_onnx_save;
extern const eg__lua_layout *const eg__lua_layout_clip;
extern const eg__lua_layout *const eg__lua_layout_profile_total;
extern const eg__lua_layout *const eg__lua_layout_op_info;
extern const eg__lua_layout *const eg__lua_layout_device_info;
extern const eg__lua_layout *const eg__lua_layout_tape;
extern const eg__lua_layout *const eg__lua_layout_print;
extern const eg__lua_layout *const eg__lua_layout_decode;
extern const eg__lua_layout *const eg__lua_layout_decoded;
extern const eg__lua_layout *const eg__lua_layout_json;

/* What wrappers are made of, once their arguments have been read. Nothing raises while C holds something: places for
 * results come before the call. */
int eg__lua_fill(lua_State *L, eg_scope scope, eg_status st, eg_tensor **results, int64_t n);
int eg__lua_give_record(lua_State *L, eg_scope scope, const eg__lua_layout *layout, const void *value, int tensors);
int eg__lua_give_text(lua_State *L, FILE *stream, eg_status st, char **text, size_t *length);

#define EG__LUA_CHECK()          \
    if (eg_last_error()->code) { \
        return eg__lua_raise(L); \
    }
#define EG__LUA_STATUS(st)       \
    if (st) {                    \
        return eg__lua_raise(L); \
    }
#define EG__LUA_BEGIN(arguments)        \
    if (lua_gettop(L) != (arguments)) { \
        eg__lua_fit(L, arguments);      \
    }                                   \
    eg__lua_here(L)->L = L;
/* Sizes that come one by one, x:reshape(3, 2), are a list. */
#define EG__LUA_SIZES(at)                                                         \
    if (lua_type(L, (at) + 1) == LUA_TNUMBER && lua_type(L, at) == LUA_TNUMBER) { \
        eg__lua_gather(L, at);                                                    \
    }
#define EG__LUA_LET_OTHERS(statement) \
    eg__lua_unlock(eg__lua_here(L));  \
    statement eg__lua_relock(L);
#define EG__LUA_TENSOR(call)                               \
    eg__lua_box *box_ = eg__lua_slot(L);                   \
    for (bool again_ = true;; again_ = false) {            \
        eg_scope scope_ = eg_scope_push();                 \
        box_->t = eg_keep(call);                           \
        eg_scope_pop(scope_, NULL);                        \
        if (box_->t || !again_ || !eg__lua_made_room(L)) { \
            break;                                         \
        }                                                  \
    }                                                      \
    return eg__lua_finish(L, box_)
#define EG__LUA_TENSOR_THEN(call, push)  \
    eg__lua_box *box_ = eg__lua_slot(L); \
    eg_scope scope_ = eg_scope_push();   \
    box_->t = eg_keep(call);             \
    eg_scope_pop(scope_, NULL);          \
    eg__lua_finish(L, box_);             \
    push;                                \
    return 2
#define EG__LUA_IN_PLACE(call)         \
    eg_scope scope_ = eg_scope_push(); \
    bool well_ = call != NULL;         \
    eg_scope_pop(scope_, NULL);        \
    if (!well_) {                      \
        return eg__lua_raise(L);       \
    }                                  \
    lua_pushvalue(L, 1);               \
    return 1
/* And the tensors that the call leaves at n addresses, those that are not NULL. */
#define EG__LUA_TENSOR_AND(call, wanted, n)               \
    eg__lua_box *box_ = eg__lua_slot(L);                  \
    int first_ = lua_gettop(L);                           \
    eg__lua_slots_for(L, wanted, n);                      \
    eg_scope scope_ = eg_scope_push();                    \
    box_->t = eg_keep(call);                              \
    eg__lua_keep_wanted(L, first_ + 1, wanted, n);        \
    eg_scope_pop(scope_, NULL);                           \
    for (int at_ = first_; at_ <= lua_gettop(L); at_++) { \
        eg__lua_finish(L, lua_touserdata(L, at_));        \
    }                                                     \
    return lua_gettop(L) - first_ + 1
#define EG__LUA_TENSORS(call, results, n)      \
    eg__lua_box *boxes_[n];                    \
    for (int k_ = 0; k_ < n; k_++) {           \
        boxes_[k_] = eg__lua_slot(L);          \
    }                                          \
    eg_scope scope_ = eg_scope_push();         \
    eg_status st_ = call;                      \
    for (int k_ = 0; !st_ && k_ < n; k_++) {   \
        boxes_[k_]->t = eg_keep(*results[k_]); \
    }                                          \
    eg_scope_pop(scope_, NULL);                \
    EG__LUA_STATUS(st_)                        \
    return n
/* The first argument, and where it is wanted a handle that the call made; after a failure the collector has that. */
#define EG__LUA_STATUS_AND(call, type, made, wanted)                  \
    eg__lua_hold *hold_ = wanted ? eg__lua_new_hold(L, &type) : NULL; \
    eg_status st_ = call;                                             \
    if (hold_ && made) {                                              \
        hold_->p = made;                                              \
        eg__lua_own(L, hold_);                                        \
    }                                                                 \
    EG__LUA_STATUS(st_)                                               \
    lua_pushvalue(L, 1);                                              \
    if (!hold_) {                                                     \
        return 1;                                                     \
    }                                                                 \
    lua_insert(L, -2);                                                \
    return 2
#define EG__LUA_ARRAY(call, results, n)  \
    lua_createtable(L, (int)n, 0);       \
    for (int64_t k_ = 0; k_ < n; k_++) { \
        eg__lua_slot(L);                 \
        lua_rawseti(L, -2, k_ + 1);      \
    }                                    \
    eg_scope scope_ = eg_scope_push();   \
    eg_status st_ = call;                \
    return eg__lua_fill(L, scope_, st_, results, n)
#define EG__LUA_RECORD(type, layout, call, tensors) \
    for (int k_ = 0; k_ < tensors; k_++) {          \
        eg__lua_slot(L);                            \
    }                                               \
    eg_clear_error();                               \
    eg_scope scope_ = eg_scope_push();              \
    type value_ = call;                             \
    return eg__lua_give_record(L, scope_, &layout, &value_, tensors)
#define EG__LUA_RECORD_AND(type, layout, call, tensors, wanted, n) \
    int first_ = lua_gettop(L) + 1;                                \
    eg__lua_slots_for(L, wanted, n);                               \
    int further_ = lua_gettop(L) - first_ + 1;                     \
    for (int k_ = 0; k_ < tensors; k_++) {                         \
        eg__lua_slot(L);                                           \
    }                                                              \
    eg_clear_error();                                              \
    eg_scope scope_ = eg_scope_push();                             \
    type value_ = call;                                            \
    eg__lua_keep_wanted(L, first_, wanted, n);                     \
    eg__lua_give_record(L, scope_, &layout, &value_, tensors);     \
    lua_insert(L, first_);                                         \
    lua_settop(L, first_ + further_);                              \
    return 1 + further_
#define EG__LUA_OWNED(type, call)                     \
    eg__lua_hold *hold_ = eg__lua_new_hold(L, &type); \
    hold_->p = call;                                  \
    return eg__lua_own(L, hold_)
#define EG__LUA_BORROWED(type, call) \
    eg_clear_error();                \
    return eg__lua_borrow(L, &type, call)
#define EG__LUA_TAKING(type, call, first, last)       \
    eg__lua_hold *hold_ = eg__lua_new_hold(L, &type); \
    eg__lua_taking(L, first, last);                   \
    EG__LUA_LET_OTHERS(hold_->p = call;)              \
    eg__lua_taken(L, first, last);                    \
    return eg__lua_own(L, hold_)
#define EG__LUA_STREAM(stream, call)                      \
    char *text_ = NULL;                                   \
    size_t length_ = 0;                                   \
    FILE *stream = open_memstream(&text_, &length_);      \
    eg_clear_error();                                     \
    eg_status st_ = stream ? (eg_status)call : EG_ENOMEM; \
    return eg__lua_give_text(L, stream, st_, &text_, &length_)

#endif
