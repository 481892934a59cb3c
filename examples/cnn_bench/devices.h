/* devices.h - several devices of one process: a thread each, all of which do the same. */
#ifndef EXAMPLES_CNN_BENCH_DEVICES_H
#define EXAMPLES_CNN_BENCH_DEVICES_H

#include <egret/comm.h>

/* Calls main_of once for each device that --num_gpus counts, in a thread of its own and with its end of what they speak
 * by; NULL: there is one. What the first returns, or the first of the others that is not 0. */
int on_devices(int argc, char **argv, int (*main_of)(int argc, char **argv, eg_comm *comm));

#endif
