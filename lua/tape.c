/* tape.c - tapes, and what is differentiated with them; ops and gradients of one's own. */
#include <string.h>

#include "lua/bind.h"

static const char tape_meta; /* addresses in the registry */
static const char anchors;

/* ---- tapes ------------------------------------------------------------------------------------------------ */

eg__lua_tape *eg__lua_tape_at(lua_State *L, int i)
{
    eg__lua_tape *t = lua_touserdata(L, i);
    if (t && lua_getmetatable(L, i)) {
        lua_rawgetp(L, LUA_REGISTRYINDEX, &tape_meta);
        bool is = lua_rawequal(L, -1, -2);
        lua_pop(L, 2);
        if (is) {
            return t;
        }
    }
    eg__lua_error(L, "bad argument #%d (a tape is expected, got %s)", i, luaL_typename(L, i));
    return NULL;
}

void eg__lua_anchor(lua_State *L)
{
    if (!eg__lua_of(L)->open_tapes) {
        return;
    }
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &anchors) != LUA_TTABLE) {
        lua_pop(L, 1);
        lua_newtable(L);
        lua_pushvalue(L, -1);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &anchors);
    }
    lua_pushvalue(L, -2);
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
    lua_pop(L, 1);
}

/* With the last one that is gone, what they may have called may go. */
static void tape_gone(eg__lua *c, lua_State *L)
{
    if (!--c->open_tapes) {
        lua_pushnil(L);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &anchors);
    }
}

static void close_tape(eg__lua *c, lua_State *L, eg__lua_tape *t)
{
    if (!t->open) {
        return;
    }
    t->open = false;
    eg_tape_close(t->tape);
    eg_clear_error(); /* it may have been closed with its scope */
    tape_gone(c, L);
}

void eg__lua_tape_used(eg__lua *c, lua_State *L, eg__lua_tape *t)
{
    if (!t->persistent) {
        close_tape(c, L, t);
    }
}

/* eg.tape{persistent = true}: starts to record. Closed by tape:close(), by the first question unless it is
 * persistent, as a variable <close>, or by the collector. */
static int tape_open(lua_State *L)
{
    EG__LUA_BEGIN(1)
    eg_tape_options o;
    eg__lua_record(L, 1, eg__lua_layout_tape, &o);
    eg__lua_tape *t = lua_newuserdatauv(L, sizeof *t, 0);
    *t = (eg__lua_tape){.persistent = o.persistent};
    eg__lua_step_begins(eg__lua_here(L), L);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &tape_meta);
    lua_setmetatable(L, -2);
    t->tape = eg_tape_open_with(&o);
    if (!t->tape.id) {
        return eg__lua_raise(L);
    }
    t->open = true;
    eg__lua_here(L)->open_tapes++;
    return 1;
}

static int tape_end(lua_State *L)
{
    close_tape(eg__lua_here(L), L, eg__lua_tape_at(L, 1));
    return 0;
}

static int tape_close(lua_State *L)
{
    EG__LUA_BEGIN(1)
    return tape_end(L);
}

static int tape_gc(lua_State *L)
{
    return eg__lua_tape_at(L, 1)->open && eg__lua_defer(L) ? 0 : tape_end(L);
}

static int tape_watch(lua_State *L)
{
    EG__LUA_BEGIN(2)
    eg__lua_tape *t = eg__lua_tape_at(L, 1);
    EG__LUA_STATUS(eg_tape_watch(t->tape, eg__lua_tensor(L, 2)))
    lua_pushvalue(L, 2);
    return 1;
}

