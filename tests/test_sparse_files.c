/* test_sparse_files.c - files from which zeros are left out. */
#include "tests/egt.h"

enum { N = 1000 };

/* A tensor of which every tenth element is not zero, one of them a zero below zero. */
static eg_tensor *thin(eg_dtype dtype)
{
    eg_tensor *t = eg_zeros(EG_SHAPE(10, 4, 5, 5), dtype);
    for (int i = 3; i < N; i += 10) {
        EGT_OK(eg_set(t, i, i == 13 ? -0.0 : 0.5 + i % 7));
    }
    return t;
}

/* Tensors with zeros of all floats, and others. */
static eg_tensors *some(void)
{
    eg_tensors *map = eg_tensors_new();
    EGT_OK(eg_tensors_set(map, "f64", thin(EG_F64)));
    EGT_OK(eg_tensors_set(map, "whole", egt_random(EG_SHAPE(7, 9), EG_F32, 1, 2)));
    EGT_OK(eg_tensors_set(map, "f32.weight", eg_transpose(thin(EG_F32), 0, 2)));
    EGT_OK(eg_tensors_set(map, "f16", thin(EG_F16)));
    EGT_OK(eg_tensors_set(map, "bf16", thin(EG_BF16)));
    EGT_OK(eg_tensors_set(map, "ids", eg_zeros(EG_SHAPE(50), EG_I64)));
    EGT_OK(eg_tensors_set(map, "none", eg_zeros(EG_SHAPE(0, 3), EG_F32)));
    EGT_OK(eg_tensors_set(map, "one", eg_zeros((eg_shape){0}, EG_F32)));
    EGT_OK(eg_tensors_set(map, "all zero", eg_zeros(EG_SHAPE(123), EG_F32)));
    EGT_OK(eg_tensors_set(map, "taken", thin(EG_F32)));
    EGT_OK(eg_tensors_set(map, "taken.places", egt_random(EG_SHAPE(2), EG_F32, 1, 2)));
    EGT_OK(eg_tensors_set_text(map, "who", "we"));
    return map;
}

static void same(const eg_tensors *a, const eg_tensors *b)
{
    EGT_CHECK(b);
    EGT_EQ(eg_tensors_count(a), eg_tensors_count(b));
    for (int64_t i = 0; i < eg_tensors_count(a); i++) {
        eg_tensor *t = eg_tensors_at(a, i), *u = eg_tensors_get(b, eg_tensors_name(a, i));
        EGT_CHECK(u && egt_distance(t, u) == 0 && egt_same_bits(eg_contiguous(t), u));
    }
    EGT_EQ(eg_tensors_text_count(b), 1);
    EGT_STR(eg_tensors_text(b, "who"), "we");
}

EGT(come_back_to_the_bit)
{
    eg_tensors *map = some();
    const char *path = egt_path("thin.safetensors");
    EGT_OK(eg_tensors_save(map, path, .sparse = true));
    size_t bytes;
    char *file = egt_read(path, &bytes);
    eg_tensors *from[] = {eg_tensors_open(path), eg_tensors_open(path, .copy = true), eg_safetensors_load(path),
                          eg_tensors_parse(file, bytes), eg_safetensors_parse(file, bytes)};
    for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
        same(map, from[i]);
        eg_tensors_free(from[i]);
    }
    free(file);
    EGT_OK(eg_tensors_save(map, egt_path("shards.safetensors"), .sparse = true, .shard_bytes = 500));
    eg_tensors *shards = eg_tensors_open(egt_path("shards.safetensors.index.json"));
    same(map, shards);
    eg_tensors_free(shards);
    eg_tensors_free(map);
}

EGT(what_is_said_before_it_is_read)
{
    eg_tensors *map = some();
    EGT_OK(eg_tensors_save(map, egt_path("thin.safetensors"), .sparse = true));
    eg_tensors *back = eg_tensors_open(egt_path("thin.safetensors"));
    EGT_STR(eg_tensors_format(back), "safetensors");
    for (int64_t i = 0; i < eg_tensors_count(back); i++) {
        const eg_tensor_about about = eg_tensors_about(back, i);
        if (!strcmp(eg_tensors_name(back, i), "f16")) {
            EGT_EQ(about.dtype, EG_F16);
            EGT_STR(about.stored, "F16");
            EGT_EQ(about.bytes, 100 * 2 + 125);
            EGT_EQ(about.shape.ndim, 4);
        }
    }
    eg_tensors_free(back);
    eg_tensors_free(map);
}

static int64_t size_of(const char *path)
{
    size_t n;
    free(egt_read(path, &n));
    return (int64_t)n;
}

EGT(a_tenth_takes_an_eighth)
{
    eg_tensors *map = eg_tensors_new();
    eg_tensor *t = egt_random(EG_SHAPE(300, 500), EG_F32, 1, 2);
    EGT_OK(eg_prune(((eg_parameters){&t, NULL, 1}), .density = 0.1));
    EGT_OK(eg_tensors_set(map, "t", t));
    EGT_OK(eg_tensors_save(map, egt_path("thin.safetensors"), .sparse = true));
    EGT_OK(eg_tensors_save(map, egt_path("thick.safetensors")));
    EGT_NEAR((double)size_of(egt_path("thin.safetensors")) / (double)size_of(egt_path("thick.safetensors")),
             0.1 + 1 / 32.0, 1e-3);
    eg_tensors_free(map);
}

