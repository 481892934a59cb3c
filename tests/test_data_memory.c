/* test_data_memory.c - codecs and readers when memory runs out: each allocation of a job fails in turn, the
 * failure is told, nothing is lost, and the job then works. */
#define _POSIX_C_SOURCE 200809L
#include "tests/readers.h"

#include <sys/stat.h>

/* True: done; false: failed, the record says why. */
typedef bool job(void);

static bool call(void *user)
{
    return (*(job **)user)();
}

static void sweep(job *f)
{
    egt_fail_allocations(call, &f);
}

/* Whether there is a sample and nothing fails. */
static bool passes(eg_dataset *d)
{
    bool ok = d && walk(d) && eg_dataset_status(d) == EG_OK;
    eg_dataset_free(d);
    return ok;
}

/* ---- pictures ------------------------------------------------------------------------------------ */

static eg_tensor *picture(void)
{
    eg_tensor *t = eg_arange(0, 3 * 20 * 30, 1, EG_I32);
    return eg_reshape(eg_cast(t, EG_U8), EG_SHAPE(3, 20, 30));
}

static bool decoded(eg_tensor *bytes)
{
    if (!bytes) {
        return false;
    }
    const void *p = eg_data(bytes);
    size_t n = (size_t)eg_numel(bytes);
    return eg_image_decode(p, n) && eg_image_decode(p, n, .channels = 1) && eg_image_decode_crop(p, n, 8, 9);
}

static bool jpeg(void)
{
    return decoded(eg_jpeg_encode(picture()));
}

static bool png(void)
{
    return decoded(eg_png_encode(picture()));
}

static bool image_files(void)
{
    eg_tensor *x = picture();
    return x && !eg_png_save(x, egt_path("a.png")) && eg_image_load(egt_path("a.png"));
}

static bool image_ops(void)
{
    eg_tensor *x = picture();
    return x && eg_image_jitter(x, .brightness = 0.5, .contrast = 0.5, .saturation = 0.5, .hue = 0.2) &&
           eg_image_rotate(x, 20) && eg_image_resize(x, 8, 8) && eg_image_random_crop(x, 5, 5) &&
           eg_image_normalise(x, EG_IMAGENET_MEAN, EG_IMAGENET_STD) && eg_image_preprocess(x, EG_KERAS_CAFFE) &&
           eg_image_to_u8(eg_image_to_float(x)) && eg_image_random_flip(x, 0.5, 0.5) && eg_image_turn(x, 1);
}

EGT(pictures_without_memory)
{
    sweep(jpeg);
    sweep(png);
    sweep(image_files);
    sweep(image_ops);
}

/* ---- records ------------------------------------------------------------------------------------- */

static bool write_records(eg_compression c)
{
    static char big[70000];
    eg_tfrecord_writer *w = eg_tfrecord_writer_new(egt_path("a.rec"), .compression = c);
    if (!w) {
        return false;
    }
    for (int i = 0; i < 3; i++) {
        if (eg_tfrecord_write(w, big, 1000 + 30000 * (size_t)i)) {
            eg_tfrecord_writer_free(w);
            return false;
        }
    }
    return !eg_tfrecord_writer_close(w);
}

static bool plain_records(void)
{
    return write_records(EG_COMPRESSION_NONE) && passes(eg_tfrecord_new(egt_path("*.rec")));
}

static bool packed_records(void)
{
    return write_records(EG_COMPRESSION_GZIP) && passes(eg_tfrecord_new(egt_path("*.rec")));
}

static bool examples(void)
{
    static const eg_feature table[] = {{"n", EG_I64, {1, {3}}, 0, 0, 0}, {"s", EG_U8, {0}, 0, 0, 0}};
    eg_example *e = eg_example_new();
    eg_tensor *n = eg_arange(0, 3, 1, EG_I64), *t[4], *record = NULL;
    bool ok = e && n && !eg_example_set(e, "n", n) && !eg_example_set_bytes(e, "s", "abc", 3) &&
              !eg_example_step(e, "n", n) && !eg_example_step(e, "n", n) && !eg_example_step(e, "s", eg_text("abc")) &&
              (record = eg_example_encode(e)) && !eg_sequence_example_read(record, table, 2, table, 2, t);
    eg_example_free(e);
    return ok;
}

