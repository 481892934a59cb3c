/* sha256.c - see sha256.h. */
#include "sha256.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <openssl/evp.h>

static bool hash_stream(FILE *file, EVP_MD_CTX *hash, unsigned char *sum, unsigned *length)
{
    unsigned char piece[1 << 16];
    bool good = hash && EVP_DigestInit_ex(hash, EVP_sha256(), NULL);
    for (size_t n; good && (n = fread(piece, 1, sizeof piece, file)) > 0;) {
        good = EVP_DigestUpdate(hash, piece, n);
    }
    return good && !ferror(file) && EVP_DigestFinal_ex(hash, sum, length);
}

eg_status sha256_of_file(const char *path, char text[SHA256_TEXT])
{
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    FILE *file = fopen(path, "rb");
    if (!file) {
        return eg_failf(EG_EIO, "sha256_of_file", "cannot open %s: %s", path, strerror(errno));
    }
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    bool good = hash_stream(file, hash, sum, &length);
    EVP_MD_CTX_free(hash);
    fclose(file);
    if (!good) {
        return eg_failf(EG_EIO, "sha256_of_file", "cannot read %s", path);
    }
    for (unsigned i = 0; i < length && 2 * i + 2 < SHA256_TEXT; i++) {
        snprintf(text + 2 * i, 3, "%02x", sum[i]);
    }
    return EG_OK;
}
