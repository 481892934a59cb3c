/* emulator.cc - runs the blocks of a kernel.
 *
 * The threads of a block run one after another on the host thread's own stack. Only when one has to
 * wait does it keep the stack it is on, and the next thread that can run goes on on another: a
 * kernel without barriers costs little more than a loop. */
#include "tools/emulator/emulator.h"

#include <stdarg.h>
#include <stdlib.h>

#include <memory>
#include <vector>

#include "tools/emulator/fiber.h"

#ifdef EG__ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, bytes)   ((void)0)
#define ASAN_UNPOISON_MEMORY_REGION(at, bytes) ((void)0)
#endif

enum { MAX_THREADS = 1024, WARP = 32, MAX_SHARED = 232448, SHARED_GUARD = 256 };
enum { SHARED_POISON = 0xff /* a NaN of every type */, GUARD_BYTE = 0xa5 };
enum order { FORWARD, REVERSE, RANDOM };

/* What a shuffle reads from a lane that takes no part. */
constexpr uint64_t NOTHING = 0xcbcbcbcbcbcbcbcb;

/* A warp's lanes and, of those that wait, for what. */
struct warp {
    unsigned exists, waiting, ended;
    unsigned mask[WARP];
    uint64_t value[WARP];
    int lane[WARP], line[WARP];
    eg__emu_kind kind[WARP];
};

/* A host thread's state. Threads have a number and a position: the number's, or counted from the
 * end where the order is reverse. */
struct executor {
    const eg__emu_launch *launch;
    const std::function<void()> *body;
    order ordered;
    uint64_t random;

    int count, ended;
    int current, chosen;              /* threads; chosen: who gets the turn, -1: the block is over */
    int cursor;                       /* a position */
    uint64_t ready[MAX_THREADS / 64]; /* positions that can run */
    eg__fiber *worker[MAX_THREADS];   /* on whose stack a thread waits; NULL: it has not begun */
    warp warps[MAX_THREADS / WARP];
    uint3 place[MAX_THREADS];
    dim3 placed; /* the block that `place` is of */

    int arrived, truths, result, line; /* at the barrier */

    eg__fiber host, *self;
    bool host_idle;
    std::vector<eg__fiber *> idle;
    std::vector<std::unique_ptr<eg__fiber>> fibers;
    unsigned char *shared;

    executor();
    ~executor();
};

__thread uint3 threadIdx, blockIdx;
__thread dim3 blockDim, gridDim;
static __thread executor *active;

static order order_asked(void)
{
    const char *s = getenv("EG_EMU_ORDER");
    return !s || !strcmp(s, "forward") ? FORWARD : !strcmp(s, "reverse") ? REVERSE : RANDOM;
}

executor::executor()
{
    memset(ready, 0, sizeof ready);
    memset(worker, 0, sizeof worker);
    ordered = order_asked();
    random = 0x9e3779b97f4a7c15;
    placed = dim3(0, 0, 0);
    arrived = truths = result = line = ended = count = 0;
    host_idle = false;
    void *memory = nullptr;
    if (posix_memalign(&memory, 1024, MAX_SHARED + SHARED_GUARD)) {
        abort();
    }
    shared = static_cast<unsigned char *>(memory);
}

executor::~executor()
{
    for (auto &f : fibers) {
        eg__fiber_free(f.get());
    }
    ASAN_UNPOISON_MEMORY_REGION(shared, MAX_SHARED + SHARED_GUARD);
    free(shared);
}

