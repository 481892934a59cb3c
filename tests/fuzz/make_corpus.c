/* make_corpus.c - makes the files that the targets of data readers begin with:
 *   make_corpus FOLDER     writes FOLDER/image/..., FOLDER/tfrecord/... and so on
 * those of tensorflow out of tests/golden/tensorflow, so in the project's folder.
 * Beside them archives/odd.npz is that of tests/golden/odd, two.npz is numpy.savez_compressed(ids = arange(5), w =
 * zeros((40, 3), float32)). audio/gsm.wav, ms.wav, rf64.wav and wave64.w64 are soundfile's GSM610, MS_ADPCM, RF64 and
 * W64 of a sine; pipe.wav and stream.wav have sizes of all ones and of 0. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <egret/egret.h>

static const char *root;

static const char *at(const char *target, const char *name)
{
    static char path[1000];
    snprintf(path, sizeof path, "%s/%s", root, target);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/%s/%s", root, target, name);
    return path;
}

static void put(const char *target, const char *name, const void *data, size_t n)
{
    FILE *f = fopen(at(target, name), "wb");
    if (!f || fwrite(data, 1, n, f) != n || fclose(f)) {
        perror(name);
        exit(1);
    }
}

static void put_text(const char *target, const char *name, const char *text)
{
    put(target, name, text, strlen(text));
}

static void must(eg_status st)
{
    if (st) {
        exit(eg_error_print(stderr));
    }
}

static eg_tensor *waves(int channels, int height, int width)
{
    eg_tensor *t = eg_empty(EG_SHAPE(channels, height, width), EG_U8);
    for (int i = 0; i < channels * height * width; i++) {
        eg_set(t, i, i * i / 7 % 256);
    }
    return t;
}

static void images(void)
{
    /* Orientation 6. */
    static const uint8_t exif[] = {0xff, 0xe1, 0,    34,   'E', 'x', 'i', 'f', 0, 0, 'M', 'M', 0, 42, 0, 0, 0, 8,
                                   0,    1,    0x01, 0x12, 0,   3,   0,   0,   0, 1, 0,   6,   0, 0,  0, 0, 0, 0};
    static const uint8_t gif[] = {'G', 'I',  'F', '8', '9', 'a', 2, 0, 2, 0, 0x80, 0, 0, 0,    0,    0, 255, 255,
                                  255, 0x2c, 0,   0,   0,   0,   2, 0, 2, 0, 0,    2, 2, 0x0c, 0x0a, 0, 0x3b};
    static const uint8_t bmp[] = {'B', 'M', 70, 0, 0,   0, 0, 0, 0, 0, 54,  0,   0,   0,   40, 0, 0,  0,
                                  2,   0,   0,  0, 2,   0, 0, 0, 1, 0, 24,  0,   0,   0,   0,  0, 16, 0,
                                  0,   0,   0,  0, 0,   0, 0, 0, 0, 0, 0,   0,   0,   0,   0,  0, 0,  0,
                                  255, 0,   0,  0, 255, 0, 0, 0, 0, 0, 255, 255, 255, 255, 0,  0};
    /* A frame of 3 x 4 at (1, 1) of 4 x 5, interlaced, with a transparent color and a palette of its own. */
    static const uint8_t interlaced[] = {
        'G', 'I', 'F', '8', '9', 'a', 4,   0,  5,   0, 0x80, 0,  0,  1,  2,  3,  4,   5,    6, '!', 249, 4,  1,  0,
        0,   2,   0,   '!', 254, 1,   'x', 0,  ',', 1, 0,    1,  0,  3,  0,  4,  0,   0xc1, 7, 8,   9,   10, 11, 12,
        13,  14,  15,  16,  17,  18,  8,   12, 0,   1, 4,    16, 48, 64, 32, 65, 131, 3,    2, 2,   0,   ';'};
    /* 3 x 2 pixels, orientation 6 in an eXIf chunk. */
    static const uint8_t png[] = {
        137, 80,  78, 71,  13, 10,  26,  10, 0,  0,   0,   13,  73, 72,  68,  82,  0,   0,   0,   3,   0, 0,   0,
        2,   8,   0,  0,   0,  0,   184, 31, 57, 198, 0,   0,   0,  26,  101, 88,  73,  102, 77,  77,  0, 42,  0,
        0,   0,   8,  0,   1,  1,   18,  0,  3,  0,   0,   0,   1,  0,   6,   0,   0,   0,   0,   0,   0, 214, 103,
        75,  105, 0,  0,   0,  16,  73,  68, 65, 84,  120, 156, 99, 100, 96,  100, 100, 100, 102, 100, 4, 0,   0,
        43,  0,   10, 224, 95, 228, 205, 0,  0,  0,   0,   73,  69, 78,  68,  174, 66,  96,  130};
    must(eg_jpeg_save(waves(3, 17, 25), at("image", "colour.jpg")));
    must(eg_jpeg_save(waves(1, 9, 9), at("image", "progressive.jpg"), .progressive = true));
    eg_tensor *plain = eg_jpeg_encode(waves(3, 4, 9)), *add, *turned;
    must(plain ? EG_OK : eg_last_error()->code);
    add = eg_from(EG_SHAPE((int64_t)sizeof exif), EG_U8, exif);
    turned = eg_concat((eg_tensor *[]){eg_slice(plain, 0, 0, 2, 1), add, eg_slice(plain, 0, 2, EG_END, 1)}, 3, 0);
    put("image", "turned.jpg", eg_data(turned), (size_t)eg_numel(turned));
    must(eg_png_save(waves(4, 6, 5), at("image", "alpha.png")));
    must(eg_png_save(waves(1, 5, 9), at("image", "gray.png")));
    put("image", "small.gif", gif, sizeof gif);
    put("image", "small.bmp", bmp, sizeof bmp);
    put_text("image", "small.pgm", "P5\n2 2\n255\nabcd");
    put("image", "wide.ppm", "P6 1 2 1000\n\0\1\1\2\3\4\0\5\3\xe8\1\0", 24);
    put_text("image", "bits.pbm", "P4\n10 2\nabcd");
    put_text("image", "bits_text.pbm", "P1 # one\n3 2\n101 0#two\n1 1\n");
    put_text("image", "text.pgm", "P2 3 1 7\n0 3 7\n");
    put_text("image", "text.ppm", "P3 2 1 300 1 2 3 # a\n 4 255 300\n");
    put("image", "interlaced.gif", interlaced, sizeof interlaced);
    put("image", "turned.png", png, sizeof png);
}

