/* library.h - other people's libraries, opened when something first needs them: whoever links this one then brings
 * none of them along, and a machine without one lacks only what it was for. */
#ifndef EGRET_LIBRARY_H
#define EGRET_LIBRARY_H

#include "lib/core/error.h"

enum { EG__LIBRARY_MOST = 64 }; /* functions of one */

typedef struct eg__library {
    const char *title;    /* for messages */
    const char *files[3]; /* what it may be called, the best first; then NULL */
    const char *const *names;
    int nnames;
    void *functions;     /* nnames pointers, for the functions of these names */
    const char *package; /* of Debian's that has it; NULL: who looks for it knows more to say */
    _Atomic bool open;
} eg__library;

/* dlopen with RTLD_NOW and these flags; NULL: eg__shared_error gives the reason. A statically linked program opens
 * nothing: a shared library would bring a second C library, which does not work beside the program's own. */
void *eg__shared_open(const char *file, int flags);
const char *eg__shared_error(void);

/* `name.f(...)` calls the function f, one of FUNCTIONS(X), once eg__library_open(&name_library, op) has succeeded.
 * The headers that declare them are included before; the rest is title, files and package. */
#define EG__LIBRARY(name, FUNCTIONS, ...) \
    static struct {                       \
        FUNCTIONS(EG__LIBRARY_MEMBER)     \
    } name;                               \
    EG__LIBRARY_OF(name, FUNCTIONS, __VA_ARGS__)
#define EG__LIBRARY_OF(name, FUNCTIONS, ...)                                                \
    static const char *const name##_names[] = {FUNCTIONS(EG__LIBRARY_NAME)};                \
    _Static_assert(EG__COUNT(name##_names) <= EG__LIBRARY_MOST, "more room for functions"); \
    static eg__library name##_library = {                                                   \
        .names = name##_names, .nnames = EG__COUNT(name##_names), .functions = &name, __VA_ARGS__}
#define EG__LIBRARY_MEMBER(f) __typeof__(f) *f;
#define EG__LIBRARY_NAME(f)   #f,

/* Opens it, unless it is open, where the loader looks. EG_ENOKERNEL with words if it is nowhere or too old; the next
 * call looks again. It stays open. */
eg_status eg__library_open(eg__library *l, const char *op);

/* The same with a way to open a file of its own, and words for where there is none. */
typedef void *eg__library_open_file(const char *file);
typedef eg_status eg__library_missing(const eg__library *l, const char *op);
eg_status eg__library_open_by(eg__library *l, const char *op, eg__library_open_file *open_file,
                              eg__library_missing *missing);

#endif
