/* test_codecs.c - other people's libraries are opened when something first needs them: without one, only what it is for
 * fails, in words that say what to install. Each is hidden from a process of its own by a file of its name that is no
 * library, where the loader looks first. */
#define _POSIX_C_SOURCE 200809L
#include <sys/wait.h>
#include <unistd.h>

#include "tests/egt.h"

static eg_tensor *pixels(void)
{
    return eg_zeros(EG_SHAPE(3, 8, 8), EG_U8);
}

static bool archive(void)
{
    return eg_tar_new("*.tar");
}

/* A JPEG with an empty EXIF block; the library of the others is there. */
static bool exif(void)
{
    static const uint8_t block[] = {0xff, 0xd8, 0xff, 0xe1, 0, 10, 'E', 'x', 'i', 'f', 0, 0, 0, 0};
    eg_tensor *jpeg = eg_jpeg_encode(pixels());
    egt_need(jpeg, "libjpeg");
    const size_t rest = (size_t)eg_numel(jpeg) - 2;
    uint8_t *bytes = malloc(sizeof block + rest);
    EGT_CHECK(bytes);
    memcpy(bytes, block, sizeof block);
    memcpy(bytes + sizeof block, (const char *)eg_data(jpeg) + 2, rest);
    EGT_CHECK(eg_image_decode(bytes, sizeof block + rest, .ignore_orientation = true));
    eg_tensor *image = eg_image_decode(bytes, sizeof block + rest);
    free(bytes);
    return image;
}

static bool jpeg(void)
{
    static const uint8_t begin[] = {0xff, 0xd8, 0xff, 0xe0, 0, 16, 'J', 'F', 'I', 'F', 0, 1};
    EGT_CHECK(!eg_image_decode(begin, sizeof begin) && egt_said(EG_ENOKERNEL, "libjpeg"));
    return eg_jpeg_encode(pixels());
}

static bool png(void)
{
    static const uint8_t begin[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n', 0, 0, 0, 13, 'I', 'H', 'D', 'R'};
    EGT_CHECK(!eg_image_decode(begin, sizeof begin) && egt_said(EG_ENOKERNEL, "libpng"));
    return eg_png_encode(pixels());
}

static bool protobuf(void)
{
    EGT_CHECK(!eg_example_new() && egt_said(EG_ENOKERNEL, "protobuf"));
    return eg_events_new(egt_folder());
}

static bool snappy(void)
{
    return eg_tensors_open("tests/golden/tensorflow/old_packed.ckpt");
}

static bool sndfile(void)
{
    static const uint8_t wav[] = {'R', 'I', 'F', 'F',  44, 0, 0,    0, 'W',  'A',  'V',  'E',  'f',
                                  'm', 't', ' ', 16,   0,  0, 0,    1, 0,    2,    0,    0x40, 0x1f,
                                  0,   0,   0,   0x7d, 0,  0, 4,    0, 16,   0,    'd',  'a',  't',
                                  'a', 8,   0,   0,    0,  0, 0x40, 0, 0x80, 0xff, 0x7f, 1,    0};
    int64_t rate;
    return eg_audio_parse(wav, sizeof wav, &rate);
}

static bool utf8proc(void)
{
    return eg_text_normalise(eg_zeros(EG_SHAPE(3), EG_U8));
}

static bool zlib(void)
{
    static const uint8_t packed[] = {0x1f, 0x8b, 8, 0};
    EGT_CHECK(!eg_npz_load("tests/fuzz/corpus/archives/two.npz") && egt_said(EG_ENOKERNEL, "zlib"));
    egt_write(egt_path("packed.gz"), packed, sizeof packed);
    EGT_CHECK(!eg_idx_read(egt_path("packed.gz")) && egt_said(EG_ENOKERNEL, "zlib"));
    return eg_tfrecord_writer_new(egt_path("records"), .compression = EG_COMPRESSION_ZLIB);
}

static const struct codec {
    const char *name;
    bool (*works)(void);
    const char *file, *package; /* no file: this build has none */
} codecs[] = {
    {"archive", archive, EG_SO_ARCHIVE, "libarchive13"},
    {"exif", exif, EG_SO_EXIF, "libexif12"},
    {"jpeg", jpeg, EG_SO_JPEG, "libjpeg62-turbo"},
    {"png", png, EG_SO_PNG, "libpng16-16"},
    {"protobuf", protobuf, EG_SO_PROTOBUF, "libprotobuf-c1"},
    {"snappy", snappy, EG_SO_SNAPPY, "libsnappy1v5"},
    {"sndfile", sndfile, EG_SO_SNDFILE, "libsndfile1"},
    {"utf8proc", utf8proc, EG_SO_UTF8PROC, "libutf8proc"},
    {"zlib", zlib, EG_SO_ZLIB, "zlib1g"},
    {0},
};

static const char hidden[] = "EGT_HIDDEN";

/* In a process from which it is hidden. */
static void check_words(const char *name)
{
    const struct codec *c = codecs;
    while (c->name && strcmp(c->name, name)) {
        c++;
    }
    EGT_CHECK(c->name);
    EGT_CHECK(!c->works());
    EGT_CHECK(strstr(eg_last_error()->message, c->file));
    EGT_CHECK(egt_said(EG_ENOKERNEL, c->package));
}

static int run_without(const struct codec *c)
{
    char *arguments[] = {(char *)"codecs", (char *)"missing", NULL};
    int status = -1;
    egt_write(egt_path(c->file), "no library", 10);
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        setenv("LD_LIBRARY_PATH", egt_folder(), 1);
        setenv(hidden, c->name, 1);
        dup2(2, 1); /* its count is not ours */
        execv("/proc/self/exe", arguments);
        _exit(127);
    }
    waitpid(child, &status, 0);
    remove(egt_path(c->file));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

EGT(missing)
{
    if (getenv(hidden)) {
        check_words(getenv(hidden));
        return;
    }
    int tried = 0;
    for (const struct codec *c = codecs; c->name; c++) {
        if (c->file) {
            snprintf(egt_case, sizeof egt_case, "missing_%s", c->name);
            EGT_EQ(run_without(c), 0);
            tried++;
        }
    }
    if (!tried) {
        egt_skip("this build has none");
    }
}

/* None of them is in a process that computes. */
EGT(none_at_first)
{
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    if (!maps) {
        egt_skip("no list of what a process has in memory");
    }
    EGT_CHECK(eg_add(pixels(), pixels()));
    while (fgets(line, sizeof line, maps)) {
        for (const struct codec *c = codecs; c->name; c++) {
            if (c->file && strstr(line, c->file)) {
                fclose(maps);
                egt_fail(__FILE__, __LINE__, "%s is there", c->file);
            }
        }
    }
    fclose(maps);
}
