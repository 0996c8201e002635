/* The port for MCP servers of workspaces: starts those that a trusted folder names, for the sessions in it,
 * and says how that went. What they offer comes into the toolbox under the run's key. Whether they may be
 * started is decided in the core.
 *
 * Contract: loop thread only. The caller owns the run and what it points to until on_done, which comes
 * exactly once, never before start() returns, and within the time that the settings give; drop() gives a run
 * back without it, and is fine for one that is over. Servers of the same folder that are not named, or of
 * another digest, are ended. */
#ifndef AR_PORT_WORKSPACE_SERVERS_H
#define AR_PORT_WORKSPACE_SERVERS_H

#include "sandbox.h"
#include "str.h"

#include <stdbool.h>
#include <stdint.h>

#define AR_SERVERS_MAX 16 /* that one file may name */
#define AR_SERVER_NAME_MAX 64 /* letters, digits, _ and - */
#define AR_SERVER_WORDS_MAX 64 /* arguments, variables, headers: of each */
#define AR_SERVER_TEXT_MAX 4096 /* bytes of each of them */
#define AR_SERVER_REASON_MAX 512
#define AR_SERVER_SHOWN_MAX 1024

/* A server as the file names it, with variables replaced. */
struct ar_server {
	struct ar_str name;
	struct ar_str command; /* program; absent: it has a url */
	struct ar_texts args;
	struct ar_texts env; /* NAME=value */
	struct ar_str url;
	struct ar_str reason; /* why it cannot be used; absent: it can */
	struct ar_str shown; /* program and arguments, or url, for people, without secrets; may be absent */
};

enum ar_server_status {
	AR_SERVER_READY = 1,
	AR_SERVER_FAILED,
	AR_SERVER_REFUSED, /* too many run already */
};

struct ar_server_state {
	struct ar_str name;
	enum ar_server_status status;
	struct ar_str reason; /* not READY: why, without secrets */
	int64_t tools;
};

struct ar_servers_run {
	struct ar_str tenant, workspace; /* the id of the workspace */
	struct ar_str folder; /* real path */
	struct ar_str digest; /* of the file that names them */
	struct ar_str key; /* under which their tools are in the toolbox; sessions with the same share them */
	struct ar_texts environment; /* NAME=value, of the workspace; their own variables come after it */
	enum ar_sandbox_profile profile;
	bool is_apart; /* of a tenant that variables of the host are not for */
	const struct ar_server *servers;
	size_t count; /* 0: what runs for the folder is ended */
	void (*on_done)(struct ar_servers_run *r, const struct ar_server_state *states, size_t count);
	void *port_state; /* the port's while the run is open */
};

struct ar_servers;

struct ar_servers_vtable {
	void (*start)(struct ar_servers *s, struct ar_servers_run *r);
	void (*drop)(struct ar_servers *s, struct ar_servers_run *r);
};

struct ar_servers {
	const struct ar_servers_vtable *v;
};

#endif
