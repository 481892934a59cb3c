/* connection.h - the file a frontend hands to a kernel it starts: where to listen, and the key. */
#ifndef EGRET_LUA_KERNEL_CONNECTION_H
#define EGRET_LUA_KERNEL_CONNECTION_H

#include <stdbool.h>

enum { CONNECTION_ADDRESS = 256, CONNECTION_KEY = 1024 };

typedef struct connection {
    char shell[CONNECTION_ADDRESS], control[CONNECTION_ADDRESS], input[CONNECTION_ADDRESS];
    char iopub[CONNECTION_ADDRESS], heartbeat[CONNECTION_ADDRESS];
    char key[CONNECTION_KEY]; /* of the signatures; "": messages are not signed */
} connection;

/* Reads the file; false, with words on stderr, where it is not one. */
bool connection_read(connection *c, const char *path);

#endif
