/* hdf5.h - the parts of HDF5's reader, and for formats that have such files inside. */
#ifndef EGRET_HDF5_H
#define EGRET_HDF5_H

#include "lib/io/backing.h"

#ifdef EG_HAVE_HDF5
#include "lib/io/hdf5_file.h"

/* PLACED: its elements lie row-major in the file. SMALL: in its header. UNWRITTEN: it has none, and all are what it is
 * filled with. */
typedef enum eg__hdf5_kind { EG__HDF5_PLACED, EG__HDF5_SMALL, EG__HDF5_CHUNKED, EG__HDF5_UNWRITTEN } eg__hdf5_kind;

/* A dataset of numbers. */
typedef struct eg__hdf5_entry {
    haddr_t object;
    eg__hdf5_kind kind;
    int64_t at; /* of what is PLACED, in the source */
    eg__element element;
    bool swapped; /* it is big-endian */
    eg_shape shape;
    eg_tensor_about about;
} eg__hdf5_entry;

/* Whether an object is worth opening: a group, or a dataset whose type may be one of numbers. Of others libhdf5
 * believes the sizes. */
eg_status eg__hdf5_worth(const eg__hdf5 *h, haddr_t at, const char *name, bool *is);
/* What a dataset is, checked against the file; *numbers: whether it is of numbers at all. It opens no other file. */
eg_status eg__hdf5_describe(const eg__hdf5 *h, hid_t dataset, const char *name, eg__hdf5_entry *e, bool *numbers);
/* Reads an entry's elements, as they lie there, into a block of e->about.bytes. */
eg_status eg__hdf5_read(eg__hdf5 *h, hid_t dataset, const eg__hdf5_entry *e, void *to);
eg_status eg__hdf5_read_chunks(eg__hdf5 *h, hid_t dataset, const eg__hdf5_entry *e, void *to);

/* Bytes of a message in an object's header. */
typedef struct eg__hdf5_bytes {
    const uint8_t *p;
    int64_t n;
} eg__hdf5_bytes;
enum { EG__HDF5_TYPE = 3, EG__HDF5_FILL_OLD = 4, EG__HDF5_FILL = 5, EG__HDF5_LAYOUT = 8, EG__HDF5_ATTRIBUTE = 12 };
typedef eg_status eg__hdf5_visit(void *user, int type, eg__hdf5_bytes m);

/* Visits all messages of the header there, but those that are kept elsewhere; `name` of the object, for words. */
eg_status eg__hdf5_messages(const eg__hdf5 *h, haddr_t at, const char *name, eg__hdf5_visit *visit, void *user);
eg_status eg__hdf5_read_at(const eg__hdf5 *h, uint64_t at, void *to, int64_t n, const char *name);
/* The first n bytes of what is left, which then begins behind them; false: there are not so many. */
bool eg__hdf5_take(eg__hdf5_bytes *b, int64_t n, const uint8_t **p);

/* What texts took so far. */
typedef struct eg__hdf5_room {
    int64_t bytes, steps;
} eg__hdf5_room;

/* Attributes of the group `name`, whose header is at `group`, that are texts or lists of texts, as texts of the map. */
eg_status eg__hdf5_texts(const eg__hdf5 *h, haddr_t group, const char *name, eg_tensors *map, eg__hdf5_room *room);

/* Little-endian. */
static inline uint64_t eg__hdf5_number(const uint8_t *p, int bytes)
{
    uint64_t v = 0;
    while (bytes-- > 0) {
        v = v << 8 | p[bytes];
    }
    return v;
}
#endif

/* The tensors of an HDF5 file that is a part of the backing, which it has from now on; `format` as eg_tensors_format
 * gives it. */
eg_tensors *eg__hdf5_open(eg__backing *b, int64_t at, int64_t size, const char *format);

#endif
