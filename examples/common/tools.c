/* tools.c - see tools.h. */
#include "tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <egret/error.h>

int tool_run(const eg_flags *line, const tool_command *commands, int count, const void *options)
{
    const tool_command *c = NULL;
    for (int i = 0; i < count && !c; i++) {
        c = strcmp(commands[i].name, line->operands[0]) ? NULL : &commands[i];
    }
    if (!c) {
        fprintf(stderr, "%s: there is no %s\n", line->program, line->operands[0]);
        return 2;
    }
    if (line->operand_count != c->files + 1) {
        fprintf(stderr, "%s: %s takes %d file%s\n", line->program, c->name, c->files, c->files == 1 ? "" : "s");
        return 2;
    }
    eg_clear_error();
    const eg_status st = c->run(line->operands + 1, options);
    return st && eg_last_error()->code ? eg_error_print(stderr) : st != EG_OK;
}

const char *tool_shape(eg_shape s, char *to)
{
    int n = sprintf(to, "[");
    for (int i = 0; i < s.ndim; i++) {
        n += s.dim[i] < 0 ? sprintf(to + n, "%s?", i ? ", " : "")
                          : sprintf(to + n, "%s%lld", i ? ", " : "", (long long)s.dim[i]);
    }
    sprintf(to + n, "]");
    return to;
}

char *tool_string(const eg_tensor *text)
{
    const size_t n = text ? (size_t)eg_numel(text) : 0;
    char *s = text ? malloc(n + 1) : NULL;
    if (s) {
        memcpy(s, n ? eg_data(text) : "", n);
        s[n] = '\0';
    } else if (text) {
        eg_fail(EG_ENOMEM, "text", "out of memory for a text");
    }
    return s;
}

const char *tool_named(const char *file, const char *words, char to[TOOL_NAME])
{
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
    snprintf(to, TOOL_NAME, "%.*s%s", (int)strcspn(name, "."), name, words);
    return to;
}
