/* unpack.h - the members of an archive as files. */
#ifndef EXAMPLES_UNPACK_H
#define EXAMPLES_UNPACK_H

#include <egret/error.h>

/* Unpacks the archive into a folder that is not there yet and appears when all is in it (download.h). A
 * member, unless that is NULL, must have the sum. */
eg_status unpack(const char *archive, const char *folder, const char *member, const char *sha256);

#endif
