/* test_origin.c - sources written inside the library: where their samples come from, and what a chain does for
 * those that cannot skip or cannot go on. */
#include "data/chain/dataset.h"
#include "tests/egt.h"

/* Records of 10 bytes each in a file of that name; record 3 is bad, at record 7 there is no going on. */
typedef struct records {
    eg_dataset d;
    char file[300];
    int64_t at;
    bool torn;
} records;

static eg_status records_start(eg_dataset *d, uint64_t epoch)
{
    records *r = (records *)d;
    (void)epoch;
    r->at = 0;
    return EG_OK;
}

static eg_status records_next(eg_dataset *d, eg__sample *s)
{
    records *r = (records *)d;
    s->file = r->file;
    s->at = 10 * r->at;
    if (r->at == 8 || (r->at == 7 && !r->torn)) {
        return EG_OK;
    }
    if (r->at++ == 3 || r->at == 8) {
        eg__fail(EG_EFORMAT, d->is->name, "the checksum is wrong");
        return eg__sample_blame(s);
    }
    eg_scope scope = eg_scope_push();
    eg_status st = eg__sample_keep(d->is->name, s, (eg_tensor *[]){eg_full(EG_SHAPE(r->at), 1, EG_F32)}, 1);
    eg_scope_pop(scope, NULL);
    return st;
}

static int64_t records_count(const eg_dataset *d)
{
    (void)d;
    return -1;
}

static const eg__dataset_class records_class = {
    .name = "records", .start = records_start, .next = records_next, .count = records_count};

static eg_dataset *open_records(const char *file, bool torn)
{
    records *r = (records *)eg__dataset_new(&records_class, sizeof *r, NULL);
    snprintf(r->file, sizeof r->file, "%s", file);
    r->torn = torn;
    return &r->d;
}

static eg_status same(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)user;
    if (eg_size(in[0], 0) == 2) {
        return EG_EUSER;
    }
    out[0] = in[0];
    *m = n;
    return EG_OK;
}

EGT(a_failure_names_file_and_offset)
{
    eg_dataset *d = open_records("digits.rec", true);
    int k = 0;
    EG_FOR_EACH(sample, d) {
        k++;
    }
    EGT_EQ(k, 3);
    EGT_CHECK(egt_said(EG_EFORMAT, "the checksum is wrong (digits.rec, offset 30)"));
    eg_dataset_free(d);
    for (int workers = 0; workers < 3; workers++) {
        d = eg_dataset_map(eg_dataset_prefetch(open_records("digits.rec", true), 2), same, NULL, .workers = workers);
        d = eg_dataset_shuffle(d, 1);
        EGT_CHECK(eg_dataset_first(d) && !eg_dataset_next(d));
        EGT_STR(eg_last_error()->op, "eg_dataset_map");
        EGT_CHECK(egt_said(EG_EUSER, "(digits.rec, offset 10)"));
        eg_dataset_free(d);
    }
    d = eg_dataset_batch(open_records("digits.rec", true), 2);
    EGT_CHECK(!eg_dataset_first(d) && egt_said(EG_ESHAPE, "(digits.rec, offset 10)"));
    eg_dataset_free(d);
    d = eg_dataset_tolerate(open_records("digits.rec", true));
    k = 0;
    EG_FOR_EACH(sample, d) {
        k++;
    }
    EGT_OK(eg_dataset_status(d));
    EGT_EQ(k, 6);
    EGT_EQ(eg_dataset_left_out(d).count, 2);
    EGT_CHECK(strstr(eg_dataset_left_out(d).first.message, "offset 30"));
    eg_dataset_free(d);
}

EGT(skipping_without_a_way_to_skip)
{
    eg_dataset *d = eg_dataset_skip(open_records("digits.rec", false), 5);
    int k = 0;
    EG_FOR_EACH(sample, d) {
        EGT_EQ(eg_size(sample[0], 0), 6 + k++);
    }
    EGT_EQ(k, 2);
    EGT_OK(eg_dataset_status(d));
    EGT_EQ(eg_last_error()->code, EG_OK); /* the bad one was passed over without a word */
    EGT_OK(eg_dataset_seek(d, (eg_dataset_position){4, 1}));
    EGT_CHECK(eg_dataset_first(d) && !eg_dataset_next(d));
    EGT_OK(eg_dataset_seek(d, (eg_dataset_position){4, 2})); /* nothing remains: the next pass */
    EGT_CHECK(eg_dataset_first(d));
    EGT_CHECK(eg_dataset_position_of(d).epoch == 5 && eg_dataset_position_of(d).sample == 1);
    EGT_CHECK(eg_dataset_next(d) && !eg_dataset_next(d));
    eg_dataset_free(d);
}

EGT(words_are_cut_to_fit)
{
    char name[280], words[300];
    memset(name, 'n', sizeof name);
    strcpy(name + sizeof name - 8, "end.rec");
    memset(words, 'w', sizeof words);
    words[sizeof words - 1] = 0;
    eg__sample s = {.file = name, .at = INT64_MAX};
    eg__fail(EG_EIO, "test", "%s", words);
    EGT_EQ(eg__sample_blame(&s), EG_EIO);
    const char *m = eg_last_error()->message;
    EGT_EQ(strlen(m), sizeof eg_last_error()->message - 1);
    EGT_CHECK(strstr(m, "w (...nnn") && strstr(m, "nend.rec, offset 9223372036854775807)"));
    eg__fail(EG_EIO, "test", "short");
    eg__sample_blame(&(eg__sample){.at = 17});
    EGT_STR(m, "short (sample 17)");
    eg__sample_blame(&(eg__sample){.at = -1}); /* from nowhere */
    EGT_STR(m, "short (sample 17)");
    eg_clear_error();
}
