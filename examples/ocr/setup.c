/* setup.c - see setup.h. */
#include "setup.h"

#include "sets.h"

static const char net_file[] = "net.json", letters_file[] = "letters.txt";

/* X(member), whole numbers of the sizes. */
#define NUMBERS(X) \
    X(side)        \
    X(views)       \
    X(classes)     \
    X(length)      \
    X(units)

eg_status setup_save(eg_run *run, const ocr_sizes *sizes, const charset *letters)
{
    eg_json *all = eg_json_object();
    eg_status st = all ? EG_OK : eg_last_error()->code;
#define SAVE(member) st = st ? st : eg_json_add_integer(all, #member, sizes->member);
    NUMBERS(SAVE)
    st = st ? st : eg_json_add_number(all, "width", sizes->width);
    st = st ? st : eg_json_add_number(all, "norm_decay", sizes->norm_decay);
    st = st ? st : eg_json_add_bool(all, "coordinates", sizes->coordinates);
    st = st ? st : eg_json_add_bool(all, "no_feedback", sizes->no_feedback);
    st = st ? st : eg_json_save(all, eg_run_path(run, net_file).text, .indent = 4);
    eg_json_free(all);
    return st ? st : charset_save(letters, eg_run_path(run, letters_file).text);
}

/* What pictures and texts have room for; the rest is refused where the net is made. */
static bool fits(const ocr_sizes *s, const charset *letters)
{
    return s->views > 0 && s->views <= VIEWS_MOST && s->length > 0 && s->length <= SETS_LONGEST && s->width > 0 &&
           s->norm_decay >= 0 && s->classes == letters->count;
}

eg_status setup_load(eg_run *run, ocr_sizes *sizes, charset *letters)
{
    eg_path path = eg_run_path(run, net_file);
    eg_json *all = eg_json_load(path.text);
    if (!all) {
        return eg_last_error()->code;
    }
    eg_status st = EG_OK;
#define LOAD(member) st = st ? st : eg_json_integer(eg_json_get(all, #member), &sizes->member);
    NUMBERS(LOAD)
    sizes->width = eg_json_number(eg_json_get(all, "width"));
    sizes->norm_decay = eg_json_number(eg_json_get(all, "norm_decay"));
    sizes->coordinates = eg_json_bool(eg_json_get(all, "coordinates"));
    sizes->no_feedback = eg_json_bool(eg_json_get(all, "no_feedback"));
    eg_json_free(all);
    const bool told = !st;
    st = charset_load(letters, eg_run_path(run, letters_file).text);
    return st || (told && fits(sizes, letters))
               ? st
               : eg_failf(EG_EFORMAT, "ocr", "%.200s does not tell what it should", path.text);
}
