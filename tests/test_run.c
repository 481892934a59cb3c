/* test_run.c - checkpoints: what is saved comes back bit for bit, and what is damaged or does not fit is
 * refused. */
#define _XOPEN_SOURCE 700
#include "tests/egt.h"

#include <unistd.h>

#include <egret/saver.h>

#include "tests/crc32c.h"

/* ---- a run to save --------------------------------------------------------------------------- */

/* A part of the user's own: two numbers in a tensor, which refuses to hold a 13. */
typedef struct pair {
    float v[2];
} pair;

static eg_tensors *pair_state(void *user)
{
    pair *p = user;
    eg_tensors *map = eg_tensors_new();
    EG_SCOPE {
        eg_tensors_set(map, "v", eg_from(EG_SHAPE(2), EG_F32, p->v));
    }
    return map;
}

static eg_status pair_load(void *user, const eg_tensors *state)
{
    pair *p = user;
    eg_tensor *v = eg_tensors_get(state, "v");
    if (!v) {
        return eg_last_error()->code;
    }
    if (eg_get(v, 0) == 13) {
        return EG_EUSER; /* without a word */
    }
    return eg_copy_out(v, p->v, sizeof p->v);
}

typedef struct run {
    eg_module *net;
    eg_tensor *noise;
    int64_t epoch;
    double loss;
    pair a, b;
    eg_saver *saver;
} run;

static eg_status add_pair(eg_saver *s, const char *name, pair *p)
{
    return eg_saver_add(s, name, &(eg_saver_part){sizeof(eg_saver_part), pair_state, pair_load, p});
}

/* `fill` is where its numbers begin. */
static void start(run *r, int fill, eg_saver_options o)
{
    o.size = sizeof o;
    eg_seed((uint64_t)fill);
    *r = (run){.epoch = fill, .loss = fill + 0.5, .a = {{(float)fill, 1}}, .b = {{(float)fill, 2}}};
    r->net = eg_sequential_new(eg_linear_new(2, 3), eg_batch_norm_new(3));
    EG_SCOPE {
        r->noise = eg_keep(eg_normal(EG_SHAPE(2, 2), 0, 1, EG_F16));
    }
    r->saver = eg_saver_new_with(egt_folder(), &o);
    EGT_CHECK(r->net && r->noise && r->saver);
    EGT_OK(eg_saver_module(r->saver, "net", r->net));
    EGT_OK(add_pair(r->saver, "a", &r->a));
    EGT_OK(eg_saver_tensor(r->saver, "noise", r->noise));
    EGT_OK(eg_saver_number(r->saver, "epoch", &r->epoch));
    EGT_OK(eg_saver_real(r->saver, "loss", &r->loss));
    EGT_OK(add_pair(r->saver, "b", &r->b));
}

static void stop(run *r)
{
    eg_saver_free(r->saver);
    eg_module_free(r->net);
    eg_release(r->noise);
}

/* All that is saved, in one number. */
static double fingerprint(const run *r)
{
    double sum = (double)r->epoch * 3 + r->loss * 7 + r->a.v[0] * 11 + r->b.v[0] * 17;
    eg_tensors *state = eg_module_state(r->net);
    for (int64_t i = 0; i < eg_tensors_count(state); i++) {
        const eg_tensor *t = eg_tensors_at(state, i);
        for (int64_t k = 0; k < eg_numel(t); k++) {
            sum += eg_get(t, k) * (double)(k + 1) / (double)(i + 3);
        }
    }
    eg_tensors_free(state);
    return sum + eg_get(r->noise, 0) * 23 + eg_get(r->noise, 3) * 29;
}

/* ---- saving and restoring -------------------------------------------------------------------- */

EGT(all_parts_come_back)
{
    run r, again;
    start(&r, 5, (eg_saver_options){.keep = 3});
    int64_t step = -7;
    EGT_OK(eg_saver_restore(r.saver, &step));
    EGT_EQ(step, -7); /* there is none yet */
    EGT_STR(eg_saver_path(r.saver), "");
    EGT_OK(eg_saver_save(r.saver, 42));
    EGT_STR(eg_saver_path(r.saver), egt_path("checkpoint-0000000042.safetensors"));
    double saved = fingerprint(&r), next;
    EG_SCOPE {
        next = eg_item(eg_uniform(EG_SCALAR, 0, 1, EG_F64));
    }
    start(&again, 6, (eg_saver_options){.keep = 3});
    EGT_CHECK(fingerprint(&again) != saved);
    EGT_OK(eg_saver_restore(again.saver, &step));
    EGT_EQ(step, 42);
    EGT_EQ(fingerprint(&again), saved);
    EG_SCOPE {
        EGT_EQ(eg_item(eg_uniform(EG_SCALAR, 0, 1, EG_F64)), next);
    }
    EGT_OK(eg_saver_restore_from(again.saver, eg_saver_path(r.saver), NULL));
    eg_tensors *plain = eg_safetensors_load(eg_saver_path(r.saver)); /* any reader can */
    EGT_CHECK(plain && eg_tensors_has(plain, "net/0.weight") && eg_tensors_has(plain, "checksums"));
    eg_tensors_free(plain);
    stop(&r);
    stop(&again);
}

