/* pickle.c - the machine that reads pickles: opcodes, and the stack they work on. Every byte makes at most one value,
 * and what copies several is counted. */
#include "lib/io/pickle.h"
#include "lib/core/counted.h"

#include <stdlib.h>

enum { FIRST_BYTES = 1 << 16, MOST_PROTOCOL = 5 };

/* ---- bytes ------------------------------------------------------------------------------------- */

/* n bytes more, at p->s + p->at. */
static eg_status need(eg__pickle *p, int64_t n)
{
    if (n <= p->loaded - p->at) {
        return EG_OK;
    }
    if (n > p->size - p->at) {
        return eg__pickle_bad(p, "the pickle ends within an opcode");
    }
    const int64_t more = eg__min(p->size, eg__max(p->at + n, eg__max(2 * p->loaded, FIRST_BYTES)));
    char *s = eg__counted_realloc(p->s, (size_t)p->loaded, (size_t)more);
    if (!s) {
        return eg__no_memory(p->source->op, more);
    }
    p->s = s;
    eg_status st = eg__source_read(p->source, p->place + p->loaded, s + p->loaded, more - p->loaded);
    p->loaded = st ? p->loaded : more;
    return st;
}

/* A little-endian number of so many bytes. */
static eg_status take(eg__pickle *p, int bytes, uint64_t *v)
{
    eg_status st = need(p, bytes);
    *v = 0;
    for (int i = bytes; !st && i-- > 0;) {
        *v = *v << 8 | (uint8_t)p->s[p->at + i];
    }
    p->at += st ? 0 : bytes;
    return st;
}

/* ---- the stack ---------------------------------------------------------------------------------- */

static eg_status push(eg__pickle *p, uint32_t number)
{
    if (p->nstack == EG__PICKLE_MOST) {
        return eg__pickle_bad(p, "more than %d values on the stack", EG__PICKLE_MOST);
    }
    if (p->nstack == p->cstack && !eg__counted_grow(&p->stack, &p->cstack, sizeof *p->stack)) {
        return eg__no_memory(p->source->op, (int64_t)sizeof *p->stack);
    }
    p->stack[p->nstack++] = number;
    return EG_OK;
}

static eg_status push_new(eg__pickle *p, eg__pickle_value v)
{
    uint32_t number;
    eg_status st = eg__pickle_new(p, (eg__pickle_kind)v.kind, &number);
    if (!st) {
        p->value[number] = v;
        st = push(p, number);
    }
    return st;
}

/* n values above the topmost mark. */
static eg_status have(eg__pickle *p, uint32_t n)
{
    const uint32_t floor = p->nmark ? p->mark[p->nmark - 1] : 0;
    return p->nstack - floor < n ? eg__pickle_bad(p, "the stack has no %u values", n) : EG_OK;
}

/* Takes the topmost mark away and says where it was. */
static eg_status unmark(eg__pickle *p, uint32_t *from)
{
    if (!p->nmark) {
        return eg__pickle_bad(p, "no mark is on the stack");
    }
    *from = p->mark[--p->nmark];
    return EG_OK;
}

/* ---- opcodes: what each does, with an argument of the table's ------------------------------------ */

static eg_status protocol(eg__pickle *p, int unused)
{
    uint64_t v;
    (void)unused;
    eg_status st = take(p, 1, &v);
    return !st && v > MOST_PROTOCOL ? eg__pickle_bad(p, "protocol %d of pickles is unknown", (int)v) : st;
}

/* Frames only tell how much to read at once. */
static eg_status frame(eg__pickle *p, int bytes)
{
    uint64_t v;
    return take(p, bytes, &v);
}

static eg_status empty(eg__pickle *p, int kind)
{
    return push_new(p, (eg__pickle_value){.kind = (uint8_t)kind});
}

static eg_status boolean(eg__pickle *p, int v)
{
    return push_new(p, (eg__pickle_value){.kind = EG__PICKLE_BOOL, .integer = v});
}

static eg_status whole(eg__pickle *p, int bytes)
{
    uint64_t v;
    eg_status st = take(p, bytes, &v);
    int64_t i = bytes == 4 ? (int32_t)(uint32_t)v : (int64_t)v;
    return st ? st : push_new(p, (eg__pickle_value){.kind = EG__PICKLE_INT, .integer = i});
}

/* Bytes behind their number, which has so many bytes itself. */
static eg_status counted(eg__pickle *p, int bytes, eg__pickle_kind kind, eg__pickle_value *v)
{
    uint64_t n;
    eg_status st = take(p, bytes, &n);
    if (!st && (n > (uint64_t)(p->size - p->at) || n > UINT32_MAX)) {
        st = eg__pickle_bad(p, "%llu bytes are said to follow, the pickle has %lld", (unsigned long long)n,
                            (long long)(p->size - p->at));
    }
    st = st ? st : need(p, (int64_t)n);
    *v = (eg__pickle_value){.kind = (uint8_t)kind, .count = (uint32_t)n, .text = p->at};
    p->at += st ? 0 : (int64_t)n;
    return st;
}

