/* complain.c - see complain.h. */
#include "complain.h"

#include <stdarg.h>
#include <stdio.h>

void kernel_complain(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    fputs("egret kernel: ", stderr);
    vfprintf(stderr, format, values);
    fputc('\n', stderr);
    va_end(values);
}
