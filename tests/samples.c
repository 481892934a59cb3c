/* samples.c - sources and functions of the tests of datasets, and walks to compare. */
#include "tests/samples.h"

eg_status said(const eg_tensor *t)
{
    return t ? EG_OK : eg_last_error()->code;
}

eg_status numbered(int64_t index, eg_tensor **sample, int *n, void *user)
{
    for (const int64_t *bad = user; bad && *bad >= 0; bad++) {
        if (*bad == index) {
            return EG_EUSER;
        }
    }
    sample[0] = eg_uniform(EG_SHAPE(2), 0, 1, EG_F32);
    sample[1] = eg_scalar((double)index, EG_I64);
    *n = 2;
    return said(sample[0] ? sample[1] : NULL);
}

eg_status ragged(int64_t index, eg_tensor **sample, int *n, void *user)
{
    (void)user;
    sample[0] = eg_arange(1, (double)(2 + index * 7 % 5), 1, EG_I64);
    sample[1] = eg_scalar((double)index, EG_I64);
    *n = 2;
    return said(sample[0] ? sample[1] : NULL);
}

eg_status noisy(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)user;
    for (int i = 0; i < n; i++) {
        out[i] = in[i];
    }
    out[0] = eg_add(eg_cast(in[0], EG_F32), eg_normal(eg_shape_of(in[0]), 0, 1, EG_F32));
    *m = n;
    return said(out[0]);
}

eg_status fails_at(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)n;
    for (const int64_t *bad = user; *bad >= 0; bad++) {
        if (eg_item(in[1]) == (double)*bad) {
            return said(eg_reshape(in[0], EG_SHAPE(77)));
        }
    }
    out[0] = in[0];
    out[1] = in[1];
    *m = 2;
    return EG_OK;
}

eg_status odd(eg_tensor *const *in, int n, bool *keep, void *user)
{
    (void)n, (void)user;
    *keep = (int64_t)eg_item(in[1]) % 2;
    return EG_OK;
}

int64_t bad_records[] = {0, 4, 5, 11, -1};

eg_dataset *source(int64_t count)
{
    return eg_dataset_from(numbered, count, NULL, NULL);
}

eg_dataset *noise(eg_dataset *d, int workers)
{
    return eg_dataset_map(d, noisy, NULL, .workers = workers, .seed = 3, .ahead = workers == 4 ? 3 : 0);
}

uint64_t digest(eg_tensor *const *sample, int n)
{
    uint64_t h = 14695981039346656037u;
    double values[256];
    for (int k = 0; k < n; k++) {
        eg_shape shape = eg_shape_of(sample[k]);
        EGT_CHECK(eg_numel(sample[k]) <= 256);
        EGT_OK(eg_to_values(sample[k], values));
        h = (h ^ (uint64_t)eg_dtype_of(sample[k])) * 1099511628211u;
        for (int a = 0; a < shape.ndim; a++) {
            h = (h ^ (uint64_t)shape.dim[a]) * 1099511628211u;
        }
        for (int64_t i = 0; i < eg_numel(sample[k]); i++) {
            uint64_t bits;
            memcpy(&bits, &values[i], sizeof bits);
            h = (h ^ bits) * 1099511628211u;
            h ^= h >> 29;
        }
    }
    return h;
}

void walk(eg_dataset *d, walked *w, int64_t epoch, int k, int most)
{
    EG_SCOPE {
        EG_FOR_EACH(sample, d) {
            EGT_CHECK(k < MOST);
            w->seen[epoch][k++] = digest(sample, 2);
            if (--most == 0) {
                break;
            }
        }
    }
    w->count[epoch] = k;
    EGT_OK(eg_dataset_status(d));
}

void same(const walked *a, const walked *b, int64_t epoch, int from)
{
    EGT_EQ(a->count[epoch], b->count[epoch]);
    for (int k = from; k < a->count[epoch]; k++) {
        if (a->seen[epoch][k] != b->seen[epoch][k]) {
            egt_fail(__FILE__, __LINE__, "sample %d of epoch %d differs", k, (int)epoch);
        }
    }
}
