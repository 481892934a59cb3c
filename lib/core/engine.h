/* engine.h - choosing kernels, threads and debug words; used by the thread file and dispatch. */
#ifndef EGRET_ENGINE_H
#define EGRET_ENGINE_H

#include "lib/core/op.h"

/* Reads EG_DEBUG into the new thread's mode. */
void eg__debug_from_environment(void);
/* Sets or clears bits of the mode of all threads, those to come included. */
void eg__threads_mode(uint32_t bits, bool set);

void eg__headers_thread_end(eg__thread *T);
void eg__headers_end(void);

#endif
