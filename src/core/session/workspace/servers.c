/* MCP servers that the file .mcp.json of a trusted workspace names. Starting a program needs more than trust
 * in the folder: the file must be the one that was trusted. What is to be started is a fact before it is, and
 * so is how that went; a turn whose servers are as they were adds neither. Pure. */
#include "apply.h"
#include "decide.h"
#include "hash.h"
#include "inspect.h"
#include "permission/permission.h"
#include "workspace/environment.h"
#include "workspace/isolation.h"
#include "workspace/workspace.h"

/* Why none of them is started; absent: nothing stands in the way. */
static struct ar_str why_none(const struct ar_decision *d, const struct ar_inspected *found)
{
	const struct ar_work_folder folder = ar_work_folder_of_session(d->session);
	enum ar_sandbox_profile profile;

	if (!d->input->policy->starts_servers)
		return AR_STR("unavailable: this runtime cannot start servers of workspaces");
	if (ar_work_folder_is_own(&folder))
		return AR_STR("not_supported: they are started in sessions that share the folder of the "
			      "workspace");
	if (!ar_str_eq(d->session->bound->servers_digest, found->servers_digest))
		return AR_STR(AR_SERVERS_CHANGED);
	if (!ar_profile_of_servers(d->session, d->input->policy, &profile))
		return AR_STR("not_allowed: the workspace allows no sandbox profile that servers may have");
	return AR_STR_NONE;
}

static struct ar_shape_workspace_server listed(const struct ar_server *of, struct ar_str why)
{
	struct ar_str reason = ar_str_absent(of->reason) ? why : of->reason;

	return (struct ar_shape_workspace_server){ .name = of->name,
						   .transport = ar_str_absent(of->command)
									? AR_WORKSPACE_SERVER_TRANSPORT_HTTP
									: AR_WORKSPACE_SERVER_TRANSPORT_STDIO,
						   .status = ar_str_absent(reason)
								     ? AR_WORKSPACE_SERVER_STATUS_STARTING
								     : AR_WORKSPACE_SERVER_STATUS_NOT_STARTED,
						   .reason = reason };
}

static bool is_wanted(const struct ar_shape_workspace_server *s)
{
	return s->status != AR_WORKSPACE_SERVER_STATUS_NOT_STARTED;
}

static size_t count_wanted(const struct ar_shape_workspace_server_list *list)
{
	size_t count = 0;

	for (size_t i = 0; i < list->count; i++)
		count += is_wanted(&list->at[i]);
	return count;
}

/* How the start of one went is no difference: it is asked for again. */
static bool is_same(const struct ar_shape_workspace_server *known,
		    const struct ar_shape_workspace_server *found)
{
	return ar_str_eq(known->name, found->name) && known->transport == found->transport &&
	       is_wanted(known) == is_wanted(found) &&
	       (is_wanted(found) || ar_str_eq(known->reason, found->reason));
}

static bool is_known(const struct ar_session *s, const struct ar_ev_workspace_servers_starting *found)
{
	if (!ar_str_eq(s->servers_digest, found->digest) || s->servers.count != found->servers.count)
		return false;
	for (size_t i = 0; i < found->servers.count; i++) {
		if (!is_same(&s->servers.at[i], &found->servers.at[i]))
			return false;
	}
	return true;
}

static struct ar_shape_workspace_server_list list_of(const struct ar_decision *d,
						     const struct ar_inspected *found)
{
	struct ar_shape_workspace_server *list =
		ar_arena_alloc(d->arena, (found->server_count + 1) * sizeof(*list));

	for (size_t i = 0; i < found->server_count; i++)
		list[i] = listed(&found->servers[i], why_none(d, found));
	return (struct ar_shape_workspace_server_list){ list, found->server_count };
}

static void start(struct ar_decision *d, const struct ar_turn *turn, const struct ar_inspected *found,
		  const struct ar_shape_workspace_server_list *list)
{
	struct ar_server *servers = ar_arena_alloc(d->arena, (list->count + 1) * sizeof(*servers));
	size_t count = 0;

	for (size_t i = 0; i < list->count; i++) {
		if (is_wanted(&list->at[i]))
			servers[count++] = found->servers[i];
	}
	ar_decide_effect(d, AR_EFFECT_SERVERS)->servers = (struct ar_effect_servers){
		.turn = turn->id, .digest = found->servers_digest, .servers = servers, .count = count
	};
}

enum ar_hold ar_servers_start(struct ar_decision *d, const struct ar_turn *turn,
			      const struct ar_inspected *found)
{
	const struct ar_ev_workspace_servers_starting fact = { .digest = found->servers_digest,
							       .servers = list_of(d, found) };
	size_t had = count_wanted(&d->session->servers);

	if (fact.servers.count == 0 && d->session->servers.count == 0)
		return AR_GO_ON;
	if (!is_known(d->session, &fact))
		ar_turn_emit(d, turn, AR_EV_WORKSPACE_SERVERS_STARTING, &fact);
	if (had + count_wanted(&fact.servers) == 0)
		return AR_GO_ON;
	start(d, turn, found, &fact.servers);
	return AR_HELD;
}

