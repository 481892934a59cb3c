/* appender.h - a file that only grows, record by record. */
#ifndef EGRET_APPENDER_H
#define EGRET_APPENDER_H

#include "lib/ops/dispatch.h"

typedef struct eg__appender {
    char *path;
    int fd;
} eg__appender;

/* Takes the path over, also if it fails; flags as for open(2), such as O_EXCL or O_TRUNC. */
eg_status eg__appender_open(eg__appender *a, const char *op, char *path, int flags);
void eg__appender_close(eg__appender *a);
/* All of it by one write if the system lets it; if there is no room for all, none of it. */
eg_status eg__appender_write(eg__appender *a, const char *op, const void *data, size_t bytes);
eg_status eg__appender_flush(eg__appender *a, const char *op);

#endif
