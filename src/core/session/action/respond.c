/* Answers to a question: respond_action from a person or client, resolve_permission from the
 * host. One resolver for both: the first valid answer stands, a later one is
 * refused with the answer that stands. Pure. */
#include "channel/channel.h"
#include "clock.h"
#include "describe.h"
#include "schema.h"
#include "workspace/isolation.h"

#define REASON_MAX 4096
#define PENDING "pending" /* an approval counted, and more are needed */
#define OFFERED_MAX 120 /* bytes of the offered decisions in a refusal */

/* ---- words ---- */

struct ar_str ar_action_decision_word(struct ar_str said)
{
	static const char *const words[][2] = { { "allowed", "allow" },
						{ "denied", "deny" },
						{ "approved", "approve" },
						{ "rejected", "reject" } };

	for (size_t i = 0; i < AR_ARRAY_LEN(words); i++) {
		if (ar_str_is(said, words[i][0]))
			return ar_str_from(words[i][1]);
	}
	return said;
}

static struct ar_str offered(const struct ar_decision *d, const struct ar_action *a)
{
	struct ar_str list = AR_STR("");

	for (size_t i = 0; i < a->decisions.count; i++)
		list = ar_arena_fmt(d->arena, "%.*s%s\"%.*s\"", AR_STR_ARG(list), i ? "," : "",
				    AR_STR_ARG(a->decisions.at[i]));
	return ar_arena_fmt(d->arena, "[%.*s]", AR_STR_ARG(list));
}

/* ---- what stands in the way ---- */

static struct ar_str who(const struct ar_action *a)
{
	const struct ar_shape_actor nobody = { 0 }, *actor = a->actor ? a->actor : &nobody;
	struct ar_str name = ar_texts_first(AR_TEXTS(actor->name, actor->id, actor->account_ref));

	return ar_str_absent(name) ? a->source : ar_str_utf8_prefix(name, 64);
}

static enum ar_status refuse_late(const struct ar_action *a, struct ar_error *err)
{
	char when[AR_TIME_TEXT];

	return ar_refuse(err, AR_ERR_ALREADY_RESOLVED,
			 "action %.*s was settled as '%.*s' (%.*s, by %.*s) at %.*s", AR_STR_ARG(a->id),
			 AR_STR_ARG(a->decision), AR_STR_ARG(a->source), AR_STR_ARG(who(a)),
			 AR_STR_ARG(ar_time_format(a->resolved, when)));
}

/* Of those that left the window only the number in the id can tell. */
static enum ar_status refuse_unknown(const struct ar_session *s, struct ar_str id, uint16_t code,
				     struct ar_error *err)
{
	uint64_t n;

	if (ar_str_starts(id, AR_STR("action_")) && ar_str_eq(ar_id_session_key(id), s->session_key) &&
	    ar_id_counter(id, &n) && n > 0 && (int64_t)n <= s->counters.action)
		return ar_refuse(err, AR_ERR_ALREADY_RESOLVED,
				 "action %.*s is not among the newest %d; see its action.resolved event",
				 AR_STR_ARG(id), AR_WINDOW_ACTIONS);
	return ar_refuse(err, code, "session %.*s has no action %.*s", AR_STR_ARG(s->id), AR_STR_ARG(id));
}

static enum ar_status check_open(const struct ar_decision *d, const struct ar_action *a, struct ar_str word,
				 struct ar_error *err)
{
	char when[AR_TIME_TEXT];

	if (a->expires && a->expires <= d->input->now)
		return ar_refuse(err, AR_ERR_EXPIRED, "action %.*s expired at %.*s", AR_STR_ARG(a->id),
				 AR_STR_ARG(ar_time_format(a->expires, when)));
	if (!ar_texts_have(a->decisions, word))
		return ar_refuse(
			err, AR_ERR_INVALID_DECISION, "'%.*s' is not one of %.*s%s",
			AR_STR_ARG(ar_str_utf8_prefix(word, 64)),
			AR_STR_ARG(ar_str_utf8_prefix(offered(d, a), OFFERED_MAX)),
			ar_str_is(word, "allow_session")
				? ": it destroys something, cannot be recognised the next time, or needs "
				  "several people, so it is allowed once at a time"
				: "");
	return AR_OK;
}

