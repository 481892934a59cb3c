/* test_photos.c - sets of photos with their objects, well and badly written, and masks as COCO's tools make them. */
#include <math.h>
#include <sys/stat.h>

#include "tests/egt.h"

/* ---- masks ------------------------------------------------------------------------------------------- */

EGT(polygons_as_pycocotools_fills_them)
{
    eg_tensors *file = eg_tensors_open("tests/golden/coco.safetensors");
    for (int i = 0; i < 12; i++) {
        char name[32], letters[4096];
        snprintf(name, sizeof name, "corners/%d", i);
        eg_tensor *mask = eg_mask_polygon(eg_tensors_get(file, name), 160, 200);
        snprintf(name, sizeof name, "runs/%d", i);
        eg_tensor *runs = eg_tensors_get(file, name), *ours = mask ? eg_mask_encode(mask) : NULL;
        EGT_CHECK(ours && eg_numel(runs) < (int64_t)sizeof letters);
        EGT_CHECK(egt_same_bits(ours, runs));
        EGT_OK(eg_copy_out(runs, letters, (size_t)eg_numel(runs)));
        letters[eg_numel(runs)] = 0;
        EGT_CHECK(egt_same_bits(eg_mask_decode(letters, 160, 200), mask));
    }
    eg_tensors_free(file);
}

EGT(masks_in_letters_and_back)
{
    eg_seed(3);
    for (int i = 0; i < 30; i++) {
        EG_SCOPE {
            eg_tensor *mask =
                eg_cast(eg_gt_scalar(egt_random(EG_SHAPE(1 + i % 7, 1 + i * 3 % 11), EG_F32, 0, 1), i / 30.0), EG_U8);
            eg_tensor *text = eg_mask_encode(mask);
            char letters[256] = "";
            EGT_CHECK(text && eg_numel(text) < 256);
            EGT_OK(eg_copy_out(text, letters, (size_t)eg_numel(text)));
            EGT_CHECK(egt_same_bits(eg_mask_decode(letters, eg_size(mask, 0), eg_size(mask, 1)), mask));
            EGT_CHECK(egt_same_bits(eg_mask_encode(eg_transpose(eg_contiguous(eg_transpose(mask, 0, 1)), 0, 1)), text));
        }
    }
}

EGT(masks_refused)
{
    eg_tensor *corners = eg_from_values(EG_SHAPE(3, 2), EG_F32, (double[]){0, 0, 4, 0, 4, 4});
    EGT_REFUSED(eg_mask_polygon(corners, 0, 4), EG_EINVAL, "0 x 4");
    EGT_REFUSED(eg_mask_polygon(eg_flatten(corners, 0, 1), 4, 4), EG_ESHAPE, "[6]");
    EGT_REFUSED(eg_mask_polygon(eg_cast(corners, EG_BOOL), 4, 4), EG_EDTYPE, "bool");
    EGT_CHECK(egt_same_bits(eg_mask_polygon(eg_cast(corners, EG_I64), 4, 4), eg_mask_polygon(corners, 4, 4)));
    EGT_REFUSED(eg_mask_polygon(eg_mul_scalar(corners, 1e9), 4, 4), EG_EINVAL, "further away");
    EGT_REFUSED(eg_mask_polygon(eg_mul_scalar(corners, NAN), 4, 4), EG_EINVAL, "finite");
    EGT_REFUSED(eg_mask_decode("", 4, 4), EG_EFORMAT, "4 x 4");
    EGT_REFUSED(eg_mask_decode("ppppppppppppppppppppp", 4, 4), EG_EFORMAT, "4 x 4");
    EGT_REFUSED(eg_mask_decode("@0", 5, 4), EG_EFORMAT, "5 x 4");
    EGT_REFUSED(eg_mask_decode("\x1f", 5, 4), EG_EFORMAT, "5 x 4");
    EGT_REFUSED(eg_mask_encode(corners), EG_EDTYPE, "f32");
}

/* ---- sets -------------------------------------------------------------------------------------------- */

static const char *folder(const char *name)
{
    const char *path = egt_path(name);
    mkdir(path, 0700);
    return path;
}

static void write(const char *in, const char *name, const char *text)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", in, name);
    for (char *slash = strchr(path + strlen(in) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0700);
        *slash = '/';
    }
    egt_write(path, text, strlen(text));
}

