/* The handle of a process: the machine, its boot, the folder. Text that only this module takes apart. */
#ifndef AR_PROCESS_HANDLE_H
#define AR_PROCESS_HANDLE_H

#include "arena.h"

#define AR_HANDLE_MAX 4096

/* Which machine this is and since when it runs; the same for all processes of all users of it. */
struct ar_machine {
	char id[17]; /* of a hash: says nothing about the machine */
	char boot[40];
};

struct ar_handle {
	struct ar_str machine, boot, folder;
};

AR_BEGIN_DECLS

void ar_machine_read(struct ar_machine *ret);

struct ar_str ar_handle_text(struct ar_arena *a, const struct ar_machine *m, struct ar_str folder);

/* Borrowed from the text; false: it is none of ours. */
bool ar_handle_parse(struct ar_str text, struct ar_handle *ret);

AR_END_DECLS

#endif
