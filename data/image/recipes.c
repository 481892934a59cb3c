/* recipes.c - the recipes: how each looks at an image, and the table of them. */
#include <egret/data/image_ops.h>
#include <math.h>

#include "data/image/recipe.h"

/* Words of the stream that chance takes besides boxes; who draws what, in this order. */
enum { WORDS = 8 };

/* ---- what recipes share ---------------------------------------------------------------------------- */

static eg__dice dice_of(const eg__preparation *p)
{
    return eg__dice_take(p->op, WORDS);
}

static bool mirrored(const eg__preparation *p, eg__dice *dice)
{
    return eg__dice_chance(dice, 0.5) && !p->o.no_flip;
}

/* One of n, by the place in the batch or drawn. */
static int turn(const eg__preparation *p, eg__dice *dice, int n)
{
    int drawn = (int)eg__dice_below(dice, n);
    return p->o.place ? (int)((p->o.place - 1) % n) : drawn;
}

/* A part, resized to what is wanted. */
static void whole_of(eg__preparation *p, const int64_t box[4], eg__filter filter)
{
    memcpy(p->view.box, box, sizeof p->view.box);
    p->view.rows = p->view.height;
    p->view.columns = p->view.width;
    p->view.filter = filter;
}

/* The image resized to rows x columns, of which a window is wanted. */
static eg_status resized_to(eg__preparation *p, int64_t rows, int64_t columns, eg__filter filter)
{
    memcpy(p->view.box, ((int64_t[4]){0, 0, p->rows, p->columns}), sizeof p->view.box);
    p->view.rows = rows;
    p->view.columns = columns;
    p->view.filter = filter;
    return rows >= p->view.height && columns >= p->view.width
               ? EG_OK
               : eg__fail(EG_ESHAPE, p->op, "%s cuts %lld x %lld pixels out of %lld x %lld, what %lld x %lld become",
                          p->by->info.name, (long long)p->view.height, (long long)p->view.width, (long long)rows,
                          (long long)columns, (long long)p->rows, (long long)p->columns);
}

static void take_middle(eg__preparation *p)
{
    p->view.top = (p->view.rows - p->view.height) / 2;
    p->view.left = (p->view.columns - p->view.width) / 2;
}

/* Of so many pixels for a result of 224, as many for this one. */
static int64_t proportional(const eg__preparation *p, double of_224)
{
    return (int64_t)rint((double)eg__max(p->view.height, p->view.width) * of_224 / 224);
}

/* ---- colours --------------------------------------------------------------------------------------- */

typedef struct order {
    int n;
    eg__colour colour[EG__MOST_CHANGES];
} order;

/* Amounts are drawn of all colours, in the order of their names' numbers, so that they do not hang on it. */
static void change_colours(eg__preparation *p, eg__dice *dice, order by)
{
    static const float low[] = {-32.0f / 255, 0.5f, 0.5f, -0.2f}, high[] = {32.0f / 255, 1.5f, 1.5f, 0.2f};
    float amount[EG__MOST_CHANGES];
    for (int k = 0; k < EG__MOST_CHANGES; k++) {
        amount[k] = (float)eg__dice_between(dice, (double)low[k], (double)high[k]);
    }
    for (int k = 0; k < by.n && !p->o.no_colours; k++) {
        eg__colour of = by.colour[k];
        p->change[p->changes++] = (eg__change){of, amount[of]};
    }
}

/* ---- inception, cnn_benchmarks --------------------------------------------------------------------- */

static eg_status distort_with(eg__preparation *p, eg__filter filter, eg_distorted_box_options o)
{
    int64_t box[4];
    o.size = sizeof o;
    o.boxes = p->o.boxes;
    o.or_image = true;
    if (p->o.area[0] != 0 || p->o.area[1] != 0) {
        memcpy(o.area, p->o.area, sizeof o.area);
    }
    eg_status st = eg_image_distorted_box_with(p->rows, p->columns, box, &o);
    if (!st) {
        whole_of(p, box, filter);
    }
    return st;
}

static eg_status distort(eg__preparation *p, eg__filter filter)
{
    return distort_with(p, filter, (eg_distorted_box_options){.size = 0});
}

static eg_status train_inception(eg__preparation *p)
{
    static const eg__filter filters[] = {EG__LINEAR, EG__NEAREST, EG__CUBIC, EG__AREA};
    static const order orders[] = {{4, {EG__BRIGHTNESS, EG__SATURATION, EG__HUE, EG__CONTRAST}},
                                   {4, {EG__SATURATION, EG__BRIGHTNESS, EG__CONTRAST, EG__HUE}},
                                   {4, {EG__CONTRAST, EG__HUE, EG__BRIGHTNESS, EG__SATURATION}},
                                   {4, {EG__HUE, EG__SATURATION, EG__CONTRAST, EG__BRIGHTNESS}}},
                       few[] = {{2, {EG__BRIGHTNESS, EG__SATURATION}}, {2, {EG__SATURATION, EG__BRIGHTNESS}}};
    eg_status st = distort(p, EG__LINEAR);
    eg__dice dice = dice_of(p);
    int filter = turn(p, &dice, 4);
    p->view.filter = filters[p->o.thorough ? filter : 0];
    p->view.after = mirrored(p, &dice);
    int k = turn(p, &dice, 4); /* slim has three cases in four for the second of two orders */
    change_colours(p, &dice, p->o.thorough ? orders[k] : few[k > 0]);
    return st;
}

