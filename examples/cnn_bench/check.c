/* check.c - prints the rates of the steps that are asked for, one a line: what check.py compares with the formulas.
 *
 *     cnn-bench-check [FLAGS of egret-cnn-bench] STEP... */
#include <stdio.h>
#include <stdlib.h>

#include "input.h"
#include "rates.h"

enum { STEPS_MOST = 256 };

static eg_status print(const options *o, char *const *steps, int count)
{
    const input_set *of;
    model by;
    rates plan;
    eg_status st = input_find(o, &of);
    st = st ? st : models_find(o->model, of->name, &by);
    st = st ? st : rates_make(o, &by, o->batch_size ? o->batch_size : by.batch, of->train_size, &plan);
    for (int i = 0; i < count && !st; i++) {
        printf("%.17g\n", rates_at(&plan, strtoll(steps[i], NULL, 10)));
    }
    return st;
}

int main(int argc, char **argv)
{
    options o;
    eg_flag rows[OPTIONS_FLAGS];
    eg_flags line = {.program = "cnn-bench-check",
                     .about = "Prints the rates of steps.",
                     .table = rows,
                     .count = options_flags(&o, rows),
                     .operand = "STEP",
                     .most_operands = STEPS_MOST};
    int status;
    if (!eg_flags_parse(&line, argc, argv, &status)) {
        return status;
    }
    eg_status st = print(&o, line.operands, line.operand_count);
    eg_flags_free(&line);
    return st ? eg_error_print(stderr) : 0;
}
