/* test_shown.c - what people see of a run: bars as lines of text, films as files. */
#include <egret/draw.h>
#include <egret/run/progress.h>

#include "tests/egt.h"

/* ---- bars ---------------------------------------------------------------------------------------- */

static const char *line_of(eg_progress p, int64_t done, const char *text, double seconds, int width)
{
    static char line[1024];
    eg_progress_line(&p, done, text, seconds, width, line, sizeof line);
    return line;
}
#define IS(line, want) EGT_CHECK(strcmp(line, want) == 0)

EGT(bars_are_lines)
{
    eg_progress p = {.label = "epoch 1", .unit = "images", .total = 200};
    IS(line_of(p, 50, "loss 0.5", 10, 0), "epoch 1  50/200  loss 0.5  5.00 images/s  0:30 left");
    IS(line_of(p, 50, "", 10, 60), "epoch 1  ####.............  50/200  5.00 images/s  0:30 left");
    IS(line_of(p, 0, "", 0, 0), "epoch 1  0/200  - images/s");
    IS(line_of(p, 999, "", 10, 0), "epoch 1  200/200  20.0 images/s  0:00 left"); /* never more than all */
    IS(line_of(p, 100, "", 7200, 0), "epoch 1  100/200  0.01 images/s  2:00:00 left");
    IS(line_of(p, 50, "loss 0.5", 10, 20), "epoch 1  50/200  los");
    p.before = 40; /* as where a run goes on */
    IS(line_of(p, 50, "", 10, 0), "epoch 1  50/200  1.00 images/s  2:30 left");
    IS(line_of(p, 40, "", 10, 0), "epoch 1  40/200  - images/s");
    p.before = p.total = 0;
    IS(line_of(p, 5000000, "", 2, 80), "epoch 1  5000000  2.50M images/s");
}

EGT(bars_have_signs_and_colours)
{
    eg_progress p = {.label = "a", .unit = "b", .total = 2, .unicode = true};
    IS(line_of(p, 1, "", 1, 36), "a  ━━━━───  1/2  1.00 b/s  0:01 left");
    p.colour = true;
    IS(line_of(p, 1, "", 1, 36), "a  \033[36m━━━━\033[0;2m───\033[0m  1/2  1.00 b/s  0:01 left");
}

EGT(seconds_go_on)
{
    eg_progress p;
    eg_progress_start(&p, stderr, "a", 1, "b");
    double before = eg_progress_seconds(&p), now = before;
    while (now == before) {
        now = eg_progress_seconds(&p);
    }
    EGT_CHECK(before >= 0 && now > before);
}

/* ---- films --------------------------------------------------------------------------------------- */

/* u8 [3, 6, 5] of one colour but for a dot. */
static eg_tensor *frame(int i)
{
    eg_tensor *x = eg_full(EG_SHAPE(3, 6, 5), 40 * i, EG_U8);
    unsigned char *pixel = eg_data_mut(x);
    pixel[7] = 255;
    return x;
}

static eg_film *begin(const char *path)
{
    eg_film *film = eg_film_new(path, 0.1);
    if (!film && eg_last_error()->code == EG_ENOKERNEL) {
        eg_clear_error();
        egt_skip("this build writes no films");
    }
    return film;
}

EGT(films_have_their_pictures)
{
    const char *path = egt_path("film.gif");
    eg_film *film = begin(path);
    for (int i = 0; i < 3; i++) {
        EGT_OK(eg_film_add(film, frame(i)));
    }
    EGT_OK(eg_film_close(film));
    size_t size, controls = 0;
    char *bytes = egt_read(path, &size);
    for (size_t i = 0; i + 3 < size; i++) {
        controls += memcmp(bytes + i, "\x21\xf9\x04", 3) == 0; /* one in front of each picture */
    }
    EGT_CHECK(size > 6 && memcmp(bytes, "GIF89a", 6) == 0 && controls == 3);
    free(bytes);
    eg_tensor *first = eg_image_load(path, .channels = 3, .other_formats = true);
    if (!first && eg_last_error()->code == EG_ENOKERNEL) {
        eg_clear_error();
        return; /* nothing reads GIF here */
    }
    EGT_EQ(egt_distance(first, frame(0)), 0);
}

