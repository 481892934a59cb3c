/* flags.c - any bytes as a file of settings, as a file of flags, and as a command line. */
#include <stdlib.h>
#include <string.h>

#include <egret/run/flags.h>

#include "tests/fuzz/fuzz.h"

enum { WORDS = 16 };

/* What is said goes nowhere, but it is said. */
static void parse(int argc, char **argv, FILE *nowhere)
{
    int64_t epochs;
    double lr;
    bool smoke;
    const char *data, *shape;
    const eg_flag table[] = {
        EG_FLAG_INTEGER("epochs", &epochs, "3", 1, 100, "passes"),
        EG_FLAG_GROUP("learning"),
        EG_FLAG_REAL("lr", &lr, "1e-3", 1e-9, 10, "rate"),
        EG_FLAG_BOOL("smoke", &smoke, "true", "seconds"),
        EG_FLAG_TEXT("data", &data, NULL, "DIR", "a folder"),
        EG_FLAG_CHOICE("shape", &shape, "a", "a|bc", "of it"),
    };
    const eg_flag_alias aliases[] = {
        EG_FLAG_ALIAS("train_epochs", "epochs"), EG_FLAG_ALIAS_VALUE("short", "shape", "a"),
        EG_FLAG_ALIAS("gone", "no such row"),    EG_FLAG_IGNORED("hosts", "one"),
        EG_FLAG_IGNORED_BOOL("xla", "none"),
    };
    eg_flags line = {.program = "fuzz",
                     .about = "Reads anything.",
                     .table = table,
                     .count = EG_FLAG_COUNT(table),
                     .operand = "FILE",
                     .most_operands = 3,
                     .aliases = aliases,
                     .alias_count = EG_FLAG_COUNT(aliases),
                     .out = nowhere,
                     .err = nowhere};
    int status = -1;
    bool goes_on = eg_flags_parse(&line, argc, argv, &status);
    for (int i = 0; i < line.operand_count && goes_on; i++) {
        if (strlen(line.operands[i]) > (size_t)1 << 20) {
            abort();
        }
    }
    bool sound = epochs >= 1 && epochs <= 100 && lr >= 1e-9 && lr <= 10 && (!data || *data) && shape && *shape;
    if (!sound || (!goes_on && (status < 0 || status > 2))) {
        abort();
    }
    eg_flags_free(&line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FILE *nowhere = fopen("/dev/null", "w");
    char *from_file[] = {"fuzz", "--config", (char *)fuzz_file(data, size), NULL};
    char *flag_file[] = {"fuzz", "-flagfile", from_file[2], NULL};
    char *words[WORDS + 2] = {"fuzz"}, *text = malloc(size + 1);
    int count = 1;
    if (!nowhere || !text) {
        abort();
    }
    parse(3, from_file, nowhere);
    parse(3, flag_file, nowhere);
    memcpy(text, data, size);
    text[size] = '\0';
    for (char *at = strtok(text, "\n"); at && count <= WORDS; at = strtok(NULL, "\n")) {
        words[count++] = at;
    }
    parse(count, words, nowhere);
    free(text);
    fclose(nowhere);
    return 0;
}
