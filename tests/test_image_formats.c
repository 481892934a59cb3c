/* test_image_formats.c - PNM and GIF, files without their end, and orientations of PNG. Values: pillow. */
#define _POSIX_C_SOURCE 200809L
#include "tests/crc32c.h"
#include "tests/egt.h"

#define DECODE(data, ...) eg_image_decode(data, __VA_ARGS__, .other_formats = true)

static void check_values(eg_tensor *t, int64_t channels, const int *want)
{
    EGT_CHECK(t);
    EGT_EQ(eg_size(t, 0), channels);
    for (int64_t i = 0; i < eg_numel(t); i++) {
        EGT_EQ(eg_get(t, i), want[i]);
    }
}

EGT(pnm_values_are_scaled_to_the_largest)
{
    static const struct {
        const char *file;
        size_t bytes;
        int channels, value[6];
    } cases[] = {
        {"P5\n4 1\n65535\n\0\0\x03\xe8\x75\x30\xff\xff", 21, 1, {0, 4, 117, 255}},
        {"P5 3 1 1000 \0\0\1\xf4\x03\xe8", 18, 1, {0, 128, 255}},
        {"P5 3 1 15 \0\x07\x0f", 13, 1, {0, 119, 255}},
        {"P5 2 1 100 \x64\xff", 13, 1, {255, 255}}, /* a value above the largest */
        {"P6 1 2 3 \0\1\2\3\2\1", 15, 3, {0, 255, 85, 170, 170, 85}},
        {"P6 1 1 300 \0\x96\1\x2c\0\0", 17, 3, {128, 255, 0}},
        {"P4 10 1\n\xa5\x80", 10, 1, {0}}, /* checked below */
        {"P1 # one\n3 2 101 0#two\n1 1", 26, 1, {0, 255, 0, 255, 0, 0}},
        {"P2\r3 1\r7\r0 # c\r 3\n7", 20, 1, {0, 109, 255}},
        {"P3 2 1 255\n1 2 3 4\n5 6\n", 23, 3, {1, 4, 2, 5, 3, 6}},
    };
    static const int bits[] = {0, 255, 0, 255, 255, 0, 255, 0, 0, 255};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(egt_case, sizeof egt_case, "pnm_%zu", i);
        const char *p = cases[i].file;
        check_values(DECODE(p, cases[i].bytes), cases[i].channels, p[1] == '4' ? bits : cases[i].value);
        for (size_t cut = 0; cut + 1 < cases[i].bytes; cut++) {
            EGT_CHECK(p[1] < '4' || !DECODE(p, cut)); /* text may end within a number */
        }
        eg_clear_error();
        EGT_EQ(eg_size(DECODE(p, cases[i].bytes, .channels = 4), 0), 4);
        EGT_EQ(eg_size(DECODE(p, cases[i].bytes, .channels = 1), 0), 1);
    }
    static const int wide[] = {0, 32768, 65535};
    check_values(DECODE(cases[1].file, cases[1].bytes, .keep_16 = true), 1, wide);
    EGT_EQ(eg_dtype_of(DECODE(cases[1].file, cases[1].bytes, .keep_16 = true)), EG_I32);
    EGT_EQ(eg_dtype_of(DECODE(cases[2].file, cases[2].bytes, .keep_16 = true)), EG_U8);
    eg_tensor *part = DECODE("P5 2 2 255 abc", 14, .allow_truncated = true);
    check_values(part, 1, (int[]){'a', 'b', 0, 0});
}

EGT(pnm_that_is_damaged)
{
    EGT_REFUSED(DECODE("P5 2 2 65536 abcdabcd", 21), EG_EFORMAT, "1..65535");
    EGT_REFUSED(DECODE("P5 2 2 0 abcd", 13), EG_EFORMAT, "1..65535");
    EGT_REFUSED(DECODE("P5 0 2 255 abcd", 15), EG_EFORMAT, "0 x 2");
    EGT_REFUSED(DECODE("P5 2 2 255 abc", 14), EG_EFORMAT, "too early");
    EGT_REFUSED(DECODE("P5 99999 99999 255 abc", 22), EG_EFORMAT, "max_pixels");
    EGT_REFUSED(DECODE("P5 12345678901 1 255 abc", 24), EG_EFORMAT, "10 digits");
    EGT_REFUSED(DECODE("P5 x 2 255 abc", 14), EG_EFORMAT, "expected a number");
    EGT_REFUSED(DECODE("P2 2 1 7 3 8", 12), EG_EFORMAT, "above the largest");
    EGT_REFUSED(DECODE("P1 2 1 12", 9), EG_EFORMAT, "0 or 1");
    EGT_REFUSED(DECODE("P7\nWIDTH 2\n", 11), EG_EFORMAT, "none of");
    EGT_REFUSED(eg_image_decode("P5 1 1 255 a", 12), EG_EFORMAT, "neither");
}

