/* The pure core: decide() emits the facts that follow from an input, and what should then be
 * done; apply() makes a fact true. A fact is applied when it is emitted, so what follows in the
 * same decision sees the state that replay will see. apply() is the only mutator, live and on
 * replay. No I/O, no clock, no randomness, no threads: time, ids and policy come in with the
 * input.
 *
 * A refusal comes before the first fact. A decision that is not stored leaves a state that
 * nobody may use: its owner drops it and loads the session again. */
#ifndef AR_SESSION_SESSION_H
#define AR_SESSION_SESSION_H

#include "buf.h"
#include "codec.h"
#include "effect.h"
#include "hash.h"
#include "inputs.h"
#include "inspect.h"
#include "json.h"
#include "permission/permission.h"
#include "sandbox.h"
#include "state.h"
#include "tool.h"

struct ar_model_entry;

/* What happens to a turn when a handler of a hook fails. */
enum ar_hook_on_failure {
	AR_HOOK_FAIL_AUTO, /* it goes on, except where the handler could have forbidden something */
	AR_HOOK_FAIL_OPEN,
	AR_HOOK_FAIL_CLOSED,
};

/* For which sessions an entry of the settings is. */
struct ar_audience {
	struct ar_texts tenants; /* names, or "*" for all; none: as it is for entries of this kind */
	struct ar_str workspace; /* ws_..., or the path of its folder; empty: any, and none */
};

/* An entry whose tools are not for everybody. */
struct ar_tool_entry {
	struct ar_str name; /* of the server, or of the tool itself */
	enum ar_tool_owner owner; /* AR_TOOL_MCP: the server; AR_TOOL_CONNECTOR: the tool */
	struct ar_audience audience;
};

/* What a new session that names no workspace gets. */
enum ar_default_workspace {
	AR_DEFAULT_NONE,
	AR_DEFAULT_OF_TENANT, /* one for all such sessions of a tenant */
	AR_DEFAULT_OF_SESSION, /* one for each */
};

/* A skill or an agent definition of the settings. */
struct ar_definition_entry {
	struct ar_definition of; /* inspect.h */
	struct ar_audience
		audience; /* without tenants: AR_TENANT_LOCAL, and all that share tools.workspace */
};

struct ar_hook_rule {
	struct ar_str name; /* unique; facts call it handlerRef */
	struct ar_str tool; /* pattern of the names of tools, with * and ?; empty: all */
	int point; /* enum ar_hook_started_hook_point */
	int64_t timeout_ms;
	enum ar_hook_on_failure on_failure;
	struct ar_audience audience; /* without tenants: all */
	bool is_policy; /* a service that decides for the host */
};

/* Budgets of each turn and each session; 0 sets no limit. Money in billionths. */
struct ar_budget_policy {
	int64_t turn[AR_QUOTA_COUNT], session[AR_QUOTA_COUNT];
	int64_t turn_ms;
	int64_t inactivity_ms; /* of a turn in which nothing happens, while it waits for nobody */
	int64_t warn_percent; /* of a budget at which a warning is recorded */
	int64_t repeats; /* of the same call with the same answer in a row that end a turn; 0: none do */
	int64_t output_tokens; /* of one answer, while money is limited and the turn says nothing */
	bool is_asking; /* a used-up budget is put to a person; otherwise it ends the turn */
};

/* What all sessions of a tenant together are limited in. */
enum ar_tenant_limit {
	AR_TENANT_WORKSPACES, /* not archived */
	AR_TENANT_PROCESSES, /* at once, on this node */
	AR_TENANT_TURNS, /* the same */
	AR_TENANT_TOKENS, /* in one day (UTC) */
	AR_TENANT_COST, /* the same; billionths */
	AR_TENANT_WORKSPACE_BYTES, /* of the files of each workspace */
	AR_TENANT_LIMITS
};

struct ar_tenant_quota {
	struct ar_str tenant; /* a name, or AR_TENANT_ANY (quota/quota.h) */
	int64_t limits[AR_TENANT_LIMITS]; /* 0: none */
};

