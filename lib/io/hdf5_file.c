/* hdf5_file.c - see hdf5_file.h. */
#include "lib/io/hdf5.h"

#ifdef EG_HAVE_HDF5

#include <stdlib.h>

#include "lib/core/subsystem.h"

#define FUNCTIONS(X)            \
    X(H5Eget_auto2)             \
    X(H5Eset_auto2)             \
    X(H5FDregister)             \
    X(H5FDunregister)           \
    X(H5Fclose)                 \
    X(H5Fopen)                  \
    X(H5P_CLS_FILE_ACCESS_ID_g) \
    X(H5PLget_loading_state)    \
    X(H5PLset_loading_state)    \
    X(H5Pclose)                 \
    X(H5Pcreate)                \
    X(H5Pget_driver_info)       \
    X(H5Pset_driver)            \
    X(H5Pset_fclose_degree)     \
    X(H5open)
EG__HDF5(lib, FUNCTIONS);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void around_fork(eg__fork when)
{
    eg__fork_lock(&lock, when);
}

static eg__subsystem subsystem = {.order = EG__ORDER_OTHERS, .fork = around_fork};

eg_status eg__hdf5_bad(const eg__hdf5 *h, const char *what, const char *name)
{
    return h->status ? h->status : eg__source_bad(h->source, h->at, "%s \"%.80s\"", what, name);
}

/* ---- how it begins ------------------------------------------------------------------------------- */

static uint64_t word(const uint8_t *p)
{
    uint64_t v = 0;
    for (int i = 8; i-- > 0;) {
        v = v << 8 | p[i];
    }
    return v;
}

/* Nothing before the file or beside it, sizes of 8 bytes, an end that is there. */
static eg_status check_superblock(const eg__hdf5 *h)
{
    static const char magic[] = {'\x89', 'H', 'D', 'F', '\r', '\n', '\x1a', '\n'};
    uint8_t b[96];
    if (h->size < (int64_t)sizeof b) {
        return eg__source_bad(h->source, h->at, "%lld bytes are too few for HDF5", (long long)h->size);
    }
    eg_status st = eg__source_read(h->source, h->at, b, sizeof b);
    if (st) {
        return st;
    }
    const int version = b[8], sizes = version < 2 ? 13 : 9, base = version == 0 ? 24 : version == 1 ? 28 : 12;
    if (memcmp(b, magic, sizeof magic) || version > 3) {
        return eg__source_bad(h->source, h->at, "no superblock of HDF5 of version 0 to 3");
    }
    if (b[sizes] != 8 || b[sizes + 1] != 8 || word(b + base)) {
        return eg__source_bad(h->source, h->at + sizes, "offsets or lengths of other than 8 bytes, or from elsewhere");
    }
    /* A driver's block, or the superblock's extension. */
    if (word(b + base + (version < 2 ? 24 : 8)) != UINT64_MAX) {
        return eg__source_bad(h->source, h->at + base, "a superblock that goes on elsewhere, which is not read");
    }
    if (word(b + base + 16) > (uint64_t)h->size) {
        return eg__source_bad(h->source, h->at + h->size, "the file ends before the %llu bytes it says it has",
                              (unsigned long long)word(b + base + 16));
    }
    return EG_OK;
}

/* ---- what the library reads from ------------------------------------------------------------------ */

typedef struct driver_file {
    H5FD_t pub;
    eg__hdf5 *h;
    haddr_t end; /* of what is in use, as the library says */
} driver_file;

static H5FD_t *driver_open(const char *name, unsigned flags, hid_t access, haddr_t most)
{
    eg__hdf5 *const *info = lib.H5Pget_driver_info(access);
    (void)name, (void)most;
    if (!info || flags & (H5F_ACC_RDWR | H5F_ACC_CREAT)) {
        return NULL;
    }
    driver_file *f = eg__malloc(sizeof *f);
    if (!f) {
        (*info)->status = eg__no_memory((*info)->source->op, (int64_t)sizeof *f);
        return NULL;
    }
    *f = (driver_file){.h = *info};
    return &f->pub;
}

static herr_t driver_close(H5FD_t *file)
{
    free(file);
    return 0;
}

