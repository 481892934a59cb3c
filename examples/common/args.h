/* args.h - the command line of an example program, from one table.
 *
 *     int64_t epochs;
 *     double rate;
 *     bool smoke;
 *     const arg table[] = {
 *         ARG_INTEGER("epochs", &epochs, "3", 1, 1000, "passes over the training set"),
 *         ARG_REAL("lr", &rate, "1e-3", 1e-9, 10, "learning rate"),
 *         ARG_FLAG("smoke", &smoke, "a few steps only, to see that all is well"),
 *     };
 *     args line = {"digits", "Trains a small network on digits.", table, ARG_COUNT(table)};
 *     int status;
 *     if (!args_parse(&line, argc, argv, &status)) {
 *         return status;
 *     }
 *
 * Understood: `--name value`, `--name=value`, `--flag`, `--` (all that follows are operands),
 * `--help` and `-h`. A value that itself begins with `--` needs the form with `=`. Everything else
 * - an unknown option, a missing, malformed or out-of-range value, an option given twice, too many
 * or too few operands - is explained on stderr with the usage, and the status is 2. */
#ifndef EXAMPLES_ARGS_H
#define EXAMPLES_ARGS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum arg_type { ARG_IS_FLAG, ARG_IS_INTEGER, ARG_IS_REAL, ARG_IS_TEXT } arg_type;

/* One option. Write rows with the ARG_... macros below: they check the type of the target. */
typedef struct arg {
    const char *name; /* without the dashes */
    arg_type type;
    const char *fallback; /* the default as one would type it; NULL for none */
    const char *value;    /* what --help calls the value: "N", "DIR" */
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
} arg;

/* clang-format off */

/* true when given, else false. */
#define ARG_FLAG(name_, into_, help_)                                                              \
    {.name = name_, .type = ARG_IS_FLAG, .help = help_, .as.flag = {into_}}

/* A whole number from least to most, both allowed. */
#define ARG_INTEGER(name_, into_, fallback_, least_, most_, help_)                                 \
    {.name = name_, .type = ARG_IS_INTEGER, .fallback = fallback_, .value = "N", .help = help_,    \
     .as.integer = {into_, least_, most_}}

/* A finite number from least to most, both allowed. */
#define ARG_REAL(name_, into_, fallback_, least_, most_, help_)                                    \
    {.name = name_, .type = ARG_IS_REAL, .fallback = fallback_, .value = "X", .help = help_,       \
     .as.real = {into_, least_, most_}}

/* Any text but an empty one; value_ names its kind. NULL where neither typed nor defaulted. */
#define ARG_TEXT(name_, into_, fallback_, value_, help_)                                           \
    {.name = name_, .type = ARG_IS_TEXT, .fallback = fallback_, .value = value_, .help = help_,    \
     .as.text = {into_}}

/* clang-format on */

#define ARG_COUNT(table) ((int)(sizeof(table) / sizeof(table)[0]))

typedef struct args {
    const char *program; /* its name */
    const char *about;   /* one or a few sentences for --help */
    const arg *table;
    int count;

    /* Words that are not options; by default there must be none. */
    const char *operand; /* what usage calls one, such as "FILE" */
    int least_operands, most_operands;

    /* Set by args_parse: the operands in order, pointing into argv, which is rearranged. */
    char **operands;
    int operand_count;
} args;

/* Puts every option's default or typed value into its target. Returns true if the program should
 * go on; false if it should return *status: 0 after --help (on stdout), 2 after a mistake (on
 * stderr). Texts point into argv or the table. */
bool args_parse(args *line, int argc, char **argv, int *status);

#endif