/* What the operator decided; constant while a decision is made. */
struct ar_policy {
	struct ar_str runtime_id;
	struct ar_str node; /* this node among those of a cluster; absent: there is no other */
	uint64_t epoch; /* of that node */
	const struct ar_model_entry *models; /* limits/route.h, in order of preference */
	size_t model_count; /* 0: none is configured, turns fail with advice */
	/* another model may answer when the chosen one cannot and the turn does not say */
	bool may_fall_back;
	int64_t max_attempts; /* model calls per step */
	int64_t backoff_ms; /* doubled per attempt, capped at a minute */
	int64_t max_rounds; /* model answers per turn */
	int64_t max_restarts; /* crash recoveries per turn */
	int64_t queue_max; /* queued turns per thread */
	int64_t context_max; /* messages that a request carries */
	int64_t context_bytes; /* and their bytes */
	int64_t context_tokens; /* size of the model's context window; 0: unknown */
	int64_t compact_at; /* percent of it at which a thread is compacted; 0: never */
	struct ar_str system_prompt;
	const struct ar_inventory *inventory; /* NULL: no tool is configured */
	int64_t tool_ms; /* longest time of one tool call that does not say otherwise */
	int64_t process_output_bytes; /* kept of each stream of a process */
	int64_t checkpoints; /* kept per session with a workspace of its own; 0: none is made */
	int64_t checkpoint_days; /* that one is kept; 0: their number alone decides */
	int64_t process_grace_ms; /* between asking a process to end and killing it */
	int64_t tool_parallel; /* calls of one turn that may run together */
	int64_t tool_result_bytes; /* of one result, for the model */
	struct ar_str workspace; /* real path of tools.workspace; absent: none; ask ar_session_folder() */
	bool is_workspace_shared; /* tenants other than AR_TENANT_LOCAL may use it, too */
	struct ar_str os, arch, shell; /* of this host, in one word each; absent: not known */
	struct ar_str instructions; /* text of the workspace's instruction file; absent: none */
	struct ar_str instructions_file; /* its name; absent: none is wanted */
	struct ar_str instructions_trouble; /* why the model is not given it; absent: it is */
	const struct ar_hook_rule *hooks; /* in the order they are asked */
	size_t hook_count;
	struct ar_budget_policy budget;
	bool queue_by_default; /* busyPolicy when the caller names none */
	bool auto_resume; /* start again by ourselves after a crash */
	enum ar_permission_mode permission_mode; /* 0: default */
	bool may_loosen; /* sessions and turns may allow more than the host does by itself */
	enum ar_sandbox_profile profile; /* of turns that name none; 0: workspace_write */
	bool allow_danger; /* danger_full_access may be given at all */
	const struct ar_sandbox_host *sandbox; /* NULL: nothing can be confined */
	const struct ar_permission_rule *rules;
	size_t rule_count;
	int64_t channel_token_ms; /* that a peer has to come back */
	int64_t action_timeout_ms; /* that a question waits for its answer; 0: for ever */
	int64_t escalate_ms; /* after which another audience is told of it; 0: none is */
	struct ar_str escalate_to; /* that audience */
	bool inspects_workspaces; /* what the files of a trusted workspace bring can be had */
	const struct ar_tenant_quota *tenant_quotas;
	size_t tenant_quota_count;
	const struct ar_tool_entry *tool_entries; /* without tenants: those that tools.workspace is for */
	size_t tool_entry_count;
	const struct ar_audience *secrets; /* of command_secrets, in their order; the same */
	size_t secret_count;
	int64_t subagent_depth; /* how deep children may nest; 0: there are none */
	int64_t subagents_max; /* of a session, not closed */
	int64_t subagents_running; /* of a session at once */
	int64_t workspace_bytes; /* most space of the files of one workspace; 0: no limit */
	const struct ar_definition_entry *definitions; /* of the settings, in their order */
	size_t definition_count;
	int64_t schedule_late_ms; /* after which the time of a schedule counts as missed */
	int64_t schedules_max; /* of one tenant; 0: no limit */
	enum ar_default_workspace default_workspace;
	int64_t progress_ms; /* shortest time between two progress facts of an agent's run; 0: none */
	struct ar_str
		folders; /* real path of workspaces.dir; absent: child agents have no folders of their own */
	bool starts_servers; /* MCP servers that trusted workspaces name can be started */
	bool has_standard_prompt; /* in the place of system_prompt (context/system.c) */
	struct ar_texts secret_names; /* of `secrets`, in their order */
	bool is_traced; /* traces are exported: facts of a turn name its trace */
	bool traces_commands; /* is_traced: commands get the traceparent of their call */
	int64_t delivery_ms; /* in which a result has to be delivered */
	const struct ar_webhook_name *webhooks; /* delivery/delivery.h */
	size_t webhook_count;
	int64_t output_seconds; /* that a large output of a tool or process is kept; 0: as its session */
	bool ends_with_turn; /* processes that a turn leaves running end with it */
};

struct ar_content {
	struct ar_hash hash;
	struct ar_str bytes;
};

/* What a decision says. Everything lives in the arena that decide() was given. */
/* What the standard system prompt says about the sandbox profile of the turn. */
enum ar_prompt_sandbox {
	AR_PROMPT_SANDBOX_ENFORCED,
	AR_PROMPT_SANDBOX_READS, /* not enforced here; read_only is, so tools that only read run */
	AR_PROMPT_SANDBOX_NONE, /* nothing is enforced here */
	AR_PROMPT_SANDBOX_UNKNOWN, /* the worker has not reported yet */
};

/* A standard system prompt, and what it was made of. */
struct ar_prompt {
	struct ar_str text; /* absent: not made yet */
	struct ar_str folder;
	enum ar_sandbox_profile profile;
	enum ar_prompt_sandbox sandbox;
	ar_usec day; /* a time in it */
};

