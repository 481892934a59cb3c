/* judge.c - see judge.h. */
#include "judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../common/tools.h"

eg_tensor *smoothed_loss(eg_tensor *logits, eg_tensor *target, double s)
{
    const double classes = (double)eg_size(logits, -1);
    /* eg_cross_entropy's smoothing gives the right class a share too */
    eg_tensor *loss = eg_cross_entropy(eg_flatten(logits, 0, 1), eg_flatten(target, 0, 1), .ignore = true,
                                       .label_smoothing = s * classes / (classes - 1));
    const double least = s > 0 ? -(1 - s) * log(1 - s) - s * log(s / (classes - 1)) : 0;
    return eg_sub_scalar(loss, least);
}

judged judge_pairs(const translator *t, eg_run *run, eg_dataset *batches)
{
    eg_metrics *m = eg_metrics_new();
    eg_status st = m ? eg_module_eval(t->net) : eg_last_error()->code;
    EG_RUN_EACH(pairs, run, batches)
    {
        if (!st) {
            eg_tensor *logits = eg_transformer_forward(t->net, pairs[0], pairs[1]), *target = pairs[1];
            eg_tensor *counts = eg_ne_scalar(target, 0), *right = eg_eq(eg_argmax(logits, .axes = EG_AXES(2)), target);
            eg_tensor *where = eg_reshape(eg_nonzero(eg_flatten(counts, 0, 1)), EG_SHAPE(-1));
            eg_tensor *loss = smoothed_loss(logits, target, 0);
            st = eg_metrics_perplexity(m, "perplexity", loss, eg_numel(where));
            st = st ? st : eg_metrics_mean(m, "accuracy", eg_index_select(eg_flatten(right, 0, 1), 0, where));
            right = eg_logical_or(right, eg_logical_not(counts));
            st = st ? st : eg_metrics_mean(m, "whole", eg_all(right, .axes = EG_AXES(1)));
        }
    }
    eg_run_heed(run, st);
    judged v = {NAN, NAN, NAN};
    if (!eg_run_status(run)) {
        v.loss = log(eg_metrics_value(m, "perplexity"));
        v.accuracy = eg_metrics_value(m, "accuracy");
        v.whole = eg_metrics_value(m, "whole");
    }
    eg_metrics_free(m);
    return v;
}

bleus judge_texts(eg_tensor *const *made, eg_tensor *const *references, int64_t n)
{
    bleus b = {.uncased = NAN, .cased = NAN};
    int64_t right = 0;
    eg_metrics *m = eg_metrics_new();
    b.st = m ? EG_OK : eg_last_error()->code;
    for (int64_t i = 0; i < n && !b.st; i++) {
        char *text = tool_string(made[i]), *reference = text ? tool_string(references[i]) : NULL;
        const char *const known[1] = {reference};
        right += reference && strcmp(text, reference) == 0;
        for (int cased = 0; cased < 2 && !b.st; cased++) {
            b.st = !reference ? eg_fail(EG_ENOMEM, "transformer", "out of memory for a text")
                              : eg_metrics_bleu(m, cased ? "cased" : "uncased", text, known, 1,
                                                .tokens = EG_BLEU_TRANSFORMER, .lower = !cased);
        }
        free(text);
        free(reference);
    }
    if (!b.st && n) {
        b.uncased = eg_metrics_value(m, "uncased");
        b.cased = eg_metrics_value(m, "cased");
        b.right = (double)right / (double)n;
    }
    eg_metrics_free(m);
    return b;
}
