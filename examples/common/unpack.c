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

static const char function[] = "unpack";

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
static eg_status copy_data(struct archive *a, int to, const char *name, int64_t *left)
{
    const int64_t most = *left;
    const void *data;
    size_t size;
    la_int64_t at;
    for (int status; (status = archive_read_data_block(a, &data, &size, &at)) != ARCHIVE_EOF;) {
        if (status != ARCHIVE_OK) {
            return eg_failf(EG_EFORMAT, function, "%s: %s", name, archive_error_string(a));
        }
        if (at < 0 || size > INT32_MAX || at > most - (int64_t)size) {
            return eg_failf(EG_EFORMAT, function,
                            "%.80s: the members are larger than is unpacked, 2^30 bytes or 32 "
                            "times the archive's",
                            name);
        }
        *left = most - at - (int64_t)size;
        while (size > 0) {
            ssize_t n = pwrite(to, data, size, (off_t)at);
            if (n < 0 && errno != EINTR) {
                return eg_failf(EG_EIO, function, "%s: %s", name, strerror(errno));
            }
            n = n < 0 ? 0 : n;
            data = (const char *)data + n;
            at += n;
            size -= (size_t)n;
        }
    }
    return EG_OK;
}

static eg_status write_file(struct archive *a, const char *path, const char *name, int64_t *left)
{
    int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (to < 0) {
        return eg_failf(EG_EIO, function, "%s: %s", name, strerror(errno));
    }
    eg_status st = copy_data(a, to, name, left);
    if (close(to) != 0 && !st) {
        st = eg_failf(EG_EIO, function, "%s: %s", name, strerror(errno));
    }
    return st;
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

static eg_status unpack_member(struct archive *a, struct archive_entry *e, const char *archive, const char *folder,
                               int64_t *left)
{
    char path[PATH_SIZE], raw[256];
    const char *name = archive_entry_pathname(e);
    if (archive_format(a) == ARCHIVE_FORMAT_RAW) {
        name_of_raw(archive, raw, sizeof raw);
        name = raw;
    }
    if (!name || !stays_inside(name)) {
        return eg_failf(EG_EFORMAT, function, "the member \"%.100s\" leads out of the folder", name ? name : "");
    }
    bool is_folder = archive_entry_filetype(e) == AE_IFDIR;
    if ((!is_folder && archive_entry_filetype(e) != AE_IFREG) || archive_entry_hardlink(e)) {
        return eg_failf(EG_EFORMAT, function, "the member \"%.100s\" is neither a file nor a folder", name);
    }
    if (snprintf(path, sizeof path, "%s/%s%s", folder, name, is_folder ? "/" : "") >= PATH_SIZE) {
        return eg_failf(EG_EFORMAT, function, "the name of the member \"%.100s\" is too long", name);
    }
    if (!make_parents(path, strlen(folder))) {
        return eg_failf(EG_EIO, function, "%s: %s", name, strerror(errno));
    }
    return is_folder ? EG_OK : write_file(a, path, name, left);
}

static eg_status unpack_all(struct archive *a, const char *archive, const char *folder)
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
        return eg_fail(EG_EFORMAT, function, archive_error_string(a));
    }
    for (int status; (status = archive_read_next_header(a, &e)) != ARCHIVE_EOF; members++) {
        if (status != ARCHIVE_OK && status != ARCHIVE_WARN) {
            return eg_fail(EG_EFORMAT, function, archive_error_string(a));
        }
        /* Anything at all can be taken for raw; only what was packed is meant. */
        if (archive_format(a) == ARCHIVE_FORMAT_RAW && archive_filter_count(a) < 2) {
            return eg_fail(EG_EFORMAT, function, "it is no archive");
        }
        eg_status st = unpack_member(a, e, archive, folder, &left);
        if (st) {
            return st;
        }
    }
    return members > 0 ? EG_OK : eg_fail(EG_EFORMAT, function, "it is empty");
}

/* ---- the folder ---- */

static int remove_one(const char *path, const struct stat *about, int type, struct FTW *walk)
{
    (void)about, (void)type, (void)walk;
    return remove(path);
}

static eg_status has_member(const char *folder, const char *member, const char *sha256)
{
    char path[2 * PATH_SIZE], sum[SHA256_TEXT];
    snprintf(path, sizeof path, "%s/%s", folder, member);
    eg_status st = sha256_of_file(path, sum);
    if (!st && strcasecmp(sum, sha256) != 0) {
        st = eg_failf(EG_EFORMAT, function, "%.80s in it has the SHA-256 sum %s, not %.64s", member, sum, sha256);
    }
    return st;
}

eg_status unpack(const char *archive, const char *folder, const char *member, const char *sha256)
{
    char beside[PATH_SIZE];
    if (snprintf(beside, sizeof beside, "%s.%ld.tmp", folder, (long)getpid()) >= PATH_SIZE - 300) {
        return eg_failf(EG_EINVAL, function, "the name of the folder %.200s is too long", folder);
    }
    if (mkdir(beside, 0777) != 0) {
        return eg_failf(EG_EIO, function, "cannot make the folder %s: %s", beside, strerror(errno));
    }
    struct archive *a = archive_read_new();
    eg_status st = a ? unpack_all(a, archive, beside) : eg_fail(EG_ENOMEM, function, "out of memory");
    archive_read_free(a);
    st = st || !member ? st : has_member(beside, member, sha256);
    if (!st && rename(beside, folder) != 0) {
        st = eg_fail(EG_EIO, function, strerror(errno));
    }
    if (st) {
        nftw(beside, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        eg_failf(st, function, "cannot unpack %s: %s", archive, eg_last_error()->message);
    }
    return st;
}
