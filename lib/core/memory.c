/* memory.c - whether there is memory for it, and words when there is none. */
#include "lib/core/alloc.h"
#include "lib/core/device.h"

/* The bytes there could be; 0: as far as is known any number. */
static eg_status most_on(uint8_t device, int64_t bytes, int64_t *most)
{
    eg_device_info info = {.memory_bytes = 0};
    *most = device ? eg_device_memory(eg__devices[device]).limit_bytes : eg__memory_most(bytes);
    eg_status st = device && !*most && bytes > EG__ANY_HAS ? eg_device_describe(eg__devices[device], &info) : EG_OK;
    *most = *most ? *most : info.memory_bytes;
    return st;
}

eg_status eg__check_bytes(const char *op, uint8_t device, int64_t bytes)
{
    int64_t most = 0;
    eg_status st = most_on(device, bytes, &most);
    return st || !most || bytes <= most ? st : eg__no_memory_on(device, op, bytes);
}

eg_status eg__no_memory(const char *op, int64_t bytes)
{
    return eg__no_memory_on(0, op, bytes);
}

eg_status eg__no_memory_on(uint8_t device, const char *op, int64_t bytes)
{
    eg_device *d = eg__devices[device];
    eg_memory m = eg_device_memory(d);
    const int nops = (int)eg__host_table.nops;
    int64_t held[EG__MAX_OPS + 1] = {0}; /* by op, then what none of them made */
    char who[120] = "";
    size_t k = 0;
    if (eg__is_lost(d)) {
        return eg__lost(op);
    }
    d->engine->holders(d, held, nops + 1);
    for (int rank = 0; rank < 3 && k < sizeof who; rank++) {
        int top = 0;
        for (int i = 1; i <= nops; i++) {
            top = held[i] > held[top] ? i : top;
        }
        if (held[top] > 0) {
            int w = snprintf(who + k, sizeof who - k, "%s%s %.1f MiB", k ? ", " : "; most held by ",
                             top < nops ? eg__host_table.ops[top]->name : "others", (double)held[top] / 1048576);
            k += (size_t)w;
            held[top] = 0;
        }
    }
    return eg__fail(EG_ENOMEM, op,
                    "no memory for %lld bytes%s%s: %.1f MiB reserved, limit "
                    "%s%.1f%s%s",
                    (long long)bytes, d->id ? " on " : "", d->id ? d->name : "", (double)m.reserved_bytes / 1048576,
                    m.limit_bytes ? "" : "none (", (double)m.limit_bytes / 1048576, m.limit_bytes ? " MiB" : ")", who);
}
