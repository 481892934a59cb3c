/* test_image.c - codecs: what real and broken files give, and that what is written reads back. */
#define _POSIX_C_SOURCE 200809L
#include "tests/crc32c.h"
#include "tests/egt.h"

#include <dirent.h>

static void need(const char *format)
{
    eg_tensor *x = eg_zeros(EG_SHAPE(2, 2), EG_U8);
    egt_need(!strcmp(format, "JPEG") ? eg_jpeg_encode(x) : eg_png_encode(x), format);
}

/* u8 [C, H, W], smooth enough for JPEG. */
static eg_tensor *picture(int channels, int height, int width)
{
    eg_tensor *t = eg_empty(EG_SHAPE(channels, height, width), EG_U8);
    uint8_t *p = eg_data_mut(t);
    for (int c = 0; c < channels; c++) {
        for (int y = 0; y < height; y++) {
            for (int x = 0; x < width; x++) {
                *p++ = (uint8_t)(c == 3 ? 255 - y : 128 + 100 * sin(0.1 * (x + c * y) + c));
            }
        }
    }
    return t;
}

static eg_tensor *decode(eg_tensor *bytes)
{
    return eg_image_decode(eg_data(bytes), (size_t)eg_numel(bytes));
}

/* Mean |a - b|. */
static double mean_off(eg_tensor *a, eg_tensor *b)
{
    eg_tensor *d = eg_sub(eg_cast(a, EG_F32), eg_cast(b, EG_F32));
    return eg_item(eg_mean(eg_abs(d)));
}

static bool same(eg_tensor *a, eg_tensor *b)
{
    return egt_distance(a, b) == 0;
}

/* ---- PNG ------------------------------------------------------------------------------------ */

EGT(png_gives_back_what_it_got)
{
    need("PNG");
    static const int channels[] = {1, 3, 4};
    const char *path = egt_path("a.png");
    for (int i = 0; i < 3; i++) {
        eg_tensor *x = picture(channels[i], 13, 21), *y = decode(eg_png_encode(x));
        EGT_CHECK(same(x, y));
        EGT_EQ(eg_stride(y, 0), 1);
        EGT_EQ(eg_stride(y, 2), channels[i]);
        EGT_OK(eg_png_save(y, path));
        EGT_CHECK(same(x, eg_image_load(path)));
    }
    eg_tensor *x = picture(3, 6, 4);
    EGT_CHECK(same(eg_flip(x, EG_AXES(2)), decode(eg_png_encode(eg_flip(x, EG_AXES(2))))));
    EGT_CHECK(same(eg_select(x, 0, 1), eg_select(decode(eg_png_encode(eg_select(x, 0, 1))), 0, 0)));
}

EGT(png_channels_asked_for)
{
    need("PNG");
    eg_tensor *x = picture(4, 5, 7), *bytes = eg_png_encode(x);
    const void *p = eg_data(bytes);
    size_t n = (size_t)eg_numel(bytes);
    eg_tensor *rgb = eg_image_decode(p, n, .channels = 3), *gray = eg_image_decode(p, n, .channels = 1);
    EGT_CHECK(same(rgb, eg_slice(x, 0, 0, 3, 1)));
    EGT_EQ(eg_size(gray, 0), 1);
    for (int64_t i = 0; i < 35; i++) {
        double want = 0.299 * eg_get(x, i) + 0.587 * eg_get(x, 35 + i) + 0.114 * eg_get(x, 70 + i);
        EGT_CHECK(fabs(eg_get(gray, i) - want) <= 0.5001);
    }
    bytes = eg_png_encode(eg_slice(x, 0, 0, 1, 1));
    eg_tensor *all = eg_image_decode(eg_data(bytes), (size_t)eg_numel(bytes), .channels = 4);
    EGT_CHECK(same(eg_select(all, 0, 2), eg_select(x, 0, 0)));
    EGT_EQ(eg_get(all, 35 * 4 - 1), 255);
}

