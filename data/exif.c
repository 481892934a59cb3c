/* exif.c - the one EXIF entry that changes how pixels are read. */
#include "data/codec.h"

#ifdef EG_HAVE_EXIF
#include <libexif/exif-data.h>

int eg__exif_orientation(const uint8_t *data, unsigned bytes)
{
    int turn = 1;
    ExifData *d = exif_data_new();
    if (!d) {
        return turn;
    }
    /* Otherwise entries the specification asks for would be made up. */
    exif_data_unset_option(d, EXIF_DATA_OPTION_FOLLOW_SPECIFICATION);
    exif_data_load_data(d, data, bytes);
    ExifEntry *e = exif_content_get_entry(d->ifd[EXIF_IFD_0], EXIF_TAG_ORIENTATION);
    if (e && e->format == EXIF_FORMAT_SHORT && e->components >= 1 && e->size >= 2) {
        int said = exif_get_short(e->data, exif_data_get_byte_order(d));
        turn = said >= 1 && said <= 8 ? said : 1;
    }
    exif_data_unref(d);
    return turn;
}

#else

int eg__exif_orientation(const uint8_t *data, unsigned bytes)
{
    (void)data, (void)bytes;
    return 1;
}

#endif
