/* write.c - drawn signs as records (sets.h). */
#include <stdio.h>
#include <string.h>

#include "sets.h"

static eg_tensor *example(const sets *s, const char *name, eg_tensor *image, eg_tensor *text)
{
    const int64_t width = eg_size(image, 2);
    int64_t ids[SETS_LONGEST], letters = charset_encode(&s->letters, name, ids, s->o.length);
    eg_tensor *png = eg_png_encode(image), *wide = eg_from(EG_SHAPE(1), EG_I64, &width);
    eg_example *e = png && wide && letters >= 0 ? eg_example_new() : NULL;
    eg_status st = e ? EG_OK : eg_last_error()->code;
    st = st ? st : eg_example_set(e, "image/encoded", png);
    st = st ? st : eg_example_set_bytes(e, "image/format", "PNG", 3);
    st = st ? st : eg_example_set(e, "image/width", wide);
    st = st ? st : eg_example_set(e, "image/orig_width", wide);
    st = st ? st : eg_example_set(e, "image/class", text);
    st = st ? st : eg_example_set(e, "image/unpadded_class", eg_slice(text, 0, 0, letters, 1));
    st = st ? st : eg_example_set_bytes(e, "image/text", name, strlen(name));
    eg_tensor *bytes = st ? NULL : eg_example_encode(e);
    eg_example_free(e);
    return bytes;
}

static eg_status write_set(sets *s, set_name name, const char *folder)
{
    const int64_t count = name == SET_TRAIN ? s->o.drawn : s->o.others;
    char file[64];
    snprintf(file, sizeof file, "%s-00000-of-00001", sets_names[name]);
    eg_path in = eg_path_in(folder, sets_names[name]);
    eg_status st = eg_folder_make(in.text);
    eg_tfrecord_writer *w = st ? NULL : eg_tfrecord_writer_new(eg_path_in(in.text, file).text);
    st = w ? EG_OK : eg_last_error()->code;
    for (int64_t i = 0; i < count && !st; i++) {
        EG_SCOPE {
            eg_tensor *image, *text;
            char on[NAME_BYTES];
            st = sets_draw(s, name, i, &image, &text, on);
            eg_tensor *bytes = st ? NULL : example(s, on, image, text);
            st = bytes ? eg_tfrecord_write(w, eg_data(bytes), (size_t)eg_numel(bytes)) : eg_last_error()->code;
        }
    }
    if (st) {
        eg_tfrecord_writer_free(w);
        return st;
    }
    return eg_tfrecord_writer_close(w);
}

eg_status sets_write(sets *s, eg_run *run, const char *folder)
{
    char file[64];
    snprintf(file, sizeof file, "charset_size=%lld.txt", (long long)s->letters.count);
    eg_status st = eg_folder_make(folder);
    st = st ? st : charset_save(&s->letters, eg_path_in(folder, file).text);
    for (int i = 0; i < SET_NAMES && !st; i++) {
        st = write_set(s, (set_name)i, folder);
    }
    if (!st) {
        eg_run_say(run, "%lld signs to learn from and twice %lld others are in %s", (long long)s->o.drawn,
                   (long long)s->o.others, folder);
    }
    return st;
}
