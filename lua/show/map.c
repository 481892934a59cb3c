/* map.c - see map.h. */
#include "map.h"

#include <lauxlib.h>
#include <math.h>
#include <stdio.h>

#include "terminal.h"

enum { ROWS_MOST = 100, LETTERS_MOST = 24, SCALE = 10 };

typedef struct map {
    const heatmap *h;
    luaL_Buffer text;
    int colours, cell, margin, head; /* characters: of a cell, of the rows' words, lines of the columns' */
    double least, most;
} map;

/* ---- words --------------------------------------------------------------------------------- */

static bool is_first(char c)
{
    return ((unsigned char)c & 0xc0) != 0x80;
}

static int letters(const char *word)
{
    int count = 0;
    for (; word && *word; word++) {
        count += is_first(*word);
    }
    return count < LETTERS_MOST ? count : LETTERS_MOST;
}

static int longest(const char *const *words, int count)
{
    int most = 0;
    for (int i = 0; words && i < count; i++) {
        int length = letters(words[i]);
        most = length > most ? length : most;
    }
    return most;
}

/* Letter k of a word, up to the next; what moves a terminal's cursor is a space. Returns where the next begins. */
static const char *add_letter(map *m, const char *at)
{
    bool moves = (unsigned char)*at < 32 || *at == 127;
    luaL_addchar(&m->text, moves ? ' ' : *at);
    for (at++; *at && !is_first(*at); at++) {
        luaL_addchar(&m->text, *at);
    }
    return at;
}

static void add_spaces(map *m, int count)
{
    while (count-- > 0) {
        luaL_addchar(&m->text, ' ');
    }
}

/* Ends with the line above the map. */
static void add_columns(map *m)
{
    for (int line = 0; line < m->head; line++) {
        add_spaces(m, m->margin);
        for (int j = 0; j < m->h->columns; j++) {
            const char *word = m->h->column_words[j];
            int k = line - (m->head - letters(word));
            if (k < 0) {
                add_spaces(m, m->cell);
                continue;
            }
            while (k > 0) {
                word++;
                k -= is_first(*word);
            }
            add_letter(m, word);
            add_spaces(m, m->cell - 1);
        }
        luaL_addchar(&m->text, '\n');
    }
}

static void add_row_word(map *m, const char *word)
{
    int length = letters(word);
    add_spaces(m, m->margin - 1 - length);
    for (int k = 0; k < length; k++) {
        word = add_letter(m, word);
    }
    add_spaces(m, m->margin > 0);
}

/* ---- cells --------------------------------------------------------------------------------- */

static void add_style(map *m, const char *code)
{
    if (m->colours) {
        luaL_addstring(&m->text, code);
    }
}

static void add_cell(map *m, double share)
{
    static const char inks[] = " .:-=+*#%@";
    char code[32];
    if (m->colours) {
        rgb colour = heatmap_colour(share);
        const uint8_t p[3] = {colour.r, colour.g, colour.b};
        blocks_colour(code, sizeof code, 48, p, m->colours);
        luaL_addstring(&m->text, code);
    }
    for (int i = 0; i < m->cell; i++) {
        luaL_addchar(&m->text, m->colours ? ' ' : inks[(int)(share * 9 + 0.5)]);
    }
}

static void add_row(map *m, int row)
{
    const heatmap *h = m->h;
    if (m->margin > 0) {
        add_row_word(m, h->row_words[row]);
    }
    for (int j = 0; j < h->columns; j++) {
        double value = h->values[(int64_t)row * h->columns + j];
        if (isfinite(value)) {
            add_cell(m, heatmap_share(value, m->least, m->most));
        } else {
            add_style(m, "\033[0m");
            luaL_addstring(&m->text, m->cell > 1 ? "??" : "?");
        }
    }
    add_style(m, "\033[0m");
    luaL_addchar(&m->text, '\n');
}

static void add_scale(map *m)
{
    char number[32];
    add_spaces(m, m->margin);
    snprintf(number, sizeof number, "%.3g ", m->least);
    luaL_addstring(&m->text, number);
    m->cell = 1;
    for (int i = 0; i < SCALE; i++) {
        add_cell(m, i / (SCALE - 1.0));
    }
    add_style(m, "\033[0m");
    snprintf(number, sizeof number, " %.3g", m->most);
    luaL_addstring(&m->text, number);
}

bool map_push(lua_State *L, const heatmap *h, int columns, int colours)
{
    map m = {.h = h, .colours = colours};
    int words = longest(h->row_words, h->rows);
    m.margin = words > 0 ? words + 1 : 0;
    m.head = longest(h->column_words, h->columns);
    m.cell = m.margin + 2 * h->columns <= columns ? 2 : 1;
    if (h->rows > ROWS_MOST || m.margin + h->columns > columns) {
        return false;
    }
    heatmap_range(h, &m.least, &m.most);
    luaL_buffinit(L, &m.text);
    if (h->title) {
        add_style(&m, "\033[1m");
        luaL_addstring(&m.text, h->title);
        add_style(&m, "\033[0m");
        luaL_addchar(&m.text, '\n');
    }
    add_columns(&m);
    for (int i = 0; i < h->rows; i++) {
        add_row(&m, i);
    }
    add_scale(&m);
    luaL_pushresult(&m.text);
    return true;
}
