/* sentences.c - see sentences.h. */
#define _POSIX_C_SOURCE 200809L
#include "sentences.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "grammar.h"

const char *const task_names[TASKS] = {"tags", "chunks", "arcs"};

enum { GENERATED = 10000, HELD = 400, SHUFFLED = 1000000 };

/* ---- where they come from ------------------------------------------------------------------------ */

static bool is_conll2000(const source *s)
{
    return s->folder && access(eg_path_in(s->folder, "train.txt").text, F_OK) == 0;
}

void sentences_tasks(const source *s, bool has[TASKS])
{
    has[TAGS] = true;
    has[CHUNKS] = !s->folder || is_conll2000(s);
    has[ARCS] = !is_conll2000(s);
}

/* What a file has not is empty. */
static eg_status fill_2000(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)n;
    (void)user;
    out[TEXT] = in[0];
    out[TAG_TEXT] = in[1];
    out[CHUNK_TEXT] = in[2];
    out[RELATION_TEXT] = eg_text("");
    out[HEADS] = eg_zeros(EG_SHAPE(0), EG_I64);
    *m = SENTENCE_TENSORS;
    return out[HEADS] ? EG_OK : eg_last_error()->code;
}

static eg_status fill_u(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)n;
    (void)user;
    out[TEXT] = in[0];
    out[TAG_TEXT] = in[1];
    out[CHUNK_TEXT] = eg_text("");
    out[RELATION_TEXT] = in[2];
    out[HEADS] = in[3];
    *m = SENTENCE_TENSORS;
    return out[CHUNK_TEXT] ? EG_OK : eg_last_error()->code;
}

static eg_dataset *open_2000(const char *folder, bool train)
{
    const eg_column columns[] = {{.at = 0, .dtype = EG_U8}, {.at = 1, .dtype = EG_U8}, {.at = 2, .dtype = EG_U8}};
    eg_path path = eg_path_in(folder, train ? "train.txt" : "test.txt");
    return eg_dataset_map(eg_conll_new(path.text, columns, 3), fill_2000, NULL);
}

static eg_dataset *open_u(const char *folder, part of)
{
    static const char *const files[] = {"*train.conllu", "*dev.conllu", "*test.conllu"};
    const eg_column columns[] = {{.name = "form", .dtype = EG_U8},
                                 {.name = "upos", .dtype = EG_U8},
                                 {.name = "deprel", .dtype = EG_U8},
                                 {.name = "head", .dtype = EG_I64}};
    return eg_dataset_map(eg_conllu_new(eg_path_in(folder, files[of]).text, columns, 4), fill_u, NULL);
}

int64_t sentences_count(eg_dataset *d)
{
    int64_t n = 0;
    EG_FOR_EACH(x, d) {
        n += eg_numel(x[TEXT]) > 0;
    }
    return eg_dataset_status(d) ? -1 : n;
}

/* Training in an order that is always the same, of which the first sentences are held out. */
static eg_dataset *split(eg_dataset *train, const source *s, part of)
{
    int64_t count = train ? sentences_count(train) : -1;
    if (count < 2) {
        eg_dataset_free(train);
        if (count >= 0) {
            eg_fail(EG_EFORMAT, "cvt", "there are no two sentences to learn from");
        }
        return NULL;
    }
    int64_t held = s->held_out ? s->held_out : (count + 9) / 10;
    held = held < count ? held : count - 1;
    train = eg_dataset_cache(eg_dataset_shuffle(train, SHUFFLED, .seed = 1));
    return of == DEV ? eg_dataset_take(train, held) : eg_dataset_skip(train, held);
}

eg_dataset *sentences_open(const source *s, part of)
{
    if (!s->folder) {
        return grammar_dataset(of == TRAIN ? GENERATED : HELD, 3 * s->seed + (uint64_t)of);
    }
    if (is_conll2000(s)) {
        eg_dataset *d = open_2000(s->folder, of != TEST);
        return of == TEST ? d : split(d, s, of);
    }
    return open_u(s->folder, of);
}
