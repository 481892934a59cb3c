/* dnn_files.h - plans of cuDNN in the folder that EGRET_PLAN_CACHE names. */
#ifndef EGRET_CUDA_DNN_FILES_H
#define EGRET_CUDA_DNN_FILES_H

#include "lib/cuda/dnn/dnn.h"

/* Which file is a plan's, and what it begins with: all that the plan depends on. */
typedef struct eg__dnn_file {
    char path[1024];
    char head[EG__DNN_KEY + 512];
    size_t bytes; /* of the head */
} eg__dnn_file;

/* False: plans are not to be kept in files. */
bool eg__dnn_file_of(eg__dnn_file *f, int ordinal, const eg__dnn_ask *a);
/* False if there is none, or none that can be used: one of another version or card, or a damaged
 * one. */
bool eg__dnn_file_read(const eg__dnn_file *f, cudnnHandle_t handle, eg__dnn_plan *plan);
/* As well as it goes: a plan that could not be written is made again next time. */
void eg__dnn_file_write(const eg__dnn_file *f, const eg__dnn_plan *plan);

#endif