static eg_status text(eg__pickle *p, int bytes)
{
    eg__pickle_value v;
    eg_status st = counted(p, bytes, EG__PICKLE_TEXT, &v);
    return st ? st : push_new(p, v);
}

static eg_status raw(eg__pickle *p, int bytes)
{
    eg__pickle_value v;
    eg_status st = counted(p, bytes, EG__PICKLE_BYTES, &v);
    return st ? st : push_new(p, v);
}

static eg_status long_whole(eg__pickle *p, int bytes)
{
    eg__pickle_value v;
    eg_status st = counted(p, bytes, EG__PICKLE_BYTES, &v);
    if (!st && v.count <= 8) {
        uint64_t i = 0;
        const uint32_t n = v.count;
        for (uint32_t k = n; k-- > 0;) {
            i = i << 8 | (uint8_t)p->s[v.text + k];
        }
        const uint64_t sign = n ? (uint64_t)1 << (8 * n - 1) : 0;
        v = (eg__pickle_value){.kind = EG__PICKLE_INT, .integer = (int64_t)((i ^ sign) - sign)};
    }
    return st ? st : push_new(p, v);
}

static eg_status real(eg__pickle *p, int bytes)
{
    uint64_t v;
    eg__pickle_value x = {.kind = EG__PICKLE_FLOAT};
    eg_status st = take(p, bytes, &v);
    v = __builtin_bswap64(v); /* this one is big-endian */
    memcpy(&x.real, &v, sizeof v);
    return st ? st : push_new(p, x);
}

static eg_status mark(eg__pickle *p, int unused)
{
    (void)unused;
    if (p->nmark == EG__PICKLE_MOST) {
        return eg__pickle_bad(p, "more than %d marks on the stack", EG__PICKLE_MOST);
    }
    if (p->nmark == p->cmark && !eg__counted_grow(&p->mark, &p->cmark, sizeof *p->mark)) {
        return eg__no_memory(p->source->op, (int64_t)sizeof *p->mark);
    }
    p->mark[p->nmark++] = p->nstack;
    return EG_OK;
}

static eg_status pop(eg__pickle *p, int unused)
{
    (void)unused;
    if (p->nmark && p->mark[p->nmark - 1] == p->nstack) {
        p->nmark--;
        return EG_OK;
    }
    eg_status st = have(p, 1);
    p->nstack -= !st;
    return st;
}

static eg_status pop_mark(eg__pickle *p, int unused)
{
    uint32_t from = 0;
    (void)unused;
    eg_status st = unmark(p, &from);
    p->nstack = st ? p->nstack : from;
    return st;
}

static eg_status twice(eg__pickle *p, int unused)
{
    (void)unused;
    eg_status st = have(p, 1);
    return st ? st : push(p, p->stack[p->nstack - 1]);
}

/* A value of all that is on the stack from there on. */
static eg_status gather(eg__pickle *p, uint32_t from, eg__pickle_kind kind)
{
    uint32_t number;
    const uint32_t n = p->nstack - from;
    if (kind == EG__PICKLE_DICT && n % 2) {
        return eg__pickle_bad(p, "a key without a value");
    }
    eg_status st = eg__pickle_new(p, kind, &number);
    st = st ? st : eg__pickle_add(p, number, p->stack + from, n);
    p->nstack = from;
    return st ? st : push(p, number);
}

static eg_status of_mark(eg__pickle *p, int kind)
{
    uint32_t from = 0;
    eg_status st = unmark(p, &from);
    return st ? st : gather(p, from, (eg__pickle_kind)kind);
}

static eg_status tuple_of(eg__pickle *p, int n)
{
    eg_status st = have(p, (uint32_t)n);
    return st ? st : gather(p, p->nstack - (uint32_t)n, EG__PICKLE_TUPLE);
}

/* Adds all from there on to the value in front of them. */
static eg_status add_from(eg__pickle *p, uint32_t from, int kind)
{
    const uint32_t n = p->nstack - from, floor = p->nmark ? p->mark[p->nmark - 1] : 0;
    if (from > floor && p->world->opaque(&p->value[p->stack[from - 1]])) {
        p->nstack = from;
        return EG_OK;
    }
    if (from <= floor || p->value[p->stack[from - 1]].kind != kind || (kind == EG__PICKLE_DICT && n % 2)) {
        return eg__pickle_bad(p, "items are added to what is no %s",
                              kind == EG__PICKLE_LIST   ? "list"
                              : kind == EG__PICKLE_DICT ? "dict"
                                                        : "set");
    }
    eg_status st = eg__pickle_add(p, p->stack[from - 1], p->stack + from, n);
    p->nstack = from;
    return st;
}

