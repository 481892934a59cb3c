/* signals.h - signals that wait for a product. For as long as oneDNN's older products ("gemm:jit") compute, the stack
 * pointer is theirs: it holds the address of a buffer in the heap, and a signal's handler would write its frame below
 * that, over whatever lies there. (src/cpu/x64/gemm/f32 of oneDNN 2 and 3, jit_avx512_common_gemm_f32.cpp and
 * jit_avx_gemm_f32.cpp: "mov(rsp, ARG_WS)") */
#ifndef EGRET_DNNL_SIGNALS_H
#define EGRET_DNNL_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

/* Products whose sums have at most so many terms keep their buffer on the stack. */
enum { EG__MOST_ON_STACK = 84 };

/* Lets this thread's signals wait, also those that are glibc's own; gives those that waited already. */
uint64_t eg__signals_hold(void);
void eg__signals_release(uint64_t before);
/* Whether this thread's do. */
bool eg__signals_held(void);

#endif
