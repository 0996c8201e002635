/* The workspace that a session works in, as people name one: by the folder they stand in, by a folder, or by
 * its id. folder.c finds and makes it, choose.c decides for `run` and `chat`, trust.c lists what a folder
 * brings and asks. A folder of this machine is named over the unix socket only: elsewhere its path says
 * nothing. One thread. */
#ifndef AR_CTL_WORKSPACE_H
#define AR_CTL_WORKSPACE_H

#include "api.h"

/* What the command line says about it. */
struct ar_workspace_choice {
	const char *word; /* a folder or an id; NULL: the current folder */
	bool is_off; /* the server's own folder */
	bool is_continued; /* its newest session is wanted, not a new one */
	bool trusts; /* without a question */
	const char *isolation; /* of a new session; NULL: as the workspace says */
};

struct ar_workspace {
	struct ar_str id; /* absent: none */
	struct ar_str root; /* as far as it is known */
	bool is_trusted;
};

/* ---- choose.c: run and chat ---- */

/* The workspace of a session, made if it has to be, and asked about where it is not trusted. An absent id is
 * the server's own folder: it was chosen, or the current one cannot be used, which a note says. Failure has
 * been said on standard error. */
AR_MUST_USE enum ar_exit ar_workspace_choose(struct ar_ctl *c, const struct ar_workspace_choice *choice,
					     struct ar_workspace *ret);

/* The newest session of that workspace; without one, of those that have none. A daemon of another machine is
 * asked for the newest of all. */
AR_MUST_USE enum ar_exit ar_workspace_newest(struct ar_ctl *c, const struct ar_workspace_choice *choice,
					     const struct ar_workspace *w, struct ar_str *ret_session);

/* Options that exclude each other, or a session that is there already; `has_session` says the latter. */
AR_MUST_USE enum ar_exit ar_workspace_check(struct ar_ctl *c, const struct ar_workspace_choice *choice,
					    bool has_session);

/* ---- changes.c: of a session or a child agent with a folder of its own ---- */

struct ar_workspace_change {
	const char *session; /* as people name one */
	const char *agent; /* a child agent of it with a folder of its own; NULL: the session */
	char *const *paths; /* apply: only these */
	int path_count;
	const char *reason;
};

AR_MUST_USE enum ar_exit ar_workspace_apply(struct ar_ctl *c, const struct ar_workspace_change *what);
AR_MUST_USE enum ar_exit ar_workspace_discard(struct ar_ctl *c, const struct ar_workspace_change *what);
AR_MUST_USE enum ar_exit ar_workspace_diff(struct ar_ctl *c, const char *session, const char *agent);

/* ---- env.c ---- */

/* How the variables of a workspace are to change. */
struct ar_workspace_env {
	char *const *words; /* NAME=VALUE */
	int word_count;
	const char *secret; /* NAME=SECRET; NULL: none */
	const char *unset; /* names, with commas between them; NULL: none */
};

bool ar_workspace_is_variable(const char *word); /* NAME=VALUE, with a name that variables have */

/* Changes them and prints those that there are then. */
AR_MUST_USE enum ar_exit ar_workspace_env(struct ar_ctl *c, struct ar_str id,
					  const struct ar_workspace_env *what);

/* ---- folder.c ---- */

/* Whether the word is an id; everything else is a folder. */
bool ar_workspace_is_id(const char *word);

/* The real path of a folder; NULL: the current one. *ret_reason says what is wrong with it. */
AR_MUST_USE bool ar_workspace_path(struct ar_ctl *c, const char *word, struct ar_str *ret,
				   const char **ret_reason);

/* The same, and a failure has been said on standard error. */
AR_MUST_USE enum ar_exit ar_workspace_folder(struct ar_ctl *c, const char *word, struct ar_str *ret);

/* create_workspace of that root. AR_OK: the server answered, and `ret` has an id, or reply the refusal.
 * `reply` always wants fini. */
AR_MUST_USE enum ar_status ar_workspace_make(struct ar_ctl *c, struct ar_str root, struct ar_workspace *ret,
					     struct ar_api_reply *reply, struct ar_error *err);

/* get_workspace. Failure has been said on standard error. */
AR_MUST_USE enum ar_exit ar_workspace_get(struct ar_ctl *c, const char *id, struct ar_workspace *ret);

/* The workspace of that root among those that are there, archived ones too; absent id: there is none. */
AR_MUST_USE enum ar_exit ar_workspace_find(struct ar_ctl *c, struct ar_str root, struct ar_workspace *ret);

/* The one that a record of the API describes, kept for the invocation. */
struct ar_workspace ar_workspace_read(struct ar_ctl *c, struct ar_json record);

/* ---- trust.c ---- */

/* For a session: where the folder brings something that would be used and is not trusted, a terminal asks;
 * elsewhere a note says that it is not used. Only a yes that could not be recorded is a failure. */
AR_MUST_USE enum ar_exit ar_workspace_offer_trust(struct ar_ctl *c, const struct ar_workspace *w);

/* Lists what the folder brings on standard error and trusts it. With `is_asked` a terminal asks in between;
 * *ret_is_trusted says what became of it. */
AR_MUST_USE enum ar_exit ar_workspace_trust(struct ar_ctl *c, const struct ar_workspace *w, bool is_asked,
					    bool *ret_is_trusted);

/* The items of an answer of inspect_workspace, a line each, and the servers that one of them names. */
void ar_workspace_print_items(struct ar_out *o, struct ar_json seen);

#endif