static eg_status add_all(eg__pickle *p, int kind)
{
    uint32_t from = 0;
    eg_status st = unmark(p, &from);
    return st ? st : add_from(p, from, kind);
}

static eg_status add_one(eg__pickle *p, int kind)
{
    const uint32_t n = kind == EG__PICKLE_DICT ? 2 : 1;
    eg_status st = have(p, n + 1);
    return st ? st : add_from(p, p->nstack - n, kind);
}

/* No number of the memo is beyond the bytes that could have put something there. */
static eg_status put_at(eg__pickle *p, uint64_t i)
{
    eg_status st = have(p, 1);
    if (!st && i >= (uint64_t)p->at) {
        return eg__pickle_bad(p, "%llu of the memo, after %lld bytes", (unsigned long long)i, (long long)p->at);
    }
    while (!st && i >= p->cmemo) {
        const uint32_t before = p->cmemo;
        if (before >= EG__PICKLE_MOST || !eg__counted_grow(&p->memo, &p->cmemo, sizeof *p->memo)) {
            return eg__no_memory(p->source->op, (int64_t)sizeof *p->memo);
        }
        memset(p->memo + before, 0, (p->cmemo - before) * sizeof *p->memo);
    }
    if (!st) {
        p->nmemo += !p->memo[i];
        p->memo[i] = p->stack[p->nstack - 1] + 1;
    }
    return st;
}

static eg_status put(eg__pickle *p, int bytes)
{
    uint64_t i;
    eg_status st = take(p, bytes, &i);
    return st ? st : put_at(p, i);
}

static eg_status memoize(eg__pickle *p, int unused)
{
    (void)unused;
    return put_at(p, p->nmemo);
}

static eg_status get(eg__pickle *p, int bytes)
{
    uint64_t i;
    eg_status st = take(p, bytes, &i);
    if (!st && (i >= p->cmemo || !p->memo[i])) {
        return eg__pickle_bad(p, "nothing is at %llu of the memo", (unsigned long long)i);
    }
    return st ? st : push(p, p->memo[i] - 1);
}

/* ---- opcodes that go beyond the pickle ------------------------------------------------------------ */

enum { MOST_WORD = 127 }; /* of a module or a name that is known */

/* Looks up a module and a name of the pickle's bytes. */
static eg_status find_global(eg__pickle *p, eg__pickle_value module, eg__pickle_value name)
{
    char words[2][MOST_WORD + 1];
    const eg__pickle_value *v[2] = {&module, &name};
    bool fits = true;
    for (int i = 0; i < 2; i++) {
        const int n = (int)eg__min(v[i]->count, MOST_WORD);
        snprintf(words[i], sizeof words[i], "%.*s", n, p->s + v[i]->text);
        fits &= strlen(words[i]) == v[i]->count;
    }
    const int row = fits ? p->world->global(words[0], words[1]) : -1;
    if (row >= 0) {
        return push_new(p, (eg__pickle_value){.kind = EG__PICKLE_GLOBAL, .integer = row});
    }
    uint32_t result;
    eg_status st = p->world->unknown(p, words[0], words[1], &result);
    return st ? st : push(p, result);
}

/* The rest of a line, without its end. */
static eg_status line(eg__pickle *p, eg__pickle_value *v)
{
    const int64_t from = p->at;
    eg_status st;
    while (!(st = need(p, 1)) && p->s[p->at] != '\n') {
        if (++p->at - from > 1024) {
            return eg__pickle_bad(p, "a name without an end");
        }
    }
    *v = (eg__pickle_value){.kind = EG__PICKLE_TEXT, .count = (uint32_t)(p->at - from), .text = from};
    p->at += !st;
    return st;
}

static eg_status global_of_lines(eg__pickle *p, int unused)
{
    eg__pickle_value module, name;
    (void)unused;
    eg_status st = line(p, &module);
    st = st ? st : line(p, &name);
    return st ? st : find_global(p, module, name);
}

static eg_status global_of_stack(eg__pickle *p, int unused)
{
    (void)unused;
    eg_status st = have(p, 2);
    if (st) {
        return st;
    }
    const eg__pickle_value module = p->value[p->stack[p->nstack - 2]], name = p->value[p->stack[p->nstack - 1]];
    p->nstack -= 2;
    return module.kind != EG__PICKLE_TEXT || name.kind != EG__PICKLE_TEXT
               ? eg__pickle_bad(p, "a global whose name is no text")
               : find_global(p, module, name);
}

static eg_status persistent(eg__pickle *p, int unused)
{
    uint32_t result;
    (void)unused;
    eg_status st = have(p, 1);
    st = st ? st : p->world->persistent(p, p->stack[--p->nstack], &result);
    return st ? st : push(p, result);
}

