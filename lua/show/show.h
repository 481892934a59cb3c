/* show.h - eg.show, eg.plot, eg.heatmap, eg.sound and eg.display: pictures of what tensors hold. */
#ifndef EGRET_SHOW_H
#define EGRET_SHOW_H

#include <egret/egret.h>
#include <lua.h>

#include "terminal.h"

/* Adds the functions to the module's table, which is on top of the stack. */
int eg__lua_open_show(lua_State *L);

/* ---- for show.c, plot.c, heatmap.c and sound.c --------------------------------------------- */

int eg__lua_plot(lua_State *L);
int eg__lua_heatmap(lua_State *L);
int eg__lua_sound(lua_State *L);
int eg__lua_draw_objects(lua_State *L);

/* Pushes what eg.display was given, or returns false and pushes nothing. */
bool show_push_hook(lua_State *L);

/* An option that is a string, or NULL; it stays on the stack. */
const char *show_word(lua_State *L, int table, const char *function, const char *name);

/* The option "range", two numbers; both stay as they are if there is none. */
void show_range(lua_State *L, int table, double *low, double *high);

/* Between these C makes tensors: on the CPU, wherever the thread's are, and in a scope. Nothing raises there. */
typedef struct show_work {
    eg_scope scope;
    eg_device *before;
} show_work;
show_work show_begin(void);
void show_end(show_work work);

typedef struct show_request {
    int picture;      /* stack place of a tensor, a picture */
    int text;         /* and of the words instead */
    double scale;     /* 0: as is seen well */
    int seen;         /* pixels that is, on screens that have them */
    const char *path; /* of a file, instead of all else */
    const char *function;
} show_request;

/* Gives the text at a place of the stack to the hook at another, or to standard output if that is 0. */
void show_text(lua_State *L, int taker, int text);

/* Gives the picture to the file, the hook or the terminal, and lets go of it. */
void show_send(lua_State *L, const show_request *r, const terminal *t);

#endif
