/* unpack.c - see unpack.h. */
#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE   700
#include "unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sha256.h"

enum { PATH_SIZE = 4096, MOST_UNPACKED = 1 << 30, TIMES = 32 };

/* ---- names ---- */

/* Whether the name stays inside: not absolute, and no step of it is "..". */
static bool stays_inside(const char *name)
{
    if (!*name || *name == '/') {
        return false;
    }
    for (const char *step = name; step; step = strchr(step, '/')) {
        step += *step == '/';
        if (strncmp(step, "..", 2) == 0 && (step[2] == '/' || !step[2])) {
            return false;
        }
    }
    return true;
}

/* Makes the folders above a path that lies below `base` bytes of it. */
static bool make_parents(char *path, size_t base)
{
    for (char *slash = strchr(path + base + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        bool made = mkdir(path, 0777) == 0 || errno == EEXIST;
        *slash = '/';
        if (!made) {
            return false;
        }
    }
    return true;
}

/* ---- members ---- */

/* *left: bytes that may still be unpacked, gaps included. */
static bool copy_data(struct archive *a, int to, const char *name, int64_t *left, problem *why)
{
    const int64_t most = *left;
    const void *data;
    size_t size;
    la_int64_t at;
    for (int status; (status = archive_read_data_block(a, &data, &size, &at)) != ARCHIVE_EOF;) {
        if (status != ARCHIVE_OK) {
            return problem_say(why, "%s: %s", name, archive_error_string(a));
        }
        if (at < 0 || size > INT32_MAX || at > most - (int64_t)size) {
            return problem_say(why, "%.200s: the members are larger than is unpacked, 2^30 bytes or 32 times the "
                               "archive's", name);
        }
        *left = most - at - (int64_t)size;
        while (size > 0) {
            ssize_t n = pwrite(to, data, size, (off_t)at);
            if (n < 0 && errno != EINTR) {
                return problem_say(why, "%s: %s", name, strerror(errno));
            }
            n = n < 0 ? 0 : n;
            data = (const char *)data + n;
            at += n;
            size -= (size_t)n;
        }
    }
    return true;
}

static bool write_file(struct archive *a, const char *path, const char *name, int64_t *left, problem *why)
{
    int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (to < 0) {
        return problem_say(why, "%s: %s", name, strerror(errno));
    }
    bool good = copy_data(a, to, name, left, why);
    if (close(to) != 0 && good) {
        good = problem_say(why, "%s: %s", name, strerror(errno));
    }
    return good;
}

/* The name of a file in gzip and the like, which has none of its own. */
static void name_of_raw(const char *archive, char *name, size_t size)
{
    const char *slash = strrchr(archive, '/');
    snprintf(name, size, "%s", slash ? slash + 1 : archive);
    char *dot = strrchr(name, '.');
    if (dot && dot > name) {
        *dot = '\0';
    }
}

static bool unpack_member(struct archive *a, struct archive_entry *e, const char *archive,
                          const char *folder, int64_t *left, problem *why)
{
    char path[PATH_SIZE], raw[256];
    const char *name = archive_entry_pathname(e);
    if (archive_format(a) == ARCHIVE_FORMAT_RAW) {
        name_of_raw(archive, raw, sizeof raw);
        name = raw;
    }
    if (!name || !stays_inside(name)) {
        return problem_say(why, "the member \"%.200s\" leads out of the folder", name ? name : "");
    }
    bool is_folder = archive_entry_filetype(e) == AE_IFDIR;
    if ((!is_folder && archive_entry_filetype(e) != AE_IFREG) || archive_entry_hardlink(e)) {
        return problem_say(why, "the member \"%.200s\" is neither a file nor a folder", name);
    }
    if (snprintf(path, sizeof path, "%s/%s%s", folder, name, is_folder ? "/" : "") >= PATH_SIZE) {
        return problem_say(why, "the name of the member \"%.200s\" is too long", name);
    }
    if (!make_parents(path, strlen(folder))) {
        return problem_say(why, "%s: %s", name, strerror(errno));
    }
    return is_folder || write_file(a, path, name, left, why);
}

static bool unpack_all(struct archive *a, const char *archive, const char *folder, problem *why)
{
    struct archive_entry *e;
    struct stat about;
    int members = 0;
    int64_t left = MOST_UNPACKED;
    if (stat(archive, &about) == 0 && about.st_size > MOST_UNPACKED / TIMES) {
        left = TIMES * (int64_t)about.st_size;
    }
    archive_read_support_filter_all(a);
    archive_read_support_format_all(a);
    archive_read_support_format_raw(a);
    if (archive_read_open_filename(a, archive, 1 << 16) != ARCHIVE_OK) {
        return problem_say(why, "%s", archive_error_string(a));
    }
    for (int status; (status = archive_read_next_header(a, &e)) != ARCHIVE_EOF; members++) {
        if (status != ARCHIVE_OK && status != ARCHIVE_WARN) {
            return problem_say(why, "%s", archive_error_string(a));
        }
        /* Anything at all can be taken for raw; only what was packed is meant. */
        if (archive_format(a) == ARCHIVE_FORMAT_RAW && archive_filter_count(a) < 2) {
            return problem_say(why, "it is no archive");
        }
        if (!unpack_member(a, e, archive, folder, &left, why)) {
            return false;
        }
    }
    return members > 0 || problem_say(why, "it is empty");
}

/* ---- the folder ---- */

static int remove_one(const char *path, const struct stat *about, int type, struct FTW *walk)
{
    (void)about, (void)type, (void)walk;
    return remove(path);
}

static bool has_member(const char *folder, const char *member, const char *sha256, problem *why)
{
    char path[2 * PATH_SIZE], sum[SHA256_TEXT];
    snprintf(path, sizeof path, "%s/%s", folder, member);
    return sha256_of_file(path, sum, why) &&
           (strcasecmp(sum, sha256) == 0 ||
            problem_say(why, "%.200s in it has the SHA-256 sum %s, not %.64s", member, sum, sha256));
}

bool unpack(const char *archive, const char *folder, const char *member, const char *sha256, problem *why)
{
    char beside[PATH_SIZE];
    problem reason = {""};
    if (snprintf(beside, sizeof beside, "%s.%ld.tmp", folder, (long)getpid()) >= PATH_SIZE - 300) {
        return problem_say(why, "the name of the folder %.200s is too long", folder);
    }
    if (mkdir(beside, 0777) != 0) {
        return problem_say(why, "cannot make the folder %s: %s", beside, strerror(errno));
    }
    struct archive *a = archive_read_new();
    bool good = a ? unpack_all(a, archive, beside, &reason) : problem_say(&reason, "out of memory");
    archive_read_free(a);
    good = good && (!member || has_member(beside, member, sha256, &reason));
    if (good && rename(beside, folder) != 0) {
        good = problem_say(&reason, "%s", strerror(errno));
    }
    if (!good) {
        nftw(beside, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        return problem_say(why, "cannot unpack %s: %s", archive, reason.text);
    }
    return true;
}
