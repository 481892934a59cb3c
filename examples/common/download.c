/* download.c - see download.h. */
#define _XOPEN_SOURCE 700
#include "download.h"

#ifdef EXAMPLES_DOWNLOAD

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <curl/curl.h>

#include "progress.h"
#include "run_folder.h"
#include "sha256.h"
#include "unpack.h"

/* One transfer into the .part file. */
typedef struct transfer {
    const download *d;
    const char *part;
    FILE *file;
    curl_off_t had; /* bytes of it that were there before */
    progress bar;
    char words[CURL_ERROR_SIZE];
} transfer;

static curl_off_t size_of(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode) ? about.st_size : 0;
}

/* ---- the transfer ---- */

static int show(void *user, curl_off_t total, curl_off_t now, curl_off_t up_total, curl_off_t up)
{
    transfer *t = user;
    (void)up_total, (void)up;
    t->bar.total = total > 0 ? (t->had + total) / 1000 : 0;
    progress_update(&t->bar, (t->had + now) / 1000, "%s", "");
    return 0;
}

static void set_up(CURL *curl, transfer *t)
{
    curl_easy_setopt(curl, CURLOPT_URL, t->d->url);
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
#else
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
    curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
#endif
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 10L);
    curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, 30L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, 60L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "egret-examples");
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, t->words);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, t->file); /* by fwrite */
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, show);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, t);
    curl_easy_setopt(curl, CURLOPT_RESUME_FROM_LARGE, t->had);
}

/* Appends what is missing to the .part file. *anew: the server will not continue it. */
static bool run_transfer(transfer *t, bool *anew, problem *why)
{
    long answer = 0;
    t->had = size_of(t->part);
    t->file = fopen(t->part, "ab");
    if (!t->file) {
        return problem_say(why, "cannot write %s: %s", t->part, strerror(errno));
    }
    if (lockf(fileno(t->file), F_TLOCK, 0) != 0) {
        fclose(t->file);
        t->had = 0;
        return problem_say(why, "another process is fetching %s", t->part);
    }
    CURL *curl = curl_easy_init();
    CURLcode code = CURLE_FAILED_INIT;
    if (curl) {
        set_up(curl, t);
        progress_start(&t->bar, "fetching", 0, "kB");
        code = curl_easy_perform(curl);
        progress_clear(&t->bar);
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer);
        curl_easy_cleanup(curl);
    }
    bool written = fflush(t->file) == 0 && fsync(fileno(t->file)) == 0;
    written = fclose(t->file) == 0 && written;
    *anew = t->had > 0 && (code == CURLE_RANGE_ERROR || answer == 416);
    if (code == CURLE_OK && written) {
        return true;
    }
    const char *words = code == CURLE_WRITE_ERROR || code == CURLE_OK ? strerror(errno)
                        : *t->words ? t->words : curl_easy_strerror(code);
    return problem_say(why, "cannot fetch %.200s: %s", t->d->url, words);
}

/* ---- the file ---- */

static bool is_right(const char *path, const download *d, problem *why)
{
    char sum[SHA256_TEXT];
    if (!d->sha256) {
        long long bytes = size_of(path);
        return bytes == d->bytes || problem_say(why, "%s from %.200s has %lld bytes, not %lld", path, d->url, bytes,
                                                (long long)d->bytes);
    }
    if (!sha256_of_file(path, sum, why)) {
        return false;
    }
    return strcasecmp(sum, d->sha256) == 0 ||
           problem_say(why, "%s has the SHA-256 sum %s, not %.64s", path, sum, d->sha256);
}

/* What is left of a transfer that broke off may be of a file that is no longer the server's: then it
 * starts once more from nothing. */
static bool fetch(const download *d, const char *part, const char *path, problem *why)
{
    bool good = false;
    for (bool again = true; again && !good;) {
        transfer t = {.d = d, .part = part};
        bool anew = false;
        bool fetched = run_transfer(&t, &anew, why);
        good = fetched && is_right(part, d, why);
        again = t.had > 0 && (anew || fetched);
        if (!good && (anew || fetched)) {
            unlink(part);
        }
    }
    return good && (rename(part, path) == 0 ||
                    problem_say(why, "cannot write %s: %s", path, strerror(errno)));
}

static const char *name_of(const download *d)
{
    const char *slash = strrchr(d->url, '/');
    return d->name ? d->name : slash ? slash + 1 : "";
}

bool download_get(const download *d, const char *folder, problem *why)
{
    run_folder place;
    char part[RUN_NAME_MOST + 1];
    const char *name = name_of(d);
    if (!*name || strlen(name) > RUN_NAME_MOST - 6) {
        return problem_say(why, "%.200s has no name a file could have", d->url);
    }
    if (!run_folder_open(&place, folder, "", why)) {
        return false;
    }
    snprintf(part, sizeof part, "%s.part", name);
    run_path packed = run_folder_path(&place, name), to = run_folder_path(&place, d->unpack ? d->unpack : "");
    if (d->unpack && access(to.text, F_OK) == 0) {
        return true;
    }
    bool there = access(packed.text, F_OK) == 0 && is_right(packed.text, d, NULL);
    if (!there && !fetch(d, run_folder_path(&place, part).text, packed.text, why)) {
        return false;
    }
    return !d->unpack || unpack(packed.text, to.text, d->member, d->member_sha256, why);
}

#else

bool download_get(const download *d, const char *folder, problem *why)
{
    (void)folder;
    return problem_say(why, "cannot fetch %.200s: this build lacks libcurl, libarchive or OpenSSL", d->url);
}

#endif
