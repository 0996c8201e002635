/* What a handler is given: ids, mode, scope, and the thing it is asked about, by ref and as
 * text. Texts are stored contents, so the document names them and the engine puts them in,
 * masked. Nothing of the environment, no file, no key. Pure. */
#include "hook/hooks.h"
#include "worker/worker.h"
#include "tool/calls.h"
#include "permission/permission.h"
#include "describe.h"

#define TEXTS_MAX 4 /* contents of one document beside the arguments of its calls */

/* The document on its way: literal pieces and contents in turn. */
struct document {
	struct ar_decision *d;
	struct ar_jw w;
	struct ar_hook_part *parts; /* room for all */
	size_t count;
};

/* What was written since the last content becomes a literal piece. */
static void cut(struct document *doc)
{
	doc->parts[doc->count++].literal = ar_decide_json_end(doc->d);
	ar_buf_clear(&doc->d->scratch);
}

static void content(struct document *doc, const char *name, struct ar_str ref, enum ar_hook_form form)
{
	if (ar_str_absent(ref))
		return;
	ar_jw_key(&doc->w, name);
	cut(doc);
	doc->parts[doc->count++] = (struct ar_hook_part){ .ref = ref, .form = form };
	ar_jw_raw(&doc->w, AR_STR("")); /* a value stands there: a comma is due */
}

/* ---- the parts of it ---- */

static void write_ids(struct document *doc, const struct ar_ids *ids)
{
	ar_jw_mstr(&doc->w, "sessionId", doc->d->session->id);
	for (size_t i = 0; i < AR_SCOPE_COUNT; i++)
		ar_jw_mstr(&doc->w, ar_scope_names[i], ids->at[i]);
}

struct ar_str ar_hook_scope_ids(struct ar_decision *d, const struct ar_ids *ids)
{
	struct document doc = { .d = d, .w = ar_decide_json(d) };

	ar_jw_open(&doc.w);
	write_ids(&doc, ids);
	ar_jw_close(&doc.w);
	return ar_decide_json_end(d);
}

static bool is_over(const struct ar_hook_chain *chain)
{
	return chain->point == AR_AT_POST_TOOL_USE || chain->point == AR_AT_POST_TOOL_FAILURE;
}

/* The boundary of the call when it is settled; before that, the one that calls of the turn have
 * without asking. What the client runs, and what ended without one, has none. */
static void write_sandbox(struct document *doc, const struct ar_turn *turn, const struct ar_invocation *call,
			  const struct ar_hook_chain *chain)
{
	const struct ar_policy *policy = doc->d->input->policy;
	bool is_settled = call && call->profile.set;
	enum ar_sandbox_profile profile =
		is_settled ? (enum ar_sandbox_profile)call->profile.v
			   : ar_profile_of_turn(doc->d->session, policy, ar_turn_options(turn));
	const struct ar_sandbox_host *host = ar_session_sandbox(doc->d->session, policy);
	bool is_known, is_far = !ar_str_absent(ar_session_worker(doc->d->session));
	bool is_available = is_far ? ar_worker_standing(doc->d, profile, &is_known).is_available
				   : host && host->profiles[profile].is_available;

	ar_jw_key(&doc->w, "sandbox");
	ar_jw_open(&doc->w);
	if (call && (call->is_client || (is_over(chain) && !is_settled))) {
		ar_jw_mstr(&doc->w, "state", AR_STR("not_applicable"));
	} else {
		ar_jw_mstr(&doc->w, "state",
			   !is_available ? AR_STR("unavailable")
			   : is_settled	 ? AR_STR("settled")
					 : AR_STR("undecided"));
		ar_jw_mstr(&doc->w, "profile", ar_str_from(ar_sandbox_name(profile)));
		ar_jw_mstr(&doc->w, "network", ar_str_from(ar_profile_network(profile)));
	}
	ar_jw_close(&doc->w);
}

static void write_surroundings(struct document *doc, const struct ar_turn *turn,
			       const struct ar_invocation *call, const struct ar_hook_chain *chain)
{
	const struct ar_route *route = turn->route;

	ar_jw_mstr(&doc->w, "permissionMode", ar_str_from(ar_permission_mode_of(doc->d, turn)));
	ar_jw_key(&doc->w, "policyRef");
	ar_jw_str(&doc->w, doc->d->session->policy_ref);
	ar_jw_mstr(&doc->w, "workspaceId", doc->d->session->workspace);
	ar_jw_key(&doc->w, "cwd");
	ar_jw_str(&doc->w, ar_decide_folder_of(doc->d, turn));
	ar_jw_mstr(&doc->w, "source", turn->source);
	write_sandbox(doc, turn, call, chain);
	ar_jw_key(&doc->w, "routing");
	ar_jw_open(&doc->w);
	ar_jw_mstr(&doc->w, "mode", route && !ar_str_absent(route->mode) ? route->mode : AR_STR("undecided"));
	ar_jw_mstr(&doc->w, "provider", route ? route->provider : AR_STR_NONE);
	ar_jw_mstr(&doc->w, "model", route ? route->model : AR_STR_NONE);
	ar_jw_close(&doc->w);
	ar_jw_key(&doc->w, "transcriptRef");
	ar_jw_str(&doc->w, ar_decide_thread(doc->d, turn)->request_ref);
}

