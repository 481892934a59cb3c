/* flags.h - what the files of flags share. */
#ifndef EGRET_RUN_FLAGS_INTERNAL_H
#define EGRET_RUN_FLAGS_INTERNAL_H

#include <egret/run/flags.h>

enum { FLAGS_MOST = 256 };

/* The rows that every program has. */
typedef enum standard_flag {
    FLAG_HELP,
    FLAG_MAN,
    FLAG_COMPLETION,
    FLAG_CONFIG,
    FLAG_FLAGFILE,
    STANDARD_FLAGS
} standard_flag;
extern const eg_flag standard_flags[STANDARD_FLAGS];

/* Whether the names are the same, - and _ being one; of `given` the first `length` bytes count. */
bool flag_is(const char *name, const char *given, size_t length);

/* The row of that name, the table's or a standard one; NULL if there is none. */
const eg_flag *flag_find(const eg_flags *line, const char *given, size_t length);

/* Result of looking up a name: a row, an alias of a row, an ignored flag (an alias without a row), or neither if the
 * name is unknown. */
typedef struct flag_match {
    const eg_flag *flag;
    const eg_flag_alias *alias;
} flag_match;
flag_match flag_look_up(const eg_flags *line, const char *given, size_t length);

/* Returns whether the flag is a bool, which takes no value from the next word. */
bool flag_is_bool(flag_match m);

/* A row of the table (from 0) or, behind it, a standard one that the table does not replace; NULL for one it does, and
 * for groups. */
const eg_flag *flag_at(const eg_flags *line, int i);
static inline int flag_rows(const eg_flags *line)
{
    return line->count + STANDARD_FLAGS;
}

/* Says what is wrong, with the usage; always false. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
bool flags_refuse(const eg_flags *line, const char *format, ...);

/* Memory that eg_flags_free frees; NULL, with a message and *status 1, where there is none. */
void *flags_keep(eg_flags *line, size_t size, int *status);

/* Puts what was typed into the row's target, or refuses it. `place` stands before the name: "--", "file:3: ". */
bool flag_set(eg_flags *line, const char *place, const eg_flag *f, const char *typed, int *status);
/* A bool in any of its spellings; false: it is none. */
bool flag_read_bool(const char *typed, bool *into);

/* The same of what a name stands for. *row: the row that got a value, NULL if none did. */
bool flag_set_match(eg_flags *line, const char *place, flag_match m, const char *typed, const eg_flag **row,
                    int *status);

/* The words of a command line. files: where each word of a flag file comes from; NULL: there is no such file. */
typedef struct flag_origin {
    const char *file; /* NULL: the command line */
    int line;
} flag_origin;
typedef struct flag_words {
    char **texts;
    const flag_origin *origins;
    int count;
} flag_words;

/* Words with the flag files among them read; argv itself if there are none. */
bool flags_expand(eg_flags *line, int argc, char **argv, flag_words *words, int *status);

void flags_print_usage(FILE *to, const eg_flags *line);
void flags_print_help(const eg_flags *line);
void flags_print_man(const eg_flags *line);
/* False for a shell that is not known. */
bool flags_print_completion(const eg_flags *line, const char *shell);

/* The text of a file of at most so many bytes, kept; NULL, with a message and *status, where it cannot be read. */
char *flags_read_text(eg_flags *line, const char *path, size_t most, size_t *length, int *status);
/* Without the white space around it; ends it there. */
char *flags_trim(char *text);

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
