/* test_preprocess.c - recipes for photos: the same from bytes as from pixels, by chance and again; what golden numbers
 * do not say (tests/golden/pictures.c). */
#include "tests/egt.h"

/* Smooth, [channels, height, width]. */
static eg_tensor *photo(int channels, int height, int width)
{
    eg_tensor *t = eg_empty(EG_SHAPE(channels, height, width), EG_U8);
    uint8_t *p = eg_data_mut(t);
    for (int i = 0; i < channels * height * width; i++) {
        int x = i % width, y = i / width % height, c = i / width / height;
        p[i] = (uint8_t)(128 + 60 * sin(0.04 * x * (c + 1)) + 60 * cos(0.05 * y + c) + x * y * 7 % 5);
    }
    return t;
}

/* ---- the table ------------------------------------------------------------------------------------- */

EGT(recipes_by_name)
{
    EGT_CHECK(eg_preprocess_count() == 7);
    for (int i = 0; i < eg_preprocess_count(); i++) {
        eg_preprocess_info info = eg_preprocess_at(i);
        EGT_STR(eg_preprocess_find(info.name).name, info.name);
        for (int train = 0; train < 2; train++) {
            eg_tensor *y = eg_preprocess(info.name, photo(3, 320, 340), .train = train);
            EGT_CHECK(y && eg_dtype_of(y) == EG_F32 && eg_ndim(y) == 3);
            EGT_EQ(eg_size(y, 0), info.channels);
            EGT_EQ(eg_size(y, 1), info.side);
            EGT_EQ(eg_size(y, 2), info.side);
            EGT_EQ(eg_stride(y, 0), 1);
            EGT_EQ(eg_stride(y, 2), info.channels);
        }
    }
    EGT_REFUSED(eg_preprocess_find("vg"), EG_EINDEX, "inception, vgg, cifarnet");
    EGT_REFUSED(eg_preprocess_at(7), EG_EINDEX, "7");
    EGT_CHECK(!eg_preprocess_at(-1).name);
    eg_clear_error();
}

/* 44 x 44 become 22 x 22, of which the middle is wanted: halves, where the ways to resize are plain. */
EGT(benchmarks_resize_as_they_are_told)
{
    eg_tensor *x = photo(3, 44, 44), *f = eg_cast(x, EG_F32), *y[4];
    eg_tensor *all = eg_reshape(f, EG_SHAPE(3, 22, 2, 22, 2));
    eg_tensor *first = eg_select(eg_select(all, 4, 0), 2, 0), *mean = eg_mean(all, .axes = EG_AXES(2, 4));
    const struct {
        eg_preprocess_filter filter;
        eg_tensor *want;
    } ways[4] = {
        {EG_FILTER_NEAREST, first}, {EG_FILTER_BILINEAR, first}, {EG_FILTER_BICUBIC, first}, {EG_FILTER_AREA, mean}};
    for (int i = 0; i < 4; i++) {
        eg_tensor *want = eg_sub_scalar(eg_mul_scalar(ways[i].want, 1 / 127.5), 1);
        want = eg_slice(eg_slice(want, 1, 1, 21, 1), 2, 1, 21, 1);
        y[i] = eg_preprocess("cnn_benchmarks", x, .side = 20, .filter = ways[i].filter);
        EGT_CHECK(egt_distance(y[i], want) < 1e-5);
    }
    for (int place = 1; place < 9; place++) {
        eg_tensor *turn = eg_preprocess("cnn_benchmarks", x, .side = 20, .filter = EG_FILTER_IN_TURN, .place = place);
        EGT_EQ(egt_distance(turn, y[(place - 1) % 4]), 0);
    }
    for (int i = 0; i < 4; i++) { /* boxes of other sizes: no two ways are one */
        eg_seed(5);
        y[i] = eg_preprocess("cnn_benchmarks", x, .side = 20, .filter = ways[i].filter, .train = true);
        for (int k = 0; k < i; k++) {
            EGT_CHECK(egt_distance(y[i], y[k]) > 1e-3);
        }
    }
    EGT_REFUSED(eg_preprocess("cnn_benchmarks", x, .filter = (eg_preprocess_filter)5), EG_EINVAL, "filter is 5");
}

