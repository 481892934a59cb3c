/* drawn.c - see drawn.h. */
#include "drawn.h"

#include <math.h>
#include <stdbool.h>

enum { SIDE = DRAWN_SIDE, ROW = 2 * SIDE * 3, STAINS = 9 };

typedef struct colour {
    int r, g, b;
} colour;

/* What the colours of a plan mean, as in the CMP facades. */
static const colour background = {0, 0, 221}, wall = {0, 52, 255}, window = {0, 128, 255}, door = {0, 204, 255},
                    decoration = {34, 255, 225}, sill = {119, 255, 144}, balcony = {196, 255, 64},
                    moulding = {255, 160, 0}, cornice = {255, 85, 0}, pillar = {255, 0, 0}, shop = {172, 0, 0};

typedef struct box {
    int x, y, width, height;
} box;

/* A house being drawn: its random numbers and what all its parts share. */
typedef struct house {
    uint8_t *pixels;
    uint64_t state;
    colour plaster, stone, trim, frame, wood;
    box front;           /* the wall, from below the roof to the pavement */
    int floors, columns; /* of windows; the ground floor is not counted */
    int ground;          /* where that begins */
    bool mouldings, sills;
} house;

/* ---- random numbers: SplitMix64 (Steele, Lea, Flood 2014) -------------------------------- */

static uint64_t bits(house *h)
{
    uint64_t z = h->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static double real(house *h, double low, double high)
{
    return low + (high - low) * (double)(bits(h) >> 11) * 0x1p-53;
}

static int integer(house *h, int low, int high)
{
    return low + (int)(bits(h) % (uint64_t)(high - low + 1));
}

static bool chance(house *h, double p)
{
    return real(h, 0, 1) < p;
}

/* ---- boxes ------------------------------------------------------------------------------- */

static uint8_t byte(double v)
{
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v + 0.5);
}

static colour tinted(colour c, double factor)
{
    return (colour){byte(c.r * factor), byte(c.g * factor), byte(c.b * factor)};
}

static box inside(box b)
{
    int right = b.x + b.width, below = b.y + b.height;
    b.x = b.x < 0 ? 0 : b.x;
    b.y = b.y < 0 ? 0 : b.y;
    b.width = (right < SIDE ? right : SIDE) - b.x;
    b.height = (below < SIDE ? below : SIDE) - b.y;
    return b;
}

/* Fills a box of the photo (half 0) or of the plan (half 1). */
static void fill(house *h, int half, box b, colour c)
{
    b = inside(b);
    for (int y = b.y; y < b.y + b.height; y++) {
        for (int x = b.x; x < b.x + b.width; x++) {
            uint8_t *p = h->pixels + y * ROW + (half * SIDE + x) * 3;
            p[0] = (uint8_t)c.r;
            p[1] = (uint8_t)c.g;
            p[2] = (uint8_t)c.b;
        }
    }
}

static void paint(house *h, box b, colour c)
{
    fill(h, 0, b, c);
}

static void plan(house *h, box b, colour c)
{
    fill(h, 1, b, c);
}

/* Light on a box of the photo, from `above` at its upper edge to `below`. */
static void light(house *h, box b, double above, double below)
{
    box in = inside(b);
    for (int y = in.y; y < in.y + in.height; y++) {
        double factor = above + (below - above) * (y - b.y) / b.height;
        for (int i = in.x * 3; i < (in.x + in.width) * 3; i++) {
            uint8_t *p = h->pixels + y * ROW + i;
            *p = byte(*p * factor);
        }
    }
}

/* A box that stands out from the wall: lit on top, with a shadow below and on the right. */
static void relief(house *h, box b, colour c, int depth)
{
    light(h, (box){b.x + 1, b.y + b.height, b.width + depth - 1, depth}, 0.55, 0.85);
    light(h, (box){b.x + b.width, b.y + 1, depth, b.height - 1}, 0.7, 0.7);
    paint(h, b, c);
    light(h, b, 1.1, 0.9);
    light(h, (box){b.x, b.y, b.width, 1}, 1.15, 1.15);
    light(h, (box){b.x, b.y + b.height - 1, b.width, 1}, 0.75, 0.75);
}

/* ---- parts ------------------------------------------------------------------------------- */

