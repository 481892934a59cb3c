/* grammar.c - see grammar.h. */
#include "grammar.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define COUNT(table) ((int)(sizeof(table) / sizeof(table)[0]))

/* ---- words ----------------------------------------------------------------------------------- */

typedef struct noun {
    const char *spanish[2], *english[2]; /* one, many */
    bool feminine;
} noun;

static const noun beings[] = {
    {{"gato", "gatos"}, {"cat", "cats"}, false},    {{"perro", "perros"}, {"dog", "dogs"}, false},
    {{"niño", "niños"}, {"boy", "boys"}, false},    {{"niña", "niñas"}, {"girl", "girls"}, true},
    {{"hombre", "hombres"}, {"man", "men"}, false}, {{"mujer", "mujeres"}, {"woman", "women"}, true},
};

static const noun things[] = {
    {{"casa", "casas"}, {"house", "houses"}, true},     {{"libro", "libros"}, {"book", "books"}, false},
    {{"mesa", "mesas"}, {"table", "tables"}, true},     {{"coche", "coches"}, {"car", "cars"}, false},
    {{"flor", "flores"}, {"flower", "flowers"}, true},  {{"árbol", "árboles"}, {"tree", "trees"}, false},
    {{"carta", "cartas"}, {"letter", "letters"}, true}, {{"zapato", "zapatos"}, {"shoe", "shoes"}, false},
    {{"silla", "sillas"}, {"chair", "chairs"}, true},   {{"huevo", "huevos"}, {"egg", "eggs"}, false},
};

typedef struct adjective {
    const char *spanish[2][2], *english; /* [feminine][many] */
} adjective;

static const adjective adjectives[] = {
    {{{"", ""}, {"", ""}}, ""},
    {{{"rojo", "rojos"}, {"roja", "rojas"}}, "red"},
    {{{"blanco", "blancos"}, {"blanca", "blancas"}}, "white"},
    {{{"nuevo", "nuevos"}, {"nueva", "nuevas"}}, "new"},
    {{{"viejo", "viejos"}, {"vieja", "viejas"}}, "old"},
    {{{"pequeño", "pequeños"}, {"pequeña", "pequeñas"}}, "small"},
    {{{"bonito", "bonitos"}, {"bonita", "bonitas"}}, "pretty"},
    {{{"grande", "grandes"}, {"grande", "grandes"}}, "big"},
    {{{"verde", "verdes"}, {"verde", "verdes"}}, "green"},
};

/* I, you and we need no word in Spanish: the verb says who. */
enum { I, YOU, WE, ONE, MANY, PERSONS };
static const char *const pronouns[] = {"I", "you", "we"};

typedef struct verb {
    const char *spanish[PERSONS], *english, *third;
} verb;

static const verb verbs[] = {
    {{"veo", "ves", "vemos", "ve", "ven"}, "see", "sees"},
    {{"busco", "buscas", "buscamos", "busca", "buscan"}, "look for", "looks for"},
    {{"pinto", "pintas", "pintamos", "pinta", "pintan"}, "paint", "paints"},
    {{"quiero", "quieres", "queremos", "quiere", "quieren"}, "want", "wants"},
    {{"compro", "compras", "compramos", "compra", "compran"}, "buy", "buys"},
    {{"vendo", "vendes", "vendemos", "vende", "venden"}, "sell", "sells"},
    {{"tengo", "tienes", "tenemos", "tiene", "tienen"}, "have", "has"},
    {{"limpio", "limpias", "limpiamos", "limpia", "limpian"}, "clean", "cleans"},
};

static const char *const times[][2] = {
    {"", ""},         {"hoy", "today"},
    {"ahora", "now"}, {"cada día", "every day"},
    {"aquí", "here"}, {"los lunes", "on Mondays"},
};

static const char *const articles[2][2][2] = {{{"el", "los"}, {"la", "las"}}, /* [a][feminine][many] */
                                              {{"un", "unos"}, {"una", "unas"}}};

