/* test_events.c - event files and journals, read back by what stands here: framing, checksums, messages. */
#define _POSIX_C_SOURCE 200809L
#include "tests/egt.h"

#include <dirent.h>
#include <locale.h>
#include <sys/stat.h>
#include <unistd.h>

#include <egret/events.h>

#include "lib/io/json.h"
#include "tests/crc32c.h"

/* ---- files ----------------------------------------------------------------------------------- */

static uint8_t file[1 << 20];
static size_t size;

/* Reads a file into `file`, with a 0 behind it, and removes it. */
static void slurp(const char *path)
{
    FILE *f = fopen(path, "rb");
    EGT_CHECK(f);
    size = fread(file, 1, sizeof file - 1, f);
    file[size] = 0;
    fclose(f);
    unlink(path);
}

/* The only event file there; its name is left in `path`. */
static void find(char *path, size_t room)
{
    int n = 0;
    DIR *list = opendir(egt_folder());
    for (struct dirent *e = readdir(list); e; e = readdir(list)) {
        if (!strncmp(e->d_name, "events.out.tfevents.", 20)) {
            snprintf(path, room, "%s/%s", egt_folder(), e->d_name);
            n++;
        }
    }
    closedir(list);
    EGT_EQ(n, 1);
}

/* ---- reading records and messages ------------------------------------------------------------ */

static uint64_t little(const uint8_t *p, int bytes)
{
    uint64_t v = 0;
    for (int i = bytes; i-- > 0;) {
        v = v << 8 | p[i];
    }
    return v;
}

typedef struct bytes {
    const uint8_t *p;
    size_t n;
} bytes;

/* The record at *at, which moves behind it; n = 0 at the end. */
static bytes next_record(size_t *at)
{
    if (*at == size) {
        return (bytes){NULL, 0};
    }
    EGT_CHECK(size - *at >= 16);
    uint64_t n = little(file + *at, 8);
    EGT_CHECK(n <= size - *at - 16);
    EGT_EQ(little(file + *at + 8, 4), crc32c_masked(file + *at, 8));
    EGT_EQ(little(file + *at + 12 + n, 4), crc32c_masked(file + *at + 12, n));
    bytes r = {file + *at + 12, n};
    *at += 16 + n;
    return r;
}

static uint64_t varint(bytes *m)
{
    uint64_t v = 0;
    for (int shift = 0;; shift += 7) {
        EGT_CHECK(m->n && shift < 64);
        uint8_t b = *m->p++;
        m->n--;
        v |= (uint64_t)(b & 127) << shift;
        if (b < 128) {
            return v;
        }
    }
}

/* The first field of that number; numbers as their little-endian bytes. *there: whether there is one. */
static bytes field(bytes m, uint64_t number, bool *there)
{
    static uint8_t held[4][8];
    static int turn;
    while (m.n) {
        uint64_t key = varint(&m), v = 0;
        bytes f;
        if ((key & 7) == 0) {
            v = varint(&m);
            turn = (turn + 1) % 4;
            for (int i = 0; i < 8; i++) {
                held[turn][i] = (uint8_t)(v >> 8 * i);
            }
            f = (bytes){held[turn], 8};
        } else {
            EGT_CHECK((key & 7) == 1 || (key & 7) == 2 || (key & 7) == 5);
            f.n = (key & 7) == 2 ? varint(&m) : (key & 7) == 1 ? 8 : 4;
            EGT_CHECK(f.n <= m.n);
            f.p = m.p;
            m.p += f.n;
            m.n -= f.n;
        }
        if (key >> 3 == number) {
            *there = true;
            return f;
        }
    }
    *there = false;
    return (bytes){NULL, 0};
}

static bytes get(bytes m, uint64_t number)
{
    bool there;
    bytes f = field(m, number, &there);
    if (!there) {
        egt_fail(__FILE__, __LINE__, "field %d is missing", (int)number);
    }
    return f;
}

static double number(bytes f, int i)
{
    double v;
    float w;
    if (f.n == 4) {
        memcpy(&w, f.p, 4);
        return (double)w;
    }
    EGT_CHECK((size_t)(8 * i + 8) <= f.n);
    memcpy(&v, f.p + 8 * i, 8);
    return v;
}

