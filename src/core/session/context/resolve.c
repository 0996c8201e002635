/* Says what a request is made of: which instructions, which part of the conversation, what
 * stayed out and why (context.resolved). Once per turn, and again only when it changed. Pure;
 * the instruction file was read by the host, those of a workspace are known by its facts. */
#include "context/context.h"
#include "definition/definition.h"
#include "identity.h"
#include "subagent/subagents.h"

#define OMISSIONS_MAX 5 /* kinds of them */

/* The instruction file is one of tools.workspace: it says nothing about other folders. */
static bool has_host_instructions(const struct ar_decision *d)
{
	return !d->session->bound && ar_decide_is_admitted(d);
}

static struct ar_shape_omission_list omissions_of(struct ar_conversation *c, const struct ar_selection *s,
						  int64_t skills_left_out)
{
	struct ar_decision *d = c->d;
	const struct ar_policy *policy = d->input->policy;
	struct ar_str messages = ar_arena_fmt(d->arena, "%.*s:messages", AR_STR_ARG(c->thread->id));
	int64_t summarised = c->boundary ? c->boundary->covered : 0;
	int64_t forgotten = c->thread->omitted - summarised;
	int64_t left_out = (int64_t)s->skipped + (forgotten > 0 ? forgotten : 0);
	struct ar_shape_omission *list = ar_arena_alloc(d->arena, OMISSIONS_MAX * sizeof(*list));
	size_t n = 0;

	if (summarised > 0)
		list[n++] = (struct ar_shape_omission){ .ref = messages,
							.reason = AR_STR(
								"compacted: the summary stands for them"),
							.count = AR_OPT_INT(summarised) };
	if (left_out > 0)
		list[n++] = (struct ar_shape_omission){
			.ref = messages,
			.reason = AR_STR("too_long: the oldest do not fit into the request"),
			.count = AR_OPT_INT(left_out)
		};
	if (d->session->instructions && !ar_str_absent(d->session->instructions->reason))
		list[n++] = (struct ar_shape_omission){ .ref = d->session->instructions->file,
							.reason = d->session->instructions->reason };
	if (!ar_str_absent(policy->instructions_trouble) && has_host_instructions(d))
		list[n++] = (struct ar_shape_omission){ .ref = policy->instructions_file,
							.reason = policy->instructions_trouble };
	if (skills_left_out > 0)
		list[n++] = (struct ar_shape_omission){
			.ref = AR_STR("skills"),
			.reason = AR_STR("too_many: they can be read by name, and are not listed"),
			.count = AR_OPT_INT(skills_left_out)
		};
	return (struct ar_shape_omission_list){ list, n };
}

static struct ar_texts instruction_refs(struct ar_decision *d, const struct ar_selection *s)
{
	struct ar_str *refs = ar_arena_alloc(d->arena, sizeof(s->system));
	size_t n = 0;

	for (size_t i = 0; i < AR_ARRAY_LEN(s->system); i++) {
		if (!ar_str_absent(s->system[i]))
			refs[n++] = s->system[i];
	}
	return (struct ar_texts){ refs, n };
}

/* The folder as a whole: the tools read in it what the turn needs. */
static struct ar_texts workspace_refs(const struct ar_decision *d)
{
	static const struct ar_str whole = AR_STR("workspace:/");

	return (struct ar_texts){ &whole, !ar_str_empty(ar_decide_folder(d)) };
}

/* What tools brought from a browser in this turn, and the request carries. */
static struct ar_texts browser_refs(const struct ar_decision *d, const struct ar_turn *turn)
{
	const struct ar_inventory *inv = d->input->policy->inventory;
	struct ar_str *refs = NULL;
	size_t n = 0;

	for (size_t i = 0; inv && i < turn->calls.count; i++) {
		const struct ar_invocation *call = turn->calls.at[i];
		const struct ar_tool *tool;

		if (!call->is_joined || ar_str_absent(call->output_ref))
			continue;
		tool = ar_inventory_find(inv, call->name);
		if (!tool || !(tool->capabilities & AR_TOOL_BROWSER))
			continue;
		if (!refs)
			refs = ar_arena_alloc(d->arena, turn->calls.count * sizeof(*refs));
		refs[n++] = call->output_ref;
	}
	return (struct ar_texts){ refs, n };
}

static struct ar_texts one_ref(const struct ar_str *ref)
{
	return (struct ar_texts){ ref, ref && !ar_str_absent(*ref) };
}