/* The schema was taken from a tool or a caller: one that does not compile asks for an object and
 * nothing more. */
static enum ar_status check_schema(struct ar_decision *d, const struct ar_action *a, struct ar_str payload,
				   struct ar_error *err)
{
	struct ar_schema_fault fault = { .message = "" };
	struct ar_schema *schema;
	struct ar_json v;
	bool fits = true;

	if (ar_schema_compile(a->schema, d->json, &d->schema_steps, &schema, NULL) != AR_OK)
		return d->schema_steps ? AR_OK
				       : ar_refuse(err, AR_ERR_SCHEMA_LIMIT,
						   "the schema of action %.*s takes too long to compile",
						   AR_STR_ARG(a->id));
	if (ar_json_parse(d->json, payload, &v, NULL) == AR_OK)
		fits = ar_schema_check(schema, v, &d->schema_steps, &fault);
	ar_schema_free(schema);
	if (!fits && fault.gave_up)
		return ar_refuse(err, AR_ERR_SCHEMA_LIMIT, "payload: %.200s", fault.message);
	return fits ? AR_OK : ar_refuse(err, AR_ERR_SCHEMA_MISMATCH, "payload: %.200s", fault.message);
}

/* The answer itself, where the decision brings one. */
static enum ar_status check_payload(struct ar_decision *d, const struct ar_action *a,
				    const struct ar_settlement *s, struct ar_error *err)
{
	const char *accepting = ar_action_kind((enum ar_action_type)a->type)->accepting;
	struct ar_json payload;

	/* An answer is content that is kept and read: a secret has no place in it. */
	if (a->type == AR_ACTION_CREDENTIAL && !ar_str_absent(s->payload))
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "payload: a credential is never sent with an answer; put it where the "
				 "settings of the tool refer to, then answer without a payload");
	if (ar_str_absent(a->schema) || !accepting || !ar_str_is(s->decision, accepting))
		return AR_OK;
	if (ar_str_absent(s->payload) || ar_json_parse(d->json, s->payload, &payload, NULL) != AR_OK ||
	    ar_json_type(payload) != AR_JSON_OBJECT)
		return ar_refuse(err, AR_ERR_SCHEMA_MISMATCH,
				 "'%s' needs a payload: an object that fits the schema of action %.*s",
				 accepting, AR_STR_ARG(a->id));
	return check_schema(d, a, s->payload, err);
}

/* Only a no can be said without having read everything. Any digest that is brought has to be the
 * right one. */
static enum ar_status check_shown(const struct ar_decision *d, const struct ar_action *a,
				  const struct ar_settlement *s, struct ar_error *err)
{
	if (ar_texts_have(AR_TEXTS(AR_STR("deny"), AR_STR("reject"), AR_STR("decline"), AR_STR("cancel"),
				   AR_STR("stop"), AR_STR("skip")),
			  s->decision) ||
	    (ar_str_absent(s->digest) && ar_str_absent(a->prompt_ref)))
		return AR_OK;
	if (!ar_str_absent(s->digest) && ar_str_eq(a->check, ar_action_check(d->arena, s->digest)))
		return AR_OK;
	if (ar_str_absent(a->prompt_ref))
		return ar_refuse(err, AR_ERR_NOT_SHOWN,
				 "promptDigest does not match the question of action %.*s; read it again",
				 AR_STR_ARG(a->id));
	return ar_refuse(err, AR_ERR_NOT_SHOWN,
			 "the question of action %.*s is truncated, and the answer has no promptDigest of "
			 "the whole question; read it with read_output of its promptRef and send the digest "
			 "(agentctl approve does both)",
			 AR_STR_ARG(a->id));
}

/* ---- what was answered ---- */

static struct ar_str whole_answer(struct ar_decision *d, const struct ar_settlement *s)
{
	return ar_decide_shape(d, &ar_shape_action_answer_desc,
			       &(struct ar_shape_action_answer){ .decision = s->decision,
								 .actor = s->actor,
								 .payload = s->payload,
								 .reason = s->reason });
}

/* A permission's answer may say in its payload how far it reaches, for how long, and why. */
static enum ar_status read_reach(struct ar_decision *d, struct ar_settlement *s, struct ar_error *err)
{
	struct ar_str scope = AR_STR_NONE, until = AR_STR_NONE, reason = AR_STR_NONE;
	struct ar_json payload;

