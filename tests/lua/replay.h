/* replay.h - calls of Lua's functions from C, for the sweep through the binding (replay.py). One thread. */
#ifndef EGRET_TESTS_REPLAY_H
#define EGRET_TESTS_REPLAY_H

#include "lua/bind.h"

/* A function that goes through Lua and the one it stands for. */
typedef struct egt_alias {
    eg_tensor *(*lua)(eg_tensor *), *(*c)(eg_tensor *);
} egt_alias;
extern const egt_alias egt_aliases[];

/* Begins a call of eg.<name>; the pushes are its arguments, in order. */
void egt_begin(const char *name);
void egt_push_tensor(const eg_tensor *t);
void egt_push_tensors(eg_tensor *const *t, int n);
void egt_push_number(double value);
void egt_push_integer(int64_t value);
void egt_push_boolean(bool value);
void egt_push_string(const char *value);
void egt_push_enum(const eg__lua_enumeration *e, int value);
void egt_push_shape(eg_shape shape);
void egt_push_axes(eg_axes axes);
void egt_push_integers(const int64_t *values, int64_t n);
/* A table of what is not zero. */
void egt_push_record(const eg__lua_layout *layout, const void *record);

/* Calls; false: an error, which is on record. */
bool egt_call(int results);
/* Result k as a tensor of the current scope; the only one's elements; its field. */
void egt_take(eg_tensor **to, int k);
void egt_take_list(eg_tensor **to, int64_t n);
void egt_take_field(eg_tensor **to, const char *name);
void egt_end(void);

#endif
