/* sentencepiece_message.c - what protobuf-c's compiler made of sentencepiece.proto. */
#include "data/readers/protobuf.h"

#include "data/sentencepiece.pb-c.c"
