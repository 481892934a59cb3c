/* progress.c - see egret/run/progress.h. */
#define _POSIX_C_SOURCE 200809L
#include <egret/run/progress.h>

#include "lib/core/environment.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { TEXT_SIZE = 256, LINE_SIZE = 1024, BAR_LEAST = 6, BAR_MOST = 32 };

static const double repaint_after = 0.08, line_after = 20; /* seconds */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const char *setting(const char *name)
{
    const char *value = eg__getenv(name);
    return value ? value : "";
}

static bool speaks_utf8(void)
{
    const char *locale = setting("LC_ALL");
    locale = *locale ? locale : setting("LC_CTYPE");
    locale = *locale ? locale : setting("LANG");
    return strstr(locale, "UTF-8") || strstr(locale, "utf8") || strstr(locale, "utf-8");
}

static int terminal_width(FILE *to)
{
    struct winsize size;
    if (ioctl(fileno(to), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        return size.ws_col;
    }
    return 80;
}

void eg_progress_start(eg_progress *p, FILE *to, const char *label, int64_t total, const char *unit)
{
    const char *terminal = setting("TERM");
    *p = (eg_progress){.to = to, .label = label, .unit = unit, .total = total, .started = now()};
    p->visible = isatty(fileno(to)) && *terminal && strcmp(terminal, "dumb") != 0;
    p->painted = p->visible ? 0 : p->started;
    p->colour = !*setting("NO_COLOR");
    p->unicode = speaks_utf8();
}

double eg_progress_seconds(const eg_progress *p)
{
    return now() - p->started;
}

void eg_progress_update(eg_progress *p, int64_t done, const char *format, ...)
{
    double time = now();
    if (p->painted > 0 && time - p->painted < (p->visible ? repaint_after : line_after)) {
        return;
    }
    char text[TEXT_SIZE], line[LINE_SIZE];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    /* One column stays free: a full line would wrap on some terminals. A log has no bar. */
    eg_progress_line(p, done, text, time - p->started, p->visible ? terminal_width(p->to) - 1 : 0, line, sizeof line);
    fprintf(p->to, p->visible ? "\r%s\033[K" : "%s\n", line);
    fflush(p->to);
    p->painted = time;
}

void eg_progress_clear(eg_progress *p)
{
    if (p->visible && p->painted > 0) {
        fputs("\r\033[K", p->to);
        fflush(p->to);
        p->painted = 0;
    }
}

/* ---- what it looks like ---- */

/* Three figures and a prefix: 0.52, 45.6, 1.23k, 345k. */
static void format_rate(double rate, char *text, size_t size)
{
    const char *prefix = "";
    if (rate >= 999.5e3) {
        rate /= 1e6;
        prefix = "M";
    } else if (rate >= 999.5) {
        rate /= 1e3;
        prefix = "k";
    }
    int decimals = rate >= 99.95 ? 0 : rate >= 9.995 ? 1 : 2;
    snprintf(text, size, "%.*f%s", decimals, rate, prefix);
}

static void format_time(double seconds, char *text, size_t size)
{
    long long s = seconds < 1e9 ? (long long)(seconds + 0.5) : 1000000000;
    if (s >= 3600) {
        snprintf(text, size, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
    } else {
        snprintf(text, size, "%lld:%02lld", s / 60, s % 60);
    }
}

/* "512/938  loss 0.1234  1.23k images/s  0:12 left" */
static void format_facts(const eg_progress *p, int64_t done, const char *text, double seconds, char *facts, size_t size)
{
    char rate[32] = "-", left[32] = "", total[32] = "";
    const double timed = (double)(done - p->before);
    if (seconds > 0 && timed > 0) {
        format_rate(timed / seconds, rate, sizeof rate);
    }
    if (p->total > 0) {
        snprintf(total, sizeof total, "/%lld", (long long)p->total);
    }
    if (p->total > 0 && timed > 0) {
        format_time(seconds / timed * (double)(p->total - done), left, sizeof left);
    }
    snprintf(facts, size, "%lld%s%s%s  %s %s/s%s%s%s", (long long)done, total, *text ? "  " : "", text, rate, p->unit,
             *left ? "  " : "", left, *left ? " left" : "");
}

/* Columns that UTF-8 takes, one for each character. */
static int columns(const char *text)
{
    int count = 0;
    for (; *text; text++) {
        count += (*text & 0xc0) != 0x80;
    }
    return count;
}

/* Ends the text before column `most`. */
static void cut(char *text, int most)
{
    for (int count = 0; *text; text++) {
        count += (*text & 0xc0) != 0x80;
        if (count > most) {
            *text = '\0';
            return;
        }
    }
}

/* `length` columns of bar, of which the share done is full. */
static void format_bar(const eg_progress *p, int64_t done, int length, char *bar, size_t size)
{
    const char *full = p->unicode ? "━" : "#", *rest = p->unicode ? "─" : ".";
    double share = (double)done / (double)p->total;
    int filled = (int)(share * length + 0.5);
    size_t used = (size_t)snprintf(bar, size, "%s", p->colour ? "\033[36m" : "");
    for (int i = 0; i < length; i++) {
        if (i == filled && p->colour) {
            used += (size_t)snprintf(bar + used, size - used, "\033[0;2m");
        }
        used += (size_t)snprintf(bar + used, size - used, "%s", i < filled ? full : rest);
    }
    snprintf(bar + used, size - used, "%s", p->colour ? "\033[0m" : "");
}

void eg_progress_line(const eg_progress *p, int64_t done, const char *text, double seconds, int width, char *line,
                      size_t size)
{
    char facts[TEXT_SIZE + 128], bar[3 * BAR_MOST + 32];
    done = done < 0 ? 0 : p->total > 0 && done > p->total ? p->total : done;
    format_facts(p, done, text, seconds, facts, sizeof facts);
    int room = width - columns(p->label) - columns(facts) - 4;
    if (p->total > 0 && room >= BAR_LEAST) {
        format_bar(p, done, room < BAR_MOST ? room : BAR_MOST, bar, sizeof bar);
        snprintf(line, size, "%s  %s  %s", p->label, bar, facts);
    } else {
        snprintf(line, size, "%s  %s", p->label, facts);
        cut(line, width > 0 ? width : LINE_SIZE);
    }
}
