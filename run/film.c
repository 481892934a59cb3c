/* film.c - the pictures of epochs as a film. */
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "run/run.h"

static eg_status add_frame(eg_film *film, const char *path)
{
    eg_status st = EG_OK;
    EG_SCOPE {
        eg_tensor *image = eg_image_load(path);
        st = image ? eg_film_add(film, image) : eg_last_error()->code;
    }
    return st;
}

static eg_status make_film(eg_run *run, const char *name, eg_film *film)
{
    eg_status st = EG_OK;
    int64_t shown = -1, last = run->epochs_done;
    for (int64_t i = 0; i <= last && !st; i++) {
        eg_path from = run_epoch_picture(run, name, i);
        int64_t stage = llround(2 * sqrt((double)i));
        if ((stage > shown || i == last) && access(from.text, R_OK) == 0) {
            st = add_frame(film, from.text);
            shown = stage;
        }
    }
    return st;
}

eg_status eg_run_film(eg_run *run, const char *name)
{
    char file[EG_NAME_MOST + 1];
    snprintf(file, sizeof file, "%.240s.gif", name);
    eg_film *film = run->status ? NULL : eg_film_new(eg_run_path(run, file).text, 0.2);
    if (!film && !run->status && eg_last_error()->code == EG_ENOKERNEL) {
        eg_clear_error(); /* it goes without */
        return EG_OK;
    }
    eg_status st = film ? make_film(run, name, film) : eg_last_error()->code;
    eg_status closed = film ? eg_film_close(film) : EG_OK;
    return run->status ? run->status : eg_run_heed(run, st ? st : closed);
}
