/* zlib.h - zlib for the files that unpack or pack, each with the functions it calls. */
#ifndef EGRET_ZLIB_H
#define EGRET_ZLIB_H

#include <zlib.h>

#include "lib/core/library.h"

#define EG__ZLIB(name, FUNCTIONS) \
    EG__LIBRARY(name, FUNCTIONS, .title = "zlib", .files = {EG_SO_ZLIB}, .package = "zlib1g")

#endif
