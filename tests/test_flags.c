/* test_flags.c - command lines from a table: values, mistakes, files of settings, help, manual page, completion. */
#define _POSIX_C_SOURCE 200809L
#include <egret/run/flags.h>

#include "tests/egt.h"

typedef struct words {
    int64_t epochs;
    double lr;
    bool smoke, flip;
    const char *data, *shape;
} words;

/* What a line was told, and what it said. */
typedef struct trial {
    words got;
    bool goes_on;
    int status, operands;
    char said[8192], complained[4096];
    char first[64]; /* operand */
} trial;

static const eg_flag *table_of(words *w, int *count)
{
    static eg_flag table[8];
    const eg_flag rows[] = {
        EG_FLAG_INTEGER("epochs", &w->epochs, "3", 1, 100, "passes over the data"),
        EG_FLAG_GROUP("learning"),
        EG_FLAG_REAL("lr", &w->lr, "1e-3", 1e-9, 10, "learning rate"),
        EG_FLAG_SWITCH("smoke", &w->smoke, "seconds only"),
        EG_FLAG_BOOL("random_flip", &w->flip, "true", "mirror half of them"),
        EG_FLAG_TEXT("data", &w->data, NULL, "DIR", "a folder"),
        EG_FLAG_CHOICE("shape", &w->shape, "round", "round|square", "of it; it's said"),
    };
    memcpy(table, rows, sizeof rows);
    *count = EG_FLAG_COUNT(rows);
    return table;
}

static const eg_flag_alias aliases[] = {
    EG_FLAG_ALIAS("num_train_epochs", "epochs"),
    EG_FLAG_ALIAS("flip", "random_flip"),
    EG_FLAG_ALIAS_VALUE("squared", "shape", "square"),
    EG_FLAG_IGNORED("num_ps_tasks", "there are no parameter servers"),
    EG_FLAG_IGNORED_BOOL("xla", "there is no graph compiler"),
};

static void copy(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from ? from : "");
}

/* One line with at most two operands; words up to a NULL. */
static trial parse_words(char **argv)
{
    static trial t;
    char *out = NULL, *err = NULL;
    size_t out_size, err_size;
    int argc = 0;
    t = (trial){.status = -1};
    while (argv[argc]) {
        argc++;
    }
    eg_flags line = {.program = "learn",
                     .about = "Learns.",
                     .operand = "FILE",
                     .most_operands = 2,
                     .aliases = aliases,
                     .alias_count = EG_FLAG_COUNT(aliases),
                     .out = open_memstream(&out, &out_size),
                     .err = open_memstream(&err, &err_size)};
    line.table = table_of(&t.got, &line.count);
    t.goes_on = eg_flags_parse(&line, argc, argv, &t.status);
    t.operands = t.goes_on ? line.operand_count : 0;
    copy(t.first, sizeof t.first, t.operands ? line.operands[0] : "");
    if (t.goes_on && t.got.data) {
        static char data[64];
        copy(data, sizeof data, t.got.data);
        t.got.data = data;
    }
    t.got.shape = strcmp(t.got.shape, "square") == 0 ? "square" : strcmp(t.got.shape, "round") == 0 ? "round" : "?";
    eg_flags_free(&line);
    fclose(line.out);
    fclose(line.err);
    copy(t.said, sizeof t.said, out);
    copy(t.complained, sizeof t.complained, err);
    free(out);
    free(err);
    return t;
}
#define PARSE(...) parse_words((char *[]){"learn", __VA_ARGS__, NULL})

static bool refused(trial t, const char *why)
{
    return !t.goes_on && t.status == 2 && strstr(t.complained, why) && strstr(t.complained, "usage: learn");
}

