/* signals.h - for programs: Ctrl-C waits for a good place to stop.
 *
 *     signals_hold();
 *     while (there is work) {
 *         a step of it
 *         if ((number = signals_take()) != 0) {
 *             leave everything in order and end with 128 + number
 *         }
 *     }
 *     signals_release();
 *
 * The first library leaves signals alone. They are the process's: of several threads one holds them at a time, and only
 * that one takes and releases. */
#ifndef EGRET_RUN_SIGNALS_H
#define EGRET_RUN_SIGNALS_H

#include <stdbool.h>

/* From now on the first SIGINT or SIGTERM is noted and does nothing else; with it both are again what they were before,
 * so that a second one ends the program. One that was ignored stays so. False, and nothing, while they are held
 * already, by whichever thread. */
bool signals_hold(void);

/* The signal that was noted since, once; 0: none. */
int signals_take(void);

/* Signals are what they were before. One that was noted and not taken is raised again: it came too late to be. Nothing
 * where they are not held. */
void signals_release(void);

#endif
