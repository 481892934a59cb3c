/* test_torch_files.c - files of PyTorch's: what it read from them itself, views of them, and what is refused. The files
 * are of golden/torch_files.py. */
#include "tests/egt.h"

#include <egret/io.h>

static const char *golden(const char *name, const char *ending)
{
    static char path[2][128];
    static int turn;
    turn = !turn;
    snprintf(path[turn], sizeof path[turn], "tests/golden/torch_files/%s%s", name, ending);
    return path[turn];
}

/* Tensors and texts of one are in the other and the same. */
static void check_inside(const eg_tensors *a, const eg_tensors *b)
{
    for (int64_t i = 0; i < eg_tensors_count(a); i++) {
        const char *name = eg_tensors_name(a, i);
        const eg_tensor *x = eg_tensors_at(a, i), *y = eg_tensors_get(b, name);
        if (!x || !y || egt_distance(x, y) != 0) {
            egt_fail(__FILE__, __LINE__, "\"%s\" differs: %s", name, eg_last_error()->message);
        }
        const eg_tensor_about about = eg_tensors_about(a, i);
        const eg_shape shape = eg_shape_of(x);
        EGT_EQ(about.dtype, eg_dtype_of(x));
        EGT_EQ(about.shape.ndim, shape.ndim);
        EGT_CHECK(!memcmp(about.shape.dim, shape.dim, (size_t)shape.ndim * sizeof *shape.dim));
    }
    for (int64_t i = 0; i < eg_tensors_text_count(a); i++) {
        const char *key = eg_tensors_text_key(a, i), *text = eg_tensors_text(b, key);
        if (!text || strcmp(text, eg_tensors_text(a, key))) {
            egt_fail(__FILE__, __LINE__, "\"%s\" is \"%s\" and \"%s\"", key, eg_tensors_text(a, key),
                     text ? text : "(none)");
        }
    }
}

static void check_file(const char *name, const char *ending, const char *expected)
{
    snprintf(egt_case, sizeof egt_case, "%s%s", name, ending);
    eg_tensors *want = eg_tensors_open(golden(expected, ".safetensors"));
    EGT_CHECK(want);
    for (int copy = 0; copy < 2; copy++) {
        eg_tensors *have = eg_tensors_open(golden(name, ending), .copy = copy);
        if (!have) {
            egt_fail(__FILE__, __LINE__, "%s", eg_last_error()->message);
        }
        EGT_STR(eg_tensors_format(have), "pt");
        check_inside(want, have);
        check_inside(have, want);
        eg_tensors_free(have);
    }
    eg_tensors_free(want);
}

EGT(values_are_those_that_pytorch_reads)
{
    static const char *const names[] = {"dtypes",      "new_dtypes", "views",  "checkpoint",
                                        "checkpoint5", "parameters", "tensor", "list"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        check_file(names[i], ".pt", names[i]);
        check_file(names[i], ".legacy.pt", names[i]);
    }
}

EGT(packed_archives_are_unpacked)
{
    eg_tensors *m = eg_tensors_open(golden("packed", ".pt"));
    egt_need(m, "zlib");
    eg_tensors_free(m);
    check_file("packed", ".pt", "views");
    EGT_OK(eg_unpack_limit(600));
    EGT_REFUSED(eg_tensors_open(golden("packed", ".pt")), EG_EFORMAT, "eg_unpack_limit");
    EGT_OK(eg_unpack_limit(0));
}

/* A part of a storage lies in the mapped file as the tensor does, whatever its strides. */
EGT(tensors_are_views_of_the_file)
{
    eg_tensors *m = eg_tensors_open(golden("views", ".pt"));
    EGT_CHECK(m);
    eg_tensor *sliced = eg_tensors_get(m, "sliced"), *transposed = eg_tensors_get(m, "transposed");
    EGT_EQ(eg_stride(sliced, 0), 20);
    EGT_EQ(eg_stride(sliced, 1), 10);
    EGT_EQ(eg_stride(transposed, 0), 1);
    EGT_EQ(eg_stride(eg_tensors_get(m, "expanded"), 2), 0);
    /* Both are in one storage, and so in one place. */
    const char *base = eg_data(eg_tensors_get(m, "base")), *row = eg_data(eg_tensors_get(m, "row"));
    EGT_EQ(row - base, 45 * 4);
    eg_tensor *kept = eg_keep(sliced);
    eg_tensors_free(m);
    EGT_EQ(eg_get(kept, 0), 21);
    eg_release(kept);
}

EGT(plain_values_are_texts)
{
    eg_tensors *m = eg_tensors_open(golden("checkpoint", ".pt"));
    EGT_CHECK(m);
    EGT_STR(eg_tensors_text(m, "epoch"), "12");
    EGT_STR(eg_tensors_text(m, "best"), "0.30000000000000004");
    EGT_STR(eg_tensors_text(m, "device"), "cuda:1");
    EGT_STR(eg_tensors_text(m, "dtype"), "torch.bfloat16");
    EGT_STR(eg_tensors_text(m, "optimizer.param_groups.0.betas.1"), "0.999");
    EGT_STR(eg_tensors_text(m, "5.1.1"), "x");
    EGT_CHECK(!eg_tensors_text(m, "raw") && !eg_tensors_text(m, "big"));
    EGT_CHECK(eg_tensors_has(m, "optimizer.state.0.exp_avg") && eg_tensors_has(m, "model.norm.running_mean"));
    eg_tensors_free(m);
}

