/* edit.c - see edit.h. */
#define _DEFAULT_SOURCE
#include "edit.h"

#include <lauxlib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lua/shell/shell.h"

#ifdef EG_HAVE_LIBEDIT
#include <histedit.h>
#endif

struct editor {
    lua_State *L;
    char *line; /* read without editing, or the copy of an edited one */
    size_t room;
    char prompt[64];
#ifdef EG_HAVE_LIBEDIT
    EditLine *el; /* NULL: not a terminal */
    History *history;
    bool cleared;
#endif
};

#ifdef EG_HAVE_LIBEDIT
/* ---- completion ---------------------------------------------------------------------------- */

typedef struct completion {
    const char *text;
    size_t cursor, start;
} completion;

static int complete_protected(lua_State *L)
{
    completion *c = lua_touserdata(L, 1);
    shell_complete(L, c->text, c->cursor, &c->start);
    return 1;
}

/* How many bytes all names of the list on top of the stack have in common. */
static size_t shared_length(lua_State *L, int count)
{
    lua_rawgeti(L, -1, 1);
    const char *first = lua_tostring(L, -1);
    size_t shared = strlen(first);
    for (int i = 2; i <= count; i++) {
        lua_rawgeti(L, -2, i);
        const char *name = lua_tostring(L, -1);
        size_t same = 0;
        while (same < shared && name[same] == first[same]) {
            same++;
        }
        shared = same;
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return shared;
}

/* Lists names below the line, down columns as `ls` does. */
static void list_names(lua_State *L, int count)
{
    enum { LINES_MOST = 20 };
    struct winsize size;
    int columns = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80, widest = 1;
    for (int i = 1; i <= count; i++) {
        lua_rawgeti(L, -1, i);
        int length = (int)lua_rawlen(L, -1);
        widest = length > widest ? length : widest;
        lua_pop(L, 1);
    }
    int across = columns / (widest + 2) > 0 ? columns / (widest + 2) : 1, lines = (count + across - 1) / across;
    fputc('\n', stdout);
    for (int line = 0; line < lines && line < LINES_MOST; line++) {
        for (int i = line; i < count; i += lines) {
            lua_rawgeti(L, -1, i + 1);
            printf("%-*s", i + lines < count ? widest + 2 : 0, lua_tostring(L, -1));
            lua_pop(L, 1);
        }
        fputc('\n', stdout);
    }
    if (lines > LINES_MOST) {
        printf("... of %d names\n", count);
    }
    fflush(stdout);
}

static bool is_blank(const char *text, size_t length)
{
    return strspn(text, " \t") >= length;
}

/* The Tab key: adds what all names have in common, or shows them. */
static unsigned char complete(EditLine *el, int key)
{
    (void)key;
    editor *e;
    el_get(el, EL_CLIENTDATA, &e);
    const LineInfo *at = el_line(el);
    completion c = {.text = at->buffer, .cursor = (size_t)(at->cursor - at->buffer)};
    if (is_blank(c.text, c.cursor)) {
        return el_insertstr(el, "  ") == 0 ? CC_REFRESH : CC_ERROR;
    }
    lua_State *L = e->L;
    int top = lua_gettop(L);
    unsigned char result = CC_ERROR;
    lua_pushcfunction(L, complete_protected);
    lua_pushlightuserdata(L, &c);
    int count = lua_pcall(L, 1, 1, 0) == LUA_OK ? (int)lua_rawlen(L, -1) : 0;
    if (count > 0) {
        size_t typed = c.cursor - c.start, shared = shared_length(L, count);
        char more[256] = "";
        if (shared > typed && shared - typed < sizeof more) {
            lua_rawgeti(L, -1, 1);
            memcpy(more, lua_tostring(L, -1) + typed, shared - typed);
            result = el_insertstr(el, more) == 0 ? CC_REFRESH : CC_ERROR;
        } else if (count > 1) {
            list_names(L, count);
            result = CC_REDISPLAY;
        }
    }
    lua_settop(L, top);
    return result;
}

/* ---- the line editor ----------------------------------------------------------------------- */

static char *prompt(EditLine *el)
{
    editor *e;
    el_get(el, EL_CLIENTDATA, &e);
    return e->prompt;
}

/* While a line is edited, Ctrl-C and Ctrl-Z are keys and not signals. The first ends the line,
 * which is then thrown away; the second is what it always is. */
static unsigned char clear(EditLine *el, int key)
{
    (void)key;
    editor *e;
    el_get(el, EL_CLIENTDATA, &e);
    e->cleared = true;
    return CC_NEWLINE;
}

static unsigned char suspend(EditLine *el, int key)
{
    (void)el, (void)key;
    raise(SIGTSTP); /* the editor's own handler sees to the terminal */
    return CC_REFRESH;
}

static void bind_keys(EditLine *el)
{
    static const char *const keys[][2] = {
        {"^I", "egret-complete"},     {"^C", "egret-clear"},        {"^Z", "egret-suspend"},
        {"\\e[1;5C", "em-next-word"}, {"\\e[1;5D", "ed-prev-word"}, {"\\e[3~", "ed-delete-next-char"},
        {"\\e[H", "ed-move-to-beg"},  {"\\e[F", "ed-move-to-end"},  {"\\e[1~", "ed-move-to-beg"},
        {"\\e[4~", "ed-move-to-end"}, {"\\eOH", "ed-move-to-beg"},  {"\\eOF", "ed-move-to-end"},
        {"^R", "em-inc-search-prev"},
    };
    /* Wide, for el_set would never free its copies of the names. */
    el_wset(el, EL_ADDFN, L"egret-complete", L"completes a name", complete);
    el_wset(el, EL_ADDFN, L"egret-clear", L"throws the line away", clear);
    el_wset(el, EL_ADDFN, L"egret-suspend", L"stops the program for a while", suspend);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        el_set(el, EL_BIND, keys[i][0], keys[i][1], NULL);
    }
}

