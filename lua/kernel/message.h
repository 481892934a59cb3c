/* message.h - what kernel and frontends say to each other, and its signature.
 *
 * On the wire a message is: whom it is for or from (any number of frames), a delimiter, the
 * signature, then header, parent header, metadata and content as JSON. */
#ifndef EGRET_LUA_KERNEL_MESSAGE_H
#define EGRET_LUA_KERNEL_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <zmq.h>

typedef enum channel { SHELL, CONTROL, INPUT, IOPUB, CHANNELS } channel;

enum { MESSAGE_HOPS = 8 };

typedef struct message {
    struct message *next; /* in a queue */
    channel where;
    zmq_msg_t hops[MESSAGE_HOPS]; /* whom it is from, or for */
    int hop_count;
    const char *type; /* inside the header */
    json_t *header, *parent, *content;
    bool aborted; /* a request that an earlier one's failure overtook */
} message;

typedef struct signer signer;

/* Signs with this key, not at all with "". NULL: out of memory. */
signer *signer_new(const char *key);
void signer_free(signer *s);

/* The next message that waits at a socket, once its signature held; NULL with *more where it was
 * none of ours and another may wait, or with *more false where none waits. */
message *message_receive(void *socket, channel where, signer *s, bool *more);

/* A new message that answers, or was caused by, the one with this header (NULL: none). Takes the
 * content over, also where it fails: NULL if that is NULL or memory is out. */
message *message_new(channel where, const char *type, json_t *parent_header, json_t *content);

/* As message_new, to whoever sent the request, on the channel it came by. */
message *message_reply(const message *request, const char *type, json_t *content);

/* When its sender says that it was made, in seconds since 1970; 0: it does not say. */
double message_date(const message *m);

/* Sends it, once, if there is a receiver. False: not, for want of memory. */
bool message_send(void *socket, message *m, signer *s);

/* The content {"status": "error", ...} in these words. */
json_t *message_refusal(const char *words);

void message_free(message *m);

#endif
