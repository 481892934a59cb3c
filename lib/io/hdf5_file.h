/* hdf5_file.h - libhdf5 over a part of a source. It guards nothing against a second thread and may be others' in this
 * process too: it is in use only between begin and end, under a lock of ours, and between them as it was before. */
#ifndef EGRET_HDF5_FILE_H
#define EGRET_HDF5_FILE_H

#define H5_USE_110_API
#include <hdf5.h>

/* With these, constants would call the library, and not by its table. */
#undef H5CHECK
#undef H5OPEN
#define H5CHECK
#define H5OPEN

#include "lib/core/library.h"
#include "lib/io/file.h"

#define EG__HDF5(name, FUNCTIONS) \
    EG__LIBRARY(name, FUNCTIONS, .title = "libhdf5", .files = {EG_SO_HDF5}, .package = EG__HDF5_PACKAGE)

/* Since 1.12, and since 2.0, these functions have other names, which macros give. */
#ifdef H5Literate
#define EG__HDF5_ITERATE(X) X(H5Literate1)
#define EG__HDF5_PACKAGE    "libhdf5-310"
#else
#define EG__HDF5_ITERATE(X) X(H5Literate)
#define EG__HDF5_PACKAGE    "libhdf5-103-1"
#endif

#ifdef H5Dread_chunk
#define EG__HDF5_READ_CHUNK(X) X(H5Dread_chunk1)
#else
#define EG__HDF5_READ_CHUNK(X) X(H5Dread_chunk)
#endif

typedef struct eg__hdf5 {
    const eg__source *source;
    int64_t at, size; /* the part */
    hid_t driver;
    hid_t file;
    eg_status status;   /* of reading from the source */
    int64_t most;       /* bytes of elements that libhdf5 may read at once: who asks for them sets it */
    H5E_auto2_t report; /* what others want of the library */
    void *report_data;
    unsigned plugins;
    bool reports;
} eg__hdf5;

/* Checks how the part begins and opens it; the struct stays where it is until the end. After a failure there is nothing
 * to end. */
eg_status eg__hdf5_begin(eg__hdf5 *h, const eg__source *s, int64_t at, int64_t size);
void eg__hdf5_end(eg__hdf5 *h);
/* EG_EFORMAT: "<what> "<name>"", or what the system said when it was to read. */
eg_status eg__hdf5_bad(const eg__hdf5 *h, const char *what, const char *name);

#endif
