/* cudnn.h - between the descriptors of the fake cuDNN and what runs them. */
#ifndef EGRET_EMULATOR_CUDNN_H
#define EGRET_EMULATOR_CUDNN_H

#include "tools/emulator/runtime.h"

#pragma GCC visibility push(default)
#include <cudnn_graph.h>
#pragma GCC visibility pop

/* What a handle is. */
struct cudnnContext {
    int device;
    cudaStream_t stream;
};

/* What a descriptor stands for: values by attribute, and other parts. */
struct eg__part;
typedef std::shared_ptr<const eg__part> eg__part_ref;

struct eg__part {
    struct value {
        int type;
        int64_t n;
        std::string bytes; /* not of parts */
        std::vector<eg__part_ref> parts;
    };
    int type;
    bool done;
    std::map<int, value> values;

    bool has(int name) const
    {
        return values.count(name) != 0;
    }
    /* Of an attribute that is there. */
    const eg__part &at(int name) const
    {
        return *values.at(name).parts[0];
    }
    template <class T> T get(int name, int64_t i = 0) const
    {
        T v;
        memcpy(&v, values.at(name).bytes.data() + size_t(i) * sizeof v, sizeof v);
        return v;
    }
    int64_t length(int name) const
    {
        return has(name) ? values.at(name).n : 0;
    }
    std::vector<int64_t> numbers(int name) const
    {
        std::vector<int64_t> all;
        for (int64_t i = 0; i < length(name); i++) {
            all.push_back(get<int64_t>(name, i));
        }
        return all;
    }
};

std::shared_ptr<eg__part> eg__part_new(int type); /* finished */
size_t eg__attribute_size(cudnnBackendAttributeType_t type);
/* A part with all it is made of as text; and of a text, of which *at is moved behind it: null if it
 * is not one. */
void eg__part_write(const eg__part &p, std::string &to);
std::shared_ptr<eg__part> eg__part_read(const char **at);

/* Why an operation's parts do not fit together; empty: they do. */
std::string eg__graph_refuses(const eg__part &op);
/* Tensors an operation reads and the one it writes. */
std::vector<eg__part_ref> eg__graph_reads(const eg__part &op);
eg__part_ref eg__graph_writes(const eg__part &op);
int64_t eg__graph_size_of(int type); /* of cudnnDataType_t, in bytes */

/* Runs a graph: `at` has the memory of tensors by id. f32 is rounded to TF32 where products read it
 * if `narrow`. */
void eg__graph_run(const eg__part &graph, const std::map<int64_t, char *> &at, bool narrow);

#endif