EGT(tensors_of_any_strides)
{
    eg_tensor *all = eg_keep(egt_random(EG_SHAPE(4, 5, 6, 2), EG_F32, -1, 1)), *part[5];
    part[0] = eg_keep(eg_permute(all, EG_AXES(3, 0, 2, 1)));
    part[1] = eg_keep(eg_slice(all, 2, 1, 6, 2));
    part[2] = eg_keep(eg_channels_last(all));
    part[3] = eg_keep(eg_slice(eg_flatten(all, 0, 3), 0, 7, 8, 1));
    part[4] = eg_keep(eg_zeros(EG_SHAPE(0, 3), EG_BOOL));
    eg_saver *s = eg_saver_new(egt_folder());
    for (int i = 0; i < 5; i++) {
        char name[8];
        snprintf(name, sizeof name, "t%d", i);
        EGT_OK(eg_saver_tensor(s, name, part[i]));
    }
    eg_tensor *before = eg_copy(all);
    EGT_OK(eg_saver_save(s, 1));
    eg_mul_scalar_(all, 2);
    eg_mul_scalar_(part[2], 3);
    EGT_OK(eg_saver_restore(s, NULL));
    EGT_EQ(egt_distance(eg_copy(all), before), 0);
    EGT_EQ(egt_distance(part[2], before), 0);
    eg_saver_free(s);
    for (int i = 0; i < 5; i++) {
        eg_release(part[i]);
    }
    eg_release(all);
}

EGT(folders_are_made)
{
    eg_saver *s = eg_saver_new(egt_path("a/b/c"));
    int64_t n = 3, step = 0;
    EGT_CHECK(s);
    EGT_OK(eg_saver_number(s, "n", &n));
    EGT_OK(eg_saver_save(s, 0));
    n = 4;
    EGT_OK(eg_saver_restore(s, &step));
    EGT_EQ(n, 3);
    EGT_CHECK(!access(egt_path("a/b/c/checkpoint-0000000000.safetensors"), F_OK));
    eg_saver_free(s);
    egt_write(egt_path("file"), "", 0);
    EGT_REFUSED(eg_saver_new(egt_path("file")), EG_EIO, "file");
    EGT_REFUSED(eg_saver_new(egt_path("file/under")), EG_EIO, "file/under");
}

EGT(only_so_many_are_kept)
{
    int64_t n = 0, step;
    eg_saver *s = eg_saver_new(egt_folder(), .keep = 2);
    EGT_OK(eg_saver_number(s, "n", &n));
    egt_write(egt_path("checkpoint-1.safetensors"), "", 0); /* not a name of ours */
    egt_write(egt_path("checkpoint-0000000001.safetensors.bak"), "", 0);
    for (n = 1; n <= 5; n++) {
        EGT_OK(eg_saver_save(s, 10 * n));
    }
    EGT_EQ(egt_files("checkpoint-00000000"), 3);
    EGT_OK(eg_saver_restore(s, &step));
    EGT_EQ(step + n, 50 + 5);
    n = 7;
    EGT_OK(eg_saver_save(s, 45)); /* of what comes later nothing goes */
    EGT_CHECK(!access(egt_path("checkpoint-0000000050.safetensors"), F_OK));
    EGT_CHECK(!access(egt_path("checkpoint-0000000045.safetensors"), F_OK));
    EGT_CHECK(!access(egt_path("checkpoint-0000000040.safetensors"), F_OK));
    EGT_OK(eg_saver_save(s, 12345678901234));
    EGT_OK(eg_saver_restore(s, &step));
    EGT_EQ(step, 12345678901234);
    eg_saver_free(s);
    EGT_EQ(egt_files(""), 4);
}