/* ---- started ---- */

static const int statuses[] = {
	[AR_SERVER_READY] = AR_WORKSPACE_SERVER_STATUS_READY,
	[AR_SERVER_FAILED] = AR_WORKSPACE_SERVER_STATUS_FAILED,
	[AR_SERVER_REFUSED] = AR_WORKSPACE_SERVER_STATUS_FAILED,
};

static void set_state(const struct ar_decision *d, struct ar_shape_workspace_server *s)
{
	for (size_t i = 0; i < d->input->servers->count; i++) {
		const struct ar_server_state *state = &d->input->servers->states[i];
		bool is_ready = state->status == AR_SERVER_READY;

		if (!is_wanted(s) || !ar_str_eq(state->name, s->name))
			continue;
		s->status = statuses[state->status];
		s->reason = is_ready ? AR_STR_NONE : ar_str_utf8_prefix(state->reason, AR_SERVER_REASON_MAX);
		s->tools = (struct ar_opt_int){ state->tools, is_ready };
	}
}

static void emit_started(struct ar_decision *d, const struct ar_turn *turn)
{
	const struct ar_session *s = d->session;
	struct ar_shape_workspace_server *list =
		ar_arena_alloc(d->arena, (s->servers.count + 1) * sizeof(*list));
	const struct ar_ev_workspace_servers_started fact = { .digest = s->servers_digest,
							      .servers = { list, s->servers.count } };

	for (size_t i = 0; i < s->servers.count; i++) {
		list[i] = s->servers.at[i];
		set_state(d, &list[i]);
	}
	if (!ar_list_equal(&ar_shape_workspace_server_desc, &s->servers, &fact.servers))
		ar_turn_emit(d, turn, AR_EV_WORKSPACE_SERVERS_STARTED, &fact);
}

enum ar_status ar_decide_servers(struct ar_decision *d, struct ar_error *err AR_UNUSED)
{
	struct ar_thread *thread;
	struct ar_turn *turn = ar_session_turn(d->session, d->input->servers->turn, &thread);

	if (!turn || !ar_workspace_is_awaited(thread, turn))
		return AR_OK;
	if (!ar_str_absent(d->session->servers_digest))
		emit_started(d, turn);
	ar_decide_ask_model(d, turn, 1);
	return AR_OK;
}

/* ---- state ---- */

static void keep_servers(struct ar_session *s, struct ar_str digest,
			 const struct ar_shape_workspace_server_list *servers)
{
	s->servers_digest = ar_arena_str(&s->arena, digest);
	ar_list_copy(&ar_shape_workspace_server_desc, servers, AR_COPY_TEXT, &s->arena, &s->servers);
}

enum ar_status ar_apply_workspace_servers_starting(struct ar_session *s, const struct ar_event *e,
						   struct ar_error *err AR_UNUSED)
{
	const struct ar_ev_workspace_servers_starting *p = PAYLOAD(e, workspace_servers_starting);

	keep_servers(s, p->digest, &p->servers);
	return AR_OK;
}

enum ar_status ar_apply_workspace_servers_started(struct ar_session *s, const struct ar_event *e,
						  struct ar_error *err AR_UNUSED)
{
	const struct ar_ev_workspace_servers_started *p = PAYLOAD(e, workspace_servers_started);

	keep_servers(s, p->digest, &p->servers);
	return AR_OK;
}

/* What sessions of one folder may have different of each other, and servers are started with. */
static struct ar_str variant_of(const struct ar_session *s, struct ar_arena *a)
{
	struct ar_texts variables = ar_environment_texts(&s->bound->environment, true, a);
	AR_AUTO(ar_buf_fini) struct ar_buf text = { 0 };
	struct ar_hash hash;
	char hex[AR_HASH_HEX];

	for (size_t i = 0; i < variables.count; i++)
		ar_buf_addf(&text, "%.*s\n", AR_STR_ARG(variables.at[i]));
	for (size_t i = 0; i < s->bound->allowed_profiles.count; i++)
		ar_buf_addf(&text, "\n%.*s", AR_STR_ARG(s->bound->allowed_profiles.at[i]));
	hash = ar_hash_of(ar_buf_str(&text));
	ar_hash_hex(&hash, hex);
	return ar_arena_fmt(a, "%.*s", AR_HASH_HEX, hex);
}

struct ar_str ar_session_servers_key(const struct ar_session *s, struct ar_arena *a)
{
	if (!s->bound || ar_str_absent(s->servers_digest) || count_wanted(&s->servers) == 0)
		return AR_STR_NONE;
	return ar_arena_fmt(a, "%.*s %.*s %.*s %.*s", AR_STR_ARG(s->bound->workspace_id),
			    AR_STR_ARG(s->servers_digest), AR_STR_ARG(variant_of(s, a)),
			    AR_STR_ARG(s->bound->folder));
}