/* tape:gradients(y, xs, {dy = , null_unconnected = }): the list of dy/dx; false stands for what is not connected. */
static int tape_gradients(lua_State *L)
{
    EG__LUA_BEGIN(4)
    eg__lua_tape *t = eg__lua_tape_at(L, 1);
    eg_tensor *y = eg__lua_tensor(L, 2);
    eg_gradients_options o;
    eg__lua_record(L, 4, eg__lua_layout_gradients, &o);
    int n;
    eg_tensor *const *xs = eg__lua_tensors(L, 3, &n);
    eg_tensor **out = eg__lua_room(L, n);
    lua_createtable(L, n, 0);
    for (int k = 0; k < n; k++) {
        eg__lua_slot(L);
        lua_rawseti(L, -2, k + 1);
    }
    eg_scope scope = eg_scope_push();
    eg_status st = eg_tape_gradients_with(t->tape, y, xs, n, out, &o);
    for (int k = 0; !st && k < n; k++) {
        lua_rawgeti(L, -1, k + 1);
        ((eg__lua_box *)lua_touserdata(L, -1))->t = eg_keep(out[k]);
        lua_pop(L, 1);
    }
    eg_scope_pop(scope, NULL);
    eg_error why = *eg_last_error();
    eg__lua_tape_used(eg__lua_here(L), L, t);
    if (st) {
        eg_fail(why.code, why.op, why.message);
        return eg__lua_raise(L);
    }
    for (int k = 0; k < n; k++) {
        if (!out[k]) {
            lua_pushboolean(L, false);
            lua_rawseti(L, -2, k + 1);
        }
    }
    return 1;
}

/* Makes one list of the tensors at 2 and behind. */
static void gather_variables(lua_State *L)
{
    int n = lua_gettop(L);
    lua_createtable(L, n, 0);
    for (int i = 2; i <= n; i++) {
        luaL_argexpected(L, eg__lua_is_tensor(L, i), i, n == 2 ? "tensor or list of tensors" : "tensor");
        lua_pushvalue(L, i);
        lua_rawseti(L, -2, i - 1);
    }
    lua_replace(L, 2);
    lua_settop(L, 2);
}

static void must_be_loss(lua_State *L, int i)
{
    if (!eg__lua_is_tensor(L, i)) {
        eg__lua_error(L, "the function must return the loss, a tensor, not %s", luaL_typename(L, i));
    }
}

/* loss, dx, ... = eg.grad(f, x, ...) or loss, gradients = eg.grad(f, {x, ...}): what f() returns first, and its
 * derivatives. Each x is a parameter, or is watched while f runs. */
static int grad(lua_State *L)
{
    eg__lua_here(L)->L = L;
    bool list = lua_gettop(L) == 2 && lua_istable(L, 2);
    luaL_argexpected(L, lua_isfunction(L, 1), 1, "function");
    luaL_argcheck(L, lua_gettop(L) > 1, 2, "tensors are expected, or a list of them: what to differentiate by");
    if (!list) {
        gather_variables(L);
    }
    int n;
    eg_tensor *const *xs = eg__lua_tensors(L, 2, &n);
    eg__lua_push_function(L, tape_open);
    lua_call(L, 0, 1);
    int tape = lua_gettop(L);
    lua_toclose(L, tape); /* whatever happens */
    for (int k = 0; k < n; k++) {
        EG__LUA_STATUS(eg_is_parameter(xs[k]) ? EG_OK : eg_tape_watch(eg__lua_tape_at(L, tape)->tape, xs[k]))
    }
    lua_pushvalue(L, 1);
    lua_call(L, 0, 1);
    must_be_loss(L, -1);
    int loss = lua_gettop(L);
    eg__lua_push_function(L, tape_gradients);
    lua_pushvalue(L, tape);
    lua_pushvalue(L, loss);
    lua_pushvalue(L, 2);
    lua_call(L, 3, 1);
    if (list) {
        return 2;
    }
    luaL_checkstack(L, n, "gradients");
    int gradients = lua_gettop(L);
    lua_pushvalue(L, loss);
    for (int k = 1; k <= n; k++) {
        lua_rawgeti(L, gradients, k);
    }
    return n + 1;
}

/* ---- optimizers with tapes ------------------------------------------------------------------------------------ */

/* The tape at `at`, or a function that makes the loss: then it is called under a tape of its own, and the loss is a
 * result. Leaves tape and loss at `at` and `at` + 1. */
static bool ready(lua_State *L, int at)
{
    if (lua_type(L, at) != LUA_TFUNCTION) {
        return false;
    }
    eg__lua_fit(L, at);
    eg__lua_push_function(L, tape_open);
    lua_call(L, 0, 1);
    eg__lua_tape *t = eg__lua_tape_at(L, -1);
    lua_insert(L, at);
    if (lua_pcall(L, 0, 1, 0)) {
        close_tape(eg__lua_of(L), L, t);
        lua_error(L);
    }
    if (!eg__lua_is_tensor(L, at + 1)) {
        close_tape(eg__lua_of(L), L, t);
        eg__lua_error(L, "the function must return the loss, a tensor, not %s", luaL_typename(L, at + 1));
    }
    eg__lua_here(L)->L = L;
    return true;
}