EGT(the_best_is_kept_across_restarts)
{
    int64_t n = 0, step;
    for (int highest = 0; highest < 2; highest++) {
        double sign = highest ? -1 : 1;
        eg_saver *s = eg_saver_new(egt_folder(), .keep = 1, .highest = highest);
        EGT_OK(eg_saver_number(s, "n", &n));
        EGT_CHECK(isnan(eg_saver_best_score(s)));
        EGT_OK(eg_saver_save_best(s, 0, (double)NAN));
        EGT_EQ(egt_files("best"), 0);
        n = 1;
        EGT_OK(eg_saver_save_best(s, 1, sign * 0.3));
        n = 2;
        EGT_OK(eg_saver_save_best(s, 2, sign * 0.4));
        eg_saver_free(s);
        s = eg_saver_new(egt_folder(), .keep = 1, .highest = highest);
        EGT_OK(eg_saver_number(s, "n", &n));
        EGT_EQ(eg_saver_best_score(s), sign * 0.3);
        EGT_OK(eg_saver_save_best(s, 3, sign * 0.3));
        EGT_OK(eg_saver_restore_from(s, egt_path("best.safetensors"), &step));
        EGT_EQ(step, 1);
        EGT_EQ(n, 1);
        n = 4;
        EGT_OK(eg_saver_save_best(s, 4, sign * -0.1));
        EGT_OK(eg_saver_save(s, 5));
        EGT_OK(eg_saver_save(s, 6));
        EGT_OK(eg_saver_restore_from(s, egt_path("best.safetensors"), &step));
        EGT_EQ(step, 4);
        eg_saver_free(s);
        EGT_EQ(egt_files(""), 2);
        egt_remove_folder();
    }
    egt_write(egt_path("best.safetensors"), "12345678{}", 10);
    EGT_REFUSED(eg_saver_new(egt_folder()), EG_EFORMAT, "best.safetensors");
}

/* ---- damage ---------------------------------------------------------------------------------- */

EGT(any_flipped_bit_is_refused)
{
    run r;
    size_t bytes;
    start(&r, 3, (eg_saver_options){0});
    EGT_OK(eg_saver_save(r.saver, 1));
    char *data = egt_read(eg_saver_path(r.saver), &bytes);
    double before = fingerprint(&r);
    const char *path = egt_path("damaged");
    for (size_t i = 0; i < bytes * 8; i++) {
        data[i / 8] ^= (char)(1 << i % 8);
        egt_write(path, data, bytes);
        data[i / 8] ^= (char)(1 << i % 8);
        if (eg_saver_restore_from(r.saver, path, NULL) == EG_OK) {
            egt_fail(__FILE__, __LINE__, "bit %zu of byte %zu makes no difference", i % 8, i / 8);
        }
        EGT_CHECK(egt_said(EG_EFORMAT, "damaged"));
    }
    for (size_t n = 0; n < bytes; n++) {
        egt_write(path, data, n);
        EGT_REFUSED(eg_saver_restore_from(r.saver, path, NULL), EG_EFORMAT, "damaged");
    }
    egt_write(path, data, bytes + 1);
    EGT_REFUSED(eg_saver_restore_from(r.saver, path, NULL), EG_EFORMAT, "damaged");
    EGT_EQ(fingerprint(&r), before);
    egt_write(path, data, bytes);
    EGT_OK(eg_saver_restore_from(r.saver, path, NULL));
    free(data);
    stop(&r);
}

EGT(damage_is_named_and_passed_over_if_asked)
{
    run r;
    size_t bytes;
    start(&r, 3, (eg_saver_options){0});
    for (int64_t step = 1; step <= 3; step++) {
        r.epoch = step;
        EGT_OK(eg_saver_save(r.saver, step));
    }
    char *data = egt_read(eg_saver_path(r.saver), &bytes);
    data[bytes - 1] ^= 1; /* narrow elements come last */
    egt_write(eg_saver_path(r.saver), data, bytes);
    EGT_REFUSED(eg_saver_restore(r.saver, NULL), EG_EFORMAT, "\"noise\"");
    data[20] ^= 1;
    egt_write(eg_saver_path(r.saver), data, bytes);
    free(data);
    EGT_REFUSED(eg_saver_restore(r.saver, NULL), EG_EFORMAT, "header");
    egt_write(egt_path("checkpoint-0000000002.safetensors"), "", 0);
    int64_t step = 0;
    EGT_OK(eg_saver_restore(r.saver, &step, .fall_back = true));
    EGT_EQ(eg_last_error()->code, EG_OK); /* what was passed over is no failure */
    EGT_EQ(step, 1);
    EGT_EQ(r.epoch, 1);
    EGT_STR(eg_saver_path(r.saver), egt_path("checkpoint-0000000001.safetensors"));
    egt_write(egt_path("checkpoint-0000000001.safetensors"), "", 0);
    EGT_REFUSED(eg_saver_restore(r.saver, &step, .fall_back = true), EG_EFORMAT, "0001");
    stop(&r);
}

