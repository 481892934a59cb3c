/* forward.h - in a module: the library's functions under their own names, of which `host`, a table that it was given,
 * has the addresses. For lists of X(result, name, parameters, arguments). */
#ifndef EGRET_CORE_FORWARD_H
#define EGRET_CORE_FORWARD_H

#define EG__FORWARD(result, name, parameters, arguments) \
    result name parameters                               \
    {                                                    \
        return host->name arguments;                     \
    }
#define EG__FORWARD_VOID(result, name, parameters, arguments) \
    result name parameters                                    \
    {                                                         \
        host->name arguments;                                 \
    }

#endif
