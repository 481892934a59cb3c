/* ops_table.c - prints docs/ops.md from the op table. `ops_table FILE` compares instead: exit status 1 and a
 * word on what to do if the file is not what the table says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <egret/egret.h>

typedef struct text {
    char *data;
    size_t used, size;
} text;

static void add(text *t, const char *s)
{
    size_t n = strlen(s);
    if (t->used + n + 1 > t->size) {
        t->size = 2 * t->size + n + 4096;
        t->data = realloc(t->data, t->size);
        if (!t->data) {
            fprintf(stderr, "ops_table: out of memory\n");
            exit(1);
        }
    }
    memcpy(t->data + t->used, s, n + 1);
    t->used += n;
}

static bool ends_in_grad(const char *name)
{
    size_t n = strlen(name);
    return n > 5 && !strcmp(name + n - 5, "_grad");
}

/* "f32 f64 f16 bf16" as "float", and so on, where a whole family is in the mask. */
static void add_dtypes(text *t, unsigned mask)
{
    static const struct {
        unsigned mask;
        const char *words;
    } families[] = {
        {1u << EG_F32 | 1u << EG_F64 | 1u << EG_F16 | 1u << EG_BF16, "float"},
        {1u << EG_I64 | 1u << EG_I32 | 1u << EG_U8, "integer"},
    };
    const char *between = "";
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        if ((mask & families[i].mask) == families[i].mask) {
            add(t, between);
            add(t, families[i].words);
            between = ", ";
            mask &= ~families[i].mask;
        }
    }
    for (int d = 0; d < EG_DTYPE_COUNT; d++) {
        if (mask >> d & 1) {
            add(t, between);
            add(t, eg_dtype_name((eg_dtype)d));
            between = ", ";
        }
    }
}

/* What the engine lists; one need not be there to be described. */
static bool on_cuda(const eg_op_info *op)
{
    static const char *const kernels[] = {
#define EG_KERNEL(name) #name,
#include "lib/cuda/kernels.def"
#undef EG_KERNEL
    };
    bool found = !strcmp(op->kind, "view");
    for (size_t i = 0; !found && i < sizeof kernels / sizeof *kernels; i++) {
        found = !strcmp(kernels[i], op->name);
    }
    return found;
}

static void add_row(const eg_op_info *op, void *user)
{
    text *t = user;
    char counts[64];
    if (!strcmp(op->kind, "pointwise") && ends_in_grad(op->name)) {
        return; /* the fused derivative of the row above it */
    }
    snprintf(counts, sizeof counts, op->min_inputs == op->max_inputs ? "%d" : "%d to %d", op->min_inputs,
             op->max_inputs);
    add(t, "| `");
    add(t, op->name);
    add(t, "` | ");
    add(t, op->kind);
    add(t, " | ");
    add(t, counts);
    snprintf(counts, sizeof counts, " | %d | ", op->outputs);
    add(t, counts);
    add_dtypes(t, op->dtypes);
    add(t, op->strided ? " | any strides" : " | made contiguous");
    add(t, !strcmp(op->kind, "view") ? " | no kernel" : op->tuned ? " | reference, tuned" : " | reference");
    add(t, on_cuda(op) ? " | yes" : " | ");
    add(t, op->differentiable ? " | yes | " : " | | ");
    add(t, op->autocast);
    add(t, *op->autocast ? " |\n" : "|\n");
}

static void count_row(const eg_op_info *op, void *user)
{
    int *count = user;
    *count += !(!strcmp(op->kind, "pointwise") && ends_in_grad(op->name));
}

static int compare(const text *t, const char *file)
{
    FILE *f = fopen(file, "rb");
    char *have = calloc(1, t->used + 2);
    size_t n = f && have ? fread(have, 1, t->used + 1, f) : 0;
    bool same = n == t->used && !memcmp(have, t->data, n);
    if (f) {
        fclose(f);
    }
    free(have);
    if (!same) {
        printf("%s is not what the op table says: write it anew with this program's output\n", file);
    }
    printf("%d passed, %d failed, 0 skipped\n", same, !same);
    return !same;
}

int main(int argc, char **argv)
{
    text t = {NULL, 0, 0};
    char line[200];
    int count = 0;
    eg_op_walk(count_row, &count);
    add(&t, "# Operations\n\nMade from the op table; what each does is in `include/egret/ops/`. Functions "
            "that are not\nhere are compositions of these. Dtypes are those an op computes in: others "
            "are promoted\nfirst where the header says so, f16 and bf16 compute in f32. Under `eg_autocast` ops "
            "marked low take\nf32 and halves in its dtype, those marked f32 take halves as f32.\n\n");
    snprintf(line, sizeof line, "%d rows.\n\n", count);
    add(&t, line);
    add(&t, "| op | kind | inputs | outputs | dtypes | layouts | CPU engines | CUDA | gradient | autocast |\n"
            "|---|---|---|---|---|---|---|---|---|---|\n");
    eg_op_walk(add_row, &t);
    int status = argc > 1 ? compare(&t, argv[1]) : fputs(t.data, stdout) < 0;
    free(t.data);
    return status;
}
