/* conv_winograd.c - the convolutions of winograd.h: sums of tiles times sums of weights, cell by
 * cell of the tile, [tiles, channels] x [channels, channels]; for the gradient of w [channels,
 * tiles] x [tiles, channels]. What there is more of, tiles or weights, is gone through once in
 * blocks that stay near a core from the sums to the result; the sums of the other are made before
 * and shared. */
#include "lib/cpu/common/lanes.h"
#include "lib/cpu/conv/winograd_sums.h"

eg__conv_tiles ISA(eg__conv_winograd);

typedef eg__f32s vec;
enum { LANES = sizeof(vec) / sizeof(float), PANEL = 16, GROUP = PANEL / LANES };
/* Vectors of sums that stay in registers; rows of a block are a multiple of all heights of them. */
enum { SUMS = EG__VECTORS >= 32 ? 24 : 12, MOST_WIDE = EG__VECTORS >= 32 ? 4 : GROUP, ROWS = 24 };
enum { NEAR = 768 << 10 }; /* bytes that stay near a core */
enum { MOST_PARTS = 4, TILES_PER_PART = 256 };

/* Its items are cut into pieces, one a thread, which have memory of their own. */
typedef struct job {
    eg__winograd_job d;
    eg__panels shared, other; /* sums made before; of tiles of dy for the gradient of w */
    int64_t width;            /* of panels of columns */
    int64_t block;            /* tiles, or rows of weights, at a time */
    int64_t parts;            /* gradient of w by tiles: of the tiles, whose sums are added up, */
    int64_t ranges, slices;   /* of the panels and of the depth */
    int64_t pieces, near_size;
    float *near;
} job;

static int64_t panels_in(const job *b)
{
    return b->d.columns / b->width;
}

/* How many rows of `each` floats stay near. */
static int64_t block_of(int64_t each, int64_t low, int64_t high)
{
    int64_t most = NEAR / (int64_t)sizeof(float) / each / ROWS * ROWS;
    return most < low ? low : most > high ? high : most;
}

static int64_t in_rows(int64_t tiles)
{
    return (tiles + ROWS - 1) / ROWS * ROWS;
}

/* ---- products ------------------------------------------------------------------------------ */

/* m[r][c] (+)= sum over i of a[r * row + i * next] b[i][c], for `rows` rows and `wide` vectors. */
static EG__INLINE void product(const float *a, int64_t row, int64_t next, const float *b, int64_t depth, float *m,
                               bool more, const int rows, const int wide)
{
    vec sum[ROWS][4];
    EG__UNROLLED
    for (int r = 0; r < rows; r++) {
        EG__UNROLLED
        for (int v = 0; v < wide; v++) {
            sum[r][v] = (vec){0};
            if (more) {
                sum[r][v] = *(const vec *)(m + (r * wide + v) * LANES);
            }
        }
    }
    for (int64_t i = 0; i < depth; i++, a += next, b += wide * LANES) {
        EG__UNROLLED
        for (int r = 0; r < rows; r++) {
            float f = a[r * row];
            EG__UNROLLED
            for (int v = 0; v < wide; v++) {
                sum[r][v] += *(const vec *)(b + v * LANES) * f;
            }
        }
    }
    EG__UNROLLED
    for (int r = 0; r < rows; r++) {
        EG__UNROLLED
        for (int v = 0; v < wide; v++) {
            *(vec *)(m + (r * wide + v) * LANES) = sum[r][v];
        }
    }
}

/* All `count` rows; what the last turn computes beyond them is not read. */
static EG__INLINE void all_rows(const float *a, int64_t row, int64_t next, int64_t count, const float *b, int64_t depth,
                                float *m, bool more, const int rows, const int wide)
{
    for (int64_t r = 0; r < count; r += rows) {
        product(a + r * row, row, next, b, depth, m + r * wide * LANES, more, rows, wide);
    }
}

/* As many rows as there are registers for, which suit ROWS. */
static void tiles_product(const float *a, int64_t row, int64_t count, const float *b, int64_t depth, float *m,
                          bool more, int64_t width)
{
    switch (width / LANES) {
    case 1:
        all_rows(a, row, 1, count, b, depth, m, more, SUMS / 2, 1);
        break;
    case 2:
        all_rows(a, row, 1, count, b, depth, m, more, SUMS / 2, 2);
        break;
    case 3:
        all_rows(a, row, 1, count, b, depth, m, more, SUMS / 3, 3);
        break;
    default:
        all_rows(a, row, 1, count, b, depth, m, more, SUMS / 4, 4);
    }
}

