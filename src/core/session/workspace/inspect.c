/* The files of a trusted workspace are looked at before the first request of each turn, so that a change of
 * them reaches the next turn. Only a change is a fact. Reading has no effect on anything, so it needs no
 * intent: after a crash it is done again. Pure. */
#include "apply.h"
#include "decide.h"
#include "inspect.h"
#include "worker/worker.h"
#include "workspace/workspace.h"

enum ar_hold ar_workspace_inspect(struct ar_decision *d, const struct ar_turn *turn)
{
	const struct ar_shape_workspace_binding *bound = d->session->bound;

	if (!bound || !bound->trusted.v || !d->input->policy->inspects_workspaces || turn->is_interrupted ||
	    !ar_worker_is_ready(d))
		return AR_GO_ON; /* without its worker the turn has the instructions that the session had */
	ar_decide_effect(d, AR_EFFECT_INSPECT)->inspect = (struct ar_effect_inspect){
		.turn = turn->id, .folder = ar_str_absent(bound->origin) ? bound->folder : bound->origin
	};
	return AR_HELD;
}

bool ar_workspace_is_awaited(const struct ar_thread *t, const struct ar_turn *turn)
{
	return ar_thread_active(t) == turn && !turn->is_interrupted && !ar_turn_last_step(turn) &&
	       ar_str_absent(turn->open_step);
}

/* What a look found, as the fact says it. */
struct findings {
	struct ar_shape_workspace_instructions instructions;
	struct ar_ev_workspace_inspected fact;
};

static struct ar_shape_workspace_skill skill_of(struct ar_decision *d, const struct ar_definition *of)
{
	return (struct ar_shape_workspace_skill){ .name = of->name,
						  .description = of->description,
						  .path = of->path,
						  .ref = ar_decide_ref(d, of->text),
						  .bytes = (int64_t)of->text.len };
}

static struct ar_shape_workspace_agent agent_of(struct ar_decision *d, const struct ar_definition *of)
{
	return (struct ar_shape_workspace_agent){ .name = of->name,
						  .description = of->description,
						  .path = of->path,
						  .tools = of->tools,
						  .model = of->model,
						  .mode = of->mode,
						  .ref = ar_decide_ref(d, of->text),
						  .bytes = (int64_t)of->text.len,
						  .isolation = of->isolation };
}

static void list_definitions(struct ar_decision *d, const struct ar_inspected *in,
			     struct ar_ev_workspace_inspected *ret)
{
	struct ar_shape_workspace_skill *skills =
		ar_arena_alloc(d->arena, (in->definition_count + 1) * sizeof(*skills));
	struct ar_shape_workspace_agent *agents =
		ar_arena_alloc(d->arena, (in->definition_count + 1) * sizeof(*agents));
	size_t skill_count = 0, agent_count = 0;

	for (size_t i = 0; i < in->definition_count; i++) {
		if (in->definitions[i].kind == AR_INSPECT_SKILL)
			skills[skill_count++] = skill_of(d, &in->definitions[i]);
		else
			agents[agent_count++] = agent_of(d, &in->definitions[i]);
	}
	if (skill_count > 0)
		ret->skills = (struct ar_shape_workspace_skill_list){ skills, skill_count };
	if (agent_count > 0)
		ret->agents = (struct ar_shape_workspace_agent_list){ agents, agent_count };
}

static bool is_known(const struct ar_session *s, const struct findings *f)
{
	const struct ar_shape_workspace_instructions *known = s->instructions, *found = &f->instructions;

	return known && ar_str_eq(known->ref, found->ref) && ar_str_eq(known->file, found->file) &&
	       ar_str_eq(known->reason, found->reason) &&
	       ar_list_equal(&ar_shape_workspace_skill_desc, &s->skills, &f->fact.skills) &&
	       ar_list_equal(&ar_shape_workspace_agent_desc, &s->agents, &f->fact.agents);
}

/* Whether the session has the text already, so that a change of one file does not store all of them. */
static bool has_text(const struct ar_session *s, struct ar_str ref)
{
	for (size_t i = 0; i < s->skills.count; i++) {
		if (ar_str_eq(s->skills.at[i].ref, ref))
			return true;
	}
	for (size_t i = 0; i < s->agents.count; i++) {
		if (ar_str_eq(s->agents.at[i].ref, ref))
			return true;
	}
	return false;
}

static void emit_if_changed(struct ar_decision *d, const struct ar_turn *turn, const struct ar_inspected *in)
{
	bool has_instructions = !ar_str_empty(in->instructions);
	struct findings f = { .instructions = { .ref = has_instructions ? ar_decide_ref(d, in->instructions)
									: AR_STR_NONE,
						.bytes = (int64_t)in->instructions.len,
						.file = in->file,
						.reason = in->reason },
			      .fact = { .instructions = &f.instructions, .items_digest = in->digest } };

	list_definitions(d, in, &f.fact);
	if (is_known(d->session, &f))
		return;
	if (has_instructions)
		ar_decide_content(d, ar_arena_str(d->arena, in->instructions));
	for (size_t i = 0; i < in->definition_count; i++) {
		if (!has_text(d->session, ar_decide_ref(d, in->definitions[i].text)))
			ar_decide_content(d, ar_arena_str(d->arena, in->definitions[i].text));
	}
	ar_turn_emit(d, turn, AR_EV_WORKSPACE_INSPECTED, &f.fact);
}

enum ar_status ar_decide_inspected(struct ar_decision *d, struct ar_error *err AR_UNUSED)
{
	const struct ar_inspected *found = d->input->inspected.found;
	struct ar_thread *thread;
	struct ar_turn *turn = ar_session_turn(d->session, d->input->inspected.turn, &thread);

	if (!turn || !ar_workspace_is_awaited(thread, turn))
		return AR_OK;
	if (!ar_str_absent(found->digest)) /* otherwise it is not known: the session goes on as it was */
		emit_if_changed(d, turn, found);
	if (!ar_str_absent(found->digest) && ar_servers_start(d, turn, found) == AR_HELD)
		return AR_OK;
	ar_decide_ask_model(d, turn, 1);
	return AR_OK;
}

enum ar_status ar_apply_workspace_inspected(struct ar_session *s, const struct ar_event *e,
					    struct ar_error *err)
{
	const struct ar_ev_workspace_inspected *p = PAYLOAD(e, workspace_inspected);

	if (!p->instructions)
		return ar_apply_unknown(err, e, "workspace");
	s->instructions = ar_struct_copy(&ar_shape_workspace_instructions_desc, p->instructions, AR_COPY_TEXT,
					 &s->arena);
	ar_list_copy(&ar_shape_workspace_skill_desc, &p->skills, AR_COPY_TEXT, &s->arena, &s->skills);
	ar_list_copy(&ar_shape_workspace_agent_desc, &p->agents, AR_COPY_TEXT, &s->arena, &s->agents);
	return AR_OK;
}
