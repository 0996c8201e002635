/* The checkpoint port: keeps the files of a workspace in a store of its own and brings them back. Decides
 * nothing: which states are kept and when is the core's.
 *
 * Contract: loop thread only. The caller owns the run and what it points to until on_done, which comes
 * exactly once, never before start() returns, also after cancel(). Runs of one workspace are carried out one
 * after the other, in the order of start(). A run that is not done by its deadline is ended. */
#ifndef AR_PORT_CHECKPOINT_H
#define AR_PORT_CHECKPOINT_H

#include "clock.h"
#include "status.h"
#include "str.h"
#include "tool.h"

#define AR_CHECKPOINT_ID_MAX 64 /* characters: hex of an object id */
#define AR_CHECKPOINT_DIFF_MAX ((size_t)1024 * 1024) /* of the text of a DIFF */

enum ar_checkpoint_kind {
	AR_CHECKPOINT_SAVE = 1, /* keeps the files as they are now */
	AR_CHECKPOINT_RESTORE, /* makes the files as `to` has them */
	AR_CHECKPOINT_DIFF, /* what changed from `from` to `to` */
	AR_CHECKPOINT_FORGET, /* `ids` are no longer needed; what only they hold may go */
	/* makes `folder` as `origin` is, or empty; what was in it is gone. One below the folders of the
	 * workspace is made if it is not there */
	AR_CHECKPOINT_FILL,
	/* brings what changed in `folder` since `from` into `origin`, all of it or nothing */
	AR_CHECKPOINT_MERGE,
	AR_CHECKPOINT_CLEAR, /* `folder` is removed with everything in it; no store is needed */
};

/* How a session's folder is its own; the words of the catalogue, in its order. */
enum ar_isolation {
	AR_ISOLATION_SHARED = 1, /* it is that of the workspace */
	AR_ISOLATION_COPY,
	AR_ISOLATION_EMPTY,
	AR_ISOLATION_WORKTREE, /* a copy with a repository of its own */
	AR_ISOLATION_OVERLAY, /* a copy, too; what it shares with the origin is the file system's business */
};

/* What becomes of files that changed on both sides in ways that cannot be merged. */
enum ar_merge_side {
	AR_MERGE_SIDE_NONE, /* they are `conflicts`, and nothing is written */
	AR_MERGE_SIDE_SESSION,
	AR_MERGE_SIDE_WORKSPACE, /* the workspace's stay, and that settles it */
	AR_MERGE_SIDE_LEFT_OUT, /* the workspace's stay, and the session's are changes still to be merged */
};

struct ar_checkpoint_result {
	/* AR_OK; AR_E_UNAVAILABLE: no store, no sandbox, no git; AR_E_CANCELED; AR_E_... */
	enum ar_status status;
	struct ar_str message; /* not AR_OK: why, and what to do, in words */
	/* SAVE: the tree of the files. RESTORE, MERGE: of the files before it. FILL: of the origin */
	struct ar_str id;
	int64_t files, bytes; /* SAVE: in it. RESTORE, DIFF: files changed; bytes of them */
	/* SAVE, FILL: files that are not in it (too large, not regular, too many). MERGE: protected paths */
	int64_t left_out;
	struct ar_str base; /* MERGE: what the next one is from; absent: there are conflicts */
	struct ar_str conflicts; /* MERGE: JSON array of paths, at most 10,000; absent: there are none */
	bool is_shared; /* FILL: the files share their blocks with the origin's */
	/* RESTORE, DIFF, MERGE: JSON array of {path, change: added|changed|deleted}, at most 10,000 */
	struct ar_str changes;
	struct ar_str diff; /* DIFF: unified text, cut at AR_CHECKPOINT_DIFF_MAX */
	bool is_cut; /* changes or diff are not complete */
	/* SAVE with `from`: files that differ from it, without those that the repository ignores; and how
	 * many there are, listed or not */
	const struct ar_tool_artifact *artifacts;
	size_t artifact_count;
	int64_t changed;
	/* SAVE with `measures`, also if it failed: space of all files, those that are left out included */
	int64_t used;
	bool is_measured, is_partial; /* partial: it is at least that */
}; /* texts live until on_done returns */

struct ar_checkpoint_run {
	enum ar_checkpoint_kind kind;
	struct ar_str tenant, workspace_id; /* ws_...: whose store it is */
	struct ar_str folder; /* of the workspace, or of the session alone: real path */
	struct ar_str origin; /* of the workspace, where `folder` is not; absent: it is */
	struct ar_str session_id; /* for whom */
	struct ar_str worker; /* wk_..., that has the folder; absent: this machine */
	/* ids of earlier results; DIFF without `to`: the files as they are; SAVE with `from`: what differs
	 * from it is listed */
	struct ar_str from, to;
	const struct ar_str *ids; /* FORGET; MERGE: paths, only they and what is below them; none: all */
	size_t id_count;
	enum ar_isolation isolation; /* FILL */
	/* FILL with a repository: its branch. MERGE: its id; of a repeat, `id` of the result is as of the
	 * first */
	struct ar_str label;
	enum ar_merge_side side; /* MERGE */
	/* SAVE: states of sessions that saved none for so many days may go; 0: none of them */
	int64_t keep_days;
	bool measures; /* SAVE: the space of the files is wanted, too */
	ar_usec deadline; /* monotonic */
	void (*on_done)(struct ar_checkpoint_run *r, const struct ar_checkpoint_result *result);
	void *adapter_state;
};

struct ar_checkpoints;

struct ar_checkpoints_vtable {
	void (*start)(struct ar_checkpoints *c, struct ar_checkpoint_run *r);
	void (*cancel)(struct ar_checkpoints *c, struct ar_checkpoint_run *r);
	void (*close)(struct ar_checkpoints *c);
};

struct ar_checkpoints {
	const struct ar_checkpoints_vtable *v;
};

#endif
