/* world.c - see world.h. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MOST = 1024, FACTS_LEAST = 2, FACTS_MOST = 5, TALES = 5 };

static const char *const names[] = {"Anna", "Tom", "Maria", "Peter", "Ida", "Karl", "Nora", "Hugo", "Lea", "Omar"};
static const char *const numbers[] = {"two", "three", "four", "five", "six", "seven", "eight", "nine"};
static const char *const things[] = {"coins", "letters", "apples", "books", "keys", "stamps", "pens", "eggs"};
static const char *const colours[] = {"red", "blue", "green", "old", "small", "heavy"};
static const char *const places[] = {"box", "bag", "drawer", "basket", "case", "jar"};
static const char *const verbs[2][3] = {{"likes", "loves", "enjoys"}, {"hates", "fears", "dislikes"}};
static const char *const faces[2][3] = {{"smiles", "laughs", "grins"}, {"frowns", "cries", "sighs"}};
static const char *const others[] = {"belongs", "to",    "painted", "paint", "did",  "colour", "lost",  "lose",
                                     "home",    "hid",   "hide",    "below", "how",  "many",   "whose", "is",
                                     "a",       "keeps", "in",      "the",   "what", "does",   "keep",  "who",
                                     "where",   "them",  "are",     ".",     "?",    "of"};
#define COUNT(list) (sizeof(list) / sizeof *(list))

/* Somebody keeps so many things in some place. */
typedef struct fact {
    int name, number, thing, colour, place;
} fact;

typedef struct world {
    uint64_t state;
    fact facts[FACTS_MOST];
    int count;
} world;

/* 0..n - 1, all alike (Knuth's MMIX). */
static int draw(world *w, size_t n)
{
    w->state = w->state * 6364136223846793005u + 1442695040888963407u;
    return (int)((w->state >> 33) % n);
}

static world world_of(uint64_t seed, int64_t index, int count)
{
    world w = {.state = seed * 1000003 + (uint64_t)index};
    for (int i = 0; i < 8; i++) { /* neighbours begin alike */
        draw(&w, 2);
    }
    w.count = count ? count : FACTS_LEAST + draw(&w, FACTS_MOST - FACTS_LEAST + 1);
    int first = draw(&w, COUNT(names)), thing = draw(&w, COUNT(things)); /* nobody twice, and nothing */
    for (int i = 0; i < w.count; i++) {
        w.facts[i] = (fact){.name = (first + 3 * i) % (int)COUNT(names),
                            .number = draw(&w, COUNT(numbers)),
                            .thing = (thing + 3 * i) % (int)COUNT(things),
                            .colour = draw(&w, COUNT(colours)),
                            .place = draw(&w, COUNT(places))};
    }
    return w;
}

static int say(const fact *f, bool turned, char *to, size_t size)
{
    return turned ? snprintf(to, size, "In the %s %s %s keeps %s %s.", colours[f->colour], places[f->place],
                             names[f->name], numbers[f->number], things[f->thing])
                  : snprintf(to, size, "%s keeps %s %s in the %s %s.", names[f->name], numbers[f->number],
                             things[f->thing], colours[f->colour], places[f->place]);
}

/* ---- words --------------------------------------------------------------------------------------- */

static eg_status count_words(eg_word_counts *c, const char *const *list, size_t n)
{
    eg_status st = EG_OK;
    for (size_t i = 0; i < n && !st; i++) {
        eg_tensor *text = eg_text_normalise(eg_text(list[i]), .lower = true);
        st = text ? eg_word_counts_add(c, text) : eg_last_error()->code;
    }
    return st;
}