static bool is(bytes f, const char *text)
{
    return f.n == strlen(text) && !memcmp(f.p, text, f.n);
}

/* The value of the next event, which has this step and tag. */
static bytes next_value(size_t *at, uint64_t step, const char *tag)
{
    bool there;
    bytes e = next_record(at), s = field(e, 2, &there);
    EGT_EQ(there ? little(s.p, 8) : 0, step);
    EGT_CHECK(number(get(e, 1), 0) > 1.6e9);
    bytes v = get(get(e, 5), 1);
    EGT_CHECK(is(get(v, 1), tag));
    return v;
}

/* ---- event files ----------------------------------------------------------------------------- */

static eg_events *begin(void)
{
    eg_events *e = eg_events_new(egt_folder());
    if (!e && egt_said(EG_ENOKERNEL, "protobuf")) {
        EGT_REFUSED(eg_events_scalar(NULL, "a", 0, 0), EG_EINVAL, "events");
        egt_skip("this build has no protobuf-c");
    }
    EGT_CHECK(e);
    return e;
}

static void finish(eg_events *e, size_t *at)
{
    char path[600];
    find(path, sizeof path);
    EGT_OK(eg_events_flush(e));
    eg_events_free(e);
    slurp(path);
    *at = 0;
    EGT_CHECK(is(get(next_record(at), 3), "brain.Event:2"));
}

EGT(scalars_and_texts)
{
    eg_events *e = begin();
    size_t at;
    bool there;
    EGT_OK(eg_events_scalar(e, "loss/a", 0, 1.5));
    EGT_OK(eg_events_scalar(e, "loss/a", 300, 0));
    EGT_OK(eg_events_scalar(e, "\xc3\xbc", ((int64_t)1 << 40), (double)NAN));
    EGT_OK(eg_events_text(e, "note", 7, "a **text**\n%s"));
    EGT_REFUSED(eg_events_scalar(e, "\xff", 0, 0), EG_EINVAL, "tag");
    EGT_REFUSED(eg_events_scalar(e, NULL, 0, 0), EG_EINVAL, "tag");
    EGT_REFUSED(eg_events_text(e, "note", 0, NULL), EG_EINVAL, "text");
    EGT_REFUSED(eg_events_text(e, "note", 0, "\xc3"), EG_EINVAL, "UTF-8");
    finish(e, &at);
    EGT_EQ(number(get(next_value(&at, 0, "loss/a"), 2), 0), 1.5);
    EGT_EQ(number(get(next_value(&at, 300, "loss/a"), 2), 0), 0);
    EGT_CHECK(isnan(number(get(next_value(&at, (uint64_t)1 << 40, "\xc3\xbc"), 2), 0)));
    bytes v = next_value(&at, 7, "note"), t = get(v, 8);
    EGT_EQ(little(get(t, 1).p, 8), 7);
    EGT_EQ(little(get(get(get(t, 2), 2), 1).p, 8), 1);
    EGT_CHECK(is(get(t, 8), "a **text**\n%s"));
    EGT_CHECK(is(get(get(get(v, 9), 1), 1), "text"));
    field(v, 2, &there);
    EGT_CHECK(!there);
    EGT_EQ(next_record(&at).n, 0);
}

/* A file that begins where a run goes on: TensorBoard drops that step and later ones of the files before. */
EGT(a_resumed_run_purges_later_steps)
{
    eg_events_free(begin());
    char path[600];
    find(path, sizeof path);
    unlink(path);
    eg_events *e = eg_events_new(egt_folder(), .purge_step = 41);
    size_t at;
    bool there;
    EGT_OK(eg_events_scalar(e, "loss", 41, 2));
    finish(e, &at);
    bytes start = next_record(&at);
    EGT_EQ(little(get(start, 2).p, 8), 41);
    EGT_EQ(little(get(get(start, 7), 1).p, 8), 1); /* START */
    field(start, 5, &there);
    EGT_CHECK(!there);
    EGT_EQ(number(get(next_value(&at, 41, "loss"), 2), 0), 2);
    EGT_EQ(next_record(&at).n, 0);
    EGT_REFUSED(eg_events_new(egt_folder(), .purge_step = -1), EG_EINVAL, "purge_step");
}

