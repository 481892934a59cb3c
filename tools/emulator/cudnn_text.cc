/* cudnn_text.cc - parts of the fake cuDNN as text, and back. */
#include <stdio.h>

#include "tools/emulator/cudnn.h"

size_t eg__attribute_size(cudnnBackendAttributeType_t type)
{
    switch (type) {
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
        return 8;
    case CUDNN_TYPE_BOOLEAN:
    case CUDNN_TYPE_CHAR:
        return 1;
    default:
        return 4;
    }
}

std::shared_ptr<eg__part> eg__part_new(int type)
{
    return std::make_shared<eg__part>(eg__part{type, true, {}});
}

void eg__part_write(const eg__part &p, std::string &to)
{
    char line[64];
    snprintf(line, sizeof line, "%d %zu\n", p.type, p.values.size());
    to += line;
    for (const auto &named : p.values) {
        const eg__part::value &v = named.second;
        snprintf(line, sizeof line, "%d %d %lld %zu ", named.first, v.type, static_cast<long long>(v.n),
                 v.parts.size());
        to += line;
        for (unsigned char c : v.bytes) {
            snprintf(line, sizeof line, "%02x", c);
            to += line;
        }
        to += "\n";
        for (const eg__part_ref &q : v.parts) {
            eg__part_write(*q, to);
        }
    }
}

std::shared_ptr<eg__part> eg__part_read(const char **at)
{
    int type, name, kind, used;
    size_t values, parts;
    long long n;
    if (sscanf(*at, "%d %zu%n", &type, &values, &used) != 2) {
        return nullptr;
    }
    *at += used + 1;
    std::shared_ptr<eg__part> p = eg__part_new(type);
    for (size_t i = 0; i < values; i++) {
        if (sscanf(*at, "%d %d %lld %zu %n", &name, &kind, &n, &parts, &used) != 4) {
            return nullptr;
        }
        *at += used;
        eg__part::value v{kind, n, "", {}};
        const size_t bytes = parts ? 0 : size_t(n) * eg__attribute_size(cudnnBackendAttributeType_t(kind));
        for (size_t k = 0; k < bytes; k++, *at += 2) {
            unsigned c;
            if (sscanf(*at, "%2x", &c) != 1) {
                return nullptr;
            }
            v.bytes.push_back(char(c));
        }
        *at += parts ? 0 : 1;
        for (size_t k = 0; k < parts; k++) {
            std::shared_ptr<eg__part> q = eg__part_read(at);
            if (!q) {
                return nullptr;
            }
            v.parts.push_back(q);
        }
        p->values[name] = v;
    }
    return p;
}
