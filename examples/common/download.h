/* download.h - fetching a data set once: the archive over HTTP, its checksum, its members. */
#ifndef EXAMPLES_DOWNLOAD_H
#define EXAMPLES_DOWNLOAD_H

#include <stdint.h>

#include <egret/error.h>

typedef struct download {
    const char *url;    /* https; http only from this machine (localhost, 127.0.0.1, [::1]) */
    const char *sha256; /* of the file, 64 hexadecimal digits; NULL: nobody has published it, */
    int64_t bytes;      /* then it is known by its length, and by the sum it had when it was first fetched */
    const char *name;   /* what it is called in the folder; NULL: as the URL ends */
    const char *unpack; /* a new folder in the folder for its members; NULL: it stays packed */
    const char *member, *member_sha256; /* a file of the archive that is looked at too; NULL: none */
} download;

/* Fetches the file into the folder (which is made if need be) unless it is there already, with a progress
 * bar on a terminal. It has its name only once all of it is there and the checksum (or the length) is right; until
 * then it is "<name>.part", and a transfer that broke off is continued by the next call where the server can do
 * that. No more than `bytes` are fetched, or 2^31 - 1 where that is 0; from https no redirection leads to http, and
 * from this machine none over http to another. SSL_CERT_FILE names a file of certificates to trust instead of the
 * system's. The sum of a file without one is recorded in "<name>.sha256", and a later fetch must give the same; a
 * record that is damaged is a failure.
 *
 * Then unpacks it - tar, tar.gz, zip and what else libarchive knows, or a single file in gzip - unless that
 * folder is there already; it appears when all is in it, and the member has its sum. A member whose name leads
 * elsewhere, and whatever is neither a file nor a folder, is refused, and so is an archive of more than 2^30 bytes and
 * more than 32 times its own. */
eg_status download_get(const download *d, const char *folder);

#endif