EGT(films_are_refused)
{
    eg_film *film = begin(egt_path("none.gif"));
    EGT_CHECK(eg_film_close(film) == EG_ESTATE && egt_files("") == 0); /* without a picture */
    eg_clear_error();
    EGT_REFUSED(eg_film_new(egt_path("none.gif"), -1), EG_EINVAL, "seconds");
    film = begin(egt_path("odd.gif"));
    EGT_OK(eg_film_add(film, frame(0)));
    EGT_CHECK(eg_film_add(film, eg_full(EG_SHAPE(3, 4, 4), 0, EG_U8)) == EG_ESHAPE);
    eg_clear_error();
    EGT_CHECK(eg_film_close(film) == EG_ESHAPE && egt_files("") == 0);
    eg_clear_error();
}

/* ---- sounds -------------------------------------------------------------------------------------- */

static double red_at(const eg_tensor *picture, int64_t x, int64_t y)
{
    return eg_get(picture, y * eg_size(picture, 2) + x);
}

/* A panel lies 64 pixels from the left, 16 from top and right, 44 from the bottom. */
EGT(sounds_are_drawn)
{
    if (!eg_draw_waveform(eg_ones(EG_SHAPE(2), EG_F32)) && eg_last_error()->code == EG_ENOKERNEL) {
        egt_skip("this build draws no letters");
    }
    const double step[] = {0, 0, 0, NAN, 1, -1};
    eg_tensor *x = eg_from_values(EG_SHAPE(6), EG_F32, step);
    eg_tensor *wave = eg_draw_waveform(x, .rate = 2, .width = 680, .height = 260);
    EGT_EQ(eg_size(wave, 1), 260);
    EGT_EQ(eg_size(wave, 2), 680);
    EGT_EQ(red_at(wave, 64 + 50, 16), 255);       /* silent: paper */
    EGT_EQ(red_at(wave, 64 + 350, 16 + 99), 230); /* nothing but the line of 0 */
    EGT_EQ(red_at(wave, 64 + 450, 16), 31);       /* 1 in the fifth of six */
    EGT_EQ(red_at(wave, 64 + 450, 16 + 199), 255);
    EGT_EQ(red_at(wave, 64 + 550, 16 + 199), 31); /* -1 in the last */
    EGT_EQ(red_at(wave, 64 + 500, 16 + 50), 31);  /* and the way there */
    const double table[] = {0, 0, 1, NAN, 0, 0};  /* three frames of two bins */
    eg_tensor *map = eg_draw_spectrogram(eg_from_values(EG_SHAPE(3, 2), EG_F64, table), .rate = 3, .hertz = 4000,
                                         .width = 680, .height = 260);
    EGT_EQ(eg_size(map, 1), 260);
    EGT_EQ(red_at(map, 64 + 300, 16 + 150), 253); /* the middle frame's low bin is the most */
    EGT_EQ(red_at(map, 64 + 300, 16 + 50), 255);  /* its high one is nothing: paper */
    EGT_EQ(red_at(map, 64 + 100, 16 + 150), 68);
    EGT_EQ(red_at(map, 64 + 500, 16 + 50), 68);
    EGT_REFUSED(eg_draw_waveform(eg_zeros(EG_SHAPE(0), EG_F32)), EG_EINVAL, "cannot be drawn");
    EGT_REFUSED(eg_draw_waveform(x, .width = 10), EG_EINVAL, "10 x 360 pixels");
    EGT_REFUSED(eg_draw_spectrogram(x), EG_ESHAPE, "2 axes");
    EGT_REFUSED(eg_draw_waveform(NULL), EG_EINVAL, "NULL");
}

/* ---- photos with boxes ------------------------------------------------------------------------------ */

