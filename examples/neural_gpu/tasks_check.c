/* tasks_check.c - prints tapes of each task: its name, digits, and both tapes one behind the other. */
#include <stdio.h>
#include <string.h>

#include "tasks.h"

enum { TAPES = 60, LONGEST = 64 };

/* Numbers in 0..1 that are as good as random here. */
static double chance_of(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) / 16777216.0;
}

int main(void)
{
    char names[] = TASK_NAMES;
    unsigned state = 1;
    for (char *name = strtok(names, "|"); name; name = strtok(NULL, "|")) {
        const task *t = task_called(name);
        for (int i = 0; i < TAPES; i++) {
            int digits = 1 + i % 12, length = task_length(t, digits), tapes[2][LONGEST] = {{0}};
            double chance[LONGEST];
            for (int k = 0; k < length; k++) {
                chance[k] = i % 5 == 4 ? 0.999 : chance_of(&state); /* also the largest digits alone */
            }
            t->make(t, chance, digits, tapes[0], tapes[1]);
            printf("%s %d", name, digits);
            for (int k = 0; k < 2 * length; k++) {
                printf(" %d", tapes[k / length][k % length]);
            }
            puts("");
        }
    }
    return 0;
}
