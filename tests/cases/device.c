/* device.c - moving between devices. */
#include "tests/cases.h"

/* Where the sweep computes on the CPU this is a copy through it: the same numbers, a gradient of ones. */
CASE_FUNCTION(there_and_back, eg_to(eg_to(x[0], eg_device_of(x[0])), eg_cpu()))

EGT_CASES(device, {"to", "itself", there_and_back, {{DIMS(3, 4, 5), -2, 2, 0}}, .flags = EGT_INTS | EGT_BOOL})