/* Rows are the 16 columns of a panel of sums. */
static void weights_product(const float *a, const float *b, int64_t depth, float *m, bool more, int64_t width)
{
    switch (width / LANES) {
    case 1:
        all_rows(a, 1, 16, 16, b, depth, m, more, 16, 1);
        break;
    case 2:
        all_rows(a, 1, 16, 16, b, depth, m, more, EG__VECTORS >= 32 ? 8 : 4, 2);
        break;
    case 3:
        all_rows(a, 1, 16, 16, b, depth, m, more, 4, 3);
        break;
    default:
        all_rows(a, 1, 16, 16, b, depth, m, more, 4, 4);
    }
}

/* ---- shared sums --------------------------------------------------------------------------- */

static void share_tiles(void *ctx, int64_t begin, int64_t end)
{
    const job *b = ctx;
    ISA(eg__winograd_read)(&b->d, begin, end, &b->shared, begin);
    if (b->other.at) {
        ISA(eg__winograd_read_back)(&b->d, begin, end, &b->other, begin, 0, b->d.columns);
    }
}

/* Items are rows of weights, panel by panel: sums are made of them, or they of the sums. */
static void each_weight(void *ctx, int64_t begin, int64_t end)
{
    const job *b = ctx;
    for (int64_t i = begin, many; i < end; i += many) {
        int64_t at = i / b->d.depth * b->width, row = i % b->d.depth;
        eg__panels u = b->shared;
        u.at = eg__panel_at(&b->shared, 0, row, at);
        many = eg__min(b->d.depth - row, end - i);
        if (b->d.conv->result == EG__CONV_W) {
            ISA(eg__winograd_make_taps)
            (&b->d, row, row + many, at, b->width, &u, b->parts, eg__panels_size(&b->shared, b->d.columns));
        } else {
            ISA(eg__winograd_read_taps)(&b->d, row, row + many, at, b->width, &u);
        }
    }
}

/* ---- results and gradients of x ------------------------------------------------------------ */

/* Items are panels of columns, block of tiles after block. */
static void tiles_piece(const job *b, int64_t begin, int64_t end, float *near)
{
    int64_t depth = b->d.depth, last = -1;
    eg__panels sums = {near, b->d.cells, b->block, depth};
    eg__panels made = {near + eg__panels_size(&sums, depth), b->d.cells, b->block, b->width};
    for (int64_t i = begin; i < end; i++) {
        int64_t at = i % panels_in(b) * b->width, block = i / panels_in(b);
        int64_t first = block * b->block, stop = eg__min(first + b->block, b->d.plan->tiles);
        if (block != last) {
            ISA(eg__winograd_read)(&b->d, first, stop, &sums, 0);
            last = block;
        }
        for (int64_t k = 0; k < b->d.cells; k++) {
            tiles_product(eg__panel_at(&sums, k, 0, 0), depth, stop - first, eg__panel_at(&b->shared, k, 0, at), depth,
                          eg__panel_at(&made, k, 0, 0), false, b->width);
        }
        ISA(eg__winograd_make)(&b->d, first, stop, &made, 0, at);
    }
}

/* Items are panels of channels made, for all tiles: the parts or phases of some weights one after
 * the other, while these are near. */
static void weights_piece(const job *b, int64_t begin, int64_t end, float *near)
{
    const eg__winograd *p = b->d.plan;
    int64_t from = p->from, kinds = p->parts * p->parts * p->phases * p->phases;
    eg__panels u = {near, b->d.cells, b->block, b->width};
    eg__panels made = {near + eg__panels_size(&u, b->width), b->d.cells, in_rows(p->tiles), b->width};
    for (int64_t i = begin; i < end; i++) {
        for (int64_t row = 0; row < from; row += b->block) {
            int64_t many = eg__min(b->block, from - row);
            for (int64_t v = 0; v < kinds; v++) {
                int64_t part = p->parts > 1 ? v : 0, phase = v - part, first = part * from + row;
                int64_t column = phase * p->to + i * b->width;
                ISA(eg__winograd_read_taps)(&b->d, first, first + many, column, b->width, &u);
                for (int64_t k = 0; k < b->d.cells; k++) {
                    tiles_product(eg__panel_at(&b->shared, k, 0, first), b->d.depth, p->tiles,
                                  eg__panel_at(&u, k, 0, 0), many, eg__panel_at(&made, k, 0, phase * b->width),
                                  part + row > 0, b->width);
                }
            }
        }
        for (int64_t phase = 0; phase < p->phases * p->phases; phase++) {
            eg__panels its = made;
            its.at = eg__panel_at(&made, 0, 0, phase * b->width);
            ISA(eg__winograd_make)(&b->d, 0, p->tiles, &its, 0, phase * p->to + i * b->width);
        }
    }
}

