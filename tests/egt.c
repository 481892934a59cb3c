/* egt.c - runs the registered tests and counts. */
#define _XOPEN_SOURCE 700
#include "tests/egt.h"

#include <dirent.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

char egt_case[256];
static egt_test *tests, **last = &tests;
static jmp_buf back;
static enum { PASSED = 1, FAILED, SKIPPED } result;
static uint64_t random_state;

void egt_register(egt_test *t)
{
    *last = t;
    last = &t->next;
}

void egt_fail(const char *file, int line, const char *format, ...)
{
    va_list ap;
    const eg_error *e = eg_last_error();
    printf("FAIL %s\n  %s:%d: ", egt_case, file, line);
    va_start(ap, format);
    vprintf(format, ap);
    va_end(ap);
    if (e->code) {
        printf("\n  on record: %s: %s", e->op, e->message);
    }
    printf("\n");
    longjmp(back, FAILED);
}

void egt_skip(const char *format, ...)
{
    va_list ap;
    printf("SKIP %s: ", egt_case);
    va_start(ap, format);
    vprintf(format, ap);
    va_end(ap);
    printf("\n");
    longjmp(back, SKIPPED);
}

void egt_need(const void *made, const char *library)
{
    if (!made && egt_said(EG_ENOKERNEL, "")) {
        egt_skip("built without %s", library);
    }
}

bool egt_said(eg_status code, const char *word)
{
    const eg_error *e = eg_last_error();
    bool ok = e->code == code && e->message[0] && (strstr(e->message, word) || strstr(e->op, word));
    if (ok) {
        eg_clear_error();
    }
    return ok;
}

eg_tensor *egt_random(eg_shape shape, eg_dtype dtype, double low, double high)
{
    eg_tensor *t = eg_empty(shape, dtype);
    for (int64_t i = 0; i < eg_numel(t); i++) {
        random_state = random_state * 6364136223846793005u + 1442695040888963407u;
        eg_set(t, i, low + (high - low) * (double)(random_state >> 11) * 0x1p-53);
    }
    return t;
}

double egt_hashed(uint32_t k, uint32_t i)
{
    uint32_t h = i * 2654435761u + k * 40503u + 12345u;
    h ^= h >> 16;
    h *= 0x7feb352du;
    h ^= h >> 15;
    h *= 0x846ca68bu;
    h ^= h >> 16;
    return (h >> 8) / 8388608.0 - 1;
}

double egt_distance(const eg_tensor *a, const eg_tensor *b)
{
    double worst = 0;
    if (!a || !b || eg_ndim(a) != eg_ndim(b) || eg_dtype_of(a) != eg_dtype_of(b)) {
        return (double)INFINITY;
    }
    for (int d = 0; d < eg_ndim(a); d++) {
        if (eg_size(a, d) != eg_size(b, d)) {
            return (double)INFINITY;
        }
    }
    for (int64_t i = 0; i < eg_numel(a); i++) {
        double x = eg_get(a, i), y = eg_get(b, i);
        if (x == y || (isnan(x) && isnan(y))) {
            continue;
        }
        double d = fabs(x - y) / (1 + fabs(y));
        worst = d > worst || isnan(d) ? (isnan(d) ? (double)INFINITY : d) : worst;
    }
    return worst;
}

bool egt_same_bits(eg_tensor *a, eg_tensor *b)
{
    a = eg_to(a, eg_cpu());
    b = eg_to(b, eg_cpu());
    if (!a || !b || eg_dtype_of(a) != eg_dtype_of(b) || eg_numel(a) != eg_numel(b)) {
        return false;
    }
    const size_t bytes = (size_t)eg_numel(a) * eg_dtype_size(eg_dtype_of(a));
    return !bytes || !memcmp(eg_data(a), eg_data(b), bytes);
}

int egt_fail_allocations(bool (*job)(void *user), void *user)
{
    bool done = false;
    int n = 0;
    while (!done && n < 4000) {
        eg_memory before = eg_memory_stats();
        eg_scope s = eg_scope_push();
        eg_clear_error();
        eg_debug_fail_alloc(++n);
        done = job(user);
        eg_debug_fail_alloc(0);
        eg_scope_pop(s, NULL);
        if (!done && egt_said(EG_ENOKERNEL, "")) {
            return n - 1;
        }
        if (!done && !egt_said(EG_ENOMEM, "")) {
            egt_fail(__FILE__, __LINE__, "allocation %d failed without EG_ENOMEM", n);
        }
        eg_memory after = eg_memory_stats();
        if (after.live_tensors != before.live_tensors || after.live_bytes != before.live_bytes) {
            egt_fail(__FILE__, __LINE__, "allocation %d failed and left %lld tensors, %lld bytes", n,
                     (long long)(after.live_tensors - before.live_tensors),
                     (long long)(after.live_bytes - before.live_bytes));
        }
    }
    EGT_CHECK(done);
    eg_clear_error();
    return n - 1;
}