	if (ar_str_absent(s->payload) || ar_json_parse(d->json, s->payload, &payload, NULL) != AR_OK)
		return AR_OK;
	ar_json_str(ar_json_get(payload, "scope"), &scope);
	ar_json_str(ar_json_get(payload, "expiresAt"), &until);
	if (ar_json_str(ar_json_get(payload, "reason"), &reason) && reason.len > 0)
		s->reason = ar_arena_str(d->arena, ar_str_utf8_prefix(reason, 512));
	if (!ar_str_absent(until) && !ar_time_parse(until, &s->grant_expires))
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "expiresAt is not an RFC 3339 time with a zone");
	if (ar_str_absent(scope) || ar_str_is(scope, "once"))
		return AR_OK;
	if (!ar_str_is(scope, "session"))
		return ar_refuse(
			err, AR_ERR_INVALID_INPUT,
			"scope '%.*s' cannot be granted: once or session can; for more add a rule to "
			"permission_rules",
			AR_STR_ARG(ar_str_utf8_prefix(scope, 32)));
	if (ar_str_is(s->decision, "allow"))
		s->decision = AR_STR("allow_session");
	return AR_OK;
}

/* Who judges a criterion may say why: the next attempt reads it. */
static void read_reason(struct ar_decision *d, struct ar_settlement *s)
{
	struct ar_str reason;
	struct ar_json payload;

	if (!ar_str_absent(s->payload) && ar_json_parse(d->json, s->payload, &payload, NULL) == AR_OK &&
	    ar_json_str(ar_json_get(payload, "reason"), &reason) && reason.len > 0)
		s->reason = ar_arena_str(d->arena, ar_str_utf8_prefix(reason, REASON_MAX));
}

/* ---- the one resolver ---- */

/* Settles it, or says why not. The same answer again is no new one: what stands is what it says. */
static enum ar_status resolve(struct ar_decision *d, const struct ar_action *a, struct ar_settlement *s,
			      struct ar_error *err)
{
	struct ar_thread *t;
	struct ar_turn *turn;
	bool is_enough = true;

	s->decision = ar_action_decision_word(s->decision);
	if (a->type == AR_ACTION_TOOL_PERMISSION && read_reach(d, s, err) != AR_OK)
		return AR_E_REFUSED;
	if (a->type == AR_ACTION_ACCEPTANCE)
		read_reason(d, s);
	if (a->status == AR_ACTION_RESOLVED)
		return ar_str_eq(a->decision, s->decision) ? AR_OK : refuse_late(a, err);
	if (check_open(d, a, s->decision, err) != AR_OK || check_shown(d, a, s, err) != AR_OK ||
	    check_payload(d, a, s, err) != AR_OK)
		return AR_E_REFUSED;
	turn = ar_session_turn(d->session, a->turn, &t);
	if (!turn)
		return refuse_unknown(d->session, a->id, AR_ERR_ACTION_NOT_FOUND, err);
	if (ar_isolation_check_answer(d->session, a, s->decision, err) != AR_OK)
		return AR_E_REFUSED;
	if (ar_action_needs_people(a, s->decision) &&
	    ar_action_approve(d, turn, a, s, &is_enough, err) != AR_OK)
		return AR_E_REFUSED;
	if (!is_enough) {
		s->decision = AR_STR(PENDING);
		return AR_OK;
	}
	s->response = whole_answer(d, s);
	ar_decide_settle(d, turn, a, s);
	return AR_OK;
}

/* Of the fact that settled it, now or before; that of this answer while it is open. */
static int source_of(const struct ar_action *a, int source)
{
	const struct ar_enum_desc *words = &ar_action_resolved_decision_source_desc;

	return ar_enum_find(&ar_respond_action_decision_source_desc,
			    a->status == AR_ACTION_RESOLVED ? a->source
							    : ar_str_from(ar_enum_name(words, source)));
}

static ar_usec resolved_at(const struct ar_decision *d, const struct ar_action *a,
			   const struct ar_settlement *s)
{
	if (a->resolved || ar_str_is(s->decision, PENDING))
		return a->resolved;
	return d->input->now;
}

