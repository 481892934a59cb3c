/* trace.h - what a profile has recorded, between the file that records it and the one that writes it. */
#ifndef EGRET_LIB_TRACE_H
#define EGRET_LIB_TRACE_H

#include "lib/io/file.h"
#include "lib/core/error.h"

typedef enum eg__trace_kind {
    EG__TRACE_OP,
    EG__TRACE_RULE, /* the rule of one entry of a tape */
    EG__TRACE_SPAN, /* the user's */
    EG__TRACE_MARK,
    EG__TRACE_WORK, /* on a device, of no op */
} eg__trace_kind;

/* What happened once. Behind it lie, of an op, its inputs and outputs as words of dtype, ndim, sizes; of a span
 * and a mark, the text with its 0; of work, its bytes. */
typedef struct eg__trace_record {
    const char *name;                 /* of an op; the user's texts lie behind */
    const char *of;                   /* the op whose gradient this belongs to, or NULL */
    int64_t start, time;              /* ns; time -1: a span still open */
    int64_t there_start, there_time;  /* on the device's clock; time -1: not known */
    int64_t live;                     /* bytes; -1: not noted */
    uint32_t thread, bytes;           /* bytes: of the record with what lies behind it */
    uint16_t kind, in, out, left_out; /* tensors behind it, and how many there was no room for */
    uint8_t device, stream;
} eg__trace_record;

typedef struct eg__trace_chunk {
    struct eg__trace_chunk *next;
    size_t used;
    int64_t data[]; /* records */
} eg__trace_chunk;

/* Moments of a device's clock and the host's, as the profile began and as it ended. */
typedef struct eg__trace_clock {
    bool tried, good;
    int64_t there[2], here[2];
    uint64_t streams; /* whose work is on record, as bits */
} eg__trace_clock;

typedef struct eg__trace {
    const eg__trace_chunk *first;
    int64_t start, end;            /* of the profile */
    int64_t dropped, untimed;      /* records without room; work on devices of unknown time */
    const eg__trace_clock *clocks; /* by device */
} eg__trace;

eg_status eg__trace_write(const eg__trace *t, eg__target *file);

#endif
