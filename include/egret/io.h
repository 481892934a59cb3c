/* io.h - tensors in files. */
#ifndef EGRET_IO_H
#define EGRET_IO_H

#include <egret/base.h>
#include <egret/tensor.h>

EG_BEGIN_DECLS

EG_END_DECLS

#endif
