/* example.h - Example messages as Protocol Buffers unpack them. */
#ifndef EGRET_EXAMPLE_H
#define EGRET_EXAMPLE_H

#include <egret/data/records.h>
#include <egret/ops.h>

#include "lib/ops/dispatch.h"

#ifdef EG_HAVE_PROTOBUF
#include "data/example.pb-c.h"
#include "data/readers/protobuf.h"
#endif

#define EG__NO_PROTOBUF "this build has no protobuf-c"

#endif
