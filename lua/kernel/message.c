/* message.c - see message.h. */
#define _GNU_SOURCE
#include "message.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

enum { PARTS = 4, SHA256 = 32, SIGNATURE = 2 * SHA256, SESSION = 16 };

static const char delimiter[] = "<IDS|MSG>";

/* ---- signatures ---- */

struct signer {
    EVP_MAC *mac;
    EVP_MAC_CTX *keyed;            /* copied for each message; NULL: nothing is signed */
    char session[2 * SESSION + 1]; /* by chance, different from that of any other kernel */
    uint64_t sent;
};

static void hexadecimal(const unsigned char *bytes, int n, char *text)
{
    for (int i = 0; i < n; i++) {
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    }
}

static bool set_key(signer *s, const char *key)
{
    OSSL_PARAM digest[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, "SHA256", 0),
                           OSSL_PARAM_construct_end()};
    s->mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    s->keyed = s->mac ? EVP_MAC_CTX_new(s->mac) : NULL;
    return s->keyed && EVP_MAC_init(s->keyed, (const unsigned char *)key, strlen(key), digest);
}

signer *signer_new(const char *key)
{
    unsigned char chance[SESSION];
    signer *s = calloc(1, sizeof *s);
    if (!s || RAND_bytes(chance, SESSION) != 1 || (*key && !set_key(s, key))) {
        signer_free(s);
        return NULL;
    }
    hexadecimal(chance, SESSION, s->session);
    return s;
}

void signer_free(signer *s)
{
    if (s) {
        EVP_MAC_CTX_free(s->keyed);
        EVP_MAC_free(s->mac);
        free(s);
    }
}

typedef struct part {
    const void *bytes;
    size_t n;
} part;

/* The parts' signature in hexadecimal; "" where nothing is signed. */
static bool sign(const signer *s, const part parts[PARTS], char text[SIGNATURE + 1])
{
    text[0] = '\0';
    if (!s->keyed) {
        return true;
    }
    unsigned char sum[SHA256];
    size_t n = 0;
    EVP_MAC_CTX *c = EVP_MAC_CTX_dup(s->keyed);
    bool good = c != NULL;
    for (int i = 0; good && i < PARTS; i++) {
        good = EVP_MAC_update(c, parts[i].bytes, parts[i].n);
    }
    good = good && EVP_MAC_final(c, sum, &n, sizeof sum) && n == SHA256;
    EVP_MAC_CTX_free(c);
    if (good) {
        hexadecimal(sum, SHA256, text);
    }
    return good;
}

static bool signed_by(const signer *s, const part parts[PARTS], const part *signature)
{
    char right[SIGNATURE + 1];
    return sign(s, parts, right) &&
           (!s->keyed || (signature->n == SIGNATURE && CRYPTO_memcmp(right, signature->bytes, SIGNATURE) == 0));
}

/* ---- receiving ---- */

/* The frames of one message. Those that do not fit are dropped: data we have no use for. */
typedef struct frames {
    zmq_msg_t frame[MESSAGE_HOPS + 2 + PARTS];
    int count;
} frames;

static bool receive_frames(void *socket, frames *f)
{
    const int room = sizeof f->frame / sizeof f->frame[0];
    f->count = 0;
    for (bool more = true; more;) {
        zmq_msg_t m;
        zmq_msg_init(&m);
        if (zmq_msg_recv(&m, socket, ZMQ_DONTWAIT) < 0) {
            zmq_msg_close(&m);
            return f->count > 0; /* the frames of a message come together */
        }
        more = zmq_msg_more(&m);
        if (f->count < room) {
            zmq_msg_init(&f->frame[f->count]);
            zmq_msg_move(&f->frame[f->count++], &m);
        }
        zmq_msg_close(&m);
    }
    return true;
}

static void close_frames(frames *f)
{
    while (f->count > 0) {
        zmq_msg_close(&f->frame[--f->count]);
    }
}

static part part_of(zmq_msg_t *m)
{
    return (part){zmq_msg_data(m), zmq_msg_size(m)};
}

static int find_delimiter(frames *f)
{
    for (int i = 0; i < f->count; i++) {
        part p = part_of(&f->frame[i]);
        if (p.n == sizeof delimiter - 1 && memcmp(p.bytes, delimiter, p.n) == 0) {
            return i;
        }
    }
    return -1;
}

