/* infer.c - see infer.h. */
#define _POSIX_C_SOURCE 200809L
#include "infer.h"

#include <stdio.h>
#include <stdlib.h>

#include "../common/tools.h"

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

/* The translator of a checkpoint, NULL: the newest of the run's folder. */
static eg_status open_model(translator *t, eg_run *run, const char *model)
{
    eg_path newest = eg_run_latest(run);
    if (!model && !*newest.text) {
        return eg_failf(EG_ESTATE, "nmt", "there is no checkpoint in %s: train first, or say which --model",
                        eg_run_path(run, "").text);
    }
    return translator_open(t, run, model ? model : newest.text);
}

eg_status nmt_infer(eg_run *run, const char *sentence, const char *model)
{
    translator t = {0};
    eg_status st = open_model(&t, run, model);
    st = st ? st : nmt_show(run, &t, sentence, "attention");
    translator_free(&t);
    if (!st) {
        eg_run_say(run, "%s", eg_run_path(run, "attention.png").text);
    }
    return st;
}

static eg_status write_line(FILE *to, eg_run *run, const translator *t, const eg_tensor *line)
{
    char *sentence = tool_string(line);
    translation made;
    eg_status st = sentence ? translate(t, run, sentence, &made) : eg_last_error()->code;
    if (!st) {
        translation_write(to, t, &made);
    }
    free(sentence);
    return st;
}

eg_status nmt_infer_file(eg_run *run, const char *from, const char *to, const char *model)
{
    translator t = {0};
    char *text = NULL;
    size_t size = 0;
    eg_dataset *lines = eg_run_dataset(run, NULL, eg_text_lines_new(from));
    FILE *file = open_memstream(&text, &size);
    eg_status st = file ? eg_run_status(run) : eg_fail(EG_ENOMEM, "nmt", "out of memory");
    st = st ? st : open_model(&t, run, model);
    if (!st) {
        EG_FOR_EACH(line, lines) {
            st = write_line(file, run, &t, line[0]);
            if (st) {
                break;
            }
        }
        st = st ? st : eg_dataset_status(lines);
    }
    if (file && fclose(file) != 0 && !st) {
        st = eg_fail(EG_ENOMEM, "nmt", "out of memory");
    }
    st = st ? st : eg_file_write(to, text, size);
    free(text);
    translator_free(&t);
    return st;
}
