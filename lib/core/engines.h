/* engines.h - engines by name; all under the lock of the table of devices. */
#ifndef EGRET_CORE_ENGINES_H
#define EGRET_CORE_ENGINES_H

#include "lib/core/engine.h"

enum { EG__ENGINE_NAME = 12 }; /* bytes of a name and its end */

/* The engine of this name, its module loaded at the first asking; NULL with words in *why, of static storage. */
const eg__engine *eg__engine_named(const char *name, const char **why);
/* What a name must look like to be asked for, since it becomes part of a file's: letters, digits, _; small. Returns how
 * many bytes of `name` do, 0 if it is no such name. */
size_t eg__engine_name(const char *name);
/* The last load's seconds and name; 0 if there was none since this was asked. */
double eg__engine_loading(char name[EG__ENGINE_NAME]);
/* In a child of a fork: those of modules are the parent's. */
void eg__engines_fork(void);

#endif