static void voc(const char *in, const char *object)
{
    char text[8192];
    write(in, "ImageSets/Main/one.txt", "a  1\n\nb -1\n");
    write(in, "JPEGImages/a.jpg", "photo a");
    write(in, "JPEGImages/b.jpg", "photo b");
    snprintf(text, sizeof text,
             "<annotation><filename>a.jpg</filename><size><width>50</width><height>40</height></size>%s</annotation>",
             object);
    write(in, "Annotations/a.xml", text);
    write(in, "Annotations/b.xml", "<annotation><filename> b.jpg </filename></annotation>");
}

#define BOX(name, rest, x0, y0, x1, y1)                                                                          \
    "<object><name>" name "</name>" rest "<part><name>head</name><bndbox><xmin>9</xmin></bndbox></part><bndbox>" \
    "<xmin>" #x0 "</xmin><ymin>" #y0 "</ymin><xmax>" #x1 "</xmax><ymax>" #y1 "</ymax></bndbox></object>"

static void check_values(eg_tensor *t, int n, const double *want)
{
    EGT_EQ(eg_numel(t), n);
    for (int i = 0; i < n; i++) {
        EGT_EQ(eg_get(eg_reshape(t, EG_SHAPE(n)), i), want[i]);
    }
}

EGT(pascal_voc)
{
    const char *in = folder("voc");
    int64_t n = 0, photos = 0;
    voc(in, BOX("dog", "<difficult>1</difficult>", 3, 4, 30.5, 20) BOX("cat", "<truncated>1</truncated>", 1, 1, 70, 80)
                BOX("dog", "", 7, 7, 7, 9));
    eg_dataset *d = eg_voc_new(in, "one");
    egt_need(d, "libexpat");
    const char *const *names = eg_photo_classes(d, &n);
    EGT_CHECK(n == 2 && !strcmp(names[0], "cat") && !strcmp(names[1], "dog"));
    EG_FOR_EACH(sample, d) {
        EGT_EQ(eg_item_int(sample[5]), photos);
        EGT_EQ(eg_size(sample[0], 0), 7);
        if (photos++ == 0) {
            check_values(sample[1], 8, (double[]){3, 4, 30.5, 20, 1, 1, 50, 40});
            check_values(sample[2], 2, (double[]){1, 0});
            check_values(sample[3], 2, (double[]){EG_OBJECT_DIFFICULT, EG_OBJECT_TRUNCATED});
            check_values(sample[4], 2, (double[]){27.5 * 16, 49 * 39});
        } else {
            EGT_EQ(eg_size(sample[1], 0), 0);
            EGT_EQ(eg_size(sample[1], 1), 4);
        }
    }
    EGT_EQ(photos, 2);
    eg_dataset_free(d);
    d = eg_voc_new(in, "one", .keep_empty = true, .from_one = true,
                   .classes = (const char *const[]){"dog", "bird", "cat"}, .classes_count = 3);
    EG_FOR_EACH(sample, d) {
        if (eg_item_int(sample[5]) == 0) {
            check_values(sample[1], 12, (double[]){2, 3, 30.5, 20, 0, 0, 50, 40, 6, 6, 7, 9});
            check_values(sample[2], 3, (double[]){0, 2, 0});
        }
    }
    eg_dataset_free(d);
    EGT_REFUSED(eg_voc_new(in, "one", .classes = (const char *const[]){"dog"}, .classes_count = 1), EG_EFORMAT, "cat");
    EGT_REFUSED(eg_voc_new(in, "two"), EG_EIO, "two.txt");
    EGT_REFUSED(eg_voc_new(in, "one", .masks = true), EG_EINVAL, "no masks");
}

