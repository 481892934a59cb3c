/* test_cudnn_plans.c - NVIDIA's own cuDNN, which needs no card for it, builds plans of what the
 * module draws, for cards that are recorded in cards.h. What it does not take is listed here.
 * Skipped where it is not, and where it is older than the calls this takes. */
#include <stdlib.h>

#include <egret/precision.h>

#include "lib/cuda/attention/attention_dnn.h"
#include "lib/cuda/conv/conv_dnn.h"
#include "tests/cuda/cards.h"
#include "tests/egt.h"

/* ---- what stands in for the rest of the module ----------------------------------------------- */

eg_device *const *eg__host_devices;

/* ---- graphs ---------------------------------------------------------------------------------- */

/* One that the module can draw. */
typedef struct graph {
    char name[96];
    void (*draw)(eg__graph *g, const void *key);
    char key[EG__DNN_KEY];
    unsigned rules;
} graph;

/* A family calls `with` for each of its graphs. */
typedef void with_graph(const graph *g);

typedef struct shape {
    const char *name;
    eg__conv_key key; /* without dtype, result, out and alignment */
} shape;

static const shape shapes[] = {
    {"3x3",
     {.g = {.n = 8,
            .c = 64,
            .o = 128,
            .groups = 1,
            .in = {1, 56, 56},
            .k = {1, 3, 3},
            .stride = {1, 1, 1},
            .dilation = {1, 1, 1},
            .before = {0, 1, 1},
            .after = {0, 1, 1}},
      .axes = 2}},
    {"3x3 s2, more after",
     {.g = {.n = 8,
            .c = 64,
            .o = 128,
            .groups = 1,
            .in = {1, 56, 56},
            .k = {1, 3, 3},
            .stride = {1, 2, 2},
            .dilation = {1, 1, 1},
            .after = {0, 1, 1}},
      .axes = 2}},
    {"3x3 dilated",
     {.g = {.n = 8,
            .c = 64,
            .o = 64,
            .groups = 1,
            .in = {1, 28, 28},
            .k = {1, 3, 3},
            .stride = {1, 1, 1},
            .dilation = {1, 2, 2},
            .before = {0, 2, 2},
            .after = {0, 2, 2}},
      .axes = 2}},
    {"3x3 in 4 groups",
     {.g = {.n = 8,
            .c = 64,
            .o = 128,
            .groups = 4,
            .in = {1, 56, 56},
            .k = {1, 3, 3},
            .stride = {1, 1, 1},
            .dilation = {1, 1, 1},
            .before = {0, 1, 1},
            .after = {0, 1, 1}},
      .axes = 2}},
    {"7x7 s2 of 3",
     {.g = {.n = 8,
            .c = 3,
            .o = 64,
            .groups = 1,
            .in = {1, 224, 224},
            .k = {1, 7, 7},
            .stride = {1, 2, 2},
            .dilation = {1, 1, 1},
            .before = {0, 3, 3},
            .after = {0, 3, 3}},
      .axes = 2}},
    {"16x16 s16 of 3",
     {.g = {.n = 8,
            .c = 3,
            .o = 384,
            .groups = 1,
            .in = {1, 224, 224},
            .k = {1, 16, 16},
            .stride = {1, 16, 16},
            .dilation = {1, 1, 1}},
      .axes = 2}},
    {"5x5 of 1",
     {.g = {.n = 32,
            .c = 1,
            .o = 6,
            .groups = 1,
            .in = {1, 28, 28},
            .k = {1, 5, 5},
            .stride = {1, 1, 1},
            .dilation = {1, 1, 1},
            .before = {0, 2, 2},
            .after = {0, 2, 2}},
      .axes = 2}},
    {"3x2 of 5",
     {.g = {.n = 3,
            .c = 5,
            .o = 7,
            .groups = 1,
            .in = {1, 13, 17},
            .k = {1, 3, 2},
            .stride = {1, 1, 1},
            .dilation = {1, 1, 1},
            .before = {0, 1, 0},
            .after = {0, 1, 1}},
      .axes = 2}},
    {"5, 1-d",
     {.g = {.n = 8,
            .c = 32,
            .o = 48,
            .groups = 1,
            .in = {1, 1, 100},
            .k = {1, 1, 5},
            .stride = {1, 1, 1},
            .dilation = {1, 1, 1},
            .before = {0, 0, 4}},
      .axes = 2}},
    {"3x3x3",
     {.g = {.n = 2,
            .c = 32,
            .o = 48,
            .groups = 1,
            .in = {8, 20, 20},
            .k = {3, 3, 3},
            .stride = {1, 1, 1},
            .dilation = {1, 1, 1},
            .before = {1, 1, 1},
            .after = {1, 1, 1}},
      .axes = 3}},
};

