/* READY is not a copy of the plan: ids, capabilities, no_new_privs and filters are read from
 * /proc/self/status, namespaces are those that we are in. What does not agree with the plan fails here, so
 * that nothing is reported that is not so. */
#include "readback.h"

#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The value behind `name:` in the text of a status file; "" when it is not there. */
static const char *value_of(const char *status, const char *name)
{
	const char *at = strstr(status, name);

	return at ? at + strlen(name) + strspn(at + strlen(name), "\t ") : "";
}

static uint64_t number_of(const char *status, const char *name, int base)
{
	return strtoull(value_of(status, name), NULL, base);
}

static void add_member(struct ar_message *t, const char *name, uint64_t n)
{
	ar_message_add(t, ",\"");
	ar_message_add(t, name);
	ar_message_add(t, "\":");
	ar_message_add_number(t, n);
}

static int add_status(struct ar_init *in, struct ar_message *t)
{
	char status[8192], caps[17] = "";
	uint64_t uid, privs, filters;

	if (ar_file_read(AT_FDCWD, "/proc/self/status", status, sizeof(status)) <= 0)
		return ar_init_fail(in, "/proc/self/status", NULL);
	uid = number_of(status, "\nUid:", 10);
	privs = number_of(status, "\nNoNewPrivs:", 10);
	filters = number_of(status, "\nSeccomp_filters:", 10);
	memcpy(caps, value_of(status, "\nCapEff:"),
	       strspn(value_of(status, "\nCapEff:"), "0123456789abcdef") % 17);
	errno = EPERM;
	if (privs != 1 || (in->plan.filter && filters == 0) || number_of(status, "\nCapEff:", 16) != 0)
		return ar_init_fail(in, "what the kernel says is not what was asked for", NULL);
	add_member(t, "uid", uid);
	ar_message_add(t, ",\"noNewPrivs\":true");
	add_member(t, "seccomp", filters);
	ar_message_add(t, ",\"capabilities\":");
	ar_message_add_string(t, caps);
	return 0;
}

static int add_namespaces(struct ar_init *in, struct ar_message *t)
{
	static const struct {
		const char *name, *path;
		uint64_t flag;
	} rows[] = {
		{ "pid", "/proc/self/ns/pid", CLONE_NEWPID }, { "net", "/proc/self/ns/net", CLONE_NEWNET },
		{ "mnt", "/proc/self/ns/mnt", CLONE_NEWNS },  { "ipc", "/proc/self/ns/ipc", CLONE_NEWIPC },
		{ "uts", "/proc/self/ns/uts", CLONE_NEWUTS }, { "user", "/proc/self/ns/user", CLONE_NEWUSER },
	};
	struct stat st;

	ar_message_add(t, ",\"namespaces\":{");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ar_message_add(t, i ? ",\"" : "\"");
		ar_message_add(t, rows[i].name);
		ar_message_add(t, "\":");
		if (!(in->namespaces & rows[i].flag)) {
			ar_message_add(t, "null");
			continue;
		}
		if (stat(rows[i].path, &st) < 0)
			return ar_init_fail(in, "namespace", rows[i].path);
		ar_message_add_number(t, st.st_ino);
	}
	ar_message_add(t, "}");
	return 0;
}

static void add_landlock(const struct ar_init *in, struct ar_message *t)
{
	ar_message_add(t, ",\"landlock\":{\"abi\":");
	ar_message_add_number(t, (uint64_t)in->landlock_abi);
	ar_message_add(t, in->is_landlocked ? ",\"isEnforced\":true" : ",\"isEnforced\":false");
	ar_message_add(t, ",\"domain\":null}");
}

/* A JSON array in the making. */
struct list {
	struct ar_message *t;
	bool has_any;
};

static struct list open_list(struct ar_message *t, const char *name)
{
	ar_message_add(t, ",\"");
	ar_message_add(t, name);
	ar_message_add(t, "\":[");
	return (struct list){ .t = t };
}

static void add_item(struct list *l, const char *text)
{
	ar_message_add(l->t, l->has_any ? "," : "");
	ar_message_add_string(l->t, text);
	l->has_any = true;
}

static void add_roots(const struct ar_init *in, struct ar_message *t)
{
	const struct ar_plan *p = &in->plan;
	bool is_writable = p->mode == AR_PLAN_WORKSPACE_WRITE;
	struct list l = open_list(t, "readRoots");

	for (size_t i = 0; i < p->read_roots.count; i++) {
		if (!in->is_missing[i])
			add_item(&l, p->read_roots.at[i]);
	}
	for (size_t i = 0; i < p->write_roots.count && p->mode == AR_PLAN_READ_ONLY; i++)
		add_item(&l, p->write_roots.at[i]);
	if (p->workspace && (p->mode == AR_PLAN_READ_ONLY || p->reads_workspace))
		add_item(&l, p->workspace);
	ar_message_add(t, "]");
	l = open_list(t, "writeRoots");
	if (p->workspace && is_writable && !p->reads_workspace)
		add_item(&l, p->workspace);
	for (size_t i = 0; i < p->write_roots.count && is_writable; i++)
		add_item(&l, p->write_roots.at[i]);
	ar_message_add(t, "]");
}

static void add_guarded(const struct ar_init *in, struct ar_message *t, const char *name, enum ar_guarded how)
{
	const struct ar_plan_paths *paths = &in->plan.protected_paths;
	struct list l = open_list(t, name);

	for (size_t i = 0; i < paths->count; i++) {
		if (in->guarded[i] == how)
			add_item(&l, paths->at[i]);
	}
	ar_message_add(t, "]");
}

static void add_fds(const struct ar_init *in, struct ar_message *t)
{
	static const char *const names[AR_INIT_FD_COUNT] = { "stdin",  "stdout", "stderr", "tty",
							     "notify", "proxy",	 "pid" };
	struct list l = open_list(t, "fds");

	for (size_t i = 0; i < AR_INIT_FD_COUNT; i++) {
		if (in->fds[i] >= 0)
			add_item(&l, names[i]);
	}
	ar_message_add(t, "]");
}

static void add_plan(const struct ar_init *in, struct ar_message *t)
{
	static const char *const modes[] = { "", "read_only", "workspace_write", "danger" };
	static const char *const networks[] = { "", "none", "proxy", "host" };
	static const char *const backends[] = { "", "root", "userns" };

	ar_message_add(t, ",\"mode\":");
	ar_message_add_string(t, modes[in->plan.mode]);
	ar_message_add(t, ",\"network\":");
	ar_message_add_string(t, networks[in->plan.network]);
	ar_message_add(t, ",\"backend\":");
	ar_message_add_string(t, backends[in->plan.backend]);
}

int ar_readback(struct ar_init *in, struct ar_message *t)
{
	t->len = 0;
	t->is_cut = false;
	ar_message_add(t, "{\"pid\":");
	ar_message_add_number(t, (uint64_t)in->outside);
	add_plan(in, t);
	if (add_status(in, t) < 0 || add_namespaces(in, t) < 0)
		return -1;
	add_landlock(in, t);
	add_roots(in, t);
	add_guarded(in, t, "protected", AR_GUARDED_ITSELF);
	add_guarded(in, t, "protectedTargets", AR_GUARDED_TARGET);
	add_guarded(in, t, "skipped", AR_GUARDED_NOT);
	if (in->session == UINT32_MAX)
		ar_message_add(t, ",\"session\":null");
	else
		add_member(t, "session", in->session);
	add_fds(in, t);
	ar_message_add(t, "}");
	errno = EMSGSIZE;
	return t->is_cut ? ar_init_fail(in, "too many paths for one message", NULL) : 0;
}
