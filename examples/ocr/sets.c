/* sets.c - see sets.h. */
#define _POSIX_C_SOURCE 200809L
#include "sets.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>

enum { DRAWN_SIDE = 80, DRAWN_VIEWS = 2, DRAWN_LENGTH = 10, BUFFER = 2000 };

const char *const sets_names[SET_NAMES] = {"train", "validation", "test"};

/* ---- records ------------------------------------------------------------------------------------- */

static eg_dataset *records(const sets *s, set_name name, bool shuffled, uint64_t seed)
{
    char pattern[64];
    snprintf(pattern, sizeof pattern, "%s/%s*", sets_names[name], sets_names[name]);
    eg_dataset *d = eg_tfrecord_new(eg_path_in(s->folder, pattern).text, .shuffle_files = shuffled, .seed = seed);
    if (!d && eg_last_error()->code == EG_EIO) {
        eg_clear_error();
        snprintf(pattern, sizeof pattern, "%s-*", sets_names[name]);
        d = eg_tfrecord_new(eg_path_in(s->folder, pattern).text, .shuffle_files = shuffled, .seed = seed);
    }
    return d;
}

/* What a record has, and its views: squares beside each other. */
typedef struct record {
    eg_tensor *image, *text; /* u8 [3, H, views H], i64 [length] */
    int64_t views;
} record;

static eg_status read_record(eg_tensor *bytes, record *r)
{
    static const eg_feature features[] = {{.name = "image/encoded", .dtype = EG_U8},
                                          {.name = "image/class", .dtype = EG_I64, .variable = true}};
    eg_tensor *found[2];
    eg_status st = eg_example_read(bytes, features, 2, found);
    r->image = st ? NULL : eg_image_decode(eg_data(found[0]), (size_t)eg_numel(found[0]), .channels = 3);
    if (!r->image) {
        return eg_last_error()->code;
    }
    r->text = found[1];
    r->views = eg_size(r->image, 2) / eg_size(r->image, 1);
    return eg_size(r->image, 2) == r->views * eg_size(r->image, 1)
               ? EG_OK
               : eg_failf(EG_EFORMAT, "ocr", "an image of %lld x %lld pixels: must be squares beside each other",
                          (long long)eg_size(r->image, 2), (long long)eg_size(r->image, 1));
}

static eg_status find_letters(sets *s)
{
    glob_t found;
    eg_path pattern = eg_path_in(s->folder, "charset_size=*.txt");
    if (glob(pattern.text, 0, NULL, &found) != 0) {
        return eg_failf(EG_EIO, "ocr", "%.200s: there is no such file", pattern.text);
    }
    eg_status st = charset_load(&s->letters, found.gl_pathv[0]);
    globfree(&found);
    return st;
}

/* Sizes that were not asked for are those of the first record. */
static eg_status look(sets *s)
{
    eg_dataset *d = records(s, SET_TRAIN, false, 0);
    eg_status st = d ? EG_OK : eg_last_error()->code;
    bool any = false;
    EG_FOR_EACH(x, d) {
        record r;
        any = true;
        st = read_record(x[0], &r);
        if (!st) {
            s->o.length = s->o.length ? s->o.length : eg_numel(r.text);
            s->o.views = s->o.views ? s->o.views : r.views < VIEWS_MOST ? r.views : VIEWS_MOST;
            s->o.side = s->o.side ? s->o.side : eg_size(r.image, 1);
        }
        break;
    }
    st = st || !d ? st : eg_dataset_status(d);
    eg_dataset_free(d);
    return st || any ? st : eg_failf(EG_EFORMAT, "ocr", "%.200s has no records to learn from", s->folder);
}

eg_status sets_open(sets *s, const char *folder, const sets_options *o)
{
    memset(s, 0, sizeof *s);
    s->o = *o;
    if (folder) {
        snprintf(s->folder, sizeof s->folder, "%s", folder);
        eg_status st = find_letters(s);
        st = st ? st : look(s);
        return st || (s->o.length > 0 && s->o.length <= SETS_LONGEST)
                   ? st
                   : eg_failf(EG_EFORMAT, "ocr", "texts of %lld letters: must be 1 to %d", (long long)s->o.length,
                              SETS_LONGEST);
    }
    s->o.side = o->side ? o->side : DRAWN_SIDE;
    s->o.views = o->views ? o->views : DRAWN_VIEWS;
    s->o.length = o->length ? o->length : DRAWN_LENGTH;
    if (s->o.length < NAME_LEAST) {
        return eg_failf(EG_EINVAL, "ocr", "names of at most %lld letters: must have room for %d letters",
                        (long long)s->o.length, NAME_LEAST);
    }
    charset_drawn(&s->letters);
    s->signs = signs_new(&(sign_options){s->o.side, s->o.views, s->o.length, s->o.lines});
    return s->signs ? EG_OK : eg_last_error()->code;
}

void sets_close(sets *s)
{
    signs_free(s->signs);
    s->signs = NULL;
}

/* ---- samples ------------------------------------------------------------------------------------- */