/* ---- GIF ------------------------------------------------------------------------------------ */

typedef struct gif {
    uint8_t p[600];
    size_t n, pixels_end; /* up to the last byte of codes */
    uint32_t bits, have;
} gif;

static void add(gif *g, const void *p, size_t n)
{
    memcpy(g->p + g->n, p, n);
    g->n += n;
}

/* Codes of 3 bits, in sub-blocks of one byte. */
static void add_code(gif *g, unsigned code)
{
    g->bits |= code << g->have;
    for (g->have += 3; g->have >= 8; g->have -= 8, g->bits >>= 8) {
        add(g, (uint8_t[]){1, (uint8_t)g->bits}, 2);
    }
}

/* Canvas 3 x 5, four gray levels 10 i, a frame of `width` x `height` at (left, top); transparent < 0: none. */
static gif make_gif(int transparent, bool interlaced, int left, int top, int width, int height, const uint8_t *index)
{
    static const uint8_t screen[] = {'G', 'I', 'F', '8', '9', 'a', 3,  0,  5,  0,  0x81, 0, 0,
                                     0,   1,   2,   10,  11,  12,  20, 21, 22, 30, 31,   32};
    gif g = {0};
    add(&g, screen, sizeof screen);
    if (transparent >= 0) {
        add(&g, (uint8_t[]){'!', 0xf9, 4, 1, 0, 0, (uint8_t)transparent, 0}, 8);
    }
    add(&g, "!\xfe\3abc", 7); /* a comment */
    const uint8_t frame[] = {',', (uint8_t)left,   0, (uint8_t)top,          0, (uint8_t)width,
                             0,   (uint8_t)height, 0, interlaced ? 0x40 : 0, 2};
    add(&g, frame, sizeof frame);
    for (int i = 0; i < width * height; i++) {
        if (i % 2 == 0) {
            add_code(&g, 4); /* clear: codes stay at 3 bits */
        }
        add_code(&g, index[i]);
    }
    add_code(&g, 5);
    add_code(&g, 0);
    add_code(&g, 0);
    g.pixels_end = g.n;
    add(&g, "\0;", 2);
    return g;
}

EGT(gif_channels_interlace_and_frames)
{
    static const uint8_t index[] = {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2};
    static const int interlaced[] = {0, 3, 2, 4, 1}; /* row y of the picture comes as the i-th in the file */
    for (int k = 0; k < 4; k++) {
        int clear = k & 1 ? 2 : -1;
        gif g = make_gif(clear, k & 2, 0, 0, 3, 5, index);
        eg_tensor *t = DECODE(g.p, g.n);
        EGT_CHECK(t);
        EGT_EQ(eg_size(t, 0), clear < 0 ? 3 : 4);
        for (int y = 0; y < 5; y++) {
            for (int x = 0; x < 3; x++) {
                int i = index[(k & 2 ? interlaced[y] : y) * 3 + x];
                for (int c = 0; c < 3; c++) {
                    EGT_EQ(eg_get(t, (c * 5 + y) * 3 + x), 10 * i + c);
                }
                EGT_CHECK(clear < 0 || eg_get(t, 45 + y * 3 + x) == (i == clear ? 0 : 255));
            }
        }
    }
    gif part = make_gif(3, false, 1, 2, 2, 2, index); /* outside the frame: the transparent color */
    eg_tensor *t = DECODE(part.p, part.n, .channels = 3);
    static const int want[] = {30, 30, 30, 30, 30, 30, 30, 0, 10, 30, 20, 30, 30, 30, 30};
    for (int i = 0; i < 15; i++) {
        EGT_EQ(eg_get(t, i), want[i]);
    }
    gif large = make_gif(-1, false, 2, 0, 2, 1, index); /* the canvas grows */
    EGT_EQ(eg_size(DECODE(large.p, large.n), 2), 4);
}

