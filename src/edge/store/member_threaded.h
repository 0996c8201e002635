/* What an engine's membership shares with store_threaded.h in kind, not in use: a queue of one
 * heartbeat and a thread of its own, so that no heartbeat waits behind a batch. `lock` guards the
 * queue; the engine's part is the thread's alone. An engine embeds this as its first member and gives a
 * function that does a heartbeat. */
#ifndef AR_EDGE_STORE_MEMBER_THREADED_H
#define AR_EDGE_STORE_MEMBER_THREADED_H

#include "member.h"
#include "store.h"

#include <pthread.h>

struct ar_member_threaded {
	struct ar_member member;
	void (*serve)(struct ar_member_threaded *t,
		      struct ar_member_beat *b); /* sets its status and results */
	void (*dispose)(struct ar_member_threaded *t); /* the engine's own part, at the end of all; frees t */
	ar_store_wake_fn *wake;
	void *wake_arg;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct ar_member_beat *submitted, *finished;
	bool stopping, started;
	pthread_t thread;
};

AR_BEGIN_DECLS

/* Makes a zeroed struct ready; no thread runs yet. Everything before `lock` but member.v is the caller's to
 * set. */
void ar_member_threaded_init(struct ar_member_threaded *t);

AR_MUST_USE enum ar_status ar_member_threaded_start(struct ar_member_threaded *t, struct ar_error *err);

/* Ends the thread, if it runs, and disposes: for an open that failed. close() does it after the rest. */
void ar_member_threaded_free(struct ar_member_threaded *t);

AR_END_DECLS

#endif