EGT(records_without_memory)
{
    sweep(plain_records);
    sweep(packed_records);
    sweep(examples);
}

/* ---- readers --------------------------------------------------------------------------------------- */

static bool lines(void)
{
    return passes(eg_text_lines_new(egt_path("bad.txt"), .invalid = EG_UTF8_REPLACE));
}

static bool table(void)
{
    static const eg_column columns[] = {{"x", 0, EG_F32, 0, 0, 0}, {"s", 0, EG_U8, 0, 0, 0}};
    return passes(eg_csv_new(egt_path("a.csv"), columns, 2, .header = true));
}

static bool objects(void)
{
    static const eg_json_field fields[] = {{"w", EG_U8, 0, 0, 0}, {"d", EG_I32, true, 0, 0}};
    eg_dataset *d = eg_ndjson_new(egt_path("a.json"), fields, 2);
    eg_tensor *const *s = d ? eg_dataset_first(d) : NULL;
    bool ok = s && eg_strokes(s[1], s[2]);
    eg_dataset_free(d);
    return ok;
}

static bool folders(void)
{
    return passes(eg_image_folder_new(egt_path("classes"))) && passes(eg_files_new(egt_path("a.*")));
}

static bool cifar(void)
{
    return passes(eg_cifar10_new(egt_path("cifar")));
}

static bool sound(void)
{
    static const uint8_t wav[] = {'R', 'I', 'F', 'F', 40,  0,   0,   0,   'W',  'A',  'V', 'E', 'f', 'm',  't', ' ',
                                  16,  0,   0,   0,   1,   0,   2,   0,   0x40, 0x1f, 0,   0,   0,   0x7d, 0,   0,
                                  4,   0,   16,  0,   'd', 'a', 't', 'a', 4,    0,    0,   0,   0,   0x40, 0,   0x80};
    int64_t rate;
    return eg_audio_parse(wav, sizeof wav, &rate) != NULL;
}

static bool archive(void)
{
    eg_tensors *m = eg_npz_load("tests/fuzz/corpus/archives/two.npz");
    eg_tensors_free(m);
    return m != NULL;
}

static bool tape_archive(void)
{
    return passes(eg_tar_new("tests/fuzz/corpus/archives/one.tar"));
}

EGT(readers_without_memory)
{
    write_text("bad.txt", "one\ntw\xff\n\nthree");
    write_text("a.csv", "s,x\n\"a\nb\",1\n,2\n");
    write_text("a.json", "{\"w\":\"x\",\"d\":[[[1,2],[3,4]]]}\n");
    mkdir(egt_path("classes"), 0777);
    mkdir(egt_path("classes/one"), 0777);
    write_text("classes/one/1.png", "?");
    static uint8_t zeros[3073];
    egt_write(egt_path("cifar"), zeros, sizeof zeros);
    sweep(lines);
    sweep(table);
    sweep(objects);
    sweep(folders);
    sweep(cifar);
    sweep(sound);
    sweep(archive);
    sweep(tape_archive);
}

/* ---- text -------------------------------------------------------------------------------------------- */

static bool normal_text(void)
{
    return eg_text_normalise(eg_text("Caf\xc3\xa9?"), .form = EG_NFD, .drop = "Mn", .lower = true) &&
           eg_text_words(eg_text("two words"));
}