EGT(gif_that_is_cut)
{
    static const uint8_t index[15] = {1, 2, 3};
    gif g = make_gif(-1, false, 0, 0, 3, 5, index);
    for (size_t cut = 0; cut < g.n; cut++) {
        eg_clear_error();
        eg_tensor *t = DECODE(g.p, cut);
        /* The last pixel's bits end some bytes before the codes do. */
        EGT_CHECK(cut >= g.pixels_end ? t != NULL : t || eg_last_error()->code == EG_EFORMAT);
        EGT_CHECK(cut + 6 >= g.pixels_end || !t);
    }
    eg_clear_error();
    EGT_CHECK(DECODE(g.p, g.pixels_end - 12, .allow_truncated = true));
    gif bad = g;
    bad.p[g.pixels_end - 14] = 0; /* an empty sub-block before the last pixel */
    EGT_REFUSED(DECODE(bad.p, bad.n), EG_EFORMAT, "GIF");
    gif sized = make_gif(-1, false, 0, 0, 3, 0, index);
    EGT_CHECK(DECODE(sized.p, sized.n)); /* a frame without pixels: the first color */
}

/* ---- ends that are missing -------------------------------------------------------------------- */

static eg_tensor *noise(int channels, int height, int width)
{
    return eg_cast(egt_random(EG_SHAPE(channels, height, width), EG_F32, 0, 256), EG_U8);
}

EGT(jpeg_without_its_end_marker)
{
    for (int k = 0; k < 2; k++) {
        eg_tensor *bytes = eg_jpeg_encode(noise(3, 19, 33), .progressive = k);
        egt_need(bytes, "JPEG");
        const uint8_t *p = eg_data(bytes);
        size_t n = (size_t)eg_numel(bytes);
        eg_tensor *whole = eg_image_decode(p, n);
        EGT_CHECK(egt_distance(eg_image_decode(p, n - 2), whole) == 0);
        EGT_CHECK(egt_distance(eg_image_decode(p, n - 1), whole) == 0);
        int scans = 0;
        for (size_t i = 0; i + 1 < n; i++) { /* cut where a scan begins: nothing is lost of the scans before */
            if (p[i] == 0xff && p[i + 1] == 0xda) {
                EGT_REFUSED(eg_image_decode(p, i), EG_EFORMAT, "JPEG");
                EGT_CHECK(!scans++ || eg_image_decode(p, i, .allow_truncated = true));
            }
        }
        EGT_CHECK(scans == 1 || k);
        for (size_t cut = 4; cut < 200; cut++) {
            EGT_REFUSED(eg_image_decode(p, n - cut), EG_EFORMAT, "JPEG");
        }
    }
}

EGT(png_without_its_last_chunk)
{
    eg_tensor *x = noise(3, 9, 7), *bytes = eg_png_encode(x);
    egt_need(bytes, "PNG");
    const uint8_t *p = eg_data(bytes);
    size_t n = (size_t)eg_numel(bytes);
    for (size_t cut = 1; cut <= 12; cut++) {
        EGT_CHECK(egt_distance(eg_image_decode(p, n - cut), x) == 0);
    }
    for (size_t cut = 13; cut <= n; cut++) {
        EGT_REFUSED(eg_image_decode(p, n - cut), EG_EFORMAT, "memory");
    }
}

EGT(bmp_that_is_cut)
{
    static const uint8_t bmp[] = {'B', 'M', 62, 0, 0, 0, 0, 0,  0, 0, 54, 0, 0, 0, 40, 0, 0, 0, 1, 0, 0,
                                  0,   2,   0,  0, 0, 1, 0, 24, 0, 0, 0,  0, 0, 8, 0,  0, 0, 0, 0, 0, 0,
                                  0,   0,   0,  0, 0, 0, 0, 0,  0, 0, 0,  0, 1, 2, 3,  0, 4, 5, 6, 0};
    egt_need(DECODE(bmp, sizeof bmp), "stb");
    EGT_CHECK(DECODE(bmp, sizeof bmp - 1)); /* padding */
    for (size_t cut = 2; cut < sizeof bmp - 2; cut++) {
        EGT_REFUSED(DECODE(bmp, sizeof bmp - cut), EG_EFORMAT, "");
    }
    EGT_CHECK(DECODE(bmp, sizeof bmp - 3, .allow_truncated = true));
}

EGT(bmp_palettes)
{
    uint8_t bmp[70] = {'B', 'M', 70, 0, 0, 0, 0, 0, 0, 0, 62, 0, 0, 0, 40, 0, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0, 1, 0, 8};
    memcpy(bmp + 54, ((uint8_t[]){1, 2, 3, 0, 4, 5, 6, 0, 0, 1, 1, 0, 1}), 13);
    eg_tensor *t = DECODE(bmp, 70);
    egt_need(t, "stb");
    static const int want[] = {3, 6, 6, 3, 6, 2, 5, 5, 2, 5, 1, 4, 4, 1, 4};
    check_values(t, 3, want);
    bmp[66] = 2; /* a third color of two */
    EGT_REFUSED(DECODE(bmp, 70), EG_EFORMAT, "palette lacks");
    EGT_REFUSED(DECODE(bmp, 70, .allow_truncated = true), EG_EFORMAT, "palette lacks");
    bmp[28] = 1; /* a bit for each pixel: 10110 */
    bmp[62] = 0xb0;
    static const int bits[] = {6, 3, 6, 6, 3, 5, 2, 5, 5, 2, 4, 1, 4, 4, 1};
    check_values(DECODE(bmp, 66), 3, bits);
}

