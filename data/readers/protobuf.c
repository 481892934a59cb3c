/* protobuf.c - opens protobuf-c. */
#include "data/readers/protobuf.h"

struct eg__protobuf eg__protobuf;

EG__LIBRARY_OF(eg__protobuf, EG__PROTOBUF_FUNCTIONS, .title = "protobuf-c", .files = {EG_SO_PROTOBUF},
               .package = "libprotobuf-c1");

/* The value of a string that a message has not. It is compared by its address, but only with that of the messages'
 * tables, which are ours. */
const char protobuf_c_empty_string[] = "";

eg_status eg__protobuf_open(const char *op)
{
    return eg__library_open(&eg__protobuf_library, op);
}