/* torchvision's, made of the library's own parts. */
EGT(torch_is_made_of_known_parts)
{
    eg_tensor *x = photo(3, 90, 131), *f = eg_image_to_float(x);
    eg_tensor *want = eg_image_resize(f, 64, 93, .antialias = true); /* int(64 131 / 90) */
    want = eg_image_normalise(eg_image_center_crop(want, 56, 56), EG_IMAGENET_MEAN, EG_IMAGENET_STD);
    EGT_CHECK(egt_distance(eg_preprocess("torch", x, .side = 56), want) < 1e-5);
    for (int i = 0; i < 20; i++) {
        int64_t b[4];
        eg_seed((uint64_t)i);
        EGT_OK(eg_image_random_box(90, 131, (double[]){0.08, 1}, (double[]){0.75, 4 / 3.0}, b));
        want = eg_image_resize(eg_image_crop(f, b[0], b[1], b[2], b[3]), 30, 24, .antialias = true);
        want = eg_image_normalise(want, EG_IMAGENET_MEAN, EG_IMAGENET_STD);
        eg_seed((uint64_t)i);
        eg_tensor *y = eg_preprocess("torch", x, .height = 30, .width = 24, .train = true);
        double plain = egt_distance(y, want), turned = egt_distance(y, eg_contiguous(eg_image_flip_horizontal(want)));
        EGT_CHECK(fmin(plain, turned) < 1e-5);
    }
}

EGT(channels_as_the_net_wants)
{
    eg_tensor *x = photo(3, 40, 50), *gray = photo(1, 40, 50);
    for (int i = 0; i < eg_preprocess_count(); i++) {
        const char *name = eg_preprocess_at(i).name;
        eg_tensor *three = eg_preprocess(name, gray, .side = 16, .channels = 3);
        eg_tensor *one = eg_preprocess(name, gray, .side = 16, .channels = 1);
        eg_tensor *tripled = eg_contiguous(eg_expand(gray, EG_SHAPE(3, 40, 50)));
        EGT_CHECK(egt_distance(three, eg_preprocess(name, tripled, .side = 16, .channels = 3)) < 1e-5);
        if (strcmp(name, "vgg") && strcmp(name, "torch")) { /* whose channels have numbers of their own */
            EGT_CHECK(egt_distance(eg_slice(three, 0, 0, 1, 1), one) < 1e-5);
        }
        eg_tensor *with_alpha = eg_concat((eg_tensor *[]){x, photo(1, 40, 50)}, 2, 0);
        EGT_EQ(egt_distance(eg_preprocess(name, with_alpha, .side = 16), eg_preprocess(name, x, .side = 16)), 0);
    }
    eg_tensor *lenet = eg_preprocess("lenet", x, .side = 20);
    eg_tensor *want = eg_image_gray(eg_cast(eg_image_crop(x, 10, 15, 20, 20), EG_F32));
    want = eg_mul_scalar(eg_sum(eg_mul(eg_cast(eg_image_crop(x, 10, 15, 20, 20), EG_F32),
                                       eg_from_values(EG_SHAPE(3, 1, 1), EG_F32, (double[]){0.2989, 0.587, 0.114})),
                                .axes = EG_AXES(0), .keepdim = true),
                         1.0 / 128);
    EGT_CHECK(egt_distance(lenet, eg_add_scalar(want, -1)) < 1e-5);
}

/* ---- from bytes as from pixels --------------------------------------------------------------------- */

static void check_encoded(eg_tensor *bytes, const char *what)
{
    const void *p = eg_data(bytes);
    size_t n = (size_t)eg_numel(bytes);
    eg_tensor *x = eg_image_decode(p, n);
    EGT_CHECK(x);
    for (int i = 0; i < eg_preprocess_count(); i++) {
        for (int k = 0; k < 9; k++) {
            EG_SCOPE {
                eg_preprocess_options o = {.size = sizeof o,
                                           .side = 8 + 5 * k,
                                           .train = k > 0,
                                           .thorough = k % 2,
                                           .channels = k % 3 ? 3 : 1,
                                           .area = {0.01, 1}};
                const char *name = eg_preprocess_at(i).name;
                snprintf(egt_case, sizeof egt_case, "%s, %s, %d", what, name, k);
                eg_seed((uint64_t)k);
                eg_tensor *want = eg_preprocess_with(name, x, &o);
                eg_random_state after = eg_random_get_state();
                eg_seed((uint64_t)k);
                eg_tensor *got = eg_preprocess_decode_with(name, p, n, &o);
                EGT_EQ(eg_random_get_state().offset, after.offset);
                EGT_CHECK(want && got && egt_distance(got, want) == 0);
            }
        }
    }
}

EGT(a_part_of_a_jpeg_is_a_part_of_its_pixels)
{
    eg_tensor *x = photo(3, 120, 149);
    eg_tensor *files[] = {eg_jpeg_encode(x), eg_jpeg_encode(x, .full_colour = true),
                          eg_jpeg_encode(x, .progressive = true), eg_jpeg_encode(photo(1, 120, 149))};
    egt_need(files[0], "JPEG");
    for (int i = 0; i < 4; i++) {
        check_encoded(files[i], "JPEG");
    }
}