/* ---- files ---------------------------------------------------------------------------------- */

const char *egt_data(void)
{
    struct stat s;
    const char *given = getenv("EGRET_DATA");
    if (given) {
        return given;
    }
    return stat("../shared/data", &s) == 0 && S_ISDIR(s.st_mode) ? "../shared/data" : NULL;
}

const char *egt_real(const char *name)
{
    static char path[4096];
    if (!egt_data()) {
        egt_skip("no data sets here (EGRET_DATA)");
    }
    snprintf(path, sizeof path, "%s/%s", egt_data(), name);
    return path;
}

static char folder[64];

/* In memory if possible: there a sync costs nothing. */
const char *egt_folder(void)
{
    if (!folder[0]) {
        snprintf(folder, sizeof folder, "%s/egret-test-XXXXXX", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
        EGT_CHECK(mkdtemp(folder));
    }
    return folder;
}

const char *egt_path(const char *name)
{
    static char path[4][400];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", egt_folder(), name);
    return path[turn];
}

int egt_files(const char *word)
{
    int n = 0;
    DIR *list = opendir(egt_folder());
    EGT_CHECK(list);
    for (struct dirent *e = readdir(list); e; e = readdir(list)) {
        n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..") && strstr(e->d_name, word);
    }
    closedir(list);
    return n;
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *at)
{
    (void)about, (void)kind, (void)at;
    return remove(path);
}

void egt_remove_folder(void)
{
    if (folder[0]) {
        nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        folder[0] = 0;
    }
}

void egt_limit_files(int64_t most)
{
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = most < 0 ? limit.rlim_max : (rlim_t)most;
    signal(SIGXFSZ, most < 0 ? SIG_DFL : SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
}

void egt_write(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    EGT_CHECK(f && fwrite(bytes, 1, n, f) == n && fclose(f) == 0);
}

char *egt_read(const char *path, size_t *n)
{
    struct stat s;
    FILE *f = fopen(path, "rb");
    EGT_CHECK(f && fstat(fileno(f), &s) == 0);
    char *bytes = malloc((size_t)s.st_size + 1);
    *n = fread(bytes, 1, (size_t)s.st_size, f);
    bytes[*n] = 0;
    fclose(f);
    return bytes;
}

/* ---- running -------------------------------------------------------------------------------- */

/* Programs driven by a table give one test per row here; NULL when there are no more. */
__attribute__((weak)) const egt_test *egt_next_case(void)
{
    return NULL;
}

/* Runs one test in a scope of its own and looks at what it left behind. */
static int run(const egt_test *t)
{
    snprintf(egt_case, sizeof egt_case, "%s", t->name);
    eg_clear_error();
    random_state = 42;
    eg_memory before = eg_memory_stats();
    eg_scope s = eg_scope_push();
    int r = setjmp(back);
    if (!r) {
        t->run();
        r = PASSED;
    }
    result = (unsigned)r;
    eg_debug(NULL);
    eg_debug_fail_alloc(0);
    eg_memory_limit(0);
    egt_remove_folder();
    if (result == PASSED && eg_last_error()->code) {
        printf("FAIL %s\n  left on record: %s: %s\n", egt_case, eg_last_error()->op, eg_last_error()->message);
        result = FAILED;
    }
    eg_scope_pop(s, NULL);
    eg_memory after = eg_memory_stats();
    if (result == PASSED && (after.live_tensors != before.live_tensors || after.live_bytes != before.live_bytes)) {
        printf("FAIL %s\n  left alive: %lld tensors, %lld bytes\n", egt_case,
               (long long)(after.live_tensors - before.live_tensors),
               (long long)(after.live_bytes - before.live_bytes));
        result = FAILED;
    }
    eg_clear_error();
    return (int)result;
}

int main(int argc, char **argv)
{
    int count[4] = {0}, part = 0, parts = 1, number = 0;
    const egt_test *t = tests;
    const char *given = getenv("EGT_PART");
    if (given && (sscanf(given, "%d/%d", &part, &parts) != 2 || part < 1 || part > parts)) {
        fprintf(stderr, "EGT_PART=%s is no part like 2/8\n", given);
        return 2;
    }
    for (bool listed = true;; t = listed ? t->next : NULL) {
        listed = listed && t;
        if (!listed && !(t = egt_next_case())) {
            break;
        }
        bool wanted = argc == 1;
        for (int i = 1; i < argc; i++) {
            wanted |= strstr(t->name, argv[i]) != NULL;
        }
        if (wanted && number++ % parts == part % parts) {
            if (getenv("EGT_VERBOSE")) {
                fprintf(stderr, "%s\n", t->name);
            }
            count[run(t)]++;
        }
    }
    printf("%d passed, %d failed, %d skipped\n", count[PASSED], count[FAILED], count[SKIPPED]);
    return count[FAILED] ? 1 : count[PASSED] + count[SKIPPED] == 0 ? 2 : 0;
}
