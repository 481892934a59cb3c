/* chars.c - learns a text letter by letter, and writes more of it. */
#define _POSIX_C_SOURCE 200809L
#include <egret/run.h>
#include <stdlib.h>

enum { WINDOW = 64, LETTERS = 256, UNITS = 192, LINES = 5000, NUMBERS = 8, SAMPLE = 200 };

/* ---- the text: a file, or somebody counting ------------------------------------------------------ */

static void spell(FILE *to, int n, const char *behind)
{
    static const char *const words[] = {
        "zero", "one",    "two",    "three",    "four",     "five",    "six",     "seven",     "eight",    "nine",
        "ten",  "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
    static const char *const tens[] = {"twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"};
    fprintf(to, "%s%s%s%s", n < 20 ? "" : tens[n / 10 - 2], n > 20 && n % 10 ? "-" : "",
            n < 20   ? words[n]
            : n % 10 ? words[n % 10]
                     : "",
            behind);
}

static FILE *count(FILE *to)
{
    eg_tensor *begin = eg_randint(EG_SHAPE(LINES), 0, 100 - NUMBERS + 1, EG_I64);
    for (int i = 0; i < LINES * NUMBERS && to; i++) {
        spell(to, (int)eg_get(begin, i / NUMBERS) + i % NUMBERS, i % NUMBERS < NUMBERS - 1 ? ", " : "\n");
    }
    return to && fseek(to, 0, SEEK_SET) == 0 ? to : NULL;
}

/* u8 [letters]. */
static eg_tensor *text_of(const char *path)
{
    char *text = NULL;
    size_t room = 0;
    FILE *file = path ? fopen(path, "rb") : count(tmpfile());
    int64_t n = file ? getdelim(&text, &room, '\0', file) : -1;
    eg_tensor *t = n > WINDOW ? eg_from(EG_SHAPE(n), EG_U8, text) : NULL;
    if (n <= WINDOW) {
        eg_failf(EG_EIO, "chars", "%s has %lld letters, at least %d are needed: give a longer text as --data",
                 path ? path : "a temporary file", (long long)(n > 0 ? n : 0), WINDOW + 1);
    }
    free(text);
    if (file) {
        fclose(file);
    }
    return t;
}

/* ---- learning, and writing ----------------------------------------------------------------------- */

/* At each letter of windows from anywhere in the text, side by side: what comes next? */
static eg_tensor *loss_of(eg_module *net, eg_tensor *text, int64_t windows)
{
    eg_tensor *begin = eg_randint(EG_SHAPE(1, windows), 0, eg_numel(text) - WINDOW, EG_I64);
    eg_tensor *read = eg_add(begin, eg_reshape(eg_arange_int(0, WINDOW, 1, EG_I64), EG_SHAPE(-1, 1)));
    eg_tensor *next = eg_index_select(text, 0, eg_flatten(eg_add_scalar(read, 1), 0, 1));
    read = eg_reshape(eg_index_select(text, 0, eg_flatten(read, 0, 1)), EG_SHAPE(WINDOW, windows));
    return eg_cross_entropy(eg_flatten(eg_module_forward(net, read), 0, 1), next);
}

/* What a terminal is not to be given becomes "?": controls, and all that is not ASCII unless it is UTF-8. */
static void make_fit(char *text)
{
    EG_SCOPE {
        bool whole = eg_text_words(eg_text(text)) != NULL;
        for (char *c = text; *c; c++) {
            const unsigned char byte = (unsigned char)*c;
            *c = (byte < 32 && byte != '\n') || byte == 127 || (byte > 127 && !whole) ? '?' : *c;
        }
    }
    eg_clear_error();
}

/* Letter after letter, each drawn by its probability to follow those before. */
static void show(eg_run *run, eg_module *net, double temperature)
{
    char text[SAMPLE + 2] = "\n";
    for (int n = 1; n <= SAMPLE && !eg_run_status(run); n++) {
        EG_SCOPE {
            int64_t seen = n < WINDOW ? n : WINDOW;
            eg_tensor *logits = eg_module_forward(net, eg_from(EG_SHAPE(seen, 1), EG_U8, text + n - seen));
            eg_tensor *last = eg_div_scalar(eg_flatten(eg_select(logits, 0, -1), 0, 1), temperature);
            eg_tensor *letter = eg_categorical(last, 1, .logits = true);
            text[n] = letter ? (char)eg_item_int(letter) : '\0';
            eg_run_heed(run, letter ? EG_OK : eg_last_error()->code);
        }
    }
    if (!eg_run_status(run)) {
        make_fit(text);
        eg_run_say(run, "after %lld steps it writes%s\n", (long long)eg_run_step(run), text);
    }
}

static eg_status work(eg_run *run, void *user)
{
    const double *temperature = user;
    const eg_run_settings *s = eg_run_settings_of(run);
    eg_tensor *text = eg_run_here(run, text_of(s->data));
    eg_module *net = eg_run_module(
        run, "net",
        eg_sequential_new(eg_embedding_new(LETTERS, 64), eg_gru_new(64, UNITS), eg_linear_new(UNITS, LETTERS)));
    eg_optim *adam = eg_run_optim(run, "adam", eg_adam_new(eg_module_parameters(net), .lr = 6e-3));
    eg_run_heed(run, text ? EG_OK : eg_last_error()->code);
    eg_run_hush(run);
    EG_RUN_EPOCHS(run)
    {
        EG_RUN_STEPS(none, run)
        {
            int64_t step = eg_run_step(run);
            eg_tape tape = eg_tape_open();
            eg_tensor *loss = loss_of(net, text, s->batch);
            eg_run_minimize(run, adam, tape, loss);
            eg_run_note(run, EG_RUN_VALUE("loss", loss));
            if (step >= 16 && (step & (step - 1)) == 0) { /* 16, 32, 64, ... */
                show(run, net, *temperature);
            }
        }
    }
    return eg_run_check_fell(run, "loss", 0.5);
}

static void settle(eg_run_settings *s, void *user)
{
    (void)user;
    s->steps = s->steps ? s->steps : 1024;
}

int main(int argc, char **argv)
{
    double temperature;
    const eg_flag flags[] = {
        EG_FLAG_REAL("temperature", &temperature, "0.7", 0.01, 100, "below 1 it writes what is likelier"),
    };
    return eg_run_main(argc, argv, work, &temperature, .name = "chars", .unit = "sequences", .flags = flags,
                       .flag_count = 1, .about = "Learns a text letter by letter, and writes more of it.",
                       .without = "epochs", .data = "any text file; without it somebody counts", .settle = settle,
                       .batch = 32, .smoke_steps = 70);
}
