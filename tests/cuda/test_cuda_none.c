/* test_cuda_none.c - where CUDA is not: the module, the driver or the card is missing. The environment says
 * which; everything else works. */
#include "tests/egt.h"

/* A default device that is not there is said by the first maker. */
EGT(default_device)
{
    if (!getenv("EGRET_DEVICE")) {
        egt_skip("EGRET_DEVICE is not set");
    }
    EGT_REFUSED(eg_zeros(EG_SHAPE(2), EG_F32), EG_ENODEVICE, "EGRET_DEVICE: no CUDA");
    EGT_CHECK(eg_use_device(eg_cpu()));
    EGT_EQ(eg_item(eg_sum(eg_ones(EG_SHAPE(10), EG_F32))), 10);
}

EGT(said_in_words)
{
    const char *devices = getenv("EG_FAKE_DEVICES"), *file = getenv("EGRET_CUDA_MODULE");
    const char *word = file && strstr(file, "nowhere")     ? "libegret-cuda cannot be loaded"
                       : file && strstr(file, "forking")   ? "libegret-cuda drives no devices"
                       : devices && !strcmp(devices, "-1") ? "no CUDA driver"
                                                           : "no CUDA device";
    EGT_EQ(eg_cuda_count(), 0);
    EGT_CHECK(eg_last_error()->code == EG_OK);
    EGT_REFUSED(eg_cuda(0), EG_ENODEVICE, word);
    EGT_REFUSED(eg_device_open("cuda:0"), EG_ENODEVICE, word);
    EGT_REFUSED(eg_to(eg_scalar(1, EG_F32), eg_cuda(0)), EG_ENODEVICE, word);
    eg_clear_error();
    EGT_EQ(eg_item(eg_sum(eg_ones(EG_SHAPE(10), EG_F32))), 10);
}
