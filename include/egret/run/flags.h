/* flags.h - the command line of a program, from one table: its help, its manual page, completion in a shell and files
 * of settings come from the same rows.
 *
 *     int64_t epochs;
 *     double rate;
 *     bool nesterov;
 *     const eg_flag table[] = {
 *         EG_FLAG_GROUP("learning"),
 *         EG_FLAG_INTEGER("epochs", &epochs, "3", 1, 1000, "passes over the training set"),
 *         EG_FLAG_REAL("lr", &rate, "1e-3", 1e-9, 10, "learning rate"),
 *         EG_FLAG_BOOL("nesterov", &nesterov, "false", "look ahead"),
 *     };
 *     eg_flags line = {.program = "digits", .about = "Reads digits.", .table = table, .count = EG_FLAG_COUNT(table)};
 *     int status;
 *     if (!eg_flags_parse(&line, argc, argv, &status)) {
 *         return status;
 *     }
 *     ...
 *     eg_flags_free(&line);
 *
 * Understood are `--name value`, `--name=value`, for a bool `--name`, `--no-name` and `--name=true|false`, and `--`:
 * all that follows are operands. In names `-` and `_` are the same. A value that itself begins with `--` needs the form
 * with `=`. Every program has also
 *
 *     --help, -h           what there is, and stop
 *     --man                the same as a manual page (man -l)
 *     --completion SHELL   what bash, zsh or fish reads to complete the names and values
 *     --config FILE        lines of `name = value`, behind # a comment; what is typed outranks them
 *
 * unless the table has a row of that name. Everything else - an unknown name, a value that is missing, malformed or out
 * of range, a flag given twice, too many or too few operands - is explained with the usage, and the status is 2. */
#ifndef EGRET_RUN_FLAGS_H
#define EGRET_RUN_FLAGS_H

#include <stdio.h>

#include <egret/base.h>
#include <egret/error.h>

EG_BEGIN_DECLS

typedef enum eg_flag_kind {
    EG_FLAG_IS_GROUP,
    EG_FLAG_IS_BOOL,
    EG_FLAG_IS_INTEGER,
    EG_FLAG_IS_REAL,
    EG_FLAG_IS_TEXT
} eg_flag_kind;

/* One row. Write it with the macros, which check the type of the target. */
typedef struct eg_flag {
    const char *name; /* without the dashes; of a group its title */
    eg_flag_kind kind;
    const char *fallback; /* the default as one would type it; NULL for none */
    const char *value;    /* what the help calls the value: "N", "DIR" (completed as a path, as FILE is) */
    const char *choices;  /* the only texts there are, with | between them; NULL: any */
    const char *help;
    union {
        struct {
            bool *into;
        } flag;
        struct {
            int64_t *into, least, most;
        } integer;
        struct {
            double *into, least, most;
        } real;
        struct {
            const char **into;
        } text;
    } as;
} eg_flag;

/* clang-format off */

/* A heading in the help, for the rows behind it. */
#define EG_FLAG_GROUP(title_)                                                                      \
    {.name = title_, .kind = EG_FLAG_IS_GROUP}

/* True or false, by default as the text says. */
#define EG_FLAG_BOOL(name_, into_, fallback_, help_)                                               \
    {.name = name_, .kind = EG_FLAG_IS_BOOL, .fallback = fallback_, .help = help_, .as.flag = {into_}}

/* True when given, else false. */
#define EG_FLAG_SWITCH(name_, into_, help_) EG_FLAG_BOOL(name_, into_, "false", help_)

/* A whole number from least to most, both allowed. */
#define EG_FLAG_INTEGER(name_, into_, fallback_, least_, most_, help_)                             \
    {.name = name_, .kind = EG_FLAG_IS_INTEGER, .fallback = fallback_, .value = "N", .help = help_, \
     .as.integer = {into_, least_, most_}}

/* A finite number from least to most, both allowed. */
#define EG_FLAG_REAL(name_, into_, fallback_, least_, most_, help_)                                \
    {.name = name_, .kind = EG_FLAG_IS_REAL, .fallback = fallback_, .value = "X", .help = help_,   \
     .as.real = {into_, least_, most_}}

/* Any text but an empty one; value_ names its kind. NULL where neither typed nor defaulted. */
#define EG_FLAG_TEXT(name_, into_, fallback_, value_, help_)                                       \
    {.name = name_, .kind = EG_FLAG_IS_TEXT, .fallback = fallback_, .value = value_, .help = help_, \
     .as.text = {into_}}

/* One of the texts of "cpu|cuda". */
#define EG_FLAG_CHOICE(name_, into_, fallback_, choices_, help_)                                   \
    {.name = name_, .kind = EG_FLAG_IS_TEXT, .fallback = fallback_, .value = choices_, .choices = choices_, \
     .help = help_, .as.text = {into_}}

/* clang-format on */

#define EG_FLAG_COUNT(table) ((int)(sizeof(table) / sizeof(table)[0]))

typedef struct eg_flags {
    const char *program; /* its name */
    const char *about;   /* one or a few sentences for the help */
    const eg_flag *table;
    int count; /* at most 256 */

    /* Words that are not flags; by default there must be none. */
    const char *operand; /* what the usage calls one, such as "FILE" */
    int least_operands, most_operands;

    FILE *out, *err; /* where the help and what is wrong are said; NULL: stdout, stderr */

    /* Set by eg_flags_parse: the operands in order, pointing into argv, which is rearranged; and what a file of
     * settings said, which texts may point into. */
    char **operands;
    int operand_count;
    char *file;
} eg_flags;

/* Puts every row's default or given value into its target. Returns true if the program should go on; false if it
 * should return *status: 0 after a help, 1 where memory or the file of settings failed, 2 after a mistake. Texts point
 * into argv, the table, or the file: they live until eg_flags_free. After false all targets have their defaults. */
EG_API bool eg_flags_parse(eg_flags *line, int argc, char **argv, int *status);
/* Frees what a file of settings said, no more. */
EG_API void eg_flags_free(eg_flags *line);

/* Writes the values there are now as a file of settings, for --config, with the help as comments; texts that are NULL,
 * and those with ends of lines, are left out. As io.h says of writers. */
EG_API eg_status eg_flags_save(const eg_flags *line, const char *path);

EG_END_DECLS

#endif
