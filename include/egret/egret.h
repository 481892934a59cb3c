/* egret.h - all of Egret. Each header below also stands alone. */
#ifndef EGRET_EGRET_H
#define EGRET_EGRET_H

#include <egret/base.h>
#include <egret/comm.h>
#include <egret/data.h>
#include <egret/debug.h>
#include <egret/detection.h>
#include <egret/device.h>
#include <egret/error.h>
#include <egret/events.h>
#include <egret/io.h>
#include <egret/json.h>
#include <egret/metrics.h>
#include <egret/nn.h>
#include <egret/ops.h>
#include <egret/optim.h>
#include <egret/parallel.h>
#include <egret/precision.h>
#include <egret/profile.h>
#include <egret/pruning.h>
#include <egret/saver.h>
#include <egret/schedule.h>
#include <egret/step.h>
#include <egret/tape.h>
#include <egret/tensor.h>

#endif
