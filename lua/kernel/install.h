/* install.h - the kernel told to Jupyter. */
#ifndef EGRET_LUA_KERNEL_INSTALL_H
#define EGRET_LUA_KERNEL_INSTALL_H

/* Writes the description by which frontends find and start this program below `data`, a folder of
 * Jupyter's. main's result. */
int kernel_install(const char *data);

#endif
