/* image.h - pictures out of files and into them.
 *
 * An image is a u8 tensor of shape [C, H, W] whose memory runs H, W, C (strides 1, W C, C): rows as
 * files have them, channels innermost, so that eg_permute and eg_stack meet channels-last memory.
 * C is 1 (gray), 3 (RGB) or 4 (RGBA, not premultiplied). Which formats a build knows depends on the
 * libraries found: libjpeg-turbo, libpng, stb for BMP; without one its format is EG_ENOKERNEL, in words.
 * Files are not trusted: pixels are counted against a cap and against what so many bytes can hold
 * before memory is asked for. */
#ifndef EGRET_DATA_IMAGE_H
#define EGRET_DATA_IMAGE_H

#include <egret/tensor.h>

EG_BEGIN_DECLS

typedef struct eg_image_options {
    size_t size;
    int channels;            /* 1, 3 or 4; 0: 1 for gray, 3 for colours, 4 with transparency */
    int scale;               /* JPEG: decode at 1/2, 1/4 or 1/8 of the size, rounded up; 0, 1: whole */
    bool fast_dct;           /* JPEG: the coarser integer transform */
    bool plain_upsampling;   /* JPEG: repeat colour samples instead of interpolating them */
    bool ignore_orientation; /* JPEG, PNG: keep the stored orientation instead of applying the one in EXIF */
    bool allow_truncated;    /* take what can be decoded of a damaged or cut file */
    bool keep_16;            /* PNG and PNM of 16 bits: i32 of 0..65535 instead of round(v / 257) as u8 */
    bool other_formats;      /* also read GIF (first frame), BMP, and PNM (P1 to P6, largest value up to 65535) */
    int64_t max_pixels;      /* 0: 2^26 (8192 x 8192) or 16 for each byte of the file, whichever is more, up to 2^28 */
} eg_image_options;

/* Decodes an encoded image in memory; its format is told by its first bytes. Gray from colours is
 * (19595 R + 38470 G + 7471 B + 2^15) >> 16 (ITU-R BT.601), of a JPEG too; missing alpha is opaque; alpha is
 * dropped where it is not asked for; four-ink JPEG files become RGB by C K / 255. Colour profiles
 * and gamma are left alone. PNM values are scaled to 0..255, bitmaps (P1, P4) become 0 and 255. A file whose pixels are
 * complete is read even if its end is missing (EOI of JPEG, IEND of PNG, trailer of GIF). EG_EFORMAT: no known format,
 * damaged or cut (what a decoder only warns about counts when pixels are lost), too many pixels, more scans than 500.
 */
EG_API eg_tensor *eg_image_decode_with(const void *data, size_t bytes, const eg_image_options *options);
#define eg_image_decode(...)               EG_IMAGE_DECODE_(__VA_ARGS__, )
#define EG_IMAGE_DECODE_(data, bytes, ...) eg_image_decode_with(data, bytes, EG_OPTIONS_(eg_image_options, __VA_ARGS__))

/* The size it would have, which its first bytes say; refusals as there, but of what only decoding shows. */
EG_API eg_status eg_image_size_with(const void *data, size_t bytes, int64_t *height, int64_t *width,
                                    const eg_image_options *options);
#define eg_image_size(...) EG_IMAGE_SIZE_(__VA_ARGS__, )
#define EG_IMAGE_SIZE_(data, bytes, height, width, ...) \
    eg_image_size_with(data, bytes, height, width, EG_OPTIONS_(eg_image_options, __VA_ARGS__))

/* Decodes the image in a file. */
EG_API eg_tensor *eg_image_load_with(const char *path, const eg_image_options *options);
#define eg_image_load(...)        EG_IMAGE_LOAD_(__VA_ARGS__, )
#define EG_IMAGE_LOAD_(path, ...) eg_image_load_with(path, EG_OPTIONS_(eg_image_options, __VA_ARGS__))

/* ---- writing: image is u8 [H, W], [1, H, W], [3, H, W] or [4, H, W] of any strides ---------- */

/* The bytes of a PNG file, u8 [n]. The same image gives the same bytes. */
EG_API eg_tensor *eg_png_encode(eg_tensor *image);
/* Writes a PNG file as io.h says of writers. */
EG_API eg_status eg_png_save(eg_tensor *image, const char *path);

typedef struct eg_jpeg_options {
    size_t size;
    int quality;      /* 1..100; 0: 90 */
    bool progressive; /* several scans, a little smaller, slower */
    bool full_colour; /* 4:4:4 instead of 4:2:0 */
} eg_jpeg_options;

/* The bytes of a JPEG file, u8 [n]; transparency (4 channels) is EG_ESHAPE, sides are at most
 * 65,500. */
EG_API eg_tensor *eg_jpeg_encode_with(eg_tensor *image, const eg_jpeg_options *options);
#define eg_jpeg_encode(...)         EG_JPEG_ENCODE_(__VA_ARGS__, )
#define EG_JPEG_ENCODE_(image, ...) eg_jpeg_encode_with(image, EG_OPTIONS_(eg_jpeg_options, __VA_ARGS__))
EG_API eg_status eg_jpeg_save_with(eg_tensor *image, const char *path, const eg_jpeg_options *options);
#define eg_jpeg_save(...)               EG_JPEG_SAVE_(__VA_ARGS__, )
#define EG_JPEG_SAVE_(image, path, ...) eg_jpeg_save_with(image, path, EG_OPTIONS_(eg_jpeg_options, __VA_ARGS__))

EG_END_DECLS

#endif
