/* flags_complete.c - what shells read to complete the names of flags and their values. */
#include <ctype.h>
#include <string.h>

#include "run/flags.h"

/* How a value is completed. */
typedef enum value_kind { NO_VALUE, FROM_CHOICES, FROM_FOLDERS, FROM_FILES, FROM_NOTHING } value_kind;

static value_kind kind_of(const eg_flag *f)
{
    return f->kind == EG_FLAG_IS_BOOL                      ? NO_VALUE
           : f->choices                                    ? FROM_CHOICES
           : f->value && strcmp(f->value, "DIR") == 0      ? FROM_FOLDERS
           : f->value && strncmp(f->value, "FILE", 4) == 0 ? FROM_FILES
                                                           : FROM_NOTHING;
}

/* The program's name as a function may be called. */
static void print_identifier(FILE *to, const char *program)
{
    for (; *program; program++) {
        fputc(isalnum((unsigned char)*program) ? *program : '_', to);
    }
}

/* Without what would end a quotation of this kind. */
static void print_without(FILE *to, const char *text, const char *taboo)
{
    for (; *text; text++) {
        fputc(strchr(taboo, *text) ? ' ' : *text, to);
    }
}

static void print_choices(FILE *to, const char *choices)
{
    for (; *choices; choices++) {
        fputc(*choices == '|' ? ' ' : *choices, to);
    }
}

/* ---- bash ---- */

static void print_bash(FILE *to, const eg_flags *line)
{
    fputs("_", to);
    print_identifier(to, line->program);
    fputs("() {\n    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n    case $before in\n",
          to);
    for (int i = 0; i < flag_rows(line); i++) {
        const eg_flag *f = flag_at(line, i);
        value_kind kind = f ? kind_of(f) : NO_VALUE;
        if (kind == NO_VALUE) {
            continue;
        }
        fprintf(to, "    --%s) ", f->name);
        if (kind == FROM_CHOICES) {
            fputs("COMPREPLY=($(compgen -W '", to);
            print_choices(to, f->choices);
            fputs("' -- \"$word\")); return ;;\n", to);
        } else {
            fprintf(to, "COMPREPLY=(%s); return ;;\n",
                    kind == FROM_FOLDERS ? "$(compgen -d -- \"$word\")"
                    : kind == FROM_FILES ? "$(compgen -f -- \"$word\")"
                                         : "");
        }
    }
    fputs("    esac\n    case $word in\n    -*) COMPREPLY=($(compgen -W '", to);
    for (int i = 0; i < flag_rows(line); i++) {
        const eg_flag *f = flag_at(line, i);
        if (f) {
            fprintf(to, "--%s ", f->name);
        }
    }
    fprintf(to, "' -- \"$word\")) ;;\n    *) COMPREPLY=(%s) ;;\n    esac\n}\ncomplete -o filenames -F _",
            line->most_operands ? "$(compgen -f -- \"$word\")" : "");
    print_identifier(to, line->program);
    fprintf(to, " %s\n", line->program);
}

/* ---- zsh ---- */

static void print_zsh(FILE *to, const eg_flags *line)
{
    fprintf(to, "#compdef %s\n_arguments", line->program);
    for (int i = 0; i < flag_rows(line); i++) {
        const eg_flag *f = flag_at(line, i);
        if (!f) {
            continue;
        }
        value_kind kind = kind_of(f);
        fprintf(to, " \\\n    '--%s[", f->name);
        print_without(to, f->help, "'[]");
        fputs("]", to);
        if (kind == FROM_CHOICES) {
            fputs(":value:(", to);
            print_choices(to, f->choices);
            fputs(")", to);
        } else if (kind != NO_VALUE) {
            fputs(kind == FROM_FOLDERS ? ":folder:_files -/" : kind == FROM_FILES ? ":file:_files" : ":value: ", to);
        }
        fputc('\'', to);
    }
    fputs(line->most_operands ? " \\\n    '*:file:_files'\n" : "\n", to);
}

/* ---- fish ---- */

static void print_fish(FILE *to, const eg_flags *line)
{
    fprintf(to, "complete -c %s %s\n", line->program, line->most_operands ? "-F" : "-f");
    for (int i = 0; i < flag_rows(line); i++) {
        const eg_flag *f = flag_at(line, i);
        if (!f) {
            continue;
        }
        value_kind kind = kind_of(f);
        fprintf(to, "complete -c %s -l %s", line->program, f->name);
        if (kind == FROM_CHOICES) {
            fputs(" -x -a '", to);
            print_choices(to, f->choices);
            fputs("'", to);
        } else if (kind != NO_VALUE) {
            fputs(kind == FROM_NOTHING ? " -x" : " -r -F", to);
        }
        fputs(" -d '", to);
        print_without(to, f->help, "'");
        fputs("'\n", to);
    }
}

bool flags_print_completion(const eg_flags *line, const char *shell)
{
    static const struct {
        const char *name;
        void (*print)(FILE *to, const eg_flags *line);
    } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
    for (int i = 0; i < EG_FLAG_COUNT(shells); i++) {
        if (strcmp(shells[i].name, shell) == 0) {
            shells[i].print(flags_out(line), line);
            return true;
        }
    }
    return false;
}
