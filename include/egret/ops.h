/* ops.h - the operations, one header per family.
 *
 * All of them: results are borrowed from the innermost scope; NULL in gives NULL out and leaves the
 * error record alone; other failures give NULL and words that name the op, the rule and the shapes.
 * Empty tensors are fine everywhere unless a line says otherwise. Gradients are those of the formula;
 * "saves" says what an open tape keeps for them. docs/ops.md lists dtypes, layouts and engines. */
#ifndef EGRET_OPS_H
#define EGRET_OPS_H

#include <egret/ops/attention.h>
#include <egret/ops/audio.h>
#include <egret/ops/boxes.h>
#include <egret/ops/conv.h>
#include <egret/ops/ctc.h>
#include <egret/ops/fft.h>
#include <egret/ops/index.h>
#include <egret/ops/join.h>
#include <egret/ops/linalg.h>
#include <egret/ops/linear.h>
#include <egret/ops/loss.h>
#include <egret/ops/norm.h>
#include <egret/ops/pointwise.h>
#include <egret/ops/pool.h>
#include <egret/ops/random.h>
#include <egret/ops/reduce.h>
#include <egret/ops/softmax.h>
#include <egret/ops/sort.h>
#include <egret/ops/resize.h>
#include <egret/ops/rnn.h>
#include <egret/ops/rotary.h>
#include <egret/ops/sample.h>
#include <egret/ops/views.h>

#endif