static void check_pngsuite(const char *folder, const char *name)
{
    char path[5000], twin[5000];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    eg_clear_error();
    eg_tensor *t = eg_image_load(path);
    if (name[0] == 'x') {
        EGT_CHECK(!t && eg_last_error()->code == EG_EFORMAT && strstr(eg_last_error()->message, name));
        eg_clear_error();
        return;
    }
    EGT_CHECK(t);
    int bits = atoi(name + 6);
    if (strncmp(name, "bas", 3) == 0) {
        EGT_EQ(eg_size(t, 0), strchr("46", name[4]) ? 4 : name[4] == '0' ? 1 : 3);
        snprintf(twin, sizeof twin, "%s/basn%s", folder, name + 4);
        EGT_CHECK(same(t, eg_image_load(twin))); /* interlaced or not */
    }
    if (bits == 16) {
        eg_tensor *wide = eg_image_load(path, .keep_16 = true);
        EGT_EQ(eg_dtype_of(wide), EG_I32);
        eg_tensor *less = eg_cast(eg_round(eg_mul_scalar(eg_cast(wide, EG_F32), 1 / 257.0)), EG_U8);
        EGT_CHECK(mean_off(less, t) < 0.01);
    }
    eg_tensor *gray = eg_image_load(path, .channels = 1);
    EGT_EQ(eg_size(gray, 0), 1);
    EGT_EQ(eg_size(eg_image_load(path, .channels = 4), 0), 4);
    EGT_EQ(eg_size(eg_image_load(path, .channels = 3), 0), 3);
}

EGT(png_suite)
{
    need("PNG");
    const char *here = egt_real("odd-images/pngsuite");
    int good = 0, broken = 0;
    DIR *d = opendir(here);
    EGT_CHECK(d);
    for (struct dirent *e; (e = readdir(d));) {
        size_t n = strlen(e->d_name);
        if (n == 12 && !strcmp(e->d_name + 8, ".png")) {
            EG_SCOPE {
                check_pngsuite(here, e->d_name);
            }
            *(e->d_name[0] == 'x' ? &broken : &good) += 1;
        }
    }
    closedir(d);
    EGT_EQ(broken, 14);
    EGT_EQ(good, 161);
}

EGT(png_that_lies)
{
    need("PNG");
    eg_tensor *bytes = eg_png_encode(picture(3, 9, 9));
    size_t n = (size_t)eg_numel(bytes);
    uint8_t *p = eg_data_mut(bytes);
    for (size_t cut = 0; cut < n - 12; cut++) {
        eg_clear_error();
        EGT_CHECK(!eg_image_decode(p, cut) && eg_last_error()->code == EG_EFORMAT);
    }
    EGT_CHECK(eg_image_decode(p, n - 30, .allow_truncated = true) != NULL);
    static const uint32_t sizes[] = {0, 0x7fffffff, 0xffffffff, 100000};
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 8; k++) {
            p[16 + k] = (uint8_t)(sizes[i] >> (24 - 8 * (k & 3)));
        }
        uint32_t c = crc32_by_bits(p + 12, 17);
        for (int k = 0; k < 4; k++) {
            p[29 + k] = (uint8_t)(c >> (24 - 8 * k));
        }
        EGT_REFUSED(eg_image_decode(p, n), EG_EFORMAT, "memory");
        EGT_REFUSED(eg_image_decode(p, n, .max_pixels = INT64_MAX), EG_EFORMAT, "memory");
    }
}

/* A chunk behind the header of a PNG file; returns the new length. */
static size_t insert_chunk(const uint8_t *png, size_t n, const char *type, const void *data, uint32_t size, uint8_t *to)
{
    uint8_t *p = to + 33;
    memcpy(to, png, 33);
    for (int k = 0; k < 4; k++) {
        p[k] = (uint8_t)(size >> (24 - 8 * k));
    }
    memcpy(p + 4, type, 4);
    memcpy(p + 8, data, size);
    uint32_t c = crc32_by_bits(p + 4, size + 4);
    for (int k = 0; k < 4; k++) {
        p[8 + size + (uint32_t)k] = (uint8_t)(c >> (24 - 8 * k));
    }
    memcpy(p + 12 + size, png + 33, n - 33);
    return n + 12 + size;
}