/* A global and the tuple of its arguments, and a dict of those with names, which only what is opaque may have. */
static eg_status call(eg__pickle *p, int names)
{
    uint32_t result;
    const uint32_t n = 2 + (uint32_t)names;
    eg_status st = have(p, n);
    if (st) {
        return st;
    }
    const uint32_t called = p->stack[p->nstack - n], arguments = p->stack[p->nstack - n + 1];
    const eg__pickle_value *f = &p->value[called];
    p->nstack -= n;
    if (p->world->opaque(f)) {
        return push(p, called);
    }
    st = names || f->kind != EG__PICKLE_GLOBAL || p->value[arguments].kind != EG__PICKLE_TUPLE
             ? eg__pickle_bad(p, "a call of what is no global, or with what is no tuple")
             : p->world->call(p, f->integer, arguments, &result);
    return st ? st : push(p, result);
}

/* Attributes of what was made: of a dict, a list, a tensor, nothing that counts here. */
static eg_status build(eg__pickle *p, int unused)
{
    (void)unused;
    eg_status st = have(p, 2);
    p->nstack -= !st;
    return st;
}

/* ---- running ------------------------------------------------------------------------------------ */

static const struct opcode {
    eg_status (*run)(eg__pickle *p, int argument);
    int argument;
} opcodes[256] = {
    [0x80] = {protocol, 0},
    [0x95] = {frame, 8},
    ['N'] = {empty, EG__PICKLE_NONE},
    [')'] = {empty, EG__PICKLE_TUPLE},
    [']'] = {empty, EG__PICKLE_LIST},
    ['}'] = {empty, EG__PICKLE_DICT},
    [0x8f] = {empty, EG__PICKLE_SET},
    [0x88] = {boolean, 1},
    [0x89] = {boolean, 0},
    ['K'] = {whole, 1},
    ['M'] = {whole, 2},
    ['J'] = {whole, 4},
    [0x8a] = {long_whole, 1},
    [0x8b] = {long_whole, 4},
    ['G'] = {real, 8},
    [0x8c] = {text, 1},
    ['X'] = {text, 4},
    [0x8d] = {text, 8},
    ['U'] = {text, 1}, /* Python 2's */
    ['T'] = {text, 4},
    ['C'] = {raw, 1},
    ['B'] = {raw, 4},
    [0x8e] = {raw, 8},
    [0x96] = {raw, 8},
    ['('] = {mark, 0},
    ['0'] = {pop, 0},
    ['1'] = {pop_mark, 0},
    ['2'] = {twice, 0},
    ['t'] = {of_mark, EG__PICKLE_TUPLE},
    ['l'] = {of_mark, EG__PICKLE_LIST},
    ['d'] = {of_mark, EG__PICKLE_DICT},
    [0x91] = {of_mark, EG__PICKLE_SET},
    [0x85] = {tuple_of, 1},
    [0x86] = {tuple_of, 2},
    [0x87] = {tuple_of, 3},
    ['a'] = {add_one, EG__PICKLE_LIST},
    ['e'] = {add_all, EG__PICKLE_LIST},
    ['s'] = {add_one, EG__PICKLE_DICT},
    ['u'] = {add_all, EG__PICKLE_DICT},
    [0x90] = {add_all, EG__PICKLE_SET},
    ['q'] = {put, 1},
    ['r'] = {put, 4},
    [0x94] = {memoize, 0},
    ['h'] = {get, 1},
    ['j'] = {get, 4},
    ['c'] = {global_of_lines, 0},
    [0x93] = {global_of_stack, 0},
    ['Q'] = {persistent, 0},
    ['R'] = {call, 0},
    [0x81] = {call, 0},
    [0x92] = {call, 1},
    ['b'] = {build, 0},
};

eg_status eg__pickle_open(eg__pickle *p, const eg__source *s, int64_t place, int64_t size,
                          const eg__pickle_world *world)
{
    *p = (eg__pickle){.source = s, .place = place, .size = size, .world = world};
    for (;;) {
        eg_status st = need(p, 1);
        if (st) {
            return st;
        }
        const uint8_t c = (uint8_t)p->s[p->at];
        if (c != '.' && !opcodes[c].run) {
            return eg__pickle_bad(p, "opcode 0x%02x is none that is read", c);
        }
        p->at++;
        if (c == '.') {
            break;
        }
        st = opcodes[c].run(p, opcodes[c].argument);
        if (st) {
            return st;
        }
    }
    if (p->nstack != 1 || p->nmark) {
        return eg__pickle_bad(p, "the pickle ends with %u values, not one", p->nstack);
    }
    p->root = p->stack[0];
    return EG_OK;
}
