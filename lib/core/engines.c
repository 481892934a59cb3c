/* engines.c - modules that drive devices, loaded when one is first asked for. */
#include "lib/core/engines.h"

#include <dlfcn.h>

#include "lib/core/module.h"

enum { MOST_ENGINES = 8 };

static struct row {
    char name[EG__ENGINE_NAME];
    const eg__engine *engine;
    char why[256]; /* that there is none */
} rows[MOST_ENGINES];

static struct {
    const struct row *row;
    double seconds;
} loaded; /* still to be told */

size_t eg__engine_name(const char *name)
{
    const size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return n < EG__ENGINE_NAME ? n : 0;
}

static void load(struct row *r)
{
    char why[200];
    const double start_of = eg__seconds();
    void *module = eg__module_open(r->name, false, why, sizeof why);
    loaded.row = r;
    loaded.seconds = eg__seconds() - start_of;
    if (!module) {
        snprintf(r->why, sizeof r->why, "libegret-%s cannot be loaded: %s", r->name, why);
        return;
    }
    eg__module_fn *start;
    void *symbol = dlsym(module, "eg__module");
    memcpy(&start, &symbol, sizeof start);
    const eg__engine *e = start ? start(&eg__host_table) : NULL;
    if (!e || e->abi != EG__MODULE_ABI || e->ops != eg__host_table.nops || e->tensor_size != sizeof(eg_tensor) ||
        e->call_size != sizeof(eg__call)) {
        snprintf(r->why, sizeof r->why,
                 start ? "libegret-%s is of another build of Egret" : "libegret-%s drives no devices", r->name);
        dlclose(module);
        return;
    }
    r->engine = e; /* it stays loaded: a driver's threads run in it */
}

/* That of the name, else one for it: a free one, or one whose name had no engine. */
static struct row *row_of(const char *name)
{
    struct row *other = NULL;
    for (int i = 0; i < MOST_ENGINES; i++) {
        struct row *r = &rows[i];
        if (!strcmp(r->name, name)) {
            return r;
        }
        if (!other || (other->name[0] && !r->name[0]) || (other->engine && !r->engine)) {
            other = r;
        }
    }
    return other->engine ? NULL : other;
}

const eg__engine *eg__engine_named(const char *name, const char **why)
{
    struct row *r = row_of(name);
    if (!r) {
        static char full[80];
        snprintf(full, sizeof full, "there are %d kinds of devices already, no more are possible", MOST_ENGINES);
        *why = full;
        return NULL;
    }
    if (strcmp(r->name, name)) {
        *r = (struct row){.name = ""};
        snprintf(r->name, sizeof r->name, "%s", name);
        load(r);
    }
    *why = r->why;
    return r->engine;
}

double eg__engine_loading(char name[EG__ENGINE_NAME])
{
    const double seconds = loaded.seconds;
    if (seconds > 0) {
        memcpy(name, loaded.row->name, EG__ENGINE_NAME);
    }
    loaded.seconds = 0;
    return seconds;
}

void eg__engines_fork(void)
{
    for (int i = 0; i < MOST_ENGINES; i++) {
        if (rows[i].engine) {
            rows[i].engine = eg__lost_engine();
        }
    }
}