/* How many pixels of a picture are not those of another; -1: another size. */
static int64_t changed(eg_tensor *a, eg_tensor *b)
{
    return eg_numel(a) == eg_numel(b) ? eg_item_int(eg_sum(eg_cast(eg_any(eg_ne(a, b), .axes = EG_AXES(0)), EG_I64)))
                                      : -1;
}

/* Pixels from the first to the last with much more blue than red, along rows (2) or columns (1): a curve's. */
static int64_t blue_along(eg_tensor *picture, int axis)
{
    eg_tensor *all = eg_cast(picture, EG_I32);
    eg_tensor *blue = eg_gt_scalar(eg_sub(eg_select(all, 0, 2), eg_select(all, 0, 0)), 100);
    eg_tensor *at = eg_nonzero(eg_any(blue, .axes = EG_AXES(axis == 2 ? 0 : 1)));
    return (int64_t)(eg_item(eg_max(at)) - eg_item(eg_min(at)));
}

EGT(circles_are_round_where_units_are_equal)
{
    eg_tensor *angle = eg_arange(0, 6.4, 0.05, EG_F64), *sine = eg_sin(angle), *cosine = eg_cos(angle);
    eg_draw_series s[] = {{NULL, cosine, sine, 0}};
    eg_tensor *wide = eg_draw_plot(s, 1);
    if (!wide && eg_last_error()->code == EG_ENOKERNEL) {
        egt_skip("this build draws no letters");
    }
    EGT_CHECK(blue_along(wide, 2) > blue_along(wide, 1) + 100);
    for (int k = 0; k < 3; k++) {
        eg_tensor *p = eg_draw_plot(s, 1, .equal = true, .width = k == 1 ? 500 : 1000, .height = k == 2 ? 1400 : 800);
        const int64_t across = blue_along(p, 2), down = blue_along(p, 1);
        EGT_CHECK(across > 300 && across - down <= 1 && down - across <= 1);
        s[0].x = k == 1 ? eg_add_scalar(cosine, 1e6) : cosine;
    }
    EGT_REFUSED(eg_draw_plot(s, 1, .equal = true, .log_x = true), EG_EINVAL, "log axes");
}

EGT(objects_are_drawn)
{
    static const char *const names[] = {"cell", "plate"};
    eg_tensor *photo = eg_full(EG_SHAPE(3, 60, 80), 90, EG_U8), *gray = eg_full(EG_SHAPE(1, 60, 80), 90, EG_U8);
    eg_tensor *boxes = eg_from_values(EG_SHAPE(2, 4), EG_F32, (double[]){10, 30, 40, 50, 50, 35, 1e6, 55});
    eg_tensor *none = eg_zeros(EG_SHAPE(0, 4), EG_F32);
    eg_tensor *plain = eg_draw_objects(photo, boxes);
    if (!plain && eg_last_error()->code == EG_ENOKERNEL) {
        egt_skip("this build draws no letters");
    }
    EGT_CHECK(egt_same_bits(eg_draw_objects(photo, none), photo));
    EGT_CHECK(egt_same_bits(eg_draw_objects(gray, boxes), plain));
    const int64_t lines = changed(plain, photo);
    EGT_CHECK(lines > 150 && lines < 700);
    EGT_CHECK(eg_get_int(plain, 40 * 80 + 25) == 90); /* within a box, and on its side */
    EGT_CHECK(eg_get_int(plain, 40 * 80 + 10) != 90);
    EGT_CHECK(changed(eg_draw_objects(photo, boxes, .dashed = true), photo) < lines);
    eg_tensor *labels = eg_from_values(EG_SHAPE(2), EG_I64, (double[]){0, 1});
    eg_tensor *scores = eg_from_values(EG_SHAPE(2), EG_F32, (double[]){0.9, 0.2});
    EGT_CHECK(changed(eg_draw_objects(photo, boxes, .labels = labels), plain) >= lines);
    eg_tensor *named =
        eg_draw_objects(photo, boxes, .labels = labels, .classes = names, .classes_count = 2, .scores = scores);
    EGT_CHECK(changed(named, photo) >= lines);
    eg_tensor *likely = eg_draw_objects(photo, boxes, .scores = scores, .least = 0.5);
    EGT_CHECK(changed(likely, photo) < changed(eg_draw_objects(photo, boxes, .scores = scores), photo));
    eg_tensor *masks = eg_zeros(EG_SHAPE(2, 60, 80), EG_BOOL);
    EGT_CHECK(eg_copy_(eg_slice(eg_select(masks, 0, 1), 0, 0, 10, 1), eg_ones(EG_SHAPE(10, 80), EG_BOOL)));
    EGT_CHECK(changed(eg_draw_objects(photo, boxes, .masks = masks), plain) == 800);
    EGT_EQ(eg_size(eg_draw_objects(photo, boxes, .scale = 3), 1), 180);
    EGT_REFUSED(eg_draw_objects(eg_cast(photo, EG_F32), boxes), EG_ESHAPE, "u8");
    EGT_REFUSED(eg_draw_objects(photo, labels), EG_ESHAPE, "boxes");
    EGT_REFUSED(eg_draw_objects(photo, NULL), EG_EINVAL, "NULL");
    EGT_REFUSED(eg_draw_objects(photo, boxes, .scores = boxes), EG_ESHAPE, "scores must be [2]");
    EGT_REFUSED(eg_draw_objects(photo, boxes, .masks = boxes), EG_ESHAPE, "masks must be [2, 60, 80]");
    EGT_REFUSED(eg_draw_objects(photo, boxes, .scale = -1), EG_EINVAL, "scale is -1");
}

