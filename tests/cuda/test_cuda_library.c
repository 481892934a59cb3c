/* test_cuda_library.c - opening a library of NVIDIA's as the real module does, with ones that any
 * system has standing in. */
#define _XOPEN_SOURCE 700
#include "tests/egt.h"

#include "lib/cuda/runtime/library.h"

static const char *const names[] = {"sqrt", "egret_none"};
static double (*square_root)(double);

EGT(found)
{
    eg__library l = {"Sums", {"libegret-none.so.1", "libm.so.6"}, names, 1, &square_root, NULL, false};
    EGT_OK(eg__cuda_library_open(&l, "test"));
    EGT_EQ(square_root(9), 3);
    square_root = NULL;
    EGT_OK(eg__cuda_library_open(&l, "test")); /* is open: nothing is looked up again */
    EGT_CHECK(!square_root);
}

EGT(missing)
{
    eg__library one = {"Sums", {"libegret-none.so.1"}, names, 1, &square_root, NULL, false};
    eg__library two = {"Sums", {"libegret-none.so.2", "libegret-none.so.1"}, names, 1, &square_root, NULL, false};
    EGT_REFUSED(eg__cuda_library_open(&one, "test"), EG_ENOKERNEL, "needs Sums, but there is no libegret-none.so.1");
    EGT_REFUSED(eg__cuda_library_open(&two, "test"), EG_ENOKERNEL, "libegret-none.so.2 or libegret-none.so.1");
    EGT_REFUSED(eg__cuda_library_open(&two, "test"), EG_ENOKERNEL, "not set");
}

EGT(of_another_version)
{
    double (*two[2])(double);
    eg__library l = {"Sums", {"libm.so.6"}, names, 2, two, NULL, false};
    EGT_REFUSED(eg__cuda_library_open(&l, "test"), EG_ENOKERNEL, "(libm.so.6) has no egret_none");
    EGT_REFUSED(eg__cuda_library_open(&l, "test"), EG_ENOKERNEL, "another version");
}

/* In the folder that is named, or below it; no library there is passed over. */
EGT(named_folder)
{
    static const char *const below[] = {"", "/lib64", "/lib"};
    for (int i = 0; i < 3; i++) {
        eg__library l = {"Sums", {"libegret-sums.so"}, names, 1, &square_root, NULL, false};
        char command[4096];
        snprintf(command, sizeof command,
                 "mkdir -p %s%s && cp \"$(ldconfig -p | sed -n 's/.*libm.so.6 (libc6,x86-64.*=> "
                 "//p' | head -1)\" %s%s/libegret-sums.so",
                 egt_folder(), below[i], egt_folder(), below[i]);
        EGT_REFUSED(eg__cuda_library_open(&l, "test"), EG_ENOKERNEL, "not set");
        if (system(command)) {
            egt_skip("no libm.so.6 to copy");
        }
        setenv("EGRET_CUDA_PATH", egt_folder(), 1);
        eg_status st = eg__cuda_library_open(&l, "test");
        unsetenv("EGRET_CUDA_PATH");
        EGT_OK(st);
        egt_remove_folder();
    }
}

EGT(no_library_at_all)
{
    eg__library l = {"Sums", {"libegret-none.so.1"}, names, 1, &square_root, NULL, false};
    egt_write(egt_path("libegret-none.so.1"), "no library", 10);
    setenv("EGRET_CUDA_PATH", egt_folder(), 1);
    eg_status st = eg__cuda_library_open(&l, "test");
    unsetenv("EGRET_CUDA_PATH");
    EGT_CHECK(st == EG_ENOKERNEL && egt_said(EG_ENOKERNEL, egt_folder()));
}
