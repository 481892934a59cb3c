/* module.c - finds and opens modules. */
#define _GNU_SOURCE
#include "lib/core/module.h"

#include <egret/device.h>

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "lib/core/environment.h"
#include "lib/core/error.h"
#include "lib/core/library.h"

#ifdef __has_feature
#define HAS_FEATURE __has_feature
#else
#define HAS_FEATURE(x) 0
#endif
/* The sanitizers' functions must stay in front. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || HAS_FEATURE(address_sanitizer) || \
    HAS_FEATURE(thread_sanitizer) || !defined(RTLD_DEEPBIND)
enum { FIRST = 0 };
#else
enum { FIRST = RTLD_DEEPBIND };
#endif

#define TEXT(x)  TEXT_(x)
#define TEXT_(x) #x

/* The file that EGRET_NAME_MODULE gives, NULL if it gives none. */
static const char *given_file(const char *name)
{
    char variable[64];
    snprintf(variable, sizeof variable, "EGRET_%s_MODULE", name);
    for (char *c = variable; *c; c++) {
        *c = *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
    }
    const char *file = eg__getenv(variable);
    return file && *file ? file : NULL;
}

void *eg__module_open(const char *name, bool first, char *why, size_t size)
{
    static const char here;
    char path[4096], *file = path;
    const char *slash = NULL, *given = given_file(name);
    Dl_info self;
    int folder = 0;
    if (dladdr(&here, &self) && self.dli_fname && (slash = strrchr(self.dli_fname, '/'))) {
        folder = (int)(slash + 1 - self.dli_fname);
    }
    int n = snprintf(path, sizeof path, "%.*slibegret-%s.so." TEXT(EG_VERSION_MAJOR), folder,
                     slash ? self.dli_fname : "", name);
    if (n >= (int)sizeof path) {
        snprintf(why, size, "its path is too long");
        return NULL;
    }
    file += slash && !access(path, R_OK) ? 0 : folder;
    void *module = eg__shared_open(given ? given : file, RTLD_LOCAL | (first ? FIRST : 0));
    if (!module) {
        snprintf(why, size, "%s", eg__shared_error());
    }
    return module;
}

eg_status eg_find_module(const char *name)
{
    static const char op[] = "eg_find_module";
    char why[400];
    const size_t n = name ? strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") : 0;
    if (!n || name[n] || n > 32) {
        return name ? eg__fail(EG_EINVAL, op, "no module has the name \"%.40s\"", name) : eg__null_argument(op, "name");
    }
    return eg__module_open(name, !strcmp(name, "dnnl"), why, sizeof why) ? EG_OK
                                                                         : eg__fail(EG_ENODEVICE, op, "%s", why);
}
