/* photos.c - see photos.h. */
#include "photos.h"

#include <glob.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "shapes.h"

enum { DRAWN_FOR_OTHERS = 4 }; /* every so many-th drawn picture is not learned from */

struct photos {
    photos_options o;
    char folder[EG_PATH_SIZE];
    bool files;
    enum { VOC, COCO, YOLO } layout;
    eg_dataset *named; /* a set, opened for the names of its classes */
    const char *const *classes;
    int64_t count;
};

static const double mean[3] = {0.485, 0.456, 0.406}, deviation[3] = {0.229, 0.224, 0.225};

/* ---- as nets see them ---- */

static eg_tensor *per_channel(const double *v, eg_tensor *beside)
{
    eg_tensor *t = eg_from_values(EG_SHAPE(3, 1, 1), EG_F32, v);
    return t && beside ? eg_to(t, eg_device_of(beside)) : NULL;
}

static eg_tensor *normal(eg_tensor *photo)
{
    eg_tensor *x = eg_mul_scalar(eg_cast(photo, EG_F32), 1 / 255.0);
    return eg_div(eg_sub(x, per_channel(mean, x)), per_channel(deviation, x));
}

eg_tensor *photos_seen(eg_tensor *photo, int64_t shorter, int64_t longer)
{
    eg_tensor *none = eg_zeros(EG_SHAPE(0, 4), EG_F32);
    return normal(eg_photo_fit(photo, none, NULL, .shorter = shorter, .longer = longer, .antialias = true).image);
}

eg_tensor *photos_shown(eg_tensor *seen)
{
    seen = eg_to(seen, eg_cpu());
    return eg_image_to_u8(eg_add(eg_mul(seen, per_channel(deviation, seen)), per_channel(mean, seen)));
}

/* ---- layouts ---- */

static bool is_there(const char *folder, const char *name)
{
    struct stat s;
    return stat(eg_path_in(folder, name).text, &s) == 0;
}

static eg_status look(photos *p)
{
    const char *f = p->folder;
    p->layout = is_there(f, "Annotations") ? VOC : is_there(f, "annotations") ? COCO : YOLO;
    if (p->layout == YOLO && !is_there(f, "images")) {
        return eg_failf(EG_EIO, "detect",
                        "%.120s has none of Annotations, as Pascal VOC, annotations, as COCO, and images, as YOLO", f);
    }
    static const char *const sets[][2] = {{"train", "val"}, {"train2017", "val2017"}, {"train", "val"}};
    p->o.train = p->o.train ? p->o.train : sets[p->layout][0];
    p->o.valid = p->o.valid ? p->o.valid : sets[p->layout][1];
    return EG_OK;
}

/* Classes have the numbers they have in the set that is learned from, once that was opened. */
static eg_dataset *open_set(const photos *p, const char *set)
{
    const char *const *classes = p->named ? p->classes : NULL;
    const int count = p->named ? (int)p->count : 0;
    char name[EG_NAME_MOST];
    if (p->layout == VOC) {
        return eg_voc_new(p->folder, set, .classes = classes, .classes_count = count);
    }
    if (p->layout == COCO) {
        snprintf(name, sizeof name, "annotations/instances_%.200s.json", set);
        eg_path list = eg_path_in(p->folder, name);
        return eg_coco_new(list.text, eg_path_in(p->folder, set).text, .masks = p->o.masks, .classes = classes,
                           .classes_count = count);
    }
    snprintf(name, sizeof name, "images/%.200s/*", set);
    eg_path pattern = eg_path_in(p->folder, name), names = eg_path_in(p->folder, "classes.txt");
    return eg_yolo_new(pattern.text, is_there(p->folder, "classes.txt") ? names.text : NULL);
}

static void free_photos(void *given)
{
    photos *p = given;
    eg_dataset_free(p->named);
    free(p);
}

static eg_status open_files(photos *p)
{
    eg_status st = look(p);
    if (st) {
        return st;
    }
    if (p->o.masks && p->layout != COCO) {
        return eg_fail(EG_EINVAL, "detect", "of these only COCO has masks for a net that learns from them");
    }
    p->named = open_set(p, p->o.train);
    p->classes = p->named ? eg_photo_classes(p->named, &p->count) : NULL;
    return p->classes ? EG_OK : eg_last_error()->code;
}

photos *photos_open(eg_run *run, const char *folder, const photos_options *o)
{
    photos *p = calloc(1, sizeof *p);
    if (!p) {
        eg_fail(EG_ENOMEM, "detect", "out of memory");
    }
    if (eg_run_own(run, p, free_photos)) {
        return NULL;
    }
    *p = (photos){.o = *o, .files = folder != NULL, .classes = shapes_names, .count = SHAPES};
    if (folder) {
        snprintf(p->folder, sizeof p->folder, "%s", folder);
    }
    return folder && eg_run_heed(run, open_files(p)) ? NULL : p;
}

const char *const *photos_classes(const photos *p, int64_t *count)
{
    *count = p->count;
    return p->classes;
}

/* ---- samples ---- */

