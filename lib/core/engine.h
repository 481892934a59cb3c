/* engine.h - choosing kernels, threads and debug words; used by the thread file and dispatch. */
#ifndef EGRET_ENGINE_H
#define EGRET_ENGINE_H

#include "lib/core/op.h"

/* The table of the best instruction set this processor and build have, or the one eg_debug_isa chose. */
eg__kernel *const *eg__cpu_best(void);
/* Reads EG_DEBUG into the new thread's mode. */
void eg__debug_from_environment(void);
/* Looks at a finished call for the debug words; may fail. */
eg_status eg__debug_call(const eg__call *c, double seconds);
/* Sets or clears bits of the mode of all threads, those to come included. */
void eg__threads_mode(uint32_t bits, bool set);
/* Multiply-adds of a finished call; 0 for ops that are no products. */
int64_t eg__macs(const eg__call *c);

void eg__headers_thread_end(eg__thread *T);
void eg__headers_end(void);
/* Forgets the plans of Fourier transforms. */
void eg__fft_end(void);

#endif
