/* See assess.h. */
#include "assess.h"

#include "compiler.h"
#include "json.h"
#include "profile.h"

#define OF(name) (1u << AR_SANDBOX_##name)
#define WRITING (OF(WORKSPACE_WRITE) | OF(NO_NETWORK) | OF(ALLOWLISTED_NETWORK))
#define BOUNDED (OF(READ_ONLY) | WRITING)
#define ALL (BOUNDED | OF(DANGER_FULL_ACCESS))

#define NEVER_USED 1u /* of no profile, and not worth a word */

#define REMEDY_PRIVILEGE \
	"run agentd as root with CAP_SYS_ADMIN (Docker: --cap-add SYS_ADMIN --security-opt " \
	"seccomp=unconfined " \
	"--security-opt apparmor=unconfined), or as a user on a kernel that lets users make namespaces"
#define REMEDY_USERNS \
	"let users make namespaces: sysctl kernel.unprivileged_userns_clone=1, user.max_user_namespaces " \
	"above 0, on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0; or run agentd as root"
#define REMEDY_CGROUP \
	"mount cgroups writable and let agentd have a group of its own (systemd: Delegate=yes; Docker: " \
	"--cgroupns=private with /sys/fs/cgroup writable)"

/* What each is for, when root runs the daemon and when anybody else does. A mechanism without profiles is
 * never the only thing in the way: without it something is named as not enforced. */
static const struct {
	unsigned profiles[AR_PLAN_USERNS + 1]; /* by enum ar_plan_backend */
	const char *remedy;
} needs[AR_MECH_COUNT] = {
	/* agent-proxy has no other user to become where root does not run the daemon, and serves nobody
	 * without it. */
	[AR_MECH_LANDLOCK] = { { 0, 0, OF(ALLOWLISTED_NETWORK) },
			       "use a kernel of at least 5.13 with landlock among its security modules (boot "
			       "with "
			       "lsm=landlock,...)" },
	[AR_MECH_MOUNT_VIEW] = { { 0, BOUNDED, BOUNDED }, REMEDY_PRIVILEGE },
	[AR_MECH_PINS] = { { 0, WRITING, WRITING }, REMEDY_PRIVILEGE },
	[AR_MECH_IDMAP] = { { 0, BOUNDED, NEVER_USED },
			    "use a kernel of at least 5.12 and a file system with idmapped mounts (ext4, "
			    "xfs, btrfs, "
			    "tmpfs from 6.3), or run agentd as the owner of the workspace" },
	[AR_MECH_PID_NAMESPACE] = { { 0, ALL, BOUNDED }, REMEDY_PRIVILEGE },
	[AR_MECH_NETWORK_NAMESPACE] = { { 0, BOUNDED, BOUNDED }, REMEDY_PRIVILEGE },
	[AR_MECH_IPC_NAMESPACE] = { { 0, BOUNDED, BOUNDED }, REMEDY_PRIVILEGE },
	[AR_MECH_USER_NAMESPACE] = { { 0, NEVER_USED, BOUNDED }, REMEDY_USERNS },
	[AR_MECH_SECCOMP] = { { 0, ALL, ALL }, "use a kernel with CONFIG_SECCOMP_FILTER" },
	[AR_MECH_SECCOMP_NOTIFY] = { { 0, ALL, ALL },
				     "use a kernel of at least 5.5 whose seccomp can notify, outside of "
				     "gVisor and "
				     "the like" },
	[AR_MECH_CAPABILITIES] = { { 0, BOUNDED, BOUNDED }, REMEDY_PRIVILEGE },
	[AR_MECH_FD_HYGIENE] = { { 0, ALL, ALL }, "use a kernel of at least 5.9, which has close_range" },
	[AR_MECH_CGROUP_KILL] = { { 0, 0, 0 }, REMEDY_CGROUP },
	[AR_MECH_CGROUP_PIDS] = { { 0, 0, 0 }, REMEDY_CGROUP },
	[AR_MECH_CGROUP_MEMORY] = { { 0, 0, 0 }, REMEDY_CGROUP },
	[AR_MECH_PTY] = { { 0, 0, 0 },
			  "mount devpts, with newinstance allowed; commands without a terminal work" },
};

static const char danger_off[] = "danger_full_access is switched off";
static const char danger_remedy[] =
	"set sandbox.allow_danger to true, if every client of this daemon may have full access";
static const char proxy_off[] = "no proxy serves the connections of allowlisted_network";
static const char proxy_remedy[] = "use workspace_write, or name the hosts in sandbox.allow_hosts";

static bool needs_it(enum ar_sandbox_profile profile, int mechanism, enum ar_plan_backend backend)
{
	return (needs[mechanism].profiles[backend] & (1u << profile)) != 0;
}

