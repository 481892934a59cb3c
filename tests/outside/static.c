/* static.c - a program that has the library inside. */
#include <stdio.h>
#include <string.h>

#include <egret/egret.h>

int main(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096];
    int shared = 0, right;
    while (maps && fgets(line, sizeof line, maps)) {
        shared |= strstr(line, "libegret") != NULL;
    }
    if (maps) {
        fclose(maps);
    }
    eg_scope s = eg_scope_push();
    right = eg_item(eg_sum(eg_square(eg_arange(0, 4, 1, EG_F32)))) == 14;
    eg_scope_pop(s, NULL);
    if (shared) {
        printf("FAIL the shared library is loaded\n");
    }
    if (!right) {
        printf("FAIL it computes\n");
    }
    printf("%d passed, %d failed, 0 skipped\n", right + !shared, !right + shared);
    return !right || shared;
}
