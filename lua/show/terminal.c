/* terminal.c - see terminal.h. */
#define _DEFAULT_SOURCE
#include "terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static const char *setting(const char *name)
{
    const char *value = getenv(name);
    return value ? value : "";
}

static bool is_one_of(const char *value, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strncmp(value, list[i], strlen(list[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* Programs that stand between and pass on no graphics, or say they do whatever is behind them. */
static bool is_multiplexed(void)
{
    return *setting("TMUX") || *setting("STY") || strncmp(setting("TERM"), "screen", 6) == 0 ||
           strncmp(setting("TERM"), "tmux", 4) == 0;
}

static bool speaks_kitty(void)
{
    static const char *const terms[] = {"xterm-kitty", "xterm-ghostty"}, *const programs[] = {"WezTerm", "ghostty"};
    return !is_multiplexed() && (*setting("KITTY_WINDOW_ID") || is_one_of(setting("TERM"), terms, 2) ||
                                 is_one_of(setting("TERM_PROGRAM"), programs, 2));
}

/* ---- asking the terminal ------------------------------------------------------------------- */

/* Whether an answer to "device attributes", ESC [ ? 62 ; 4 ; ... c, has the 4 of sixel graphics. */
static bool has_sixel(const char *answer)
{
    const char *at = strstr(answer, "\033[?");
    for (at = at ? at + 3 : NULL; at && *at;) {
        char *end;
        long value = strtol(at, &end, 10);
        if (end == at) {
            return false;
        }
        if (value == 4 && (*end == ';' || *end == 'c')) {
            return true;
        }
        at = *end == ';' ? end + 1 : NULL;
    }
    return false;
}

/* Reads until the answer is whole or nothing more comes. */
static void read_answer(int tty, char *answer, size_t size)
{
    enum { PATIENCE_MS = 200 };
    size_t length = 0;
    struct pollfd wait = {.fd = tty, .events = POLLIN};
    while (length + 1 < size && poll(&wait, 1, PATIENCE_MS) == 1 && read(tty, answer + length, 1) == 1) {
        if (answer[length++] == 'c') {
            break;
        }
    }
    answer[length] = '\0';
}

/* Asks, unless somebody types already, whose letters would be lost; -1: could not be asked now. */
static int ask(int tty)
{
    struct termios before, quiet;
    struct pollfd typed = {.fd = tty, .events = POLLIN};
    char answer[64] = "";
    if (tcgetpgrp(tty) != getpgrp() || tcgetattr(tty, &before) != 0 || poll(&typed, 1, 0) != 0) {
        return -1;
    }
    quiet = before;
    quiet.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    quiet.c_cc[VMIN] = 0;
    quiet.c_cc[VTIME] = 0;
    if (tcsetattr(tty, TCSADRAIN, &quiet) != 0) {
        return -1;
    }
    if (write(tty, "\033[c", 3) == 3) {
        read_answer(tty, answer, sizeof answer);
    }
    tcsetattr(tty, TCSADRAIN, &before);
    return has_sixel(answer);
}

static bool speaks_sixel(void)
{
    static const char *const terms[] = {"foot", "mlterm", "contour", "yaft"};
    static int answer = -1; /* the terminal stays the same */
    const char *term = setting("TERM");
    if (!sixel_known() || is_multiplexed() || !*term || strcmp(term, "dumb") == 0 || strcmp(term, "linux") == 0) {
        return false;
    }
    if (is_one_of(term, terms, sizeof terms / sizeof *terms)) {
        return true;
    }
    if (answer < 0) {
        int tty = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
        answer = tty >= 0 ? ask(tty) : -1;
        if (tty >= 0) {
            close(tty);
        }
    }
    return answer == 1;
}

/* ---- looking ------------------------------------------------------------------------------- */

static void find_size(terminal *t, FILE *out)
{
    struct winsize size = {0};
    t->columns = 80;
    t->rows = 24;
    t->cell_width = 8;
    t->cell_height = 16;
    if (ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
        t->columns = size.ws_col;
        t->rows = size.ws_row;
        t->cell_width = size.ws_xpixel >= size.ws_col ? size.ws_xpixel / size.ws_col : 8;
        t->cell_height = size.ws_ypixel >= size.ws_row ? size.ws_ypixel / size.ws_row : 16;
    }
}

static int count_colours(void)
{
    const char *term = setting("TERM"), *how = setting("COLORTERM");
    if (*setting("NO_COLOR") || !*term || strcmp(term, "dumb") == 0) {
        return 0;
    }
    bool all = strcmp(how, "truecolor") == 0 || strcmp(how, "24bit") == 0 || strstr(term, "direct") ||
               strcmp(term, "xterm-kitty") == 0;
    return all ? 1 << 24 : 256;
}

eg_status terminal_look(terminal *t, FILE *out)
{
    static const char *const names[] = {"none", "blocks", "sixel", "kitty"}; /* in the order of terminal_way */
    const char *wish = setting("EGRET_SHOW");
    *t = (terminal){.way = TERMINAL_WORDS};
    find_size(t, out);
    t->colours = isatty(fileno(out)) || strcmp(wish, "blocks") == 0 ? count_colours() : 0;
    if (!*wish) {
        if (isatty(fileno(out))) {
            t->way = speaks_kitty() ? TERMINAL_KITTY : speaks_sixel() ? TERMINAL_SIXEL : TERMINAL_BLOCKS;
        }
        return EG_OK;
    }
    if (strncmp(wish, "png:", 4) == 0 && wish[4]) {
        t->way = TERMINAL_FILE;
        t->path = wish + 4;
        return EG_OK;
    }
    for (int i = 0; i < 4; i++) {
        if (strcmp(wish, names[i]) == 0) {
            t->way = (terminal_way)i;
            return EG_OK;
        }
    }
    return eg_failf(EG_EINVAL, "show", "EGRET_SHOW is \"%s\": it must be kitty, sixel, blocks, none or png:FILE", wish);
}
