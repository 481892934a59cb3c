/* protobuf.h - protobuf-c's functions under their own names, as what its compiler makes calls them too. */
#ifndef EGRET_PROTOBUF_H
#define EGRET_PROTOBUF_H

#include <protobuf-c/protobuf-c.h>

#include "lib/core/library.h"

#define EG__PROTOBUF_FUNCTIONS(X)         \
    X(protobuf_c_message_free_unpacked)   \
    X(protobuf_c_message_get_packed_size) \
    X(protobuf_c_message_pack)            \
    X(protobuf_c_message_pack_to_buffer)  \
    X(protobuf_c_message_unpack)

struct eg__protobuf {
    EG__PROTOBUF_FUNCTIONS(EG__LIBRARY_MEMBER)
};
extern struct eg__protobuf eg__protobuf; /* after eg__protobuf_open */
eg_status eg__protobuf_open(const char *op);

#define protobuf_c_message_free_unpacked   eg__protobuf.protobuf_c_message_free_unpacked
#define protobuf_c_message_get_packed_size eg__protobuf.protobuf_c_message_get_packed_size
#define protobuf_c_message_pack            eg__protobuf.protobuf_c_message_pack
#define protobuf_c_message_pack_to_buffer  eg__protobuf.protobuf_c_message_pack_to_buffer
#define protobuf_c_message_unpack          eg__protobuf.protobuf_c_message_unpack

#endif