/* The file with one word of its header replaced by another as long, and a right checksum. */
static const char *edited(const char *path, const char *from, const char *to)
{
    size_t bytes, header = 8;
    char *data = egt_read(path, &bytes), *at = NULL;
    for (int i = 0; i < 3; i++) {
        header += (size_t)(unsigned char)data[i] << 8 * i;
    }
    for (size_t i = 0; i + strlen(from) <= header; i++) {
        at = memcmp(data + i, from, strlen(from)) ? at : data + i;
    }
    EGT_CHECK(at && strlen(from) == strlen(to));
    memcpy(at, to, strlen(to));
    uint32_t sum = crc32c_by_bits(data, header);
    for (int i = 0; i < 4; i++) {
        data[header + (size_t)i] = (char)(sum >> 8 * i);
    }
    egt_write(egt_path("edited"), data, bytes);
    free(data);
    return egt_path("edited");
}

EGT(other_formats_and_algorithms)
{
    run r;
    start(&r, 3, (eg_saver_options){0});
    EGT_OK(eg_saver_save(r.saver, 1));
    const char *path = eg_saver_path(r.saver);
    char kept[200];
    snprintf(kept, sizeof kept, "%s", path);
    EGT_OK(eg_saver_restore_from(r.saver, edited(kept, "checkpoint", "checkpoint"), NULL));
    EGT_REFUSED(eg_saver_restore_from(r.saver, edited(kept, "checkpoint\":\"1", "checkpoint\":\"2"), NULL), EG_EFORMAT,
                "format 2");
    EGT_REFUSED(eg_saver_restore_from(r.saver, edited(kept, "checkpoint\":\"1", "checkpoint\":\"?"), NULL), EG_EFORMAT,
                "no checkpoint");
    EGT_REFUSED(eg_saver_restore_from(r.saver, edited(kept, "philox4x32-10", "mersenne %s%n"), NULL), EG_EFORMAT,
                "mersenne %s%n");
    EGT_OK(eg_saver_restore_from(r.saver, edited(kept, "philox4x32-10", "mersenne %s%n"), NULL, .allow_others = true));
    EGT_REFUSED(eg_saver_restore_from(r.saver, edited(kept, "step\":\"1", "step\":\"x"), NULL), EG_EFORMAT, "step");
    EGT_REFUSED(eg_saver_restore_from(r.saver, egt_path("absent"), NULL), EG_EIO, "absent");
    EGT_OK(eg_module_save(r.net, egt_path("plain")));
    EGT_REFUSED(eg_saver_restore_from(r.saver, egt_path("plain"), NULL), EG_EFORMAT, "checksum");
    stop(&r);
}

/* ---- datasets -------------------------------------------------------------------------------- */

static eg_dataset *numbers(int64_t n, uint64_t seed)
{
    eg_dataset *d = NULL;
    EG_SCOPE {
        eg_tensor *all = eg_arange(0, (double)n, 1, EG_F32);
        d = eg_dataset_batch(eg_dataset_shuffle(eg_dataset_from_tensors(&all, 1), 100, .seed = seed), 2);
    }
    EGT_CHECK(d);
    return d;
}

EGT(datasets_go_on_in_the_middle_of_a_pass)
{
    double seen[40];
    int n = 0, at = 0;
    int64_t step;
    eg_dataset *d = numbers(14, 3), *again = numbers(14, 3), *other = numbers(6, 3);
    eg_saver *s = eg_saver_new(egt_folder());
    EGT_OK(eg_saver_dataset(s, "train", d));
    for (int epoch = 0; epoch < 4; epoch++) {
        EG_FOR_EACH(sample, d) {
            seen[n++] = eg_get(sample[0], 0);
            if (n == 12) { /* in the second pass */
                EGT_OK(eg_saver_save(s, n));
            }
        }
    }
    eg_saver_free(s);
    s = eg_saver_new(egt_folder());
    EGT_OK(eg_saver_dataset(s, "train", again));
    EGT_OK(eg_saver_restore(s, &step));
    at = (int)step;
    for (int epoch = 1; epoch < 4; epoch++) {
        EG_FOR_EACH(sample, again) {
            EGT_EQ(eg_get(sample[0], 0), seen[at]);
            at++;
        }
    }
    EGT_EQ(at, n);
    eg_saver_free(s);
    s = eg_saver_new(egt_folder());
    EGT_OK(eg_saver_dataset(s, "train", other)); /* has only three batches */
    EGT_REFUSED(eg_saver_restore(s, NULL), EG_EINVAL, "sample 5");
    eg_saver_free(s);
    s = eg_saver_new(egt_folder());
    EGT_OK(eg_saver_dataset(s, "test", other));
    EGT_REFUSED(eg_saver_restore(s, NULL), EG_EFORMAT, "test");
    eg_saver_free(s);
    eg_dataset_free(d);
    eg_dataset_free(again);
    eg_dataset_free(other);
}

