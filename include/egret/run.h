/* run.h - what a training program needs: a library of its own, libegret-run. */
#ifndef EGRET_RUN_H
#define EGRET_RUN_H

#include <egret/draw.h>
#include <egret/saver.h>

#endif
