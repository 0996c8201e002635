/* One launch, settled: see boundary.h. Every step reads what was found at start and what the
 * request says, and writes its part of the plan; the control groups come last, so that a refusal
 * leaves nothing. Loop thread. */
#include "boundary_priv.h"
#include "compiler.h"
#include "env_vector.h"
#include "launch_json.h"
#include "profile.h"
#include "protected.h"

#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Decoys: empty files with the names of credential files; opening one is reported. */
static const char *const decoys[] = {
	AR_ROOTS_HOME "/.ssh/id_rsa",
	AR_ROOTS_HOME "/.ssh/id_ed25519",
	AR_ROOTS_HOME "/.aws/credentials",
	"/etc/shadow",
};

struct settling {
	struct ar_sandbox *s;
	const struct ar_process_spec *spec;
	const struct ar_plan_paths *groups; /* NULL: new ones are made */
	const struct ar_profile *profile;
	struct ar_arena *a;
	struct ar_plan *plan;
	struct ar_protected protected;
	struct ar_env_vector env;
	struct ar_given given;
	struct ar_error *err;
};

static enum ar_status check_profile(struct settling *t)
{
	const struct ar_sandbox_standing *standing = &t->s->host.profiles[t->spec->profile];

	if (!standing->is_available)
		return ar_fail(t->err, AR_E_UNAVAILABLE, "%s is not available: %.*s; %.*s",
			       ar_sandbox_name(t->spec->profile), AR_STR_ARG(standing->reason),
			       AR_STR_ARG(standing->remedy));
	if (t->spec->tty && !t->s->mechanisms.works[AR_MECH_PTY])
		return ar_fail(t->err, AR_E_UNAVAILABLE,
			       "terminals are not available here: mount devpts; run it without a terminal");
	return AR_OK;
}

static enum ar_status settle_profile(struct settling *t)
{
	struct ar_plan *p = t->plan;

	p->mode = t->profile->mode;
	p->network = t->profile->network;
	p->backend = t->s->ids.backend;
	p->uid = p->gid = ar_sandbox_uid_of(&t->s->ids, t->spec->session_id);
	if (p->backend == AR_PLAN_USERNS)
		p->gid = t->s->ids.gid;
	p->filter = t->s->filters[t->profile->filter].p;
	p->notifies = p->filter != NULL;
	p->uses_landlock = !ar_profile_is_danger(t->profile) && t->s->mechanisms.works[AR_MECH_LANDLOCK];
	p->limits = t->s->limits;
	p->tty = t->spec->tty;
	p->rows = t->spec->rows ? t->spec->rows : 24;
	p->columns = t->spec->columns ? t->spec->columns : 80;
	p->stdin_is_given = !ar_str_absent(t->spec->input);
	p->keeps_stdin = t->spec->has_input && !p->stdin_is_given;
	return AR_OK;
}

static enum ar_status check_workspace(struct settling *t, struct ar_str real)
{
	const char *wrong = ar_roots_secret_in(&t->s->roots, real);

	if (!wrong && ar_roots_is_system(real))
		wrong = "folders of the system";
	if (!wrong)
		return AR_OK;
	return ar_fail(t->err, AR_E_UNAVAILABLE,
		       "%s is not available: the workspace %.*s contains %s; use a directory that contains "
		       "only the project",
		       ar_sandbox_name(t->spec->profile), AR_STR_ARG(real), wrong);
}

/* Files of root would be written by an id that is mapped to root: a set-uid or set-gid bit, or a key in
 * root's home, away from the host. */
static enum ar_status check_owner(struct settling *t, const struct stat *st)
{
	bool is_roots = st->st_uid == 0;

	if (t->plan->backend != AR_PLAN_ROOT || t->plan->mode == AR_PLAN_READ_ONLY ||
	    (!is_roots && st->st_gid != 0))
		return AR_OK;
	return ar_fail(t->err, AR_E_UNAVAILABLE,
		       "%s is not available: the workspace %s belongs to %s; give the workspace to an "
		       "unprivileged %s, or run agentd as its owner",
		       ar_sandbox_name(t->spec->profile), t->plan->workspace,
		       is_roots ? "root" : "the group root", is_roots ? "user (chown)" : "group (chgrp)");
}

/* It was a real path when the session got it: a command in another workspace may have put a link on it. */
static enum ar_status check_path(struct settling *t, struct ar_str real)
{
	if (ar_str_eq(real, t->spec->workspace))
		return AR_OK;
	return ar_fail(t->err, AR_E_UNAVAILABLE,
		       "%s is not available: the path %.*s of the workspace has a link; name the folder "
		       "itself",
		       ar_sandbox_name(t->spec->profile), AR_STR_ARG(t->spec->workspace));
}

static enum ar_status settle_workspace(struct settling *t)
{
	struct ar_str real;
	enum ar_status rc = AR_OK;
	struct stat st;

