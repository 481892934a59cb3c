/* test_open.c - files of others, opened: what is read when, what elements become, what is written in pieces. */
#define _POSIX_C_SOURCE 200809L
#include "tests/egt.h"

#include <math.h>
#include <unistd.h>

#include <egret/io.h>

static void equal_maps(const eg_tensors *a, const eg_tensors *b)
{
    EGT_EQ(eg_tensors_count(a), eg_tensors_count(b));
    for (int64_t i = 0; i < eg_tensors_count(a); i++) {
        const eg_tensor *there = eg_tensors_get(b, eg_tensors_name(a, i));
        EGT_EQ(eg_dtype_of(there), eg_dtype_of(eg_tensors_at(a, i)));
        EGT_EQ(egt_distance(there, eg_tensors_at(a, i)), 0);
    }
}

static eg_tensors *sample(void)
{
    eg_tensors *m = eg_tensors_new();
    eg_scope s = eg_scope_push();
    eg_tensors_set_text(m, "format", "pt");
    eg_tensors_set(m, "flag", eg_from_values(EG_SHAPE(3), EG_BOOL, (double[]){1, 0, 1}));
    eg_tensors_set(m, "half", egt_random(EG_SHAPE(2, 3), EG_F16, -1, 1));
    eg_tensors_set(m, "w.weight", eg_transpose(egt_random(EG_SHAPE(30, 40), EG_F32, -1, 1), 0, 1));
    eg_tensors_set(m, "d", egt_random(EG_SHAPE(2, 1, 2), EG_F64, -1, 1));
    eg_tensors_set(m, "i", egt_random(EG_SHAPE(400), EG_I64, -9e15, 9e15));
    eg_tensors_set(m, "none", eg_zeros(EG_SHAPE(0, 3), EG_F32));
    eg_tensors_set(m, "scalar", eg_scalar(2.5, EG_F32));
    eg_scope_pop(s, NULL);
    return m;
}

EGT(tensors_are_views_of_the_file_until_they_are_written_to)
{
    const char *path = egt_path("open.safetensors");
    eg_tensors *m = sample();
    EGT_OK(eg_tensors_save(m, path));
    eg_tensors *a = eg_tensors_open(path), *b = eg_tensors_open(path, .copy = true);
    EGT_STR(eg_tensors_format(a), "safetensors");
    EGT_CHECK(!eg_tensors_format(m));
    EGT_STR(eg_tensors_name(a, 0), "d"); /* the widest first */
    EGT_STR(eg_tensors_about(a, 0).stored, "F64");
    EGT_EQ(eg_tensors_about(a, 0).bytes, 32);
    EGT_EQ(eg_tensors_about(a, 0).shape.ndim, 3);
    EGT_REFUSED(eg_tensors_about(a, 7).stored, EG_EINDEX, "7");
    equal_maps(m, a);
    equal_maps(m, b);
    EGT_STR(eg_tensors_text(a, "format"), "pt");
    eg_tensor *w = eg_tensors_get(a, "w.weight");
    EGT_CHECK(w == eg_tensors_get(a, "w.weight"));
    EGT_OK(eg_set(w, 0, 77));
    EGT_OK(eg_tensors_set(a, "d", eg_tensors_get(m, "scalar")));
    EGT_EQ(eg_tensors_about(a, 0).shape.ndim, 0);
    eg_tensors *c = eg_tensors_open(path);
    equal_maps(m, c);
    /* Tensors keep the file, which may be gone, not the map. */
    eg_tensor *kept = eg_keep(eg_tensors_get(c, "i"));
    eg_tensors_free(c);
    unlink(path);
    EGT_EQ(egt_distance(kept, eg_tensors_get(m, "i")), 0);
    eg_release(kept);
    eg_tensors_free(a);
    eg_tensors_free(b);
    eg_tensors_free(m);
}

EGT(shards_come_back_as_one)
{
    const char *index = egt_path("big.safetensors.index.json");
    eg_tensors *m = sample();
    EGT_OK(eg_tensors_save(m, index, .shard_bytes = 4000));
    eg_tensors *back = eg_tensors_open(index);
    EGT_STR(eg_tensors_format(back), "safetensors-index");
    equal_maps(m, back);
    EGT_STR(eg_tensors_text(back, "format"), "pt");
    /* w.weight has more than a shard's bytes and so one of its own. */
    eg_tensors *one = eg_tensors_open(egt_path("big-00002-of-00003.safetensors"));
    EGT_EQ(eg_tensors_count(one), 1);
    EGT_STR(eg_tensors_name(one, 0), "w.weight");
    eg_tensors_free(one);
    eg_tensors_free(back);
    unlink(egt_path("big-00003-of-00003.safetensors"));
    EGT_REFUSED(eg_tensors_open(index), EG_EIO, "00003-of-00003");
    EGT_REFUSED(eg_tensors_save(m, index, .shard_bytes = -1), EG_EINVAL, "shard_bytes");
    EGT_REFUSED(eg_tensors_save(m, egt_path("x.bin")), EG_EINVAL, "ending");
    EGT_REFUSED(eg_tensors_save(m, egt_path("x.bin"), .format = "xml"), EG_EINVAL, "safetensors");
    eg_tensors_free(m);
}