/* Glass shows the sky above and a dark room below. */
static void glass(house *h, box b)
{
    colour dark = tinted((colour){46, 56, 68}, real(h, 0.8, 1.25));
    double sky = real(h, 1.0, 2.4);
    paint(h, b, dark);
    light(h, b, sky, 0.8);
    if (chance(h, 0.35)) { /* curtains */
        colour cloth = tinted((colour){226, 222, 210}, real(h, 0.6, 0.95));
        int width = b.width / integer(h, 4, 6) + 1;
        paint(h, (box){b.x, b.y, width, b.height}, cloth);
        paint(h, (box){b.x + b.width - width, b.y, width, b.height}, cloth);
    }
}

static void draw_window(house *h, box b)
{
    plan(h, b, window);
    paint(h, (box){b.x - 1, b.y - 1, b.width + 2, b.height + 2}, tinted(h->plaster, 0.7));
    paint(h, b, h->frame);
    glass(h, (box){b.x + 2, b.y + 2, b.width - 4, b.height - 4});
    paint(h, (box){b.x + b.width / 2 - 1, b.y, 2, b.height}, h->frame);
    paint(h, (box){b.x, b.y + b.height / 3, b.width, 2}, h->frame);
    light(h, (box){b.x, b.y, b.width, 4}, 0.5, 0.9);
    light(h, (box){b.x, b.y, 2, b.height}, 0.75, 0.75);
}

static void draw_sill(house *h, box w)
{
    box b = {w.x - 2, w.y + w.height, w.width + 4, 4};
    plan(h, b, sill);
    relief(h, (box){b.x, b.y, b.width, 3}, h->trim, 3);
}

static void draw_moulding(house *h, box w)
{
    box b = {w.x - 3, w.y - 7, w.width + 6, 6};
    plan(h, b, decoration);
    relief(h, b, h->trim, 2);
}

static void draw_balcony(house *h, box w)
{
    box b = {w.x - 5, w.y + w.height * 3 / 5, w.width + 10, w.height * 2 / 5 + 3};
    plan(h, b, balcony);
    light(h, b, 0.75, 0.6);
    for (int x = b.x; x < b.x + b.width; x += 3) {
        paint(h, (box){x, b.y, 1, b.height}, (colour){34, 34, 38});
    }
    paint(h, (box){b.x, b.y, b.width, 2}, (colour){44, 44, 48});
    relief(h, (box){b.x - 1, b.y + b.height - 3, b.width + 2, 4}, h->trim, 5);
}

static void draw_cornice(house *h, int y, int height)
{
    box b = {h->front.x, y, h->front.width, height};
    plan(h, b, cornice);
    relief(h, b, h->trim, 5);
    for (int i = 2; i < height - 1; i += 3) {
        light(h, (box){b.x, y + i, b.width, 1}, 0.82, 0.82);
    }
}

static void draw_door(house *h, box b)
{
    plan(h, b, door);
    box round = {b.x - 3, b.y - 4, b.width + 6, b.height + 4};
    relief(h, round, h->trim, 2);
    paint(h, b, h->wood);
    glass(h, (box){b.x + 2, b.y + 2, b.width - 4, b.height / 5});
    for (int side = 0; side < 2; side++) {
        for (int row = 0; row < 2; row++) {
            box panel = {b.x + 2 + side * (b.width / 2), b.y + b.height / 4 + 3 + row * (b.height * 3 / 8),
                         b.width / 2 - 4, b.height * 3 / 8 - 4};
            light(h, panel, 0.7, 1.25);
        }
    }
    paint(h, (box){b.x + b.width / 2, b.y, 1, b.height}, tinted(h->wood, 0.5));
    light(h, (box){b.x, b.y, b.width, 5}, 0.5, 0.95);
}

static void draw_shop(house *h, box b)
{
    static const colour awnings[] = {{150, 40, 36}, {40, 90, 60}, {36, 60, 120}, {190, 150, 60}};
    plan(h, b, shop);
    paint(h, b, (colour){52, 50, 52});
    glass(h, (box){b.x + 2, b.y + 8, b.width - 4, b.height - 14});
    paint(h, (box){b.x + b.width / 2, b.y + 8, 1, b.height - 14}, (colour){60, 58, 60});
    relief(h, (box){b.x - 1, b.y, b.width + 2, 7}, awnings[integer(h, 0, 3)], 3);
}

