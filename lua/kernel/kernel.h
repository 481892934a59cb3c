/* kernel.h - the notebook kernel: Lua cells, run for a Jupyter frontend (messaging protocol 5.3).
 *
 * Two threads. The main one has the Lua state and serves requests one after the other (session.h);
 * the other, the wire (wire.h), has every socket and the pipes in which stdout and stderr end.
 * Between them are queues, so heartbeats, interrupts and shutdown are answered while Lua runs. */
#ifndef EGRET_LUA_KERNEL_KERNEL_H
#define EGRET_LUA_KERNEL_KERNEL_H

/* What `egret kernel` does: runs the kernel of a connection file, or installs its description.
 * argv[0] is "kernel"; the result is main's. */
int egret_kernel(int argc, char **argv);

#endif
