/* plot.c - eg.plot: curves from tables and tensors; see show.h. */
#define _POSIX_C_SOURCE 200809L
#include <lauxlib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chart.h"
#include "draw/plot.h"
#include "lua/bind.h"
#include "show.h"

/* Everything it points to is on Lua's stack. */
typedef struct curves {
    plot p;
    plot_series series[PLOT_MOST_SERIES];
    const char *path; /* of a file, or NULL */
} curves;

/* ---- numbers ------------------------------------------------------------------------------- */

/* Pushes room for a curve. */
static double *push_room(lua_State *L, int64_t count)
{
    if (count < 0 || count > 100000000) {
        eg__lua_error(L, "plot: a curve is a list of numbers or a 1-D tensor, of at most 100,000,000");
    }
    return lua_newuserdatauv(L, sizeof(double) * (size_t)(count + 1), 0);
}

/* Pushes the values of a tensor, or of one of its rows unless that is below 0, converted. */
static const double *push_tensor_values(lua_State *L, eg_tensor *t, int row, int *count)
{
    int64_t n = row < 0 ? eg_numel(t) : eg_size(t, 1);
    double *values = push_room(L, n);
    *count = (int)n;
    show_work work = show_begin();
    eg_status status = eg_to_values(eg_to(row < 0 ? t : eg_select(t, 0, row), eg_cpu()), values);
    show_end(work);
    if (status != EG_OK) {
        eg__lua_raise(L);
    }
    return values;
}

/* A number, or a tensor of one: what a list of losses has in it. */
static double read_number(lua_State *L, int index)
{
    if (eg__lua_is_tensor(L, index)) {
        eg_clear_error();
        double value = eg_item(eg__lua_tensor(L, index));
        if (eg_last_error()->code) {
            eg__lua_raise(L);
        }
        return value;
    }
    if (!lua_isnumber(L, index)) {
        eg__lua_error(L, "plot: a %s among the numbers of a curve", luaL_typename(L, index));
    }
    return lua_tonumber(L, index);
}

/* Pushes a list or tensor of numbers. */
static const double *push_numbers(lua_State *L, int index, int *count)
{
    if (eg__lua_is_tensor(L, index)) {
        return push_tensor_values(L, eg__lua_tensor(L, index), -1, count);
    }
    int64_t n = lua_istable(L, index) ? (eg__lua_no_names(L, index), (int64_t)luaL_len(L, index)) : -1;
    double *values = push_room(L, n);
    *count = (int)n;
    for (int i = 0; i < *count; i++) {
        lua_geti(L, index, i + 1);
        values[i] = read_number(L, -1);
        lua_pop(L, 1);
    }
    return values;
}

/* ---- curves -------------------------------------------------------------------------------- */

/* Whether it has curves in it: a tensor with rows, or a list of lists and tensors. */
static bool is_list_of_curves(lua_State *L, int index)
{
    if (eg__lua_is_tensor(L, index)) {
        return eg_ndim(eg__lua_tensor(L, index)) == 2;
    }
    lua_geti(L, index, 1);
    bool list = lua_istable(L, -1) || (eg__lua_is_tensor(L, -1) && eg_ndim(eg__lua_tensor(L, -1)) > 0);
    lua_pop(L, 1);
    return list;
}

/* Pushes the numbers of curve k (0, 1, ...) of a list; false if there is none. */
static bool push_curve(lua_State *L, int index, int k, const double **values, int *count)
{
    if (eg__lua_is_tensor(L, index)) {
        eg_tensor *t = eg__lua_tensor(L, index);
        if (k >= eg_size(t, 0)) {
            return false;
        }
        *values = push_tensor_values(L, t, k, count);
        return true;
    }
    lua_geti(L, index, k + 1);
    if (lua_isnil(L, -1)) {
        return false;
    }
    *values = push_numbers(L, lua_gettop(L), count);
    return true;
}

static void read_values(lua_State *L, int index, curves *c)
{
    luaL_checkstack(L, 6 * PLOT_MOST_SERIES, NULL);
    c->p.series = c->series;
    if (!eg__lua_is_tensor(L, index) && !lua_istable(L, index)) {
        luaL_typeerror(L, index, "list of numbers or tensor");
    }
    if (!is_list_of_curves(L, index)) {
        c->series[0].y = push_numbers(L, index, &c->series[0].count);
        c->p.count = 1;
        return;
    }
    const double *values;
    for (int count, k = 0; push_curve(L, index, k, &values, &count); k++) {
        if (k == PLOT_MOST_SERIES) {
            eg__lua_error(L, "plot: more than %d curves in one picture", PLOT_MOST_SERIES);
        }
        c->series[k].y = values;
        c->series[k].count = count;
        c->p.count = k + 1;
    }
}

