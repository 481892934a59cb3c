/* cards.h - cards as cuDNN describes them, from what is published about them: its plans are built
 * for them without one. */
#ifndef EGRET_TESTS_CUDA_CARDS_H
#define EGRET_TESTS_CUDA_CARDS_H

#define CARD(name, version, processors, shared, clock, memory_clock, cache, memory)                                  \
    "{\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64],"                                     \
    "\"regsPerBlock\":65536,\"multiProcessorCount\":" #processors                                                    \
    ",\"warpSize\":32,\"maxSharedMemoryPerBlock\":49152,\"maxSharedMemoryPerBlockOptin\":" #shared                   \
    ",\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":65536,\"maxCtasPerSM\":32,"                        \
    "\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":2048,\"pciDeviceId\":0,\"isTccDriver\":0,"                      \
    "\"supportCoopLaunch\":1,\"smClockRateKHz\":" #clock ",\"memClockRateKHz\":" #memory_clock                       \
    ",\"l2CacheSize\":" #cache ",\"deviceName\":\"" name "\",\"totalGlobalMem\":" #memory ",\"deviceVer\":" #version \
    ",\"driverVer\":13000,\"cudaDeviceId\":0}"

static const struct card {
    const char *name, *json;
} cards[] = {
    {"sm_80", CARD("NVIDIA A100-SXM4-80GB", 800, 108, 166912, 1410000, 1593000, 41943040, 85095874560)},
    {"sm_90", CARD("NVIDIA H200", 900, 132, 232448, 1980000, 3201000, 62914560, 150754820096)},
    {"sm_100", CARD("NVIDIA B200", 1000, 148, 232448, 1965000, 3996000, 132644864, 191512969216)},
};

#endif
