/* dot.c - the record as a Graphviz digraph. */
#include "autograd/record.h"

static void print_node(FILE *out, const eg__entry *e)
{
    fprintf(out, "  n%llu [label=\"%s", (unsigned long long)e->out, e->op->name);
    for (int k = 0; k < e->nsave; k++) {
        const eg_tensor *t = e->save[k].t;
        fprintf(out, "%s%s %s", k ? ", " : "\\nsaves ", eg_dtype_name((eg_dtype)t->dtype), EG__SHAPE_OF(t));
    }
    fprintf(out, "\"];\n");
}

/* The node a slot belongs to: outputs of one entry share it. */
static uint64_t node_of(const eg__record *R, uint64_t slot)
{
    for (const eg__entry *e = R->head; e; e = e->next) {
        if (slot - e->out < e->nout) {
            return e->out;
        }
    }
    return 0;
}

eg_status eg_graph_dot(FILE *stream)
{
    const eg__record *R = eg__record_of(eg__thread_get());
    if (!stream) {
        return eg__null_argument("eg_graph_dot", "stream");
    }
    fprintf(stream, "digraph tape {\n  rankdir=BT;\n  node [shape=box, fontname=\"sans-serif\"];\n");
    for (const eg__entry *e = R ? R->head : NULL; e; e = e->next) {
        print_node(stream, e);
        for (int i = 0; i < e->nin; i++) {
            const eg__edge *in = &e->in[i];
            uint64_t from = in->slot ? node_of(R, in->slot) : 0;
            if (from) {
                fprintf(stream, "  n%llu -> n%llu;\n", (unsigned long long)from, (unsigned long long)e->out);
            } else if (in->slot) {
                fprintf(stream, "  n%llu [label=\"%s %s\", shape=ellipse];\n  n%llu -> n%llu;\n",
                        (unsigned long long)in->slot, eg_dtype_name((eg_dtype)in->dtype),
                        in->shape ? eg__shape_text(in->ndim, in->shape).s : "leaf", (unsigned long long)in->slot,
                        (unsigned long long)e->out);
            }
        }
    }
    fprintf(stream, "}\n");
    return ferror(stream) ? eg__fail(EG_EIO, "eg_graph_dot", "the stream does not take it") : EG_OK;
}