	if (ar_str_empty(t->spec->workspace))
		return AR_OK;
	real = ar_path_real(t->spec->workspace, t->a);
	if (ar_str_absent(real) || stat(real.p, &st) != 0 || !S_ISDIR(st.st_mode))
		return ar_fail(t->err, AR_E_INVALID, "the workspace %.*s is not a directory that exists",
			       AR_STR_ARG(t->spec->workspace));
	t->plan->workspace = real.p;
	t->plan->workspace_uid = st.st_uid;
	t->plan->workspace_gid = st.st_gid;
	if (!ar_profile_is_danger(t->profile))
		rc = check_workspace(t, real);
	if (rc == AR_OK)
		rc = check_owner(t, &st);
	if (rc == AR_OK)
		rc = check_path(t, real);
	/* Without a boundary there is no mount to map ids: it runs as the owner of the files. */
	if (rc == AR_OK && ar_profile_is_danger(t->profile) && t->plan->backend == AR_PLAN_ROOT) {
		t->plan->uid = st.st_uid;
		t->plan->gid = st.st_gid;
	}
	return rc;
}

static enum ar_status settle_protected(struct settling *t)
{
	struct ar_protected_options o = { ar_str_from(t->plan->workspace), t->s->protected_paths,
					  t->s->roots.home };
	enum ar_status rc;

	if (!t->plan->workspace || ar_profile_is_danger(t->profile))
		return AR_OK;
	rc = ar_protected_find(&o, t->a, &t->protected, t->err);
	if (ar_profile_writes(t->profile))
		t->plan->protected_paths = t->protected.paths;
	else
		t->protected.replaceable.count = 0; /* nothing is replaced where nothing is written */
	return rc;
}

/* What lies in the workspace is seen with it. */
static bool is_own(const struct settling *t, const char *root)
{
	return t->plan->workspace && ar_path_is_in(ar_str_from(root), ar_str_from(t->plan->workspace));
}

static void add_roots(struct settling *t, struct ar_plan_paths *to, const struct ar_plan_paths *from)
{
	for (size_t i = 0; i < from->count; i++) {
		if (!is_own(t, from->at[i]))
			ar_path_add(to, ar_str_from(from->at[i]), t->a);
	}
}

static enum ar_status settle_roots(struct settling *t)
{
	struct ar_plan *p = t->plan;
	bool writes = ar_profile_writes(t->profile);

	if (ar_profile_is_danger(t->profile))
		return AR_OK;
	add_roots(t, &p->read_roots, &t->s->roots.read);
	add_roots(t, &p->read_roots, &t->protected.git);
	add_roots(t, writes ? &p->write_roots : &p->read_roots, &t->s->roots.write);
	for (size_t i = 0; i < AR_ARRAY_LEN(decoys); i++)
		ar_path_add(&p->decoys, ar_str_from(decoys[i]), t->a);
	return AR_OK;
}

static bool is_seen(const struct settling *t, struct ar_str folder)
{
	const struct ar_plan *p = t->plan;

	return ar_profile_is_danger(t->profile) || is_own(t, folder.p) ||
	       ar_path_covers(&p->read_roots, folder) || ar_path_covers(&p->write_roots, folder);
}

/* /tmp and the home are others inside than here. */
static enum ar_status settle_cwd(struct settling *t)
{
	struct ar_str cwd = t->spec->cwd, real;

	if (ar_str_empty(cwd))
		cwd = t->plan->workspace ? ar_str_from(t->plan->workspace) : AR_STR("/tmp");
	t->plan->cwd = ar_arena_str(t->a, cwd).p;
	if (!ar_profile_is_danger(t->profile) &&
	    (ar_str_is(cwd, "/tmp") || ar_str_is(cwd, AR_ROOTS_HOME) || ar_str_is(cwd, "/")))
		return AR_OK;
	real = cwd.p[0] == '/' ? ar_path_real(cwd, t->a) : AR_STR_NONE;
	if (ar_str_absent(real))
		return ar_fail(t->err, AR_E_INVALID, "the working directory %.*s does not exist",
			       AR_STR_ARG(cwd));
	if (!is_seen(t, real))
		return ar_fail(t->err, AR_E_INVALID,
			       "the working directory %.*s is not visible under %s; use one in the workspace",
			       AR_STR_ARG(cwd), ar_sandbox_name(t->spec->profile));
	t->plan->cwd = real.p;
	return AR_OK;
}

static enum ar_status settle_arguments(struct settling *t)
{
	const struct ar_process_spec *spec = t->spec;

	if (spec->argc == 0 || spec->argc > AR_PLAN_ARGS_MAX)
		return ar_fail(t->err, AR_E_INVALID, "a command has 1 to %d words", AR_PLAN_ARGS_MAX);
	for (size_t i = 0; i < spec->argc; i++) {
		if (memchr(spec->argv[i].p, '\0', spec->argv[i].len))
			return ar_fail(t->err, AR_E_INVALID, "a word of the command contains a NUL byte");
		t->plan->argv[i] = ar_arena_str(t->a, spec->argv[i]).p;
	}
	t->plan->argc = spec->argc;
	return AR_OK;
}

