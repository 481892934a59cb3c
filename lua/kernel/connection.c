/* connection.c - see connection.h. */
#include "connection.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "complain.h"

static const char *text_of(const json_t *file, const char *name, const char *otherwise)
{
    const json_t *value = json_object_get(file, name);
    return value ? json_string_value(value) : otherwise;
}

/* "tcp://127.0.0.1:5555", or "ipc://path-5": a socket's file ends in the number. */
static bool address_of(const json_t *file, const char *port_name, char address[CONNECTION_ADDRESS])
{
    const char *transport = text_of(file, "transport", "tcp");
    const char *ip = text_of(file, "ip", "127.0.0.1");
    json_int_t port = json_integer_value(json_object_get(file, port_name));
    if (!transport || !ip || (strcmp(transport, "tcp") != 0 && strcmp(transport, "ipc") != 0)) {
        kernel_complain("the connection file's transport must be tcp or ipc, and its ip a text");
        return false;
    }
    bool tcp = strcmp(transport, "tcp") == 0;
    if (port < 1 || (tcp && port > 65535)) {
        kernel_complain("the connection file has no %s", port_name);
        return false;
    }
    int n = snprintf(address, CONNECTION_ADDRESS, "%s://%s%c%lld", transport, ip, tcp ? ':' : '-', (long long)port);
    if (n < 0 || n >= CONNECTION_ADDRESS) {
        kernel_complain("the connection file's ip is too long");
        return false;
    }
    return true;
}

static bool key_of(const json_t *file, char key[CONNECTION_KEY])
{
    const char *given = text_of(file, "key", "");
    const char *scheme = text_of(file, "signature_scheme", "hmac-sha256");
    if (!given || strlen(given) >= CONNECTION_KEY) {
        kernel_complain("the connection file's key is no text of less than %d bytes", CONNECTION_KEY);
        return false;
    }
    if (!scheme || (*given && strcmp(scheme, "hmac-sha256") != 0)) {
        kernel_complain("signatures must be hmac-sha256; the connection file asks for %s", scheme ? scheme : "none");
        return false;
    }
    strcpy(key, given);
    return true;
}

bool connection_read(connection *c, const char *path)
{
    json_error_t why;
    json_t *file = json_load_file(path, 0, &why);
    if (!file) {
        kernel_complain("cannot read the connection file %s: %s", path, why.text);
        return false;
    }
    bool good = address_of(file, "shell_port", c->shell);
    good = good && address_of(file, "control_port", c->control);
    good = good && address_of(file, "stdin_port", c->input);
    good = good && address_of(file, "iopub_port", c->iopub);
    good = good && address_of(file, "hb_port", c->heartbeat) && key_of(file, c->key);
    json_decref(file);
    return good;
}
