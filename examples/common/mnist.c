/* mnist.c - see mnist.h. */
#include "mnist.h"

#include <stdio.h>

#include "download.h"

eg_status mnist_get(const char *folder, const char *from)
{
    static const struct {
        const char *name, *sha256;
    } files[] = {
        {"train-images-idx3-ubyte.gz", "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"},
        {"train-labels-idx1-ubyte.gz", "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"},
        {"t10k-images-idx3-ubyte.gz", "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"},
        {"t10k-labels-idx1-ubyte.gz", "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"},
    };
    char url[1024];
    const char *base = from ? from : "https://storage.googleapis.com/cvdf-datasets/mnist";
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (snprintf(url, sizeof url, "%s/%s", base, files[i].name) >= (int)sizeof url) {
            return eg_failf(EG_EINVAL, "mnist_get", "the address %.60s... is too long", base);
        }
        eg_status st = download_get(&(download){.url = url, .sha256 = files[i].sha256}, folder);
        if (st) {
            return st;
        }
    }
    return EG_OK;
}
