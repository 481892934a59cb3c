/* capture.h - what a step does with a capture (lib/core/capture.h), and optimizers in one. */
#ifndef EGRET_STEP_CAPTURE_H
#define EGRET_STEP_CAPTURE_H

#include "lib/core/capture.h"

/* With a reference; false: no memory. */
bool eg__storages_add(eg__storages *l, eg__storage *s);
void eg__storages_drop(eg__storages *l);

/* Room for numbers that are others each time, and who writes them: *at gets a place to write those of this time to,
 * and *place where that is on the device, in c->memory. Where there is no room the capture ends, and *at is NULL. */
eg_status eg__capture_numbers(eg__capture *c, size_t bytes, const eg__moving *n, void **at, uint32_t *place);

/* ---- what a step does with it ------------------------------------------------------------------ */

/* All that the calling thread queues on its stream of d goes into the capture from now on, and memory for it comes
 * from a pool of its own, or the one of an earlier capture. After a failure it is to be freed. */
eg_status eg__capture_begin(eg__capture *c, eg_device *d, void *pool);
/* Makes a graph of it. A failure is in c->lost too: nothing has run, nor will. */
eg_status eg__capture_end(eg__capture *c);
/* Queues the graph, with the numbers that are there and random ones from here on. */
eg_status eg__capture_launch(eg__capture *c, eg_random_state from);
/* Asks for the numbers of the next time, then queues the graph. After a failure nothing has moved. */
eg_status eg__capture_again(eg__capture *c);
/* Takes back what the host counted for a capture that is lost. */
void eg__capture_undo(eg__capture *c);
/* Once it is complete. */
void eg__capture_tidy(eg__capture *c);
void eg__capture_free(eg__capture *c);

#endif