static void read_places(lua_State *L, int index, curves *c)
{
    luaL_checkstack(L, 6 * PLOT_MOST_SERIES, NULL);
    if (!eg__lua_is_tensor(L, index) && !lua_istable(L, index)) {
        eg__lua_error(L, "plot: x must be a list of numbers or a tensor");
    }
    bool list = is_list_of_curves(L, index);
    const double *values = NULL;
    int count = 0;
    for (int k = 0; k < c->p.count; k++) {
        if (!list && k == 0) {
            values = push_numbers(L, index, &count);
        } else if (list && !push_curve(L, index, k, &values, &count)) {
            eg__lua_error(L, "plot: x has no list for curve %d", k + 1);
        }
        if (count != c->series[k].count) {
            eg__lua_error(L, "plot: curve %d has %d values, and x %d", k + 1, c->series[k].count, count);
        }
        c->series[k].x = values;
    }
}

/* ---- options ------------------------------------------------------------------------------- */

static int read_size(lua_State *L, int table, const char *name)
{
    lua_Integer value = 0;
    if (lua_getfield(L, table, name) != LUA_TNIL) {
        value = lua_tointeger(L, -1);
        if (value < 100 || value > 8192) {
            eg__lua_error(L, "plot: %s must be 100 to 8192 pixels", name);
        }
    }
    lua_pop(L, 1);
    return (int)value;
}

static void read_labels(lua_State *L, int table, curves *c)
{
    int type = lua_getfield(L, table, "labels"), labels = lua_gettop(L);
    if (type == LUA_TSTRING) {
        c->series[0].name = eg__lua_string_called(L, labels, "plot: labels");
    } else if (type != LUA_TTABLE && type != LUA_TNIL) {
        eg__lua_error(L, "plot: labels must be a string or a list of them");
    }
    for (int k = 0; type == LUA_TTABLE && k < c->p.count; k++) {
        int one = lua_geti(L, labels, k + 1);
        if (one != LUA_TNIL && one != LUA_TSTRING) {
            eg__lua_error(L, "plot: labels must be strings");
        }
        if (one == LUA_TSTRING) {
            c->series[k].name = eg__lua_string_called(L, -1, "plot: one of the labels");
        }
    }
}

static void read_log(lua_State *L, int table, plot *p)
{
    int type = lua_getfield(L, table, "log");
    const char *axes = type == LUA_TSTRING ? lua_tostring(L, -1) : lua_toboolean(L, -1) ? "y" : "";
    if ((type != LUA_TSTRING && type != LUA_TBOOLEAN && type != LUA_TNIL) || axes[strspn(axes, "xy")]) {
        eg__lua_error(L, "plot: log must be true, \"x\", \"y\" or \"xy\"");
    }
    p->log_x = strchr(axes, 'x');
    p->log_y = strchr(axes, 'y');
    lua_pop(L, 1);
}

static void read_smooth(lua_State *L, int table, curves *c)
{
    if (lua_getfield(L, table, "smooth") != LUA_TNIL && !lua_isnumber(L, -1)) {
        eg__lua_error(L, "plot: smooth must be a number from 0 to below 1");
    }
    for (int k = 0; k < c->p.count; k++) {
        c->series[k].smooth = fmin(fmax(lua_tonumber(L, -1), 0), 1);
    }
    lua_pop(L, 1);
}

static void read_options(lua_State *L, int table, curves *c)
{
    static const char *const names[] = {"x",      "labels", "title",  "xlabel", "ylabel", "log",
                                        "smooth", "width",  "height", "path",   NULL};
    luaL_checkstack(L, 40, NULL);
    eg__lua_only_names(L, table, "plot", names);
    c->p.title = show_word(L, table, "plot", "title");
    c->p.x_label = show_word(L, table, "plot", "xlabel");
    c->p.y_label = show_word(L, table, "plot", "ylabel");
    c->path = show_word(L, table, "plot", "path");
    c->p.width = read_size(L, table, "width");
    c->p.height = read_size(L, table, "height");
    read_labels(L, table, c);
    read_log(L, table, &c->p);
    read_smooth(L, table, c);
}

