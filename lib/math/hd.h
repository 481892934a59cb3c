/* hd.h - functions that run on the host and on a CUDA device: the same text for every compiler, so that
 * what the CPU's tests check is what a GPU computes. */
#ifndef EGRET_HD_H
#define EGRET_HD_H

#ifdef __CUDACC__
#define EG__HD static inline __host__ __device__
#else
#define EG__HD static inline
#endif

#endif
