/* Says what a request is made of: which instructions, which part of the conversation, what stayed out and why (context.resolved). Once
 * per turn, and again only when it changed. Pure; the instruction file was read by the host. */
#include "context/context.h"
#include "identity.h"

static struct ar_str ref_of(struct ar_decision *d, struct ar_str text)
{
	struct ar_hash hash = ar_hash_of(text);

	return ar_ref_make(d->arena, d->session->session_key, &hash);
}

static void write_omission(struct ar_jw *j, struct ar_str ref, struct ar_str reason, int64_t count)
{
	ar_jw_open(j);
	ar_jw_mstr(j, "ref", ref);
	ar_jw_mstr(j, "reason", reason);
	if (count > 0)
		ar_jw_mint(j, "count", count);
	ar_jw_close(j);
}

static struct ar_str omissions_of(struct ar_conversation *c, const struct ar_selection *s)
{
	struct ar_decision *d = c->d;
	const struct ar_policy *policy = d->input->policy;
	struct ar_str messages = ar_arena_fmt(d->arena, "%.*s:messages", AR_STR_ARG(c->thread->id));
	int64_t summarised = c->boundary ? c->boundary->covered : 0;
	int64_t forgotten = c->thread->omitted - summarised;
	int64_t left_out = (int64_t)s->skipped + (forgotten > 0 ? forgotten : 0);
	struct ar_jw j = ar_decide_json(d);

	ar_jw_open_array(&j);
	if (summarised > 0)
		write_omission(&j, messages, AR_STR("compacted: the summary stands for them"), summarised);
	if (left_out > 0)
		write_omission(&j, messages, AR_STR("too_long: the oldest do not fit into the request"),
			       left_out);
	if (!ar_str_absent(policy->instructions_trouble) && ar_decide_is_admitted(d))
		write_omission(&j, policy->instructions_file, policy->instructions_trouble, 0);
	ar_jw_close_array(&j);
	return ar_decide_json_end(d);
}

static struct ar_str instruction_refs(struct ar_decision *d, const struct ar_instructions *in)
{
	struct ar_jw j = ar_decide_json(d);

	ar_jw_open_array(&j);
	if (!ar_str_absent(in->prompt))
		ar_jw_str(&j, in->prompt);
	if (!ar_str_absent(in->file))
		ar_jw_str(&j, in->file);
	ar_jw_close_array(&j);
	return ar_decide_json_end(d);
}

/* The folder as a whole: the tools read in it what the turn needs. */
static struct ar_str workspace_refs(const struct ar_decision *d)
{
	return ar_str_empty(d->input->policy->workspace) || !ar_decide_is_admitted(d)
		       ? AR_STR("[]")
		       : AR_STR("[\"workspace:/\"]");
}

static struct ar_str policy_facts(const struct ar_conversation *c, const struct ar_turn *turn)
{
	struct ar_decision *d = c->d;
	const char *mode = ar_permission_mode_of(d, turn);
	int64_t window = ar_context_window(c);
	struct ar_jw j = ar_decide_json(d);

	ar_jw_open_array(&j);
	ar_jw_open(&j);
	ar_jw_mstr(&j, "fact", AR_STR("permissionMode"));
	ar_jw_mstr(&j, "mode", ar_str_from(mode));
	ar_jw_close(&j);
	if (window < INT64_MAX) {
		ar_jw_open(&j);
		ar_jw_mstr(&j, "fact", AR_STR("contextWindow"));
		ar_jw_mint(&j, "tokens", window);
		ar_jw_close(&j);
	}
	ar_jw_close_array(&j);
	return ar_decide_json_end(d);
}

static void store(struct ar_decision *d, struct ar_str text)
{
	if (!ar_str_empty(text))
		ar_decide_content(d, ar_arena_str(d->arena, text)); /* the host may read the file anew */
}

struct ar_str ar_context_digest(struct ar_arena *a, struct ar_str session_key,
				const struct ar_ev_context_resolved *p)
{
	struct ar_str all = ar_arena_fmt(a, "%.*s\n%.*s\n%.*s\n%.*s", AR_STR_ARG(p->workspace_refs),
					 AR_STR_ARG(p->policy_facts), AR_STR_ARG(p->instruction_refs),
					 AR_STR_ARG(p->omissions));
	struct ar_hash hash = ar_hash_of(all);

	return ar_ref_make(a, session_key, &hash);
}

struct ar_str ar_decide_instructions(const struct ar_decision *d)
{
	return ar_decide_is_admitted(d) ? d->input->policy->instructions : AR_STR_NONE;
}

struct ar_instructions ar_conversation_resolve(struct ar_conversation *c, struct ar_turn *turn,
					       const struct ar_selection *s)
{
	struct ar_decision *d = c->d;
	const struct ar_policy *policy = d->input->policy;
	struct ar_str instructions = ar_decide_instructions(d);
	struct ar_instructions in = { 0 };
	struct ar_ids ids = ar_ids_turn(d, turn);
	struct ar_ev_context_resolved fact;
	struct ar_str digest;

	if (!ar_str_empty(policy->system_prompt))
		in.prompt = ref_of(d, policy->system_prompt);
	if (!ar_str_empty(instructions))
		in.file = ref_of(d, instructions);
	fact = (struct ar_ev_context_resolved){ .memory_refs = AR_STR("[]"),
						.knowledge_refs = AR_STR("[]"),
						.workspace_refs = workspace_refs(d),
						.browser_refs = AR_STR("[]"),
						.policy_facts = policy_facts(c, turn),
						.instruction_refs = instruction_refs(d, &in),
						.omissions = omissions_of(c, s),
						.token_estimate = AR_OPT_INT(s->tokens) };
	digest = ar_context_digest(d->arena, d->session->session_key, &fact);
	if (ar_str_eq(digest, turn->resolved))
		return in;
	store(d, policy->system_prompt);
	store(d, instructions);
	ar_decide_emit(d, AR_EV_CONTEXT_RESOLVED, &ids, &fact);
	return in;
}