EGT(what_would_have_to_be_run_is_refused_or_left_out_by_name)
{
    static const struct {
        const char *name, *word;
    } refused[] = {{"module.pt", "torch.nn.modules.linear.Linear"}, {"script.pt", "TorchScript"}},
      skipped[] = {{"class.pt", "left out: __main__.Whatever, which is not among the values that are read"},
                   {"quantized.pt", "left out: torch._utils._rebuild_qtensor, which is not"},
                   {"quantized.legacy.pt", "left out: torch._utils._rebuild_qtensor, which is not"},
                   {"sparse.pt", "left out: torch._utils._rebuild_sparse_tensor, which is not"},
                   {"sparse.legacy.pt", "left out: torch._utils._rebuild_sparse_tensor, which is not"},
                   {"meta.pt", "left out: torch._utils._rebuild_meta_tensor_no_storage, which is not"},
                   {"conjugated.pt", "left out: a tensor that is to be conjugated or negated"},
                   {"conjugated.legacy.pt", "left out: a tensor that is to be conjugated or negated"}};
    for (size_t i = 0; i < sizeof skipped / sizeof *skipped; i++) {
        snprintf(egt_case, sizeof egt_case, "left out %s", skipped[i].name);
        eg_tensors *m = eg_tensors_open(golden(skipped[i].name, ""));
        EGT_CHECK(m && eg_tensors_count(m) == 0 && eg_tensors_text_count(m) == 1);
        EGT_STR(eg_tensors_text_key(m, 0), i ? "x" : "args");
        EGT_CHECK(!strncmp(eg_tensors_text(m, i ? "x" : "args"), skipped[i].word, strlen(skipped[i].word)));
        eg_tensors_free(m);
    }
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        snprintf(egt_case, sizeof egt_case, "refused %s", refused[i].name);
        EGT_REFUSED(eg_tensors_open(golden(refused[i].name, "")), EG_EFORMAT, refused[i].word);
    }
    EGT_REFUSED(eg_tensors_parse("\x80\x02}.", 4, .format = "pt"), EG_EFORMAT, "neither");
    EGT_REFUSED(eg_tensors_save(NULL, "x.pt"), EG_EINVAL, "map");
}

/* ---- pickles that lie, in the older form ---------------------------------------------------------- */

#define MAGIC   "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."
#define VERSION "\x80\x02M\xe9\x03."
#define MACHINE "\x80\x02}\x8c\x0dlittle_endian\x88s."
#define STORAGE                                      \
    "(\x8c\x07storagectorch\nFloatStorage\n\x8c\x01" \
    "0\x8c\x03"                                      \
    "cpuK\x02tQ"

static eg_tensors *parse(const char *values, size_t n, const char *tail, size_t ntail)
{
    static const char head[] = MAGIC VERSION MACHINE;
    char *b = malloc(sizeof head + n + ntail);
    memcpy(b, head, sizeof head - 1);
    memcpy(b + sizeof head - 1, values, n);
    memcpy(b + sizeof head - 1 + n, tail, ntail);
    eg_tensors *m = eg_tensors_parse(b, sizeof head - 1 + n + ntail);
    free(b);
    return m;
}

#define PARSE(values, tail) parse(values, sizeof(values) - 1, tail, sizeof(tail) - 1)
#define V2(sizes) \
    "\x80\x02"    \
    "ctorch._utils\n_rebuild_tensor_v2\n(" STORAGE sizes "\x89}tR."
#define KEYS    \
    "]\x8c\x01" \
    "0a."
#define DATA "\x02\0\0\0\0\0\0\0\0\0\x80?\0\0\0@"

