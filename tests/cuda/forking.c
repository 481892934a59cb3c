/* forking.c - a module whose start forks, as a driver's does that loads its kernel module first; else it is none. */
#include <sys/wait.h>
#include <unistd.h>

__attribute__((constructor)) static void begin(void)
{
    pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    if (child > 0) {
        waitpid(child, NULL, 0);
    }
}