/* ---- what does not fit ----------------------------------------------------------------------- */

EGT(all_is_checked_before_anything_changes)
{
    run r;
    start(&r, 3, (eg_saver_options){0});
    EGT_OK(eg_saver_save(r.saver, 1));
    char path[200];
    snprintf(path, sizeof path, "%s", eg_saver_path(r.saver));
    double v = 0;
    int64_t n = 77;
    eg_saver *s = eg_saver_new(egt_folder());
    EGT_OK(eg_saver_number(s, "epoch", &n));
    EGT_REFUSED(eg_saver_restore(s, NULL), EG_EFORMAT, "\"loss\", \"net/0.weight\"");
    EGT_EQ(n, 77);
    eg_random_state place = eg_random_get_state();
    EGT_OK(eg_saver_restore(s, NULL, .allow_others = true));
    EGT_EQ(n, 3);
    EGT_EQ(eg_random_get_state().offset, place.offset);
    EGT_OK(eg_saver_real(s, "more", &v));
    EGT_REFUSED(eg_saver_restore(s, NULL, .allow_others = true), EG_EFORMAT, "missing: \"more\"");
    eg_saver_free(s);

    s = eg_saver_new(egt_folder());
    EGT_OK(eg_saver_real(s, "epoch", &v)); /* was a number */
    EGT_REFUSED(eg_saver_restore(s, NULL, .allow_others = true), EG_EDTYPE, "\"epoch\"");
    eg_saver_free(s);

    s = eg_saver_new(egt_folder());
    eg_module *wide = eg_sequential_new(eg_linear_new(2, 4), eg_batch_norm_new(4));
    EGT_OK(eg_saver_module(s, "net", wide));
    EGT_REFUSED(eg_saver_restore(s, NULL, .allow_others = true), EG_ESHAPE, "\"net/0.weight\"");
    eg_saver_free(s);
    eg_module_free(wide);

    r.a.v[0] = 100;
    r.b.v[0] = 13; /* which is refused when it is read */
    EGT_OK(eg_saver_save(r.saver, 2));
    r.a.v[0] = 200;
    r.b.v[0] = 300;
    r.epoch = 400;
    double before = fingerprint(&r);
    EGT_REFUSED(eg_saver_restore(r.saver, NULL), EG_EUSER, "\"b\"");
    EGT_EQ(fingerprint(&r), before);
    pair c = {{1, 2}};
    EGT_OK(add_pair(r.saver, "c", &c));
    EGT_REFUSED(eg_saver_restore_from(r.saver, path, NULL), EG_EFORMAT, "part c");
    EGT_EQ(fingerprint(&r), before);
    stop(&r);
}

EGT(a_tape_that_follows_a_parameter)
{
    run r;
    start(&r, 3, (eg_saver_options){0});
    EGT_OK(eg_saver_save(r.saver, 1));
    EG_SCOPE {
        eg_tape tape = eg_tape_open();
        eg_module_forward(r.net, eg_ones(EG_SHAPE(4, 2), EG_F32));
        EGT_REFUSED(eg_saver_restore(r.saver, NULL), EG_ESTATE, "net/0");
        EGT_OK(eg_saver_save(r.saver, 2));
        EGT_OK(eg_tape_close(tape));
    }
    EGT_OK(eg_saver_restore(r.saver, NULL));
    stop(&r);
}

static eg_tensors *no_state(void *user)
{
    (void)user;
    return NULL;
}