EGT(defaults_and_values)
{
    trial t = parse_words((char *[]){"learn", NULL});
    EGT_CHECK(t.goes_on && t.got.epochs == 3 && t.got.lr == 1e-3 && !t.got.smoke && t.got.flip && !t.got.data);
    EGT_CHECK(strcmp(t.got.shape, "round") == 0);
    t = PARSE("--epochs", "7", "--lr=0.5", "--smoke", "--no-random-flip", "--data", "here", "--shape", "square", "a");
    EGT_CHECK(t.goes_on && t.got.epochs == 7 && t.got.lr == 0.5 && t.got.smoke && !t.got.flip);
    EGT_CHECK(strcmp(t.got.data, "here") == 0 && strcmp(t.got.shape, "square") == 0);
    EGT_CHECK(t.operands == 1 && strcmp(t.first, "a") == 0);
}

EGT(names_may_have_either_dash)
{
    EGT_CHECK(!PARSE("--random_flip=false").got.flip && !PARSE("--random-flip=0").got.flip);
    EGT_CHECK(!PARSE("--norandom_flip").got.flip && !PARSE("--no_random_flip").got.flip);
    EGT_CHECK(PARSE("--random-flip").got.flip && PARSE("--smoke=yes").got.smoke && !PARSE("--no-smoke").got.smoke);
}

EGT(bools_have_many_spellings)
{
    static const char *const yes[] = {"true", "True", "TRUE", "t", "T", "yes", "Yes", "y", "on", "ON", "1"};
    static const char *const no[] = {"false", "False", "FALSE", "f", "F", "no", "No", "n", "off", "OFF", "0"};
    for (int i = 0; i < EG_FLAG_COUNT(yes); i++) {
        char word[32];
        snprintf(word, sizeof word, "--smoke=%s", yes[i]);
        EGT_CHECK(PARSE(word).goes_on && PARSE(word).got.smoke);
        snprintf(word, sizeof word, "--random_flip=%s", no[i]);
        EGT_CHECK(PARSE(word).goes_on && !PARSE(word).got.flip);
    }
    EGT_CHECK(refused(PARSE("--smoke="), "true or false") && refused(PARSE("--smoke=tr"), "true or false"));
    EGT_CHECK(refused(PARSE("--smoke=2"), "true or false") && refused(PARSE("--smoke=truer"), "true or false"));
}

EGT(bools_take_true_and_false_from_the_next_word)
{
    trial t = PARSE("--random_flip", "False", "--smoke", "true", "--epochs", "4");
    EGT_CHECK(t.goes_on && !t.got.flip && t.got.smoke && t.got.epochs == 4 && t.operands == 0);
    t = PARSE("--smoke", "yes");
    EGT_CHECK(t.goes_on && t.got.smoke && t.operands == 1 && strcmp(t.first, "yes") == 0);
}

EGT(integers_may_be_whole_floats)
{
    EGT_CHECK(PARSE("--epochs=32.0").got.epochs == 32 && PARSE("--epochs", "1e2").got.epochs == 100);
    EGT_CHECK(PARSE("--epochs=+5.").got.epochs == 5 && PARSE("--epochs=2.5E1").got.epochs == 25);
    EGT_CHECK(refused(PARSE("--epochs=2.5"), "whole number from 1 to 100, not '2.5'"));
    EGT_CHECK(refused(PARSE("--epochs=1e3"), "not '1e3'") && refused(PARSE("--epochs=1e400"), "not '1e400'"));
    EGT_CHECK(refused(PARSE("--epochs=0x10"), "not '0x10'") && refused(PARSE("--epochs=nan"), "not 'nan'"));
    EGT_CHECK(refused(PARSE("--epochs=1.0x"), "not '1.0x'") && refused(PARSE("--epochs=."), "not '.'"));
    EGT_CHECK(refused(PARSE("--epochs=1e"), "not '1e'") && refused(PARSE("--epochs= 5"), "not ' 5'"));
}

EGT(one_dash_is_enough)
{
    trial t = PARSE("-epochs=3", "-lr", "0.5", "-smoke", "-norandom_flip", "-data", "-");
    EGT_CHECK(t.goes_on && t.got.epochs == 3 && t.got.lr == 0.5 && t.got.smoke && !t.got.flip && t.got.data);
    EGT_CHECK(PARSE("-help").status == 0 && refused(PARSE("-epoch", "3"), "unknown flag -epoch: did you mean"));
}

