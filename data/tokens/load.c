/* load.c - a tokenizer from a file, by what the file is. */
#include <sys/stat.h>

#include "data/tokens/tokens.h"
#include "lib/io/file.h"

static const char op[] = "eg_tokenizer_load";
enum { MOST_PATH = 4096, MOST_FILE = 1 << 30 };

/* ---- a file ------------------------------------------------------------------------------------------ */

static eg_tokenizer *of_json(const char *data, int64_t n)
{
    eg_json *j = eg_json_parse(data, (size_t)n);
    eg_tokenizer *t = j ? eg__tokenizer_of_json(op, j) : NULL;
    eg_json_free(j);
    return t;
}

static eg_tokenizer *of_words(const char *path)
{
    eg_vocabulary *v = eg_vocabulary_load(path);
    eg_tokenizer *t = v ? eg_wordpiece_new(v) : NULL;
    eg_vocabulary_free(v);
    return t;
}

static eg_tokenizer *of_file(const char *path)
{
    eg__source s;
    if (eg__source_open(&s, op, path)) {
        return NULL;
    }
    char *data = s.size <= MOST_FILE ? eg__counted_alloc((size_t)s.size + 1) : NULL;
    eg_status st = s.size > MOST_FILE ? eg__source_bad(&s, 0, "a tokenizer has %d bytes at most", MOST_FILE)
                   : !data            ? eg__no_memory(op, s.size)
                                      : eg__source_read(&s, 0, data, s.size);
    const int64_t n = s.size;
    eg__source_close(&s);
    eg_tokenizer *t = NULL;
    if (!st) {
        data[n] = '\0';
        const char first = data[strspn(data, " \t\r\n")];
        const bool text = n && data[0] != '\n' && eg__utf8(data, n) && !memchr(data, '\0', (size_t)n);
        t = first == '{' && text                      ? of_json(data, n)
            : text && (*data == '\'' || *data == '"') ? eg__tokenizer_of_subtokens(op, data, n)
            : text                                    ? of_words(path)
                                                      : eg__tokenizer_of_model(op, data, n);
    }
    eg__counted_free(data);
    return t;
}

/* ---- a folder ------------------------------------------------------------------------------------------ */

static bool in_folder(const char *folder, const char *name, char path[MOST_PATH])
{
    return snprintf(path, MOST_PATH, "%s/%s", folder, name) < MOST_PATH && eg__file_exists(path);
}

static eg_tokenizer *of_folder(const char *folder)
{
    static const char *const whole[] = {"tokenizer.json", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model"};
    char path[MOST_PATH], merges[MOST_PATH];
    for (int i = 0; i < EG__COUNT(whole); i++) {
        if (in_folder(folder, whole[i], path)) {
            return of_file(path);
        }
    }
    if (in_folder(folder, "vocab.json", path) && in_folder(folder, "merges.txt", merges)) {
        return eg_byte_bpe_new(path, merges);
    }
    if (in_folder(folder, "vocab.txt", path)) {
        return of_file(path);
    }
    return eg__fail_null(EG_EIO, op, "%.200s has no tokenizer.json, nor any other file of a tokenizer", folder);
}

eg_tokenizer *eg_tokenizer_load(const char *path)
{
    struct stat about;
    if (!path) {
        return eg__null_argument(op, "path"), NULL;
    }
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode) ? of_folder(path) : of_file(path);
}