EGT(images)
{
    eg_events *e = begin();
    size_t at;
    eg_tensor *x = egt_random(EG_SHAPE(3, 4, 5), EG_U8, 0, 255);
    eg_status st = eg_events_image(e, "picture", 2, x);
    if (st && egt_said(EG_ENOKERNEL, "libpng")) {
        finish(e, &at);
        egt_skip("this build has no libpng");
    }
    EGT_OK(st);
    EGT_OK(eg_events_image(e, "turned", 3, eg_slice(eg_permute(x, EG_AXES(1, 0, 2)), 0, 0, 1, 1)));
    EGT_REFUSED(eg_events_image(e, "p", 0, NULL), EG_EINVAL, "image");
    EGT_REFUSED(eg_events_image(e, "p", 0, eg_reshape(x, EG_SHAPE(12, 5))), EG_ESHAPE, "[C, H, W]");
    EGT_REFUSED(eg_events_image(e, "p", 0, eg_cast(x, EG_F32)), EG_EDTYPE, "f32");
    EGT_REFUSED(eg_events_image(e, "p", 0, eg_permute(x, EG_AXES(2, 0, 1))), EG_ESHAPE, "[5, 3, 4]");
    finish(e, &at);
    bytes i = get(next_value(&at, 2, "picture"), 4), png = get(i, 4);
    EGT_EQ(little(get(i, 1).p, 8), 4);
    EGT_EQ(little(get(i, 2).p, 8), 5);
    EGT_EQ(little(get(i, 3).p, 8), 3);
    eg_tensor *back = eg_image_decode(png.p, png.n);
    EGT_EQ(egt_distance(back, x), 0);
    i = get(next_value(&at, 3, "turned"), 4);
    EGT_EQ(little(get(i, 3).p, 8), 1);
    EGT_EQ(next_record(&at).n, 0);
}

EGT(histograms)
{
    static const double values[] = {0, 0, 1, 1, 1.05, -3, 1e-13, 1e30, -1e30, (double)INFINITY, (double)NAN, 2};
    enum { N = sizeof values / sizeof *values };
    eg_events *e = begin();
    size_t at;
    eg_tensor *x = eg_from_values(EG_SHAPE(N), EG_F64, values);
    EGT_OK(eg_events_histogram(e, "w", 1, x));
    EGT_OK(eg_events_histogram(e, "i", 2, eg_arange(0, 5, 1, EG_I32)));
    EGT_OK(eg_events_histogram(e, "none", 3, eg_zeros(EG_SHAPE(0), EG_F32)));
    EGT_REFUSED(eg_events_histogram(e, "w", 0, NULL), EG_EINVAL, "values");
    finish(e, &at);
    bytes h = get(next_value(&at, 1, "w"), 5), limit = get(h, 6), in = get(h, 7);
    EGT_EQ(number(get(h, 1), 0), -1e30);
    EGT_EQ(number(get(h, 2), 0), 1e30);
    EGT_EQ(number(get(h, 3), 0), 10);
    EGT_EQ(limit.n, in.n);
    int n = (int)(limit.n / 8), empty = 0;
    double below = -(double)INFINITY, all = 0;
    EGT_CHECK(n > 8 && n < 30);
    for (int k = 0; k < n; k++) {
        double top = number(limit, k), count = 0;
        for (int i = 0; i < N; i++) {
            count += isfinite(values[i]) && values[i] < top && values[i] >= below;
        }
        EGT_EQ(number(in, k), count);
        EGT_CHECK(top > below && !(empty && count == 0)); /* empty ones are merged */
        empty = count == 0;
        below = top;
        all += count;
    }
    EGT_EQ(all, 10);
    EGT_EQ(below, 1.7976931348623157e308);
    h = get(next_value(&at, 2, "i"), 5);
    EGT_EQ(number(get(h, 4), 0), 10);
    EGT_EQ(number(get(h, 5), 0), 30);
    h = get(next_value(&at, 3, "none"), 5);
    EGT_EQ(get(h, 6).n, 8);
    EGT_EQ(next_record(&at).n, 0);
}