EGT(choices_are_accepted_in_any_case)
{
    EGT_CHECK(strcmp(PARSE("--shape=Square").got.shape, "square") == 0);
    EGT_CHECK(strcmp(PARSE("--shape", "ROUND").got.shape, "round") == 0);
    EGT_CHECK(refused(PARSE("--shape=squares"), "one of") && refused(PARSE("--shape="), "one of"));
}

EGT(aliases_set_the_row_they_name)
{
    trial t = PARSE("--num_train_epochs=5.0", "--noflip", "--squared=True");
    EGT_CHECK(t.goes_on && t.got.epochs == 5 && !t.got.flip && strcmp(t.got.shape, "square") == 0 && !*t.complained);
    EGT_CHECK(strcmp(PARSE("--squared=False").got.shape, "round") == 0 && PARSE("--nosquared").goes_on);
    EGT_CHECK(PARSE("--squared=False", "--shape=round").goes_on);
    EGT_CHECK(refused(PARSE("--squared", "--shape=round"), "--shape is given twice"));
    EGT_CHECK(refused(PARSE("--num-train-epochs=5", "--epochs=5"), "--epochs is given twice"));
    EGT_CHECK(refused(PARSE("--num-train-epochs"), "--num_train_epochs needs a value (N)"));
    EGT_CHECK(refused(PARSE("--squared=maybe"), "--squared wants true or false"));
    EGT_CHECK(refused(PARSE("--num_train_epoch=5"), "did you mean --num_train_epochs?"));
}

EGT(ignored_flags_cost_a_warning)
{
    trial t = PARSE("--xla", "--num_ps_tasks", "3", "--epochs=2", "a");
    EGT_CHECK(t.goes_on && t.got.epochs == 2 && t.operands == 1);
    EGT_CHECK(strcmp(t.complained, "learn: warning: --xla is ignored: there is no graph compiler\n"
                                   "learn: warning: --num_ps_tasks is ignored: there are no parameter servers\n") == 0);
    EGT_CHECK(PARSE("--noxla", "--num_ps_tasks=").goes_on && PARSE("--xla=False", "-xla").goes_on);
    EGT_CHECK(refused(PARSE("--num_ps_tasks"), "--num_ps_tasks needs a value"));
}

EGT(known_only_skips_other_flags)
{
    int64_t gpus = 0;
    const eg_flag table[] = {EG_FLAG_INTEGER("num_gpus", &gpus, "1", 1, 64, "devices")};
    eg_flags line = {.program = "learn", .table = table, .count = 1, .known_only = true};
    char *argv[] = {"learn", "--model", "vgg16", "--help", "-num-gpus=2.0", "--xla", "x", NULL};
    int status;
    EGT_CHECK(eg_flags_parse(&line, 7, argv, &status) && gpus == 2 && line.operand_count == 0);
    eg_flags_free(&line);
    line.err = fopen("/dev/null", "w");
    argv[4] = "--num_gpus=0";
    EGT_CHECK(!eg_flags_parse(&line, 7, argv, &status) && gpus == 1);
    fclose(line.err);
}

EGT(operands_end_flags)
{
    trial t = PARSE("--", "--epochs", "x");
    EGT_CHECK(t.goes_on && t.operands == 2 && t.got.epochs == 3);
    EGT_CHECK(refused(PARSE("a", "b", "c"), "'c' is one word too many"));
    EGT_CHECK(PARSE("-").operands == 1);
}

