/* wire.h - the thread that has the sockets. What is not said to be of the wire itself is called by
 * the other one, which has Lua. */
#ifndef EGRET_LUA_KERNEL_WIRE_H
#define EGRET_LUA_KERNEL_WIRE_H

#include <jansson.h>
#include <stdbool.h>

#include "connection.h"
#include "message.h"

typedef struct wire wire;

/* Listens, and leads stdout and stderr to the frontends. NULL, with words on stderr, where it
 * cannot. */
wire *wire_start(const connection *c);

/* Sends what is still to be sent, and ends it. */
void wire_stop(wire *w);

/* Waits for the next request, for message_free; NULL: it is time to leave. */
message *wire_request(wire *w);

/* Waits for an answer to a question, for message_free; NULL: there will be none, as it is time to
 * leave or give_up() says so (asked several times a second). Answers of before are forgotten when a
 * question is sent with wire_ask. */
message *wire_answer(wire *w, bool (*give_up)(void));
void wire_ask(wire *w, message *question);

/* Sends a message, which it takes over, behind whatever was written to stdout and stderr before.
 * NULL, for want of memory, is not sent. */
void wire_send(wire *w, message *m);

/* wire_send of a message on iopub, to everybody; returns when it is sent, so before what is written
 * next. */
void wire_tell(wire *w, const char *type, json_t *parent_header, json_t *content);

/* What is written from now on belongs to this request. */
void wire_set_parent(wire *w, json_t *header);

/* Returns when all written until now has been sent, so that it stays before what is written next.
 */
void wire_sync(wire *w);

/* A request to run something failed: marks those to run that were made before this was known. */
void wire_abort(wire *w);

/* The content of kernel_info_reply. */
json_t *wire_kernel_info(void);

#endif
