/* download.c - see download.h. */
#define _XOPEN_SOURCE 700
#include "download.h"

#ifdef EXAMPLES_DOWNLOAD

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <curl/curl.h>

#include <egret/run/folder.h>
#include <egret/run/progress.h>

#include "sha256.h"
#include "unpack.h"

static const char function[] = "download_get";

/* One transfer into the .part file. */
typedef struct transfer {
    const download *d;
    const char *part;
    FILE *file;
    CURL *curl;
    curl_off_t had, most;   /* bytes of it that were there before; and that there may be */
    bool too_large, astray; /* astray: why is on record */
    eg_progress bar;
    char words[CURL_ERROR_SIZE];
} transfer;

static curl_off_t size_of(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode) ? about.st_size : 0;
}

/* ---- the transfer ---- */

enum { MOST_BYTES = INT32_MAX }; /* of a file whose length nobody told */

/* Plain http is for servers on this machine. Behind the host there is a port or nothing: else it might be a name for
 * another host, http://localhost:80@example.org. */
static bool is_near(const char *url)
{
    static const char *const hosts[] = {"http://127.0.0.1", "http://localhost", "http://[::1]"};
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        size_t n = strlen(hosts[i]);
        if (strncasecmp(url, hosts[i], n) == 0) {
            const char *end = url + n + (url[n] == ':');
            end += url[n] == ':' ? strspn(end, "0123456789") : 0;
            return *end == '/' || !*end;
        }
    }
    return false;
}

static eg_status may_fetch(const char *url)
{
    if (strncasecmp(url, "https://", 8) == 0 || is_near(url)) {
        return EG_OK;
    }
    return eg_failf(EG_EINVAL, function, "cannot fetch %.150s: only https is trusted, or http from this machine", url);
}

/* Of each connection, also of those that servers lead to. */
static curl_socket_t connect_to(void *user, curlsocktype purpose, struct curl_sockaddr *to)
{
    transfer *t = user;
    char *url = NULL;
    (void)purpose;
    curl_easy_getinfo(t->curl, CURLINFO_EFFECTIVE_URL, &url);
    t->astray = may_fetch(url ? url : "") != EG_OK;
    return t->astray ? CURL_SOCKET_BAD : socket(to->family, to->socktype, to->protocol);
}

static int show(void *user, curl_off_t total, curl_off_t now, curl_off_t up_total, curl_off_t up)
{
    transfer *t = user;
    (void)up_total, (void)up;
    t->too_large = t->had + now > t->most || t->had + total > t->most;
    t->bar.total = total > 0 ? (t->had + total) / 1000 : 0;
    eg_progress_update(&t->bar, (t->had + now) / 1000, "%s", "");
    return t->too_large;
}

/* From https no redirection leads down to http. */
static void set_up(transfer *t)
{
    CURL *curl = t->curl;
    const char *authorities = getenv("SSL_CERT_FILE");
    bool near = is_near(t->d->url);
    curl_easy_setopt(curl, CURLOPT_URL, t->d->url);
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, near ? "http" : "https");
    curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, near ? "http,https" : "https");
#else
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS, near ? CURLPROTO_HTTP : CURLPROTO_HTTPS);
    curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS, near ? CURLPROTO_HTTP | CURLPROTO_HTTPS : CURLPROTO_HTTPS);
#endif
    if (authorities && *authorities) {
        curl_easy_setopt(curl, CURLOPT_CAINFO, authorities);
    }
    curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, connect_to);
    curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, t);
    curl_easy_setopt(curl, CURLOPT_FORBID_REUSE, 1L); /* a connection to a proxy would lead anywhere */
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
    curl_easy_setopt(curl, CURLOPT_MAXFILESIZE_LARGE, t->most > t->had ? t->most - t->had : 1);
}

/* Appends what is missing to the .part file. *anew: the server will not continue it. */
static eg_status run_transfer(transfer *t, bool *anew)
{
    long answer = 0;
    t->had = size_of(t->part);
    t->file = fopen(t->part, "ab");
    if (!t->file) {
        return eg_failf(EG_EIO, function, "cannot write %s: %s", t->part, strerror(errno));
    }
    if (lockf(fileno(t->file), F_TLOCK, 0) != 0) {
        fclose(t->file);
        t->had = 0;
        return eg_failf(EG_EIO, function, "another process is fetching %s", t->part);
    }
    CURLcode code = CURLE_FAILED_INIT;
    t->curl = curl_easy_init();
    if (t->curl) {
        set_up(t);
        eg_progress_start(&t->bar, stderr, "fetching", 0, "kB");
        code = curl_easy_perform(t->curl);
        eg_progress_clear(&t->bar);
        curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &answer);
        curl_easy_cleanup(t->curl);
    }
    bool written = fflush(t->file) == 0 && fsync(fileno(t->file)) == 0;
    written = fclose(t->file) == 0 && written;
    *anew = t->had > 0 && (code == CURLE_RANGE_ERROR || answer == 416);
    if (code == CURLE_OK && written) {
        return EG_OK;
    }
    t->too_large = t->too_large || code == CURLE_FILESIZE_EXCEEDED;
    if (t->too_large) {
        return eg_failf(EG_EIO, function, "%.150s is larger than %lld bytes, the most that are fetched", t->d->url,
                        (long long)t->most);
    }
    if (t->astray) {
        return eg_failf(EG_EIO, function, "%.80s leads elsewhere: %s", t->d->url, eg_last_error()->message);
    }
    const char *words = code == CURLE_WRITE_ERROR || code == CURLE_OK ? strerror(errno)
                        : *t->words                                   ? t->words
                                                                      : curl_easy_strerror(code);
    return eg_failf(EG_EIO, function, "cannot fetch %.150s: %s", t->d->url, words);
}