static const struct number {
    const char *name;
    uint8_t dtype, math;
    int size;
} numbers[] = {
    {"f32", EG_F32, EG_MATH_DEFAULT, 4}, {"tf32", EG_F32, EG_MATH_TF32, 4},     {"f64", EG_F64, EG_MATH_DEFAULT, 8},
    {"f16", EG_F16, EG_MATH_DEFAULT, 2}, {"bf16", EG_BF16, EG_MATH_DEFAULT, 2},
};

/* align: of all tensors; 0: of new ones. */
static void conv_with(with_graph *with, const shape *s, const struct number *t, const char *what, int result, bool bias,
                      bool relu, int align)
{
    graph g = {.draw = eg__conv_draw, .rules = eg__conv_rules(t->dtype, t->math)};
    eg__conv_key k = s->key;
    eg__conv_geometry *c = &k.g;
    for (int d = 0; d < 3; d++) {
        c->out[d] = (c->in[d] + c->before[d] + c->after[d] - (c->k[d] - 1) * c->dilation[d] - 1) / c->stride[d] + 1;
    }
    k.dtype = t->dtype;
    k.result = (uint8_t)result;
    k.bias = bias;
    k.act = relu ? EG__ACT_RELU : EG__ACT_NONE;
    k.align_x = k.align_w = k.align_y = k.align_bias = (uint8_t)(align ? align : 16);
    memcpy(g.key, &k, sizeof k);
    snprintf(g.name, sizeof g.name, "%s %s %s%s", t->name, what, s->name, align ? ", badly aligned" : "");
    with(&g);
}

static void convolutions(with_graph *with)
{
    for (int t = 0; t < EG__COUNT(numbers); t++) {
        for (int s = 0; s < EG__COUNT(shapes); s++) {
            conv_with(with, &shapes[s], &numbers[t], "conv", EG__CONV_Y, false, false, 0);
            conv_with(with, &shapes[s], &numbers[t], "conv with bias", EG__CONV_Y, true, false, 0);
            conv_with(with, &shapes[s], &numbers[t], "conv with bias and ReLU", EG__CONV_Y, true, true, 0);
            conv_with(with, &shapes[s], &numbers[t], "data of", EG__CONV_X, false, false, 0);
            conv_with(with, &shapes[s], &numbers[t], "weight of", EG__CONV_W, false, false, 0);
        }
        conv_with(with, &shapes[0], &numbers[t], "conv", EG__CONV_Y, false, false, numbers[t].size);
        conv_with(with, &shapes[0], &numbers[t], "data of", EG__CONV_X, false, false, numbers[t].size);
        conv_with(with, &shapes[0], &numbers[t], "weight of", EG__CONV_W, false, false, numbers[t].size);
    }
}

/* Of attention; packed: heads side by side, q, k and v from one projection. */
typedef struct heads {
    int64_t b, h, t, s, d, v;
    bool packed, causal;
    uint8_t dtype, align; /* align: of rows of numbers; 0: of new ones */
} heads;

static const heads all_heads[] = {
    {8, 16, 1024, 1024, 64, 64, true, true, EG_BF16, 0}, {8, 12, 128, 128, 64, 64, true, false, EG_F16, 0},
    {2, 4, 77, 77, 40, 40, false, true, EG_BF16, 4},     {2, 8, 512, 100, 128, 128, false, false, EG_BF16, 0},
    {2, 4, 64, 64, 256, 256, false, true, EG_F16, 0},    {1, 1, 1, 33, 64, 64, false, false, EG_BF16, 0},
    {2, 4, 256, 256, 96, 64, true, false, EG_BF16, 0},   {2, 3, 70, 77, 8, 8, false, false, EG_F16, 4},
};

static void attention_with(with_graph *with, const heads *a, bool backward)
{
    graph g = {.draw = eg__attention_draw};
    eg__attention_key k = {.b = a->b,
                           .h = a->h,
                           .t = a->t,
                           .s = a->s,
                           .d = a->d,
                           .v = a->v,
                           .dtype = a->dtype,
                           .causal = a->causal,
                           .backward = backward,
                           .align = a->align ? a->align : 16};
    const int64_t rows[] = {a->t, a->s, a->s, a->t, a->t, a->t, a->s, a->s};
    const int64_t columns[] = {a->d, a->d, a->v, a->v, a->v, a->d, a->d, a->v};
    for (int m = 0; m < (backward ? EG__ATTENTION_MATRICES : EG__ATTENTION_Y + 1); m++) {
        const int64_t wide = columns[m] * (m <= EG__ATTENTION_V ? 3 : 1);
        k.stride[m][0] = a->h * rows[m] * (a->packed ? wide : columns[m]);
        k.stride[m][1] = a->packed ? columns[m] : rows[m] * columns[m];
        k.stride[m][2] = a->packed ? a->h * wide : columns[m];
    }
    memcpy(g.key, &k, sizeof k);
    snprintf(g.name, sizeof g.name, "%s attention%s of %d x %d, %d and %d columns%s",
             a->dtype == EG_F16 ? "f16" : "bf16", backward ? " gradient" : "", (int)a->t, (int)a->s, (int)a->d,
             (int)a->v, a->causal ? ", causal" : "");
    with(&g);
}

