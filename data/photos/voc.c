/* voc.c - objects as Pascal VOC's annotations have them, a file of XML for each photo, by libexpat. */
#include <stdio.h>
#include <stdlib.h>

#include "data/photos/photos.h"
#include "lib/core/counted.h"
#include "lib/io/file.h"
#include "lib/io/number.h"

#ifdef EG_HAVE_EXPAT
#include <expat.h>

#include "lib/core/library.h"

#define FUNCTIONS(X)               \
    X(XML_ErrorString)             \
    X(XML_GetCurrentLineNumber)    \
    X(XML_GetErrorCode)            \
    X(XML_Parse)                   \
    X(XML_ParserCreate)            \
    X(XML_ParserFree)              \
    X(XML_SetCharacterDataHandler) \
    X(XML_SetElementHandler)       \
    X(XML_SetEntityDeclHandler)    \
    X(XML_SetUserData)             \
    X(XML_StopParser)
EG__LIBRARY(lib, FUNCTIONS, .title = "libexpat", .files = {EG_SO_EXPAT}, .package = "libexpat1");

static const eg__dataset_class voc_class = {.name = "eg_voc_new", EG__PHOTOS_CLASS};

enum { DEEPEST = 32, LONGEST = 200, MOST_XML = 1 << 24 }; /* elements in each other; bytes of a value, of a file */

/* What stands between tags is looked for by where: "size/width", "object/bndbox/xmin". */
typedef enum value { FILENAME, WIDTH, HEIGHT, NAME, DIFFICULT, TRUNCATED, XMIN, YMIN, XMAX, YMAX, VALUES } value;
static const char *const places[VALUES] = {
    "/annotation/filename",           "/annotation/size/width",         "/annotation/size/height",
    "/annotation/object/name",        "/annotation/object/difficult",   "/annotation/object/truncated",
    "/annotation/object/bndbox/xmin", "/annotation/object/bndbox/ymin", "/annotation/object/bndbox/xmax",
    "/annotation/object/bndbox/ymax",
};

typedef struct note {
    eg__photos *p;
    const eg__source *source;
    void *parser;
    char at[LONGEST];  /* the elements that are open */
    int depth, beyond; /* beyond: of them those whose names did not fit */
    char value[VALUES][LONGEST];
    bool has[VALUES];
    eg__object *object; /* of this photo, in the order of the file */
    uint32_t objects, room;
    eg_status status;
} note;

static eg_status bad(note *n, const char *what, const char *got)
{
    return eg__source_bad(n->source, 0, "%s: \"%.40s\"", what, got);
}

/* ---- values ------------------------------------------------------------------------------------------ */

static const char *trimmed(const char *s, int64_t *bytes)
{
    s += strspn(s, " \t\r\n");
    *bytes = (int64_t)strlen(s);
    while (*bytes && strchr(" \t\r\n", s[*bytes - 1])) {
        --*bytes;
    }
    return s;
}

static bool number(const note *n, value v, double *x)
{
    int64_t bytes;
    const char *s = trimmed(n->value[v], &bytes);
    return n->has[v] && eg__parse_real(s, bytes, EG_F64, x) && *x > -1e9 && *x < 1e9;
}

static bool is_one(const note *n, value v)
{
    double x = 0;
    return number(n, v, &x) && x == 1;
}

static eg_status end_object(note *n)
{
    eg__object o = {.area = -1};
    int64_t bytes;
    const char *name = trimmed(n->value[NAME], &bytes);
    if (!n->has[NAME] || !bytes) {
        return bad(n, "an object has no name", n->at);
    }
    for (int i = 0; i < 4; i++) {
        double x;
        if (!number(n, XMIN + i, &x)) {
            return bad(n, places[XMIN + i], n->has[XMIN + i] ? n->value[XMIN + i] : "not there");
        }
        o.box[i] = (float)(x - (i < 2 && n->p->o.from_one));
    }
    o.flags =
        (uint8_t)((is_one(n, DIFFICULT) ? EG_OBJECT_DIFFICULT : 0) | (is_one(n, TRUNCATED) ? EG_OBJECT_TRUNCATED : 0));
    if (eg__photos_class(n->p, name, (size_t)bytes, &o.label)) {
        return eg__why();
    }
    if (o.label < 0) {
        return bad(n, "no class that was asked for", name);
    }
    if (n->objects == n->room && !eg__counted_grow(&n->object, &n->room, sizeof *n->object)) {
        return eg__no_memory(voc_class.name, (int64_t)n->room * (int64_t)sizeof *n->object);
    }
    n->object[n->objects++] = o;
    memset(n->has + NAME, 0, sizeof n->has - NAME * sizeof *n->has);
    return EG_OK;
}

