/* example_message.c - what protobuf-c's compiler made of example.proto. */
#include "data/readers/protobuf.h"

#include "data/example.pb-c.c"