/* ---- the house --------------------------------------------------------------------------- */

/* Sky, roof, the neighbours and the street: what a plan calls background. */
static void draw_around(house *h)
{
    box f = h->front, all = {0, 0, SIDE, SIDE};
    colour sky = chance(h, 0.5) ? (colour){205, 214, 226} : (colour){150, 186, 226};
    colour tiles = chance(h, 0.6) ? (colour){142, 72, 52} : (colour){82, 80, 86};
    int below = f.y + f.height, ridge = f.y - integer(h, 8, 26);
    plan(h, all, background);
    paint(h, all, sky);
    light(h, (box){0, 0, SIDE, f.y}, 0.92, 1.08);
    paint(h, (box){f.x - 2, ridge, f.width + 4, f.y - ridge}, tiles);
    for (int y = ridge; y < f.y; y += 3) {
        light(h, (box){f.x - 2, y, f.width + 4, 1}, 0.8, 0.8);
    }
    for (int side = 0; side < 2; side++) {
        int x = side ? f.x + f.width : 0, width = side ? SIDE - x : f.x;
        colour other = tinted((colour){170, 160, 146}, real(h, 0.6, 1.1));
        int top = integer(h, 10, 70);
        paint(h, (box){x, top, width, below - top}, other);
        for (int y = top + 20; y < below - 30 && width > 8; y += 44) {
            paint(h, (box){x + 2, y, width - 4, 24}, (colour){62, 66, 74});
        }
    }
    paint(h, (box){0, below, SIDE, SIDE - below}, (colour){118, 116, 114});
    light(h, (box){0, below, SIDE, 3}, 0.6, 0.9);
}

static void draw_wall(house *h)
{
    box f = h->front, stone = {f.x, h->ground, f.width, f.y + f.height - h->ground};
    plan(h, f, wall);
    paint(h, f, h->plaster);
    paint(h, stone, h->stone);
    for (int y = stone.y + 6; y < stone.y + stone.height; y += 9) {
        light(h, (box){f.x, y, f.width, 1}, 0.78, 0.78);
        light(h, (box){f.x, y + 1, f.width, 1}, 1.08, 1.08);
    }
}

/* The middle of a column of windows. */
static int middle(const house *h, int column)
{
    return h->front.x + (2 * column + 1) * h->front.width / (2 * h->columns);
}

static void draw_upper_floors(house *h)
{
    int top = h->front.y + integer(h, 12, 18), step = (h->ground - 6 - top) / h->floors;
    int width = h->front.width / h->columns * integer(h, 38, 58) / 100;
    int with_balconies = chance(h, 0.6) ? integer(h, 0, h->floors - 1) : -1, every = integer(h, 1, 2);
    for (int floor = 0; floor < h->floors; floor++) {
        int height = step * integer(h, 58, 68) / 100;
        for (int column = 0; column < h->columns; column++) {
            box w = {middle(h, column) - width / 2, top + floor * step + 10, width, height};
            draw_window(h, w);
            if (h->mouldings) {
                draw_moulding(h, w);
            }
            if (floor == with_balconies && column % every == 0) {
                draw_balcony(h, w);
            } else if (h->sills) {
                draw_sill(h, w);
            }
        }
    }
}

static void draw_pillars(house *h)
{
    for (int column = 0; column <= h->columns; column++) {
        int x = h->front.x + column * h->front.width / h->columns;
        box b = {column == h->columns ? x - 7 : column ? x - 3 : x, h->front.y + 10, 7, h->ground - h->front.y - 10};
        plan(h, b, pillar);
        relief(h, b, tinted(h->trim, 0.96), 2);
    }
}