/* What a file or a drawing has: image, boxes, labels, flags, areas, masks. */
typedef struct scene {
    eg_tensor *image, *boxes, *labels, *flags, *areas, *masks;
} scene;

static eg_status read_scene(const photos *p, eg_tensor *const *in, scene *s)
{
    if (!p->files) {
        eg_status st = shapes_draw((int64_t)eg_item(in[0]), &s->image, &s->boxes, &s->labels, &s->masks);
        s->flags = st ? NULL : eg_cast(eg_zeros_like(s->labels), EG_U8);
        s->areas = st ? NULL : eg_sum(eg_cast(s->masks, EG_F32), .axes = EG_AXES(1, 2));
        s->masks = p->o.masks ? s->masks : NULL;
        return s->areas ? EG_OK : eg_last_error()->code;
    }
    const void *bytes = eg_data(in[0]);
    *s = (scene){bytes ? eg_image_decode(bytes, (size_t)eg_numel(in[0]), .channels = 3) : NULL,
                 in[1],
                 in[2],
                 in[3],
                 in[4],
                 p->o.masks ? in[6] : NULL};
    return s->image ? EG_OK : eg_last_error()->code;
}

/* What was done to the photo is done to all of the scene. */
static bool take(scene *s, eg_photo changed)
{
    s->image = changed.image;
    s->boxes = changed.boxes;
    s->masks = changed.masks;
    s->labels = eg_index_select(s->labels, 0, changed.kept);
    s->flags = eg_index_select(s->flags, 0, changed.kept);
    s->areas = eg_index_select(s->areas, 0, changed.kept);
    return s->image && s->labels && s->flags && s->areas;
}

static bool change(const photos *p, scene *s)
{
    if (p->o.crops) {
        double coin = eg_item(eg_uniform(EG_SHAPE(1), 0, 1, EG_F64));
        if ((coin < 0.5 && !take(s, eg_photo_random_zoom_out(s->image, s->boxes, s->masks, 2, 120))) ||
            !take(s, eg_photo_random_crop(s->image, s->boxes, s->masks))) {
            return false;
        }
    }
    /* Nobody is asked for what is difficult, or more than one. */
    eg_tensor *plain = eg_eq_scalar(eg_bitwise_and_int(s->flags, EG_OBJECT_DIFFICULT | EG_OBJECT_CROWD), 0);
    s->labels = eg_where(plain, s->labels, eg_full_like(s->labels, -1));
    return s->labels && take(s, eg_photo_random_flip(s->image, s->boxes, s->masks, 0.5));
}

static eg_status ready(const photos *p, bool train, eg_tensor *const *in, eg_tensor **out, int *m)
{
    scene s;
    eg_status st = read_scene(p, in, &s);
    if (st || (train && !change(p, &s)) ||
        !take(&s, eg_photo_fit(s.image, s.boxes, s.masks, .shorter = p->o.shorter, .longer = p->o.longer,
                               .antialias = true))) {
        return eg_last_error()->code;
    }
    double size[2] = {(double)eg_size(s.image, 1), (double)eg_size(s.image, 2)};
    out[IMAGE] = normal(s.image);
    out[BOXES] = s.boxes;
    out[LABELS] = s.labels;
    out[SIZE] = eg_from_values(EG_SHAPE(2), EG_I64, size);
    out[FLAGS] = s.flags;
    out[AREAS] = s.areas;
    *m = MASKS;
    if (p->o.masks) {
        out[(*m)++] = s.masks;
    }
    return out[IMAGE] && out[SIZE] ? EG_OK : eg_last_error()->code;
}

static eg_status ready_to_learn(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)n;
    return ready(user, true, in, out, m);
}

static eg_status ready_to_judge(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)n;
    return ready(user, false, in, out, m);
}

/* Numbers of the drawn pictures to learn from, or of the others. */
static eg_dataset *numbers(const photos *p, bool train)
{
    eg_tensor *all = eg_arange(0, (double)p->o.drawn, 1, EG_I64);
    eg_tensor *others = eg_eq_scalar(eg_remainder_int(all, DRAWN_FOR_OTHERS), 0);
    eg_tensor *some = eg_masked_select(all, train ? eg_logical_not(others) : others);
    return eg_dataset_from_tensors(&some, 1);
}

eg_dataset *photos_dataset(photos *p, bool train, uint64_t seed)
{
    if (!p) {
        return NULL;
    }
    eg_dataset *d = NULL;
    EG_SCOPE {
        d = p->files ? open_set(p, train ? p->o.train : p->o.valid) : numbers(p, train);
    }
    if (train) {
        int64_t n = eg_dataset_count(d);
        d = eg_dataset_shuffle(d, n > 0 ? n : 1, .seed = seed);
    }
    d = eg_dataset_map(d, train ? ready_to_learn : ready_to_judge, p, .workers = 1, .seed = seed);
    return eg_dataset_prefetch(eg_dataset_padded_batch(d, p->o.batch, .value = {[LABELS] = -1}, .drop_last = train), 2);
}