enum ar_status ar_decide_respond_action(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_respond_action_in *in = d->input->command.args;
	const struct ar_action *a = ar_session_action(d->session, in->action_id);
	const struct ar_shape_actor caller = { .account_ref = d->input->account };
	struct ar_settlement s = { .decision = in->decision,
				   .source = ar_str_absent(in->channel_id)
						     ? AR_ACTION_RESOLVED_DECISION_SOURCE_HUMAN
						     : AR_ACTION_RESOLVED_DECISION_SOURCE_REMOTE,
				   .reason = AR_STR("a person decided"),
				   .actor = in->actor ? in->actor : &caller,
				   .channel = in->channel_id,
				   .digest = in->prompt_digest,
				   .payload = in->payload,
				   .comment = in->comment };

	if (!a)
		return refuse_unknown(d->session, in->action_id, AR_ERR_ACTION_NOT_FOUND, err);
	if (!ar_str_absent(in->channel_id) && ar_channel_check_own(d, in->channel_id, err) != AR_OK)
		return AR_E_REFUSED;
	if (resolve(d, a, &s, err) != AR_OK)
		return AR_E_REFUSED;
	if (!ar_str_absent(in->channel_id))
		ar_channel_note_use(d, in->channel_id);
	ar_decide_reply(d, AR_CMD_RESPOND_ACTION,
			&(struct ar_cmd_respond_action_out){
				.action_id = a->id,
				.decision = s.decision,
				.decision_source = source_of(a, s.source),
				.resolved_at = resolved_at(d, a, &s),
				.approvals = { (int64_t)a->approved.count, a->needed.set },
				.approvals_needed = a->needed });
	return AR_OK;
}

static int outcome_word(const struct ar_action *a, struct ar_str decision)
{
	if (ar_str_is(decision, PENDING))
		return AR_RESOLVE_PERMISSION_OUTCOME_PENDING;
	if (ar_str_is(a->source, "timeout"))
		return AR_RESOLVE_PERMISSION_OUTCOME_TIMED_OUT;
	if (ar_str_is(a->source, "cancelled"))
		return AR_RESOLVE_PERMISSION_OUTCOME_CANCELLED;
	return ar_action_allows(decision) ? AR_RESOLVE_PERMISSION_OUTCOME_ALLOWED
					  : AR_RESOLVE_PERMISSION_OUTCOME_DENIED;
}

/* The members that respond_action has inside its payload. */
static struct ar_str payload_of(struct ar_decision *d, const struct ar_cmd_resolve_permission_in *in)
{
	struct ar_jw w = ar_decide_json(d);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "scope", in->scope);
	ar_jw_mtime(&w, "expiresAt", in->expires_at);
	ar_jw_mstr(&w, "reason", in->reason);
	ar_jw_close(&w);
	return ar_decide_json_end(d);
}

enum ar_status ar_decide_resolve_permission(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_resolve_permission_in *in = d->input->command.args;
	struct ar_str id = ar_str_absent(in->action_id) ? in->request_id : in->action_id;
	const struct ar_action *a = ar_session_action(d->session, id);
	const struct ar_shape_actor caller = { .account_ref = d->input->account };
	struct ar_settlement s = { .decision = in->decision,
				   .source = AR_ACTION_RESOLVED_DECISION_SOURCE_HOST,
				   .reason = AR_STR("the host decided"),
				   .actor = &caller,
				   .digest = in->prompt_digest,
				   .payload = payload_of(d, in) };

	if (a && !ar_action_is_about_call(a->type))
		return ar_refuse(err, AR_ERR_REQUEST_NOT_FOUND,
				 "action %.*s is not a permission; answer it with respond_action",
				 AR_STR_ARG(id));
	if (!a)
		return refuse_unknown(d->session, id, AR_ERR_REQUEST_NOT_FOUND, err);
	if (!ar_str_absent(in->updated_input))
		return ar_refuse(err, AR_ERR_UNAVAILABLE,
				 "updatedInput is not implemented; deny the call and submit a turn with the "
				 "instructions");
	if (resolve(d, a, &s, err) != AR_OK)
		return AR_E_REFUSED;
	ar_decide_reply(d, AR_CMD_RESOLVE_PERMISSION,
			&(struct ar_cmd_resolve_permission_out){
				.outcome = outcome_word(a, s.decision),
				.decision_source =
					a->status == AR_ACTION_RESOLVED ? a->source : AR_STR("host") });
	return AR_OK;
}