/* eg.plot(y), eg.plot(x, y), each perhaps with options behind. */
static void read_arguments(lua_State *L, curves *c)
{
    bool with_x = eg__lua_is_tensor(L, 2) || (lua_istable(L, 2) && lua_rawlen(L, 2) > 0);
    int options = with_x ? 3 : 2;
    read_values(L, with_x ? 2 : 1, c);
    if (!lua_isnil(L, options)) {
        read_options(L, options, c);
        if (!with_x && lua_getfield(L, options, "x") != LUA_TNIL) {
            read_places(L, lua_gettop(L), c);
        }
    }
    if (with_x) {
        read_places(L, 1, c);
    }
}

/* ---- drawing ------------------------------------------------------------------------------- */

#ifdef DRAW_PICTURES
static const bool draws_pictures = true;

/* Pushes the drawn picture. */
static eg_status push_picture(lua_State *L, const plot *p)
{
    eg__lua_box *box = eg__lua_slot(L);
    show_work work = show_begin();
    font *f = font_if_any();
    canvas *c = plot_draw(p, f);
    box->t = c ? eg_keep(eg_from(EG_SHAPE(c->height, c->width, 3), EG_U8, c->pixels)) : NULL;
    show_end(work);
    canvas_free(c);
    font_free(f);
    return box->t ? EG_OK : eg_last_error()->code;
}
#else
static const bool draws_pictures = false;

static eg_status push_picture(lua_State *L, const plot *p)
{
    (void)L, (void)p;
    return eg_fail(EG_ENOKERNEL, "plot", "this build draws no pictures");
}
#endif

/* Pushes the chart of characters as a string. */
static eg_status push_chart(lua_State *L, const plot *p)
{
    char *text = NULL;
    size_t bytes = 0;
    eg__lua_box *box = eg__lua_slot(L); /* keeps the text while Lua makes its own of it */
    FILE *stream = open_memstream(&text, &bytes);
    show_work work = show_begin();
    eg_status st = stream ? chart_write(stream, p, 80, 16, 0) : EG_OK;
    if (!stream || fclose(stream) != 0) {
        st = st ? st : eg_fail(EG_ENOMEM, "plot", "out of memory for a chart");
    }
    box->t = !st ? eg_keep(eg_from(EG_SHAPE((int64_t)bytes), EG_U8, text)) : NULL;
    show_end(work);
    free(text);
    if (box->t) {
        while (bytes > 0 && ((const char *)eg_data(box->t))[bytes - 1] == '\n') {
            bytes--;
        }
        lua_pushlstring(L, eg_data(box->t), bytes);
        lua_remove(L, -2);
    }
    return box->t ? EG_OK : eg_last_error()->code;
}

static void plot_as_chart(lua_State *L, const plot *p, const terminal *t)
{
    enum { COLUMNS_MOST = 100, ROWS = 16 };
    int columns = t->columns - 1 < COLUMNS_MOST ? t->columns - 1 : COLUMNS_MOST;
    if (chart_write(stdout, p, columns, ROWS < t->rows - 4 ? ROWS : 8, t->colours)) {
        eg__lua_raise(L);
    }
    fflush(stdout);
}

int eg__lua_plot(lua_State *L)
{
    terminal t;
    EG__LUA_BEGIN(3)
    curves *c = memset(lua_newuserdatauv(L, sizeof *c, 0), 0, sizeof *c);
    read_arguments(L, c);
    if (terminal_look(&t, stdout)) {
        return eg__lua_raise(L);
    }
    int hook = show_push_hook(L) ? lua_gettop(L) : 0;
    if (!c->path && !hook && (!draws_pictures || t.way == TERMINAL_WORDS || t.way == TERMINAL_BLOCKS)) {
        plot_as_chart(L, &c->p, &t);
        return 0;
    }
    if (push_chart(L, &c->p)) {
        return eg__lua_raise(L);
    }
    show_request r = {.text = lua_gettop(L), .scale = 1, .path = c->path, .function = "plot"};
    if (!draws_pictures && !c->path) {
        show_text(L, hook, r.text);
        return 0;
    }
    c->p.width = c->p.width ? c->p.width : 960;
    c->p.height = c->p.height ? c->p.height : c->p.width * 3 / 5;
    if (push_picture(L, &c->p)) {
        return eg__lua_raise(L);
    }
    r.picture = lua_gettop(L);
    show_send(L, &r, &t);
    return 0;
}