/* ---- the file ---- */

/* Where the sum that was met first is kept, of a file whose sum nobody has published. */
static eg_path record_of(const char *path)
{
    eg_path p;
    snprintf(p.text, sizeof p.text, "%.*s.sha256", (int)sizeof p.text - 8, path);
    return p;
}

/* Whether there is one. *sum is empty if it cannot be read or is damaged. */
static bool read_record(const char *path, char *sum)
{
    FILE *file = fopen(record_of(path).text, "r");
    *sum = '\0';
    if (!file) {
        return errno != ENOENT;
    }
    bool good = fgets(sum, SHA256_TEXT, file) && strspn(sum, "0123456789abcdefABCDEF") == SHA256_TEXT - 1;
    int end = fgetc(file);
    *sum = good && (end == EOF || isspace(end)) ? *sum : '\0';
    fclose(file);
    return true;
}

/* Without its sum any file of the right length would pass. */
static eg_status check_record(const char *path)
{
    char sum[SHA256_TEXT];
    if (!read_record(path, sum) || *sum) {
        return EG_OK;
    }
    return eg_failf(EG_EFORMAT, function,
                    "%s holds no SHA-256 sum; without it the next file that is fetched is the right one",
                    record_of(path).text);
}

static eg_status write_record(const char *path)
{
    char sum[SHA256_TEXT];
    eg_path to = record_of(path);
    const char *slash = strrchr(path, '/');
    eg_status st = sha256_of_file(path, sum);
    if (st) {
        return st;
    }
    FILE *file = fopen(to.text, "w");
    bool good = file && fprintf(file, "%s  %s\n", sum, slash ? slash + 1 : path) > 0;
    good = (!file || fclose(file) == 0) && good;
    if (!good) {
        st = eg_failf(EG_EIO, function, "cannot write %s: %s", to.text, strerror(errno));
        unlink(to.text); /* half a sum is none */
    }
    return st;
}

/* `name`: what the file is called in the end, by which its record is found. */
static eg_status is_right(const char *path, const char *name, const download *d)
{
    char sum[SHA256_TEXT], met[SHA256_TEXT];
    bool recorded = !d->sha256 && read_record(name, met);
    const char *right = recorded ? met : d->sha256;
    if (!d->sha256) {
        long long bytes = size_of(path);
        if (bytes != d->bytes) {
            return eg_failf(EG_EFORMAT, function, "%s from %.100s has %lld bytes, not %lld", path, d->url, bytes,
                            (long long)d->bytes);
        }
    }
    if (!right) {
        return EG_OK;
    }
    eg_status st = sha256_of_file(path, sum);
    if (st || strcasecmp(sum, right) == 0) {
        return st;
    }
    return recorded ? eg_failf(EG_EFORMAT, function,
                               "%s has the SHA-256 sum %.16s..., not %.64s as when it was first fetched: %s", path, sum,
                               right, record_of(name).text)
                    : eg_failf(EG_EFORMAT, function, "%s has the SHA-256 sum %s, not %.64s", path, sum, right);
}

/* What is left of a transfer that broke off may be of a file that is no longer the server's: then it
 * starts once more from nothing. */
static eg_status fetch(const download *d, const char *part, const char *path)
{
    eg_status st = EG_OK;
    for (bool again = true; again;) {
        eg_clear_error(); /* of what is done anew */
        transfer t = {.d = d, .part = part, .most = d->bytes ? d->bytes : MOST_BYTES};
        bool anew = false;
        st = run_transfer(&t, &anew);
        bool spoilt = anew || !st || t.too_large;
        st = st ? st : is_right(part, path, d);
        again = st && t.had > 0 && spoilt;
        if (st && spoilt) {
            unlink(part);
        }
    }
    if (!st && rename(part, path) != 0) {
        st = eg_failf(EG_EIO, function, "cannot write %s: %s", path, strerror(errno));
    }
    return st;
}

static const char *name_of(const download *d)
{
    const char *slash = strrchr(d->url, '/');
    return d->name ? d->name : slash ? slash + 1 : "";
}

eg_status download_get(const download *d, const char *folder)
{
    char part[EG_NAME_MOST + 1];
    const char *name = name_of(d);
    if (!*name || strlen(name) > EG_NAME_MOST - 6) {
        return eg_failf(EG_EINVAL, function, "%.200s has no name a file could have", d->url);
    }
    eg_status st = eg_folder_make(folder);
    if (st) {
        return st;
    }
    snprintf(part, sizeof part, "%s.part", name);
    eg_path packed = eg_path_in(folder, name), to = eg_path_in(folder, d->unpack ? d->unpack : "");
    if (d->unpack && access(to.text, F_OK) == 0) {
        return EG_OK;
    }
    st = d->sha256 ? EG_OK : check_record(packed.text);
    if (!st && (access(packed.text, F_OK) != 0 || is_right(packed.text, packed.text, d))) {
        st = may_fetch(d->url);
        st = st ? st : fetch(d, eg_path_in(folder, part).text, packed.text);
    }
    if (!st && d->unpack) {
        st = unpack(packed.text, to.text, d->member, d->member_sha256);
    }
    bool known = d->sha256 || access(record_of(packed.text).text, F_OK) == 0;
    return st || known ? st : write_record(packed.text);
}

#else

eg_status download_get(const download *d, const char *folder)
{
    (void)folder;
    return eg_failf(EG_ENOKERNEL, "download_get",
                    "cannot fetch %.150s: this build lacks libcurl, libarchive or OpenSSL", d->url);
}

#endif
