/* live.c - a set of addresses: open addressing, empty places NULL, at most half full. */
#include <stdlib.h>

#include "lib/core/subsystem.h"
#include "lib/core/live.h"

static struct {
    pthread_mutex_t lock;
    void **place;
    size_t size, count; /* size: 0 or a power of 2 */
} live = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void around_fork(eg__fork when)
{
    eg__fork_lock(&live.lock, when);
}

EG__SUBSYSTEM_OF_CORE(.order = EG__ORDER_LIVE, .fork = around_fork)

static size_t home_of(const void *handle, size_t size)
{
    return (size_t)((uint64_t)(uintptr_t)handle * 0x9e3779b97f4a7c15u >> 20) & (size - 1);
}

/* Its place, or the empty one where it would be. */
static size_t find(void *const *place, size_t size, const void *handle)
{
    size_t i = home_of(handle, size);
    while (place[i] && place[i] != handle) {
        i = (i + 1) & (size - 1);
    }
    return i;
}

static bool make_room(void)
{
    if (2 * (live.count + 1) <= live.size) {
        return true;
    }
    size_t size = live.size ? 2 * live.size : 64;
    void **place = eg__malloc(size * sizeof *place);
    if (!place) {
        return false;
    }
    memset(place, 0, size * sizeof *place);
    for (size_t i = 0; i < live.size; i++) {
        if (live.place[i]) {
            place[find(place, size, live.place[i])] = live.place[i];
        }
    }
    free(live.place);
    live.place = place;
    live.size = size;
    return true;
}

/* Those behind move up, so that nobody's search ends at the gap. */
static void take_out(size_t gap)
{
    for (size_t i = (gap + 1) & (live.size - 1); live.place[i]; i = (i + 1) & (live.size - 1)) {
        size_t home = home_of(live.place[i], live.size);
        if (((i - home) & (live.size - 1)) >= ((i - gap) & (live.size - 1))) {
            live.place[gap] = live.place[i];
            gap = i;
        }
    }
    live.place[gap] = NULL;
    if (--live.count == 0) {
        free(live.place);
        live.place = NULL;
        live.size = 0;
    }
}

void *eg__handle_new(size_t bytes)
{
    void *handle = eg__malloc(bytes);
    if (!handle) {
        return NULL;
    }
    memset(handle, 0, bytes);
    pthread_mutex_lock(&live.lock);
    bool ok = make_room();
    if (ok) {
        live.place[find(live.place, live.size, handle)] = handle;
        live.count++;
    }
    pthread_mutex_unlock(&live.lock);
    if (!ok) {
        free(handle);
    }
    return ok ? handle : NULL;
}

bool eg__handle_lives(const void *handle)
{
    pthread_mutex_lock(&live.lock);
    bool lives = handle && live.size && live.place[find(live.place, live.size, handle)];
    pthread_mutex_unlock(&live.lock);
    return lives;
}

bool eg__handle_ends(void *handle, const char *op)
{
    if (!handle) {
        return false;
    }
    pthread_mutex_lock(&live.lock);
    size_t i = live.size ? find(live.place, live.size, handle) : 0;
    bool lived = live.size && live.place[i];
    if (lived) {
        take_out(i);
    }
    pthread_mutex_unlock(&live.lock);
    if (!lived) {
        eg__fail(EG_ESTATE, op, "there is nothing at %p: it was freed before, or never made", handle);
    }
    return lived;
}
