/* fetch.c - see fetch.h. */
#include "fetch.h"

#include <stdio.h>
#include <string.h>

#include "../common/download.h"

static const char usual_url[] = "https://storage.googleapis.com/download.tensorflow.org/data/spa-eng.zip";
static const char usual_sum[] = "6ec60e212f812ee3430f7568ea6f33b6fb080e32193c5952e8da0ee8ba45574c";

int get_data(const char *verb, const char *folder, const char *url, const char *sha256, const char *program)
{
    /* Nobody has published a sum of the archive. */
    const download d = {.url = url ? url : usual_url,
                        .bytes = 2638744,
                        .name = "spa-eng.zip",
                        .unpack = "unpacked",
                        .member = "spa-eng/spa.txt",
                        .member_sha256 = sha256 ? sha256 : usual_sum};
    if (strcmp(verb, "get-data") != 0) {
        fprintf(stderr, "%s: '%s' is not get-data\n", program, verb);
        return 2;
    }
    folder = folder ? folder : "egret-data/spa-eng";
    if (download_get(&d, folder)) {
        return eg_error_print(stderr);
    }
    printf("%s has the sentences: %s --data %s\n", folder, program, folder);
    return 0;
}
