/* fault.h - what kernels tell the host: an index out of range, found while they run. Plain C and CUDA. */
#ifndef EGRET_CUDA_FAULT_H
#define EGRET_CUDA_FAULT_H

/* In pinned memory the device writes to; the first finder's words stay until the host has read them. */
typedef struct eg__fault {
    unsigned int taken;
    int op; /* id */
    long long value, low, high; /* value was not in low..high-1 */
} eg__fault;

#endif