/* ---- orientation of PNG ----------------------------------------------------------------------- */

/* x as a PNG file with an eXIf chunk at `at`: 33 after the header, or before the last chunk. */
static size_t with_exif(eg_tensor *png, int orientation, bool last, uint8_t *to)
{
    uint8_t chunk[] = {0, 0, 0, 26, 'e',  'X',  'I', 'f', 'M', 'M', 0, 42, 0, 0,
                       0, 8, 0, 1,  0x01, 0x12, 0,   3,   0,   0,   0, 1,  0, (uint8_t)orientation,
                       0, 0, 0, 0,  0,    0,    0,   0,   0,   0};
    uint32_t c = crc32_by_bits(chunk + 4, 30);
    for (int k = 0; k < 4; k++) {
        chunk[34 + k] = (uint8_t)(c >> (24 - 8 * k));
    }
    const uint8_t *p = eg_data(png);
    size_t n = (size_t)eg_numel(png), at = last ? n - 12 : 33;
    memcpy(to, p, at);
    memcpy(to + at, chunk, sizeof chunk);
    memcpy(to + at + sizeof chunk, p + at, n - at);
    return n + sizeof chunk;
}

EGT(png_orientation_is_that_of_jpeg)
{
    eg_tensor *x = noise(3, 3, 5), *png = eg_png_encode(x), *jpeg = eg_jpeg_encode(x);
    uint8_t to[1000];
    egt_need(png, "PNG");
    egt_need(jpeg, "JPEG");
    size_t n = with_exif(png, 6, false, to);
    if (eg_size(eg_image_decode(to, n), 1) == 3) {
        egt_skip("built without libexif");
    }
    for (int k = 0; k < 20; k++) {
        int turn = k / 2;
        n = with_exif(png, turn, k & 1, to);
        eg_tensor *t = eg_image_decode(to, n), *want = turn > 4 && turn < 9 ? eg_transpose(x, 1, 2) : x;
        want = turn == 3 || turn == 4 || turn == 7 || turn == 8 ? eg_flip(want, EG_AXES(1)) : want;
        want = turn == 2 || turn == 3 || turn == 6 || turn == 7 ? eg_flip(want, EG_AXES(2)) : want;
        EGT_CHECK(egt_distance(t, want) == 0);
        EGT_CHECK(egt_distance(eg_image_decode(to, n, .ignore_orientation = true), x) == 0);
        int64_t height = 0, width = 0;
        EGT_OK(eg_image_size(to, n, &height, &width));
        EGT_CHECK(height == eg_size(want, 1) && width == eg_size(want, 2));
    }
}

/* ---- right angles ------------------------------------------------------------------------------ */

EGT(rotation_by_right_angles_moves_pixels)
{
    static const struct {
        int height, width;
    } sizes[] = {{7, 10}, {10, 7}, {6, 6}, {1, 4}, {5, 5}};
    for (int i = 0; i < 5; i++) {
        eg_tensor *x = egt_random(EG_SHAPE(2, sizes[i].height, sizes[i].width), EG_F32, -1, 1);
        eg_tensor *odd = eg_where(eg_gt(x, eg_full(EG_SCALAR, 0.9, EG_F32)), eg_full(EG_SCALAR, INFINITY, EG_F32), x);
        for (int q = -5; q <= 5; q++) {
            eg_tensor *t = eg_image_rotate(odd, 90 * q, .expand = true, .fill = 9);
            eg_tensor *turned = eg_image_turn(odd, q);
            EGT_CHECK(eg_size(t, 1) == eg_size(turned, 1) && eg_size(t, 2) == eg_size(turned, 2));
            EGT_EQ(eg_item(eg_all(eg_eq(t, turned))), 1);
        }
        EGT_CHECK(egt_distance(eg_image_rotate(x, 180), eg_image_turn(x, 2)) == 0);
        EGT_CHECK(egt_distance(eg_image_affine(x, .degrees = 180, .nearest = true), eg_image_turn(x, 2)) == 0);
    }
}
