/* dnn_files.c - plans of cuDNN in files: a head that says what the plan is for, its sum, and
 * cuDNN's text. A file is written under another name first, so that whoever reads finds all of it
 * or nothing. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cuda/dnn/dnn_files.h"
#include "lib/core/environment.h"

enum { MOST = 64 << 20 }; /* bytes of a text that is read */

static const uint64_t BASIS = 14695981039346656037u;

static uint64_t sum_of(uint64_t h, const char *p, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        h = (h ^ (unsigned char)p[i]) * 1099511628211u;
    }
    return h;
}

bool eg__dnn_file_of(eg__dnn_file *f, int ordinal, const eg__dnn_ask *a)
{
    const char *folder = eg__getenv("EGRET_PLAN_CACHE");
    struct cudaDeviceProp card;
    if (!folder || !*folder || cudaGetDeviceProperties(&card, ordinal)) {
        return false;
    }
    int n = snprintf(
        f->head, sizeof f->head, "egret plan 1\n%s\ncuDNN %zu\n%.255s, %d.%d, %d multiprocessors\n%u %zu\n", a->title,
        eg__dnn_version(), card.name, card.major, card.minor, card.multiProcessorCount, a->rules, a->bytes);
    if (n < 0 || (size_t)n + a->bytes > sizeof f->head) {
        return false;
    }
    memcpy(f->head + n, a->key, a->bytes);
    f->bytes = (size_t)n + a->bytes;
    const uint64_t first = sum_of(BASIS, f->head, f->bytes), second = sum_of(first, f->head, f->bytes);
    n = snprintf(f->path, sizeof f->path - 64, "%s/%016llx%016llx.plan", folder, (unsigned long long)first,
                 (unsigned long long)second);
    return n > 0 && (size_t)n < sizeof f->path - 64;
}

/* All of a file, malloc'ed. */
static char *content_of(const char *path, size_t *bytes)
{
    struct stat about;
    char *text = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return NULL;
    }
    if (!fstat(fd, &about) && S_ISREG(about.st_mode) && about.st_size > 0 && about.st_size <= MOST) {
        *bytes = (size_t)about.st_size;
        text = malloc(*bytes);
    }
    for (size_t at = 0; text && at < *bytes;) {
        ssize_t got = read(fd, text + at, *bytes - at);
        if (got <= 0) {
            free(text);
            text = NULL;
        } else {
            at += (size_t)got;
        }
    }
    close(fd);
    return text;
}

bool eg__dnn_file_read(const eg__dnn_file *f, cudnnHandle_t handle, eg__dnn_plan *plan)
{
    size_t bytes;
    uint64_t sum;
    char *text = content_of(f->path, &bytes);
    const size_t before = f->bytes + sizeof sum;
    bool right = text && bytes > before && !memcmp(text, f->head, f->bytes);
    if (right) {
        memcpy(&sum, text + f->bytes, sizeof sum);
        right = sum == sum_of(BASIS, text + before, bytes - before) &&
                eg__dnn_plan_of_text(handle, text + before, (int64_t)(bytes - before), plan);
    }
    free(text);
    return right;
}

static bool put(int fd, const void *from, size_t bytes)
{
    const char *p = from;
    while (bytes) {
        ssize_t n = write(fd, p, bytes);
        if (n <= 0) {
            return false;
        }
        p += n;
        bytes -= (size_t)n;
    }
    return true;
}

void eg__dnn_file_write(const eg__dnn_file *f, const eg__dnn_plan *plan)
{
    static _Atomic unsigned count;
    static atomic_bool reported; /* once per process */
    char path[sizeof f->path + 64];
    int64_t bytes;
    char *text = eg__dnn_plan_text(plan, &bytes);
    if (!text) {
        return;
    }
    snprintf(path, sizeof path, "%s.%ld.%u", f->path, (long)getpid(), atomic_fetch_add(&count, 1));
    const uint64_t sum = sum_of(BASIS, text, (size_t)bytes);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    bool whole = fd >= 0 && put(fd, f->head, f->bytes) && put(fd, &sum, sizeof sum) && put(fd, text, (size_t)bytes) &&
                 !fsync(fd);
    whole = fd >= 0 && !close(fd) && whole && !rename(path, f->path);
    if (fd >= 0 && !whole) {
        unlink(path);
    }
    if (!whole && !atomic_exchange(&reported, true)) {
        eg__log_words(EG__DEBUG_ENV, "EGRET_PLAN_CACHE", "no plan can be written into this folder");
    }
    free(text);
}
