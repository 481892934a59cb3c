/* folder.h - paths as values, and folders that are there. */
#ifndef EGRET_RUN_FOLDER_H
#define EGRET_RUN_FOLDER_H

#include <egret/base.h>
#include <egret/error.h>

EG_BEGIN_DECLS

enum { EG_PATH_SIZE = 4096, EG_NAME_MOST = 255 };

/* A path, made to be used at once: eg_png_save(sheet, eg_path_in("out", "sheet.png").text). */
typedef struct eg_path {
    char text[EG_PATH_SIZE];
} eg_path;

/* The name in the folder; cut to what fits: EG_NAME_MOST bytes of it, and the rest of the folder. */
EG_API eg_path eg_path_in(const char *folder, const char *name);

/* Makes the folder and those above it, unless they are there. EG_EIO if that cannot be, or nothing can be written into
 * it; EG_EINVAL if it has no name, or one that leaves no room for a file's in an eg_path. */
EG_API eg_status eg_folder_make(const char *path);

EG_END_DECLS

#endif
