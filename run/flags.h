/* flags.h - what the files of flags share. */
#ifndef EGRET_RUN_FLAGS_INTERNAL_H
#define EGRET_RUN_FLAGS_INTERNAL_H

#include <egret/run/flags.h>

enum { FLAGS_MOST = 256 };

/* The rows that every program has. */
typedef enum standard_flag { FLAG_HELP, FLAG_MAN, FLAG_COMPLETION, FLAG_CONFIG, STANDARD_FLAGS } standard_flag;
extern const eg_flag standard_flags[STANDARD_FLAGS];

/* Whether the names are the same, - and _ being one; of `given` the first `length` bytes count. */
bool flag_is(const char *name, const char *given, size_t length);

/* The row of that name, the table's or a standard one; NULL if there is none. */
const eg_flag *flag_find(const eg_flags *line, const char *given, size_t length);

/* A row of the table (from 0) or, behind it, a standard one that the table does not replace; NULL for one it does, and
 * for groups. */
const eg_flag *flag_at(const eg_flags *line, int i);
static inline int flag_rows(const eg_flags *line)
{
    return line->count + STANDARD_FLAGS;
}

/* Says what is wrong, with the usage; always false. `place` comes first: "--", or "FILE:3: ". */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
bool flags_refuse(const eg_flags *line, const char *format, ...);

/* Puts what was typed into the row's target, or refuses it. `place` stands before the name: "--", "file:3: ". */
bool flag_set(const eg_flags *line, const char *place, const eg_flag *f, const char *typed);

void flags_print_usage(FILE *to, const eg_flags *line);
void flags_print_help(const eg_flags *line);
void flags_print_man(const eg_flags *line);
/* False for a shell that is not known. */
bool flags_print_completion(const eg_flags *line, const char *shell);

/* Reads the file of settings and sets what it says. *status: why it could not. */
bool flags_read_file(eg_flags *line, const char *path, int *status);

/* Where the rows' words go. */
static inline FILE *flags_out(const eg_flags *line)
{
    return line->out ? line->out : stdout;
}
static inline FILE *flags_err(const eg_flags *line)
{
    return line->err ? line->err : stderr;
}

#endif