static void write_prompt(struct document *doc, const struct ar_turn *turn)
{
	struct ar_str ref = ar_hook_prompt(turn);

	ar_jw_key(&doc->w, "prompt");
	ar_jw_open(&doc->w);
	ar_jw_mstr(&doc->w, "ref", ref);
	content(doc, "text", ref, AR_HOOK_PARTS);
	ar_jw_close(&doc->w);
}

static void write_tool(struct document *doc, const struct ar_invocation *call)
{
	ar_jw_key(&doc->w, "tool");
	ar_jw_open(&doc->w);
	ar_jw_mstr(&doc->w, "name", call->name);
	ar_jw_mbool(&doc->w, "isReadOnly", call->is_read_only);
	ar_jw_mbool(&doc->w, "isDestructive", call->is_destructive);
	ar_jw_mstr(&doc->w, "inputRef", call->args_ref);
	content(doc, "input", call->args_ref, AR_HOOK_JSON);
	ar_jw_close(&doc->w);
}

static void write_answer(struct document *doc, const struct ar_invocation *call)
{
	bool is_ok = ar_str_is(call->status, "ok");

	ar_jw_key(&doc->w, is_ok ? "toolOutput" : "toolFailure");
	ar_jw_open(&doc->w);
	ar_jw_mstr(&doc->w, "status", call->status);
	ar_jw_mstr(&doc->w, "category", call->category);
	ar_jw_mstr(&doc->w, "ref", call->output_ref);
	ar_jw_mstr(&doc->w, "answerRef", call->answer_ref);
	content(doc, "text", call->answer_ref, AR_HOOK_TEXT);
	ar_jw_close(&doc->w);
}

static void write_calls(struct document *doc, const struct ar_turn *turn, struct ar_str step)
{
	ar_jw_key(&doc->w, "toolCalls");
	ar_jw_open_array(&doc->w);
	for (size_t i = 0; i < turn->calls.count; i++) {
		const struct ar_invocation *call = turn->calls.at[i];

		if (!ar_str_eq(call->step, step))
			continue;
		ar_jw_open(&doc->w);
		ar_jw_mstr(&doc->w, "toolCallId", call->id);
		ar_jw_mstr(&doc->w, "name", call->name);
		ar_jw_mstr(&doc->w, "inputRef", call->args_ref);
		content(doc, "input", call->args_ref, AR_HOOK_JSON);
		ar_jw_close(&doc->w);
	}
	ar_jw_close_array(&doc->w);
}

static void write_sample(struct document *doc, const struct ar_turn *turn, struct ar_str step)
{
	ar_jw_key(&doc->w, "answer");
	ar_jw_open(&doc->w);
	ar_jw_mstr(&doc->w, "ref", turn->output_ref);
	ar_jw_mstr(&doc->w, "stopReason", turn->stop_reason);
	content(doc, "text", turn->output_ref, AR_HOOK_TEXT);
	write_calls(doc, turn, step);
	ar_jw_close(&doc->w);
	ar_jw_mint(&doc->w, "stopBlocks", turn->stop_blocks.v);
}

void ar_hook_document(struct ar_decision *d, const struct ar_turn *turn, const struct ar_invocation *call,
		      struct ar_hook_chain *chain, struct ar_effect_hook_run *effect)
{
	const struct ar_ids ids = ar_hook_ids(d, turn, chain);
	struct ar_offers offers = call ? ar_offers_of(d, turn) : (struct ar_offers){ 0 };
	struct ar_invocation shown = call ? ar_call_as_offered(call, &offers) : (struct ar_invocation){ 0 };
	size_t parts = 2 * (TEXTS_MAX + turn->calls.count) + 1;
	struct document doc = { .d = d, .parts = ar_arena_alloc(d->arena, parts * sizeof(*doc.parts)) };

	call = call ? &shown : NULL;
	doc.w = ar_decide_json(d);
	ar_jw_open(&doc.w);
	ar_jw_mstr(&doc.w, "hookPoint", ar_str_from(ar_hook_started_hook_point_desc.names[chain->point]));
	ar_jw_mstr(&doc.w, "hook", chain->handler);
	ar_jw_mstr(&doc.w, "hookRunId", chain->run);
	write_ids(&doc, &ids);
	write_surroundings(&doc, turn, call, chain);
	write_prompt(&doc, turn);
	if (call)
		write_tool(&doc, call);
	if (is_over(chain))
		write_answer(&doc, call);
	if (chain->point == AR_AT_POST_SAMPLING || chain->point == AR_AT_STOP)
		write_sample(&doc, turn, chain->subject);
	ar_jw_close(&doc.w);
	cut(&doc);
	effect->parts = doc.parts;
	effect->part_count = doc.count;
}
