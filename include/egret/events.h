/* events.h - what a run tells while it goes: event files for TensorBoard, and lines of JSON.
 *
 *     eg_events *board = eg_events_new("egret-out/dcgan/events");
 *     eg_events_scalar(board, "loss/generator", step, loss);
 *     eg_events_free(board);
 *
 *     eg_journal *journal = eg_journal_new("egret-out/dcgan/log.jsonl", .append = true);
 *     eg_journal_row(journal, EG_INTEGER("step", step), EG_REAL("loss", loss), EG_TEXT("note", "warm"));
 *     eg_journal_free(journal);
 *
 * Whatever has been written is in the file at once, by one write per record: a process that is killed loses
 * nothing. Only a power cut can; the flush calls wait until the disk has it. A record that does not fit on
 * the disk is taken back, so that what is there stays readable. */
#ifndef EGRET_EVENTS_H
#define EGRET_EVENTS_H

#include <egret/base.h>
#include <egret/tensor.h>

EG_BEGIN_DECLS

/* ---- TensorBoard --------------------------------------------------------------------------- */

/* One event file: records in TFRecord framing (length and data with masked CRC-32C) of protocol buffers.
 * Tags with slashes are grouped by what stands before. Tags and texts must be UTF-8 (EG_EINVAL). */
typedef struct eg_events eg_events;

typedef struct eg_events_options {
    size_t size;
    /* First step after the checkpoint of a resumed run: TensorBoard drops values of this step and later ones that
     * earlier files of the folder have. Written as the start of a session, as TensorFlow and PyTorch do. 0: none. */
    int64_t purge_step;
} eg_events_options;

/* Makes a new file in the folder, "events.out.tfevents.<seconds>.<host>.<process>.<number>", which no other
 * writer can have, and the folder if need be. EG_EIO if it cannot be made; EG_ENOKERNEL if the build has no
 * protobuf-c. The caller frees it. */
EG_API eg_events *eg_events_new_with(const char *folder, const eg_events_options *options);
#define eg_events_new(...)          EG_EVENTS_NEW_(__VA_ARGS__, )
#define EG_EVENTS_NEW_(folder, ...) eg_events_new_with(folder, EG_OPTIONS_(eg_events_options, __VA_ARGS__))
/* NULL is fine. */
EG_API void eg_events_free(eg_events *events);

/* A point of the curve `tag`; not a number is a number here. */
EG_API eg_status eg_events_scalar(eg_events *events, const char *tag, int64_t step, double value);
/* A picture, u8 [C, H, W] with C of 1, 3 or 4, as PNG. EG_ENOKERNEL if the build has no libpng. */
EG_API eg_status eg_events_image(eg_events *events, const char *tag, int64_t step, eg_tensor *image);
/* How the elements of a tensor of numbers are distributed, in TensorFlow's buckets: their ends are 0 and
 * +-1e-12 * 1.1^k up to 1e20. What is not finite is left out. */
EG_API eg_status eg_events_histogram(eg_events *events, const char *tag, int64_t step, eg_tensor *values);
/* A text, shown as Markdown. */
EG_API eg_status eg_events_text(eg_events *events, const char *tag, int64_t step, const char *text);
/* Returns when all is on the disk. */
EG_API eg_status eg_events_flush(eg_events *events);

/* ---- lines of JSON -------------------------------------------------------------------------- */

/* A file with one JSON object per line ("JSON lines"), for programs that draw curves later. */
typedef struct eg_journal eg_journal;

typedef struct eg_journal_options {
    size_t size;
    bool append; /* go on behind what is there, on a line of its own; else the file begins anew */
    /* With append: rows whose number "step" is above it are removed first, as is half a row that a killed process has
     * left, so that a resumed run writes each step once; 0: nothing is. */
    int64_t last_step;
} eg_journal_options;

/* Opens or makes the file. EG_EIO if that cannot be. The caller frees it. */
EG_API eg_journal *eg_journal_new_with(const char *path, const eg_journal_options *options);
#define eg_journal_new(...)        EG_JOURNAL_NEW_(__VA_ARGS__, )
#define EG_JOURNAL_NEW_(path, ...) eg_journal_new_with(path, EG_OPTIONS_(eg_journal_options, __VA_ARGS__))
/* NULL is fine. */
EG_API void eg_journal_free(eg_journal *journal);

typedef enum eg_field_kind { EG_FIELD_INTEGER, EG_FIELD_REAL, EG_FIELD_TEXT } eg_field_kind;

/* A name with its value; write them with the macros. */
typedef struct eg_field {
    const char *name, *text;
    double real;
    int64_t integer;
    eg_field_kind kind;
} eg_field;
#define EG_INTEGER(name, value)             \
    {                                       \
        name, 0, 0, value, EG_FIELD_INTEGER \
    }
#define EG_REAL(name, value)             \
    {                                    \
        name, 0, value, 0, EG_FIELD_REAL \
    }
#define EG_TEXT(name, value)             \
    {                                    \
        name, value, 0, 0, EG_FIELD_TEXT \
    }

/* One line with these fields in their order. Reals are written so that they read back as they were; those
 * that are not finite as null, and so is a NULL text. In texts U+FFFD stands for what is no UTF-8. */
EG_API eg_status eg_journal_row_with(eg_journal *journal, const eg_field *fields, int count);
#define eg_journal_row(journal, ...) \
    eg_journal_row_with(journal, EG_ARRAY_(eg_field, __VA_ARGS__), EG_COUNT_(eg_field, __VA_ARGS__))
/* Returns when all is on the disk. */
EG_API eg_status eg_journal_flush(eg_journal *journal);

EG_END_DECLS

#endif
