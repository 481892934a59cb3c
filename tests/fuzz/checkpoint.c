/* checkpoint.c - any bytes as a checkpoint: all parts are put back, or none with words. The header's checksum
 * is put right first, else nothing would ever come behind it. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <egret/egret.h>
#include <egret/saver.h>

#include "tests/crc32c.h"
#include "tests/fuzz/fuzz.h"

static struct {
    eg_saver *saver;
    eg_module *net;
    eg_tensor *t;
    eg_dataset *data;
    int64_t number;
    double real;
} run;

static void clean(void)
{
    eg_saver_free(run.saver);
    eg_dataset_free(run.data);
    eg_module_free(run.net);
    eg_release(run.t);
}

static void start(void)
{
    const char *folder = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
    run.net = eg_linear_new(2, 1);
    EG_SCOPE {
        run.t = eg_keep(eg_ones(EG_SHAPE(3), EG_F16));
        run.data = eg_dataset_from_tensors(&run.t, 1);
    }
    run.saver = eg_saver_new(folder);
    eg_saver_module(run.saver, "net", run.net);
    eg_saver_tensor(run.saver, "t", run.t);
    eg_saver_number(run.saver, "number", &run.number);
    eg_saver_real(run.saver, "real", &run.real);
    eg_saver_dataset(run.saver, "data", run.data);
    if (eg_last_error()->code) {
        abort();
    }
    atexit(clean);
}

static void put_right(uint8_t *s, size_t size)
{
    uint64_t length = 0;
    for (size_t i = 0; i < 8 && size >= 8; i++) {
        length |= (uint64_t)s[i] << 8 * i;
    }
    if (size < 16 || length > size - 16) {
        return;
    }
    uint32_t r = crc32c_by_bits(s, 8 + length);
    for (size_t i = 0; i < 8; i++) {
        s[8 + length + i] = i < 4 ? (uint8_t)(r >> 8 * i) : 0;
    }
}

/* All that could have changed, in one number. */
static double fingerprint(void)
{
    double sum = (double)run.number + 3 * run.real + (double)eg_dataset_position_of(run.data).sample;
    eg_tensors *m = eg_module_state(run.net);
    for (int64_t i = 0; i < eg_tensors_count(m); i++) {
        sum += 5 * eg_get(eg_tensors_at(m, i), 0);
    }
    eg_tensors_free(m);
    return sum + 7 * eg_get(run.t, 2) + (double)eg_random_get_state().offset;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!run.saver) {
        start();
    }
    uint8_t *bytes = malloc(size + 1);
    if (!bytes) {
        abort();
    }
    memcpy(bytes, data, size);
    put_right(bytes, size);
    const char *path = fuzz_file(bytes, size);
    free(bytes);
    eg_clear_error();
    run.number = 1;
    run.real = 2;
    int64_t step = -1;
    double before = fingerprint();
    eg_status st = eg_saver_restore_from(run.saver, path, &step, .allow_others = size % 2);
    bool same = fingerprint() == before && step == -1;
    if (st ? !same || !*eg_last_error()->message : step < 0) {
        abort();
    }
    return 0;
}