/* What came of a step with the tape at `at`: the loss if a function made it, else the optimizer. */
static int stepped(lua_State *L, eg_status st, int at, bool made)
{
    eg_error why = *eg_last_error();
    eg__lua_tape_used(eg__lua_here(L), L, eg__lua_tape_at(L, at));
    if (st) {
        eg_fail(why.code, why.op, why.message);
        return eg__lua_raise(L);
    }
    eg__lua_owe(eg__lua_here(L), L, 1 << 16); /* what the walk made is gone; its tape held more */
    lua_pushvalue(L, made ? at + 1 : 1);
    return 1;
}

/* f(optim, tape, loss) with the tape and the loss that are given, or are made by a function. */
static int optim_with(lua_State *L, eg_status (*f)(eg_optim *, eg_tape, eg_tensor *))
{
    EG__LUA_BEGIN(3)
    eg_optim *o = eg__lua_handle(L, 1, &eg__lua_type_optim);
    bool made = ready(L, 2);
    eg__lua_tape *t = eg__lua_tape_at(L, 2);
    return stepped(L, f(o, t->tape, eg__lua_tensor(L, 3)), 2, made);
}

static int run_loss(lua_State *L)
{
    lua_call(L, 0, 1);
    must_be_loss(L, -1);
    *(eg_tensor **)lua_touserdata(L, 1) = eg__lua_hand_over(L, -1);
    return 0;
}

static eg_tensor *loss_of(void *user)
{
    eg_tensor *loss = NULL;
    return eg__lua_visit(user, run_loss, &loss) ? NULL : loss;
}

/* By rules that call the function as often as they need, under tapes that Lua does not see: they count as one. */
static int minimize_function(lua_State *L, eg_optim *o)
{
    eg__lua_fit(L, 2);
    eg__lua *c = eg__lua_here(L);
    eg__lua_callback *f = eg__lua_new_callback(L, 2, sizeof *f);
    eg__lua_step_begins(c, L);
    eg__lua_box *box = eg__lua_slot(L);
    c->open_tapes++;
    eg_scope scope = eg_scope_push();
    box->t = eg_keep(eg_optim_minimize_function(o, loss_of, f));
    eg_scope_pop(scope, NULL);
    c->L = L;
    tape_gone(c, L);
    eg__lua_owe(c, L, 1 << 16);
    return eg__lua_finish(L, box);
}

/* optim:minimize(tape, loss), or optim:minimize(function() ... return loss end), which gives the loss. */
static int optim_minimize(lua_State *L)
{
    if (lua_isfunction(L, 2)) {
        eg_optim *o = eg__lua_handle(L, 1, &eg__lua_type_optim);
        if (eg_optim_needs_function(o)) {
            return minimize_function(L, o);
        }
    }
    return optim_with(L, eg_optim_minimize);
}

static int optim_backward(lua_State *L)
{
    return optim_with(L, eg_optim_backward);
}

/* scaler:minimize(optim, tape, loss), or with a function. */
static int scaler_minimize(lua_State *L)
{
    EG__LUA_BEGIN(4)
    eg_scaler *s = eg__lua_handle(L, 1, &eg__lua_type_scaler);
    eg_optim *o = eg__lua_handle(L, 2, &eg__lua_type_optim);
    bool made = ready(L, 3);
    eg__lua_tape *t = eg__lua_tape_at(L, 3);
    return stepped(L, eg_scaler_minimize(s, o, t->tape, eg__lua_tensor(L, 4)), 3, made);
}

/* A list of gradients, in which false and nil are left out. */
static eg_tensor **gradients(lua_State *L, int i, int count)
{
    eg_tensor **g = eg__lua_room(L, count);
    for (int k = 0; k < count; k++) {
        lua_rawgeti(L, i, k + 1);
        g[k] = lua_toboolean(L, -1) ? eg__lua_tensor(L, -1) : NULL;
        lua_pop(L, 1);
    }
    return g;
}

