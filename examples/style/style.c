/* style.c - a photo as it would be in the manner of a painting (Gatys, Ecker, Bethge 2015): a net looks, and the image
 * itself is what learns. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "look.h"
#include "pictures.h"

enum { SHOWN = 10, STEPS = 1000, ITERATIONS = 20 }; /* of a step of L-BFGS */

typedef struct options {
    look_options look;
    const char *content, *style, *optimizer;
    int64_t side;
    double lr;
    bool keep_trunk;
} options;

/* What a run is made of; tensors are the scope's. */
typedef struct painting {
    eg_run *run;
    look *look;
    eg_optim *optim;
    eg_tensor *from, *style;       /* pictures */
    eg_tensor *content;            /* what is where in the photo, as the net sees it */
    eg_tensor *canvas;             /* what learns, kept */
    eg_tensor *best, *lowest_loss; /* a canvas, and f64 [1] */
    look_losses before;            /* the step under way */
} painting;

/* ---- to begin with ----------------------------------------------------------------------------------- */

static eg_tensor *find(painting *p, const char *path, const char *pattern, int64_t side)
{
    const eg_run_settings *s = eg_run_settings_of(p->run);
    eg_tensor *picture = path                ? picture_load(path, side)
                         : s->data           ? picture_load_first(s->data, pattern, side)
                         : pattern[0] == 'c' ? picture_draw_scene(side * 3 / 4, side, 1)
                                             : picture_draw_paint(side * 3 / 4, side);
    eg_run_heed(p->run, picture ? EG_OK : eg_last_error()->code);
    return picture;
}

static void look_at_both(painting *p)
{
    eg_tensor *style = eg_run_here(p->run, picture_to_canvas(p->style));
    p->canvas = eg_parameter(eg_run_here(p->run, picture_to_canvas(p->from)));
    EG_RUN_COMPUTES(p->run)
    {
        p->content = look_content(p->look, p->canvas);
        eg_run_heed(p->run, p->content ? look_like(p->look, style) : eg_last_error()->code);
    }
}

static bool is_lbfgs(const options *o)
{
    return !strcmp(o->optimizer, "lbfgs");
}

static eg_optim *optim_new(const options *o, eg_tensor *canvas)
{
    const eg_parameters image = {.tensors = &canvas, .names = (const char *[]){"canvas"}, .count = 1};
    const double lr = o->lr > 0 ? o->lr : is_lbfgs(o) ? 1 : 5;
    return is_lbfgs(o) ? eg_lbfgs_new(image, .lr = lr, .max_iter = ITERATIONS, .history_size = 20, .strong_wolfe = true)
                       : eg_adam_new(image, .lr = lr, .beta1 = 0.99, .eps = 0.1, .epsilon_outside = true);
}

static eg_status open_painting(painting *p, const options *o)
{
    eg_run *run = p->run;
    int64_t side = eg_run_settings_of(run)->smoke ? 32 : o->side;
    p->from = find(p, o->content, "content/*.jpg", side);
    p->style = eg_run_status(run) ? NULL : find(p, o->style, "style/*.jpg", side);
    p->look = look_open(run, &o->look);
    if (eg_run_status(run)) {
        return eg_run_status(run);
    }
    look_at_both(p);
    p->best = eg_copy(p->canvas);
    p->lowest_loss = eg_full(EG_SHAPE(1), INFINITY, EG_F64);
    p->optim = eg_run_optim(run, o->optimizer, optim_new(o, p->canvas));
    eg_run_tensor(run, "canvas", p->canvas);
    eg_run_tensor(run, "best", p->best);
    eg_run_tensor(run, "lowest-loss", p->lowest_loss);
    return eg_run_open(run);
}

/* What the twin, or another run, needs to begin with the same. */
static void save_beginning(painting *p, const options *o)
{
    eg_run *run = p->run;
    eg_run_say(run, "%s with weights of %s", o->look.trunk.net,
               o->look.trunk.weights ? o->look.trunk.weights : "chance: it sees textures, but has learned nothing");
    eg_run_picture(run, "content", p->from);
    eg_run_picture(run, "style", p->style);
    if (o->keep_trunk) {
        eg_run_heed(run, eg_module_save(look_trunk(p->look), eg_run_path(run, "trunk.safetensors").text));
    }
}

/* ---- painting ---------------------------------------------------------------------------------------- */

static eg_path snapshot(const painting *p, int64_t step)
{
    char name[32];
    snprintf(name, sizeof name, "step-%05lld.png", (long long)step);
    return eg_run_path(p->run, name);
}

/* Steps are counted from 0 here, as losses are those before a step. */
static int64_t every(const painting *p)
{
    int64_t steps = eg_run_steps(p->run);
    return steps > SHOWN ? steps / SHOWN : 1;
}

static void tell(painting *p, const look_losses *l)
{
    int64_t step = eg_run_step(p->run) - 1;
    eg_run_say(p->run, "step %lld: total %.4e, style %.4e, content %.4e", (long long)step, eg_item(l->total),
               eg_item(l->style), eg_item(l->content));
    eg_tensor *picture = picture_of_canvas(p->canvas);
    eg_run_heed(p->run, picture ? eg_png_save(picture, snapshot(p, step).text) : eg_last_error()->code);
}

static void keep_best(painting *p, double loss)
{
    if (loss < eg_get(p->lowest_loss, 0)) {
        eg_run_heed(p->run, eg_copy_(p->best, p->canvas) ? eg_set(p->lowest_loss, 0, loss) : eg_last_error()->code);
    }
}

