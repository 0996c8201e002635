/* Commands of sessions as a person at a terminal has them: find.c says which is meant, watch.c shows
 * what one writes and ends with it, screen.c keeps its output from steering more than the screen. One
 * thread. */
#ifndef AR_CTL_PROCESS_H
#define AR_CTL_PROCESS_H

#include "follow.h"

/* One process as the read models show it; texts kept for the invocation. */
struct ar_ctl_process {
	struct ar_str id, session, status;
	int64_t sequence; /* its facts come after this one */
	bool is_running, has_tty;
};

/* The process that `word` means: a whole id, or `last` for the newest of the newest session. Failure has
 * been said on standard error. */
AR_MUST_USE enum ar_exit ar_process_find(struct ar_ctl *c, const char *word, struct ar_ctl_process *ret);

/* get_session of the session of the id, with `look` called for each of its processes, oldest first. */
typedef void ar_process_look(void *arg, struct ar_json process, struct ar_json session);
AR_MUST_USE enum ar_exit ar_process_each(struct ar_ctl *c, struct ar_str session, ar_process_look *look,
					 void *arg);

/* ---- screen.c ---- */

/* Bytes for a terminal, without the sequences that reach beyond its screen: titles, the clipboard, links,
 * device strings. May be cut anywhere. */
struct ar_screen {
	int state;
};
void ar_screen_feed(struct ar_screen *s, struct ar_str bytes, struct ar_buf *out);

/* ---- watch.c ---- */

struct ar_process_watch {
	struct ar_ctl *ctl;
	const struct ar_ctl_process *process;
	bool is_raw; /* its bytes as they are, through the screen's filter; otherwise as text */
	bool is_follow; /* until it ends */
	/* Somebody types for it: called when standard input can be read; NULL: nobody does. False: leave. */
	bool (*typed)(void *arg);
	void *arg;

	struct ar_screen screen; /* private from here on */
	int64_t shown[4]; /* bytes of each stream */
	int64_t until; /* the newest fact when it began */
	int quiet_fd;
	bool is_quiet;
	enum ar_exit exit; /* as the process ended: OK for exit code 0 */
};

/* AR_EXIT_OK when the process ended well or everything there is was shown; FAILED when it ended otherwise;
 * INTERRUPTED when left. */
AR_MUST_USE enum ar_exit ar_process_watch_run(struct ar_process_watch *w);

#endif
