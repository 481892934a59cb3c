/* charset.c - see charset.h. */
#include "charset.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char drawn[] = " '-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                            "ÉÎÔàâçèéêëîôù";
static const char null_word[] = "<nul>";

/* The bytes of the first letter of a text. */
static size_t letter_bytes(const char *text)
{
    size_t n = 1;
    while (((unsigned char)text[n] & 0xc0) == 0x80 && n < LETTER_BYTES - 1) {
        n++;
    }
    return n;
}

void charset_drawn(charset *set)
{
    memset(set, 0, sizeof *set);
    for (const char *at = drawn; *at; at += letter_bytes(at)) {
        memcpy(set->letters[set->count++], at, letter_bytes(at));
    }
    set->null = set->count++;
}

/* ---- files --------------------------------------------------------------------------------------- */

static eg_status read_line(charset *set, char *line, const char *path)
{
    char *tab;
    line[strcspn(line, "\r\n")] = '\0';
    const long long id = strtoll(line, &tab, 10);
    const char *letter = tab + 1;
    if (tab == line || *tab != '\t' || id < 0 || id >= CHARSET_MOST || !*letter || strlen(letter) >= LETTER_BYTES) {
        return eg_failf(EG_EFORMAT, "ocr", "%.200s: \"%.40s\" is not a number below %d, a tab and a letter", path, line,
                        CHARSET_MOST);
    }
    if (strcmp(letter, null_word) == 0) {
        set->null = id;
    } else {
        snprintf(set->letters[id], LETTER_BYTES, "%s", letter);
    }
    set->count = id >= set->count ? id + 1 : set->count;
    return EG_OK;
}

eg_status charset_load(charset *set, const char *path)
{
    char line[256];
    memset(set, 0, sizeof *set);
    set->null = -1;
    FILE *f = fopen(path, "r");
    if (!f) {
        return eg_failf(EG_EIO, "ocr", "%.200s: %s", path, strerror(errno));
    }
    eg_status st = EG_OK;
    while (!st && fgets(line, sizeof line, f)) {
        st = *line == '\n' ? EG_OK : read_line(set, line, path);
    }
    fclose(f);
    return st || set->null >= 0 ? st : eg_failf(EG_EFORMAT, "ocr", "%.200s has no %s", path, null_word);
}

eg_status charset_save(const charset *set, const char *path)
{
    const size_t room = (size_t)set->count * (LETTER_BYTES + 24) + 1;
    char *text = malloc(room), *at = text;
    if (!text) {
        return eg_fail(EG_ENOMEM, "ocr", "out of memory for the letters");
    }
    for (int64_t i = 0; i < set->count; i++) {
        const char *letter = i == set->null ? null_word : set->letters[i];
        at += *letter ? snprintf(at, room - (size_t)(at - text), "%lld\t%s\n", (long long)i, letter) : 0;
    }
    eg_status st = eg_file_write(path, text, (size_t)(at - text));
    free(text);
    return st;
}

/* ---- texts --------------------------------------------------------------------------------------- */

static int64_t find(const charset *set, const char *letter, size_t bytes)
{
    for (int64_t i = 0; i < set->count; i++) {
        if (strlen(set->letters[i]) == bytes && memcmp(set->letters[i], letter, bytes) == 0) {
            return i;
        }
    }
    return -1;
}

int64_t charset_encode(const charset *set, const char *text, int64_t *ids, int64_t length)
{
    int64_t n = 0;
    for (const char *at = text; *at; at += letter_bytes(at)) {
        const int64_t id = find(set, at, letter_bytes(at));
        if (id < 0 || n == length) {
            eg_failf(EG_EFORMAT, "ocr", "\"%.100s\" has %s", text, id < 0 ? "an unknown letter" : "too many letters");
            return -1;
        }
        ids[n++] = id;
    }
    for (int64_t i = n; i < length; i++) {
        ids[i] = set->null;
    }
    return n;
}

void charset_decode(const charset *set, const int64_t *ids, int64_t length, char *text, size_t bytes)
{
    size_t at = 0;
    *text = '\0';
    for (int64_t i = 0; i < length && ids[i] != set->null; i++) {
        const char *letter = ids[i] >= 0 && ids[i] < set->count ? set->letters[ids[i]] : "";
        if (at + strlen(letter) < bytes) {
            at += (size_t)snprintf(text + at, bytes - at, "%s", letter);
        }
    }
}
