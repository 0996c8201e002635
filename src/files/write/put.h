/* One file put in place: its folders made, its new content written beside it, the name moved over, and all of
 * it taken back. For changes.c. */
#ifndef AR_FILES_PUT_H
#define AR_FILES_PUT_H

#include "write/changes.h"

/* Makes missing folders and writes the new content under a name of its own, durably. False with the failure
 * in the work. */
bool ar_put_prepare(struct ar_changes *c, struct ar_change *f);

/* Moves it into place, or removes the file; refuses when the file is no longer as it was read. */
bool ar_put_finish(struct ar_changes *c, struct ar_change *f);

/* As it was before prepare, as far as that is possible; at any point. */
void ar_put_back(struct ar_changes *c, struct ar_change *f);

/* A name for content that is written beside its file before it is moved there. */
void ar_put_temp_name(char ret[AR_PUT_TEMP_MAX]);

/* Of changes.c: the folder of a change as a path from the workspace, and whether it changes nothing. */
struct ar_str ar_change_folder(struct ar_arena *a, const struct ar_change *f);
bool ar_change_is_none(const struct ar_change *f);

#endif
