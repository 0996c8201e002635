/* The inspection port: says which files of a workspace change what agents do there, and brings the
 * instructions among them. Whether they are used is decided in the core.
 *
 * Contract: loop thread only. The caller owns the run and what it points to until on_done, which comes
 * exactly once, never before start() returns, and not later than AR_INSPECT_MS after it. */
#ifndef AR_PORT_INSPECT_H
#define AR_PORT_INSPECT_H

#include "str.h"

#include <stdint.h>

#define AR_INSPECT_ITEMS_MAX 64
#define AR_INSPECT_TEXT_MAX 65536 /* bytes of all instructions together */
#define AR_INSPECT_MS 2000 /* that a folder has to answer */

enum ar_inspect_kind {
	AR_INSPECT_INSTRUCTIONS = 1,
	AR_INSPECT_MCP_SERVERS,
	AR_INSPECT_SKILL,
};

struct ar_inspect_item {
	enum ar_inspect_kind kind;
	struct ar_str path; /* from the folder; "../" for one above it */
	int64_t bytes;
	struct ar_str digest; /* "sha256:" and hex; absent: it cannot be read, and `reason` says why */
	struct ar_str reason; /* why it is not used; absent: it is, in a trusted workspace */
};

/* Texts live until on_done returns. */
struct ar_inspected {
	const struct ar_inspect_item *items; /* instructions first, the nearest before those above */
	size_t count;
	struct ar_str digest; /* of all items; absent: the folder did not answer in time */
	struct ar_str file; /* name of the files with instructions */
	struct ar_str instructions; /* without secrets; absent: none, and `reason` says why */
	struct ar_str reason;
};

struct ar_inspect_run {
	struct ar_str folder; /* real path */
	struct ar_str worker; /* wk_..., that has the folder; absent: this machine */
	void (*on_done)(struct ar_inspect_run *r, const struct ar_inspected *found);
};

struct ar_inspector;

struct ar_inspector_vtable {
	void (*start)(struct ar_inspector *i, struct ar_inspect_run *r);
	void (*close)(struct ar_inspector *i); /* ends what is open first */
};

struct ar_inspector {
	const struct ar_inspector_vtable *v;
};

#endif