static bool vocabulary(void)
{
    static const char *const reserved[] = {"<pad>"};
    eg_word_counts *c = eg_word_counts_new();
    eg_vocabulary *v = NULL, *w = NULL;
    bool ok = c && !eg_word_counts_add(c, eg_text("b a b c")) &&
              (v = eg_vocabulary_new(c, .reserved = reserved, .reserved_count = 1, .sorted = true)) &&
              !eg_vocabulary_save(v, egt_path("words")) && (w = eg_vocabulary_load(egt_path("words"))) &&
              eg_vocabulary_decode(w, eg_vocabulary_encode(v, eg_text("a c x"), 0));
    eg_word_counts_free(c);
    eg_vocabulary_free(v);
    eg_vocabulary_free(w);
    return ok;
}

static bool rows(void)
{
    eg_tensor *x[] = {eg_ones(EG_SHAPE(3), EG_I32), eg_ones(EG_SHAPE(5), EG_I32)};
    return eg_pad_sequences(x, 2) != NULL;
}

EGT(text_without_memory)
{
    sweep(normal_text);
    sweep(vocabulary);
    sweep(rows);
}

/* ---- the limit ------------------------------------------------------------------------------------- */

enum { LARGE = 24 << 20, LITTLE = 8 << 20 };

/* Files whose readers need a buffer of some 24 MiB, by what they say of themselves. */
static void write_large(const char *path, const char *begin, size_t n, char with)
{
    char *all = malloc(LARGE);
    memset(all, with, LARGE);
    memcpy(all, begin, n);
    egt_write(path, all, LARGE);
    free(all);
}

EGT(buffers_count_towards_the_memory_limit)
{
    static const char magic[] = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03."
                                "\x80\x02}\x8c\x0dlittle_endian\x88s.\x80\x02X\0\0\x70\1";
    const uint64_t header = LARGE - 8;
    char safetensors[16] = {0};
    memcpy(safetensors, &header, 8);
    memcpy(safetensors + 8, "{\"a\":\"", 6);
    write_large(egt_path("a.bmp"), "BM", 2, 0);
    write_large(egt_path("a.arpa"), "\\data\\\n", 7, '\n');
    write_large(egt_path("a.pt"), magic, sizeof magic - 1, 'x');
    write_large(egt_path("a.safetensors"), safetensors, 14, 'x');
    write_large(egt_path("a.csv"), "1,", 2, 'x');
    static const eg_column column = {NULL, 0, EG_U8, 0, 0, 0};
    eg_memory_trim();
    EGT_OK(eg_memory_limit(eg_memory_stats().reserved_bytes + LITTLE));
    EGT_REFUSED(eg_image_load(egt_path("a.bmp"), .other_formats = true), EG_ENOMEM, "");
    EGT_REFUSED(eg_ngram_load(egt_path("a.arpa")), EG_ENOMEM, "");
    EGT_REFUSED(eg_tensors_open(egt_path("a.pt")), EG_ENOMEM, "");
    EGT_REFUSED(eg_tensors_open(egt_path("a.safetensors")), EG_ENOMEM, "");
    eg_dataset *d = eg_csv_new(egt_path("a.csv"), &column, 1);
    walk(d);
    EGT_EQ(eg_dataset_status(d), EG_ENOMEM);
    eg_dataset_free(d);
    eg_clear_error();
    EGT_OK(eg_memory_limit(0));
    eg_image_load(egt_path("a.bmp"), .other_formats = true);
    EGT_CHECK(egt_said(EG_EFORMAT, "") || egt_said(EG_ENOKERNEL, "no stb"));
}

/* The entries of a GGUF file: its version, no tensors, so many keys. */
static size_t begin_gguf(char *to, uint64_t keys)
{
    const uint64_t counts[2] = {0, keys};
    memcpy(to, "GGUF\3\0\0\0", 8);
    memcpy(to + 8, counts, sizeof counts);
    return 8 + sizeof counts;
}

/* A GGUF file with keys "0000001" and so on, each of the 8-bit number 7. */
static void write_keys(const char *path, uint32_t keys)
{
    const uint64_t length = 7;
    char *all = malloc(32 + keys * (size_t)20), *p = all + begin_gguf(all, keys);
    for (uint32_t i = 0; i < keys; i++) {
        memcpy(p, &length, 8);
        snprintf(p + 8, 8, "%07u", i);
        memcpy(p + 15, (char[]){0, 0, 0, 0, 7}, 5);
        p += 20;
    }
    egt_write(path, all, (size_t)(p - all));
    free(all);
}