EGT(mistakes_are_explained)
{
    EGT_CHECK(refused(PARSE("--epochs", "0"), "--epochs wants a whole number from 1 to 100, not '0'"));
    EGT_CHECK(refused(PARSE("--epochs", "3x"), "not '3x'"));
    EGT_CHECK(refused(PARSE("--lr", "nan"), "--lr wants a number"));
    EGT_CHECK(refused(PARSE("--lr", "11"), "from 1e-09 to 10"));
    EGT_CHECK(refused(PARSE("--lr"), "--lr needs a value (X)"));
    EGT_CHECK(refused(PARSE("--lr", "--smoke"), "--lr needs a value"));
    EGT_CHECK(refused(PARSE("--data="), "--data wants a DIR"));
    EGT_CHECK(refused(PARSE("--shape", "flat"), "--shape is one of round|square, not 'flat'"));
    EGT_CHECK(refused(PARSE("--shape", "roun"), "one of"));
    EGT_CHECK(refused(PARSE("--smoke=maybe"), "true or false"));
    EGT_CHECK(refused(PARSE("--smoke", "--smoke"), "given twice"));
    EGT_CHECK(refused(PARSE("--random-flip", "--no-random_flip"), "given twice"));
    EGT_CHECK(refused(PARSE("--epoch", "2"), "did you mean --epochs?"));
    EGT_CHECK(refused(PARSE("--no-lr"), "unknown flag --no-lr"));
    EGT_CHECK(refused(PARSE("-x"), "unknown flag -x"));
    EGT_CHECK(refused(PARSE("--zzzzzz"), "unknown flag --zzzzzz\n"));
}

EGT(help_has_all_rows)
{
    trial t = PARSE("--epochs", "x", "--help");
    EGT_CHECK(!t.goes_on && t.status == 0 && !*t.complained);
    EGT_CHECK(strstr(t.said, "usage: learn [--epochs N] [--lr X] [--smoke] [--[no-]random_flip]"));
    EGT_CHECK(strstr(t.said, "passes over the data, 1 to 100 (default 3)"));
    EGT_CHECK(strstr(t.said, "\nlearning:\n  --lr X"));
    EGT_CHECK(strstr(t.said, "mirror half of them (default true)") && strstr(t.said, "  --config FILE"));
    EGT_CHECK(PARSE("-h").status == 0);
    EGT_CHECK(strstr(t.said,
                     "\nother names:\n  --num_train_epochs for --epochs, --flip for --random_flip, --squared for\n"
                     "  --shape square\n"));
    EGT_CHECK(strstr(t.said, "\naccepted and ignored, with a warning:\n  --num_ps_tasks, --xla\n"));
}

EGT(manual_page_is_troff)
{
    trial t = PARSE("--man");
    EGT_CHECK(!t.goes_on && t.status == 0 && strncmp(t.said, ".TH \"learn\" 1\n", 14) == 0);
    EGT_CHECK(strstr(t.said, ".SS learning\n.TP\n.B \\-\\-lr X\n"));
}

/* What a shell's own completion offers for the last of these words. */
static bool bash_offers(const char *line, const char *word)
{
    char command[2048], offered[512] = "";
    egt_write(egt_path("completion"), PARSE("--completion", "bash").said, strlen(PARSE("--completion", "bash").said));
    snprintf(command, sizeof command,
             "bash -c 'source %s; COMP_WORDS=(%s); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _learn; echo \" "
             "${COMPREPLY[*]} \"'",
             egt_path("completion"), line);
    FILE *shell = popen(command, "r");
    size_t n = shell ? fread(offered, 1, sizeof offered - 1, shell) : 0;
    offered[n] = '\0';
    return shell && pclose(shell) == 0 && strstr(offered, word);
}

EGT(shells_complete)
{
    EGT_CHECK(bash_offers("learn --ep", " --epochs ") && bash_offers("learn --shape s", " square "));
    EGT_CHECK(!bash_offers("learn --shape s", "round") && bash_offers("learn --con", "--config"));
    EGT_CHECK(strstr(PARSE("--completion", "zsh").said, "'--shape[of it; it s said]:value:(round square)'"));
    EGT_CHECK(strstr(PARSE("--completion=fish").said, "complete -c learn -l data -r -F -d 'a folder'"));
    EGT_CHECK(refused(PARSE("--completion", "sh"), "bash, zsh or fish"));
}

/* ---- files --------------------------------------------------------------------------------------- */

static trial with_file(const char *text, char *more)
{
    char path[4096];
    copy(path, sizeof path, egt_path("settings"));
    egt_write(path, text, strlen(text));
    return parse_words((char *[]){"learn", "--config", path, more, NULL});
}

