/* audio.c - features of sounds as a module. */
#include <egret/nn/audio.h>
#include <egret/ops.h>
#include <math.h>

#include "lib/ops/dispatch.h"
#include "nn/nn.h"

typedef struct features {
    eg_module base;
    int64_t frame, hop, n_fft;
    double power, floor, offset;
    bool center, banded, cepstral;
    eg_tensor *window, *filters, *dct;
} features;

static eg_tensor *features_forward(eg_module *m, eg_tensor *x)
{
    const features *f = (const features *)m;
    eg_tensor *y = eg_spectrogram(x, f->frame, .hop = f->hop, .n_fft = f->n_fft, .window = f->window,
                                  .center = f->center, .power = f->power);
    y = f->banded ? eg_matmul(y, f->filters) : y;
    y = f->offset != 0 ? eg_add_scalar(y, f->offset) : y;
    y = eg_log(eg_clamp_min(y, f->floor));
    return f->cepstral ? eg_matmul(y, f->dct) : y;
}

static void features_members(eg_module *m, eg_members *members)
{
    features *f = (features *)m;
    eg_member_buffer(members, "window", &f->window);
    if (f->banded) {
        eg_member_buffer(members, "filters", &f->filters);
    }
    if (f->cepstral) {
        eg_member_buffer(members, "dct", &f->dct);
    }
}

static const eg_module_kind features_kind = {
    .size = sizeof(eg_module_kind), .name = "audio_features", .forward = features_forward, .members = features_members};

/* What was left 0 filled in. */
static void complete(double rate, eg_audio_features_options *o)
{
    o->frame = o->frame ? o->frame : (int64_t)(rate / 40);
    o->hop = o->hop ? o->hop : (int64_t)(rate / 100);
    for (int64_t n = 1; !o->n_fft && n > 0 && o->frame > 0; n *= 2) {
        o->n_fft = n >= o->frame ? n : 0;
    }
    o->window = o->window ? o->window : eg_hann_window;
    o->floor = o->floor == 0 ? 1e-10 : o->floor;
    o->bands = eg__or_count(o->bands, 80);
}

static eg_status check(double rate, const eg_audio_features_options *o)
{
    bool fine = rate >= 1 && isfinite(rate) && o->frame >= 1 && o->hop >= 1 && o->n_fft >= o->frame && o->bands >= 0 &&
                o->coefficients >= 0 && o->power >= 0 && o->floor > 0 && isfinite(o->offset);
    return fine ? EG_OK
                : eg__fail(EG_EINVAL, features_kind.name,
                           "rate %g, frame %lld, hop %lld, n_fft %lld, bands %lld, coefficients %lld, power %g, floor "
                           "%g, offset %g",
                           rate, (long long)o->frame, (long long)o->hop, (long long)o->n_fft, (long long)o->bands,
                           (long long)o->coefficients, o->power, o->floor, o->offset);
}

eg_module *eg_audio_features_new_with(double rate, const eg_audio_features_options *options)
{
    eg_audio_features_options o;
    eg__options(&o, sizeof o, options);
    complete(rate >= 1 && rate < 1e9 ? rate : 0, &o);
    features *f = check(rate, &o) ? NULL : eg_module_new(sizeof *f, &features_kind);
    if (!f) {
        return NULL;
    }
    f->frame = o.frame;
    f->hop = o.hop;
    f->n_fft = o.n_fft;
    f->power = o.power;
    f->floor = o.floor;
    f->offset = o.offset;
    f->center = o.center;
    f->banded = o.bands > 0;
    f->cepstral = o.coefficients > 0;
    int64_t width = o.bands ? o.bands : o.n_fft / 2 + 1;
    eg_scope s = eg_scope_push();
    f->window = eg_keep(o.window(o.frame));
    f->filters = f->banded ? eg_keep(eg_mel_filters(o.n_fft, rate, o.bands, .low = o.low, .high = o.high,
                                                    .scale = o.scale, .area = o.area, .first = o.first))
                           : NULL;
    f->dct = f->cepstral ? eg_keep(eg_dct_matrix(width, o.coefficients, !o.plain_dct)) : NULL;
    eg_scope_pop(s, NULL);
    return eg_module_finish(&f->base);
}
