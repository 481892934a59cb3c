/* tools.h - what programs share: commands with files behind them, shapes in words, texts as strings. */
#ifndef EXAMPLES_TOOLS_H
#define EXAMPLES_TOOLS_H

#include <egret/run/flags.h>
#include <egret/tensor.h>

typedef struct tool_command {
    const char *name;
    /* A failure without words is an answer too: "they differ". */
    eg_status (*run)(char *const *paths, const void *options);
    int files; /* how many it takes */
} tool_command;

/* Runs the command that the line's first operand names: the program's exit status, 2 with words if there is none or it
 * takes another number of files. */
int tool_run(const eg_flags *line, const tool_command *commands, int count, const void *options);

/* A text with a 0 behind it, for free(); NULL for a NULL, and where there is no memory, with EG_ENOMEM on record. */
char *tool_string(const eg_tensor *text);

/* The name of a file without its folder and ending, and the words: "photo-found.png" of "some/photo.jpg". */
enum { TOOL_NAME = 256 };
const char *tool_named(const char *file, const char *words, char to[TOOL_NAME]);

/* "[64, 3, ?, 7]", with ? for a size below 0, into 200 bytes. */
const char *tool_shape(eg_shape s, char *to);

#endif
