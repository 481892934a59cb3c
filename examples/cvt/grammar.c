/* grammar.c - see grammar.h. */
#include "grammar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MOST = 32, TEXT_MOST = 512 };

/* ---- words ----------------------------------------------------------------------------------- */

static const char *const stems[] = {"bar", "dol", "fen",  "gar", "hul", "kim", "lor", "mip",
                                    "nor", "pel", "quin", "ros", "sal", "tam", "ul",  "vin",
                                    "wex", "yor", "zan",  "bri", "cla", "dre", "flo", "gre"};
static const char *const nouns[] = {"dog", "boat", "letter", "garden", "road", "teacher", "house", "clock"};
static const char *const verbs[] = {"see", "find", "carry", "like", "know", "bring"};
static const char *const both[] = {"paint", "watch", "order", "plan", "help", "answer", "hammer", "water"};
static const char *const adjectives[] = {"old", "red", "small", "quiet", "open", "clean"};
static const char *const near_verbs[] = {"with", "in", "on", "near"}; /* of what is done */
static const char *const names[] = {"Anna", "Tom", "Ms. Hill", "London", "the Baker"};
/* ---- sentences ------------------------------------------------------------------------------- */

typedef struct writer {
    char text[TEXT_MOST], tags[TEXT_MOST], chunks[TEXT_MOST], relations[TEXT_MOST];
    int64_t head[WORDS_MOST]; /* counted from 1; 0: the root */
    int count;
    uint64_t state;
} writer;

/* 0..n - 1, all alike (Knuth's MMIX). */
static int draw(writer *w, size_t n)
{
    w->state = w->state * 6364136223846793005u + 1442695040888963407u;
    return (int)((w->state >> 33) % n);
}
#define ANY(w, list) list[draw(w, sizeof(list) / sizeof *(list))]

static void append(char *to, const char *word)
{
    size_t used = strlen(to);
    snprintf(to + used, TEXT_MOST - used, "%s%s", used ? " " : "", word);
}

/* Returns the word's number, from 1. */
static int put(writer *w, const char *word, const char *tag, const char *chunk, const char *relation)
{
    append(w->text, word);
    append(w->tags, tag);
    append(w->chunks, chunk);
    append(w->relations, relation);
    return ++w->count;
}

/* A word that nobody knows, which its ending tells: a noun in -er, an adjective in -ous. */
static const char *made(writer *w, char *to, const char *ending)
{
    snprintf(to, 32, "%s%s%s", ANY(w, stems), ANY(w, stems), ending);
    return to;
}

static const char *noun(writer *w, char *to)
{
    int kind = draw(w, 6);
    return kind < 2 ? ANY(w, nouns) : kind < 4 ? ANY(w, both) : made(w, to, "er");
}

/* Returns the number of its noun; words in front of it hang on that. */
static int noun_phrase(writer *w, const char *relation)
{
    char word[32];
    int from = w->count, kind = draw(w, 8);
    if (kind == 0) {
        return put(w, draw(w, 2) ? "she" : "they", "PRON", "B-NP", relation);
    }
    if (kind == 1) {
        const char *name = ANY(w, names), *space = strchr(name, ' ');
        if (space) {
            snprintf(word, sizeof word, "%.*s", (int)(space - name), name);
            put(w, word, *name == 't' ? "DET" : "PROPN", "B-NP", *name == 't' ? "det" : "compound");
        }
        int at = put(w, space ? space + 1 : name, "PROPN", space ? "I-NP" : "B-NP", relation);
        w->head[at - 1 - (space != NULL)] = at;
        return at;
    }
    put(w, draw(w, 2) ? "the" : "a", "DET", "B-NP", "det");
    for (int i = draw(w, 3); i > 0; i--) {
        put(w, draw(w, 2) ? ANY(w, adjectives) : made(w, word, "ous"), "ADJ", "I-NP", "amod");
    }
    int at = put(w, noun(w, word), "NOUN", "I-NP", relation);
    for (int i = from; i < at - 1; i++) {
        w->head[i] = at;
    }
    return at;
}

/* "of" belongs to what is in front of it, the others to what is done. */
static void add_where(writer *w, int verb, int thing)
{
    bool of = draw(w, 3) == 0;
    int preposition = put(w, of ? "of" : ANY(w, near_verbs), "ADP", "B-PP", "case");
    int at = noun_phrase(w, of ? "nmod" : "obl");
    w->head[preposition - 1] = at;
    w->head[at - 1] = of ? thing : verb;
}

static int verb_phrase(writer *w, const char *relation)
{
    char word[32], ended[40];
    bool modal = draw(w, 3) == 0;
    int kind = draw(w, 6);
    const char *stem = kind < 2 ? ANY(w, verbs) : kind < 4 ? ANY(w, both) : made(w, word, "ize");
    snprintf(ended, sizeof ended, "%s%s", stem, modal ? "" : "s");
    int helper = modal ? put(w, draw(w, 2) ? "will" : "may", "AUX", "B-VP", "aux") : 0;
    int at = put(w, ended, "VERB", modal ? "I-VP" : "B-VP", relation);
    if (helper) {
        w->head[helper - 1] = at;
    }
    if (draw(w, 4) == 0) {
        w->head[put(w, made(w, word, "ly"), "ADV", "B-ADVP", "advmod") - 1] = at;
    }
    return at;
}

static void clause(writer *w, const char *relation, int head)
{
    int subject = noun_phrase(w, "nsubj"), verb = verb_phrase(w, relation), thing = subject;
    w->head[subject - 1] = verb;
    w->head[verb - 1] = head;
    if (draw(w, 4)) {
        thing = noun_phrase(w, "obj");
        w->head[thing - 1] = verb;
    }
    if (draw(w, 2)) {
        add_where(w, verb, thing);
    }
    if (!head) {
        if (draw(w, 4) == 0) {
            int because = put(w, draw(w, 2) ? "because" : "while", "SCONJ", "B-SBAR", "mark");
            int before = w->count;
            clause(w, "advcl", verb);
            for (int i = before; i < w->count; i++) { /* "because" hangs on the verb of its clause */
                w->head[because - 1] = w->head[i] == verb ? i + 1 : w->head[because - 1];
            }
        }
        w->head[put(w, ".", "PUNCT", "O", "punct") - 1] = verb;
    }
}

/* ---- the dataset ----------------------------------------------------------------------------- */

static eg_status make(int64_t index, eg_tensor **sample, int *n, void *user)
{
    const uint64_t *seed = user;
    writer w = {.state = *seed * 1000003 + (uint64_t)index};
    for (int i = 0; i < 8; i++) { /* neighbours begin alike */
        draw(&w, 2);
    }
    clause(&w, "root", 0);
    sample[0] = eg_text(w.text);
    sample[1] = eg_text(w.tags);
    sample[2] = eg_text(w.chunks);
    sample[3] = eg_text(w.relations);
    sample[4] = eg_from(EG_SHAPE(w.count), EG_I64, w.head);
    *n = 5;
    return sample[4] ? EG_OK : eg_last_error()->code;
}

eg_dataset *grammar_dataset(int64_t count, uint64_t seed)
{
    uint64_t *kept = malloc(sizeof *kept);
    if (kept) {
        *kept = seed;
    }
    eg_dataset *d = kept ? eg_dataset_from(make, count, kept, free) : NULL;
    if (!d) {
        free(kept);
    }
    return d;
}
