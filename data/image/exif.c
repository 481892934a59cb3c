/* exif.c - the one EXIF entry that changes how pixels are read. */
#include "data/image/codec.h"

#ifdef EG_HAVE_EXIF
#include <libexif/exif-data.h>

#include "lib/core/library.h"

#define FUNCTIONS(X)            \
    X(exif_content_get_entry)   \
    X(exif_data_get_byte_order) \
    X(exif_data_load_data)      \
    X(exif_data_new)            \
    X(exif_data_unref)          \
    X(exif_data_unset_option)   \
    X(exif_get_short)
EG__LIBRARY(lib, FUNCTIONS, .title = "libexif", .files = {EG_SO_EXIF}, .package = "libexif12");

eg_status eg__exif_orientation(const char *op, const uint8_t *data, unsigned bytes, int *turn)
{
    eg_status st = eg__library_open(&lib_library, op);
    *turn = 1;
    if (st) {
        return st;
    }
    ExifData *d = lib.exif_data_new();
    if (!d) {
        return eg__no_memory(op, 0);
    }
    /* Otherwise entries the specification asks for would be made up. */
    lib.exif_data_unset_option(d, EXIF_DATA_OPTION_FOLLOW_SPECIFICATION);
    lib.exif_data_load_data(d, data, bytes);
    ExifEntry *e = lib.exif_content_get_entry(d->ifd[EXIF_IFD_0], EXIF_TAG_ORIENTATION);
    if (e && e->format == EXIF_FORMAT_SHORT && e->components >= 1 && e->size >= 2) {
        int said = lib.exif_get_short(e->data, lib.exif_data_get_byte_order(d));
        *turn = said >= 1 && said <= 8 ? said : 1;
    }
    lib.exif_data_unref(d);
    return EG_OK;
}

#else

eg_status eg__exif_orientation(const char *op, const uint8_t *data, unsigned bytes, int *turn)
{
    (void)op, (void)data, (void)bytes;
    *turn = 1;
    return EG_OK;
}

#endif