[[noreturn]] __attribute__((format(printf, 2, 3))) static void fault(const executor *e, const char *format, ...)
{
    char words[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    uint3 t = e->place[e->current];
    fprintf(stderr, "emulator: kernel %s, block %u,%u,%u, thread %u,%u,%u: %s\n", e->launch->name, blockIdx.x,
            blockIdx.y, blockIdx.z, t.x, t.y, t.z, words);
    abort();
}

static uint32_t draw(executor *e, uint32_t below)
{
    e->random ^= e->random << 13;
    e->random ^= e->random >> 7;
    e->random ^= e->random << 17;
    return uint32_t((e->random >> 32) * below >> 32);
}

static inline int flip(const executor *e, int i)
{
    return e->ordered == REVERSE ? e->count - 1 - i : i;
}

static inline void make_ready(executor *e, int thread)
{
    int p = flip(e, thread);
    e->ready[p >> 6] |= uint64_t(1) << (p & 63);
}

/* The next thread that can run, which from now on it cannot; -1: none. */
static inline int pick(executor *e)
{
    int from = e->ordered == RANDOM ? int(draw(e, uint32_t(e->count))) : e->cursor;
    int words = (e->count + 63) / 64, w = from >> 6;
    uint64_t bits = e->ready[w] & ~uint64_t(0) << (from & 63);
    for (int i = 0; i < words && !bits; i++) {
        w = w + 1 == words ? 0 : w + 1;
        bits = e->ready[w];
    }
    if (!bits) {
        return -1;
    }
    int p = w * 64 + __builtin_ctzll(bits);
    e->ready[w] &= ~(uint64_t(1) << (p & 63));
    e->cursor = p + 1 == e->count ? 0 : p + 1;
    return flip(e, p);
}

/* All that is left of the block waits for what cannot come. */
[[noreturn]] static void stuck(executor *e)
{
    for (int i = 0; i < e->count; i++) {
        const warp *w = &e->warps[i / WARP];
        int lane = i % WARP;
        unsigned missing = w->mask[lane] & w->exists & ~w->waiting;
        if (!(w->waiting >> lane & 1)) {
            continue;
        }
        e->current = i;
        if (missing) {
            int other = __builtin_ctz(missing);
            fault(e, "a function of its warp in line %d names lane %d, which %s", w->line[lane], other,
                  w->ended >> other & 1 ? "has ended" : "waits at a barrier");
        }
        fault(e, "a function of its warp in line %d names lanes that wait with other masks", w->line[lane]);
    }
    fault(e, "%d of %d threads have ended without coming to the barrier in line %d", e->ended, e->count, e->line);
}

static void give_turn(executor *e, eg__fiber *to)
{
    eg__fiber *self = e->self;
    e->self = to;
    eg__fiber_switch(self, to);
}

static void run_threads(executor *e)
{
    for (;;) {
        int t = e->chosen;
        if (t < 0) {
            return;
        }
        if (e->worker[t]) {
            if (e->self == &e->host) {
                e->host_idle = true;
            } else {
                e->idle.push_back(e->self);
            }
            give_turn(e, e->worker[t]);
            continue; /* the chosen one is now another's choice */
        }
        e->current = t;
        threadIdx = e->place[t];
        (*e->body)();
        t = e->current;
        e->warps[t / WARP].ended |= 1u << t % WARP;
        e->ended++;
        e->chosen = pick(e);
        if (e->chosen >= 0) {
            continue;
        }
        if (e->ended < e->count) {
            stuck(e);
        }
        if (e->self != &e->host) {
            e->idle.push_back(e->self);
            e->host_idle = false;
            give_turn(e, &e->host);
        }
    }
}

static void work(void *user)
{
    run_threads(static_cast<executor *>(user));
    abort(); /* only the host is told that a block is over */
}

static eg__fiber *idle_worker(executor *e)
{
    if (e->host_idle) {
        e->host_idle = false;
        return &e->host;
    }
    if (e->idle.empty()) {
        e->fibers.push_back(std::make_unique<eg__fiber>());
        eg__fiber *f = e->fibers.back().get();
        if (!eg__fiber_make(f, work, e, int(e->fibers.size()))) {
            fault(e, "no memory for its stack");
        }
        return f;
    }
    eg__fiber *f = e->idle.back();
    e->idle.pop_back();
    return f;
}

/* Lets others run until someone has made the current thread ready. */
static void wait(executor *e)
{
    int t = e->current, next = pick(e);
    if (next == t) {
        return;
    }
    if (next < 0) {
        stuck(e);
    }
    e->worker[t] = e->self;
    e->chosen = next;
    give_turn(e, e->worker[next] ? e->worker[next] : idle_worker(e));
    e->worker[t] = nullptr;
    e->current = t;
    threadIdx = e->place[t];
}

/* The last to arrive goes on at once, but for a random order. */
static void go_on(executor *e)
{
    if (e->ordered == RANDOM) {
        make_ready(e, e->current);
        wait(e);
    }
}

int eg__emu_block(bool value, int line)
{
    executor *e = active;
    if (e->arrived && e->line != line) {
        fault(e, "it waits at the barrier in line %d, others at that in line %d", line, e->line);
    }
    e->line = line;
    e->truths += value;
    if (++e->arrived < e->count) {
        wait(e);
        return e->result;
    }
    e->result = e->truths;
    e->arrived = e->truths = 0;
    for (int i = 0; i < e->count; i++) {
        if (i != e->current) {
            make_ready(e, i);
        }
    }
    go_on(e);
    return e->result;
}

/* Whether all that are named wait for one another. */
static bool complete(const executor *e, const warp *w, unsigned named, unsigned mask, eg__emu_kind kind)
{
    if ((w->waiting & named) != named) {
        return false;
    }
    for (unsigned rest = named; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        if (w->mask[i] != mask) {
            return false;
        }
        if (w->kind[i] != kind) {
            fault(e, "lanes of its warp call different functions in lines %d and %d", w->line[i],
                  w->line[e->current % WARP]);
        }
    }
    return true;
}

/* Puts what each lane asked for in place of what it gave. */
static void exchange(warp *w, unsigned named, eg__emu_kind kind)
{
    uint64_t given[WARP];
    unsigned truths = 0;
    memcpy(given, w->value, sizeof given);
    for (unsigned rest = named; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        truths |= unsigned(given[i] != 0) << i;
    }
    for (unsigned rest = named; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        if (kind == EG__EMU_SHUFFLE) {
            w->value[i] = named >> w->lane[i] & 1 ? given[w->lane[i]] : NOTHING;
        } else if (kind == EG__EMU_BALLOT) {
            w->value[i] = truths;
        } else if (kind == EG__EMU_MATCH) {
            uint64_t equal = 0;
            for (int j = 0; j < WARP; j++) {
                equal |= uint64_t((named >> j & 1) && given[j] == given[i]) << j;
            }
            w->value[i] = equal;
        }
    }
}

uint64_t eg__emu_warp(eg__emu_kind kind, unsigned mask, uint64_t value, int source, int line)
{
    executor *e = active;
    int t = e->current, lane = t % WARP;
    warp *w = &e->warps[t / WARP];
    if (!(mask >> lane & 1)) {
        fault(e, "the mask %#x of a function of its warp in line %d leaves it out", mask, line);
    }
    w->mask[lane] = mask;
    w->value[lane] = value;
    w->lane[lane] = source & (WARP - 1);
    w->kind[lane] = kind;
    w->line[lane] = line;
    w->waiting |= 1u << lane;
    unsigned named = mask & w->exists;
    if (!complete(e, w, named, mask, kind)) {
        wait(e);
        return w->value[lane];
    }
    exchange(w, named, kind);
    w->waiting &= ~named;
    for (unsigned rest = named & ~(1u << lane); rest; rest &= rest - 1) {
        make_ready(e, t - lane + __builtin_ctz(rest));
    }
    go_on(e);
    return w->value[lane];
}

int eg__emu_lane(void)
{
    return active->current % WARP;
}

void *eg__emu_shared(void)
{
    return active->shared;
}

void eg__emu_trap(int line)
{
    fault(active, "it trapped in line %d", line);
}

static void begin_block(executor *e)
{
    size_t bytes = e->launch->shared;
    if (bytes) {
        memset(e->shared, SHARED_POISON, bytes);
    }
    for (int i = 0; i < e->count; i += 64) {
        e->ready[i / 64] = e->count - i >= 64 ? ~uint64_t(0) : (uint64_t(1) << (e->count - i)) - 1;
    }
    for (int i = 0; i < e->count; i += WARP) {
        warp *w = &e->warps[i / WARP];
        w->exists = e->count - i >= WARP ? ~0u : (1u << (e->count - i)) - 1;
        w->waiting = w->ended = 0;
    }
    e->ended = e->arrived = e->truths = e->cursor = 0;
    e->self = &e->host;
    e->chosen = pick(e);
}

static void end_block(executor *e)
{
#ifdef EG__ASAN
    (void)e;
#else
    for (int i = 0; i < SHARED_GUARD; i++) {
        if (e->shared[e->launch->shared + size_t(i)] != GUARD_BYTE) {
            fault(e, "its block wrote past the %zu bytes of its dynamic shared memory", e->launch->shared);
        }
    }
#endif
}

static void begin_launch(executor *e, const eg__emu_launch &launch, const std::function<void()> &body)
{
    dim3 b = launch.block;
    e->launch = &launch;
    e->body = &body;
    e->count = int(b.x * b.y * b.z);
    if (b.x != e->placed.x || b.y != e->placed.y || b.z != e->placed.z) {
        unsigned i = 0;
        for (unsigned z = 0; z < b.z; z++) {
            for (unsigned y = 0; y < b.y; y++) {
                for (unsigned x = 0; x < b.x; x++) {
                    e->place[i++] = uint3{x, y, z};
                }
            }
        }
        e->placed = b;
    }
    ASAN_UNPOISON_MEMORY_REGION(e->shared, MAX_SHARED + SHARED_GUARD);
    memset(e->shared + launch.shared, GUARD_BYTE, SHARED_GUARD);
    ASAN_POISON_MEMORY_REGION(e->shared + launch.shared, MAX_SHARED + SHARED_GUARD - launch.shared);
    blockDim = b;
    gridDim = launch.grid;
    eg__fiber_host(&e->host);
}

/* A step through the blocks that meets each once: without a common divisor with their number. */
static uint64_t stride(executor *e, uint64_t blocks)
{
    for (uint64_t s = blocks / 3 + draw(e, 1000) + 1;; s++) {
        uint64_t a = s, b = blocks;
        while (b) {
            uint64_t rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1) {
            return s;
        }
    }
}

void eg__emu_run(const eg__emu_launch &launch, const std::function<void()> &body)
{
    static executor *const e = new executor; /* never taken down: programs end with work still queued */
    active = e;
    begin_launch(e, launch, body);
    dim3 g = launch.grid;
    uint64_t blocks = uint64_t(g.x) * g.y * g.z, i = 0, step = 1;
    if (e->ordered == REVERSE) {
        i = blocks - 1;
        step = blocks - 1;
    } else if (e->ordered == RANDOM) {
        i = draw(e, uint32_t(blocks < UINT32_MAX ? blocks : UINT32_MAX));
        step = stride(e, blocks);
    }
    for (uint64_t n = 0; n < blocks; n++) {
        blockIdx = uint3{unsigned(i % g.x), unsigned(i / g.x % g.y), unsigned(i / g.x / g.y)};
        begin_block(e);
        run_threads(e);
        end_block(e);
        i = (i + step) % blocks;
    }
}
