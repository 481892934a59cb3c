/* dnn_api.h - cuDNN's functions, as the files about it call them. */
#ifndef EGRET_CUDA_DNN_API_H
#define EGRET_CUDA_DNN_API_H

#include "lib/cuda/dnn/dnn.h"
#include "lib/core/library.h"

#define EG__DNN_FUNCTIONS(X)         \
    X(cudnnBackendCreateDescriptor)  \
    X(cudnnBackendDestroyDescriptor) \
    X(cudnnBackendExecute)           \
    X(cudnnBackendFinalize)          \
    X(cudnnBackendGetAttribute)      \
    X(cudnnBackendSetAttribute)      \
    X(cudnnCreate)                   \
    X(cudnnDestroy)                  \
    X(cudnnGetErrorString)           \
    X(cudnnGetLastErrorString)       \
    X(cudnnGetVersion)               \
    X(cudnnSetStream)

struct eg__dnn_api {
    EG__DNN_FUNCTIONS(EG__LIBRARY_MEMBER)
};
extern struct eg__dnn_api eg__cudnn; /* after eg__dnn_open */

/* What cuDNN said, as an error of the call. */
eg_status eg__dnn_failed(const char *op, cudnnStatus_t e, const char *what);
/* And as the graph's. */
void eg__dnn_note(eg__graph *g, cudnnStatus_t e, const char *what);

#endif