/* optim:step(gradients): one for each parameter, in their order; false leaves a parameter alone. */
static int optim_step(lua_State *L)
{
    EG__LUA_BEGIN(2)
    eg_optim *o = eg__lua_handle(L, 1, &eg__lua_type_optim);
    luaL_argcheck(L, lua_istable(L, 2), 2,
                  "a list of gradients is expected; optim:minimize(function() return loss end) computes them too");
    eg_tensor **g = gradients(L, 2, eg_optim_count(o));
    EG__LUA_STATUS(eg_optim_step(o, g))
    lua_pushvalue(L, 1);
    return 1;
}

/* eg.clip_grad_norm(gradients, max, options): scales them in place; the norm they had. */
static int clip_grad_norm(lua_State *L)
{
    EG__LUA_BEGIN(3)
    luaL_checktype(L, 1, LUA_TTABLE);
    int n = (int)lua_rawlen(L, 1);
    double max = luaL_checknumber(L, 2), norm = 0;
    eg_clip_options o;
    eg__lua_record(L, 3, eg__lua_layout_clip, &o);
    eg_tensor **g = gradients(L, 1, n);
    EG__LUA_STATUS(eg_clip_grad_norm_with(g, n, max, &norm, &o))
    lua_pushnumber(L, norm);
    return 1;
}

/* ---- ops of one's own ------------------------------------------------------------------------------------------- */

/* A userdata that holds its two callbacks. */
typedef struct custom_op {
    eg_custom_op op;
    eg__lua_callback *forward, *backward;
} custom_op;

typedef struct op_job {
    eg_tensor *const *inputs;
    int n;
    eg_tensor *y, *dy, **dx;
    unsigned needed;
    eg_tensor *result;
} op_job;

static void push_all(lua_State *L, eg_tensor *const *t, int n)
{
    luaL_checkstack(L, n + 4, "arguments");
    for (int k = 0; k < n; k++) {
        eg__lua_push_tensor(L, t[k]);
    }
}

/* f(inputs...): one tensor. */
static int run_forward(lua_State *L)
{
    op_job *j = lua_touserdata(L, 1);
    push_all(L, j->inputs, j->n);
    lua_call(L, j->n, 1);
    j->result = eg__lua_hand_over(L, -1);
    return 0;
}

static eg_tensor *forward(eg_tensor *const *inputs, int n, void *user)
{
    op_job j = {.inputs = inputs, .n = n};
    custom_op *c = user;
    return eg__lua_visit(c->forward, run_forward, &j) ? NULL : j.result;
}

/* backward(dy, y, inputs...): as many gradients as inputs, nil for 0. */
static int run_backward(lua_State *L)
{
    op_job *j = lua_touserdata(L, 1);
    eg__lua_push_tensor(L, j->dy);
    eg__lua_push_tensor(L, j->y);
    push_all(L, j->inputs, j->n);
    lua_call(L, j->n + 2, j->n);
    int first = lua_gettop(L) - j->n + 1;
    for (int k = 0; k < j->n; k++) {
        if (j->needed & 1u << k) {
            j->dx[k] = lua_toboolean(L, first + k) ? eg__lua_hand_over(L, first + k) : NULL;
        }
    }
    return 0;
}

static eg_status backward(eg_tensor *const *inputs, int n, eg_tensor *y, eg_tensor *dy, unsigned needed, eg_tensor **dx,
                          void *user)
{
    op_job j = {.inputs = inputs, .n = n, .y = y, .dy = dy, .dx = dx, .needed = needed};
    custom_op *c = user;
    return eg__lua_visit(c->backward, run_backward, &j);
}

/* The op as a function: f(x, ...). */
static int custom_call(lua_State *L)
{
    eg__lua_here(L)->L = L;
    custom_op *c = lua_touserdata(L, lua_upvalueindex(3));
    int n = lua_gettop(L);
    eg_tensor **inputs = eg__lua_room(L, n);
    for (int k = 0; k < n; k++) {
        inputs[k] = eg__lua_tensor(L, k + 1);
    }
    lua_pushvalue(L, lua_upvalueindex(3));
    eg__lua_anchor(L);
    EG__LUA_TENSOR(eg_custom(&c->op, inputs, n));
}