EGT(png_chunks)
{
    need("PNG");
    uint8_t to[2000];
    eg_tensor *x = picture(3, 9, 9), *bytes = eg_png_encode(x);
    size_t n = (size_t)eg_numel(bytes);
    const uint8_t *p = eg_data(bytes);
    /* Packed text and profiles are not even unpacked; unknown critical chunks are refused. */
    size_t m = insert_chunk(p, n, "zTXt", "a\0\0nonsense", 11, to);
    EGT_CHECK(same(x, eg_image_decode(to, m)));
    m = insert_chunk(p, n, "iCCP", "a\0\0nonsense", 11, to);
    EGT_CHECK(same(x, eg_image_decode(to, m)));
    m = insert_chunk(p, n, "tRNS", "12345", 5, to); /* of a wrong length */
    EGT_REFUSED(eg_image_decode(to, m), EG_EFORMAT, "tRNS");
    EGT_EQ(eg_size(eg_image_decode(to, m, .allow_truncated = true), 0), 3);
    m = insert_chunk(p, n, "tRNS", "\0\1\0\2\0\3", 6, to);
    EGT_EQ(eg_size(eg_image_decode(to, m), 0), 4);
    to[45] ^= 1; /* a bit of it: transparency is not dropped in silence */
    EGT_REFUSED(eg_image_decode(to, m), EG_EFORMAT, "CRC");
    EGT_EQ(eg_size(eg_image_decode(to, m, .allow_truncated = true), 0), 3);
    m = insert_chunk(p, n, "ABCD", "1234", 4, to);
    EGT_REFUSED(eg_image_decode(to, m), EG_EFORMAT, "ABCD");
    memcpy(to, p, 33);
    memcpy(to + 33, p + n - 12, 12); /* no pixels at all */
    EGT_REFUSED(eg_image_decode(to, 45), EG_EFORMAT, "IEND");
}

EGT(png_palettes)
{
    need("PNG");
    static const uint8_t colours[] = {10, 20, 30, 40, 50, 60, 70, 80, 90}, places[] = {0, 2, 1};
    eg_tensor *bytes = eg_png_encode(eg_from(EG_SHAPE(1, 3), EG_U8, places));
    size_t n = (size_t)eg_numel(bytes);
    uint8_t *p = eg_data_mut(bytes), to[200], seen[200];
    p[25] = 3; /* gray made places in a palette */
    uint32_t c = crc32_by_bits(p + 12, 17);
    for (int k = 0; k < 4; k++) {
        p[29 + k] = (uint8_t)(c >> (24 - 8 * k));
    }
    size_t m = insert_chunk(p, n, "PLTE", colours, 9, to);
    const eg_tensor *x = eg_image_decode(to, m);
    EGT_EQ(eg_size(x, 0), 3);
    EGT_EQ(eg_get(x, 0), 10);
    EGT_EQ(eg_get(x, 1), 70);
    EGT_EQ(eg_get(x, 8), 60);
    EGT_EQ(eg_get(eg_image_decode(to, m, .channels = 1), 0), 18);
    m = insert_chunk(p, n, "tRNS", "\x80\x40", 2, to);
    m = insert_chunk(to, m, "PLTE", colours, 9, seen);
    x = eg_image_decode(seen, m);
    EGT_EQ(eg_size(x, 0), 4);
    EGT_EQ(eg_get(x, 9), 0x80);
    EGT_EQ(eg_get(x, 10), 255);
    EGT_EQ(eg_size(eg_image_decode(seen, m, .channels = 3), 0), 3);
    m = insert_chunk(p, n, "PLTE", colours, 6, to);
    EGT_REFUSED(eg_image_decode(to, m), EG_EFORMAT, "colour 2 of 2");
    EGT_EQ(eg_get(eg_image_decode(to, m, .allow_truncated = true), 1), 0);
}

/* ---- JPEG ----------------------------------------------------------------------------------- */

EGT(jpeg_comes_back_close)
{
    need("JPEG");
    for (int channels = 1; channels <= 3; channels += 2) {
        for (int progressive = 0; progressive < 2; progressive++) {
            eg_tensor *x = picture(channels, 45, 83);
            eg_tensor *fine = eg_jpeg_encode(x, .quality = 97, .full_colour = true, .progressive = progressive),
                      *coarse = eg_jpeg_encode(x, .quality = 20, .progressive = progressive);
            EGT_CHECK(eg_numel(coarse) < eg_numel(fine));
            eg_tensor *y = decode(fine);
            EGT_EQ(eg_size(y, 0), channels);
            EGT_EQ(eg_stride(y, 0), 1);
            EGT_CHECK(mean_off(x, y) < 2.5);
            EGT_CHECK(mean_off(x, y) < mean_off(x, decode(coarse)));
        }
    }
}

