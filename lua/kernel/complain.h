/* complain.h - what the kernel has to say before, or unless, there is a frontend to say it to. */
#ifndef EGRET_LUA_KERNEL_COMPLAIN_H
#define EGRET_LUA_KERNEL_COMPLAIN_H

/* Writes "egret kernel: ..." and a newline to stderr. */
void kernel_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
