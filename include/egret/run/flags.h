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
 * Understood are `--name value` and `--name=value`; for a bool `--name`, `--no-name`, `--noname`, `--name=VALUE` and
 * `--name true`, `--name false`; and `--`: all that follows are operands. One dash does as well as two, and in names
 * `-` and `_` are the same. A value that itself begins with `--` needs the form with `=`. Bools are true, t, yes, y,
 * on, 1, and false, f, no, n, off, 0; these and the texts of a choice are accepted in upper and lower case. An integer
 * may also be written as a float without a fraction: 32.0, 1e2. Every program has also
 *
 *     --help, -h           what there is, and stop
 *     --man                the same as a manual page (man -l)
 *     --completion SHELL   what bash, zsh or fish reads to complete the names and values
 *     --config FILE        lines of `name = value`, behind # a comment; what is typed outranks them
 *     --flagfile FILE      a file of flags, one per line, read in place of this flag, as absl and gflags do
 *
 * unless the table has a row of that name. Everything else - an unknown name, a value that is missing, malformed or out
 * of range, a flag given twice, too many or too few operands - is explained with the usage, and the status is 2.
 *
 * A line of a flag file is a flag with its value, `--name=value` or `--name value`, an operand, or another
 * `--flagfile`; blank lines and lines that begin with # or // are skipped. Its flags count from where --flagfile
 * stands: of a flag that occurs in a file and again later, in a file or on the command line, the later one counts.
 * Files may be nested 8 deep; a command line reads at most 64 of them, of 1 MiB together.
 *
 * A program that takes the place of another one accepts the other's flags by a second table:
 *
 *     const eg_flag_alias aliases[] = {
 *         EG_FLAG_ALIAS("learning_rate", "lr"),
 *         EG_FLAG_ALIAS_VALUE("use_fp16", "precision", "f16"),
 *         EG_FLAG_IGNORED_BOOL("xla", "there is no graph compiler"),
 *     };
 *
 * --help names them in a line of their own. A flag that is ignored costs one line of warning. */
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

/* One of the texts of "cpu|cuda"; without a default an empty text is the same as none. */
#define EG_FLAG_CHOICE(name_, into_, fallback_, choices_, help_)                                   \
    {.name = name_, .kind = EG_FLAG_IS_TEXT, .fallback = fallback_, .value = choices_, .choices = choices_, \
     .help = help_, .as.text = {into_}}

/* clang-format on */

#define EG_FLAG_COUNT(table) ((int)(sizeof(table) / sizeof(table)[0]))

/* A flag of another program that is accepted too. Write it with the macros. A name that the main table has as well is
 * the main table's. */
typedef struct eg_flag_alias {
    const char *name;
    const char *flag;   /* the row that it sets; NULL: it is ignored */
    const char *value;  /* the alias is a bool that gives the row this value where it is true; NULL: as typed */
    const char *reason; /* why it is ignored, for the warning */
    bool is_bool;       /* ignored, and without a value of its own in the next word */
} eg_flag_alias;

/* clang-format off */

/* Another name of a row. */
#define EG_FLAG_ALIAS(name_, flag_)                {.name = name_, .flag = flag_}
/* A bool that, where it is true, is the same as the row with this value. */
#define EG_FLAG_ALIAS_VALUE(name_, flag_, value_)  {.name = name_, .flag = flag_, .value = value_}
/* Accepted with any value, also an empty one, and ignored with a warning: "--NAME is ignored: REASON". */
#define EG_FLAG_IGNORED(name_, reason_)            {.name = name_, .reason = reason_}
/* The same of a bool. */
#define EG_FLAG_IGNORED_BOOL(name_, reason_)       {.name = name_, .reason = reason_, .is_bool = true}

/* clang-format on */

/* The text of the files that a command line named; opaque. */
typedef struct eg_flags_text eg_flags_text;

typedef struct eg_flags {
    const char *program; /* its name */
    const char *about;   /* one or a few sentences for the help */
    const eg_flag *table;
    int count; /* at most 256 */

    /* Words that are not flags; by default there must be none. */
    const char *operand; /* what the usage calls one, such as "FILE" */
    int least_operands, most_operands;

    FILE *out, *err; /* where the help and what is wrong are said; NULL: stdout, stderr */

    /* Set by eg_flags_parse: the operands in order, pointing into argv, which is rearranged; and what texts may point
     * into that is neither argv nor the table. */
    char **operands;
    int operand_count;
    eg_flags_text *texts;

    const eg_flag_alias *aliases;
    int alias_count;
    /* Read the rows of this table out of the command line of a larger one: other flags are skipped, operands are not
     * counted, and --help, --man and --completion do nothing. */
    bool known_only;
} eg_flags;

/* Puts every row's default or given value into its target. Returns true if the program should go on; false if it
 * should return *status: 0 after a help, 1 where memory or a file failed, 2 after a mistake. Texts point into argv, the
 * table, or what eg_flags_free frees. After false all targets have their defaults. */
EG_API bool eg_flags_parse(eg_flags *line, int argc, char **argv, int *status);
/* Frees the texts of files and of choices, no more. */
EG_API void eg_flags_free(eg_flags *line);

/* Writes the values there are now as a file of settings, for --config, with the help as comments; texts that are NULL,
 * and those with ends of lines, are left out. As io.h says of writers. */
EG_API eg_status eg_flags_save(const eg_flags *line, const char *path);

EG_END_DECLS

#endif