/* ---- sentences ------------------------------------------------------------------------------- */

enum { STATEMENT, DENIAL, QUESTION, FORMS };

/* What a sentence says, whatever the language. */
typedef struct meaning {
    int form, person;
    const noun *subject; /* of ONE and MANY */
    const verb *verb;
    const noun *object;
    bool many, indefinite; /* the object */
    const adjective *adjective;
    const char *const *time;
} meaning;

enum { SUBJECTS = COUNT(pronouns) + 2 * COUNT(beings) };

static int pick(int64_t *number, int choices)
{
    int choice = (int)(*number % choices);
    *number /= choices;
    return choice;
}

static meaning meaning_of(int64_t number)
{
    int subject = pick(&number, SUBJECTS), being = subject - COUNT(pronouns);
    meaning m = {.person = being < 0 ? subject : ONE + being % 2, .subject = being < 0 ? NULL : &beings[being / 2]};
    /* One after the other: within braces C leaves the order open. */
    m.verb = &verbs[pick(&number, COUNT(verbs))];
    m.form = pick(&number, FORMS);
    m.object = &things[pick(&number, COUNT(things))];
    m.many = pick(&number, 2);
    m.indefinite = pick(&number, 2);
    m.adjective = &adjectives[pick(&number, COUNT(adjectives))];
    m.time = times[pick(&number, COUNT(times))];
    return m;
}

static void say(char *line, const char *word)
{
    size_t n = strlen(line);
    bool apart = n && *word && line[n - 1] != '\t';
    snprintf(line + n, GRAMMAR_LINE - n, "%s%s", apart ? " " : "", word);
}

static void say_spanish(const meaning *m, char *line)
{
    const noun *who = m->subject, *what = m->object;
    say(line, m->form == QUESTION ? "¿" : "");
    for (int k = 0; k < 2; k++) { /* a question has its verb in front */
        if (k == (m->form != QUESTION)) {
            say(line, m->form == DENIAL ? "no" : "");
            say(line, m->verb->spanish[m->person]);
        } else if (who) {
            say(line, articles[0][who->feminine][m->person == MANY]);
            say(line, who->spanish[m->person == MANY]);
        }
    }
    say(line, articles[m->indefinite][what->feminine][m->many]);
    say(line, what->spanish[m->many]);
    say(line, m->adjective->spanish[what->feminine][m->many]);
    say(line, m->time[0]);
    say(line, m->form == QUESTION ? "?" : ".");
}

static void say_english(const meaning *m, char *line)
{
    bool third = m->person == ONE, helped = m->form != STATEMENT;
    const char *what = m->object->english[m->many], *kind = m->adjective->english;
    const char *next = *kind ? kind : what, *help = third ? "does" : "do";
    say(line, m->form == QUESTION ? help : "");
    say(line, m->subject ? "the" : pronouns[m->person]);
    say(line, m->subject ? m->subject->english[m->person == MANY] : "");
    say(line, m->form == DENIAL ? help : "");
    say(line, m->form == DENIAL ? "not" : "");
    say(line, third && !helped ? m->verb->third : m->verb->english);
    say(line, !m->indefinite ? "the" : m->many ? "some" : strchr("aeiou", *next) ? "an" : "a");
    say(line, kind);
    say(line, what);
    say(line, m->time[1]);
    say(line, m->form == QUESTION ? "?" : ".");
}

int64_t grammar_count(void)
{
    return (int64_t)SUBJECTS * COUNT(verbs) * FORMS * COUNT(things) * 2 * 2 * COUNT(adjectives) * COUNT(times);
}

void grammar_line(int64_t number, char line[GRAMMAR_LINE])
{
    meaning m = meaning_of(number);
    *line = '\0';
    say_english(&m, line);
    strcat(line, "\t");
    say_spanish(&m, line);
}