/* ---- XML ------------------------------------------------------------------------------------------------ */

static void stop(note *n, eg_status st)
{
    if (st && !n->status) {
        n->status = st;
        lib.XML_StopParser(n->parser, XML_FALSE);
    }
}

static void XMLCALL open_element(void *user, const char *name, const char **attributes)
{
    note *n = user;
    const size_t had = strlen(n->at), more = strlen(name);
    (void)attributes;
    if (++n->depth > DEEPEST) {
        stop(n, bad(n, "elements too deep in each other", name));
    } else if (n->beyond || had + more + 2 > sizeof n->at) {
        n->beyond++;
    } else {
        snprintf(n->at + had, sizeof n->at - had, "/%s", name);
        for (int v = 0; v < VALUES; v++) {
            if (!strcmp(n->at, places[v])) {
                n->value[v][0] = 0;
                n->has[v] = true;
            }
        }
    }
}

static void XMLCALL close_element(void *user, const char *name)
{
    note *n = user;
    (void)name;
    n->depth--;
    if (n->beyond) {
        n->beyond--;
        return;
    }
    if (!strcmp(n->at, "/annotation/object")) {
        stop(n, end_object(n));
    }
    *strrchr(n->at, '/') = 0;
}

static void XMLCALL add_text(void *user, const char *text, int bytes)
{
    note *n = user;
    for (int v = 0; v < VALUES && !n->beyond; v++) {
        if (!strcmp(n->at, places[v])) {
            const size_t had = strlen(n->value[v]);
            if (had + (size_t)bytes + 1 > LONGEST) {
                stop(n, bad(n, "a value that is too long", n->value[v]));
            } else {
                memcpy(n->value[v] + had, text, (size_t)bytes);
                n->value[v][had + (size_t)bytes] = 0;
            }
        }
    }
}

/* What one may stand for would have to be bounded. */
static void XMLCALL refuse_entity(void *user, const char *name, int is_parameter, const char *text, int bytes,
                                  const char *base, const char *system, const char *public, const char *notation)
{
    (void)is_parameter;
    (void)text;
    (void)bytes;
    (void)base;
    (void)system;
    (void)public;
    (void)notation;
    stop(user, bad(user, "it declares an entity", name));
}

static eg_status parse(note *n, const char *xml, int64_t bytes)
{
    XML_Parser parser = lib.XML_ParserCreate(NULL);
    if (!parser) {
        return eg__no_memory(voc_class.name, bytes);
    }
    n->parser = parser;
    lib.XML_SetUserData(parser, n);
    lib.XML_SetElementHandler(parser, open_element, close_element);
    lib.XML_SetCharacterDataHandler(parser, add_text);
    lib.XML_SetEntityDeclHandler(parser, refuse_entity);
    const bool fine = lib.XML_Parse(parser, xml, (int)bytes, true) == XML_STATUS_OK;
    eg_status st = n->status ? n->status
                   : fine    ? EG_OK
                             : eg__source_bad(n->source, 0, "line %lu: %s", lib.XML_GetCurrentLineNumber(parser),
                                              lib.XML_ErrorString(lib.XML_GetErrorCode(parser)));
    lib.XML_ParserFree(parser);
    return st;
}

/* ---- photos ------------------------------------------------------------------------------------------------ */