EGT(bad_notes_of_voc)
{
    static const struct {
        const char *xml, *words;
    } bad[] = {
        {"<annotation>", "line 1"},
        {"<annotation><filename>a.jpg</filename><object></object></annotation>", "no name"},
        {"<annotation><filename>a.jpg</filename><object><name>dog</name></object></annotation>", "xmin"},
        {"<annotation><filename>../a.jpg</filename></annotation>", "no file of JPEGImages"},
        {"<annotation></annotation>", "no file of JPEGImages"},
        {"<!DOCTYPE a [<!ENTITY x \"xxxxxxxxxxxx\">]><annotation><filename>&x;</filename></annotation>",
         "declares an entity"},
        {"<!DOCTYPE a [<!ENTITY x SYSTEM \"/etc/passwd\">]><annotation><filename>&x;</filename></annotation>",
         "entity"},
    };
    const char *in = folder("voc-bad");
    char deep[1024] = "";
    for (int i = 0; i < 40; i++) {
        strcat(deep, "<annotation>");
    }
    voc(in, "");
    eg_dataset *good = eg_voc_new(in, "one");
    egt_need(good, "libexpat");
    eg_dataset_free(good);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write(in, "Annotations/a.xml", bad[i].xml);
        EGT_REFUSED(eg_voc_new(in, "one"), EG_EFORMAT, bad[i].words);
    }
    write(in, "Annotations/a.xml", deep);
    EGT_REFUSED(eg_voc_new(in, "one"), EG_EFORMAT, "too deep");
    voc(in, BOX("dog", "", nan, 4, 30, 20));
    EGT_REFUSED(eg_voc_new(in, "one"), EG_EFORMAT, "nan");
    voc(in, BOX("dog", "", 1e30, 4, 30, 20));
    EGT_REFUSED(eg_voc_new(in, "one"), EG_EFORMAT, "1e30");
}

static const char instances[] =
    "{\"images\": [{\"id\": 7, \"file_name\": \"b.jpg\", \"height\": 4, \"width\": 5},"
    " {\"id\": 3, \"file_name\": \"sub/a.jpg\", \"height\": 3, \"width\": 3}],"
    " \"categories\": [{\"id\": 90, \"name\": \"zebra\"}, {\"id\": 2, \"name\": \"cat\"}],"
    " \"annotations\": [{\"image_id\": 3, \"category_id\": 90, \"bbox\": [0, 0, 2, 2], \"area\": 3.5, \"iscrowd\": 1,"
    "   \"segmentation\": {\"size\": [3, 3], \"counts\": [0, 2, 1, 2, 4]}},"
    "  {\"image_id\": 7, \"category_id\": 2, \"bbox\": [1, 1, 2, 9], \"segmentation\": [[1, 1, 3, 1, 3, 3, 1, 3]]},"
    "  {\"image_id\": 3, \"category_id\": 2, \"bbox\": [1, 1, 0, 1]}]}";

EGT(coco)
{
    const char *in = folder("coco");
    char path[4096];
    int64_t n = 0, photos = 0;
    write(in, "notes.json", instances);
    write(in, "b.jpg", "photo b");
    write(in, "sub/a.jpg", "photo");
    snprintf(path, sizeof path, "%s/notes.json", in);
    eg_dataset *d = eg_coco_new(path, in, .masks = true);
    EGT_CHECK(d);
    const char *const *names = eg_photo_classes(d, &n);
    EGT_CHECK(n == 2 && !strcmp(names[0], "cat") && !strcmp(names[1], "zebra"));
    EG_FOR_EACH(sample, d) {
        if (photos++ == 0) {
            EGT_EQ(eg_item_int(sample[5]), 7);
            EGT_EQ(eg_size(sample[0], 0), 7);
            check_values(sample[1], 4, (double[]){1, 1, 3, 4});
            check_values(sample[4], 1, (double[]){6});
            check_values(sample[6], 20, (double[]){0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0});
        } else {
            EGT_EQ(eg_item_int(sample[5]), 3);
            check_values(sample[1], 4, (double[]){0, 0, 2, 2});
            check_values(sample[2], 1, (double[]){1});
            check_values(sample[3], 1, (double[]){EG_OBJECT_CROWD});
            check_values(sample[4], 1, (double[]){3.5});
            check_values(sample[6], 9, (double[]){1, 1, 0, 1, 1, 0, 0, 0, 0});
        }
    }
    EGT_EQ(photos, 2);
    eg_dataset_free(d);
    d = eg_coco_new(path, in, .classes = (const char *const[]){"zebra"}, .classes_count = 1); /* others are left out */
    EG_FOR_EACH(sample, d) {
        EGT_EQ(eg_size(sample[2], 0), eg_item_int(sample[5]) == 3);
    }
    eg_dataset_free(d);
}