EGT(files_have_settings)
{
    trial t = with_file("# mine\n  epochs = 9\r\nlr=0.25\n\nsmoke = yes\ndata = a folder with spaces\n", NULL);
    EGT_CHECK(t.goes_on && t.got.epochs == 9 && t.got.lr == 0.25 && t.got.smoke);
    EGT_CHECK(strcmp(t.got.data, "a folder with spaces") == 0);
    EGT_EQ(with_file("epochs = 9", "--epochs=4").got.epochs, 4);
    EGT_EQ(with_file("", NULL).got.epochs, 3);
}

EGT(files_are_refused_by_line)
{
    EGT_CHECK(refused(with_file("lr = 1\nepochs = 0\n", NULL), "settings:2: epochs wants a whole number"));
    EGT_CHECK(refused(with_file("epoch = 1\n", NULL), "settings:1: there is no flag 'epoch'"));
    EGT_CHECK(refused(with_file("epochs\n", NULL), "a line is name = value"));
    EGT_CHECK(refused(with_file("lr = 1\nlr = 1\n", NULL), "settings:2: lr is there twice"));
    EGT_CHECK(refused(with_file("config = x\n", NULL), "there is no flag 'config'"));
    trial torn = with_file("data = somewhere\nepochs = 7\nlr = x\n", NULL);
    EGT_CHECK(refused(torn, "lr") && !torn.got.data && torn.got.epochs == 3); /* no text of a file that is gone */
    EGT_CHECK(refused(with_file("data =\n", NULL), "data wants a DIR"));
    trial t = PARSE("--config", "/not/there");
    EGT_CHECK(!t.goes_on && t.status == 1 && strstr(t.complained, "cannot read /not/there"));
    t = PARSE("--config", "/");
    EGT_CHECK(!t.goes_on && t.status == 1);
    EGT_CHECK(refused(PARSE("--config"), "--config needs a value"));
}

EGT(files_have_aliases_too)
{
    trial t = with_file("num_train_epochs = 9\nxla = 1\nrandom_flip = False\n", NULL);
    EGT_CHECK(t.goes_on && t.got.epochs == 9 && !t.got.flip && strstr(t.complained, "settings:2: xla is ignored"));
    EGT_CHECK(refused(with_file("num_train_epochs = 9\nepochs = 9\n", NULL), "settings:2: epochs is there twice"));
    EGT_CHECK(!with_file("epochs = 9\nflagfile = x\n", NULL).goes_on);
}

/* ---- flag files ---------------------------------------------------------------------------------- */

/* A line with words around a flag file: NULL for none. */
static trial with_flag_file(const char *text, char *before, char *after)
{
    char word[4200];
    egt_write(egt_path("flags"), text, strlen(text));
    snprintf(word, sizeof word, "--flagfile=%s", egt_path("flags"));
    char *few[] = {"learn", word, after, NULL}, *more[] = {"learn", before, word, after, NULL};
    return parse_words(before ? more : few);
}

EGT(flag_files_are_read_in_place)
{
    trial t = with_flag_file("# a comment\n// another\n\n--epochs=9\r\n  -lr 0.25  \n--smoke\n--data=a folder\nx", NULL,
                             NULL);
    EGT_CHECK(t.goes_on && t.got.epochs == 9 && t.got.lr == 0.25 && t.got.smoke);
    EGT_CHECK(strcmp(t.got.data, "a folder") == 0 && t.operands == 1 && strcmp(t.first, "x") == 0);
    EGT_EQ(with_flag_file("--epochs=9", NULL, "--epochs=4").got.epochs, 4); /* the later one counts */
    EGT_EQ(with_flag_file("--epochs=9", "--epochs=4", NULL).got.epochs, 9);
    EGT_EQ(with_flag_file("--epochs=9\n--epochs=8\n", NULL, NULL).got.epochs, 8);
    EGT_EQ(with_flag_file("--epochs\n9\n", NULL, NULL).got.epochs, 9);
    EGT_EQ(with_flag_file("--\n--epochs\n", NULL, NULL).operands, 1);
    EGT_EQ(with_flag_file("", NULL, "-").operands, 1);
    char path[4096];
    copy(path, sizeof path, egt_path("flags"));
    EGT_CHECK(PARSE("--", "--flagfile", path).operands == 2 && PARSE("-flagfile", path).goes_on);
}

