/* devices.c - the program egret-devices: what there is to compute with, and why something is not. */
#include <stdio.h>

#include <egret/egret.h>
#include <egret/run.h>

static double gib(int64_t bytes)
{
    return (double)bytes / (double)(1 << 30);
}

static void say_device(eg_device *d)
{
    eg_device_info info;
    const eg_memory memory = eg_device_memory(d);
    if (eg_device_describe(d, &info) != EG_OK) {
        eg_error_print(stdout);
        return;
    }
    printf("%-10s %s", eg_device_name(d), info.name);
    if (info.memory_bytes) {
        printf(", %d.%d, %d multiprocessors, %.1f of %.1f GiB free", info.major, info.minor, info.processors,
               gib(info.free_bytes), gib(info.memory_bytes));
    } else {
        printf(", %d processors for this process, %s", info.processors, eg_cpu_isa());
    }
    if (memory.limit_bytes) {
        printf(", at most %.2f GiB of it", gib(memory.limit_bytes));
    }
    if (info.driver) {
        printf(", driver %d.%d, runtime %d.%d", info.driver / 1000, info.driver % 1000 / 10, info.runtime / 1000,
               info.runtime % 1000 / 10);
    }
    printf("%s%s\n", *info.pci ? ", " : "", info.pci);
}

static void say_modules(void)
{
    static const struct {
        const char *name, *what;
    } modules[] = {{"cuda", "NVIDIA's cards"}, {"dnnl", "oneDNN on the CPU"}, {"mpi", "ranks in processes"}};
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        const bool there = eg_find_module(modules[i].name) == EG_OK;
        printf("%-10s %s: %s\n", modules[i].name, modules[i].what, there ? "there" : eg_last_error()->message);
        eg_clear_error();
    }
}

static void say_nccl(void)
{
    eg_comm *one = eg_comm_threads_new(1);
    const bool there = one && eg_comm_use_nccl(one, eg_cuda(0)) == EG_OK;
    printf("nccl       cards of several processes: %s\n", there ? "there" : eg_last_error()->message);
    eg_clear_error();
    eg_comm_free(one);
}

static void say_ranks(void)
{
    const eg_comm_launch l = eg_comm_launched();
    if (l.ranks > 1) {
        printf("ranks      this is %d of %d, on this machine %d of %d\n", l.rank, l.ranks, l.local_rank, l.local_ranks);
    }
}

int main(int argc, char **argv)
{
    int status = 0;
    const eg_flag none[1] = {{.name = NULL}};
    eg_flags line = {.program = "egret-devices",
                     .about =
                         "Lists the devices there are, their memory and what of it may be taken, the modules of the "
                         "library, and why something is missing.",
                     .table = none};
    if (!eg_flags_parse(&line, argc, argv, &status)) {
        return status;
    }
    printf("egret      %s\n", eg_version());
    say_device(eg_cpu());
    const int cards = eg_cuda_count();
    for (int i = 0; i < cards; i++) {
        eg_device *d = eg_cuda(i);
        if (d) {
            say_device(d);
        } else {
            status = eg_error_print(stdout);
        }
    }
    if (!cards && !eg_cuda(0)) {
        printf("cuda       %s\n", eg_last_error()->message);
        eg_clear_error();
    }
    say_modules();
    if (cards > 0) {
        say_nccl();
    }
    say_ranks();
    return status;
}