/* A GGUF file with a text of about LARGE bytes. */
static void write_long_text(const char *path)
{
    char begin[64];
    size_t n = begin_gguf(begin, 1);
    const uint64_t name = 1, text = LARGE - n - 21;
    memcpy(begin + n, &name, 8);
    memcpy(begin + n + 8, (char[]){'a', 8, 0, 0, 0}, 5);
    memcpy(begin + n + 13, &text, 8);
    write_large(path, begin, n + 21, 'x');
}

/* The same line so many times. */
static void write_lines(const char *path, const char *line, size_t lines)
{
    const size_t n = strlen(line);
    char *all = malloc(n * lines);
    for (size_t i = 0; i < lines; i++) {
        memcpy(all + i * n, line, n);
    }
    egt_write(path, all, n * lines);
    free(all);
}

/* An index of a TensorFlow checkpoint with so many empty tensors. */
static void write_checkpoint(const char *path, int tensors)
{
    eg_tensors *map = eg_tensors_new();
    eg_tensor *empty = eg_zeros(EG_SHAPE(0), EG_F32);
    for (int i = 0; i < tensors; i++) {
        char name[16];
        snprintf(name, sizeof name, "%07d", i);
        eg_tensors_set(map, name, empty);
    }
    EGT_OK(eg_tensors_save(map, path));
    eg_tensors_free(map);
}

static void limit_to_little(void)
{
    eg_memory_trim();
    EGT_OK(eg_memory_limit(eg_memory_stats().reserved_bytes + LITTLE));
}

enum { MANY = 300000 };

EGT(names_of_tensors_and_keys_count_towards_the_memory_limit)
{
    write_keys(egt_path("keys.gguf"), MANY);
    write_checkpoint(egt_path("many.ckpt.index"), MANY / 4);
    limit_to_little();
    EGT_REFUSED(eg_tensors_open(egt_path("many.ckpt.index")), EG_ENOMEM, "");
    EGT_REFUSED(eg_tensors_open(egt_path("keys.gguf")), EG_ENOMEM, "");
    EGT_OK(eg_memory_limit(0));
    eg_tensors *all = eg_tensors_open(egt_path("keys.gguf"));
    EGT_EQ(eg_tensors_text_count(all), MANY);
    eg_tensors_free(all);
}

EGT(texts_count_towards_the_memory_limit)
{
    write_long_text(egt_path("text.gguf"));
    limit_to_little();
    EGT_REFUSED(eg_tensors_open(egt_path("text.gguf")), EG_ENOMEM, "");
    EGT_OK(eg_memory_limit(0));
    eg_tensors *all = eg_tensors_open(egt_path("text.gguf"));
    EGT_EQ(eg_tensors_text_count(all), 1);
    eg_tensors_free(all);
}

EGT(classes_of_photos_count_towards_the_memory_limit)
{
    write_lines(egt_path("names.txt"), "a\n", MANY);
    write_lines(egt_path("photo.jpg"), "-", 1);
    char names[4096];
    snprintf(names, sizeof names, "%s", egt_path("names.txt"));
    limit_to_little();
    EGT_REFUSED(eg_yolo_new(egt_path("photo.jpg"), names), EG_ENOMEM, "");
    EGT_OK(eg_memory_limit(0));
}

EGT(objects_of_photos_count_towards_the_memory_limit)
{
    write_lines(egt_path("photo.txt"), "0 0.5 0.5 1 1\n", MANY);
    write_lines(egt_path("photo.jpg"), "-", 1);
    limit_to_little();
    EGT_REFUSED(eg_yolo_new(egt_path("photo.jpg"), NULL), EG_ENOMEM, "");
    EGT_OK(eg_memory_limit(0));
}
