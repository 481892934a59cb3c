/* load_report.c - what became of each tensor when a state was loaded, and that as a table. */
#include <stdlib.h>

#include "lib/core/counted.h"
#include "lib/core/live.h"
#include "nn/nn.h"

enum { FATES = EG_LOAD_NOT_READ + 1, SHOWN = 8, WIDEST = 60 };

static const char *const words[FATES] = {
    [EG_LOAD_LOADED] = "loaded",
    [EG_LOAD_CONVERTED] = "converted",
    [EG_LOAD_OTHER_SHAPE] = "of another shape",
    [EG_LOAD_OTHER_DTYPE] = "of another dtype",
    [EG_LOAD_MISSING] = "missing",
    [EG_LOAD_PASSED_OVER] = "passed over",
    [EG_LOAD_LEFT_OVER] = "left over",
    [EG_LOAD_NOT_READ] = "not read",
};

struct eg_load_report {
    eg_load_row *rows; /* texts of each in one block, that of the name */
    uint32_t count, room;
    int64_t of[FATES];
    bool done;
};

/* ---- making one ---------------------------------------------------------------------------- */

eg_load_report *eg__load_report_new(const char *op)
{
    eg_load_report *report = eg__handle_new(sizeof *report);
    if (!report) {
        eg__no_memory(op, sizeof *report);
    }
    return report;
}

eg_status eg__load_report_add(eg_load_report *report, const eg_load_row *row, const char *op)
{
    if (!report) {
        return EG_OK;
    }
    const size_t name = strlen(row->name) + 1, from = row->from ? strlen(row->from) + 1 : 0,
                 why = row->why ? strlen(row->why) + 1 : 0;
    bool room = report->count < report->room || eg__counted_grow(&report->rows, &report->room, sizeof *report->rows);
    char *text = room ? eg__counted_alloc(name + from + why) : NULL;
    if (!text) {
        return eg__no_memory(op, (int64_t)(name + from + why));
    }
    memcpy(text, row->name, name);
    if (from) {
        memcpy(text + name, row->from, from);
    }
    if (why) {
        memcpy(text + name + from, row->why, why);
    }
    eg_load_row *to = &report->rows[report->count++];
    *to = *row;
    to->name = text;
    to->from = from ? text + name : NULL;
    to->why = why ? text + name + from : NULL;
    report->of[row->fate]++;
    return EG_OK;
}

void eg__load_report_finish(eg_load_report *report)
{
    if (report) {
        report->done = true;
    }
}

void eg_load_report_free(eg_load_report *report)
{
    if (eg__handle_ends(report, "eg_load_report_free")) {
        for (uint32_t i = 0; i < report->count; i++) {
            eg__counted_free((char *)report->rows[i].name);
        }
        eg__counted_free(report->rows);
        free(report);
    }
}

/* ---- asking it ----------------------------------------------------------------------------- */

int64_t eg_load_report_count(const eg_load_report *report)
{
    return report ? report->count : 0;
}

eg_load_row eg_load_report_at(const eg_load_report *report, int64_t i)
{
    static const char op[] = "eg_load_report_at";
    if (!report || i < 0 || i >= report->count) {
        if (!report) {
            eg__null_argument(op, "report");
        } else {
            eg__fail(EG_EINDEX, op, "there are %u, so no %lld", report->count, (long long)i);
        }
        return (eg_load_row){.name = NULL};
    }
    return report->rows[i];
}

int64_t eg_load_report_of(const eg_load_report *report, eg_load_fate fate)
{
    return report && (unsigned)fate < FATES ? report->of[fate] : 0;
}

bool eg_load_report_done(const eg_load_report *report)
{
    return report && report->done;
}

/* ---- the table ----------------------------------------------------------------------------- */

typedef struct line {
    char s[2 * sizeof(eg__text) + 320];
} line;

/* What there is to say of a row beside its name. */
static line told(const eg_load_row *row)
{
    line l = {""};
    eg__text here = eg__shape_text(row->shape.ndim, row->shape.dim);
    eg__text there = eg__shape_text(row->from_shape.ndim, row->from_shape.dim);
    switch (row->fate) {
    case EG_LOAD_LOADED:
        if (strcmp(row->name, row->from) != 0) {
            snprintf(l.s, sizeof l.s, "from %s", row->from);
        }
        break;
    case EG_LOAD_CONVERTED:
    case EG_LOAD_OTHER_DTYPE:
        snprintf(l.s, sizeof l.s, "%s there, %s here", eg_dtype_name(row->from_dtype), eg_dtype_name(row->dtype));
        break;
    case EG_LOAD_OTHER_SHAPE:
        snprintf(l.s, sizeof l.s, "%s there, %s here", there.s, here.s);
        break;
    case EG_LOAD_MISSING:
        snprintf(l.s, sizeof l.s, "%s", here.s);
        break;
    case EG_LOAD_NOT_READ:
        snprintf(l.s, sizeof l.s, "%s", row->why);
        break;
    default:
        snprintf(l.s, sizeof l.s, "%s", there.s);
        break;
    }
    return l;
}

/* The rows of a fate, or the first of them. With out NULL only how wide their names are. */
static int print_fate(FILE *out, const eg_load_report *report, int fate, int width)
{
    int shown = 0, widest = 0;
    for (uint32_t i = 0; i < report->count && shown < SHOWN; i++) {
        const eg_load_row *row = &report->rows[i];
        if ((int)row->fate != fate) {
            continue;
        }
        int n = (int)eg__min((int64_t)strlen(row->name), WIDEST);
        widest = n > widest ? n : widest;
        shown++;
        if (out) {
            line l = told(row);
            fprintf(out, "  %-*s%s%s\n", l.s[0] ? width : 0, row->name, l.s[0] ? "  " : "", l.s);
        }
    }
    if (out && report->of[fate] > shown) {
        fprintf(out, "  and %lld more\n", (long long)(report->of[fate] - shown));
    }
    return widest;
}

eg_status eg_load_report_print(FILE *stream, const eg_load_report *report)
{
    static const char op[] = "eg_load_report_print";
    if (!stream || !report) {
        return eg__null_argument(op, stream ? "report" : "stream");
    }
    int width = 0;
    for (int fate = 0; fate < FATES; fate++) {
        int n = print_fate(NULL, report, fate, 0);
        width = n > width ? n : width;
    }
    if (!report->done) {
        fprintf(stream, "nothing was loaded\n");
    }
    for (int fate = 0; fate < FATES; fate++) {
        if (report->of[fate]) {
            fprintf(stream, "%-*s  %lld\n", width + 2, words[fate], (long long)report->of[fate]);
            print_fate(stream, report, fate, width);
        }
    }
    return ferror(stream) ? eg__fail(EG_EIO, op, "the stream refused the table") : EG_OK;
}