static void draw_ground_floor(house *h)
{
    int below = h->front.y + h->front.height, room = below - h->ground;
    int entrance = integer(h, 0, h->columns - 1), wide = h->front.width / h->columns;
    bool shops = chance(h, 0.45);
    for (int column = 0; column < h->columns; column++) {
        int x = middle(h, column), width = wide * (shops ? 80 : 46) / 100;
        if (column == entrance) {
            int height = room * 78 / 100, across = wide < 40 ? wide * 60 / 100 : 26;
            draw_door(h, (box){x - across / 2, below - height, across, height});
        } else if (shops) {
            draw_shop(h, (box){x - width / 2, h->ground + 12, width, room - 13});
        } else {
            box w = {x - width / 2, h->ground + 14, width, room * 48 / 100};
            draw_window(h, w);
            draw_sill(h, w);
        }
    }
    if (chance(h, 0.4)) {
        int x = middle(h, entrance), y = below - room * 78 / 100 - 9;
        plan(h, (box){x - 17, y, 34, 6}, moulding);
        relief(h, (box){x - 17, y, 34, 6}, h->trim, 4);
    }
}

/* ---- the camera -------------------------------------------------------------------------- */

/* Stains and the light of the day vary over the photo; then it is softened and gets grain. */
static void expose(house *h)
{
    double stains[STAINS][STAINS], day = real(h, 0.85, 1.1);
    uint8_t *at = h->pixels;
    for (int i = 0; i < STAINS * STAINS; i++) {
        stains[i / STAINS][i % STAINS] = day * real(h, 0.88, 1.08);
    }
    for (int y = 0; y < SIDE; y++) {
        double v = y * (STAINS - 1.0) / SIDE, down = v - floor(v);
        int last[3] = {at[y * ROW], at[y * ROW + 1], at[y * ROW + 2]};
        for (int x = 0; x < SIDE; x++) {
            double u = x * (STAINS - 1.0) / SIDE, along = u - floor(u), grain = real(h, -7, 7);
            const double *row = stains[(int)v] + (int)u, *next = stains[(int)v + 1] + (int)u;
            double factor =
                (row[0] + (row[1] - row[0]) * along) * (1 - down) + (next[0] + (next[1] - next[0]) * along) * down;
            for (int c = 0; c < 3; c++) {
                uint8_t *p = at + y * ROW + x * 3 + c;
                int here = *p, right = x + 1 < SIDE ? p[3] : here, under = y + 1 < SIDE ? p[ROW] : here;
                *p = byte((4 * here + last[c] + right + 2 * under) / 8.0 * factor + grain);
                last[c] = here;
            }
        }
    }
}

void drawn_facade(uint64_t seed, int64_t index, uint8_t pixels[DRAWN_BYTES])
{
    static const colour plasters[] = {{214, 186, 132}, {198, 130, 104}, {176, 172, 164}, {206, 206, 190},
                                      {158, 92, 74},   {168, 186, 160}, {222, 204, 176}, {150, 138, 126}};
    house h = {.pixels = pixels, .state = seed * 0xd1342543de82ef95u + (uint64_t)index * 0x2545f4914f6cdd1du};
    bits(&h);
    int left = chance(&h, 0.5) ? integer(&h, 8, 30) : 0, right = chance(&h, 0.5) ? integer(&h, 8, 30) : 0;
    int top = integer(&h, 16, 44), below = integer(&h, 240, 254);
    h.front = (box){left, top, SIDE - left - right, below - top};
    h.ground = below - integer(&h, 52, 64);
    h.floors = integer(&h, 2, 4);
    h.columns = integer(&h, 3, 6);
    h.plaster = tinted(plasters[integer(&h, 0, 7)], real(&h, 0.9, 1.1));
    h.stone = tinted(chance(&h, 0.5) ? h.plaster : (colour){160, 156, 150}, real(&h, 0.75, 0.9));
    h.trim = chance(&h, 0.7) ? (colour){224, 218, 204} : tinted(h.plaster, 1.2);
    h.frame = chance(&h, 0.7) ? (colour){232, 230, 224} : (colour){96, 66, 46};
    h.wood = chance(&h, 0.6) ? (colour){104, 68, 42} : (colour){52, 76, 62};
    h.mouldings = chance(&h, 0.4);
    h.sills = chance(&h, 0.8);
    draw_around(&h);
    draw_wall(&h);
    if (chance(&h, 0.3)) {
        draw_pillars(&h);
    }
    draw_upper_floors(&h);
    draw_ground_floor(&h);
    draw_cornice(&h, h.ground - 3, integer(&h, 5, 8));
    draw_cornice(&h, h.front.y, integer(&h, 9, 14));
    expose(&h);
}
