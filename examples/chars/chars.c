/* chars.c - learns a text letter by letter, and writes more of it. */
#define _POSIX_C_SOURCE 200809L
#include <egret/run.h>
#include <stdlib.h>

enum { WINDOW = 64, LETTERS = 256, LINES = 20000, MOST = 21, SAMPLE = 200 };
#ifndef RATE
#define RATE 6e-3
#endif

/* ---- the text: a file, or sums in words ---------------------------------------------------------- */

static void spell(FILE *to, int n, const char *behind)
{
    static const char *const words[] = {"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine",
                                        "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen",
                                        "seventeen", "eighteen", "nineteen"};
    static const char *const tens[] = {"twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"};
    fprintf(to, "%s%s%s%s", n < 20 ? "" : tens[n / 10 - 2], n > 20 && n % 10 ? "-" : "",
            n < 20 ? words[n] : n % 10 ? words[n % 10] : "", behind);
}

static void add_up(FILE *to)
{
    eg_tensor *terms = eg_randint(EG_SHAPE(2 * LINES), 0, MOST, EG_I64);
    for (int i = 0; i < LINES; i++) {
        int a = (int)eg_get(terms, 2 * i), b = (int)eg_get(terms, 2 * i + 1);
        spell(to, a, " and ");
        spell(to, b, " are ");
        spell(to, a + b, ".\n");
    }
}

/* u8 [letters]. */
static eg_tensor *text_of(const char *path)
{
    char *text = NULL;
    size_t n = 0;
    FILE *from = path ? fopen(path, "rb") : NULL, *to = open_memstream(&text, &n);
    for (int c = 0; from && to && (c = fgetc(from)) != EOF;) {
        fputc(c, to);
    }
    if (to && !path) {
        add_up(to);
    }
    bool whole = to && fclose(to) == 0 && (!path || (from && !ferror(from))) && n > WINDOW;
    eg_tensor *t = whole ? eg_from(EG_SHAPE((int64_t)n), EG_U8, text) : NULL;
    free(text);
    if (from) {
        fclose(from);
    }
    return whole ? t : (eg_failf(EG_EIO, "chars", "%s has no %d letters", path ? path : "memory", WINDOW + 1), NULL);
}

/* ---- learning ------------------------------------------------------------------------------------ */

/* Windows from anywhere in the text, side by side: [WINDOW + 1, count]. */
static eg_tensor *windows_of(eg_tensor *text, int64_t count)
{
    eg_tensor *begin = eg_randint(EG_SHAPE(1, count), 0, eg_numel(text) - WINDOW, EG_I64);
    eg_tensor *places = eg_add(begin, eg_reshape(eg_arange_int(0, WINDOW + 1, 1, EG_I64), EG_SHAPE(-1, 1)));
    return eg_reshape(eg_index_select(text, 0, eg_flatten(places, 0, 1)), EG_SHAPE(WINDOW + 1, count));
}

/* At each letter of the windows: what comes next? */
static eg_tensor *loss_of(eg_module *net, eg_tensor *windows)
{
    eg_tensor *read = eg_slice(windows, 0, 0, WINDOW, 1), *next = eg_slice(windows, 0, 1, WINDOW + 1, 1);
    return eg_cross_entropy(eg_flatten(eg_module_forward(net, read), 0, 1), eg_flatten(next, 0, 1));
}

/* Letter after letter, each drawn by its probability to follow those before. */
static void show(eg_run *run, eg_module *net, double temperature)
{
    char text[SAMPLE + 2] = "\n";
    for (int n = 1; n <= SAMPLE && !eg_run_status(run); n++) {
        EG_SCOPE {
            int64_t seen = n < WINDOW ? n : WINDOW;
            eg_tensor *logits = eg_module_forward(net, eg_from(EG_SHAPE(seen, 1), EG_U8, text + n - seen));
            eg_tensor *last = eg_div_scalar(eg_reshape(eg_select(logits, 0, -1), EG_SHAPE(-1)), temperature);
            eg_tensor *letter = eg_categorical(last, 1, .logits = true);
            eg_run_heed(run, letter ? EG_OK : eg_last_error()->code);
            text[n] = letter ? (char)eg_item_int(letter) : '\0';
        }
    }
    eg_run_say(run, "after %lld steps it writes%s\n", (long long)eg_run_step(run), text);
}

typedef struct options {
    int64_t units;
    double temperature;
} options;

static eg_status work(eg_run *run, void *user)
{
    const options *o = user;
    const eg_run_settings *s = eg_run_settings_of(run);
    eg_tensor *text = text_of(s->data);
    eg_module *net = eg_run_module(run, "net", eg_sequential_new(eg_embedding_new(LETTERS, 64), eg_gru_new(64, o->units),
                                                                 eg_linear_new(o->units, LETTERS)));
    eg_optim *adam = eg_run_optim(run, "adam", eg_adam_new(eg_module_parameters(net), .lr = RATE));
    const eg_schedule rates = EG_SCHEDULE(.kind = EG_RATE_COSINE, .lr = RATE, .steps = s->steps);
    eg_run_heed(run, text ? eg_optim_follow(adam, &rates) : eg_last_error()->code);
    eg_run_hush(run);
    EG_RUN_EPOCHS(run) {
        EG_RUN_STEPS(none, run) {
            eg_tape tape = eg_tape_open();
            eg_tensor *loss = loss_of(net, eg_run_here(run, windows_of(text, s->batch)));
            eg_run_minimize(run, adam, tape, loss);
            eg_run_note(run, EG_RUN_VALUE("loss", loss));
            if ((eg_run_step(run) & (eg_run_step(run) - 1)) == 0) { /* 1, 2, 4, 8, ... */
                show(run, net, o->temperature);
            }
        }
    }
    return eg_run_check_fell(run, "loss", 0.8);
}

static void settle(eg_run_settings *s, void *user)
{
    (void)user;
    s->steps = s->steps ? s->steps : 2048;
}

int main(int argc, char **argv)
{
    options o;
    const eg_flag flags[] = {
        EG_FLAG_INTEGER("units", &o.units, "192", 1, 65536, "numbers it remembers"),
        EG_FLAG_REAL("temperature", &o.temperature, "0.7", 0.01, 100, "below 1 it writes what is likelier"),
    };
    return eg_run_main(argc, argv, work, &o, .name = "chars", .about = "Learns a text letter by letter, and writes.",
                       .flags = flags, .flag_count = EG_FLAG_COUNT(flags), .data = "any text file; else sums in words",
                       .without = "epochs", .settle = settle, .batch = 32, .smoke_steps = 60);
}
