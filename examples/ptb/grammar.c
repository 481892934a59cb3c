/* grammar.c - see grammar.h. */
#include "grammar.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* A capital stands for any of its ways, which are all alike. No two lead to the same sentence, so that the ways taken
 * say how likely it is. */
static const char *const rules['Z' - 'A' + 1] = {
    ['S' - 'A'] = "C V|C V T|T C V|P said C V|P says it W|C W",
    ['C' - 'A'] = "Y corp.|Y inc.|Y co.|the Y group|the company",
    ['P' - 'A'] = "mr. M|mr. M of C|a spokesman|an analyst|an official at the agency",
    ['V' - 'A'] =
        "bought B|sold B|reported R|named mr. M J|agreed to buy B|declined to comment|closed A of its G plants",
    ['W' - 'A'] = "expects R|plans to sell B|wants to build a G plant in L|will cut N jobs|may raise A of its prices",
    ['B' - 'A'] = "N shares|a N N stake in C|its G unit|its G business in L for $ N million",
    ['R' - 'A'] = "net income of $ N million|a loss of N cents a share|sales of $ N million O|lower earnings",
    ['O' - 'A'] = "up from $ N million|down from $ N million|compared with $ N million a year ago",
    ['T' - 'A'] = "last week|in X|on U|earlier this year|in the Q quarter|yesterday",
    ['A' - 'A'] = "two|three|most|some|all",
    ['J' - 'A'] = "president|chairman|chief executive officer|vice president|a director",
    ['G' - 'A'] = "oil|steel|paper|computer|insurance|retail|chemicals|trucking",
    ['L' - 'A'] = "texas|ohio|tokyo|london|mexico|canada",
    ['M' - 'A'] = "baker|carter|hill|rossi|stone|young|wagner|lee",
    ['Q' - 'A'] = "first|second|third|fourth",
    ['U' - 'A'] = "monday|tuesday|wednesday|thursday|friday",
    ['X' - 'A'] = "january|march|may|june|september|october",
    ['Y' - 'A'] = "northern|pacific|united|general|lakeside|harbor|western|national|summit|delta",
};

typedef struct writer {
    FILE *to;
    int (*draw)(int n, void *user);
    void *user;
    double surprise;
} writer;

/* One of the ways between |, and how long it is. */
static const char *choose(writer *w, const char *ways, size_t *length)
{
    int count = 1;
    for (const char *p = ways; (p = strchr(p, '|')); p++) {
        count++;
    }
    w->surprise += log(count);
    for (int i = w->draw(count, w->user); i > 0; i--) {
        ways = strchr(ways, '|') + 1;
    }
    *length = strcspn(ways, "|");
    return ways;
}

static void write_rule(writer *w, char symbol)
{
    size_t length, word;
    const char *way = choose(w, rules[symbol - 'A'], &length);
    for (const char *end = way + length; way < end; way += word + (way[word] == ' ')) {
        word = strcspn(way, " |");
        if (word == 1 && isupper((unsigned char)*way) && rules[*way - 'A']) {
            write_rule(w, *way);
        } else {
            fprintf(w->to, "%.*s ", (int)word, way);
        }
    }
}

double grammar_write(FILE *to, int (*draw)(int n, void *user), void *user)
{
    writer w = {to, draw, user, 0};
    write_rule(&w, 'S');
    return w.surprise;
}