EGT(jpeg_options)
{
    need("JPEG");
    eg_tensor *x = picture(3, 45, 83), *bytes = eg_jpeg_encode(x);
    const void *p = eg_data(bytes);
    size_t n = (size_t)eg_numel(bytes);
    for (int scale = 1; scale <= 8; scale *= 2) {
        eg_tensor *y = eg_image_decode(p, n, .scale = scale);
        EGT_EQ(eg_size(y, 1), (45 + scale - 1) / scale);
        EGT_EQ(eg_size(y, 2), (83 + scale - 1) / scale);
    }
    eg_tensor *whole = decode(bytes), *fast = eg_image_decode(p, n, .fast_dct = true),
              *plain = eg_image_decode(p, n, .plain_upsampling = true);
    EGT_CHECK(!same(whole, fast) && mean_off(whole, fast) < 2);
    EGT_CHECK(!same(whole, plain) && mean_off(whole, plain) < 8);
    eg_tensor *rgba = eg_image_decode(p, n, .channels = 4);
    EGT_CHECK(same(eg_slice(rgba, 0, 0, 3, 1), whole));
    EGT_EQ(eg_item(eg_min(eg_select(rgba, 0, 3))), 255);
    EGT_EQ(eg_size(eg_image_decode(p, n, .channels = 1), 0), 1);
    EGT_REFUSED(eg_image_decode(p, n, .channels = 2), EG_EINVAL, "channels is 2");
    EGT_REFUSED(eg_image_decode(p, n, .scale = 3), EG_EINVAL, "scale is 3");
    EGT_REFUSED(eg_image_decode(p, n, .max_pixels = 45 * 83 - 1), EG_EFORMAT, "45");
    EGT_REFUSED(eg_image_decode(p, n, .max_pixels = -1), EG_EINVAL, "max_pixels");
}

/* As in every format it is of the colours one gets, not the luma that is stored. */
EGT(jpeg_gray)
{
    need("JPEG");
    eg_tensor *x = eg_cast(egt_random(EG_SHAPE(3, 20, 24), EG_F32, 0, 256), EG_U8);
    for (int scale = 1; scale <= 2; scale++) {
        eg_tensor *bytes = eg_jpeg_encode(x, .quality = 90);
        const size_t n = (size_t)eg_numel(bytes);
        eg_tensor *rgb = eg_image_decode(eg_data(bytes), n, .scale = scale);
        eg_tensor *gray = eg_image_decode(eg_data(bytes), n, .scale = scale, .channels = 1);
        EGT_EQ(eg_size(gray, 0), 1);
        for (int64_t i = 0, size = eg_numel(gray); i < size; i++) {
            const double r = eg_get(rgb, i), g = eg_get(rgb, size + i), b = eg_get(rgb, 2 * size + i);
            EGT_EQ(eg_get(gray, i), floor((19595 * r + 38470 * g + 7471 * b + (1 << 15)) / 65536));
        }
    }
}

/* A JPEG file with an EXIF block that says how to turn it. */
static eg_tensor *with_orientation(eg_tensor *bytes, int orientation)
{
    uint8_t app1[] = {0xff, 0xe1, 0,    34,   'E', 'x', 'i', 'f', 0, 0, 'M', 'M', 0, 42, 0, 0, 0, 8,
                      0,    1,    0x01, 0x12, 0,   3,   0,   0,   0, 1, 0,   0,   0, 0,  0, 0, 0, 0};
    app1[29] = (uint8_t)orientation;
    eg_tensor *add = eg_from(EG_SHAPE((int64_t)sizeof app1), EG_U8, app1);
    return eg_concat((eg_tensor *[]){eg_slice(bytes, 0, 0, 2, 1), add, eg_slice(bytes, 0, 2, EG_END, 1)}, 3, 0);
}

