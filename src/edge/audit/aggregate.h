/* Aggregates audit records: records become events, events become refusals of a session, refusals are reported
 * once when they are new and counted exactly. No socket, no time. Loop thread only. */
#ifndef AR_AUDIT_AGGREGATE_H
#define AR_AUDIT_AGGREGATE_H

#include "arena.h"
#include "list.h"
#include "status.h"

#define AR_AUDIT_KINDS_MAX 64 /* kinds of refusals of one session */

enum ar_audit_type {
	AR_AUDIT_SYSCALL = 1300,
	AR_AUDIT_PATH = 1302,
	AR_AUDIT_CWD = 1307,
	AR_AUDIT_END = 1320, /* of an event */
	AR_AUDIT_ACCESS = 1423, /* Landlock: a denial */
	AR_AUDIT_DOMAIN = 1424, /* Landlock: a domain is first heard of, or is gone */
};

struct ar_audit_watcher {
	uint32_t session; /* of the kernel's audit */
	/* Of agent-init's first process, seen from outside: denials of Landlock count when it made the
	 * domain. A program may restrict itself further; what it then refuses itself is nobody's boundary */
	int64_t pid;
	/* `detail`: JSON object as port/process.h says for AR_PROC_VIOLATION; until it returns. */
	void (*on_violation)(struct ar_audit_watcher *w, struct ar_str detail);
	void (*on_settled)(struct ar_audit_watcher *w);
	/* The rest is the aggregate's. */
	struct ar_list node;
	struct ar_audit_kind *kinds;
	size_t kind_count;
	uint64_t denials_open; /* Landlock domains with denials that are not gone yet */
	/* of Landlock: that we saw; that the kernel counted in domains that are gone */
	uint64_t denied, denials;
	uint64_t marker; /* settling; 0: not. This and the next are audit.c's */
	bool is_marked;
	int64_t settle_by;
};

struct ar_audit_event;

struct ar_audit_domain {
	uint64_t id; /* 0: free */
	uint32_t session;
};

#define AR_AUDIT_EVENTS 64
#define AR_AUDIT_DOMAINS 256

struct ar_audit_aggregate {
	struct ar_list watchers;
	struct ar_audit_event *events; /* AR_AUDIT_EVENTS, not yet whole */
	size_t next_event;
	struct ar_audit_domain domains[AR_AUDIT_DOMAINS]; /* newest over oldest */
	size_t next_domain;
};

AR_BEGIN_DECLS

void ar_audit_aggregate_init(struct ar_audit_aggregate *b);
void ar_audit_aggregate_fini(struct ar_audit_aggregate *b); /* forgets the watchers, without callbacks */

/* One record. */
void ar_audit_aggregate_add(struct ar_audit_aggregate *b, unsigned type, struct ar_str text);

void ar_audit_aggregate_watch(struct ar_audit_aggregate *b, struct ar_audit_watcher *w);

/* Reports the exact counts: of each kind that came more than once, and of denials that the kernel counted
 * without a record. Then forgets the watcher. */
void ar_audit_aggregate_settle(struct ar_audit_aggregate *b, struct ar_audit_watcher *w);
void ar_audit_aggregate_unwatch(struct ar_audit_aggregate *b, struct ar_audit_watcher *w);

AR_END_DECLS

#endif
