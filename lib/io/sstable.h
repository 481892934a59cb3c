/* sstable.h - sorted-string tables: blocks of keys and values in the order of the keys, an index of the blocks and a
 * footer (LevelDB's doc/table_format.md). */
#ifndef EGRET_SSTABLE_H
#define EGRET_SSTABLE_H

#include "lib/io/buffer.h"
#include "lib/io/file.h"

/* The last 8 bytes of a table. */
#define EG__SSTABLE_MAGIC "\x57\xfb\x80\x8b\x24\x75\x47\xdb"
enum { EG__SSTABLE_FOOTER = 48 };

/* ---- reading ------------------------------------------------------------------------------------ */

/* A block in memory, and the entry of it that was read last. */
typedef struct eg__sstable_block {
    char *bytes;     /* NULL: none is in memory */
    int64_t place;   /* in the file */
    int64_t at, end; /* in bytes: of the next entry, and of all entries */
    bool first;      /* the next is the block's first */
    bool any;        /* there is a key; it may be of the block before */
    char *key;
    uint32_t nkey, ckey;
    const char *value;
    int64_t nvalue;
} eg__sstable_block;

/* A table, and a place in it. */
typedef struct eg__sstable {
    const eg__source *source;
    int64_t behind; /* where the latest block ends, and the next may begin */
    eg__sstable_block index, data;
    bool there; /* data has an entry */
} eg__sstable;

/* Whether the source ends as tables do, without words. */
bool eg__sstable_is(const eg__source *s);
/* Reads the footer and the index; close it in any case. */
eg_status eg__sstable_open(eg__sstable *t, const eg__source *s);
void eg__sstable_close(eg__sstable *t);
/* To the next entry, at first to the first: its key and value are those of t->data while t->there, which is false
 * behind the last. Keys come in order, blocks behind each other and with their checksums, or it is EG_EFORMAT; they may
 * be packed by Snappy. */
eg_status eg__sstable_next(eg__sstable *t);
/* To the entry of that key; without one t->there is false. Asked for in their order, all take one pass. */
eg_status eg__sstable_seek(eg__sstable *t, const void *key, size_t nkey);
/* Before the first entry, without a block of data in memory. */
void eg__sstable_rewind(eg__sstable *t);
/* The order of keys: below 0, 0 or above, as memcmp. */
int eg__sstable_order(const void *a, size_t na, const void *b, size_t nb);

/* ---- writing ------------------------------------------------------------------------------------ */

/* A table that is made; zero-initialised: empty. */
typedef struct eg__sstable_maker {
    eg__buffer all;             /* the file, so far */
    eg__buffer index, places;   /* entries of the index, and where in it each begins */
    eg__buffer block, restarts; /* entries that are not in the file yet, and where in them keys are whole */
    eg__buffer key;             /* the latest */
    int count;                  /* entries of the block */
} eg__sstable_maker;

/* An entry; keys in their order. */
void eg__sstable_add(eg__sstable_maker *m, const void *key, size_t nkey, const void *value, size_t nvalue);
/* The end: then m->all is the file. False: out of memory. */
bool eg__sstable_end(eg__sstable_maker *m);
void eg__sstable_free(eg__sstable_maker *m);
/* As tables and protocol buffers have it: 7 bits to a byte, the low ones first. */
void eg__put_varint(eg__buffer *b, uint64_t v);
void eg__put_fixed32(eg__buffer *b, uint32_t v);

#endif
