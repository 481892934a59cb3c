/* differ.c - runs the rows.
 *
 *     differ [--draws N] [--seed S] [--only WORD] [--draw K] [--show N] [--range] [--verbose]
 *
 * N draws of each function whose name has the word in it; --draw: that one alone. With EGT_ONNX
 * models that are written of calls stay in that folder, with their tensors beside them. With --verbose, how many of
 * each were accepted and refused. With --range, halves of all magnitudes (range.c). */
#define _XOPEN_SOURCE 700
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/differ/differ.h"

row *differ_rows;
static row **last = &differ_rows;
static draw now; /* for what ends the program */

void differ_add(row *r)
{
    *last = r;
    last = &r->next;
}

static struct {
    int draws, show, only_draw;
    uint64_t seed;
    const char *only;
    bool verbose, range;
} given = {.draws = 12, .show = 2, .only_draw = -1, .seed = 1, .only = ""};

/* A draw that ends in a signal is one that differs. Each function has a process of its own, which ends with it. */
static void ended(int signal_number)
{
    printf("FAIL %s\n  draw %d of seed %llu: ended by signal %d in\n", now.row->name, now.number,
           (unsigned long long)given.seed, signal_number);
    print_draw(stdout, &now);
    fflush(stdout);
    _exit(DIFFERS);
}

static void watch_signals(void)
{
    static const int ends[] = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGALRM};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        sigaction(ends[i], &(struct sigaction){.sa_handler = ended, .sa_flags = (int)SA_RESETHAND}, NULL);
    }
}

static uint64_t hash(const char *name)
{
    uint64_t h = 14695981039346656037u;
    while (*name) {
        h = (h ^ (unsigned char)*name++) * 1099511628211u;
    }
    return h;
}

static void draw_one(const row *r, int k)
{
    memset(&now, 0, sizeof now);
    now.row = r;
    now.run = given.seed;
    now.number = k;
    now.random = hash(r->name) ^ given.seed * 0x9e3779b97f4a7c15u ^ (uint64_t)k << 32;
    now.seed = (uint64_t)pick(&now, 0, 9999);
    r->draw(&now);
}

static void say(const row *r, const char *why)
{
    char smaller[512] = "";
    printf("FAIL %s\n  draw %d of seed %llu: %s\n", r->name, now.number, (unsigned long long)given.seed, why);
    if (!given.range) {
        shrink(&now, smaller, sizeof smaller);
    }
    if (smaller[0]) {
        printf("  simpler: %s\n", smaller);
    }
    print_draw(stdout, &now);
    fflush(stdout);
}

static bool few_accepted(const int *count, int draws)
{
    return 4 * (count[AGREED] + count[DIFFERS]) < draws;
}

/* Draws of one function, some more while hardly any is accepted; the outcome of all of them. */
static outcome run_row(const row *r)
{
    int count[4] = {0}, draws = r->flags & FEW ? (given.draws + 3) / 4 : given.draws;
    char why[512];
    const bool all = given.only_draw < 0;
    for (int k = all ? 0 : given.only_draw;
         k < draws || !all || (k < 8 + 2 * draws && !given.range && few_accepted(count, draws)); k++) {
        draw_one(r, k);
        alarm(60);
        outcome o = given.range ? try_range(&now, why, sizeof why) : try_draw(&now, why, sizeof why);
        alarm(0);
        if (o == DIFFERS && count[DIFFERS] < given.show) {
            say(r, why);
        }
        count[o]++;
        if (o == MISSING) {
            printf("SKIP %s: %s\n", r->name, why);
            return MISSING;
        }
        if (k == given.only_draw) {
            print_draw(stdout, &now);
            printf("    %s\n", o == AGREED ? "agreed" : o == REFUSED ? "both refuse" : why);
            break;
        }
    }
    if (given.verbose) {
        printf("%-28s %6d accepted, %d differ, %d refused\n", r->name, count[AGREED] + count[DIFFERS], count[DIFFERS],
               count[REFUSED]);
    }
    if (all && !given.range && few_accepted(count, draws)) {
        printf("FAIL %s\n  all but %d of %d draws are refused, which tries nothing\n", r->name,
               count[AGREED] + count[DIFFERS], count[AGREED] + count[DIFFERS] + count[REFUSED]);
        return DIFFERS;
    }
    return count[DIFFERS] ? DIFFERS : AGREED;
}

static outcome run_apart(const row *r)
{
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        watch_signals();
        eg_profile_begin(.most_bytes = 4096); /* for its count of the ops that ran */
        outcome o = run_row(r);
        note_ops();
        fflush(stdout);
        _exit(o);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        return MISSING;
    }
    return WIFEXITED(status) && WEXITSTATUS(status) <= MISSING ? (outcome)WEXITSTATUS(status) : DIFFERS;
}

static bool parse(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(argv[i], "--verbose") || !strcmp(argv[i], "--range")) {
            *(argv[i][2] == 'v' ? &given.verbose : &given.range) = true;
            continue;
        }
        if (!value) {
            return false;
        }
        if (!strcmp(argv[i], "--draws")) {
            given.draws = atoi(value);
        } else if (!strcmp(argv[i], "--seed")) {
            given.seed = strtoull(value, NULL, 10);
        } else if (!strcmp(argv[i], "--only")) {
            given.only = value;
        } else if (!strcmp(argv[i], "--draw")) {
            given.only_draw = atoi(value);
        } else if (!strcmp(argv[i], "--show")) {
            given.show = atoi(value);
        } else {
            return false;
        }
        i++;
    }
    return given.draws > 0;
}

int main(int argc, char **argv)
{
    int count[4] = {0};
    if (!parse(argc, argv)) {
        fprintf(stderr, "differ [--draws N] [--seed S] [--only WORD] [--draw K] [--show N] [--range] [--verbose]\n");
        return 2;
    }
    differ_models = getenv("EGT_ONNX");
    share_ops();
    for (const row *r = differ_rows; r; r = r->next) {
        if (given.only_draw < 0 ? strstr(r->name, given.only) != NULL : !strcmp(r->name, given.only)) {
            count[run_apart(r)]++;
        }
    }
    if (!given.only[0] && !given.range && !differ_models) {
        count[uncovered() ? DIFFERS : AGREED]++;
    }
    printf("%d passed, %d failed, %d skipped\n", count[AGREED], count[DIFFERS], count[MISSING]);
    return count[DIFFERS] ? 1 : count[AGREED] ? 0 : 2;
}