static bool start_editing(editor *e, const past *h)
{
    HistEvent event;
    e->history = history_init();
    e->el = e->history ? el_init("egret", stdin, stdout, stderr) : NULL;
    if (!e->el) {
        return false;
    }
    history(e->history, &event, H_SETSIZE, PAST_MOST);
    history(e->history, &event, H_SETUNIQUE, 1);
    for (size_t i = 0; i < h->count; i++) {
        history(e->history, &event, H_ENTER, h->line[i]);
    }
    el_set(e->el, EL_CLIENTDATA, e);
    el_set(e->el, EL_EDITOR, "emacs");
    el_set(e->el, EL_PROMPT_ESC, prompt, '\1');
    el_set(e->el, EL_HIST, history, e->history);
    el_set(e->el, EL_SIGNAL, 1);
    el_source(e->el, NULL); /* what the user wants of all such editors */
    bind_keys(e->el);
    el_set(e->el, EL_SETTY, "-d", "-isig", NULL);
    return true;
}

static edit_result read_edited(editor *e, const char **line)
{
    int length;
    e->cleared = false;
    const char *text = el_gets(e->el, &length);
    if (e->cleared) {
        fputc('\n', stdout);
        return EDIT_CLEARED;
    }
    if (!text || length <= 0) {
        return EDIT_END;
    }
    free(e->line); /* history and completion may reuse the editor's own */
    e->room = (size_t)length + 1;
    e->line = malloc(e->room);
    if (!e->line) {
        e->room = 0;
        return EDIT_END;
    }
    memcpy(e->line, text, e->room);
    e->line[strcspn(e->line, "\n")] = '\0';
    *line = e->line;
    return EDIT_LINE;
}
#endif

/* ---- all of it ----------------------------------------------------------------------------- */

editor *editor_new(lua_State *L, bool terminal, const past *h)
{
    editor *e = calloc(1, sizeof *e);
    if (e) {
        e->L = L;
    }
#ifdef EG_HAVE_LIBEDIT
    if (e && terminal && !start_editing(e, h)) {
        editor_free(e);
        return NULL;
    }
#else
    (void)terminal, (void)h;
#endif
    return e;
}

void editor_free(editor *e)
{
    if (!e) {
        return;
    }
#ifdef EG_HAVE_LIBEDIT
    if (e->el) {
        el_end(e->el);
    }
    if (e->history) {
        history_end(e->history);
    }
#endif
    free(e->line);
    free(e);
}

edit_result editor_read(editor *e, const char *text, bool colours, const char **line)
{
#ifdef EG_HAVE_LIBEDIT
    if (e->el) { /* \1 stands around what has no width, and must be followed by what has */
        snprintf(e->prompt, sizeof e->prompt, colours ? "\1\033[1;36m\1%s\1\033[0m\1 " : "%s ", text);
        return read_edited(e, line);
    }
#endif
    if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)) { /* a build without an editor */
        printf("%s ", text);
        fflush(stdout);
    }
    (void)colours;
    ssize_t n = getline(&e->line, &e->room, stdin);
    if (n <= 0) {
        return EDIT_END;
    }
    e->line[strcspn(e->line, "\n")] = '\0';
    *line = e->line;
    return EDIT_LINE;
}

void editor_remember(editor *e, const char *line)
{
#ifdef EG_HAVE_LIBEDIT
    HistEvent event;
    if (e->el) {
        history(e->history, &event, H_ENTER, line);
    }
#else
    (void)e, (void)line;
#endif
}
