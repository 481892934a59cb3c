/* debug.c - the words of EG_DEBUG: what is told, and how ops are done. */
#include "lib/core/device.h"

eg_status eg_debug(const char *list)
{
    uint32_t mode = 0;
    for (const char *p = list ? list : ""; *p;) {
        size_t n = strcspn(p, ",");
        const uint32_t bit = eg__debug_bit(p, n);
        if (n && !bit) {
            return eg__fail(EG_EINVAL, "eg_debug", "\"%.*s\" is no debug word", (int)n, p);
        }
        mode |= bit;
        p += n + (p[n] == ',');
    }
    eg__thread *T = eg__thread_get();
    atomic_fetch_and(&T->mode, EG__MODE_PROFILE | EG__MODE_CAPTURE);
    atomic_fetch_or(&T->mode, mode);
    T->kernels = eg__devices[0]->engine->table(mode);
    return EG_OK;
}