static herr_t driver_query(const H5FD_t *file, unsigned long *flags)
{
    (void)file;
    *flags = 0;
    return 0;
}

static haddr_t driver_get_eoa(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return ((const driver_file *)file)->end;
}

static herr_t driver_set_eoa(H5FD_t *file, H5FD_mem_t type, haddr_t at)
{
    (void)type;
    ((driver_file *)file)->end = at;
    return 0;
}

static haddr_t driver_get_eof(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return (haddr_t)((const driver_file *)file)->h->size;
}

static herr_t driver_read(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t at, size_t bytes, void *to)
{
    eg__hdf5 *h = ((driver_file *)file)->h;
    (void)transfer;
    if (at > (haddr_t)h->size || bytes > (haddr_t)h->size - at || (type == H5FD_MEM_DRAW && bytes > (size_t)h->most)) {
        return -1;
    }
    eg_status st = eg__source_read(h->source, h->at + (int64_t)at, to, (int64_t)bytes);
    h->status = h->status ? h->status : st;
    return st ? -1 : 0;
}

static herr_t driver_write(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t at, size_t bytes, const void *from)
{
    (void)file, (void)type, (void)transfer, (void)at, (void)bytes, (void)from;
    return -1;
}

static const H5FD_class_t driver = {
#ifdef H5FD_CLASS_VERSION
    .version = H5FD_CLASS_VERSION,
    .value = (H5FD_class_value_t)511,
#endif
    .name = "egret",
    .maxaddr = (haddr_t)INT64_MAX,
    .fc_degree = H5F_CLOSE_STRONG,
    .fapl_size = sizeof(eg__hdf5 *),
    .open = driver_open,
    .close = driver_close,
    .query = driver_query,
    .get_eoa = driver_get_eoa,
    .set_eoa = driver_set_eoa,
    .get_eof = driver_get_eof,
    .read = driver_read,
    .write = driver_write,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

/* ---- begin and end --------------------------------------------------------------------------------- */

/* Who closes the file closes all that is open in it. */
static hid_t open_file(eg__hdf5 *h)
{
    hid_t file = -1;
    const hid_t access = lib.H5Pcreate(*lib.H5P_CLS_FILE_ACCESS_ID_g);
    h->driver = lib.H5FDregister(&driver);
    if (h->driver >= 0 && access >= 0 && lib.H5Pset_driver(access, h->driver, &h) >= 0 &&
        lib.H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) >= 0) {
        file = lib.H5Fopen("egret", H5F_ACC_RDONLY, access);
    }
    if (access >= 0) {
        lib.H5Pclose(access);
    }
    return file;
}

static void leave(const eg__hdf5 *h)
{
    if (h->driver >= 0) {
        lib.H5FDunregister(h->driver); /* last: a file that closes frees it before its last look at it */
    }
    lib.H5PLset_loading_state(h->plugins);
    if (h->reports) {
        lib.H5Eset_auto2(H5E_DEFAULT, h->report, h->report_data);
    }
    pthread_mutex_unlock(&lock);
}

eg_status eg__hdf5_begin(eg__hdf5 *h, const eg__source *s, int64_t at, int64_t size)
{
    *h = (eg__hdf5){.source = s, .at = at, .size = size};
    eg_status st = check_superblock(h);
    st = st ? st : eg__library_open(&lib_library, s->op);
    if (st) {
        return st;
    }
    eg__subsystem_join(&subsystem);
    pthread_mutex_lock(&lock);
    lib.H5open();
    /* It is not to print, nor to load code for what a file says it is packed by. */
    h->reports = lib.H5Eget_auto2(H5E_DEFAULT, &h->report, &h->report_data) >= 0;
    lib.H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    lib.H5PLget_loading_state(&h->plugins);
    lib.H5PLset_loading_state(0);
    h->file = open_file(h);
    if (h->file < 0) {
        st = eg__hdf5_bad(h, "libhdf5 does not open", s->name);
        leave(h);
    }
    return st;
}

void eg__hdf5_end(eg__hdf5 *h)
{
    lib.H5Fclose(h->file);
    leave(h);
}

#endif
