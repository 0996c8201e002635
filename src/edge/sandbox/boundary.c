/* See boundary.h: the life of a sandbox. What a launch gets is settle.c's. */
#include "boundary.h"

#include "boundary_priv.h"
#include "compiler.h"
#include "filter.h"
#include "mem.h"
#include "self_test.h"

#include <limits.h>
#include <unistd.h>

#define SELF_TEST_MS 60000 /* each question has five seconds of its own, on a busy machine too */
#define LANDLOCK_REPORTS 7

/* Where this program is. */
static struct ar_str own_folder(struct ar_arena *a)
{
	char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path));

	while (len > 0 && path[len - 1] != '/')
		len--;
	return len > 1 ? ar_arena_str(a, (struct ar_str){ path, (size_t)len - 1 }) : AR_STR(".");
}

struct ar_str ar_sandbox_helpers(const struct ar_sandbox *s)
{
	return s->helpers;
}

struct ar_str ar_sandbox_helper(const struct ar_sandbox *s, const char *name, struct ar_arena *a)
{
	return ar_arena_fmt(a, "%.*s/%s", AR_STR_ARG(s->helpers), name);
}

static enum ar_status copy_settings(struct ar_sandbox *s, const struct ar_sandbox_options *o,
				    struct ar_error *err)
{
	const struct ar_roots_options roots = { o->state_dir, o->home, o->read_roots, o->write_roots };
	struct ar_str unknown = ar_mechanisms_unknown(o->without);
	enum ar_status rc;

	if (!ar_str_absent(unknown))
		return ar_fail(err, AR_E_INVALID, "sandbox.without: there is no mechanism '%.*s'",
			       AR_STR_ARG(unknown));
	s->helpers = ar_str_empty(o->helpers) ? own_folder(&s->arena) : ar_arena_str(&s->arena, o->helpers);
	s->env = ar_arena_str(&s->arena, o->env);
	s->protected_paths = ar_arena_str(&s->arena, o->protected_paths);
	s->limits = o->limits;
	rc = ar_command_secrets_copy(&s->secrets, o->secrets, o->secret_count, &s->arena, err);
	if (rc == AR_OK)
		rc = ar_sandbox_ids_init(&s->ids, o->uid_first, o->uid_last, err);
	if (rc == AR_OK)
		rc = ar_roots_find(&roots, &s->arena, &s->roots, err);
	return rc;
}

static void mark_absent(struct ar_sandbox *s, enum ar_mechanism m, const char *why)
{
	if (!s->mechanisms.works[m])
		return;
	s->mechanisms.works[m] = false;
	s->mechanisms.detail[m] = ar_str_from(why);
}

/* What agent-init proved is worth nothing when we cannot make our half of it. */
static void add_ours(struct ar_sandbox *s)
{
	static const char no_group[] = "agentd cannot create such a control group";

	for (int i = 0; i < AR_FILTER_COUNT; i++) {
		struct ar_error err = { 0 };

		if (ar_filter_make((enum ar_filter_kind)i, &s->arena, &s->filters[i], &err) != AR_OK)
			mark_absent(s, AR_MECH_SECCOMP, ar_arena_str(&s->arena, ar_str_from(err.msg)).p);
	}
	if (!s->cgroups.counts)
		mark_absent(s, AR_MECH_CGROUP_PIDS, no_group);
	if (!s->cgroups.weighs)
		mark_absent(s, AR_MECH_CGROUP_MEMORY, no_group);
	if (!s->cgroups.kills)
		mark_absent(s, AR_MECH_CGROUP_KILL, no_group);
}

/* A limit that nobody keeps is not claimed. */
static void check_cpu(struct ar_sandbox *s)
{
	bool is_kept = s->cgroups.paces && s->mechanisms.works[AR_MECH_CGROUP_PIDS];

	s->how.lacks_cpu = s->limits.cpu_percent > 0 && !is_kept;
	if (s->how.lacks_cpu)
		s->limits.cpu_percent = 0;
}

static void run_self_test(struct ar_sandbox *s, const struct ar_sandbox_options *o)
{
	const struct ar_self_test test = { ar_sandbox_helper(s, "agent-init", &s->arena), o->without,
					   SELF_TEST_MS };
	struct ar_assess_options *how = &s->how;
	struct ar_error err = { 0 };
	struct ar_str text;
	enum ar_status rc = ar_self_test_run(&test, &s->arena, &text, &err);

	*how = (struct ar_assess_options){ .backend = s->ids.backend,
					   .allows_danger = o->allows_danger,
					   .has_proxy = o->has_proxy };
	if (rc == AR_OK)
		rc = ar_mechanisms_read(text, &s->arena, &s->mechanisms, &err);
	if (rc != AR_OK)
		how->failure = ar_arena_str(&s->arena, ar_str_from(err.msg));
	how->is_missing = rc == AR_E_NOT_FOUND;
	add_ours(s);
	check_cpu(s);
	ar_sandbox_assess(&s->mechanisms, how, &s->arena, &s->host);
}

enum ar_status ar_sandbox_open(const struct ar_sandbox_options *o, struct ar_sandbox **ret,
			       struct ar_error *err)
{
	struct ar_sandbox *s = ar_new0(sizeof(*s));
	enum ar_status rc = copy_settings(s, o, err);

	if (rc != AR_OK) {
		ar_sandbox_close(s);
		return rc;
	}
	ar_cgroups_open(&s->cgroups, o->limits.cpu_percent > 0, &s->arena);
	run_self_test(s, o);
	*ret = s;
	return AR_OK;
}

const struct ar_sandbox_host *ar_sandbox_host_of(const struct ar_sandbox *s)
{
	return &s->host;
}

/* Landlock reports since its seventh version; the self-test says which one there is. */
void ar_sandbox_add_evidence(struct ar_sandbox *s, bool sees_mounts)
{
	struct ar_str version = s->mechanisms.detail[AR_MECH_LANDLOCK];
	uint64_t abi = 0;

	if (ar_str_starts(version, AR_STR("ABI ")))
		ar_str_to_u64(ar_str_sub(version, 4, version.len), &abi);
	s->how.sees_landlock = abi >= LANDLOCK_REPORTS;
	s->how.sees_mounts = sees_mounts;
	ar_sandbox_assess(&s->mechanisms, &s->how, &s->arena, &s->host);
}

void ar_sandbox_release(struct ar_sandbox *s, const struct ar_launch *l)
{
	ar_cgroups_remove(&s->cgroups, &l->plan->cgroups);
}

void ar_sandbox_close(struct ar_sandbox *s)
{
	if (!s)
		return;
	ar_cgroups_close(&s->cgroups);
	ar_arena_fini(&s->arena);
	ar_free(s);
}
