/* zip.h - members of a zip archive, by its central directory (PKWARE's APPNOTE 6.3), of 32 and of 64 bits. */
#ifndef EGRET_ZIP_H
#define EGRET_ZIP_H

#include "lib/io/file.h"

typedef struct eg__zip_member {
    const char *name;     /* no zero inside, no way out of a folder */
    int64_t at;           /* where its bytes begin in the source */
    int64_t packed, size; /* bytes there, and unpacked */
    uint32_t crc;         /* CRC-32 of them unpacked */
    bool deflated;        /* else they lie there as they are */
} eg__zip_member;

typedef struct eg__zip {
    eg__zip_member *member; /* in the order of the directory */
    int64_t count;
    char *names;
    const eg__zip_member **by_name; /* in the order of strcmp */
} eg__zip;

/* Whether the source begins as such archives do, without words. */
bool eg__zip_is(const eg__source *s);
/* Whether the name of its first member ends so, without words. */
bool eg__zip_begins(const eg__source *s, const char *ending);
/* Reads and checks the directory and what the members say of themselves. EG_EFORMAT: damaged, encrypted, split, packed
 * by other than deflate, sizes deflate cannot reach, members that share bytes, a name twice or with "..". */
eg_status eg__zip_open(eg__zip *zip, const eg__source *s);
void eg__zip_close(eg__zip *zip);
/* The member of that name; NULL without words. */
const eg__zip_member *eg__zip_find(const eg__zip *zip, const char *name);
/* All of a member into `to`, which is not NULL and has room for m->size bytes (check them first with
 * eg__source_unpacks); EG_EFORMAT if they are not of its checksum. Without zlib, EG_ENOKERNEL for one that is deflated.
 */
eg_status eg__zip_unpack(const eg__source *s, const eg__zip_member *m, void *to);
/* Its first `bytes`, at most m->size, which no checksum is for. */
eg_status eg__zip_unpack_first(const eg__source *s, const eg__zip_member *m, void *to, int64_t bytes);

#endif