static struct ar_str reason_of(const struct ar_mechanisms *m, int i, struct ar_arena *a)
{
	if (ar_str_empty(m->detail[i]))
		return ar_arena_fmt(a, "%s does not work here", ar_mechanism_name((enum ar_mechanism)i));
	return ar_arena_fmt(a, "%s does not work here (%.*s)", ar_mechanism_name((enum ar_mechanism)i),
			    AR_STR_ARG(m->detail[i]));
}

/* The first mechanism that is missing gives the remedy; often the others fail for the same reason. */
static void judge_mechanisms(const struct ar_mechanisms *m, enum ar_sandbox_profile profile,
			     enum ar_plan_backend backend, struct ar_arena *a,
			     struct ar_sandbox_standing *ret)
{
	unsigned more = 0;

	for (int i = 0; i < AR_MECH_COUNT; i++) {
		if (m->works[i] || !needs_it(profile, i, backend))
			continue;
		if (!ar_str_absent(ret->reason)) {
			more++;
			continue;
		}
		ret->reason = reason_of(m, i, a);
		ret->remedy = ar_str_from(needs[i].remedy);
	}
	if (more > 0)
		ret->reason = ar_arena_fmt(a, "%s, and %u more do not", ret->reason.p, more);
}

static void set_unavailable(struct ar_sandbox_standing *ret, const char *reason, const char *remedy)
{
	ret->reason = ar_str_from(reason);
	ret->remedy = ar_str_from(remedy);
}

static void judge_profile(const struct ar_mechanisms *m, const struct ar_assess_options *o,
			  enum ar_sandbox_profile profile, struct ar_arena *a,
			  struct ar_sandbox_standing *ret)
{
	if (!ar_str_absent(o->failure)) {
		ret->reason = o->failure;
		ret->remedy = o->is_missing ? AR_STR("put agent-init and agent-shim next to agentd, or set "
						     "sandbox.helpers to their directory")
					    : AR_STR("run agent-init --probe by hand to see what it says");
		return;
	}
	judge_mechanisms(m, profile, o->backend, a, ret);
	if (!ar_str_absent(ret->reason))
		return;
	if (profile == AR_SANDBOX_DANGER_FULL_ACCESS && !o->allows_danger)
		set_unavailable(ret, danger_off, danger_remedy);
	if (profile == AR_SANDBOX_ALLOWLISTED_NETWORK && !o->has_proxy)
		set_unavailable(ret, proxy_off, proxy_remedy);
	ret->is_available = ar_str_absent(ret->reason);
}

/* One sentence each, in the fact of every launch: what a reader must not take for granted. */
static void write_gaps(struct ar_jw *w, const struct ar_mechanisms *m, const struct ar_profile *p,
		       bool lacks_cpu)
{
	ar_jw_key(w, "notEnforced");
	ar_jw_open_array(w);
	if (ar_profile_is_danger(p))
		ar_jw_str(
			w,
			AR_STR("files, network and system calls: only the user's own permissions limit it"));
	if (!ar_profile_is_danger(p) && !m->works[AR_MECH_LANDLOCK])
		ar_jw_str(w, AR_STR("files are limited by mounts alone: the kernel has no Landlock"));
	if (!m->works[AR_MECH_CGROUP_PIDS])
		ar_jw_str(w, AR_STR("processes are counted per user, not per command: no cgroup"));
	if (!m->works[AR_MECH_CGROUP_MEMORY])
		ar_jw_str(w, AR_STR("memory is limited per process, not in total: no cgroup"));
	if (lacks_cpu)
		ar_jw_str(w, AR_STR("CPU time has no limit: no cgroup with the cpu controller"));
	if (ar_profile_writes(p))
		ar_jw_str(w, AR_STR("protected paths that do not exist yet can be created; disk space has no "
				    "limit"));
	if (p->network == AR_PLAN_NET_PROXY)
		ar_jw_str(w, AR_STR("what is sent to allowed hosts is not inspected"));
	ar_jw_close_array(w);
}

/* Refusals that leave no record here: a reader must not take their absence for proof. */
static void write_unseen(struct ar_jw *w, const struct ar_mechanisms *m, const struct ar_assess_options *o)
{
	ar_jw_key(w, "violationsUnseen");
	ar_jw_open_array(w);
	if (!m->works[AR_MECH_SECCOMP_NOTIFY])
		ar_jw_str(w, AR_STR("refused system calls: the kernel does not tell of them"));
	if (m->works[AR_MECH_LANDLOCK] && !o->sees_landlock)
		ar_jw_str(w, AR_STR("files that Landlock refused to a command, such as /etc/shadow: only "
				    "kernel audit tells of them (sandbox.audit, a daemon of root)"));
	if (!o->sees_mounts)
		ar_jw_str(w, AR_STR("writes of a command to read-only places: only kernel audit tells of "
				    "them (sandbox.audit, a daemon of root)"));
	ar_jw_str(w, AR_STR("files that the sandbox does not show: for a command they do not exist"));
	ar_jw_close_array(w);
}