EGT(pickles_made_by_hand)
{
    eg_tensors *m = PARSE(V2("K\0K\x02\x85K\x01\x85"), KEYS DATA);
    EGT_CHECK(m);
    EGT_EQ(eg_get(eg_tensors_get(m, "tensor"), 1), 2);
    eg_tensors_free(m);
    EGT_REFUSED(PARSE(V2("K\0K\x03\x85K\x01\x85"), KEYS DATA), EG_EFORMAT, "leaves its storage");
    EGT_REFUSED(PARSE(V2("K\x01K\x02\x85K\x01\x85"), KEYS DATA), EG_EFORMAT, "leaves its storage");
    EGT_REFUSED(PARSE(V2("J\xff\xff\xff\xffK\x01\x85K\x01\x85"), KEYS DATA), EG_EFORMAT, "leaves its storage");
    EGT_REFUSED(PARSE(V2("K\0J\xff\xff\xff\xff\x85K\x01\x85"), KEYS DATA), EG_EFORMAT, "cannot be");
    EGT_REFUSED(PARSE(V2("K\0J\0\0\0\x10\x85K\0\x85"), KEYS DATA), EG_EFORMAT, "expanded");
    EGT_REFUSED(PARSE(V2("K\0(\x8a\x08\0\0\0\0\0\0\0\x40\x8a\x08\0\0\0\0\0\0\0\x40tK\0K\0\x86"), KEYS DATA), EG_EFORMAT,
                "cannot be");
    EGT_REFUSED(PARSE(V2("K\0K\x02\x85K\x01\x85"), KEYS), EG_EFORMAT, "ends");
    EGT_REFUSED(PARSE(V2("K\0K\x02\x85K\x01\x85"), "]." DATA), EG_EFORMAT, "missing");
    EGT_REFUSED(PARSE(V2("K\0K\x02\x85K\x01\x85"), "](\x8c\x01"
                                                   "0\x8c\x01"
                                                   "0e." DATA DATA),
                EG_EFORMAT, "twice");
    EGT_REFUSED(PARSE(V2("K\0K\x02\x85K\x01\x85"), "]\x8c\x01"
                                                   "1a." DATA),
                EG_EFORMAT, "no tensor");
    EGT_REFUSED(PARSE(V2("K\0K\x02\x85K\x01\x85"), KEYS "\x01\0\0\0\0\0\0\0\0\0\x80?"), EG_EFORMAT, "other sizes");
    EGT_REFUSED(PARSE(V2("K\0K\x02\x85K\x01\x85"), KEYS "\xff\xff\xff\xff\xff\xff\xff\x7f"), EG_EFORMAT, "elements");
    EGT_REFUSED(PARSE("\x80\x02"
                      "cposix\nsystem\n\x8c\x04true\x85R.",
                      "]."),
                EG_EFORMAT, "posix.system");
    EGT_REFUSED(PARSE("\x80\x04\x8c\x05posix\x8c\x06system\x93.", "]."), EG_EFORMAT, "posix.system");
    EGT_REFUSED(PARSE("\x80\x02}\x8c\x01"
                      "as.",
                      "]."),
                EG_EFORMAT, "stack");
    EGT_REFUSED(PARSE("\x80\x06}.", "]."), EG_EFORMAT, "protocol 6");
    EGT_REFUSED(PARSE("\x80\x02}r\xff\xff\xff\xff.", "]."), EG_EFORMAT, "memo");
    EGT_REFUSED(PARSE("\x80\x02h\0.", "]."), EG_EFORMAT, "memo");
    EGT_REFUSED(PARSE("\x80\x02X\xff\xff\xff\xff"
                      "a.",
                      "]."),
                EG_EFORMAT, "4294967295");
    EGT_REFUSED(PARSE("\x80\x02}q\0\x8c\x01"
                      "ah\0s.",
                      "]."),
                EG_EFORMAT, "holds itself");
    EGT_REFUSED(PARSE("\x80\x02]q\0h\0"
                      "a.",
                      "]."),
                EG_EFORMAT, "holds itself");
    EGT_REFUSED(PARSE("\x80\x02i.", "]."), EG_EFORMAT, "0x69");
    EGT_REFUSED(PARSE("\x80\x02K\1K\2.", "]."), EG_EFORMAT, "2 values");
    EGT_REFUSED(PARSE("\x80\x02(K\1.", "]."), EG_EFORMAT, "1 values");
}

/* Lists of two times the list before: names without end, unless they are counted. */
EGT(shared_lists_do_not_become_very_many)
{
    char b[1000] = "\x80\x02K\1q\0";
    size_t n = 6;
    for (int i = 0; i < 60; i++) {
        const char level[] = {'0', ']', 'q', (char)(i + 1), '(', 'h', (char)i, 'h', (char)i, 'e'};
        memcpy(b + n, level, sizeof level);
        n += sizeof level;
    }
    b[n++] = '.';
    EGT_REFUSED(parse(b, n, "].", 2), EG_EFORMAT, "more names");
    /* One inside the other, and too many of that. */
    n = 2;
    memset(b + n, ']', 200);
    memset(b + n + 200, 'a', 199);
    b[n + 399] = '.';
    EGT_REFUSED(parse(b, n + 400, "].", 2), EG_EFORMAT, "deep");
}

static bool open_and_read(void *user)
{
    eg_tensors *m = eg_tensors_open(user);
    bool all = m != NULL;
    for (int64_t i = 0; all && i < eg_tensors_count(m); i++) {
        all = eg_tensors_at(m, i) != NULL;
    }
    eg_tensors_free(m);
    return all;
}

EGT(any_allocation_may_fail)
{
    EGT_CHECK(egt_fail_allocations(open_and_read, (char *)golden("parameters", ".pt")) > 20);
    EGT_CHECK(egt_fail_allocations(open_and_read, (char *)golden("views", ".legacy.pt")) > 20);
    egt_fail_allocations(open_and_read, (char *)golden("packed", ".pt"));
}