/* Called again within a step, by L-BFGS. */
static eg_tensor *losses(void *user)
{
    painting *p = user;
    look_losses l = look_compare(p->look, p->canvas, p->content);
    if (!p->before.total) {
        p->before = (look_losses){.total = eg_keep(l.total), .style = eg_keep(l.style), .content = eg_keep(l.content)};
    }
    return l.total;
}

static void step(painting *p)
{
    p->before = (look_losses){.total = NULL};
    if (eg_optim_needs_function(p->optim)) {
        const bool done = eg_optim_minimize_function(p->optim, losses, p) != NULL;
        eg_run_heed(p->run, done ? EG_OK : eg_last_error()->code);
    } else {
        eg_tape tape = eg_tape_open();
        eg_run_minimize(p->run, p->optim, tape, losses(p));
    }
    eg_scope_adopt(p->before.total);
    eg_scope_adopt(p->before.style);
    eg_scope_adopt(p->before.content);
}

static void paint(painting *p)
{
    eg_run_hush(p->run);
    EG_RUN_EPOCHS(p->run)
    {
        EG_RUN_STEPS(sample, p->run)
        {
            (void)sample;
            step(p);
            eg_run_note(p->run, EG_RUN_VALUE("loss", p->before.total), EG_RUN_VALUE("style", p->before.style),
                        EG_RUN_VALUE("content", p->before.content));
            if (!eg_run_heed(p->run, canvas_clip(p->canvas))) {
                keep_best(p, eg_item(p->before.total));
            }
            if (!eg_run_status(p->run) && (eg_run_step(p->run) - 1) % every(p) == 0) {
                tell(p, &p->before);
            }
        }
    }
}

/* ---- what came out ----------------------------------------------------------------------------------- */

/* How it came about, as a sheet and as a film, of the files: an earlier run may have made some. */
static eg_tensor *strip(painting *p)
{
    eg_tensor *shown[SHOWN];
    int n = 0;
    eg_film *film = eg_film_new(eg_run_path(p->run, "steps.gif").text, 0.4);
    if (!film && eg_last_error()->code == EG_ENOKERNEL) {
        eg_clear_error(); /* it goes without */
    }
    for (int64_t at = 0; n < SHOWN && at < eg_run_steps(p->run); at += every(p)) {
        shown[n] = eg_image_load(snapshot(p, at).text, .channels = 3);
        if (film) {
            eg_film_add(film, shown[n]);
        }
        n++;
    }
    eg_run_heed(p->run, film ? eg_film_close(film) : EG_OK);
    return eg_draw_grid(eg_stack(shown, n, 0), .columns = 5);
}

static eg_status report(painting *p)
{
    eg_run *run = p->run;
    eg_tensor *result = picture_of_canvas(p->best);
    eg_run_picture(run, "result", result);
    eg_run_picture(run, "sheet",
                   eg_run_status(run) ? NULL : picture_row((eg_tensor *[]){p->from, p->style, result}, 3));
    eg_run_picture(run, "steps", eg_run_status(run) ? NULL : strip(p));
    eg_run_plot(run, "loss.png", "Losses", "loss, style, content");
    eg_run_say(run, "lowest loss %.4e, %.2f steps/s", eg_get(p->lowest_loss, 0), eg_run_speed(run));
    return eg_run_check_fell(run, "loss", 0.95);
}

static eg_status work(eg_run *run, void *user)
{
    const options *o = user;
    EG_SCOPE {
        painting p = {.run = run};
        if (!open_painting(&p, o)) {
            save_beginning(&p, o);
            paint(&p);
            report(&p);
        }
        eg_release(p.canvas);
    }
    return eg_run_status(run);
}

/* There are no epochs that steps could be counted by. */
static void settle(eg_run_settings *s, void *user)
{
    s->steps = s->steps ? s->steps : is_lbfgs(user) ? STEPS / ITERATIONS : STEPS;
}

int main(int argc, char **argv)
{
    options o;
    const eg_flag flags[] = {
        EG_FLAG_TEXT("content", &o.content, NULL, "FILE", "the photo that is to be painted"),
        EG_FLAG_TEXT("style", &o.style, NULL, "FILE", "the painting whose manner it gets"),
        EG_FLAG_INTEGER("size", &o.side, "512", 32, 8192, "of the longer side of both, in pixels"),
        EG_FLAG_CHOICE("optimizer", &o.optimizer, "adam", "adam|lbfgs", "lbfgs: each step is up to 20 iterations"),
        EG_FLAG_REAL("lr", &o.lr, "0", 0, 1000, "learning rate; 0: 5, of lbfgs 1"),
        EG_FLAG_SWITCH("keep-trunk", &o.keep_trunk, "write the layers that look as trunk.safetensors"),
        LOOK_FLAGS(&o.look),
    };
    return eg_run_main(argc, argv, work, &o, .name = "style", .settle = settle,
                       .about = "Paints a photo in the manner of a painting, in 1000 steps (lbfgs: 50) unless --steps "
                                "says another number.",
                       .flags = flags, .flag_count = EG_FLAG_COUNT(flags), .without = "epochs batch",
                       .data = "folder with content/*.jpg and style/*.jpg, of which the first are taken; without it, "
                               "and without --content and --style, both are drawn");
}
