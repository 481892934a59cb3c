/* step_sounds.c - nets that hear, read strokes and calculate: those of the example programs. */
#include "examples/deepspeech/net.h"
#include "examples/neural_gpu/net.h"
#include "examples/quickdraw/net.h"
#include "examples/speech/nets.h"
#include "step.h"

/* ---- words (Sainath and Parada 2015) --------------------------------------------------------------- */

static void speech(training *s)
{
    const int64_t n = step_size(100, 2);
    s->net[0] = speech_net("conv", 98, 40, 12);
    s->optim[0] = eg_sgd_new(eg_module_parameters(s->net[0]), .lr = 1e-3);
    s->x[0] = step_random(EG_SHAPE(n, 1, 98, 40));
    s->x[1] = step_integers(EG_SHAPE(n), 12);
}

static eg_status speech_step(training *s, eg_tensor **loss)
{
    eg_tape tape = eg_tape_open();
    eg_tensor *l = eg_cross_entropy(eg_module_forward(s->net[0], s->x[0]), s->x[1]);
    *loss = l;
    return eg_optim_minimize(s->optim[0], tape, l);
}

/* ---- sentences (Amodei et al. 2015): two seconds, ten letters a second ----------------------------- */

static void deepspeech(training *s)
{
    const int64_t n = step_size(8, 2), frames = step_size(200, 40);
    const deepspeech_options o = {.filters = step_size(32, 2),
                                  .hidden = step_size(800, 8),
                                  .layers = step_size(5, 2),
                                  .cell = "gru",
                                  .decay = 0.997};
    eg_scope scope = eg_scope_push();
    s->net[0] = deepspeech_net(161, 29, &o);
    s->optim[0] = eg_adam_new(eg_module_parameters(s->net[0]), .lr = 5e-4);
    s->x[0] = step_random(EG_SHAPE(n, frames, 161));
    s->x[1] = eg_keep(eg_full_int(EG_SHAPE(n), frames, EG_I64));
    s->x[2] = step_integers(EG_SHAPE(n, frames / 10), 28);
    eg_scope_pop(scope, NULL);
}

static eg_status deepspeech_step(training *s, eg_tensor **loss)
{
    eg_tensor *frames;
    eg_tape tape = eg_tape_open();
    eg_tensor *log_probs = deepspeech_forward(s->net[0], s->x[0], s->x[1], &frames);
    eg_tensor *l = eg_mean(eg_ctc_loss(log_probs, s->x[2], .input_lengths = frames, .blank = 28, .reduction = EG_NONE,
                                       .zero_infinity = true));
    *loss = l;
    return eg_optim_minimize(s->optim[0], tape, l);
}

/* ---- drawings: sixty points each ------------------------------------------------------------------- */

static void quickdraw(training *s)
{
    const int64_t n = step_size(8, 2), points = step_size(60, 8);
    const quickdraw_options o = {.features = {48, 64, 96},
                                 .kernels = {5, 5, 3},
                                 .convs = 3,
                                 .layers = step_size(3, 1),
                                 .nodes = step_size(128, 8),
                                 .cell = "cudnn_lstm",
                                 .dropout = 0.3};
    eg_scope scope = eg_scope_push();
    s->net[0] = quickdraw_net(345, &o);
    s->optim[0] = eg_adam_new(eg_module_parameters(s->net[0]), .lr = 1e-4);
    eg_optim_clip_norm(s->optim[0], 9);
    s->x[0] = step_random(EG_SHAPE(n, points, 3));
    s->x[1] = eg_keep(eg_full_int(EG_SHAPE(n), points, EG_I64));
    s->x[2] = step_integers(EG_SHAPE(n), 345);
    eg_scope_pop(scope, NULL);
}

static eg_status quickdraw_step(training *s, eg_tensor **loss)
{
    eg_tape tape = eg_tape_open();
    eg_tensor *l = eg_cross_entropy(quickdraw_forward(s->net[0], s->x[0], s->x[1]), s->x[2]);
    *loss = l;
    return eg_optim_minimize(s->optim[0], tape, l);
}

/* ---- algorithms (Kaiser and Sutskever 2015): tapes of twenty symbols ------------------------------- */

static void calculator(training *s)
{
    const int64_t n = step_size(32, 2), length = step_size(20, 4);
    const neural_gpu_options o = {.maps = step_size(64, 8), .height = 4, .layers = 2, .relaxed = 1, .dropout = 0.1};
    s->net[0] = neural_gpu_new(16, &o);
    s->optim[0] = eg_adam_new(eg_module_parameters(s->net[0]), .lr = 5e-4, .eps = 1e-3);
    eg_optim_clip_norm(s->optim[0], 4);
    s->x[0] = step_integers(EG_SHAPE(n, length), 16);
    s->x[1] = step_integers(EG_SHAPE(n * length), 16);
}

static eg_status calculator_step(training *s, eg_tensor **loss)
{
    eg_tape tape = eg_tape_open();
    eg_tensor *l =
        eg_cross_entropy(eg_flatten(eg_module_forward(s->net[0], s->x[0]), 0, 1), s->x[1], .label_smoothing = 0.1);
    *loss = l;
    return eg_optim_minimize(s->optim[0], tape, l);
}

const step_model step_sounds[] = {
    {"speech", speech, speech_step},
    {"deepspeech", deepspeech, deepspeech_step},
    {"quickdraw", quickdraw, quickdraw_step},
    {"neural-gpu", calculator, calculator_step},
    {NULL, NULL, NULL},
};
