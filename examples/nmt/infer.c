/* infer.c - see infer.h. */
#include "infer.h"

eg_status nmt_show(eg_run *run, const translator *t, const char *sentence, const char *picture)
{
    eg_status st = EG_OK;
    EG_SCOPE {
        translation made;
        st = translate(t, run, sentence, &made);
        if (!st) {
            translation_print(eg_run_out(run), t, &made);
            st = eg_run_picture(run, picture, translation_draw(t, &made));
        }
    }
    return st;
}

eg_status nmt_infer(eg_run *run, const char *sentence, const char *model)
{
    translator t = {0};
    eg_path newest = eg_run_latest(run);
    if (!model && !*newest.text) {
        return eg_failf(EG_ESTATE, "nmt", "there is no checkpoint in %s: train first, or say which --model",
                        eg_run_path(run, "").text);
    }
    eg_status st = translator_open(&t, run, model ? model : newest.text);
    st = st ? st : nmt_show(run, &t, sentence, "attention");
    translator_free(&t);
    if (!st) {
        eg_run_say(run, "%s", eg_run_path(run, "attention.png").text);
    }
    return st;
}