EGT(names_and_refusals_of_files)
{
    eg_events *a = begin(), *b = eg_events_new(egt_folder());
    EGT_CHECK(b); /* in the same second */
    eg_events_free(a);
    eg_events_free(b);
    eg_events_free(NULL);
    EGT_EQ(egt_files("events.out"), 2);
    EGT_REFUSED(eg_events_new(NULL), EG_EINVAL, "folder");
    EGT_REFUSED(eg_events_new(""), EG_EINVAL, "empty");
    EGT_REFUSED(eg_events_new("/proc/absent"), EG_EIO, "/proc/absent");
    const char *path = egt_path("file");
    eg_journal_free(eg_journal_new(path));
    EGT_REFUSED(eg_events_new(path), EG_EIO, "file");
    EGT_REFUSED(eg_events_scalar(NULL, "a", 0, 0), EG_EINVAL, "events");
    EGT_REFUSED(eg_events_flush(NULL), EG_EINVAL, "events");
}

EGT(a_folder_one_may_not_write_to)
{
    eg_events_free(begin());
    chmod(egt_folder(), 0500);
    bool super = geteuid() == 0; /* who may write everywhere */
    if (super && (chown(egt_folder(), 65534, 65534) || seteuid(65534))) {
        chmod(egt_folder(), 0700);
        egt_skip("cannot become a user without rights");
    }
    eg_events *e = eg_events_new(egt_folder());
    eg_status st = eg_last_error()->code;
    eg_journal *j = eg_journal_new(egt_path("log"));
    EGT_CHECK(!super || seteuid(0) == 0);
    chmod(egt_folder(), 0700);
    EGT_CHECK(!e && st == EG_EIO && !j && egt_said(EG_EIO, "log"));
}

EGT(half_a_record_is_taken_back)
{
    eg_events *e = begin();
    size_t at;
    char long_text[3000];
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = 0;
    egt_limit_files(1000);
    eg_status st = eg_events_text(e, "t", 1, long_text);
    egt_limit_files(-1);
    EGT_CHECK(st == EG_EIO && egt_said(EG_EIO, "write"));
    EGT_OK(eg_events_scalar(e, "s", 2, 3));
    finish(e, &at);
    EGT_EQ(number(get(next_value(&at, 2, "s"), 2), 0), 3);
    EGT_EQ(next_record(&at).n, 0);
}

/* ---- journals -------------------------------------------------------------------------------- */

EGT(rows_of_a_journal)
{
    const char *path = egt_path("log.jsonl");
    eg_journal *j = eg_journal_new(path);
    EGT_CHECK(j);
    EGT_OK(eg_journal_row(j, EG_INTEGER("step", INT64_MIN), EG_REAL("loss", 0.1), EG_REAL("third", 1.0 / 3),
                          EG_REAL("tiny", 5e-324), EG_REAL("bad", (double)NAN), EG_TEXT("no", NULL)));
    EGT_OK(eg_journal_row(j, EG_TEXT("a \"name\"", "line\nbreak \\ \x01 \xff %s")));
    EGT_OK(eg_journal_row_with(j, NULL, 0));
    EGT_REFUSED(eg_journal_row_with(j, NULL, 1), EG_EINVAL, "fields");
    EGT_REFUSED(eg_journal_row(j, EG_INTEGER(NULL, 1)), EG_EINVAL, "name");
    EGT_REFUSED(eg_journal_row(NULL, EG_INTEGER("a", 1)), EG_EINVAL, "journal");
    EGT_OK(eg_journal_flush(j));
    eg_journal_free(j);
    slurp(path);
    EGT_STR((char *)file, "{\"step\": -9223372036854775808, \"loss\": 0.1, \"third\": 0.3333333333333333, "
                          "\"tiny\": 4.94065645841247e-324, \"bad\": null, \"no\": null}\n"
                          "{\"a \\\"name\\\"\": \"line\\u000abreak \\\\ \\u0001 \xef\xbf\xbd %s\"}\n"
                          "{}\n");
    for (char *line = (char *)file, *end; *line; line = end + 1) {
        eg__json r;
        eg__json_token t;
        end = strchr(line, '\n');
        eg__json_begin(&r, line, end - line);
        do {
            t = eg__json_next(&r);
            EGT_CHECK(t != EG__JSON_ERROR);
        } while (t != EG__JSON_END);
    }
}