static eg_tensor *integers(void)
{
    return eg_from_values(EG_SHAPE(4), EG_I64, (double[]){1, -2, 300, 4});
}

static void records(void)
{
    eg_example *e = eg_example_new(), *s = eg_example_new();
    must(eg_example_set(e, "whole", integers()));
    must(eg_example_set(e, "real", eg_ones(EG_SHAPE(3), EG_F32)));
    must(eg_example_set_bytes(e, "text", "hello", 5));
    must(eg_example_set(s, "whole", integers()));
    for (int i = 1; i < 4; i++) {
        must(eg_example_step(s, "real", eg_full(EG_SHAPE(i), i, EG_F32)));
        must(eg_example_step(s, "text", eg_full(EG_SHAPE(i), '0', EG_U8)));
    }
    eg_tensor *t = eg_example_encode(e), *u = eg_example_encode(s);
    put("example", "example", eg_data(t), (size_t)eg_numel(t));
    put("example", "sequence", eg_data(u), (size_t)eg_numel(u));
    for (int packed = 0; packed < 2; packed++) {
        const char *name = packed ? "packed" : "plain";
        eg_tfrecord_writer *w = eg_tfrecord_writer_new(
            at("tfrecord", name), .compression = packed ? EG_COMPRESSION_GZIP : EG_COMPRESSION_NONE);
        must(eg_tfrecord_write(w, "one", 3));
        must(eg_tfrecord_write(w, "", 0));
        must(eg_tfrecord_write(w, eg_data(t), (size_t)eg_numel(t)));
        must(eg_tfrecord_writer_close(w));
    }
    eg_example_free(e);
    eg_example_free(s);
}

