/* See aggregate.h. Records of several events come interleaved; an event is whole when the kernel says so, or
 * when its place is needed. */
#include "aggregate.h"

#include "compiler.h"
#include "refusal_counts.h"
#include "mem.h"
#include "record.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#define DENIALS_MAX 4 /* of one event */
#define KEY "agentruntime" /* of our rules, agent-audit */
#define NO_SESSION UINT32_MAX

struct denial {
	struct ar_str blockers, path;
	uint64_t domain;
};

struct ar_audit_event {
	uint64_t serial; /* 0: free */
	struct ar_arena arena;
	uint32_t session;
	int64_t call, result;
	bool has_call, is_ours;
	struct ar_str cwd, path, parent;
	struct denial denials[DENIALS_MAX];
	size_t denial_count;
	uint64_t new_domain; /* first heard of here; 0: none */
	int64_t new_domain_pid; /* who made it */
};

void ar_audit_aggregate_init(struct ar_audit_aggregate *b)
{
	*b = (struct ar_audit_aggregate){ .events = ar_new0(AR_AUDIT_EVENTS * sizeof(*b->events)) };
	ar_list_init(&b->watchers);
}

void ar_audit_aggregate_fini(struct ar_audit_aggregate *b)
{
	struct ar_list *node;

	while ((node = ar_list_pop(&b->watchers)))
		ar_refusal_counts_fini(AR_CONTAINER_OF(node, struct ar_audit_watcher, node));
	for (size_t i = 0; i < AR_AUDIT_EVENTS; i++)
		ar_arena_fini(&b->events[i].arena);
	ar_free(b->events);
}

static struct ar_audit_watcher *watcher_of(struct ar_audit_aggregate *b, uint32_t session)
{
	AR_LIST_FOR (node, &b->watchers) {
		struct ar_audit_watcher *w = AR_CONTAINER_OF(node, struct ar_audit_watcher, node);

		if (w->session == session)
			return w;
	}
	return NULL;
}

static struct ar_audit_domain *domain_of(struct ar_audit_aggregate *b, uint64_t id)
{
	for (size_t i = 0; i < AR_AUDIT_DOMAINS; i++) {
		if (b->domains[i].id == id)
			return &b->domains[i];
	}
	return NULL;
}

/* A domain is ours when its first event says that agent-init made it; another one is of a program that
 * restricts itself. */
static void add_domain(struct ar_audit_aggregate *b, const struct ar_audit_event *e,
		       struct ar_audit_watcher *w)
{
	if (e->new_domain == 0 || e->new_domain_pid != w->pid || domain_of(b, e->new_domain))
		return;
	b->domains[b->next_domain++ % AR_AUDIT_DOMAINS] =
		(struct ar_audit_domain){ .id = e->new_domain, .session = w->session };
	w->denials_open++;
}

/* ---- an event that is whole ---- */

/* The names of calls that change files. One that is not here is reported by its number. */
static struct ar_str name_of(const struct ar_audit_event *e, struct ar_arena *a)
{
#define CALL(name) \
	{ \
		SYS_##name, #name \
	}
	static const struct {
		long call;
		const char *name;
	} calls[] = {
#ifdef SYS_open
		CALL(open),	 CALL(creat),	  CALL(mkdir),	     CALL(rmdir),    CALL(unlink),
		CALL(rename),	 CALL(link),	  CALL(symlink),     CALL(chmod),    CALL(chown),
		CALL(lchown),	 CALL(mknod),	  CALL(utime),	     CALL(utimes),
#endif
		CALL(openat),	 CALL(mkdirat),	  CALL(unlinkat),    CALL(renameat), CALL(renameat2),
		CALL(linkat),	 CALL(symlinkat), CALL(fchmodat),    CALL(fchownat), CALL(mknodat),
		CALL(utimensat), CALL(truncate),  CALL(ftruncate),   CALL(fchmod),   CALL(fchown),
		CALL(setxattr),	 CALL(lsetxattr), CALL(removexattr),
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(calls); i++) {
		if (calls[i].call == e->call)
			return ar_str_from(calls[i].name);
	}
	return ar_arena_fmt(a, "system call %lld", (long long)e->call);
}

/* As seen inside; of a file that was to be made the kernel names the folder alone. */
static struct ar_str path_of(struct ar_audit_event *e)
{
	struct ar_str path = ar_str_absent(e->path) ? e->parent : e->path;

	if (ar_str_empty(path) || path.p[0] == '/' || ar_str_absent(e->cwd))
		return path;
	while (ar_str_starts(path, AR_STR("./")))
		path = ar_str_sub(path, 2, path.len);
	return ar_arena_fmt(&e->arena, "%.*s/%.*s", AR_STR_ARG(e->cwd), AR_STR_ARG(path));
}

static void report_denials(struct ar_audit_aggregate *b, struct ar_audit_event *e, struct ar_audit_watcher *w)
{
	add_domain(b, e, w);
	for (size_t i = 0; i < e->denial_count; i++) {
		struct ar_audit_domain *d = domain_of(b, e->denials[i].domain);
		struct ar_audit_refusal r = { true, e->denials[i].blockers, e->denials[i].path,
					      e->result < 0 ? -e->result : EACCES };

		if (!d || d->session != w->session)
			continue;
		w->denied++;
		ar_refusal_counts_add(w, &r);
	}
}

static void report_mount(struct ar_audit_event *e, struct ar_audit_watcher *w)
{
	struct ar_audit_refusal r = { false, name_of(e, &e->arena), path_of(e), -e->result };

	if (e->is_ours && (e->result == -EROFS || e->result == -EBUSY))
		ar_refusal_counts_add(w, &r);
}