static struct ar_shape_policy_fact_list policy_facts(const struct ar_conversation *c,
						     const struct ar_turn *turn)
{
	struct ar_shape_policy_fact *list = ar_arena_alloc(c->d->arena, 2 * sizeof(*list));
	int64_t window = ar_context_window(c);
	size_t n = 0;

	list[n++] = (struct ar_shape_policy_fact){ .fact = AR_STR("permissionMode"),
						   .mode = ar_str_from(ar_permission_mode_of(c->d, turn)) };
	if (window < INT64_MAX)
		list[n++] = (struct ar_shape_policy_fact){ .fact = AR_STR("contextWindow"),
							   .tokens = AR_OPT_INT(window) };
	return (struct ar_shape_policy_fact_list){ list, n };
}

static void store(struct ar_decision *d, struct ar_str ref, struct ar_str text)
{
	if (!ar_str_empty(text))
		ar_decide_content_of(d, ref,
				     ar_arena_str(d->arena, text)); /* the host may read the file anew */
}

/* Its JSON in a line of its own. */
static void digest_texts(struct ar_buf *all, struct ar_texts texts)
{
	struct ar_jw w = ar_jw(all);

	ar_jw_texts(&w, texts);
	ar_buf_addc(all, '\n');
}

static void digest_list(struct ar_buf *all, const struct ar_struct_desc *shape, const void *list)
{
	struct ar_jw w = ar_jw(all);

	ar_list_encode(shape, list, &w);
	ar_buf_addc(all, '\n');
}

struct ar_str ar_context_digest(struct ar_arena *a, struct ar_str session_key,
				const struct ar_ev_context_resolved *p)
{
	struct ar_buf all = { 0 };
	struct ar_hash hash;

	digest_texts(&all, p->workspace_refs);
	digest_list(&all, &ar_shape_policy_fact_desc, &p->policy_facts);
	digest_texts(&all, p->instruction_refs);
	digest_list(&all, &ar_shape_omission_desc, &p->omissions);
	if (p->browser_refs.count > 0) /* without any it is what it was before there were some */
		digest_texts(&all, p->browser_refs);
	hash = ar_hash_of(ar_str_sub(ar_buf_str(&all), 0, all.len - 1));
	ar_buf_fini(&all);
	return ar_ref_make(a, session_key, &hash);
}

static struct ar_str host_instructions(const struct ar_decision *d)
{
	return has_host_instructions(d) ? d->input->policy->instructions : AR_STR_NONE;
}

int64_t ar_decide_instruction_bytes(const struct ar_decision *d)
{
	int64_t left_out;
	struct ar_str skills = ar_skills_text(d->session, d->input->policy, d->arena, &left_out);

	return (int64_t)skills.len + (d->session->instructions ? d->session->instructions->bytes
							       : (int64_t)host_instructions(d).len);
}

void ar_conversation_resolve(struct ar_conversation *c, struct ar_turn *turn, struct ar_selection *s)
{
	struct ar_decision *d = c->d;
	const struct ar_policy *policy = d->input->policy;
	struct ar_str prompt = ar_system_prompt(d, turn), instructions = host_instructions(d), skills, digest;
	const struct ar_shape_subagent_record *child;
	struct ar_ev_context_resolved fact;
	int64_t skills_left_out;

	if (!ar_str_empty(prompt))
		s->system[0] = ar_decide_ref(d, prompt);
	if (d->session->instructions)
		s->system[1] = d->session->instructions->ref; /* stored with the fact that names it */
	else if (!ar_str_empty(instructions))
		s->system[1] = ar_decide_ref(d, instructions);
	skills = ar_skills_text(d->session, policy, d->arena, &skills_left_out);
	if (!ar_offers_skill_tool(d, turn)) {
		skills = AR_STR_NONE; /* the model could not read them */
		skills_left_out = 0;
	}
	if (!ar_str_absent(skills))
		s->system[2] = ar_decide_ref(d, skills);
	child = ar_session_subagent_in(d->session, turn->thread);
	if (child)
		s->system[3] = child->instructions_ref; /* stored before it was spawned, or with that */
	fact = (struct ar_ev_context_resolved){
		.memory_refs = one_ref(c->boundary ? &c->boundary->summary_ref : NULL),
		.knowledge_refs = one_ref(&s->system[2]),
		.workspace_refs = workspace_refs(d),
		.browser_refs = browser_refs(d, turn),
		.policy_facts = policy_facts(c, turn),
		.instruction_refs = instruction_refs(d, s),
		.omissions = omissions_of(c, s, skills_left_out),
		.token_estimate = AR_OPT_INT(s->tokens),
		.system_prompt = policy->has_standard_prompt ? AR_STR(AR_STANDARD_PROMPT) : AR_STR_NONE
	};
	digest = ar_context_digest(d->arena, d->session->session_key, &fact);
	if (ar_str_eq(digest, turn->resolved))
		return;
	store(d, s->system[0], prompt);
	if (!d->session->instructions)
		store(d, s->system[1], instructions);
	store(d, s->system[2], skills);
	ar_turn_emit(d, turn, AR_EV_CONTEXT_RESOLVED, &fact);
}
