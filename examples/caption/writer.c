/* writer.c - see writer.h. */
#include "writer.h"

#include <math.h>
#include <stdlib.h>

#include "../common/tools.h"

enum { PANEL = 200, BATCH = 64, PANELS_MOST = 24, REFERENCES_MOST = 64 };

/* ---- writing ------------------------------------------------------------------------------------- */

/* Of n photos at once. */
static eg_status write_some(const writer *w, eg_run *run, eg_tensor *features, int64_t n, eg_tensor **made)
{
    eg_cache *cache = eg_cache_new();
    eg_tensor *begin = eg_run_here(run, eg_full_int(EG_SHAPE(n, 1), START, EG_I64));
    eg_status st = cache ? captioner_see(w->net, features, cache) : eg_last_error()->code;
    eg_decoded best = {0};
    if (!st) {
        best = w->beams > 1
                   ? eg_beam_search(captioner_next, w->net, begin, .cache = cache, .end = END, .steps = w->longest,
                                    .beams = w->beams, .length_power = w->length_power)
                   : eg_generate(captioner_next, w->net, begin, .cache = cache, .end = END, .steps = w->longest);
    }
    eg_tensor *ids = best.ids ? eg_to(best.ids, eg_cpu()) : NULL;
    eg_tensor *lengths = ids ? eg_to(best.lengths, eg_cpu()) : NULL;
    st = st || lengths ? st : eg_last_error()->code;
    for (int64_t i = 0; i < n && !st; i++) {
        eg_tensor *row = eg_select(ids, 0, i);
        row = eg_ndim(row) == 2 ? eg_select(row, 0, 0) : row;
        int64_t length = (int64_t)eg_get(lengths, i * (eg_numel(lengths) / n));
        bool ended = length > 0 && (int64_t)eg_get(row, length - 1) == END;
        made[i] = eg_keep(eg_slice(row, 0, 0, ended ? length - 1 : length, 1));
        st = made[i] ? EG_OK : eg_last_error()->code;
    }
    eg_cache_free(cache);
    return st;
}

eg_status writer_write(const writer *w, eg_run *run, const photos *all, int64_t from, int64_t to, eg_tensor **made)
{
    eg_status st = eg_module_eval(w->net);
    for (int64_t at = from; at < to && !st; at += BATCH) {
        const int64_t n = to - at < BATCH ? to - at : BATCH;
        eg_tensor *features[BATCH];
        EG_RUN_COMPUTES(run)
        {
            for (int64_t i = 0; i < n && !st; i++) {
                features[i] = look_of(w->seen, &all->at[at + i]);
                st = features[i] ? EG_OK : eg_last_error()->code;
            }
            st = st ? st : write_some(w, run, eg_run_here(run, eg_stack(features, (int)n, 0)), n, made + at - from);
        }
    }
    return st;
}

eg_status writer_write_one(const writer *w, eg_run *run, eg_tensor *features, eg_tensor **made)
{
    return write_some(w, run, eg_run_here(run, eg_unsqueeze(features, 0)), 1, made);
}

eg_tensor *writer_text(const writer *w, eg_tensor *ids)
{
    return eg_vocabulary_decode(w->words, ids);
}

/* ---- measuring ----------------------------------------------------------------------------------- */

static const char *const orders[4] = {"1", "2", "3", "4"};

static eg_status judge_one(eg_metrics *m, const char *said, const photo *p)
{
    char *known[REFERENCES_MOST];
    int count = 0;
    eg_status st = EG_OK;
    while (count < p->count && count < REFERENCES_MOST &&
           (known[count] = tool_string(caption_clean(p->captions[count])))) {
        count++;
    }
    if (count < p->count && count < REFERENCES_MOST) {
        st = eg_last_error()->code;
    }
    for (int k = 0; k < 4 && !st; k++) {
        st = eg_metrics_bleu(m, orders[k], said, (const char *const *)known, count, .tokens = EG_BLEU_NONE,
                             .order = k + 1);
    }
    while (count) {
        free(known[--count]);
    }
    return st;
}

bleus writer_judge(const writer *w, const photos *all, int64_t from, int64_t to, eg_tensor *const *made)
{
    bleus b = {.of = {NAN, NAN, NAN, NAN}};
    eg_metrics *m = eg_metrics_new();
    b.st = m ? EG_OK : eg_last_error()->code;
    for (int64_t i = from; i < to && !b.st; i++) {
        EG_SCOPE {
            char *said = tool_string(writer_text(w, made[i - from]));
            b.st = said ? judge_one(m, said, &all->at[i]) : eg_last_error()->code;
            free(said);
        }
    }
    for (int k = 0; k < 4 && !b.st && from < to; k++) {
        b.of[k] = eg_metrics_value(m, orders[k]);
    }
    eg_metrics_free(m);
    return b;
}

/* ---- drawing ------------------------------------------------------------------------------------- */

/* The photo, dark where the net did not look for this word. */
static eg_tensor *lit(const writer *w, eg_tensor *photo_, eg_tensor *weights)
{
    const int64_t side = eg_size(photo_, 1);
    eg_tensor *map = eg_reshape(weights, EG_SHAPE(1, w->seen->rows, w->seen->columns));
    map = eg_image_resize(eg_div(map, eg_clamp_min(eg_max(map), 1e-9)), side, side);
    return eg_mul(photo_, eg_add_scalar(eg_mul_scalar(map, 0.7), 0.3));
}

eg_tensor *writer_draw(const writer *w, eg_run *run, const photo *p, eg_tensor *ids)
{
    eg_tensor *panels[PANELS_MOST + 1], *start = eg_to(eg_full_int(EG_SHAPE(1), START, EG_I64), eg_cpu());
    const char *names[PANELS_MOST + 1] = {""};
    const int64_t count = eg_numel(ids) < PANELS_MOST ? eg_numel(ids) : PANELS_MOST;
    eg_tensor *features = eg_unsqueeze(p->count ? look_of(w->seen, p) : look_compute(w->seen, run, p), 0);
    eg_tensor *said = eg_concat((eg_tensor *[]){start, eg_slice(ids, 0, 0, count, 1)}, 2, 0);
    eg_tensor *weights =
        count && said ? captioner_look(w->net, eg_run_here(run, features), eg_run_here(run, eg_unsqueeze(said, 0)))
                      : NULL;
    weights = weights ? eg_to(weights, eg_cpu()) : NULL;
    panels[0] = look_shown(w->seen, p);
    for (int64_t t = 0; t < count && weights && panels[t]; t++) {
        names[t + 1] = eg_vocabulary_word(w->words, (int64_t)eg_get(ids, t));
        panels[t + 1] = lit(w, panels[0], eg_select(eg_select(weights, 0, 0), 0, t));
    }
    eg_tensor *all = panels[0] && (weights || !count) ? eg_stack(panels, (int)count + 1, 0) : NULL;
    return all ? eg_draw_grid(all, .captions = names, .columns = 5, .scale = (int)(PANEL / w->seen->side) + 1) : NULL;
}
