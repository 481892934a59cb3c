/* names.c - see names.h. */
#include "names.h"

#include <stdio.h>
#include <string.h>

/* Of so many names one is of the others, and one is known; TRIES: to find a known one that is short enough. */
enum { ONE_IN = 8, KNOWN_IN = 8, TRIES = 30 };

#define COUNT(a)   ((int)(sizeof(a) / sizeof(a)[0]))
#define ANY(c, of) (of)[chance_of(c, COUNT(of))]

static const char *const kinds[] = {"Rue",   "Rue",   "Rue",  "Quai",    "Place", "Allée", "Avenue",
                                    "Cours", "Route", "Cité", "Impasse", "Pont",  "Villa", "Passage"};
/* With the article that each asks for. */
static const char *const things[] = {
    "de l'Église", "de la Gare",   "du Moulin",    "des Écoles",   "du Port",        "de la Forêt", "des Lilas",
    "du Château",  "des Prés",     "de la Paix",   "du Four",      "des Vignes",     "de l'Étang",  "du Lavoir",
    "de la Halle", "des Jardins",  "du Puits",     "des Roses",    "de la Mer",      "du Marché",   "de l'Île",
    "des Halles",  "du Bois",      "de la Source", "des Champs",   "du Chêne",       "du Théâtre",  "de la Tour",
    "des Érables", "de la Mairie", "du Stade",     "des Tilleuls", "du Vieux Puits",
};
static const char *const people[] = {"Victor Hugo", "Pasteur", "Jean Jaurès", "Molière",     "Voltaire", "Zola",
                                     "Racine",      "Foch",    "Gambetta",    "Jules Ferry", "Diderot",  "Balzac"};
static const char *const saints[] = {"St-Jean", "Ste-Anne", "St-Éloi", "St-Marc", "Ste-Foy", "St-Paul"};

/* Of names that are made up. */
static const char *const onsets[] = {"b", "c", "d", "f",  "g",  "j",  "l",  "m",  "n",  "p",  "r",
                                     "s", "t", "v", "br", "ch", "cl", "fr", "gr", "pl", "tr", "qu"};
static const char *const vowels[] = {"a", "e", "i", "o", "u", "é", "ou", "ai", "eu", "au", "an", "on", "in"};
static const char *const ends[] = {"", "", "l", "r", "t", "x", "s", "gne", "lle", "rd", "mes", "zac", "kh", "ny"};

static void add(char name[NAME_BYTES], const char *more)
{
    const size_t length = strlen(name);
    snprintf(name + length, NAME_BYTES - length, "%s", more);
}

static void make_up(chance *c, char name[NAME_BYTES])
{
    char *first = name + strlen(name);
    for (int left = 2 + chance_of(c, 2); left > 0; left--) {
        add(name, ANY(c, onsets));
        add(name, ANY(c, vowels));
    }
    add(name, ANY(c, ends));
    *first = (char)(*first - 'a' + 'A'); /* onsets are of ASCII */
}

static const char *any_known(chance *c)
{
    switch (chance_of(c, 4)) {
    case 0:
        return ANY(c, people);
    case 1:
        return ANY(c, saints);
    default:
        return ANY(c, things);
    }
}

/* A kind of street, what it is called after, perhaps the number of a house. */
static void propose(chance *c, bool known, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "%s ", ANY(c, kinds));
    if (known) {
        add(name, any_known(c));
    } else {
        make_up(c, name);
    }
    if (chance_of(c, 3) == 0) {
        char number[16];
        snprintf(number, sizeof number, " %d", 1 + chance_of(c, chance_of(c, 2) ? 30 : 300));
        add(name, number);
    }
}

static int letters_of(const char *name)
{
    int n = 0;
    for (; *name; name++) {
        n += ((unsigned char)*name & 0xc0) != 0x80; /* bytes that do not go on with a letter */
    }
    return n;
}

/* FNV-1a, whose low bits are mixed once more. */
static bool is_others(const char *name)
{
    chance c = {0xcbf29ce484222325u};
    for (; *name; name++) {
        c.state = (c.state ^ (unsigned char)*name) * 0x100000001b3u;
    }
    return chance_of(&c, ONE_IN) == 0;
}

/* Few known ones are short: where few letters have room they would come again and again, were it not settled first. */
void name_make(chance *c, int letters, bool others, char name[NAME_BYTES])
{
    int tries = chance_of(c, KNOWN_IN) == 0 ? TRIES : 0;
    do {
        propose(c, tries-- > 0, name);
    } while (letters_of(name) > letters || is_others(name) != others);
}
