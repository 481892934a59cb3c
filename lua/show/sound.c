/* sound.c - eg.sound: a sound as a picture, and in notebooks to be heard; see show.h. */
#include <lauxlib.h>
#include <math.h>

#include "base64.h"
#include "draw/sound.h"
#include "egret/data/audio.h"
#include "lua/bind.h"
#include "show.h"

static const char function[] = "sound";

enum { SAMPLES_MOST = 1 << 27, WAVE_HEIGHT = 200, SPECTRUM_HEIGHT = 320 };

/* Pushes the sound as f32 on the CPU, [channels, samples]. */
static eg_tensor *push_sound(lua_State *L)
{
    eg_tensor *x = eg__lua_tensor(L, 1);
    int axes = eg_ndim(x);
    if (axes < 1 || axes > 2 || eg_numel(x) < 1 || eg_numel(x) > SAMPLES_MOST || (axes == 2 && eg_size(x, 0) > 64)) {
        eg__lua_error(L, "sound: a sound is [samples] or [channels, samples], not empty, of 64 channels at most");
    }
    eg__lua_box *box = eg__lua_slot(L);
    show_work work = show_begin();
    x = eg_cast(eg_to(eg_detach(x), eg_cpu()), EG_F32);
    box->t = eg_keep(eg_contiguous(axes == 1 ? eg_unsqueeze(x, 0) : x));
    show_end(work);
    if (!box->t) {
        eg__lua_raise(L);
    }
    return box->t;
}

static double read_rate(lua_State *L, int table)
{
    lua_getfield(L, table, "rate");
    double rate = lua_tonumber(L, -1);
    luaL_argcheck(L, rate >= 1 && rate < 1e6 && rate == floor(rate), table,
                  "rate, the samples a second, must be given");
    lua_pop(L, 1);
    return rate;
}

/* ---- the picture --------------------------------------------------------------------------- */

#ifdef DRAW_PICTURES

static const double *numbers(eg_tensor *t)
{
    return eg_data(eg_contiguous(eg_cast(t, EG_F64)));
}

static eg_tensor *picture_of(canvas *c)
{
    eg_tensor *t = c ? eg_from(EG_SHAPE(c->height, c->width, 3), EG_U8, c->pixels) : NULL;
    canvas_free(c);
    return t;
}

static eg_tensor *draw_wave(eg_tensor *x, double rate, const char *title, const font *f)
{
    sound_sheet s = {.title = title, .values = numbers(x), .rows = (int)eg_size(x, 0), .columns = (int)eg_size(x, 1)};
    s.seconds = (double)s.columns / rate;
    s.height = WAVE_HEIGHT;
    return s.values ? picture_of(waveform_draw(&s, f)) : NULL;
}

/* Decibels of frames of 25 ms, of 80 dB below the loudest; of all channels together. */
static eg_tensor *draw_spectrum(eg_tensor *x, double rate, const font *f)
{
    int64_t frame = (int64_t)fmax(16, rate / 40), n = eg_size(x, 1), hop = frame / 4;
    while (n / hop > 8000) {
        hop *= 2;
    }
    eg_tensor *powers =
        eg_spectrogram(eg_mean(x, .axes = EG_AXES(0)), frame, .hop = hop, .window = eg_hann_window(frame));
    eg_tensor *db = eg_decibels(powers, .range = 80);
    sound_sheet s = {.values = numbers(db), .rows = (int)eg_size(db, 0), .columns = (int)eg_size(db, 1)};
    s.seconds = (double)n / rate;
    s.hertz = rate / 2;
    s.height = SPECTRUM_HEIGHT;
    return s.values ? picture_of(spectrogram_draw(&s, f)) : NULL;
}

/* Pushes the picture, u8 [H, W, 3]: the waveform and, of what is long enough to have one, the spectrogram below. */
static void push_picture(lua_State *L, eg_tensor *x, double rate, const char *title)
{
    eg__lua_box *box = eg__lua_slot(L);
    show_work work = show_begin();
    font *f = font_if_any();
    eg_tensor *sheets[2] = {draw_wave(x, rate, title, f), NULL};
    int n = 1;
    if (sheets[0] && eg_size(x, 1) >= (int64_t)fmax(16, rate / 40)) {
        sheets[n++] = draw_spectrum(x, rate, f);
    }
    box->t = eg_keep(eg_concat(sheets, n, 0));
    show_end(work);
    font_free(f);
    if (!box->t) {
        eg__lua_raise(L);
    }
}

#else

static void push_picture(lua_State *L, eg_tensor *x, double rate, const char *title)
{
    (void)x, (void)rate, (void)title;
    eg__lua_error(L, "sound: this build draws no pictures");
}

#endif

/* ---- the player ---------------------------------------------------------------------------- */

static void add_base64(luaL_Buffer *b, const uint8_t *bytes, size_t n)
{
    for (size_t at = 0; at < n; at += BASE64_PIECE) {
        size_t piece = n - at < BASE64_PIECE ? n - at : BASE64_PIECE;
        luaL_addsize(b, base64_write(luaL_prepbuffsize(b, BASE64_LETTERS), bytes + at, piece));
    }
}

/* Gives the hook at a place of the stack an audio element with the sound in it, a WAV file. */
static void send_player(lua_State *L, int taker, int text, eg_tensor *x, double rate)
{
    eg__lua_box *box = eg__lua_slot(L);
    show_work work = show_begin();
    box->t = eg_keep(eg_audio_encode(x, (int64_t)rate));
    show_end(work);
    if (!box->t) {
        eg__lua_raise(L);
    }
    lua_pushvalue(L, taker);
    lua_pushliteral(L, "text/html");
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    luaL_addstring(&b, "<audio controls src=\"data:audio/wav;base64,");
    add_base64(&b, eg_data(box->t), (size_t)eg_numel(box->t));
    luaL_addstring(&b, "\"></audio>");
    luaL_pushresult(&b);
    lua_pushvalue(L, text);
    lua_call(L, 3, 0);
    eg_release(box->t);
    box->t = NULL;
}

int eg__lua_sound(lua_State *L)
{
    static const char *const names[] = {"rate", "title", "path", NULL};
    show_request r = {.scale = 1, .function = function};
    terminal t;
    EG__LUA_BEGIN(2)
    luaL_checktype(L, 2, LUA_TTABLE);
    eg__lua_only_names(L, 2, function, names);
    double rate = read_rate(L, 2);
    r.path = show_word(L, 2, function, "path");
    const char *title = show_word(L, 2, function, "title");
    eg_tensor *x = push_sound(L);
    if (terminal_look(&t, stdout)) {
        return eg__lua_raise(L);
    }
    char seconds[32];
    lua_Number length = (double)eg_size(x, 1) / rate;
    lua_number2str(seconds, sizeof seconds, length);
    lua_pushfstring(L, "[a sound of %s seconds]", seconds);
    r.text = lua_gettop(L);
    if (!r.path && show_push_hook(L)) {
        send_player(L, lua_gettop(L), r.text, x, rate);
    }
    push_picture(L, x, rate, title);
    r.picture = lua_gettop(L);
    show_send(L, &r, &t);
    return 0;
}