static void write_evidence(struct ar_jw *w, const struct ar_mechanisms *m, const struct ar_assess_options *o,
			   bool is_danger)
{
	ar_jw_key(w, "violationEvidence");
	ar_jw_open_array(w);
	if (m->works[AR_MECH_SECCOMP_NOTIFY])
		ar_jw_str(w, AR_STR("seccomp-notify"));
	if (o->sees_landlock && m->works[AR_MECH_LANDLOCK] && !is_danger)
		ar_jw_str(w, AR_STR("kernel-landlock"));
	if (o->sees_mounts && !is_danger)
		ar_jw_str(w, AR_STR("kernel-mount"));
	ar_jw_close_array(w);
}

static struct ar_str guarantees(const struct ar_mechanisms *m, enum ar_sandbox_profile profile,
				const struct ar_assess_options *o, struct ar_arena *a)
{
	enum ar_plan_backend backend = o->backend;
	static const char *const networks[] = {
		[AR_PLAN_NET_NONE] = "none", [AR_PLAN_NET_PROXY] = "proxy", [AR_PLAN_NET_HOST] = "host"
	};
	const struct ar_profile *p = ar_profile_of(profile);
	bool is_danger = ar_profile_is_danger(p);
	struct ar_buf out = { 0 };
	struct ar_jw w = ar_jw(&out);
	struct ar_str text;

	ar_jw_open(&w);
	ar_jw_mstr(&w, "profile", ar_str_from(ar_sandbox_name(profile)));
	ar_jw_mstr(&w, "files",
		   is_danger			? AR_STR("host")
		   : m->works[AR_MECH_LANDLOCK] ? AR_STR("mounts_and_landlock")
						: AR_STR("mounts"));
	ar_jw_mstr(&w, "network", ar_str_from(networks[p->network]));
	ar_jw_mstr(&w, "systemCalls", is_danger ? AR_STR("host") : AR_STR("filtered"));
	ar_jw_mstr(&w, "identity", backend == AR_PLAN_ROOT ? AR_STR("uid") : AR_STR("user_namespace"));
	ar_jw_mstr(&w, "limits", m->works[AR_MECH_CGROUP_PIDS] ? AR_STR("cgroup") : AR_STR("rlimit_only"));
	ar_jw_mstr(&w, "ending",
		   m->works[AR_MECH_CGROUP_KILL]	    ? AR_STR("cgroup_kill")
		   : is_danger && backend == AR_PLAN_USERNS ? AR_STR("reaper")
							    : AR_STR("pid_namespace"));
	write_evidence(&w, m, o, is_danger);
	if (!is_danger)
		write_unseen(&w, m, o);
	write_gaps(&w, m, p, o->lacks_cpu);
	ar_jw_close(&w);
	text = ar_arena_str(a, ar_buf_str(&out));
	ar_buf_fini(&out);
	return text;
}

static struct ar_str mechanisms_json(const struct ar_mechanisms *m, enum ar_plan_backend backend,
				     struct ar_arena *a)
{
	struct ar_buf out = { 0 };
	struct ar_jw w = ar_jw(&out);
	struct ar_str text;

	ar_jw_open_array(&w);
	for (int i = 0; i < AR_MECH_COUNT; i++) {
		if (needs[i].profiles[backend] == NEVER_USED)
			continue;
		ar_jw_open(&w);
		ar_jw_mstr(&w, "mechanism", ar_str_from(ar_mechanism_name((enum ar_mechanism)i)));
		ar_jw_mbool(&w, "isWorking", m->works[i]);
		ar_jw_mstr(&w, "detail", m->detail[i]);
		if (!m->works[i])
			ar_jw_mstr(&w, "remedy", ar_str_from(needs[i].remedy));
		ar_jw_close(&w);
	}
	ar_jw_close_array(&w);
	text = ar_arena_str(a, ar_buf_str(&out));
	ar_buf_fini(&out);
	return text;
}

void ar_sandbox_assess(const struct ar_mechanisms *m, const struct ar_assess_options *o, struct ar_arena *a,
		       struct ar_sandbox_host *ret)
{
	/* What was not tried is no finding about the kernel. */
	*ret = (struct ar_sandbox_host){ .ladder = ar_str_absent(o->failure)
							   ? mechanisms_json(m, o->backend, a)
							   : AR_STR("[]") };
	for (int i = 1; i < AR_SANDBOX_COUNT; i++) {
		enum ar_sandbox_profile profile = (enum ar_sandbox_profile)i;

		judge_profile(m, o, profile, a, &ret->profiles[i]);
		/* Of what cannot be had nothing is claimed. */
		if (ret->profiles[i].is_available)
			ret->profiles[i].guarantees = guarantees(m, profile, o, a);
	}
}