/* ---- gradients of w ------------------------------------------------------------------------ */

/* What tiles begin..end-1 add to rows low..high-1 of columns from..from + columns - 1 of u. */
static void add_tiles(const job *b, int64_t begin, int64_t end, const eg__panels *u, int64_t from, int64_t columns,
                      int64_t low, int64_t high, float *near)
{
    eg__panels sums = {near, b->d.cells, b->block, PANEL};
    eg__panels back = {near + eg__panels_size(&sums, b->d.depth), b->d.cells, b->block, b->width};
    for (int64_t t = begin; t < end; t += b->block) {
        int64_t stop = eg__min(t + b->block, end);
        ISA(eg__winograd_read)(&b->d, t, stop, &sums, 0);
        ISA(eg__winograd_read_back)(&b->d, t, stop, &back, 0, from, columns);
        for (int64_t n = 0; n < columns; n += b->width) {
            for (int64_t k = 0; k < b->d.cells; k++) {
                for (int64_t row = low; row < high; row += PANEL) {
                    weights_product(eg__panel_at(&sums, k, 0, row), eg__panel_at(&back, k, 0, n), stop - t,
                                    eg__panel_at(u, k, row, from + n), t > begin, b->width);
                }
            }
        }
    }
}

/* Items are slices of ranges of the panels of a part of the tiles; each part has its sums in `shared`. */
static void add_pieces(const job *b, int64_t begin, int64_t end, float *near)
{
    int64_t tiles = b->d.plan->tiles, panels = panels_in(b), rows = b->d.depth / PANEL;
    for (int64_t i = begin; i < end; i++) {
        int64_t part = i / b->slices / b->ranges, range = i / b->slices % b->ranges, slice = i % b->slices;
        int64_t from = panels * range / b->ranges, to = panels * (range + 1) / b->ranges;
        eg__panels u = b->shared;
        u.at += part * eg__panels_size(&u, b->d.columns);
        add_tiles(b, tiles * part / b->parts, tiles * (part + 1) / b->parts, &u, from * b->width,
                  (to - from) * b->width, rows * slice / b->slices * PANEL, rows * (slice + 1) / b->slices * PANEL,
                  near);
    }
}

/* Items are PANEL channels of x by a panel of dy's: all tiles at once, part by part. */
static void rows_piece(const job *b, int64_t begin, int64_t end, float *near)
{
    const eg__winograd *p = b->d.plan;
    int64_t groups = p->from / PANEL;
    eg__panels u = {near, b->d.cells, PANEL, b->width};
    for (int64_t i = begin; i < end; i++) {
        int64_t at = i / groups * b->width;
        for (int64_t row = i % groups * PANEL; row < b->d.depth; row += p->from) {
            for (int64_t k = 0; k < b->d.cells; k++) {
                weights_product(eg__panel_at(&b->shared, k, 0, row), eg__panel_at(&b->other, k, 0, at), p->tiles,
                                eg__panel_at(&u, k, 0, 0), false, b->width);
            }
            ISA(eg__winograd_make_taps)(&b->d, row, row + PANEL, at, b->width, &u, 1, 0);
        }
    }
}

/* ---- jobs ---------------------------------------------------------------------------------- */

/* What to do once the sizes are known. */
typedef struct work {
    job *b;
    int64_t shared; /* floats */
    eg__range_fn *before, *after;
    int64_t before_items, after_items;
    void (*piece)(const job *b, int64_t begin, int64_t end, float *near);
    int64_t items;
} work;

static void some_pieces(void *ctx, int64_t begin, int64_t end)
{
    const work *w = ctx;
    const job *b = w->b;
    for (int64_t i = begin; i < end; i++) {
        w->piece(b, w->items * i / b->pieces, w->items * (i + 1) / b->pieces, b->near + i * b->near_size);
    }
}

static eg_status run(work *w)
{
    job *b = w->b;
    eg__scratch scratch;
    b->pieces = eg__min(eg_threads(), w->items);
    if (eg__scratch_get(b->d.conv->c, (size_t)(w->shared + b->pieces * b->near_size) * sizeof(float), &scratch)) {
        return EG_ENOMEM;
    }
    b->shared.at = scratch.data;
    b->near = b->shared.at + w->shared;
    if (b->other.rows) {
        b->other.at = b->shared.at + eg__panels_size(&b->shared, b->d.depth);
    }
    if (w->before) {
        eg__parallel(w->before_items, 16, w->before, b);
    }
    eg__parallel(b->pieces, 1, some_pieces, w);
    if (w->after) {
        eg__parallel(w->after_items, 16, w->after, b);
    }
    eg__scratch_put(b->d.conv->c, &scratch);
    return EG_OK;
}