EGT(jpeg_the_right_way_up)
{
    need("JPEG");
    eg_tensor *bytes = eg_jpeg_encode(picture(3, 24, 40)), *plain = decode(bytes);
    if (eg_size(decode(with_orientation(bytes, 6)), 1) == 24) {
        egt_skip("built without libexif");
    }
    /* What EXIF says row 0 and column 0 of the stored picture are on the screen. */
    for (int said = 0; said < 11; said++) {
        eg_tensor *turned = decode(with_orientation(bytes, said)), *want = plain;
        switch (said) {
        case 2: /* top, right */
            want = eg_flip(plain, EG_AXES(2));
            break;
        case 3: /* bottom, right */
            want = eg_flip(plain, EG_AXES(1, 2));
            break;
        case 4: /* bottom, left */
            want = eg_flip(plain, EG_AXES(1));
            break;
        case 5: /* left, top */
            want = eg_transpose(plain, 1, 2);
            break;
        case 6: /* right, top */
            want = eg_flip(eg_transpose(plain, 1, 2), EG_AXES(2));
            break;
        case 7: /* right, bottom */
            want = eg_flip(eg_transpose(plain, 1, 2), EG_AXES(1, 2));
            break;
        case 8: /* left, bottom */
            want = eg_flip(eg_transpose(plain, 1, 2), EG_AXES(1));
            break;
        default:
            break;
        }
        EGT_CHECK(same(turned, want));
        EGT_EQ(eg_stride(turned, 0), 1);
        turned = with_orientation(bytes, said);
        int64_t height = 0, width = 0;
        EGT_OK(eg_image_size(eg_data(turned), (size_t)eg_numel(turned), &height, &width));
        EGT_CHECK(height == eg_size(want, 1) && width == eg_size(want, 2));
        EGT_CHECK(same(plain, eg_image_decode(eg_data(turned), (size_t)eg_numel(turned), .ignore_orientation = true)));
    }
}

/* A part for training is turned first, then mirrored left to right. */
EGT(jpeg_on_its_side_as_a_part)
{
    need("JPEG");
    eg_tensor *bytes = eg_jpeg_encode(picture(3, 24, 40));
    if (eg_size(decode(with_orientation(bytes, 6)), 1) == 24) {
        egt_skip("built without libexif");
    }
    for (int said = 1; said <= 8; said++) {
        int height = said > 4 ? 40 : 24, width = 64 - height, mirrored = 0;
        double ratio = (double)width / height;
        eg_tensor *file = with_orientation(bytes, said), *plain = eg_image_to_float(decode(file));
        for (int i = 0; i < 24; i++) {
            eg_seed((uint64_t)i);
            eg_tensor *got = eg_image_decode_crop(eg_data(file), (size_t)eg_numel(file), height, width, .scale = {1, 1},
                                                  .ratio = {ratio, ratio}, .exact = true);
            bool as_is = egt_distance(got, plain) < 1e-5;
            EGT_CHECK(as_is || egt_distance(got, eg_flip(plain, EG_AXES(2))) < 1e-5);
            mirrored += !as_is;
        }
        EGT_CHECK(mirrored > 4 && mirrored < 20);
    }
}

EGT(jpeg_that_is_damaged)
{
    need("JPEG");
    eg_tensor *bytes = eg_jpeg_encode(picture(3, 45, 83));
    size_t n = (size_t)eg_numel(bytes);
    const uint8_t *p = eg_data(bytes);
    for (size_t cut = 0; cut < n - 2; cut++) {
        eg_clear_error();
        EGT_CHECK(!eg_image_decode(p, cut) && eg_last_error()->code == EG_EFORMAT);
    }
    EGT_CHECK(eg_image_decode(p, n - 100, .allow_truncated = true) != NULL);
    uint8_t *big = malloc(n);
    memcpy(big, p, n);
    for (size_t i = 0; i + 8 < n; i++) { /* the frame header: 65500 x 65500 */
        if (big[i] == 0xff && big[i + 1] == 0xc0) {
            big[i + 5] = big[i + 7] = 0xff;
            big[i + 6] = big[i + 8] = 0xdc;
        }
    }
    EGT_REFUSED(eg_image_decode(big, n), EG_EFORMAT, "65500 x 65500");
    EGT_REFUSED(eg_image_decode(big, n, .max_pixels = INT64_MAX), EG_EFORMAT, "cannot be in");
    for (size_t i = 0; i + 8 < n; i++) { /* 8192 x 8193: more than such a file is trusted with */
        if (big[i] == 0xff && big[i + 1] == 0xc0) {
            big[i + 5] = big[i + 7] = 0x20;
            big[i + 6] = 0;
            big[i + 8] = 1;
        }
    }
    EGT_REFUSED(eg_image_decode(big, n), EG_EFORMAT, "more than max_pixels, 67108864");
    free(big);
}