struct ar_decision {
	struct ar_arena *arena;
	struct ar_session *session; /* with all facts that were emitted so far */
	const struct ar_input *input;
	struct ar_json_parser
		*json; /* for texts that are read while deciding; facts are applied with the session's own */
	uint64_t head; /* of the session before this decision */
	ar_usec updated; /* the same: time of its newest fact */
	struct ar_event *events;
	size_t event_count, event_room;
	struct ar_effect *effects;
	size_t effect_count, effect_room;
	struct ar_content *contents;
	size_t content_count, content_room;
	struct ar_str reply; /* JSON result of a command */
	struct ar_counters counters; /* of ids: those that were given out are in no fact yet */
	struct ar_buf scratch; /* for JSON texts while deciding */
	enum ar_status fault; /* of the first fact that contradicts the session; `fault_err` says how */
	struct ar_error fault_err;
	bool is_clock_told; /* the fact about a clock that was set back is emitted */
	uint64_t schema_steps; /* left for all schemas that are read and checked while deciding */
	struct ar_prompt prompt; /* the newest that was made while deciding */
};

/* A session that does not exist yet: session_key set, head 0. */
void ar_session_init(struct ar_session *s, struct ar_str session_key, struct ar_json_parser *json);
void ar_session_fini(struct ar_session *s);

/* Also of one of another tenant: both answers are the same. */
#define AR_NO_WORKSPACE "there is no such workspace"

/* Whether the session may work here: one with a workspace of its own may. tools.workspace belongs to
 * AR_TENANT_LOCAL, unless the operator shares it. */
bool ar_session_is_admitted(const struct ar_session *s, const struct ar_policy *policy);

/* Whether the session is of a tenant that variables, secrets and rights of the host are not for: those
 * are AR_TENANT_LOCAL's, unless the operator shares tools.workspace. */
bool ar_session_is_apart(const struct ar_session *s, const struct ar_policy *policy);

/* Whether the session is one of those that the entry is for; `otherwise`: if the entry names no tenants. */
bool ar_session_is_among(const struct ar_session *s, const struct ar_policy *policy,
			 const struct ar_audience *audience, bool otherwise);

/* The secrets of commands that are not for the session, a bit for each by its place in the settings. */
uint64_t ar_session_withheld(const struct ar_session *s, const struct ar_policy *policy);

/* Whether the tool is one of the session's: what works in a folder needs one, and everything else belongs
 * to the host, as tools.workspace does. */
bool ar_session_may_use(const struct ar_session *s, const struct ar_policy *policy,
			const struct ar_tool *tool);

/* Under which the tools of its workspace's servers are in the toolbox; absent: it has none of them. */
struct ar_str ar_session_servers_key(const struct ar_session *s, struct ar_arena *a);

/* Boundaries of this machine for what works in the session's folder; NULL: it has none, nothing can be
 * confined, or a worker has the folder. */
const struct ar_sandbox_host *ar_session_sandbox(const struct ar_session *s, const struct ar_policy *policy);

/* The folder that the session works in: that of its own workspace, else tools.workspace; absent: none. */
struct ar_str ar_session_folder(const struct ar_session *s, const struct ar_policy *policy);
/* The same of the turns of a thread: a child agent may have one for itself. */
struct ar_str ar_session_folder_in(const struct ar_session *s, const struct ar_policy *policy,
				   struct ar_str thread);

/* The worker that has that folder, or the name of the pool whose workers have it; absent: this machine. */
struct ar_str ar_session_worker(const struct ar_session *s);
bool ar_session_is_in_pool(const struct ar_session *s);

/* Zero events and AR_OK is a legal answer (nothing to do). AR_E_REFUSED carries a catalogue
 * code, and nothing has changed. AR_E_CORRUPT: a fact contradicts the session, whose state is of
 * no use any more. */
AR_MUST_USE enum ar_status ar_session_decide(struct ar_session *s, const struct ar_input *in,
					     struct ar_json_parser *json, struct ar_arena *arena,
					     struct ar_decision *ret, struct ar_error *err);

/* The next fact becomes true. AR_E_CORRUPT: it cannot follow what is known (sequence gap,
 * unknown id, illegal move). */
AR_MUST_USE enum ar_status ar_session_apply(struct ar_session *s, const struct ar_event *e,
					    struct ar_error *err);

/* A tool as the fact tool.catalog.resolved and the answer of get_tool_inventory show it; policy
 * is the word of the decision about it. */
void ar_tool_render(struct ar_jw *w, const struct ar_tool *t, struct ar_str policy);

/* The tools that a turn has, or (with a turn that has but its thread) that one without wishes of
 * its own would have, as an array of such objects: what its next model request offers. */
void ar_session_render_tools(const struct ar_session *s, const struct ar_policy *policy,
			     const struct ar_turn *turn, struct ar_arena *arena, struct ar_jw *w);

/* The whole state as JSON, and back. Decoding gives a state that behaves and prints the same. */
void ar_session_snapshot(const struct ar_session *s, struct ar_buf *out);
/* The same to be stored: most closed children are packed (closed/closed_group.h). */
void ar_session_snapshot_packed(const struct ar_session *s, struct ar_buf *out);
AR_MUST_USE enum ar_status ar_session_restore(struct ar_session *s, struct ar_json snapshot,
					      struct ar_error *err);

#endif
