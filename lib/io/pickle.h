/* pickle.h - what a pickle of Python's says (protocols 2 to 5, as Lib/pickletools.py has them): values, of which
 * nothing is ever run. */
#ifndef EGRET_PICKLE_H
#define EGRET_PICKLE_H

#include "lib/io/file.h"

typedef enum eg__pickle_kind {
    EG__PICKLE_NONE,
    EG__PICKLE_BOOL,
    EG__PICKLE_INT,
    EG__PICKLE_FLOAT,
    EG__PICKLE_TEXT,  /* of whatever bytes */
    EG__PICKLE_BYTES, /* or an int beyond i64 */
    EG__PICKLE_TUPLE,
    EG__PICKLE_LIST,
    EG__PICKLE_DICT, /* items are key, value, key, value ... */
    EG__PICKLE_SET,
    EG__PICKLE_GLOBAL, /* a row of the world's table */
    EG__PICKLE_OBJECT, /* of the world's making */
} eg__pickle_kind;

typedef struct eg__pickle_value {
    uint8_t kind, type;       /* type: of an object, the world's */
    bool open;                /* for who walks through values: it is inside this one */
    uint32_t count, capacity; /* of items; bytes of a text */
    union {
        int64_t integer; /* of an object, what it likes */
        double real;
        int64_t text;   /* where it begins in the pickle */
        uint32_t *item; /* numbers of values */
    };
} eg__pickle_value;

typedef struct eg__pickle eg__pickle;

/* What a pickle may refer to beyond itself. */
typedef struct eg__pickle_world {
    /* The row of a name of a module; -1: there is none. */
    int (*global)(const char *module, const char *name);
    /* The value that stands for a name which is not known: one that is opaque. */
    eg_status (*unknown)(eg__pickle *p, const char *module, const char *name, uint32_t *result);
    /* Returns whether a value is opaque: operations on it return the value itself, and items set on it are dropped. */
    bool (*opaque)(const eg__pickle_value *v);
    /* The value that a row makes of a tuple of arguments, and that of a persistent id. */
    eg_status (*call)(eg__pickle *p, int64_t row, uint32_t arguments, uint32_t *result);
    eg_status (*persistent)(eg__pickle *p, uint32_t id, uint32_t *result);
    void *user;
} eg__pickle_world;

enum { EG__PICKLE_MOST = 1 << 30 }; /* values, of one or at all */

struct eg__pickle {
    const eg__source *source;
    int64_t place, size; /* where it begins there, and how many bytes there are at most */
    const eg__pickle_world *world;
    char *s; /* as much as was needed so far */
    int64_t loaded, at;
    eg__pickle_value *value;
    uint32_t count, cvalue;
    uint32_t *stack, *mark, *memo; /* memo: value + 1, or 0 */
    uint32_t nstack, cstack, nmark, cmark, nmemo, cmemo;
    int64_t bytes; /* of memory that values take */
    uint32_t root;
};

/* Reads the pickle at that place of a source, of at most `size` bytes; p->at is then how many it has. EG_EFORMAT with
 * words for what is malformed or refused. In either case to be closed. */
eg_status eg__pickle_open(eg__pickle *p, const eg__source *s, int64_t place, int64_t size,
                          const eg__pickle_world *world);
void eg__pickle_close(eg__pickle *p);

/* Fails with EG_EFORMAT at the place that was read last. */
#define eg__pickle_bad(p, ...) eg__source_bad((p)->source, (p)->place + (p)->at, __VA_ARGS__)
/* Counts memory that grows with the pickle, against what may be unpacked from the file. */
eg_status eg__pickle_takes(eg__pickle *p, int64_t bytes);
/* A new value: an empty one of its kind. */
eg_status eg__pickle_new(eg__pickle *p, eg__pickle_kind kind, uint32_t *number);
/* Puts copies of these numbers behind the items of a value. */
eg_status eg__pickle_add(eg__pickle *p, uint32_t to, const uint32_t *item, uint32_t n);

/* Whether it is of a kind that has items. */
static inline bool eg__pickle_holds(const eg__pickle_value *v)
{
    return v->kind >= EG__PICKLE_TUPLE && v->kind <= EG__PICKLE_SET;
}
/* The i-th item of a value if it has one, and of that kind; NULL without words. */
const eg__pickle_value *eg__pickle_item(const eg__pickle *p, const eg__pickle_value *v, uint32_t i,
                                        eg__pickle_kind kind);
/* Whether a text or bytes are just that. */
bool eg__pickle_is(const eg__pickle *p, const eg__pickle_value *v, const char *text);
/* Whether it is UTF-8 without a zero. */
bool eg__pickle_clean(const eg__pickle *p, const eg__pickle_value *v);

#endif