EGT(a_part_of_a_png_is_a_part_of_its_pixels)
{
    eg_tensor *file = eg_png_encode(photo(3, 61, 70));
    egt_need(file, "PNG");
    check_encoded(file, "PNG");
    check_encoded(eg_png_encode(photo(4, 50, 52)), "with transparency");
}

/* Photos of other makers, and one that lies on its side. */
EGT(real_photos)
{
    static const char *const names[] = {"odd-images/jpeg/grace_hopper.jpg", "odd-images/jpeg/cmyk-progressive.jpg",
                                        "odd-images/jpeg/COCO_train2014_000000000086.jpg",
                                        "cats_and_dogs/train/cats/cat.101.jpg"};
    egt_need(eg_jpeg_encode(photo(3, 8, 8)), "JPEG");
    for (int i = 0; i < 4; i++) {
        const char *path = egt_real(names[i]);
        size_t n;
        char *p = egt_read(path, &n);
        eg_tensor *bytes = eg_from(EG_SHAPE((int64_t)n), EG_U8, p);
        free(p);
        check_encoded(bytes, names[i]);
    }
}

/* ---- chance ---------------------------------------------------------------------------------------- */

static eg_status prepare(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)n;
    out[0] = eg_preprocess(user, in[0], .side = 12, .train = true, .thorough = true);
    *m = 1;
    return out[0] ? EG_OK : eg_last_error()->code;
}

EGT(the_same_for_any_number_of_workers)
{
    eg_tensor *x = eg_stack((eg_tensor *[]){photo(3, 30, 40), photo(3, 30, 40)}, 2, 0);
    x = eg_concat((eg_tensor *[]){x, x, x, x}, 4, 0);
    for (int i = 0; i < eg_preprocess_count(); i++) {
        static float first[2][8];
        for (int workers = 0; workers < 4; workers += 3) {
            eg_dataset *d = eg_dataset_map(eg_dataset_from_tensors(&x, 1), prepare,
                                           (void *)(uintptr_t)eg_preprocess_at(i).name, .workers = workers, .seed = 3);
            int k = 0;
            EG_FOR_EACH(sample, d) {
                eg_tensor *ramp =
                    eg_reshape(eg_arange(0, (double)eg_numel(sample[0]), 1, EG_F32), eg_shape_of(sample[0]));
                first[workers > 0][k++] = (float)eg_item(eg_sum(eg_mul(sample[0], ramp)));
            }
            EGT_EQ(k, 8);
            eg_dataset_free(d);
        }
        EGT_CHECK(!memcmp(first[0], first[1], sizeof first[0]));
        bool same = first[0][0] == first[0][1] && first[0][1] == first[0][2];
        EGT_CHECK(same == !strcmp(eg_preprocess_at(i).name, "lenet"));
    }
}

/* Half are mirrored, short sides are all that were asked for, orders of colours take turns. */
EGT(chances_of_recipes)
{
    eg_tensor *ramp = eg_empty(EG_SHAPE(3, 20, 20), EG_U8);
    uint8_t *p = eg_data_mut(ramp);
    for (int i = 0; i < 1200; i++) {
        p[i] = (uint8_t)(i % 20 * 12);
    }
    int turned = 0, kept = 0;
    eg_seed(4);
    for (int i = 0; i < 400; i++) {
        EG_SCOPE {
            eg_tensor *y = eg_preprocess("vgg", ramp, .side = 10, .train = true);
            turned += eg_get(y, 0) > eg_get(y, 9);
            y = eg_preprocess("vgg", ramp, .side = 10, .train = true, .no_flip = true);
            kept += eg_get(y, 0) < eg_get(y, 9);
        }
    }
    EGT_CHECK(turned > 150 && turned < 250);
    EGT_EQ(kept, 400);
    for (int place = 1; place < 9; place++) {
        eg_seed(9);
        eg_tensor *a = eg_preprocess("inception", ramp, .side = 10, .train = true, .thorough = true, .place = place);
        eg_seed(9);
        eg_tensor *b =
            eg_preprocess("inception", ramp, .side = 10, .train = true, .thorough = true, .place = place + 4);
        EGT_EQ(egt_distance(a, b), 0);
    }
    eg_tensor *plain = eg_preprocess("inception", ramp, .side = 10, .train = true, .no_colours = true, .area = {1, 1});
    EGT_CHECK(eg_item(eg_max(plain)) <= 1 && eg_item(eg_min(plain)) >= -1);
}