static json_t *object_of(const part *p)
{
    json_t *object = json_loadb(p->bytes, p->n, JSON_ALLOW_NUL, NULL);
    if (!json_is_object(object)) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static message *understand(frames *f, channel where, const signer *s)
{
    int at = find_delimiter(f);
    if (at < 0 || at > MESSAGE_HOPS || f->count < at + 2 + PARTS) {
        return NULL;
    }
    part signature = part_of(&f->frame[at + 1]), parts[PARTS];
    for (int i = 0; i < PARTS; i++) {
        parts[i] = part_of(&f->frame[at + 2 + i]);
    }
    message *m = signed_by(s, parts, &signature) ? calloc(1, sizeof *m) : NULL;
    if (!m) {
        return NULL;
    }
    m->where = where;
    for (; m->hop_count < at; m->hop_count++) {
        zmq_msg_init(&m->hops[m->hop_count]);
        zmq_msg_move(&m->hops[m->hop_count], &f->frame[m->hop_count]);
    }
    m->header = object_of(&parts[0]);
    m->parent = object_of(&parts[1]);
    m->content = object_of(&parts[3]);
    m->type = json_string_value(json_object_get(m->header, "msg_type"));
    if (!m->type || !m->parent || !m->content) {
        message_free(m);
        return NULL;
    }
    return m;
}

message *message_receive(void *socket, channel where, signer *s, bool *more)
{
    frames f;
    *more = receive_frames(socket, &f);
    message *m = *more ? understand(&f, where, s) : NULL;
    close_frames(&f);
    return m;
}

/* ---- sending ---- */

message *message_new(channel where, const char *type, json_t *parent_header, json_t *content)
{
    message *m = content ? calloc(1, sizeof *m) : NULL;
    if (!m) {
        json_decref(content);
        return NULL;
    }
    m->where = where;
    m->content = content;
    m->parent = parent_header ? json_incref(parent_header) : json_object();
    m->header = json_pack("{s:s, s:s, s:s}", "msg_type", type, "username", "kernel", "version", "5.3");
    m->type = json_string_value(json_object_get(m->header, "msg_type"));
    if (!m->type || !m->parent) {
        message_free(m);
        return NULL;
    }
    return m;
}

message *message_reply(const message *request, const char *type, json_t *content)
{
    message *m = message_new(request->where, type, request->header, content);
    for (; m && m->hop_count < request->hop_count; m->hop_count++) {
        zmq_msg_init(&m->hops[m->hop_count]);
        zmq_msg_copy(&m->hops[m->hop_count], (zmq_msg_t *)&request->hops[m->hop_count]);
    }
    return m;
}

/* 2026-01-31T12:34:56.789Z, or with an offset from UTC instead of the Z. */
double message_date(const message *m)
{
    const char *text = json_string_value(json_object_get(m->header, "date"));
    struct tm t = {0};
    double seconds = 0;
    int hours = 0, minutes = 0;
    char sign = 'Z';
    if (!text || sscanf(text, "%4d-%2d-%2dT%2d:%2d:%lf%c%2d:%2d", &t.tm_year, &t.tm_mon, &t.tm_mday, &t.tm_hour,
                        &t.tm_min, &seconds, &sign, &hours, &minutes) < 6) {
        return 0;
    }
    t.tm_year -= 1900;
    t.tm_mon -= 1;
    int offset = 60 * (60 * hours + minutes);
    return (double)timegm(&t) + seconds + (sign == '+' ? -offset : sign == '-' ? offset : 0);
}

/* A message's number, session and time, when it leaves. */
static bool stamp(message *m, signer *s)
{
    struct timespec now;
    struct tm utc;
    char date[64], id[2 * SESSION + 24];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    size_t n = strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(date + n, sizeof date - n, ".%06ldZ", now.tv_nsec / 1000);
    snprintf(id, sizeof id, "%s-%llu", s->session, (unsigned long long)++s->sent);
    return json_object_set_new(m->header, "msg_id", json_string(id)) == 0 &&
           json_object_set_new(m->header, "session", json_string(s->session)) == 0 &&
           json_object_set_new(m->header, "date", json_string(date)) == 0;
}

/* Sends the frames, none behind one that fails: it would be taken for the start of a message. */
static void send_frames(void *socket, message *m, const part *parts, int count)
{
    for (int i = 0; i < m->hop_count; i++) {
        if (zmq_msg_send(&m->hops[i], socket, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0) {
            return;
        }
    }
    for (int i = 0; i < count; i++) {
        int flags = ZMQ_DONTWAIT | (i + 1 < count ? ZMQ_SNDMORE : 0);
        if (zmq_send(socket, parts[i].bytes, parts[i].n, flags) < 0) {
            return;
        }
    }
}

bool message_send(void *socket, message *m, signer *s)
{
    char signature[SIGNATURE + 1], *texts[PARTS] = {NULL};
    bool good = stamp(m, s);
    texts[0] = good ? json_dumps(m->header, JSON_COMPACT) : NULL;
    texts[1] = json_dumps(m->parent, JSON_COMPACT);
    texts[2] = strdup("{}");
    texts[3] = json_dumps(m->content, JSON_COMPACT);
    /* Subscribers of iopub choose by the first frame: there its type stands. */
    part parts[PARTS + 3] = {{m->type, strlen(m->type)}, {delimiter, sizeof delimiter - 1}};
    for (int i = 0; i < PARTS; i++) {
        good = good && texts[i];
        parts[3 + i] = (part){texts[i], good ? strlen(texts[i]) : 0};
    }
    good = good && sign(s, parts + 3, signature);
    if (good) {
        parts[2] = (part){signature, strlen(signature)};
        int skip = m->where == IOPUB ? 0 : 1;
        send_frames(socket, m, parts + skip, PARTS + 3 - skip);
    }
    for (int i = 0; i < PARTS; i++) {
        free(texts[i]);
    }
    return good;
}

json_t *message_refusal(const char *words)
{
    return json_pack("{s:s, s:s, s:s, s:[s]}", "status", "error", "ename", "error", "evalue", words, "traceback",
                     words);
}

void message_free(message *m)
{
    if (m) {
        while (m->hop_count > 0) {
            zmq_msg_close(&m->hops[--m->hop_count]);
        }
        json_decref(m->header);
        json_decref(m->parent);
        json_decref(m->content);
        free(m);
    }
}
