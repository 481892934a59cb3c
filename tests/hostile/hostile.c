/* hostile.c - every public function with one argument hostile at a time: NULL, numbers at their ends, shapes that
 * are none. A call must come back, soon, and say why if it fails. Each function has a process of its own, so that one
 * that dies names itself.
 *
 *     hostile [-v] [words]   only functions whose name contains one of them */
#define _DEFAULT_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/hostile/values.h"

enum { CPU_SECONDS = 10, SECONDS = 120, MOST_SHOWN = 4 };

/* Where the child stands, for the parent to see. */
static struct place {
    int64_t next; /* variants done */
    hostile now;
    int shown, plain; /* complaints; calls with nothing hostile that succeeded, or for want of a library */
} * place;

/* What no plausible arguments make succeed here: it reads files or other programs' bytes, needs another device, or a
 * call before it. By a word of the name. */
static const char *const refusing[] = {
    "image_load",   "audio_load",   "npz_load",         "npy_load",     "safetensors_load", "vocabulary_load",
    "restore_from", "saver_new",    "_parse",           "_read",        "image_decode",     "cifar",
    "image_folder", "files_new",    "tar_new",          "lines_new",    "csv_new",          "ndjson_new",
    "tfrecord_new", "mnist",        "eg_cuda",          "device_split", "stream",           "eg_event_",
    "events_new",   "journal_row",  "optim_update",     "profile_end",  "eg_release",       "preprocess_decode",
    "shards_new",   "tensors_open", "tensors_save",     "eg_onnx_",     "json_load",        "tokenizer_load",
    "conll",        "glue_new",     "parallel",         "squad_new",    "word_vectors",     "ngram_load",
    "ngram_train",  "comm_other",   "comm_send",        "comm_receive", "find_module",      "pipeline_new",
    "load_full",    "nccl",         "voc_new",          "coco_new",     "photo_classes",    "eg_mask_",
    "yolo_new",     "image_size",   "detection_scores", "trajectory",
};

static const char *slot_name(const call *c, const hostile *h)
{
    return h->at < 0 ? "nothing" : c->slots[h->at].name;
}

static void complain(const call *c, const hostile *h, const char *what)
{
    if (place->shown++ < MOST_SHOWN) {
        printf("FAIL %s: %s, with %s hostile (%d, tensors %d)\n", c->name, what, slot_name(c, h), h->how, h->world);
        fflush(stdout);
    }
}

static void one(const call *c, const hostile *h)
{
    eg_clear_error();
    eg_scope s = eg_scope_push();
    bool fine = c->run(h);
    place->plain += h->at < 0 && (fine || strstr(eg_last_error()->message, "this build has no"));
    if (!fine && c->checked && eg_last_error()->code == EG_OK) {
        complain(c, h, "failed without a word");
    }
    eg_scope_pop(s, NULL);
}

/* Variant number n, or false: there are no more. */
static bool variant(const call *c, int64_t n, hostile *h)
{
    h->world = (int)(n % WORLDS);
    n /= WORLDS;
    if (n == 0) {
        h->at = h->how = -1;
        return true;
    }
    n--;
    for (h->at = 0; h->at < c->count; h->at++) {
        if (n < c->slots[h->at].hows) {
            h->how = (int)n;
            return true;
        }
        n -= c->slots[h->at].hows;
    }
    return false;
}

static void child(const call *c)
{
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    eg_set_threads(1);
    eg_memory_limit((int64_t)1 << 30);
    place->now.function = c->name;
    while (variant(c, place->next, &place->now)) {
        place->next++;
        setitimer(ITIMER_PROF, &(struct itimerval){{0, 0}, {CPU_SECONDS, 0}}, NULL);
        alarm(SECONDS);
        one(c, &place->now);
    }
    _exit(0);
}

static bool may_refuse(const call *c)
{
    bool any = false;
    for (int i = 0; i < (int)(sizeof refusing / sizeof *refusing); i++) {
        any |= strstr(c->name, refusing[i]) != NULL;
    }
    return any;
}

/* Whether all variants went well. */
static bool try_call(const call *c)
{
    int status;
    *place = (struct place){0};
    do {
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0) {
            child(c);
        }
        if (pid < 0 || waitpid(pid, &status, 0) != pid) {
            complain(c, &place->now, "no process for it");
            return false;
        }
        if (WIFSIGNALED(status) || WEXITSTATUS(status)) {
            char what[60];
            int s = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
            snprintf(what, sizeof what,
                     s == SIGPROF   ? "took more than %d s"
                     : s == SIGALRM ? "hung"
                                    : "died (%d)",
                     s == SIGPROF ? CPU_SECONDS : s);
            complain(c, &place->now, what);
        }
    } while ((WIFSIGNALED(status) || WEXITSTATUS(status)) && place->shown < MOST_SHOWN);
    if (c->checked && !place->plain && !may_refuse(c)) {
        place->now.at = -1;
        complain(c, &place->now, "never succeeds, which tries its first check alone");
    }
    return place->shown == 0;
}

static bool chosen(const call *c, char **words)
{
    bool any = !*words;
    for (; *words && !any; words++) {
        any = strstr(c->name, *words) != NULL;
    }
    return any;
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/egret-hostile-XXXXXX", clean[64];
    int passed = 0, failed = 0;
    bool names = argc > 1 && !strcmp(argv[1], "-v");
    place = mmap(NULL, sizeof *place, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED || !mkdtemp(folder) || chdir(folder)) {
        perror(folder);
        return 1;
    }
    for (int i = 0; i < call_count; i++) {
        if (chosen(&calls[i], argv + 1 + names)) {
            bool ok = try_call(&calls[i]);
            passed += ok;
            failed += !ok;
            if (names) {
                printf("%s: %d variants\n", calls[i].name, (int)place->next);
            }
        }
    }
    snprintf(clean, sizeof clean, "rm -rf %s", folder);
    if (chdir("/") || system(clean)) {
        perror(folder);
    }
    printf("%d passed, %d failed, 0 skipped\n", passed, failed);
    return failed > 0;
}