EGT(keypoints_are_drawn)
{
    eg_tensor *photo = eg_full(EG_SHAPE(3, 60, 80), 90, EG_U8);
    eg_tensor *points = eg_from_values(EG_SHAPE(2, 2, 2), EG_F32, (double[]){10, 10, 40, 10, 10, 50, 1e9, 50});
    eg_tensor *plain = eg_draw_objects(photo, NULL, .keypoints = points);
    if (!plain && eg_last_error()->code == EG_ENOKERNEL) {
        egt_skip("this build draws no letters");
    }
    const int64_t dots = changed(plain, photo);
    EGT_CHECK(dots > 20 && dots < 150);
    EGT_CHECK(eg_get_int(plain, 10 * 80 + 10) != 90 && eg_get_int(plain, 10 * 80 + 25) == 90);
    eg_tensor *links = eg_from_values(EG_SHAPE(1, 2), EG_I64, (double[]){0, 1});
    eg_tensor *linked = eg_draw_objects(photo, NULL, .keypoints = points, .links = links);
    EGT_CHECK(changed(linked, photo) > dots && eg_get_int(linked, 10 * 80 + 25) != 90);
    eg_tensor *hidden = eg_from_values(EG_SHAPE(1, 2, 3), EG_F32, (double[]){10, 10, 0, 40, 10, 1});
    EGT_CHECK(changed(eg_draw_objects(photo, NULL, .keypoints = hidden, .links = links), photo) < dots);
    eg_tensor *box = eg_from_values(EG_SHAPE(1, 4), EG_F32, (double[]){5, 5, 50, 40});
    EGT_CHECK(changed(eg_draw_objects(photo, box, .keypoints = hidden), photo) >
              changed(eg_draw_objects(photo, box), photo));
    EGT_CHECK(egt_same_bits(eg_draw_objects(photo, NULL, .keypoints = eg_zeros(EG_SHAPE(0, 3, 2), EG_F32)), photo));
    EGT_REFUSED(eg_draw_objects(photo, box, .keypoints = points), EG_ESHAPE, "keypoints must be [1, P, 2]");
    EGT_REFUSED(eg_draw_objects(photo, box, .links = links), EG_ESHAPE, "links");
    EGT_REFUSED(eg_draw_objects(photo, NULL, .keypoints = points, .links = eg_add_int(links, 1)), EG_EINDEX,
                "keypoint 2");
}