EGT(bad_notes_of_coco)
{
    static const struct {
        const char *from, *to, *words;
    } bad[] = {
        {"\"id\": 7,", "", "images[0] has no number \"id\""},
        {"\"id\": 7", "\"id\": 3", "\"id\" of its own"},
        {"\"b.jpg\"", "\"/etc/passwd\"", "within the folder"},
        {"\"b.jpg\"", "\"../b.jpg\"", "within the folder"},
        {"\"height\": 4", "\"height\": -4", "\"height\""},
        {"\"image_id\": 7", "\"image_id\": 8", "annotations[1]"},
        {"\"category_id\": 90", "\"category_id\": 91", "of a category"},
        {"[0, 0, 2, 2]", "[0, 0, 2]", "\"bbox\""},
        {"[0, 0, 2, 2]", "[0, 0, 2, 1e300]", "\"bbox\""},
        {"\"iscrowd\": 1", "\"iscrowd\": 2", "\"iscrowd\""},
        {"\"area\": 3.5", "\"area\": -1", "\"area\""},
        {"\"zebra\"", "4", "\"name\""},
        {"\"annotations\"", "\"notes\"", "no list \"annotations\""},
        {"\"height\": 4, \"width\": 5", "\"height\": 2000000000, \"width\": 2000000000", "eg_unpack_limit"},
    };
    const char *in = folder("coco-bad");
    char path[4096];
    snprintf(path, sizeof path, "%s/notes.json", in);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[4096];
        const char *at = strstr(instances, bad[i].from);
        EGT_CHECK(at);
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - instances), instances, bad[i].to, at + strlen(bad[i].from));
        write(in, "notes.json", text);
        EGT_REFUSED(eg_coco_new(path, in, .masks = true), EG_EFORMAT, bad[i].words);
    }
}

/* Found when their photo's turn comes; the next can be read. */
EGT(bad_masks_of_coco)
{
    static const char *const bad[][2] = {
        {"[0, 2, 1, 2, 4]", "[0, 2, 1, 2, 5]"},
        {"[0, 2, 1, 2, 4]", "[-1, 2]"},
        {"[0, 2, 1, 2, 4]", "\"zz\""},
        {"[[1, 1, 3, 1, 3, 3, 1, 3]]", "[[1, 1, 3, 1, 3]]"},
        {"[[1, 1, 3, 1, 3, 3, 1, 3]]", "[[1, 1, 3, 1, 1e6, 3]]"},
        {"[[1, 1, 3, 1, 3, 3, 1, 3]]", "[7]"},
        {"[[1, 1, 3, 1, 3, 3, 1, 3]]", "[]"},
    };
    const char *in = folder("coco-masks");
    char path[4096];
    snprintf(path, sizeof path, "%s/notes.json", in);
    write(in, "b.jpg", "photo b");
    write(in, "sub/a.jpg", "photo");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[4096];
        int good = 0;
        const char *at = strstr(instances, bad[i][0]);
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - instances), instances, bad[i][1], at + strlen(bad[i][0]));
        write(in, "notes.json", text);
        eg_dataset *d = eg_dataset_tolerate(eg_coco_new(path, in, .masks = true));
        EG_FOR_EACH(sample, d) {
            good += eg_size(sample[6], 0) == 1;
        }
        EGT_EQ(good, 1);
        EGT_EQ(eg_dataset_left_out(d).count, 1);
        eg_dataset_free(d);
    }
}

/* A picture of so many pixels. */
static void write_picture(const char *in, const char *name, int64_t high, int64_t wide)
{
    char path[4096];
    write(in, name, ""); /* which makes the folder */
    snprintf(path, sizeof path, "%s/%s", in, name);
    eg_status st = eg_png_save(eg_zeros(EG_SHAPE(1, high, wide), EG_U8), path);
    if (st == EG_ENOKERNEL) {
        egt_skip("this build has no libpng");
    }
    EGT_OK(st);
}

