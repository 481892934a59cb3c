/* hdf5.h - the parts of HDF5's reader (HDF5 File Format Specification 3.0), and for formats that have such files
 * inside. */
#ifndef EGRET_HDF5_H
#define EGRET_HDF5_H

#include "lib/io/backing.h"

/* ---- bytes ------------------------------------------------------------------------------------------- */

/* A part of a source that is an HDF5 file; addresses count from where it begins. */
typedef struct eg__hdf5 {
    const eg__source *source;
    int64_t at, size; /* the part */
    uint64_t root;    /* where the header of the first group is */
    const char *name; /* of what is being read, for words */
    int64_t left;     /* of the bytes that are read and kept for a file of its size, before it must be damaged */
} eg__hdf5;

/* The address of what is not there. */
#define EG__HDF5_NOWHERE UINT64_MAX

/* Checks how the part begins. */
eg_status eg__hdf5_begin(eg__hdf5 *h, const eg__source *s, int64_t at, int64_t size);
/* EG_EFORMAT: "<what> "<name>"". */
eg_status eg__hdf5_bad(const eg__hdf5 *h, const char *what);
/* Counts what is read or kept; EG_EFORMAT when it is more than a file like this can be worth. */
eg_status eg__hdf5_count(eg__hdf5 *h, int64_t bytes);

/* What is left of some bytes. */
typedef struct eg__hdf5_bytes {
    const uint8_t *p;
    int64_t n;
    bool ended; /* more was asked for than there is */
} eg__hdf5_bytes;

/* The first bytes of a block, and what is in it behind the word it begins with, if that is not NULL; nothing after a
 * failure. */
enum { EG__HDF5_MOST_HEAD = 144 };
typedef struct eg__hdf5_head {
    uint8_t all[EG__HDF5_MOST_HEAD];
    eg__hdf5_bytes b;
} eg__hdf5_head;
eg_status eg__hdf5_look(eg__hdf5 *h, uint64_t at, int size, const char *word, eg__hdf5_head *d);
/* A block of the file to be freed, and what is in it behind the word it begins with, if that is not NULL. NULL with
 * words, and nothing in it: the file has no such block. */
uint8_t *eg__hdf5_load(eg__hdf5 *h, uint64_t at, uint64_t size, const char *word, eg__hdf5_bytes *b);

/* The next bytes; NULL: there are not so many. */
static inline const uint8_t *eg__hdf5_take(eg__hdf5_bytes *b, uint64_t n)
{
    const uint8_t *p = b->p;
    if (b->ended || n > (uint64_t)b->n) {
        b->ended = true;
        return NULL;
    }
    b->p += n;
    b->n -= (int64_t)n;
    return p;
}

/* The next number, of at most 8 bytes, the lowest first; 0 where there is none. */
static inline uint64_t eg__hdf5_number(eg__hdf5_bytes *b, int bytes)
{
    const uint8_t *p = eg__hdf5_take(b, (uint64_t)bytes);
    uint64_t v = 0;
    while (p && bytes-- > 0) {
        v = v << 8 | p[bytes];
    }
    return v;
}

/* The power of two that v is; -1: it is none. */
static inline int eg__hdf5_power(uint64_t v)
{
    return v && !(v & (v - 1)) ? __builtin_ctzll(v) : -1;
}

/* ---- headers of objects ------------------------------------------------------------------------------ */

enum {
    EG__HDF5_SPACE = 1,
    EG__HDF5_LINK_INFO = 2,
    EG__HDF5_TYPE = 3,
    EG__HDF5_FILL_OLD = 4,
    EG__HDF5_FILL = 5,
    EG__HDF5_LINK = 6,
    EG__HDF5_EXTERNAL = 7,
    EG__HDF5_LAYOUT = 8,
    EG__HDF5_FILTERS = 11,
    EG__HDF5_ATTRIBUTE = 12,
    EG__HDF5_CONTINUED = 16,
    EG__HDF5_SYMBOLS = 17,
    EG__HDF5_ATTRIBUTE_INFO = 21,
};

typedef struct eg__hdf5_message {
    int type;
    eg__hdf5_bytes bytes;
    uint64_t at; /* in the file */
} eg__hdf5_message;

/* All messages of an object but those that lie elsewhere. */
typedef struct eg__hdf5_header {
    eg__hdf5_message *message;
    uint32_t count, capacity;
    struct eg__hdf5_block *blocks;
} eg__hdf5_header;

/* To be closed in any case. */
eg_status eg__hdf5_header_open(eg__hdf5 *h, uint64_t at, eg__hdf5_header *d);
void eg__hdf5_header_close(eg__hdf5_header *d);
/* The last message of a type; NULL: there is none. */
const eg__hdf5_message *eg__hdf5_find(const eg__hdf5_header *d, int type);

/* ---- trees and heaps --------------------------------------------------------------------------------- */

