/* snappy.h - libsnappy for the files that unpack with it, each with the functions it calls. */
#ifndef EGRET_SNAPPY_H
#define EGRET_SNAPPY_H

#include <snappy-c.h>

#include "lib/core/library.h"

#define EG__SNAPPY(name, FUNCTIONS) \
    EG__LIBRARY(name, FUNCTIONS, .title = "snappy", .files = {EG_SO_SNAPPY}, .package = "libsnappy1v5")

#endif