static eg_status evaluate_inception(eg__preparation *p)
{
    double share = eg__or(p->o.centre, 0.875);
    int64_t top = (int64_t)(((double)p->rows - (double)p->rows * share) / 2);
    int64_t left = (int64_t)(((double)p->columns - (double)p->columns * share) / 2);
    whole_of(p, (int64_t[4]){top, left, p->rows - 2 * top, p->columns - 2 * left}, EG__LINEAR);
    return EG_OK;
}

/* TensorFlow's for the option. */
static eg__filter filter_of(const eg__preparation *p)
{
    static const eg__filter filters[] = {[EG_FILTER_BILINEAR] = EG__LINEAR,
                                         [EG_FILTER_NEAREST] = EG__NEAREST,
                                         [EG_FILTER_BICUBIC] = EG__CUBIC,
                                         [EG_FILTER_AREA] = EG__AREA};
    static const eg__filter turns[] = {EG__NEAREST, EG__LINEAR, EG__CUBIC, EG__AREA};
    if (p->o.filter != EG_FILTER_IN_TURN) {
        return filters[p->o.filter];
    }
    eg__dice dice = dice_of(p);
    return turns[turn(p, &dice, 4)];
}

static eg_status train_benchmarks(eg__preparation *p)
{
    static const order orders[] = {{4, {EG__BRIGHTNESS, EG__SATURATION, EG__HUE, EG__CONTRAST}},
                                   {4, {EG__BRIGHTNESS, EG__CONTRAST, EG__SATURATION, EG__HUE}}};
    eg_status st = distort(p, filter_of(p));
    eg__dice dice = dice_of(p);
    p->view.before = mirrored(p, &dice);
    change_colours(p, &dice, orders[turn(p, &dice, 2)]);
    return st;
}

static eg_status evaluate_benchmarks(eg__preparation *p)
{
    float rows = (float)p->rows, columns = (float)p->columns;
    float larger = fmaxf((float)p->view.height / rows, (float)p->view.width / columns);
    eg_status st = resized_to(p, (int64_t)(rows * larger * 1.145f), (int64_t)(columns * larger * 1.145f), filter_of(p));
    take_middle(p);
    return st;
}

/* ---- vgg ------------------------------------------------------------------------------------------- */

static eg_status shorten(eg__preparation *p, int64_t shorter)
{
    float scale = (float)shorter / (float)eg__min(p->rows, p->columns);
    return resized_to(p, (int64_t)rintf((float)p->rows * scale), (int64_t)rintf((float)p->columns * scale), EG__LINEAR);
}

static eg_status train_vgg(eg__preparation *p)
{
    int64_t low = p->o.shorter[0] ? p->o.shorter[0] : proportional(p, 256);
    int64_t high = p->o.shorter[1] ? p->o.shorter[1] : eg__max(low, proportional(p, 512));
    if (low > high) {
        return eg__fail(EG_EINVAL, p->op, "shorter is %lld..%lld, must rise", (long long)low, (long long)high);
    }
    eg__dice dice = dice_of(p);
    eg_status st = shorten(p, low + eg__dice_below(&dice, high - low + 1));
    if (!st) {
        p->view.top = eg__dice_below(&dice, p->view.rows - p->view.height + 1);
        p->view.left = eg__dice_below(&dice, p->view.columns - p->view.width + 1);
        p->view.after = mirrored(p, &dice);
    }
    return st;
}

static eg_status evaluate_vgg(eg__preparation *p)
{
    eg_status st = shorten(p, p->o.shorter[0] ? p->o.shorter[0] : proportional(p, 256));
    take_middle(p);
    return st;
}

/* ---- cifarnet, lenet ------------------------------------------------------------------------------- */

/* The image as it is. */
static void unresized(eg__preparation *p)
{
    whole_of(p, (int64_t[4]){0, 0, p->rows, p->columns}, EG__NEAREST);
    p->view.rows = p->rows;
    p->view.columns = p->columns;
}

static eg_status train_cifarnet(eg__preparation *p)
{
    int64_t padding = eg__or_count(p->o.padding, 4);
    int64_t down = p->rows + 2 * padding - p->view.height, right = p->columns + 2 * padding - p->view.width;
    if (down < 0 || right < 0) {
        return eg__fail(EG_ESHAPE, p->op, "%s cuts %lld x %lld pixels out of %lld x %lld and %lld around",
                        p->by->info.name, (long long)p->view.height, (long long)p->view.width, (long long)p->rows,
                        (long long)p->columns, (long long)padding);
    }
    eg__dice dice = dice_of(p);
    unresized(p);
    p->view.top = eg__dice_below(&dice, down + 1) - padding;
    p->view.left = eg__dice_below(&dice, right + 1) - padding;
    p->view.after = mirrored(p, &dice);
    if (!p->o.no_colours) {
        p->change[p->changes++] = (eg__change){EG__BRIGHTNESS, (float)eg__dice_between(&dice, -63, 63)};
        p->change[p->changes++] = (eg__change){EG__CONTRAST, (float)eg__dice_between(&dice, 0.2, 1.8)};
    }
    return EG_OK;
}

