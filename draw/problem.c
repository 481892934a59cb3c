/* problem.c - see problem.h. */
#include "problem.h"

#include <stdarg.h>
#include <stdio.h>

bool problem_say(problem *why, const char *format, ...)
{
    if (why) {
        va_list values;
        va_start(values, format);
        vsnprintf(why->text, sizeof why->text, format, values);
        va_end(values);
    }
    return false;
}