EGT(flag_files_are_nested)
{
    char text[8300], path[4096];
    copy(path, sizeof path, egt_path("inner"));
    egt_write(path, "--epochs=7\n--lr=2\n", 18);
    snprintf(text, sizeof text, "--epochs=5\n--flagfile %s\n--lr=1\n", path);
    trial t = with_flag_file(text, NULL, NULL);
    EGT_CHECK(t.goes_on && t.got.epochs == 7 && t.got.lr == 1);
    snprintf(text, sizeof text, "--flagfile=%s\n", egt_path("flags"));
    EGT_CHECK(refused(with_flag_file(text, NULL, NULL), "nested more than 8 deep"));
    snprintf(text, sizeof text, "--flagfile=%s", path); /* twice on each level: more and more */
    for (int i = 0; i < 70; i++) {
        char *argv[80] = {"learn"};
        for (int k = 0; k <= i; k++) {
            argv[k + 1] = text;
        }
        t = parse_words(argv);
        EGT_CHECK(i < 64 ? t.goes_on : refused(t, "more than 64 flag files"));
    }
}

EGT(flag_files_are_refused_by_line)
{
    EGT_CHECK(refused(with_flag_file("--lr=1\n--epochs=0\n", NULL, NULL), "flags:2: --epochs wants a whole number"));
    EGT_CHECK(refused(with_flag_file("\n--epoch=1\n", NULL, NULL), "flags:2: unknown flag --epoch: did you mean"));
    EGT_CHECK(refused(with_flag_file("--epochs", NULL, NULL), "flags:1: --epochs needs a value"));
    EGT_CHECK(refused(with_flag_file("a\nb\nc\n", NULL, NULL), "flags:3: 'c' is one word too many"));
    EGT_CHECK(refused(with_flag_file("--flagfile\n", NULL, NULL), "--flagfile needs a value"));
    EGT_CHECK(strstr(with_flag_file("--xla", NULL, NULL).complained, "flags:1: --xla is ignored"));
    EGT_CHECK(refused(PARSE("--flagfile"), "--flagfile needs a value"));
    trial t = PARSE("--flagfile", "/not/there");
    EGT_CHECK(!t.goes_on && t.status == 1 && strstr(t.complained, "cannot read /not/there"));
    t = PARSE("--flagfile=/");
    EGT_CHECK(!t.goes_on && t.status == 1);
    egt_write(egt_path("zero"), "--lr=1\0--lr=2", 13);
    char path[4096];
    copy(path, sizeof path, egt_path("zero"));
    EGT_CHECK(PARSE("--flagfile", path).status == 1 && PARSE("--config", path).status == 1);
    t = with_flag_file("--data=somewhere\n--lr=x\n", NULL, NULL);
    EGT_CHECK(refused(t, "--lr wants") && !t.got.data);
}

EGT(settings_are_written_to_be_read)
{
    words w;
    eg_flags line = {.program = "learn", .about = ""};
    line.table = table_of(&w, &line.count);
    int status;
    char *argv[] = {"learn", "--lr", "0.1", "--no-random-flip", "--data", "d e", NULL};
    EGT_CHECK(eg_flags_parse(&line, 6, argv, &status));
    EGT_CHECK(eg_flags_save(&line, egt_path("saved")) == EG_OK);
    eg_flags_free(&line);
    char path[4096];
    copy(path, sizeof path, egt_path("saved"));
    trial t = PARSE("--config", path);
    EGT_CHECK(t.goes_on && t.got.lr == 0.1 && !t.got.flip && strcmp(t.got.data, "d e") == 0 && t.got.epochs == 3);
    line.table = table_of(&w, &line.count);
    w = (words){.lr = 1, .shape = "round"};
    EGT_CHECK(eg_flags_save(&line, "/not/there/at all") == EG_EIO && egt_said(EG_EIO, "/not/there"));
}