eg_tokenizer *world_words(void)
{
    static const char *const special[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    static const struct {
        const char *const *words;
        size_t count;
    } all[] = {{names, COUNT(names)},   {numbers, COUNT(numbers)}, {things, COUNT(things)}, {colours, COUNT(colours)},
               {places, COUNT(places)}, {others, COUNT(others)},   {verbs[0], 6},           {faces[0], 6}};
    eg_word_counts *counts = eg_word_counts_new();
    eg_status st = counts ? EG_OK : eg_last_error()->code;
    EG_SCOPE {
        for (size_t i = 0; i < COUNT(all) && !st; i++) {
            st = count_words(counts, all[i].words, all[i].count);
        }
    }
    eg_vocabulary *v = st ? NULL : eg_vocabulary_new(counts, .reserved = special, .reserved_count = COUNT(special));
    eg_tokenizer *t = v ? eg_wordpiece_new(v) : NULL;
    eg_word_counts_free(counts);
    eg_vocabulary_free(v);
    return t;
}

/* ---- pairs --------------------------------------------------------------------------------------- */

/* Half of the pairs have two sentences in a good mood, 0; of the others one at least is not. */
static eg_status make_pair(int64_t index, eg_tensor **sample, int *n, void *user)
{
    char first[TEXT_MOST], second[TEXT_MOST];
    world w = world_of(*(uint64_t *)user, index, 1);
    const fact *f = &w.facts[0];
    const bool good = draw(&w, 2);
    const int mood = good ? 0 : draw(&w, 2), other = good ? 0 : mood ? draw(&w, 2) : 1;
    const char *verb = verbs[mood][draw(&w, COUNT(verbs[0]))], *face = faces[other][draw(&w, COUNT(faces[0]))];
    snprintf(first, sizeof first, "%s %s the %s %s.", names[f->name], verb, colours[f->colour], places[f->place]);
    snprintf(second, sizeof second, "%s %s at the %s of %s.", names[f->name], face, things[f->thing],
             names[draw(&w, COUNT(names))]);
    sample[0] = eg_text(first);
    sample[1] = eg_text(second);
    sample[2] = eg_full_int(EG_SCALAR, good, EG_I64);
    *n = 3;
    return sample[2] ? EG_OK : eg_last_error()->code;
}

/* ---- questions ----------------------------------------------------------------------------------- */

/* What a sentence of a passage says, and is asked; in both a digit stands for a part of the fact. */
static const struct tale {
    const char *told, *asked, *answer;
} tales[TALES] = {
    {"0 keeps 1 2 in the 3 4.", "What does 0 keep?", "1 2"},
    {"The 3 4 belongs to 0.", "Whose is the 3 4?", "0"},
    {"0 painted the 4 3.", "What colour did 0 paint the 4?", "3"},
    {"0 lost 1 2 at home.", "How many 2 did 0 lose?", "1"},
    {"0 hid the 2 below the 4.", "Where did 0 hide the 2?", "below the 4"},
};

/* Fills a sentence in; how long it is. */
static size_t fill(const char *sentence, const fact *f, char *to, size_t size)
{
    const char *const parts[] = {names[f->name], numbers[f->number], things[f->thing], colours[f->colour],
                                 places[f->place]};
    size_t used = 0;
    for (; *sentence && used + 1 < size; sentence++) {
        const char letter[2] = {*sentence, '\0'};
        const bool part = *sentence >= '0' && *sentence <= '4';
        used += (size_t)snprintf(to + used, size - used, "%s", part ? parts[*sentence - '0'] : letter);
    }
    return used < size ? used : size - 1;
}

/* All tales but one, each of another fact, and a question about one of them. */
static eg_status make_question(int64_t index, eg_tensor **sample, int *n, void *user)
{
    char id[32], context[TEXT_MOST], question[TEXT_MOST], answer[TEXT_MOST];
    world w = world_of(*(uint64_t *)user, index, TALES - 1);
    const int first = draw(&w, TALES), about = draw(&w, TALES - 1);
    size_t used = 0, begin = 0;
    for (int i = 0; i < TALES - 1; i++) {
        const struct tale *t = &tales[(first + 2 * i) % TALES];
        used += (size_t)snprintf(context + used, TEXT_MOST - used, "%s", i ? " " : "");
        const size_t from = used;
        used += fill(t->told, &w.facts[i], context + used, TEXT_MOST - used);
        if (i == about) {
            fill(t->asked, &w.facts[i], question, TEXT_MOST);
            fill(t->answer, &w.facts[i], answer, TEXT_MOST);
            const char *found = strstr(context + from, answer);
            begin = found ? (size_t)(found - context) : 0;
        }
    }
    snprintf(id, sizeof id, "question-%lld", (long long)index + 1);
    sample[0] = eg_text(id);
    sample[1] = eg_text(context);
    sample[2] = eg_text(question);
    sample[3] = eg_full_int(EG_SHAPE(1), (int64_t)begin, EG_I64);
    eg_tensor *text = eg_text(answer);
    sample[4] = text ? eg_unsqueeze(text, 0) : NULL;
    *n = 5;
    return sample[4] ? EG_OK : eg_last_error()->code;
}

static eg_dataset *dataset_of(eg_sample_fn make, int64_t count, uint64_t seed)
{
    uint64_t *kept = malloc(sizeof *kept);
    if (!kept) {
        eg_fail(EG_ENOMEM, "bert", "out of memory");
        return NULL;
    }
    *kept = seed;
    eg_dataset *d = eg_dataset_from(make, count, kept, free);
    if (!d) {
        free(kept);
    }
    return d;
}

eg_dataset *world_pairs(int64_t count, uint64_t seed)
{
    return dataset_of(make_pair, count, seed);
}

eg_dataset *world_questions(int64_t count, uint64_t seed)
{
    return dataset_of(make_question, count, seed);
}

/* ---- texts --------------------------------------------------------------------------------------- */

/* Line i is of document i / (FACTS_MOST + 1), whose last lines may be empty. */
static eg_status make_line(int64_t index, eg_tensor **sample, int *n, void *user)
{
    char text[TEXT_MOST] = "";
    world w = world_of(*(uint64_t *)user, index / (FACTS_MOST + 1), 0);
    const int at = (int)(index % (FACTS_MOST + 1));
    if (at < w.count) {
        say(&w.facts[at], at % 2, text, sizeof text);
    }
    sample[0] = eg_text(text);
    *n = 1;
    return sample[0] ? EG_OK : eg_last_error()->code;
}

eg_dataset *world_lines(int64_t documents, uint64_t seed)
{
    return dataset_of(make_line, documents * (FACTS_MOST + 1), seed);
}