EGT(other_formats_have_no_such_thing)
{
    eg_tensors *map = some();
    EGT_REFUSED(eg_tensors_save(map, egt_path("thin.gguf"), .sparse = true), EG_EINVAL, "left out of safetensors");
    EGT_OK(eg_tensors_set_text(map, "egret.sparse/x", "1"));
    EGT_REFUSED(eg_tensors_save(map, egt_path("thin.safetensors"), .sparse = true), EG_EINVAL, "egret.sparse/x");
    eg_tensors_free(map);
}

/* ---- what does not hold together ------------------------------------------------------------- */

/* Of a file with these parts. */
static void broken(const char *text, int nonzero, eg_dtype dtype, int places, uint8_t bits, const char *word)
{
    eg_tensors *map = eg_tensors_new();
    const char *path = egt_path("broken.safetensors");
    if (nonzero >= 0) {
        EGT_OK(eg_tensors_set(map, "w.nonzero", eg_ones(EG_SHAPE(nonzero), dtype)));
    }
    if (places >= 0) {
        EGT_OK(eg_tensors_set(map, "w.places", eg_full(EG_SHAPE(places), bits, EG_U8)));
    }
    EGT_OK(eg_tensors_set_text(map, "egret.sparse/w", text));
    EGT_OK(eg_tensors_save(map, path));
    eg_tensors *back = eg_tensors_open(path);
    if (back) { /* then the tensor shows it */
        EGT_REFUSED(eg_tensors_get(back, "w"), EG_EFORMAT, word);
        eg_tensors_free(back);
    }
    EGT_REFUSED(eg_safetensors_load(path), EG_EFORMAT, word);
    eg_tensors_free(map);
}

EGT(files_that_do_not_hold_together)
{
    broken("2 4", 3, EG_F32, 1, 0x0f, "differ");
    broken("2 4", 5, EG_F32, 1, 0x0f, "differ");
    broken("5", 4, EG_F32, 1, 0xf0, "differ"); /* beyond its end */
    broken("2 4", -1, EG_F32, 1, 0x0f, "no elements");
    broken("2 4", 4, EG_F32, -1, 0x0f, "no places");
    broken("2 5", 4, EG_F32, 1, 0x0f, "do not fit");
    broken("2 -4", 4, EG_F32, 1, 0x0f, "do not fit");
    broken("2 x", 4, EG_F32, 1, 0x0f, "do not fit");
    broken("1 1 1 1 1 1 1 1 8", 4, EG_F32, 1, 0x0f, "do not fit");
    broken("4294967296 4294967296", 4, EG_F32, 1, 0x0f, "do not fit");
    broken("3", 4, EG_F32, 1, 0x0f, "do not fit");
}

EGT(parts_beside_what_they_are_parts_of)
{
    eg_tensors *map = eg_tensors_new();
    EGT_OK(eg_tensors_set(map, "w.nonzero", eg_ones(EG_SHAPE(4), EG_F32)));
    EGT_OK(eg_tensors_set(map, "w.places", eg_full(EG_SHAPE(1), 15, EG_U8)));
    EGT_OK(eg_tensors_set(map, "w", eg_ones(EG_SHAPE(4), EG_F32)));
    EGT_OK(eg_tensors_set_text(map, "egret.sparse/w", "8"));
    EGT_OK(eg_tensors_save(map, egt_path("both.safetensors")));
    EGT_REFUSED(eg_tensors_open(egt_path("both.safetensors")), EG_EFORMAT, "another tensor");
    eg_tensors_free(map);
}

/* A few bytes that would be many. */
EGT(no_more_than_may_be_unpacked)
{
    eg_tensors *map = eg_tensors_new();
    EGT_OK(eg_tensors_set(map, "w", eg_zeros(EG_SHAPE(4000), EG_F64)));
    EGT_OK(eg_tensors_save(map, egt_path("bomb.safetensors"), .sparse = true));
    EGT_OK(eg_unpack_limit(30000));
    EGT_REFUSED(eg_tensors_open(egt_path("bomb.safetensors")), EG_EFORMAT, "eg_unpack_limit");
    EGT_OK(eg_unpack_limit(0));
    eg_tensors_free(map);
}

static bool write_and_read(void *user)
{
    eg_tensors *back = NULL;
    const char *path = egt_path("memory.safetensors");
    if (!eg_tensors_save(user, path, .sparse = true)) {
        back = eg_safetensors_load(path);
    }
    eg_tensors_free(back);
    return back != NULL;
}

EGT(no_memory)
{
    eg_tensors *map = some();
    EGT_CHECK(egt_fail_allocations(write_and_read, map) > 20);
    eg_tensors_free(map);
}