/* eg.custom{name = , forward = function(x, ...) return y end, backward = function(dy, y, x, ...) return dx, ... end}:
 * an op of one's own, with gradient, as a function. */
static int custom(lua_State *L)
{
    static const char *const names[] = {"name", "forward", "backward", NULL};
    EG__LUA_BEGIN(1)
    eg__lua_only_names(L, 1, "custom", names);
    custom_op *c = lua_newuserdatauv(L, sizeof *c, 3);
    memset(c, 0, sizeof *c);
    c->forward = eg__lua_callback_in(L, 1, "custom", "forward");
    lua_setiuservalue(L, 2, 1);
    c->backward = eg__lua_callback_in(L, 1, "custom", "backward");
    lua_setiuservalue(L, 2, 2);
    lua_getfield(L, 1, "name");
    const char *name = lua_isnil(L, -1) ? "custom" : eg__lua_string_called(L, -1, "name");
    lua_setiuservalue(L, 2, 3);
    c->op = (eg_custom_op){sizeof c->op, name, forward, backward, c};
    lua_settop(L, 2);
    lua_pushlightuserdata(L, eg__lua_here(L));
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_pushvalue(L, 2);
    lua_pushcclosure(L, custom_call, 3);
    return 1;
}

static eg_tensor *recompute(eg_tensor *const *inputs, int n, void *user)
{
    op_job j = {.inputs = inputs, .n = n};
    return eg__lua_visit(user, run_forward, &j) ? NULL : j.result;
}

/* eg.checkpoint(f, x, ...): y = f(x, ...), computed again in the backward walk instead of saved. */
static int checkpoint(lua_State *L)
{
    eg__lua_here(L)->L = L;
    int n = lua_gettop(L) - 1;
    eg__lua_callback *f = eg__lua_new_callback(L, 1, sizeof *f);
    eg__lua_anchor(L);
    eg_tensor **inputs = eg__lua_room(L, n < 0 ? 0 : n);
    for (int k = 0; k < n; k++) {
        inputs[k] = eg__lua_tensor(L, k + 2);
    }
    EG__LUA_TENSOR(eg_checkpoint(recompute, inputs, n, f));
}

/* eg.gradcheck(f, inputs, options): an error says where gradient and differences part. */
static int gradcheck(lua_State *L)
{
    EG__LUA_BEGIN(3)
    int n;
    eg_gradcheck_options o;
    eg__lua_record(L, 3, eg__lua_layout_gradcheck, &o);
    eg_tensor *const *inputs = eg__lua_tensors(L, 2, &n);
    eg__lua_callback *f = eg__lua_new_callback(L, 1, sizeof *f);
    EG__LUA_STATUS(eg_gradcheck_with(recompute, inputs, n, f, &o))
    lua_pushboolean(L, true);
    return 1;
}

/* On the stack: the module's table. */
void eg__lua_open_tape(lua_State *L)
{
    static const eg__lua_place methods[] = {
        {"", "close", tape_close},
        {"", "watch", tape_watch},
        {"", "gradients", tape_gradients},
        {0},
    };
    static const eg__lua_place functions[] = {
        {"", "tape", tape_open},
        {"", "tape_open", tape_open},
        {"", "custom", custom},
        {"", "checkpoint", checkpoint},
        {"", "grad", grad},
        {"", "gradcheck", gradcheck},
        {"", "clip_grad_norm", clip_grad_norm},
        {0},
    };
    luaL_newmetatable(L, "egret.tape");
    lua_newtable(L);
    eg__lua_set_functions(L, methods);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, "methods");
    lua_setfield(L, -2, "__index");
    eg__lua_push_function(L, tape_gc);
    lua_setfield(L, -2, "__gc");
    eg__lua_push_function(L, tape_end);
    lua_setfield(L, -2, "__close");
    lua_rawsetp(L, LUA_REGISTRYINDEX, &tape_meta);
    eg__lua_set_functions(L, functions);
    static const eg__lua_place steps[] = {
        {"optim", "minimize", optim_minimize},
        {"optim", "backward", optim_backward},
        {"optim", "step", optim_step},
        {"scaler", "minimize", scaler_minimize},
        {0},
    };
    eg__lua_set_methods(L, steps);
}