EGT(refusals)
{
    int64_t n = 0;
    char longest[102];
    memset(longest, 'x', 101);
    longest[101] = 0;
    eg_saver *s = eg_saver_new(egt_folder());
    EGT_REFUSED(eg_saver_new(NULL), EG_EINVAL, "folder");
    EGT_REFUSED(eg_saver_new(""), EG_EINVAL, "empty");
    EGT_REFUSED(eg_saver_new(egt_folder(), .keep = -1), EG_EINVAL, "-1");
    EGT_REFUSED(eg_saver_number(s, longest, &n), EG_EINVAL, "xxx");
    EGT_OK(eg_saver_number(s, longest + 1, &n));
    const char *bad[] = {"", "a/b", "random", "checksums", "score", "__metadata__", "\xff", longest + 1};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        EGT_REFUSED(eg_saver_number(s, bad[i], &n), EG_EINVAL, "part");
    }
    EGT_REFUSED(eg_saver_number(s, "n", NULL), EG_EINVAL, "part");
    EGT_REFUSED(eg_saver_number(s, NULL, &n), EG_EINVAL, "name");
    EGT_REFUSED(eg_saver_number(NULL, "n", &n), EG_EINVAL, "s is NULL");
    EGT_REFUSED(eg_saver_module(s, "n", NULL), EG_EINVAL, "part");
    EGT_REFUSED(eg_saver_tensor(s, "n", NULL), EG_EINVAL, "part");
    EGT_REFUSED(eg_saver_add(s, "n", NULL), EG_EINVAL, "part");
    EGT_REFUSED(eg_saver_add(s, "n", &(eg_saver_part){.size = sizeof(eg_saver_part)}), EG_EINVAL, "state");
    EGT_REFUSED(eg_saver_save(s, -1), EG_EINVAL, "-1");
    EGT_REFUSED(eg_saver_save(NULL, 1), EG_EINVAL, "s is NULL");
    EGT_REFUSED(eg_saver_save_best(s, -1, 0), EG_EINVAL, "-1");
    EGT_REFUSED(eg_saver_restore(NULL, NULL), EG_EINVAL, "s is NULL");
    EGT_REFUSED(eg_saver_restore_from(s, NULL, NULL), EG_EINVAL, "path");
    pair p;
    EGT_OK(eg_saver_add(s, "silent", &(eg_saver_part){sizeof(eg_saver_part), no_state, pair_load, &p}));
    EGT_REFUSED(eg_saver_save(s, 1), EG_EUSER, "silent");
    eg_saver_free(s);
    eg_saver_free(NULL);
    EGT_EQ(egt_files(""), 0);
}

/* ---- without memory -------------------------------------------------------------------------- */

EGT(without_memory)
{
    run r;
    start(&r, 3, (eg_saver_options){0});
    EGT_OK(eg_saver_save(r.saver, 1));
    r.epoch = 9;
    char first[200];
    snprintf(first, sizeof first, "%s", eg_saver_path(r.saver));
    for (int what = 0; what < 3; what++) {
        double before = fingerprint(&r);
        bool done = false;
        for (int64_t n = 1; !done && n < 2000; n++) {
            eg_debug_fail_alloc(n);
            eg_saver *s = what == 2 ? eg_saver_new(egt_folder()) : NULL;
            eg_status st = what == 0   ? eg_saver_save(r.saver, 2)
                           : what == 1 ? eg_saver_restore_from(r.saver, first, NULL)
                           : s         ? EG_OK
                                       : eg_last_error()->code;
            eg_debug_fail_alloc(0);
            eg_saver_free(s);
            done = st == EG_OK;
            EGT_CHECK(done || egt_said(EG_ENOMEM, ""));
            EGT_CHECK(fingerprint(&r) == before || (done && what == 1));
            EGT_EQ(egt_files(""), 1 + (what > 0 || done));
        }
        EGT_CHECK(done);
    }
    EGT_EQ(r.epoch, 3);
    stop(&r);
}

/* Too little memory is no damage: the latest checkpoint is not passed over. */
EGT(no_falling_back_without_memory)
{
    run r;
    start(&r, 3, (eg_saver_options){0});
    EGT_OK(eg_saver_save(r.saver, 1));
    EGT_OK(eg_saver_save(r.saver, 2));
    int64_t step = 0;
    for (int64_t n = 1; !step && n < 2000; n++) {
        eg_debug_fail_alloc(n);
        eg_status st = eg_saver_restore(r.saver, &step, .fall_back = true);
        eg_debug_fail_alloc(0);
        EGT_CHECK(st == EG_OK || egt_said(EG_ENOMEM, ""));
    }
    EGT_EQ(step, 2);
    eg_clear_error(); /* pair_state may have failed in silence */
    stop(&r);
}
