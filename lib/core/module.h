/* module.h - parts of the library in files of their own, opened when they are first needed. */
#ifndef EGRET_MODULE_H
#define EGRET_MODULE_H

#include "lib/core/base.h"

/* libegret-NAME: the file the environment variable EGRET_NAME_MODULE (in capitals) gives, if it does; else the one
 * beside this library; else the loader's choice. first: its own definitions go before those of the process. NULL with
 * the reason in `why`. */
void *eg__module_open(const char *name, bool first, char *why, size_t size);

#endif