/* JSON knows one decimal point; of the locales those that are installed. */
EGT(a_journal_in_any_locale)
{
    static const char *const names[] = {"C", "de_DE.UTF-8", "ps_AF.UTF-8"};
    for (int i = 0; i < 3; i++) {
        eg_journal *j = eg_journal_new(egt_path("log.jsonl"));
        setlocale(LC_NUMERIC, names[i]);
        eg_status st = eg_journal_row(j, EG_REAL("loss", 0.5), EG_REAL("large", 1e300), EG_REAL("n", -12));
        setlocale(LC_NUMERIC, "C");
        EGT_OK(st);
        eg_journal_free(j);
        slurp(egt_path("log.jsonl"));
        EGT_STR((char *)file, "{\"loss\": 0.5, \"large\": 1e+300, \"n\": -12}\n");
    }
}

/* A run that was killed and resumes at an earlier step writes later steps again. */
EGT(journal_of_a_resumed_run_has_each_step_once)
{
#define EARLIER    "{\"step\": 1, \"loss\": 3}\n{\"note\": \"kept\"}\n{\"step\": 2, \"loss\": 2}\nno JSON\n"
#define EVALUATION "{\"step\": 2, \"valid/loss\": 5}\n"
    static const char text[] = EARLIER "{\"step\": 3, \"loss\": 1}\n" EVALUATION "{\"step\": 4, \"lo",
                      kept[] = EARLIER EVALUATION;
    const char *path = egt_path("log.jsonl");
    for (int i = 0; i < 2; i++) { /* the second time there is nothing to remove */
        egt_write(path, i ? kept : text, i ? sizeof kept - 1 : sizeof text - 1);
        eg_journal *j = eg_journal_new(path, .append = true, .last_step = 2);
        EGT_CHECK(j);
        eg_journal_free(j);
        slurp(path);
        EGT_STR((char *)file, kept);
    }
    eg_journal *j = eg_journal_new(path, .append = true, .last_step = 2);
    EGT_OK(eg_journal_row(j, EG_INTEGER("step", 3)));
    eg_journal_free(j);
    slurp(path);
    EGT_STR((char *)file, "{\"step\": 3}\n");
    egt_write(path, "", 0);
    eg_journal_free(eg_journal_new(path, .append = true, .last_step = 2));
    EGT_REFUSED(eg_journal_new(egt_folder(), .append = true, .last_step = 2), EG_EIO, "");
}

EGT(journals_go_on)
{
    const char *path = egt_path("log.jsonl");
    egt_write(path, "{\"half\": 1", 10);
    for (int i = 0; i < 2; i++) {
        eg_journal *j = eg_journal_new(path, .append = true);
        EGT_OK(eg_journal_row(j, EG_INTEGER("i", i)));
        eg_journal_free(j);
    }
    slurp(path);
    EGT_STR((char *)file, "{\"half\": 1\n{\"i\": 0}\n{\"i\": 1}\n");
    egt_write(path, "old\n", 4);
    eg_journal *j = eg_journal_new(path);
    EGT_OK(eg_journal_row(j, EG_INTEGER("i", 2)));
    eg_journal_free(j);
    eg_journal_free(NULL);
    slurp(path);
    EGT_STR((char *)file, "{\"i\": 2}\n");
    EGT_REFUSED(eg_journal_new(NULL), EG_EINVAL, "path");
    EGT_REFUSED(eg_journal_new("/absent/log"), EG_EIO, "/absent/log");
    EGT_REFUSED(eg_journal_new(egt_folder()), EG_EIO, "directory");
    EGT_REFUSED(eg_journal_new("/dev/full"), EG_EIO, "regular");
    EGT_REFUSED(eg_journal_flush(NULL), EG_EINVAL, "journal");
}