EGT(jpeg_of_too_many_scans)
{
    need("JPEG");
    enum { TIMES = 600 };
    eg_tensor *bytes = eg_jpeg_encode(picture(1, 16, 16), .progressive = true);
    size_t n = (size_t)eg_numel(bytes), scan = 0;
    const uint8_t *p = eg_data(bytes);
    while (p[scan] != 0xff || p[scan + 1] != 0xda) {
        scan++;
    }
    size_t next = scan + 2;
    while (p[next] != 0xff || p[next + 1] == 0) {
        next++;
    }
    size_t length = next - scan, m = next;
    uint8_t *many = malloc(n + TIMES * length);
    memcpy(many, p, next);
    for (int i = 0; i < TIMES; i++, m += length) { /* the same scan again and again */
        memcpy(many + m, p + scan, length);
    }
    memcpy(many + m, p + next, n - next);
    m += n - next;
    EGT_REFUSED(eg_image_decode(many, m), EG_EFORMAT, "500 scans");
    free(many);
}

EGT(jpeg_files_of_others)
{
    need("JPEG");
    eg_tensor *t = eg_image_load(egt_real("odd-images/jpeg/jpeg_merge_test1.jpg"));
    eg_tensor *ink = eg_image_load(egt_real("odd-images/jpeg/jpeg_merge_test1_cmyk.jpg"));
    EGT_CHECK(t && ink && eg_size(ink, 0) == 3);
    EGT_CHECK(mean_off(t, ink) < 12);
    t = eg_image_load(egt_real("odd-images/jpeg/cmyk-progressive.jpg"));
    EGT_CHECK(t && eg_size(t, 0) == 3 && eg_size(t, 1) == 1745 && eg_size(t, 2) == 2400);
    t = eg_image_load(egt_real("odd-images/jpeg/COCO_train2014_000000000086.jpg"));
    EGT_CHECK(t && eg_size(t, 0) == 1);
    EGT_EQ(eg_size(eg_image_load(egt_real("odd-images/jpeg/progressive-2x2.jpeg")), 2), 2);
    static const char *const damaged[] = {"odd-images/jpeg/corrupt.jpg", "odd-images/jpeg/corrupt34_3.jpg",
                                          "odd-images/jpeg/corrupt34_4.jpg"};
    for (int i = 0; i < 3; i++) {
        const char *path = egt_real(damaged[i]);
        EGT_REFUSED(eg_image_load(path), EG_EFORMAT, "JPEG, byte");
        EGT_CHECK(i == 0 || eg_image_load(path, .allow_truncated = true));
    }
    EGT_REFUSED(eg_image_load(egt_real("odd-images/jpeg/corrupt34_2.jpg")), EG_EFORMAT,
                "2544 x 3300 pixels cannot be in");
}

/* ---- the rest ------------------------------------------------------------------------------- */

static const uint8_t bmp[] = {'B', 'M', 70, 0, 0, 0, 0, 0, 0, 0, 54, 0, 0, 0, 40, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 1, 0,
                              24, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                              /* bottom row first: blue, green; red, white */
                              255, 0, 0, 0, 255, 0, 0, 0, 0, 0, 255, 255, 255, 255, 0, 0};

