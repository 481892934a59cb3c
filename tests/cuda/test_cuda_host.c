/* test_cuda_host.c - what reads tensors on the host fetches those of a device, or says that it wants them brought. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

#include "tests/cuda/module.h"

static void refused(eg_tensor *result)
{
    EGT_CHECK(result == NULL);
    EGT_EQ(eg_last_error()->code, EG_EDEVICE);
    EGT_CHECK(strstr(eg_last_error()->message, "eg_to") != NULL);
    eg_clear_error();
}

EGT(pictures_and_histograms_are_fetched)
{
    eg_tensor *u = eg_randint(EG_SHAPE(3, 6, 5), 0, 256, EG_U8), *v = eg_to(u, cuda(0));
    eg_tensor *a = eg_png_encode(u), *b = eg_png_encode(v);
    if (!a) {
        egt_skip("no PNG in this build");
    }
    EGT_EQ(eg_numel(a), eg_numel(b));
    EGT_EQ(memcmp(eg_data(a), eg_data(b), (size_t)eg_numel(a)), 0);
    char folder[] = "/tmp/egret-test-XXXXXX";
    EGT_CHECK(mkdtemp(folder) != NULL);
    eg_events *events = eg_events_new(folder);
    if (events) {
        EGT_OK(eg_events_histogram(events, "values", 1, eg_cast(v, EG_F32)));
        eg_events_free(events);
    }
    eg_clear_error();
    char command[80];
    snprintf(command, sizeof command, "rm -r %s", folder);
    EGT_EQ(system(command), 0);
}

EGT(pixels_and_texts_are_wanted_on_the_cpu)
{
    eg_tensor *x = eg_to(eg_ones(EG_SHAPE(3, 4, 4), EG_F32), cuda(0));
    refused(eg_image_hue(x, 0.1));
    refused(eg_image_rotate(x, 10));
    refused(eg_pad_sequences(&x, 1));
    refused(eg_text_words(eg_to(eg_text("some words"), cuda(0))));
    eg_tensor *n = eg_to(eg_zeros(EG_SHAPE(2), EG_I64), cuda(0));
    refused(eg_strokes(eg_zeros(EG_SHAPE(2), EG_F32), n));
}

EGT(readers_make_tensors_of_the_cpu)
{
    eg_device *before = eg_use_device(cuda(0));
    eg_tensor *t = eg_text("abc");
    EGT_CHECK(t && eg_device_of(t) == eg_cpu());
    eg_use_device(before);
}
