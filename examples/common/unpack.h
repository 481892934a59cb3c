/* unpack.h - the members of an archive as files. */
#ifndef EXAMPLES_UNPACK_H
#define EXAMPLES_UNPACK_H

#include "draw/problem.h"

/* Unpacks the archive into a folder that is not there yet and appears when all is in it (download.h). A
 * member, unless that is NULL, must have the sum. */
bool unpack(const char *archive, const char *folder, const char *member, const char *sha256, problem *why);

#endif