EGT(yolo)
{
    const char *in = folder("yolo");
    char pattern[4096], list[4096];
    int64_t n = 0, photos = 0;
    write_picture(in, "images/a.png", 10, 20);
    write_picture(in, "images/b.png", 4, 4);
    write_picture(in, "images/c.png", 4, 4);
    write(in, "labels/a.txt", "1 0.5 0.5 0.5 0.4 0.9\n\n0 0 0 0.2 0.2\r\n1 2 2 0.1 0.1\n");
    write(in, "images/c.txt", "0 0.5 0.5 1 1\n");
    write(in, "names.txt", "cat\ndog\n");
    snprintf(pattern, sizeof pattern, "%s/images/*.png", in);
    snprintf(list, sizeof list, "%s/names.txt", in);
    eg_dataset *d = eg_yolo_new(pattern, list);
    const char *const *names = eg_photo_classes(d, &n);
    EGT_CHECK(n == 2 && !strcmp(names[0], "cat") && !strcmp(names[1], "dog"));
    EG_FOR_EACH(sample, d) {
        EGT_EQ(eg_item_int(sample[5]), photos);
        EGT_EQ(eg_size(sample[1], 0), photos == 0 ? 2 : photos == 2);
        if (photos++ == 0) {
            check_values(eg_round(eg_mul_scalar(sample[1], 1000)), 8,
                         (double[]){5000, 3000, 15000, 7000, 0, 0, 2000, 1000});
            check_values(sample[2], 2, (double[]){1, 0});
        }
    }
    EGT_OK(eg_dataset_status(d));
    EGT_EQ(photos, 3);
    eg_dataset_free(d);
    d = eg_yolo_new(pattern, NULL, .keep_empty = true);
    names = eg_photo_classes(d, &n);
    EGT_CHECK(n == 2 && !strcmp(names[1], "1"));
    EGT_EQ(eg_size(eg_dataset_first(d)[1], 0), 3);
    eg_dataset_free(d);
    static const char *const bad[][2] = {{"2 0.5 0.5 1 1", "no class"},
                                         {"-1 0.5 0.5 1 1", "no class"},
                                         {"1 0.5 0.5 1", "no share"},
                                         {"1 nan 0 0 0", "no share"},
                                         {"x", "no class"},
                                         {"1 1e9 0 0 0", "no share"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write(in, "labels/a.txt", bad[i][0]);
        EGT_REFUSED(eg_yolo_new(pattern, list), EG_EFORMAT, bad[i][1]);
    }
    EGT_REFUSED(eg_yolo_new(pattern, list, .masks = true), EG_EINVAL, "masks");
    EGT_REFUSED(eg_yolo_new("/nowhere/*.jpg", NULL), EG_EIO, "");
}

/* ---- moved ------------------------------------------------------------------------------------------- */

enum { HIGH = 60, WIDE = 80, OBJECTS = 3 };

/* Boxes of whole pixels, and masks that fill them, of a photo whose pixels tell where they were. */
static const double corners[4 * OBJECTS] = {10, 20, 30, 40, 0, 0, 8, 6, 50, 10, 80, 60};

static eg_tensor *boxes_of(void)
{
    return eg_from_values(EG_SHAPE(OBJECTS, 4), EG_F32, corners);
}

static eg_tensor *photo_of(void)
{
    eg_tensor *row = eg_reshape(eg_arange(0, WIDE, 1, EG_F32), EG_SHAPE(1, 1, WIDE));
    eg_tensor *column = eg_reshape(eg_arange(0, HIGH, 1, EG_F32), EG_SHAPE(1, HIGH, 1));
    return eg_cast(eg_add(eg_expand(row, EG_SHAPE(3, HIGH, WIDE)), eg_mul_scalar(column, 2)), EG_U8);
}

static eg_tensor *masks_of(void)
{
    eg_tensor *m = eg_zeros(EG_SHAPE(OBJECTS, HIGH, WIDE), EG_U8);
    for (int i = 0; i < OBJECTS; i++) {
        const double *b = corners + 4 * i;
        eg_tensor *part = eg_image_crop(eg_slice(m, 0, i, i + 1, 1), (int64_t)b[1], (int64_t)b[0],
                                        (int64_t)(b[3] - b[1]), (int64_t)(b[2] - b[0]));
        EGT_CHECK(eg_copy_(part, eg_ones(eg_shape_of(part), EG_U8)));
    }
    return m;
}

/* Where a mask is 1, as a box. */
static void extent(eg_tensor *mask, double *b)
{
    const int64_t high = eg_size(mask, 0), wide = eg_size(mask, 1);
    eg_tensor *dense = eg_contiguous(mask);
    const uint8_t *at = eg_data(dense);
    b[0] = b[1] = 1e9;
    b[2] = b[3] = 0;
    for (int64_t i = 0; i < high * wide; i++) {
        if (at[i]) {
            b[0] = fmin(b[0], (double)(i % wide));
            b[1] = fmin(b[1], (double)(i / wide));
            b[2] = fmax(b[2], (double)(i % wide + 1));
            b[3] = fmax(b[3], (double)(i / wide + 1));
        }
    }
}

/* That masks are where boxes are, to some pixels, and inside of the image. */
static void check_photo(eg_photo p, int64_t high, int64_t wide, double within)
{
    EGT_CHECK(p.image && p.boxes && p.kept && p.masks);
    EGT_CHECK(eg_size(p.image, 1) == high && eg_size(p.image, 2) == wide);
    EGT_CHECK(eg_size(p.masks, 1) == high && eg_size(p.masks, 2) == wide);
    EGT_CHECK(eg_size(p.kept, 0) == eg_size(p.boxes, 0) && eg_size(p.masks, 0) == eg_size(p.boxes, 0));
    for (int64_t i = 0; i < eg_size(p.boxes, 0); i++) {
        double want[4], got[4];
        EGT_OK(eg_to_values(eg_select(p.boxes, 0, i), got));
        extent(eg_select(p.masks, 0, i), want);
        EGT_CHECK(got[0] >= 0 && got[1] >= 0 && got[2] <= (double)wide && got[3] <= (double)high);
        for (int k = 0; k < 4; k++) {
            EGT_CHECK(fabs(got[k] - want[k]) <= within);
        }
    }
}

EGT(photos_fitted)
{
    eg_photo p = eg_photo_fit(photo_of(), boxes_of(), masks_of(), .shorter = 30);
    check_photo(p, 30, 40, 0);
    check_values(eg_select(p.boxes, 0, 0), 4, (double[]){5, 10, 15, 20});
    check_photo(eg_photo_fit(photo_of(), boxes_of(), masks_of(), .shorter = 600, .longer = 200), 150, 200, 1);
    p = eg_photo_fit(photo_of(), boxes_of(), masks_of(), .shorter = 47, .longer = 1000, .multiple = 32,
                     .antialias = true);
    check_photo(p, 64, 64, 1);
    EGT_EQ(eg_item_int(eg_max(eg_image_crop(p.image, 47, 0, 17, 64))), 0); /* what was added */
    EGT_CHECK(eg_item_int(eg_max(eg_image_crop(p.image, 46, 0, 1, 64))) > 0);
    p = eg_photo_fit(eg_cast(photo_of(), EG_F32), eg_zeros(EG_SHAPE(0, 4), EG_F32), NULL);
    EGT_CHECK(p.image && eg_size(p.image, 1) == 800 && eg_size(p.image, 2) == 1067 && eg_size(p.boxes, 0) == 0 &&
              !p.masks);
    EGT_REFUSED(eg_photo_fit(photo_of(), boxes_of(), NULL, .shorter = -1).image, EG_EINVAL, "shorter is -1");
    EGT_REFUSED(eg_photo_fit(photo_of(), eg_zeros(EG_SHAPE(4), EG_F32), NULL).image, EG_ESHAPE, "boxes has shape [4]");
    EGT_REFUSED(eg_photo_fit(photo_of(), boxes_of(), eg_zeros(EG_SHAPE(3, 2, 2), EG_U8)).image, EG_ESHAPE, "masks");
    EGT_REFUSED(eg_photo_fit(photo_of(), eg_cast(boxes_of(), EG_I64), NULL).image, EG_EDTYPE, "boxes i64");
}

EGT(photos_turned_over)
{
    eg_photo p = eg_photo_flip(photo_of(), boxes_of(), masks_of());
    check_photo(p, HIGH, WIDE, 0);
    check_values(eg_select(p.boxes, 0, 0), 4, (double[]){50, 20, 70, 40});
    p = eg_photo_flip(p.image, p.boxes, p.masks);
    EGT_CHECK(egt_same_bits(eg_contiguous(p.image), photo_of()) && egt_same_bits(p.boxes, boxes_of()));
    int turned = 0;
    for (int i = 0; i < 200; i++) {
        EG_SCOPE {
            eg_seed((uint64_t)i);
            turned += !egt_same_bits(eg_photo_random_flip(photo_of(), boxes_of(), NULL, 0.25).boxes, boxes_of());
        }
    }
    EGT_CHECK(turned > 25 && turned < 80);
    EGT_REFUSED(eg_photo_random_flip(photo_of(), boxes_of(), NULL, 2).image, EG_EINVAL, "probability is 2");
}

EGT(photos_cut)
{
    eg_photo p = eg_photo_crop(photo_of(), boxes_of(), masks_of(), 15, 20, 30, 40, 0);
    check_photo(p, 30, 40, 0);
    check_values(p.kept, 2, (double[]){0, 2});
    check_values(p.boxes, 8, (double[]){0, 5, 10, 25, 30, 0, 40, 30});
    EGT_EQ(eg_item_int(eg_select(eg_select(eg_select(p.image, 0, 0), 0, 0), 0, 0)), 2 * 15 + 20);
    check_values(eg_photo_crop(photo_of(), boxes_of(), NULL, 15, 20, 30, 40, 0.3).kept, 1, (double[]){0});
    EGT_EQ(eg_size(eg_photo_crop(photo_of(), boxes_of(), masks_of(), 50, 10, 5, 5, 0).boxes, 0), 0);
    EGT_REFUSED(eg_photo_crop(photo_of(), boxes_of(), NULL, 50, 0, 20, 10, 0).image, EG_EINDEX, "");
    EGT_REFUSED(eg_photo_crop(photo_of(), boxes_of(), NULL, 0, 0, 2, 2, 1).image, EG_EINVAL, "least is 1");
}

EGT(photos_by_chance)
{
    int whole = 0, fewer = 0;
    for (int i = 0; i < 100; i++) {
        EG_SCOPE {
            eg_seed((uint64_t)i);
            eg_photo p = eg_photo_random_crop(photo_of(), boxes_of(), masks_of());
            EGT_CHECK(p.image);
            const int64_t high = eg_size(p.image, 1), wide = eg_size(p.image, 2);
            check_photo(p, high, wide, 0);
            EGT_CHECK(eg_size(p.kept, 0) > 0);
            whole += high == HIGH && wide == WIDE;
            fewer += eg_size(p.kept, 0) < OBJECTS;
            eg_seed((uint64_t)i);
            eg_photo again = eg_photo_random_crop(photo_of(), boxes_of(), NULL);
            EGT_CHECK(egt_same_bits(again.image, p.image) && egt_same_bits(again.boxes, p.boxes) && !again.masks);
            p = eg_photo_random_zoom_out(photo_of(), boxes_of(), masks_of(), 3, 7);
            check_photo(p, eg_size(p.image, 1), eg_size(p.image, 2), 0);
            EGT_CHECK(eg_size(p.image, 1) >= HIGH && eg_size(p.image, 1) <= 3 * HIGH);
        }
    }
    EGT_CHECK(whole > 5 && whole < 50 && fewer > 30);
    EGT_EQ(eg_size(eg_photo_random_crop(photo_of(), eg_zeros(EG_SHAPE(0, 4), EG_F32), NULL).image, 1), HIGH);
    EGT_REFUSED(eg_photo_random_zoom_out(photo_of(), boxes_of(), NULL, 0.5, 0).image, EG_EINVAL, "most is 0.5");
}

/* ---- real ones ---------------------------------------------------------------------------------------- */

EGT(blood_cells)
{
    const char *in = egt_real("bccd");
    const struct {
        const char *set;
        int photos;
    } sets[] = {{"train", 205}, {"val", 87}, {"test", 72}};
    int64_t boxes = 0, n = 0;
    for (int i = 0; i < 3; i++) {
        eg_dataset *d = eg_voc_new(in, sets[i].set, .keep_empty = true);
        egt_need(d, "libexpat");
        EGT_EQ(eg_dataset_count(d), sets[i].photos);
        const char *const *names = eg_photo_classes(d, &n);
        EGT_CHECK(n == 3 && !strcmp(names[0], "Platelets") && !strcmp(names[1], "RBC") && !strcmp(names[2], "WBC"));
        EG_FOR_EACH(sample, d) {
            boxes += eg_size(sample[1], 0);
        }
        eg_dataset_free(d);
    }
    EGT_EQ(boxes, 4888);
}