eg_status sets_draw(const sets *s, set_name set, int64_t number, eg_tensor **image, eg_tensor **text,
                    char name[NAME_BYTES])
{
    int64_t ids[SETS_LONGEST];
    const int64_t at = set == SET_TEST ? s->o.others + number : number;
    signs_name(s->signs, at, set != SET_TRAIN, name);
    if (charset_encode(&s->letters, name, ids, s->o.length) < 0) {
        return eg_last_error()->code;
    }
    *image = signs_draw(s->signs, at, set != SET_TRAIN);
    *text = eg_to(eg_from(EG_SHAPE(s->o.length), EG_I64, ids), eg_cpu());
    return *image && *text ? EG_OK : eg_last_error()->code;
}

/* A record, or the set and number of a drawn sign, becomes an image and its text. */
static eg_status open_sample(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)n;
    const sets *s = user;
    *m = 2;
    if (s->signs) {
        double which[2];
        char name[NAME_BYTES];
        eg_status st = eg_to_values(in[0], which);
        return st ? st : sets_draw(s, (set_name)which[0], (int64_t)which[1], &out[IMAGES], &out[TEXTS], name);
    }
    record r;
    eg_status st = read_record(in[0], &r);
    if (st) {
        return st;
    }
    if (r.views < s->o.views || eg_numel(r.text) != s->o.length) {
        return eg_failf(EG_EFORMAT, "ocr", "a sign with %lld views and %lld letters: must be %lld and %lld",
                        (long long)r.views, (long long)eg_numel(r.text), (long long)s->o.views, (long long)s->o.length);
    }
    out[IMAGES] = eg_slice(r.image, 2, 0, s->o.views * eg_size(r.image, 1), 1);
    out[TEXTS] = r.text;
    return out[IMAGES] ? EG_OK : eg_last_error()->code;
}

static eg_tensor *scaled(eg_tensor *image)
{
    return eg_mul_scalar(eg_add_scalar(eg_image_to_float(image), -0.5), 2.5);
}

eg_tensor *sets_seen(eg_tensor *view, int64_t side)
{
    bool fits = eg_size(view, 1) == side && eg_size(view, 2) == side;
    return scaled(fits ? view : eg_image_resize(view, side, side, .antialias = true));
}

eg_tensor *sets_shown(eg_tensor *seen)
{
    return eg_image_to_u8(eg_clamp(eg_add_scalar(eg_mul_scalar(seen, 1 / 2.5), 0.5), 0, 1));
}

/* A part of a view, as large as before, in other colours. */
static eg_tensor *changed(eg_tensor *view)
{
    int64_t box[4];
    if (eg_image_distorted_box(eg_size(view, 1), eg_size(view, 2), box, .covered = 0.8, .ratio = {0.8, 1.2},
                               .area = {0.8, 1})) {
        return NULL;
    }
    eg_tensor *part = eg_image_resize(eg_image_crop(view, box[0], box[1], box[2], box[3]), eg_size(view, 1),
                                      eg_size(view, 2), .antialias = true);
    return eg_image_jitter(part, .brightness = 0.125, .contrast = 0.5, .saturation = 0.5, .hue = 0.2);
}

static eg_status prepare(const sets *s, bool change, eg_tensor *const *in, eg_tensor **out, int *m)
{
    const int64_t views = s->o.views, side = eg_size(in[IMAGES], 1);
    eg_tensor *made[VIEWS_MOST];
    for (int64_t v = 0; v < views; v++) {
        eg_tensor *view = eg_slice(in[IMAGES], 2, v * side, (v + 1) * side, 1);
        made[v] = sets_seen(change ? changed(view) : view, s->o.side);
        if (!made[v]) {
            return eg_last_error()->code;
        }
    }
    out[IMAGES] = eg_concat(made, (int)views, 2);
    out[TEXTS] = in[TEXTS];
    *m = 2;
    return out[IMAGES] ? EG_OK : eg_last_error()->code;
}

static eg_status prepare_changed(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)n;
    return prepare(user, true, in, out, m);
}

static eg_status prepare_plain(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)n;
    return prepare(user, false, in, out, m);
}

/* The set and the number of each drawn sign. */
static eg_dataset *numbers(const sets *s, set_name name)
{
    const int64_t count = name == SET_TRAIN ? s->o.drawn : s->o.others;
    eg_dataset *d = NULL;
    EG_SCOPE {
        eg_tensor *number = eg_arange(0, (double)count, 1, EG_I64);
        eg_tensor *both[2] = {number ? eg_full_like(number, (double)name) : NULL, number};
        eg_tensor *which = eg_to(eg_stack(both, 2, 1), eg_cpu());
        d = eg_dataset_from_tensors(&which, 1);
    }
    return d;
}

eg_dataset *sets_batches(sets *s, set_name name, int64_t batch, uint64_t seed)
{
    const bool train = name == SET_TRAIN;
    eg_dataset *d = s->signs ? numbers(s, name) : records(s, name, train, seed);
    if (train) {
        const int64_t n = eg_dataset_count(d);
        d = eg_dataset_shuffle(d, n > 0 ? n : BUFFER, .seed = seed);
    }
    d = eg_dataset_map(d, open_sample, s, .workers = 1, .seed = seed);
    d = eg_dataset_map(d, train && !s->o.plain ? prepare_changed : prepare_plain, s, .workers = 1, .seed = seed);
    return eg_dataset_prefetch(eg_dataset_batch(d, batch, .drop_last = train), 2);
}