static eg_status crop_or_pad(eg__preparation *p)
{
    unresized(p);
    take_middle(p);
    return EG_OK;
}

/* ---- torch ----------------------------------------------------------------------------------------- */

static eg_status train_torch(eg__preparation *p)
{
    static const double area[2] = {0.08, 1}, ratio[2] = {3.0 / 4, 4.0 / 3};
    int64_t box[4];
    eg_status st = eg_image_random_box(p->rows, p->columns, p->o.area[1] > 0 ? p->o.area : area, ratio, box);
    eg__dice dice = dice_of(p);
    if (!st) {
        whole_of(p, box, EG__SMOOTH);
        p->view.after = mirrored(p, &dice);
    }
    return st;
}

static eg_status evaluate_torch(eg__preparation *p)
{
    int64_t shorter = p->o.shorter[0] ? p->o.shorter[0] : proportional(p, 256);
    int64_t rows = p->rows <= p->columns ? shorter : shorter * p->rows / p->columns;
    int64_t columns = p->columns <= p->rows ? shorter : shorter * p->columns / p->rows;
    eg_status st = resized_to(p, rows, columns, EG__SMOOTH);
    p->view.top = (int64_t)rint((double)(rows - p->view.height) / 2);
    p->view.left = (int64_t)rint((double)(columns - p->view.width) / 2);
    return st;
}

/* ---- efficientnet_lite ----------------------------------------------------------------------------- */

/* The middle of the shorter side that leaves an eighth, of what an image would be resized to, around. */
static eg_status evaluate_lite(eg__preparation *p)
{
    double side = (double)eg__max(p->view.height, p->view.width);
    float share = (float)(side / (side + rint(side / 7)));
    int64_t middle = eg__max((int64_t)(share * (float)eg__min(p->rows, p->columns)), 1);
    whole_of(p, (int64_t[4]){(p->rows - middle + 1) / 2, (p->columns - middle + 1) / 2, middle, middle}, EG__CUBIC);
    return EG_OK;
}

/* Where no attempt came to a part, what is evaluated. */
static eg_status train_lite(eg__preparation *p)
{
    const eg_distorted_box_options o = {.ratio = {3.0 / 4, 4.0 / 3}, .area = {0.08, 1}, .attempts = 10};
    eg_status st = distort_with(p, EG__CUBIC, o);
    eg__dice dice = dice_of(p);
    if (!st && p->view.box[2] == p->rows && p->view.box[3] == p->columns) {
        st = evaluate_lite(p);
    }
    p->view.after = mirrored(p, &dice);
    return st;
}

/* ---- the table ------------------------------------------------------------------------------------- */

#define ALL(x)  \
    {           \
        x, x, x \
    }
const eg__recipe eg__recipes[] = {
    {.info = {"inception", "slim", 299, 3},
     .train = train_inception,
     .evaluate = evaluate_inception,
     .mean = ALL(127.5),
     .std = ALL(127.5),
     .unit = 1.0 / 255,
     .limited = true},
    {.info = {"vgg", "slim", 224, 3},
     .train = train_vgg,
     .evaluate = evaluate_vgg,
     .mean = {123.68, 116.78, 103.94},
     .std = ALL(1),
     .unit = 1},
    {.info = {"cifarnet", "slim", 32, 3},
     .train = train_cifarnet,
     .evaluate = crop_or_pad,
     .std = ALL(1),
     .unit = 1,
     .standardise = true},
    {.info = {"lenet", "slim", 28, 1},
     .train = crop_or_pad,
     .evaluate = crop_or_pad,
     .mean = ALL(128),
     .std = ALL(128),
     .unit = 1},
    {.info = {"torch", "torchvision", 224, 3},
     .train = train_torch,
     .evaluate = evaluate_torch,
     .mean = {255 * 0.485, 255 * 0.456, 255 * 0.406},
     .std = {255 * 0.229, 255 * 0.224, 255 * 0.225},
     .unit = 1},
    {.info = {"cnn_benchmarks", "tf_cnn_benchmarks", 224, 3},
     .train = train_benchmarks,
     .evaluate = evaluate_benchmarks,
     .mean = ALL(127.5),
     .std = ALL(127.5),
     .unit = 1.0 / 255,
     .limited = true},
    {.info = {"efficientnet_lite", "tensorflow/tpu", 224, 3},
     .train = train_lite,
     .evaluate = evaluate_lite,
     .mean = ALL(127),
     .std = ALL(128),
     .unit = 1},
};
const int eg__recipe_count = EG__COUNT(eg__recipes);
