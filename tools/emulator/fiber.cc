#include "tools/emulator/fiber.h"

#include <stdint.h>
#include <sys/mman.h>

#ifdef EG__ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef EG__TSAN
#include <sanitizer/tsan_interface.h>
#endif

#ifdef EG__ASAN
enum { STACK = 516 << 10 };
#else
enum { STACK = 132 << 10 };
#endif
enum { GUARD = 4096 };

/* Who switches and to whom, for the first lines of a new fiber. */
static __thread eg__fiber *left, *entered;

static void before_switch(eg__fiber *from, eg__fiber *to)
{
    left = from;
    entered = to;
#ifdef EG__ASAN
    __sanitizer_start_switch_fiber(&from->fake_stack, to->bottom, to->bytes);
#endif
#ifdef EG__TSAN
    __tsan_switch_to_fiber(to->tsan, 0);
#endif
}

static void after_switch(eg__fiber *self)
{
#ifdef EG__ASAN
    const void *bottom;
    size_t bytes;
    __sanitizer_finish_switch_fiber(self->fake_stack, &bottom, &bytes);
    if (!left->stack) { /* only now can the host's stack be known */
        left->bottom = bottom;
        left->bytes = bytes;
    }
#else
    (void)self;
#endif
}

static void enter(void)
{
    eg__fiber *f = entered;
    after_switch(f);
    f->run(f->user);
    __builtin_unreachable();
}

#ifdef __x86_64__

/* Keeps what a call must keep, and leaves on the other stack what its own call of this had kept. */
extern "C" void eg__fiber_swap(void **save, void *to);
asm(".text\n"
    ".globl eg__fiber_swap\n"
    ".hidden eg__fiber_swap\n"
    ".type eg__fiber_swap,@function\n"
    "eg__fiber_swap:\n"
    "    push %rbp\n"
    "    push %rbx\n"
    "    push %r12\n"
    "    push %r13\n"
    "    push %r14\n"
    "    push %r15\n"
    "    mov %rsp,(%rdi)\n"
    "    mov %rsi,%rsp\n"
    "    pop %r15\n"
    "    pop %r14\n"
    "    pop %r13\n"
    "    pop %r12\n"
    "    pop %rbx\n"
    "    pop %rbp\n"
    "    ret\n"
    ".size eg__fiber_swap,.-eg__fiber_swap\n");

static void prepare(eg__fiber *f, size_t bytes)
{
    void **top = reinterpret_cast<void **>(uintptr_t(f->stack + bytes) & ~uintptr_t(15));
    *--top = nullptr; /* where a caller's address would be */
    *--top = reinterpret_cast<void *>(enter);
    for (int i = 0; i < 6; i++) {
        *--top = nullptr;
    }
    f->sp = top;
}

static void swap(eg__fiber *from, eg__fiber *to)
{
    eg__fiber_swap(&from->sp, to->sp);
}

#else

static void prepare(eg__fiber *f, size_t bytes)
{
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = f->stack + GUARD;
    f->context.uc_stack.ss_size = bytes - GUARD;
    f->context.uc_link = nullptr;
    makecontext(&f->context, enter, 0);
}

static void swap(eg__fiber *from, eg__fiber *to)
{
    swapcontext(&from->context, &to->context);
}

#endif

bool eg__fiber_make(eg__fiber *f, void (*run)(void *user), void *user, int number)
{
    void *stack = mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED) {
        return false;
    }
    mprotect(stack, GUARD, PROT_NONE);
    *f = eg__fiber{};
    f->stack = static_cast<char *>(stack);
    f->run = run;
    f->user = user;
    f->bottom = f->stack + GUARD;
    f->bytes = STACK - GUARD;
#ifdef EG__TSAN
    f->tsan = __tsan_create_fiber(0);
#endif
    prepare(f, STACK - size_t(number % 32) * 320);
    return true;
}

void eg__fiber_free(eg__fiber *f)
{
#ifdef EG__TSAN
    __tsan_destroy_fiber(f->tsan);
#endif
    munmap(f->stack, STACK);
}

void eg__fiber_host(eg__fiber *f)
{
    *f = eg__fiber{};
#ifdef EG__TSAN
    f->tsan = __tsan_get_current_fiber();
#endif
}

void eg__fiber_switch(eg__fiber *from, eg__fiber *to)
{
    before_switch(from, to);
    swap(from, to);
    after_switch(from);
}
