/* What the process is given: numbered inputs, each written once, in order, through a bounded queue. */
#ifndef AR_SHIM_STDIN_H
#define AR_SHIM_STDIN_H

#include "shim_wire.h"

#include <stdbool.h>
#include <stddef.h>

#define AR_STDIN_ITEMS_MAX 256

struct ar_loop;
struct ar_shim;

struct ar_stdin_item {
	uint32_t left; /* bytes in the queue that are not written yet */
	bool is_eof;
};

struct ar_stdin {
	int fd; /* writing end of a pipe or, with is_tty, the terminal's master; -1: none */
	bool is_tty;
	uint64_t accepted; /* number of the newest input */
	uint64_t written; /* number of the newest that is written whole */
	/* of written + 1 onwards, as a ring from first_item */
	struct ar_stdin_item items[AR_STDIN_ITEMS_MAX];
	size_t first_item, item_count;
	bool will_close; /* an end of file was accepted */
	char last; /* byte that was written last */
	size_t start, used; /* of the bytes below */
	char bytes[AR_SHIM_QUEUE_MAX];
};

/* What becomes of an input. AR_SHIM_INPUT_OK: it is in the journal as accepted. */
enum ar_shim_input_status ar_stdin_accept(struct ar_shim *s, const struct ar_shim_input *head,
					  const char *bytes, size_t len);
void ar_stdin_watch(struct ar_shim *s, struct ar_loop *l);
void ar_stdin_close(
	struct ar_stdin *in); /* nobody reads any more; what waits is not written, and not called written */

#endif