static void texts(void)
{
    put_text("tables", "quoted.csv", "n,x,y\n1,2.5,-3e4\n\"a \"\"b\"\",\nc\",,7\r\n\n4,nan,inf\n");
    put_text("tables", "lone_cr.csv", "n,x,y\r1,2.5,\"a\r\nb\"\r\r\n4,\"\r\",inf\r");
    put_text("flags", "settings", "# mine\n epochs = 9\r\nlr=0.25\nsmoke = no\ndata = a b\nshape = bc\n");
    put_text("flags", "words", "--epochs\n4\n--lr=0.5\n--no-smoke\n--shape\nbc\na\n--\n--b\n");
    put_text("flags", "help", "--help\n");
    put_text("flags", "shell", "--completion\nbash\n");
    put_text("flags", "manual", "--man\n--epoch\n3\n");
    put_text("tables", "words", "<pad>\nth\xc3\xa9\n\xe1\xba\x9b\xcc\xa3\nwords\xe3\x80\x80here\n");
    put_text("conll", "tags.txt", "-DOCSTART- -X- O\n\nThe DT 1\n# x 2\n\nNew_York\tNNP\t-3\n");
    put_text("conll", "treebank.conllu",
             "# text = d\xc3\xa9j\xc3\xa0 vu\n1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n1\tde\tde\tADP\t_\t_\t2\tcase\t_\t_\n"
             "2\tle le\tle\tDET\t_\t_\t0\troot\t_\t_\n2.1\tx\t_\t_\t_\t_\t_\t_\t_\t_\n\n");
    put_text("conll", "cola.tsv", "gj04\t1\t\tHe \"said.\ngj04\t0\t*\tHe\n");
    put_text("conll", "mnli.tsv", "index\tsentence1\tgold_label\tsentence2\n0\ta b\tneutral\tc\n");
    put_text(
        "squad", "two.json",
        "{\"version\":\"v2.0\",\"data\":[{\"title\":\"t\",\"paragraphs\":[{\"context\":\"\\u00fcber a cat\",\"qas\":["
        "{\"id\":\"1\",\"question\":\"q\",\"answers\":[{\"text\":\"a cat\",\"answer_start\":5},"
        "{\"text\":\"cat\",\"answer_start\":0}]},"
        "{\"id\":\"2\",\"question\":\"r\",\"is_impossible\":true,\"answers\":[]}]}]}]}");
    put_text(
        "photos", "instances.json",
        "{\"images\":[{\"id\":7,\"file_name\":\"JPEGImages/a.jpg\",\"height\":4,\"width\":5}],\"categories\":[{"
        "\"id\":9,\"name\":\"cat\"}],\"annotations\":[{\"image_id\":7,\"category_id\":9,\"bbox\":[1,1,2,2],\"area\":3,"
        "\"segmentation\":[[1,1,3,1,3,3]]},{\"image_id\":7,\"category_id\":9,\"bbox\":[0,0,5,4],\"iscrowd\":1,"
        "\"segmentation\":{\"size\":[4,5],\"counts\":[3,2,15]}}]}");
    put_text(
        "photos", "note.xml",
        "<annotation><filename>a.jpg</filename><size><width>5</width><height>4</height></size><object><name>cat"
        "</name><difficult>1</difficult><bndbox><xmin>1</xmin><ymin>1.5</ymin><xmax>3</xmax><ymax>9</ymax></bndbox>"
        "</object></annotation>");
    put_text("photos", "runs", "2332e0");
    put_text("photos", "yolo", "0 0.5 0.5 0.25 1\n12 .1 .2 .3 .4 .9\n");
    put_text(
        "ndjson", "blank",
        "\n{\"word\":\"a\",\"n\":[1],\"drawing\":[[[1],[2]]]}\n \t\n\r\n{\"n\":2,\"word\":\"b\",\"drawing\":[]}\r\n ");
    put_text("ndjson", "drawings",
             "{\"word\":\"c\\u00e4t\",\"n\":[[1,2.5],[3,4e2]],\"drawing\":[[[1,2],[3,4]],[[5],[6]]]}\n"
             "{\"other\":{\"a\":[true,null]},\"n\":-7,\"word\":null}\n");
}

