/* test_kernel_parts.c - texts and messages of the notebook kernel, where memory runs out too. */
#include <stdlib.h>

#include "lua/kernel/message.h"
#include "lua/kernel/text.h"
#include "lua/shell/letters.h"
#include "tests/egt.h"

static bool becomes(const char *bytes, size_t n, const char *text)
{
    json_t *json = text_json(bytes, n);
    bool same = json_string_length(json) == strlen(text) && memcmp(json_string_value(json), text, strlen(text)) == 0;
    json_decref(json);
    return same;
}

EGT(bytes_that_are_no_text)
{
    EGT_CHECK(becomes("", 0, ""));
    EGT_CHECK(becomes("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\xa6", 10, "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\xa6"));
    EGT_CHECK(becomes("\xff"
                      "a",
                      2,
                      "\xef\xbf\xbd"
                      "a"));
    EGT_CHECK(becomes("\xc0\xaf", 2, "\xef\xbf\xbd\xef\xbf\xbd"));                 /* overlong */
    EGT_CHECK(becomes("\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd")); /* a surrogate */
    EGT_CHECK(becomes("\xe2\x82", 2, "\xef\xbf\xbd\xef\xbf\xbd"));                 /* cut */
    json_t *json = text_json("a\0b", 3);
    EGT_EQ(json_string_length(json), 3);
    json_decref(json);
}

EGT(characters_that_are_cut)
{
    EGT_EQ(text_unfinished("abc", 3), 0);
    EGT_EQ(text_unfinished("a\xe2", 2), 1);
    EGT_EQ(text_unfinished("a\xe2\x82", 3), 2);
    EGT_EQ(text_unfinished("a\xe2\x82\xac", 4), 0);
    EGT_EQ(text_unfinished("\xf0\x9f\x90", 3), 3);
    EGT_EQ(text_unfinished("\x80\x80\x80\x80", 4), 0);
    EGT_EQ(text_unfinished("", 0), 0);
}

EGT(positions)
{
    static const char text[] = "\xc3\xa9"
                               "a\xf0\x9f\x90\xa6"
                               "b";
    static const size_t at[] = {0, 2, 3, 7, 8, 8};
    for (int i = 0; i < 6; i++) {
        EGT_EQ(text_offset(text, 8, i), at[i]);
        EGT_EQ(shell_count(text, at[i]), i < 5 ? i : 4);
    }
    EGT_EQ(text_offset(text, 8, -3), 0);
    EGT_EQ(text_offset(text, 0, 3), 0);
}

EGT(base64)
{
    static const char *const pairs[][2] = {{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}};
    for (int i = 0; i < 4; i++) {
        char *text = text_base64(pairs[i][0], strlen(pairs[i][0]));
        bool same = strcmp(text, pairs[i][1]) == 0;
        free(text);
        EGT_CHECK(same);
    }
}

/* ---- messages ---- */

typedef struct line {
    void *context, *from, *to;
    signer *ours, *theirs;
} line;

static line line_new(const char *key, const char *other_key)
{
    line l = {.context = zmq_ctx_new(), .ours = signer_new(key), .theirs = signer_new(other_key)};
    l.from = zmq_socket(l.context, ZMQ_PAIR);
    l.to = zmq_socket(l.context, ZMQ_PAIR);
    zmq_bind(l.from, "inproc://line");
    zmq_connect(l.to, "inproc://line");
    return l;
}

static void line_free(line *l)
{
    zmq_close(l->from);
    zmq_close(l->to);
    zmq_ctx_term(l->context);
    signer_free(l->ours);
    signer_free(l->theirs);
}

/* What arrives of a message with this content. */
static message *sent(line *l, json_t *content)
{
    bool more;
    message *m = message_new(SHELL, "execute_request", NULL, content);
    if (m) {
        message_send(l->from, m, l->ours);
    }
    message_free(m);
    return message_receive(l->to, SHELL, l->theirs, &more);
}

EGT(messages_arrive_as_they_were)
{
    line l = line_new("key", "key");
    message *m = sent(&l, json_pack("{s:s}", "code", "x"));
    bool same = m && strcmp(m->type, "execute_request") == 0 &&
                strcmp(json_string_value(json_object_get(m->content, "code")), "x") == 0;
    message *reply = same ? message_reply(m, "execute_reply", json_object()) : NULL;
    same = same && reply && json_equal(reply->parent, m->header);
    message_free(reply);
    message_free(m);
    line_free(&l);
    EGT_CHECK(same);
}

EGT(messages_with_another_key_do_not)
{
    line l = line_new("key", "other");
    message *m = sent(&l, json_object()), *none = message_new(SHELL, "x", NULL, NULL);
    line_free(&l);
    EGT_CHECK(!m && !none);
}

static double date_of(const char *text)
{
    message m = {.header = json_pack("{s:s}", "date", text)};
    double date = message_date(&m);
    json_decref(m.header);
    return date;
}

EGT(dates_of_messages)
{
    EGT_EQ(date_of("1970-01-02T00:00:01Z"), 86401);
    EGT_EQ(date_of("2026-01-31T12:34:56.500000Z"), 1769862896.5);
    EGT_EQ(date_of("2026-01-31T14:04:56.5+01:30"), 1769862896.5);
    EGT_EQ(date_of("2026-01-31T11:34:56.5-01:00"), 1769862896.5);
    EGT_EQ(date_of("2026-01-31T12:34:56.5"), 1769862896.5);
    EGT_EQ(date_of("yesterday"), 0);
    EGT_EQ(message_date(&(message){0}), 0);
}

/* ---- memory ---- */

static long until_failure; /* allocations of JSON that succeed before one fails */

static void *allocate(size_t bytes)
{
    return until_failure-- == 0 ? NULL : malloc(bytes);
}

EGT(messages_when_memory_runs_out)
{
    line l = line_new("key", "key");
    bool arrived = false;
    int n = 0;
    json_set_alloc_funcs(allocate, free);
    for (; !arrived && n < 1000; n++) {
        until_failure = n;
        message *m = sent(&l, json_pack("{s:s, s:o}", "code", "x", "text", text_json("\xff", 1)));
        arrived = m && until_failure > 0;
        message_free(m);
        while (zmq_recv(l.to, NULL, 0, ZMQ_DONTWAIT) >= 0) {
        }
    }
    json_set_alloc_funcs(malloc, free);
    line_free(&l);
    EGT_CHECK(arrived && n > 20);
}