/* Visits what the leaves of a tree of version 1 lead to: its key, and behind that its address. */
typedef eg_status eg__hdf5_visit(void *user, eg__hdf5_bytes record);
eg_status eg__hdf5_tree(eg__hdf5 *h, uint64_t at, int type, int key, eg__hdf5_visit *visit, void *user);
/* Visits all records of a tree of version 2. */
eg_status eg__hdf5_tree2(eg__hdf5 *h, uint64_t at, int type, eg__hdf5_visit *visit, void *user);

/* Visits what a heap and a tree of version 2 have for each other: objects, whose identifiers are in the records behind
 * `skip` bytes. Those that are kept in other ways, as very large ones are, are left out. */
typedef struct eg__hdf5_dense {
    uint64_t heap, tree;
    int type, skip;
} eg__hdf5_dense;
eg_status eg__hdf5_objects(eg__hdf5 *h, const eg__hdf5_dense *d, eg__hdf5_visit *visit, void *user);

/* ---- groups ------------------------------------------------------------------------------------------ */

typedef struct eg__hdf5_link {
    const char *name;
    size_t length;
    uint64_t object;    /* or NOWHERE */
    const char *target; /* a name instead; NULL as well: it leads to another file */
    size_t target_length;
} eg__hdf5_link;

/* Visits the links of a group, in the order they have there. */
typedef eg_status eg__hdf5_visit_link(void *user, const eg__hdf5_link *link);
eg_status eg__hdf5_links(eg__hdf5 *h, const eg__hdf5_header *d, eg__hdf5_visit_link *visit, void *user);

/* What was needed for texts so far; what it holds is to be freed. */
typedef struct eg__hdf5_texts {
    eg__hdf5 *h;
    eg_tensors *map;
    int64_t bytes;
    uint64_t heap; /* the one that is here */
    uint8_t *all;
    eg__hdf5_bytes next; /* object in it */
} eg__hdf5_texts;

/* Attributes of the group h->name that are texts or lists of texts, as texts of the map. */
eg_status eg__hdf5_read_texts(eg__hdf5_texts *t, const eg__hdf5_header *d);

/* ---- datasets ---------------------------------------------------------------------------------------- */

/* PLACED: its elements lie row-major in the file. UNWRITTEN: it has none, and all are what it is filled with. */
typedef enum eg__hdf5_kind { EG__HDF5_PLACED, EG__HDF5_UNWRITTEN, EG__HDF5_CHUNKED } eg__hdf5_kind;
/* How chunks are found; from SINGLE on the numbers are the file's. */
typedef enum eg__hdf5_index {
    EG__HDF5_TREE_1,
    EG__HDF5_SINGLE,
    EG__HDF5_IMPLICIT,
    EG__HDF5_FIXED,
    EG__HDF5_EXTENSIBLE,
    EG__HDF5_TREE_2,
} eg__hdf5_index;
enum { EG__HDF5_DEFLATE = 1, EG__HDF5_SHUFFLE, EG__HDF5_FLETCHER32, EG__HDF5_FILTER_KINDS = 3 };

/* A dataset of numbers. */
typedef struct eg__hdf5_entry {
    eg__hdf5_kind kind;
    uint64_t at; /* of elements that are PLACED, or of the index of chunks */
    eg__element element;
    bool swapped; /* it is big-endian */
    uint8_t fill[8];
    eg_tensor_about about;
    /* Of chunks: */
    eg__hdf5_index index;
    int64_t chunk[EG_MAX_DIMS], most[EG_MAX_DIMS]; /* sizes, and how many there may ever be; -1: any number */
    int64_t bytes;                                 /* of one, unpacked */
    uint8_t filter[EG__HDF5_FILTER_KINDS], filters;
    uint32_t shuffled; /* bytes of what SHUFFLE takes for an element */
    uint64_t packed;   /* of the SINGLE one, if it is; and the filters that were left out */
    uint32_t left_out;
} eg__hdf5_entry;

/* Describes the dataset of an object header. *why: the reason why it cannot be read, NULL if it can. */
eg_status eg__hdf5_describe(eg__hdf5 *h, const eg__hdf5_header *d, eg__hdf5_entry *e, const char **why);

/* A chunk, the which[d]-th along axis d. */
typedef struct eg__hdf5_chunk {
    int64_t which[EG_MAX_DIMS];
    uint64_t at, packed;
    uint32_t left_out; /* bits of filters */
} eg__hdf5_chunk;

/* Visits all chunks that the index of an entry has. */
typedef eg_status eg__hdf5_visit_chunk(void *user, const eg__hdf5_chunk *c);
eg_status eg__hdf5_chunks(eg__hdf5 *h, const eg__hdf5_entry *e, eg__hdf5_visit_chunk *visit, void *user);
/* Reads elements in chunks into a block of e->about.bytes, over what it is filled with. */
eg_status eg__hdf5_read_chunks(eg__hdf5 *h, const eg__hdf5_entry *e, void *to);

/* ---- the file ---------------------------------------------------------------------------------------- */

/* The tensors of an HDF5 file that is a part of the backing, which it has from now on; `format` as eg_tensors_format
 * gives it. */
eg_tensors *eg__hdf5_open(eg__backing *b, int64_t at, int64_t size, const char *format);

#endif