/* The session is in the record of the call; when that one was lost, the domain may be known from before. */
static struct ar_audit_watcher *owner_of(struct ar_audit_aggregate *b, const struct ar_audit_event *e)
{
	struct ar_audit_domain *d;

	if (e->has_call)
		return watcher_of(b, e->session);
	d = e->denial_count > 0 ? domain_of(b, e->denials[0].domain) : NULL;
	return d ? watcher_of(b, d->session) : NULL;
}

static void finish_event(struct ar_audit_aggregate *b, struct ar_audit_event *e)
{
	struct ar_audit_watcher *w = owner_of(b, e);

	if (w && e->denial_count > 0)
		report_denials(b, e, w);
	else if (w && e->has_call)
		report_mount(e, w);
	e->serial = 0;
}

/* ---- records ---- */

static struct ar_audit_event *event_of(struct ar_audit_aggregate *b, uint64_t serial)
{
	struct ar_audit_event *e;
	struct ar_arena arena;

	for (size_t i = 0; i < AR_AUDIT_EVENTS; i++) {
		if (b->events[i].serial == serial)
			return &b->events[i];
	}
	e = &b->events[b->next_event++ % AR_AUDIT_EVENTS];
	if (e->serial)
		finish_event(b, e);
	ar_arena_reset(&e->arena);
	arena = e->arena;
	*e = (struct ar_audit_event){ .serial = serial, .arena = arena, .session = NO_SESSION };
	return e;
}

static bool domain_id(struct ar_str text, uint64_t *ret)
{
	struct ar_str hex = ar_record_field(text, "domain");
	uint64_t id = 0;

	if (ar_str_empty(hex) || hex.len > 16)
		return false;
	for (size_t i = 0; i < hex.len; i++) {
		char c = hex.p[i];

		if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
			return false;
		id = id << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	*ret = id;
	return id != 0;
}

static void read_call(struct ar_audit_event *e, struct ar_str text)
{
	int64_t session = NO_SESSION;

	e->has_call = ar_record_number(text, "ses", &session) &&
		      ar_record_number(text, "syscall", &e->call) &&
		      ar_record_number(text, "exit", &e->result);
	e->session = session >= 0 && session < NO_SESSION ? (uint32_t)session : NO_SESSION;
	e->is_ours = ar_str_is(ar_record_field(text, "key"), KEY);
}

/* The first name that is not a folder on the way: what was to be changed. */
static void read_path(struct ar_audit_event *e, struct ar_str text)
{
	struct ar_str name = ar_arena_str(&e->arena, ar_record_text(text, "name", &e->arena));
	bool is_parent = ar_str_is(ar_record_field(text, "nametype"), "PARENT");

	if (ar_str_absent(name))
		return;
	if (is_parent && ar_str_absent(e->parent))
		e->parent = name;
	if (!is_parent && ar_str_absent(e->path))
		e->path = name;
}

static void read_denial(struct ar_audit_event *e, struct ar_str text)
{
	struct denial *d = &e->denials[e->denial_count];

	if (e->denial_count == DENIALS_MAX || !domain_id(text, &d->domain))
		return;
	d->blockers = ar_arena_str(&e->arena, ar_record_field(text, "blockers"));
	d->path = ar_arena_str(&e->arena, ar_record_text(text, "path", &e->arena));
	e->denial_count++;
}

static void read_domain_start(struct ar_audit_event *e, struct ar_str text)
{
	if (!domain_id(text, &e->new_domain) || !ar_record_number(text, "pid", &e->new_domain_pid))
		e->new_domain = 0;
}

/* A domain is gone: the kernel says how often it refused. */
static void read_domain_end(struct ar_audit_aggregate *b, struct ar_str text)
{
	struct ar_audit_watcher *w;
	struct ar_audit_domain *d;
	int64_t denials;
	uint64_t id;

	if (!domain_id(text, &id) || !ar_record_number(text, "denials", &denials) || !(d = domain_of(b, id)))
		return;
	w = watcher_of(b, d->session);
	if (w) {
		w->denials_open -= w->denials_open > 0;
		w->denials += (uint64_t)denials;
	}
	*d = (struct ar_audit_domain){ 0 };
}

void ar_audit_aggregate_add(struct ar_audit_aggregate *b, unsigned type, struct ar_str text)
{
	uint64_t serial;

	if (!ar_record_serial(text, &serial) || serial == 0)
		return;
	switch (type) {
	case AR_AUDIT_SYSCALL:
		read_call(event_of(b, serial), text);
		return;
	case AR_AUDIT_PATH:
		read_path(event_of(b, serial), text);
		return;
	case AR_AUDIT_CWD: {
		struct ar_audit_event *e = event_of(b, serial);

		e->cwd = ar_arena_str(&e->arena, ar_record_text(text, "cwd", &e->arena));
		return;
	}
	case AR_AUDIT_ACCESS:
		read_denial(event_of(b, serial), text);
		return;
	case AR_AUDIT_DOMAIN:
		if (ar_str_is(ar_record_field(text, "status"), "allocated"))
			read_domain_start(event_of(b, serial), text);
		else
			read_domain_end(b, text);
		return;
	case AR_AUDIT_END:
		finish_event(b, event_of(b, serial));
		return;
	}
}

/* ---- watchers ---- */

void ar_audit_aggregate_watch(struct ar_audit_aggregate *b, struct ar_audit_watcher *w)
{
	ar_list_push(&b->watchers, &w->node);
}

void ar_audit_aggregate_unwatch(struct ar_audit_aggregate *b, struct ar_audit_watcher *w)
{
	(void)b;
	ar_list_del(&w->node);
	ar_refusal_counts_fini(w);
}

void ar_audit_aggregate_settle(struct ar_audit_aggregate *b, struct ar_audit_watcher *w)
{
	ar_refusal_counts_report(w);
	ar_audit_aggregate_unwatch(b, w);
}
