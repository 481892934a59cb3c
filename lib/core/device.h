/* device.h - the devices there are, and what the library asks of them. */
#ifndef EGRET_CORE_DEVICE_H
#define EGRET_CORE_DEVICE_H

#include "lib/core/engine.h"

extern eg_device *eg__devices[EG__MAX_DEVICES];

static inline eg_device *eg__device(const eg_tensor *t)
{
    return eg__devices[t->device];
}

/* t for reading on the host: itself, or a copy the innermost scope owns. NULL: words are recorded. */
const eg_tensor *eg__on_host(const eg_tensor *t, const char *op);
/* The engine's upload, download and fill for t's device, seen by a profile. */
eg_status eg__upload(const char *op, eg__thread *T, eg_tensor *t, const void *from, size_t bytes);
eg_status eg__download(const char *op, eg__thread *T, const eg_tensor *t, void *to, size_t bytes);
eg_status eg__fill(const char *op, eg__thread *T, eg_tensor *t, uint64_t bits);
/* EG_OK for a tensor of the CPU; else words saying that op needs one. */
eg_status eg__host_only(const eg_tensor *t, const char *op, const char *name);
void eg__device_storage_free(eg__thread *T, eg__storage *s);
/* The device of the thread's makers, or -1 with words: EGRET_DEVICE names none there is. */
int eg__default_device(eg__thread *T, const char *op);

#endif