static eg_status add_photo(note *n, const char *folder, int64_t number_of)
{
    char path[4096];
    int64_t bytes;
    double width = 0, height = 0;
    const char *file = trimmed(n->value[FILENAME], &bytes);
    if (!n->has[FILENAME] || !bytes || memchr(file, '/', (size_t)bytes)) {
        return bad(n, "it says no file of JPEGImages", n->has[FILENAME] ? file : "");
    }
    number(n, WIDTH, &width);
    number(n, HEIGHT, &height);
    if (snprintf(path, sizeof path, "%s/JPEGImages/%.*s", folder, (int)bytes, file) >= (int)sizeof path) {
        return eg__fail(EG_EIO, voc_class.name, "a path in \"%.140s\" is too long", folder);
    }
    eg_status st = eg__photos_add(n->p, path, number_of, width > 0 && height > 0 ? (int64_t)height : 0,
                                  width > 0 && height > 0 ? (int64_t)width : 0);
    for (uint32_t i = 0; i < n->objects && !st; i++) {
        st = eg__photos_add_object(n->p, &n->object[i]);
    }
    return st;
}

/* The annotation of one id. */
static eg_status read_note(eg__photos *p, const char *folder, const char *id, int64_t number_of)
{
    char path[4096];
    eg__source s;
    if (snprintf(path, sizeof path, "%s/Annotations/%s.xml", folder, id) >= (int)sizeof path) {
        return eg__fail(EG_EIO, voc_class.name, "a path in \"%.140s\" is too long", folder);
    }
    eg_status st = eg__source_open(&s, voc_class.name, path);
    if (st) {
        return st;
    }
    note *n = eg__malloc(sizeof *n);
    char *xml = n && s.size <= MOST_XML ? eg__counted_alloc((size_t)s.size + 1) : NULL;
    st = xml                      ? eg__source_read(&s, 0, xml, s.size)
         : n && s.size > MOST_XML ? eg__source_bad(&s, 0, "more than %d bytes", MOST_XML)
                                  : eg__no_memory(voc_class.name, s.size);
    if (!st) {
        memset(n, 0, sizeof *n);
        n->p = p;
        n->source = &s;
        st = parse(n, xml, s.size);
        st = st ? st : add_photo(n, folder, number_of);
        eg__counted_free(n->object);
    }
    eg__counted_free(xml);
    free(n);
    eg__source_close(&s);
    return st;
}

/* A line of the set: an id, and in the sets of single classes a number behind it, below 0 for a photo without it. */
static eg_status read_set(eg__photos *p, const char *folder, const char *set)
{
    char path[4096];
    eg__stream s = {0};
    eg__bytes line = {0};
    bool more = true;
    if (snprintf(path, sizeof path, "%s/ImageSets/Main/%s.txt", folder, set) >= (int)sizeof path) {
        return eg__fail(EG_EIO, voc_class.name, "a path in \"%.140s\" is too long", folder);
    }
    eg_status st = eg__stream_open(&s, voc_class.name, path, EG_COMPRESSION_NONE);
    for (int64_t i = 0; !st && more;) {
        st = eg__stream_line(&s, &line, LONGEST, &more);
        char *id = st || !more ? NULL : (char *)line.p + strspn((char *)line.p, " \t");
        if (id && *id) {
            id[strcspn(id, " \t\r")] = 0;
            st = strchr(id, '/') ? eg__stream_bad(&s, s.offset, "\"%.40s\" is no id", id)
                                 : read_note(p, folder, id, i++);
        }
    }
    eg__bytes_free(&line);
    eg__stream_close(&s);
    return st;
}

eg_dataset *eg_voc_new_with(const char *folder, const char *set, const eg_photos_options *options)
{
    if (!folder || !set) {
        return eg__null_argument(voc_class.name, folder ? "set" : "folder"), NULL;
    }
    if (options && options->masks) {
        return eg__fail_null(EG_EINVAL, voc_class.name, "there are no masks in VOC's annotations");
    }
    eg__photos *p = eg__library_open(&lib_library, voc_class.name) ? NULL : eg__photos_new(&voc_class, options);
    if (!p) {
        return NULL;
    }
    if (read_set(p, folder, set)) {
        eg_dataset_free(&p->d);
        return NULL;
    }
    if (!p->o.classes_count) {
        eg__photos_sort_classes(p);
    }
    return &p->d;
}

#else

eg_dataset *eg_voc_new_with(const char *folder, const char *set, const eg_photos_options *options)
{
    static const char op[] = "eg_voc_new";
    (void)options;
    return folder && set ? eg__fail_null(EG_ENOKERNEL, op, "this build has no libexpat")
                         : (eg__null_argument(op, folder ? "set" : "folder"), NULL);
}

#endif
