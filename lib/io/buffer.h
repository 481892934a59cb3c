/* buffer.h - text that grows, for what writes JSON. */
#ifndef EGRET_BUFFER_H
#define EGRET_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialised: empty. eg_memory_limit counts it. */
typedef struct eg__buffer {
    char *s; /* no 0 at its end */
    uint32_t n, capacity;
    bool full; /* out of memory, the memory limit, or it would pass 1 GiB: what came after is missing */
} eg__buffer;

/* Frees the text and makes the buffer empty. */
void eg__buffer_free(eg__buffer *b);
void eg__put(eg__buffer *b, const void *s, size_t n);
void eg__put_word(eg__buffer *b, const char *s);
void eg__put_int(eg__buffer *b, int64_t v);
/* A decimal that reads back as v, whatever the locale; null if v is not finite. */
void eg__put_real(eg__buffer *b, double v);
/* A JSON string in quotes. False: there were bytes that are no UTF-8, and U+FFFD stands for each. */
bool eg__put_string(eg__buffer *b, const char *s);
/* The same of so many bytes, zeros among them. */
bool eg__put_text(eg__buffer *b, const char *s, size_t bytes);

#endif