EGT(other_formats_where_asked_for)
{
    EGT_REFUSED(eg_image_decode(bmp, sizeof bmp), EG_EFORMAT, "neither");
    eg_tensor *t = eg_image_decode(bmp, sizeof bmp, .other_formats = true);
    egt_need(t, "stb");
    static const double want[] = {255, 255, 0, 0, 0, 255, 0, 255, 0, 255, 255, 0};
    EGT_CHECK(t && eg_numel(t) == 12 && eg_size(t, 0) == 3);
    for (int i = 0; i < 12; i++) {
        EGT_EQ(eg_get(t, i), want[i]);
    }
    EGT_EQ(eg_get(eg_image_decode(bmp, sizeof bmp, .other_formats = true, .channels = 1), 0), 76);
    EGT_REFUSED(eg_image_decode("what?", 5, .other_formats = true), EG_EFORMAT, "memory");
    EGT_REFUSED(eg_image_decode("8BPS\0\1", 6, .other_formats = true), EG_EFORMAT, "BMP");
    EGT_REFUSED(eg_image_decode(bmp, sizeof bmp, .other_formats = true, .max_pixels = 3), EG_EFORMAT, "2 x 2");
    static const uint8_t no_frame[] = {'G', 'I', 'F', '8', '9', 'a', 2, 0, 2, 0, 0, 0, 0, 0x3b};
    EGT_REFUSED(eg_image_decode(no_frame, sizeof no_frame, .other_formats = true), EG_EFORMAT, "memory");
    uint8_t turned[sizeof bmp];
    memcpy(turned, bmp, sizeof bmp);
    memset(turned + 22, 0xff, 4); /* a height of -2: from the top */
    turned[22] = 0xfe;
    EGT_EQ(eg_get(eg_image_decode(turned, sizeof turned, .other_formats = true), 8), 255);
    if (egt_data()) {
        t = eg_image_load(egt_real("odd-images/gif/scan.gif"), .other_formats = true);
        EGT_CHECK(t && eg_size(t, 1) > 10);
    }
}

EGT(what_is_no_image)
{
    eg_tensor *f = eg_zeros(EG_SHAPE(3, 4, 4), EG_F32), *odd = eg_zeros(EG_SHAPE(2, 4, 4), EG_U8),
              *none = eg_zeros(EG_SHAPE(3, 0, 4), EG_U8), *alpha = eg_zeros(EG_SHAPE(4, 4, 4), EG_U8);
    EGT_REFUSED(eg_png_encode(f), EG_EDTYPE, "f32");
    EGT_REFUSED(eg_png_encode(odd), EG_ESHAPE, "[2, 4, 4]");
    EGT_REFUSED(eg_jpeg_encode(none), EG_ESHAPE, "[3, 0, 4]");
    EGT_REFUSED(eg_jpeg_encode(alpha), EG_ESHAPE, "transparency");
    EGT_REFUSED(eg_jpeg_encode(eg_zeros(EG_SHAPE(65501, 1), EG_U8)), EG_ESHAPE, "65501");
    EGT_REFUSED(eg_jpeg_encode(odd, .quality = 101), EG_ESHAPE, "[2, 4, 4]");
    EGT_REFUSED(eg_jpeg_encode(eg_zeros(EG_SHAPE(2, 2), EG_U8), .quality = 101), EG_EINVAL, "101");
    EGT_REFUSED(eg_png_save(NULL, "/tmp/x.png"), EG_EINVAL, "image");
    EGT_REFUSED(eg_image_load("/nowhere/x.png"), EG_EIO, "/nowhere");
    EGT_REFUSED(eg_image_load("/tmp"), EG_EIO, "regular");
    EGT_REFUSED(eg_image_load(NULL), EG_EINVAL, "path");
    EGT_REFUSED(eg_image_decode(NULL, 4), EG_EINVAL, "data");
    EGT_REFUSED(eg_image_decode("", 0), EG_EFORMAT, "neither");
}

EGT(sizes_without_pixels)
{
    int64_t height = 0, width = 0;
    need("PNG");
    eg_tensor *bytes = eg_png_encode(picture(3, 7, 9));
    EGT_OK(eg_image_size(eg_data(bytes), (size_t)eg_numel(bytes) - 16, &height, &width)); /* the end is not looked at */
    EGT_CHECK(height == 7 && width == 9);
    EGT_REFUSED(eg_image_size(eg_data(bytes), 20, &height, &width), EG_EFORMAT, "");
    EGT_REFUSED(eg_image_size(eg_data(bytes), 40, &height, NULL), EG_EINVAL, "width");
    EGT_REFUSED(eg_image_size(eg_data(bytes), (size_t)eg_numel(bytes), &height, &width, .max_pixels = 10), EG_EFORMAT,
                "max_pixels");
    EGT_CHECK(height == 7 && width == 9);
}