/* A header of the old form, with its checksum. */
static void tar_header(char *to, const char *name, size_t size)
{
    unsigned sum = 0;
    strcpy(to, name);
    strcpy(to + 100, "0000644");
    snprintf(to + 124, 12, "%011o", (unsigned)size);
    strcpy(to + 136, "00000000000");
    memset(to + 148, ' ', 8);
    to[156] = '0';
    memcpy(to + 257, "ustar\00000", 8);
    for (int i = 0; i < 512; i++) {
        sum += (unsigned char)to[i];
    }
    snprintf(to + 148, 8, "%06o", sum);
}

static void others(void)
{
    static const uint8_t wav[] = {'R', 'I', 'F', 'F',  44, 0, 0,    0, 'W',  'A',  'V',  'E',  'f',
                                  'm', 't', ' ', 16,   0,  0, 0,    1, 0,    2,    0,    0x40, 0x1f,
                                  0,   0,   0,   0x7d, 0,  0, 4,    0, 16,   0,    'd',  'a',  't',
                                  'a', 8,   0,   0,    0,  0, 0x40, 0, 0x80, 0xff, 0x7f, 1,    0};
    static char tar[2560];
    static const uint8_t idx[] = {0, 0, 0x0b, 2, 0, 0, 0, 2, 0, 0, 0, 1, 0xff, 0xfe, 0x01, 0x00};
    put("audio", "stereo.wav", wav, sizeof wav);
    put("idx", "i16", idx, sizeof idx);
    tar_header(tar, "folder/a", 5);
    memcpy(tar + 512, "hello", 5);
    put("archives", "one.tar", tar, sizeof tar);
}

static void tensors(void)
{
    eg_tensors *m = eg_tensors_new();
    must(eg_tensors_set(m, "whole", integers()));
    must(eg_tensors_set(m, "real", eg_ones(EG_SHAPE(2, 3), EG_F32)));
    must(eg_tensors_set_text(m, "general.name", "two"));
    must(eg_tensors_save(m, at("gguf", "two.gguf")));
    eg_tensors_free(m);
}

/* Appends a file, and counts its bytes. */
static size_t add_file(FILE *to, const char *name)
{
    char path[200];
    snprintf(path, sizeof path, "tests/golden/tensorflow/%s", name);
    FILE *f = fopen(path, "rb");
    int c;
    if (!f) {
        perror(path);
        exit(1);
    }
    while ((c = getc(f)) != EOF) {
        putc(c, to);
    }
    const long n = ftell(f);
    fclose(f);
    return (size_t)n;
}

/* An index, by its length, and data; or a checkpoint of version 1. */
static void checkpoint(const char *name, const char *index, const char *data)
{
    FILE *f = fopen(at("tensorflow", name), "wb");
    if (!f || fwrite("\0\0\0", 1, 4, f) != 4) {
        perror(name);
        exit(1);
    }
    const size_t n = index ? add_file(f, index) : 0;
    add_file(f, data);
    rewind(f);
    putc((int)(n & 255), f);
    putc((int)(n >> 8), f);
    if (fclose(f)) {
        perror(name);
        exit(1);
    }
}

static void checkpoints(void)
{
    checkpoint("types", "types.ckpt.index", "types.ckpt.data-00000-of-00001");
    checkpoint("slices", "saver.ckpt.index", "saver.ckpt.data-00000-of-00001");
    checkpoint("packed", "packed.ckpt.index", "packed.ckpt.data-00000-of-00001");
    checkpoint("version_1", NULL, "old.ckpt");
    checkpoint("packed_1", NULL, "old_packed.ckpt");
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "make_corpus FOLDER\n");
        return 2;
    }
    root = argv[1];
    images();
    records();
    texts();
    others();
    tensors();
    checkpoints();
    return 0;
}
