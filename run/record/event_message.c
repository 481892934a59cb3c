/* event_message.c - what protobuf-c's compiler made of event.proto. */
#include "data/readers/protobuf.h"

#include "run/record/event.pb-c.c"
