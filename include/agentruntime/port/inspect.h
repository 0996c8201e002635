/* The inspection port: says which files of a workspace change what agents do there, and brings the
 * instructions, skills and agent definitions among them. Whether they are used is decided in the core.
 *
 * Contract: loop thread only. The caller owns the run and what it points to until on_done, which comes
 * exactly once, never before start() returns, and not later than AR_INSPECT_MS after it. */
#ifndef AR_PORT_INSPECT_H
#define AR_PORT_INSPECT_H

#include "workspace/servers.h"
#include "str.h"

#include <stdint.h>

#define AR_INSPECT_ITEMS_MAX 128
#define AR_INSPECT_TEXT_MAX 65536 /* bytes of all instructions together */
#define AR_INSPECT_DEFINITIONS_MAX (512 * 1024) /* bytes of the texts of all definitions together */
#define AR_INSPECT_MS 2000 /* that a folder has to answer */

enum ar_inspect_kind {
	AR_INSPECT_INSTRUCTIONS = 1,
	AR_INSPECT_MCP_SERVERS,
	AR_INSPECT_SKILL,
	AR_INSPECT_AGENT,
};

#define AR_DEFINITION_NAME_MAX 64 /* letters, digits, _ and -, as names of tools have */
#define AR_DEFINITION_DESCRIPTION_MAX 1024
#define AR_DEFINITION_WORD_MAX 128 /* of model, mode, and the name of a tool */
#define AR_DEFINITION_PATH_MAX 4096
#define AR_DEFINITION_TOOLS_MAX 64
#define AR_DEFINITION_WORKTREE "worktree"

/* A skill or an agent definition: a Markdown file with front matter. What it asks for (tools, model, mode)
 * are words of its author, and grant nothing. */
struct ar_definition {
	enum ar_inspect_kind kind; /* SKILL or AGENT */
	struct ar_str name, description; /* one line each, no control characters */
	struct ar_str path; /* of the file, from the folder */
	struct ar_str text; /* what it says, without the front matter */
	struct ar_texts tools; /* of an agent; no `at`: it names none */
	struct ar_str model, mode; /* of an agent; each may be absent */
	struct ar_str isolation; /* of an agent; "worktree", or absent */
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
	const struct ar_definition
		*definitions; /* that can be used, without secrets; no name of a kind twice */
	size_t definition_count;
	const struct ar_server *servers; /* that .mcp.json names, usable or not; texts may have secrets */
	size_t server_count;
	struct ar_str servers_digest; /* of that file; absent: there is none that can be read */
};

struct ar_inspect_run {
	struct ar_str folder; /* real path */
	struct ar_str worker; /* wk_..., that has the folder; absent: this machine */
	struct ar_texts variables; /* of the workspace: NAME=value, or the NAME of one with a secret */
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