static void attention(with_graph *with)
{
    for (int i = 0; i < EG__COUNT(all_heads); i++) {
        attention_with(with, &all_heads[i], false);
        attention_with(with, &all_heads[i], true);
    }
}

static void (*const families[])(with_graph *with) = {convolutions, attention};

/* ---- plans ----------------------------------------------------------------------------------- */

/* Of 9.19: graphs that no engine takes, by card. Newer ones may take more. */
static const char *const refused[] = {
    "sm_80 f16 attention gradient of 64 x 64, 256 and 256 columns, causal",
    "sm_100 f16 attention gradient of 64 x 64, 256 and 256 columns, causal",
    NULL,
};
enum { LISTED = 91900 };

static const struct card *card;
static eg__dnn properties;
static int built, wrong;

static bool is_refused(const char *name)
{
    for (int i = 0; refused[i]; i++) {
        if (!strcmp(refused[i], name)) {
            return true;
        }
    }
    return false;
}

static void build(const graph *q)
{
    eg__graph *g = malloc(sizeof *g);
    eg__dnn_plan plan;
    char name[128];
    int64_t bytes = 0, again = 0;
    EGT_CHECK(g);
    eg__graph_begin(g, "test", NULL, properties);
    q->draw(g, q->key);
    EGT_OK(eg__graph_plan(g, q->rules, &plan));
    char *text = plan.made ? eg__dnn_plan_text(&plan, &bytes) : NULL;
    eg__graph_end(g);
    free(g);
    snprintf(name, sizeof name, "%s %s", card->name, q->name);
    const bool listed = is_refused(name);
    if (plan.made ? listed && eg__dnn_version() == LISTED : !listed) {
        wrong++;
        printf("    \"%s\",%s%s\n", name, plan.made ? " is built" : " ", plan.why);
    }
    if (plan.made) { /* needs nothing of what it was made of */
        char *same = eg__dnn_plan_text(&plan, &again);
        EGT_CHECK(text && same && bytes == again && !memcmp(text, same, (size_t)bytes));
        EGT_CHECK(plan.workspace <= EG__DNN_WORK);
        free(same);
        built++;
    }
    free(text);
    eg__dnn_plan_end(&plan);
}

/* What cuDNN does not take on a card. */
static void check_card(int which)
{
    if (eg__dnn_open("test")) {
        egt_skip("%s", eg_last_error()->message);
    }
    card = &cards[which];
    properties = eg__dnn_card(card->json);
    if (!properties) {
        egt_skip("cuDNN %zu does not build plans without a card", eg__dnn_version());
    }
    built = wrong = 0;
    for (int f = 0; f < EG__COUNT(families); f++) {
        families[f](build);
    }
    eg__dnn_end(properties);
    printf("%s: %d plans by cuDNN %zu\n", card->name, built, eg__dnn_version());
    EGT_EQ(wrong, 0);
}

EGT(sm_80)
{
    check_card(0);
}

EGT(sm_90)
{
    check_card(1);
}

EGT(sm_100)
{
    check_card(2);
}

/* A drawing that cuDNN refuses says why, and leaves nothing. */
EGT(refusals)
{
    eg__dnn_plan plan;
    if (eg__dnn_open("test") || !(properties = eg__dnn_card(cards[1].json))) {
        egt_skip("no cuDNN that builds plans without a card");
    }
    eg__graph *g = malloc(sizeof *g);
    EGT_CHECK(g);
    eg__conv_key k = shapes[0].key;
    k.dtype = EG_BF16;
    k.align_x = k.align_w = k.align_y = 16;
    k.g.out[0] = 1;
    k.g.out[1] = k.g.out[2] = 57; /* one too many */
    eg__graph_begin(g, "test", NULL, properties);
    eg__conv_draw(g, &k);
    EGT_OK(eg__graph_plan(g, 0, &plan));
    EGT_CHECK(!plan.made && strstr(plan.why, "BAD_PARAM"));
    eg__graph_end(g);
    EGT_CHECK(!eg__dnn_card("{\"warpSize\":32}"));
    eg__dnn_end(properties);
    free(g);
}
