/* random.c - the gradient of dropout: the same elements dropped, from the same place of the stream. */
#include "autograd/rules/rules.h"

eg_status eg__grad_dropout(eg__walk *w)
{
    return eg__give(w, 0, eg__op1(&eg__op_dropout, eg__dy(w, 0), w->opts));
}