/* Without a boundary it is in the home of the user it runs as. */
static struct ar_str home_of(const struct settling *t, struct ar_str *ret_user)
{
	char text[4096];
	struct passwd entry, *found = NULL;

	*ret_user = AR_STR("agent");
	if (!ar_profile_is_danger(t->profile))
		return AR_STR(AR_ROOTS_HOME);
	if (getpwuid_r(t->plan->uid, &entry, text, sizeof(text), &found) != 0 || !found)
		return AR_STR("/tmp");
	*ret_user = ar_arena_str(t->a, ar_str_from(found->pw_name));
	return ar_arena_str(t->a, ar_str_from(found->pw_dir));
}

static enum ar_status settle_environment(struct settling *t)
{
	struct ar_env_options o = { .path = t->s->roots.path,
				    .cwd = ar_str_from(t->plan->cwd),
				    .session_id = t->spec->session_id,
				    .call_id = t->spec->call_id,
				    .toolchain = t->s->roots.variables,
				    .toolchain_count = t->s->roots.variable_count,
				    .setting = t->spec->is_apart ? AR_STR_NONE : t->s->env,
				    .asked = t->spec->env,
				    .asked_count = t->spec->env_count,
				    .tty = t->spec->tty,
				    .uses_proxy = t->profile->network == AR_PLAN_NET_PROXY };
	enum ar_status rc;

	o.home = home_of(t, &o.user);
	t->env = (struct ar_env_vector){ .at = t->plan->env, .arena = t->a };
	rc = ar_env_fill(&o, &t->env, t->err);
	t->plan->env_count = t->env.count;
	return rc;
}

/* Commands alone: what the runtime starts for itself has no words of anybody. */
static enum ar_status settle_secrets(struct settling *t)
{
	enum ar_status rc;

	if (ar_str_empty(t->spec->command))
		return AR_OK;
	rc = ar_command_secrets_apply(&t->s->secrets, t->spec, t->profile->network == AR_PLAN_NET_PROXY,
				      &t->env, &t->given, t->err);
	t->plan->env_count = t->env.count;
	t->plan->given = (uint32_t)t->given.count;
	return rc;
}

/* All or none: with groups that do not count, agent-init would leave out the limits it has of its own. */
static enum ar_status settle_groups(struct settling *t)
{
	if (t->groups) {
		t->plan->cgroups = *t->groups;
		return AR_OK;
	}
	if (!t->s->mechanisms.works[AR_MECH_CGROUP_PIDS])
		return AR_OK;
	return ar_cgroups_make(&t->s->cgroups, &t->plan->limits, t->a, &t->plan->cgroups, t->err);
}

typedef enum ar_status settle_step(struct settling *t);

static settle_step *const steps[] = {
	check_profile, settle_profile,	 settle_workspace,   settle_protected, settle_roots,
	settle_cwd,    settle_arguments, settle_environment, settle_secrets,   settle_groups,
};

static void describe_launch(const struct settling *t, struct ar_launch *ret)
{
	ret->plan = t->plan;
	memcpy(ret->given, t->given.at, sizeof(ret->given));
	ret->read_roots = ar_launch_read_roots(t->plan, t->a);
	ret->write_roots = ar_launch_write_roots(t->plan, t->a);
	ret->environment = ar_env_json(&t->env);
	ret->limits = ar_launch_limits(t->plan, t->spec, t->a);
	ret->guarantees = ar_launch_guarantees(t->s->host.profiles[t->spec->profile].guarantees,
					       &t->protected.replaceable, t->a);
}

enum ar_status ar_sandbox_plan_in(struct ar_sandbox *s, const struct ar_process_spec *spec,
				  const struct ar_plan_paths *groups, struct ar_arena *a,
				  struct ar_launch *ret, struct ar_error *err)
{
	struct settling *t = ar_arena_alloc(a, sizeof(*t));
	enum ar_status rc = AR_OK;

	*t = (struct settling){ .s = s, .spec = spec, .groups = groups, .a = a, .err = err };
	t->profile = ar_profile_of(spec->profile);
	t->plan = ar_arena_alloc(a, sizeof(*t->plan));
	for (size_t i = 0; rc == AR_OK && i < AR_ARRAY_LEN(steps); i++)
		rc = steps[i](t);
	if (rc == AR_OK)
		describe_launch(t, ret);
	return rc;
}

enum ar_status ar_sandbox_plan(struct ar_sandbox *s, const struct ar_process_spec *spec, struct ar_arena *a,
			       struct ar_launch *ret, struct ar_error *err)
{
	return ar_sandbox_plan_in(s, spec, NULL, a, ret, err);
}