/* A cut never leaves the object out. */
EGT(boxes_are_kept)
{
    eg_tensor *x = eg_zeros(EG_SHAPE(1, 60, 60), EG_U8);
    uint8_t *p = eg_data_mut(x);
    for (int i = 0; i < 6; i++) {
        memset(p + (50 + i) * 60 + 50, 255, 6);
    }
    eg_tensor *boxes = eg_from(EG_SHAPE(1, 4), EG_F32, (float[]){50 / 60.0f, 50 / 60.0f, 56 / 60.0f, 56 / 60.0f});
    int seen = 0;
    for (int i = 0; i < 200; i++) {
        EG_SCOPE {
            eg_seed((uint64_t)i);
            eg_tensor *y = eg_preprocess("inception", x, .side = 60, .train = true, .boxes = boxes, .no_colours = true,
                                         .channels = 1);
            EGT_CHECK(eg_item(eg_max(y)) > 0.5);
            eg_seed((uint64_t)i);
            y = eg_preprocess("inception", x, .side = 60, .train = true, .no_colours = true, .channels = 1);
            seen += eg_item(eg_max(y)) > 0.5;
        }
    }
    EGT_CHECK(seen < 200);
}

/* ---- refusals and memory --------------------------------------------------------------------------- */

EGT(recipes_refuse)
{
    eg_tensor *x = photo(3, 20, 30);
    EGT_REFUSED(eg_preprocess("nothing", x), EG_EINDEX, "nothing");
    EGT_REFUSED(eg_preprocess(NULL, x), EG_EINVAL, "name");
    EGT_REFUSED(eg_preprocess("vgg", NULL), EG_EINVAL, "x");
    EGT_REFUSED(eg_preprocess("vgg", eg_cast(x, EG_F32)), EG_EDTYPE, "f32");
    EGT_REFUSED(eg_preprocess("vgg", eg_unsqueeze(x, 0)), EG_ESHAPE, "[1, 3, 20, 30]");
    EGT_REFUSED(eg_preprocess("vgg", eg_zeros(EG_SHAPE(2, 4, 4), EG_U8)), EG_ESHAPE, "[2, 4, 4]");
    EGT_REFUSED(eg_preprocess("vgg", eg_zeros(EG_SHAPE(3, 0, 4), EG_U8)), EG_ESHAPE, "0 x 4");
    EGT_REFUSED(eg_preprocess("vgg", x, .side = -1), EG_EINVAL, "side");
    EGT_REFUSED(eg_preprocess("vgg", x, .channels = 2), EG_EINVAL, "channels");
    EGT_REFUSED(eg_preprocess("vgg", x, .side = 16, .shorter = {10, 20}), EG_ESHAPE, "10 x 15");
    EGT_REFUSED(eg_preprocess("vgg", x, .train = true, .shorter = {300, 256}), EG_EINVAL, "300..256");
    EGT_REFUSED(eg_preprocess("cifarnet", x, .side = 32, .train = true), EG_ESHAPE, "20 x 30");
    EGT_REFUSED(eg_preprocess("inception", x, .centre = 1.5), EG_EINVAL, "1.5");
    EGT_REFUSED(eg_preprocess("inception", x, .train = true, .area = {0.5, 2}), EG_EINVAL, "2");
    EGT_REFUSED(eg_preprocess("torch", x, .train = true, .area = {0.5, 2}), EG_EINVAL, "2");
    EGT_REFUSED(eg_preprocess_decode("vgg", "no image", 8), EG_EFORMAT, "JPEG");
    EGT_REFUSED(eg_preprocess_decode("vgg", NULL, 8), EG_EINVAL, "data");
    eg_tensor *file = eg_png_encode(x);
    if (file) {
        EGT_REFUSED(eg_preprocess_decode("vgg", eg_data(file), (size_t)eg_numel(file), .max_pixels = 599), EG_EFORMAT,
                    "30 x 20");
    }
    file = eg_jpeg_encode(x);
    if (file) {
        EGT_REFUSED(eg_preprocess_decode("vgg", eg_data(file), (size_t)eg_numel(file), .side = 16, .shorter = {9, 9}),
                    EG_ESHAPE, "9 x 14");
        EGT_REFUSED(eg_preprocess_decode("vgg", eg_data(file), (size_t)eg_numel(file) / 2), EG_EFORMAT, "JPEG");
    }
    eg_clear_error();
}

static bool every_recipe(void *user)
{
    bool ok = true;
    for (int i = 0; i < eg_preprocess_count() && ok; i++) {
        EG_SCOPE {
            ok = eg_preprocess(eg_preprocess_at(i).name, user, .side = 16, .train = true, .thorough = true,
                               .channels = 1) != NULL;
        }
    }
    return ok;
}

EGT(memory_that_runs_out)
{
    EGT_CHECK(egt_fail_allocations(every_recipe, photo(3, 24, 30)) > 20);
}