static eg_status run_by_tiles(job *b)
{
    int64_t tiles = b->d.plan->tiles, each = b->d.cells * (b->d.depth + b->width);
    b->shared = (eg__panels){NULL, b->d.cells, b->d.depth, b->width};
    b->block = eg__min(block_of(each, 3 * ROWS, 4 * ROWS), in_rows(tiles));
    b->near_size = b->block * each;
    return run(&(work){b, eg__panels_size(&b->shared, b->d.columns), each_weight, NULL, panels_in(b) * b->d.depth, 0,
                       tiles_piece, (tiles + b->block - 1) / b->block * panels_in(b)});
}

static eg_status run_by_weights(job *b)
{
    int64_t tiles = b->d.plan->tiles, each = b->d.cells * b->width;
    b->shared = (eg__panels){NULL, b->d.cells, in_rows(tiles), b->d.depth};
    b->block = block_of(each, 2 * ROWS, 8 * ROWS);
    b->near_size = each * (b->block + b->d.columns / b->d.plan->to * in_rows(tiles));
    return run(&(work){b, eg__panels_size(&b->shared, b->d.depth), share_tiles, NULL, tiles, 0, weights_piece,
                       b->d.plan->to / b->width});
}

/* The order of the additions is that of the tiles within a part, so it is the parts that must not depend on the
 * number of threads. Those left over take ranges and slices, and read tiles more than once. */
static eg_status run_weight_by_tiles(job *b)
{
    int64_t threads = eg_threads(), tiles = b->d.plan->tiles;
    b->shared = (eg__panels){NULL, b->d.cells, b->d.depth, b->width};
    int64_t sums = eg__panels_size(&b->shared, b->d.columns);
    bool small = sums * (int64_t)sizeof(float) <= NEAR;
    int64_t most_parts = small ? MOST_PARTS : panels_in(b) > 1 ? 1 : 2;
    b->parts = eg__max(1, eg__min(tiles / TILES_PER_PART, most_parts));
    b->ranges = small ? 1 : eg__min(panels_in(b), (threads + b->parts - 1) / b->parts);
    b->slices = eg__min(b->d.depth / PANEL, (threads - 1) / (b->parts * b->ranges) + 1);
    int64_t most = (panels_in(b) + b->ranges - 1) / b->ranges * b->width;
    int64_t each = b->d.cells * (b->d.depth + most);
    b->block = eg__min(block_of(each, 3 * ROWS, 4 * ROWS), in_rows(tiles));
    b->near_size = b->block * each;
    return run(&(work){b, b->parts * sums, NULL, each_weight, 0, panels_in(b) * b->d.depth, add_pieces,
                       b->parts * b->ranges * b->slices});
}

static eg_status run_weight_by_weights(job *b)
{
    int64_t tiles = b->d.plan->tiles;
    b->shared = (eg__panels){NULL, b->d.cells, tiles, PANEL};
    b->other = (eg__panels){NULL, b->d.cells, tiles, b->width};
    b->near_size = b->d.cells * PANEL * b->width;
    return run(&(work){b, b->d.cells * tiles * (b->d.depth + b->d.columns), share_tiles, NULL, tiles, 0, rows_piece,
                       panels_in(b) * (b->d.plan->from / PANEL)});
}

eg_status ISA(eg__conv_winograd)(const eg__conv_job *j, const eg__winograd *p)
{
    job b = {.d = {.conv = j,
                   .plan = p,
                   .cells = p->side * p->side,
                   .depth = p->parts * p->parts * p->from,
                   .columns = p->phases * p->phases * p->to}};
    int64_t wide = MOST_WIDE;
    while (p->to / LANES % wide) {
        wide--;
    }
    b.width = wide * LANES;
    if (j->result == EG__CONV_W) {
        bool few = p->tiles * (b.d.depth + b.d.columns) < b.d.depth * b.d.columns;
        return few ? run_weight_by_weights(&b) : run_weight_by_tiles(&b);
    }
    bool few = p->tiles < b.d.columns && p->to / b.width >= eg_threads();
    return few ? run_by_weights(&b) : run_by_tiles(&b);
}
