/* json_write.c - trees as JSON. */

#include "lib/io/buffer.h"
#include "lib/io/file.h"
#include "lib/io/json_tree.h"

enum { MOST_INDENT = 16 };

static void put_number(eg__buffer *b, const eg_json *j)
{
    uint32_t begin = b->n;
    if (j->whole) {
        eg__put_int(b, j->as.whole);
        return;
    }
    eg__put_real(b, j->as.real);
    bool plain = true;
    for (uint32_t i = begin; i < b->n && plain; i++) {
        plain = b->s[i] != '.' && b->s[i] != 'e';
    }
    eg__put_word(b, plain ? ".0" : ""); /* so that it reads back as no integer */
}

static void put_line(eg__buffer *b, int indent, int level)
{
    static const char blanks[MOST_INDENT + 1] = "                ";
    if (indent) {
        eg__put_word(b, "\n");
        for (int i = 0; i < level; i++) {
            eg__put(b, blanks, (size_t)indent);
        }
    }
}

/* As deep in itself as the tree, which has a limit. */
static void put_value(eg__buffer *b, const eg_json *j, int indent, int level)
{
    const bool object = j->kind == EG_JSON_OBJECT;
    switch (j->kind) {
    case EG_JSON_NULL:
        eg__put_word(b, "null");
        return;
    case EG_JSON_BOOL:
        eg__put_word(b, j->as.truth ? "true" : "false");
        return;
    case EG_JSON_NUMBER:
        put_number(b, j);
        return;
    case EG_JSON_TEXT:
        eg__put_text(b, j->as.text, j->bytes);
        return;
    }
    const eg__json_list *l = j->as.list;
    eg__put_word(b, object ? "{" : "[");
    for (uint32_t i = 0; i < l->n && !b->full; i++) {
        eg__put_word(b, i ? "," : "");
        put_line(b, indent, level + 1);
        if (object) {
            eg__put_text(b, l->key[i].text, l->key[i].bytes);
            eg__put_word(b, indent ? ": " : ":");
        }
        put_value(b, l->item[i], indent, level + 1);
    }
    if (l->n) {
        put_line(b, indent, level);
    }
    eg__put_word(b, object ? "}" : "]");
}

static eg_status write(const char *op, eg__buffer *b, const eg_json *j, const eg_json_options *options)
{
    eg_json_options o;
    eg__options(&o, sizeof o, options);
    if (!j) {
        return eg__null_argument(op, "j");
    }
    if (o.indent < 0 || o.indent > MOST_INDENT) {
        return eg__fail(EG_EINVAL, op, "indent is %d, 0..%d are possible", o.indent, MOST_INDENT);
    }
    put_value(b, j, o.indent, 0);
    return b->full ? eg__no_memory(op, b->n) : EG_OK;
}

eg_tensor *eg_json_encode_with(const eg_json *j, const eg_json_options *options)
{
    eg__buffer b = {0};
    eg_status st = write("eg_json_encode", &b, j, options);
    eg_tensor *t = st ? NULL : eg__empty_on(0, EG_SHAPE(b.n), EG_U8);
    if (t) {
        memcpy(eg__ptr(t), b.s, b.n);
    }
    eg__buffer_free(&b);
    return t;
}

eg_status eg_json_save_with(const eg_json *j, const char *path, const eg_json_options *options)
{
    static const char op[] = "eg_json_save";
    eg__buffer b = {0};
    eg_status st = write(op, &b, j, options);
    eg__put_word(&b, "\n");
    st = st || !b.full ? st : eg__no_memory(op, b.n);
    st = st ? st : eg__file_write(op, path, b.s, b.n);
    eg__buffer_free(&b);
    return st;
}
