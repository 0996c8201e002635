/* The most tokens that a request can have, however its text is counted: no token stands for less than a
 * byte. Where the provider has counted the beginning of the conversation, only the rest is taken so; and
 * never more than the model takes. Images are taken for AR_IMAGE_WEIGHT tokens each, which is no such
 * bound. Pure. */
#include "context/context.h"
#include "limits/route.h"
#include "subagent/subagents.h"

#define FRAME_MAX 16 /* tokens around one message or tool */
#define REQUEST_MAX 1024 /* tokens that a provider adds of its own, such as how tools are called */

int64_t ar_context_most(int64_t bytes, size_t parts)
{
	return bytes + (int64_t)parts * FRAME_MAX + REQUEST_MAX;
}

/* What goes along with every message: instructions and tools. */
static int64_t fixed_most(const struct ar_conversation *c, const struct ar_turn *turn,
			  const struct ar_offers *offers)
{
	struct ar_decision *d = c->d;
	const struct ar_shape_subagent_record *child = ar_session_subagent_in(d->session, turn->thread);
	int64_t bytes = (int64_t)ar_system_prompt(d, turn).len + ar_decide_instruction_bytes(d);

	bytes += (int64_t)ar_turn_options(turn)->output_schema.len;
	if (child)
		bytes += child->instructions_bytes.v;
	for (size_t i = 0; i < offers->count; i++)
		bytes += (int64_t)(offers->at[i]->name.len + offers->at[i]->description.len +
				   offers->at[i]->schema.len);
	return ar_context_most(bytes, offers->count + 4);
}

/* The newest turn of the thread that has an answer, and the step that brought it; NULL: none. */
static const struct ar_step *answered(const struct ar_thread *t, const struct ar_turn **ret_turn)
{
	for (size_t i = t->turns.count; i > 0; i--) {
		const struct ar_turn *turn = t->turns.at[i - 1];

		for (size_t k = turn->steps.count; k > 0; k--) {
			const struct ar_step *step = turn->steps.at[k - 1];

			if (!ar_str_is(step->status, "completed") || ar_str_absent(step->model_request) ||
			    ar_str_is(step->purpose, AR_PURPOSE_COMPACTION))
				continue;
			*ret_turn = turn;
			return step;
		}
	}
	return NULL;
}

/* Messages with what they echo: reasoning, which the provider counted as a part of its answers. */
static int64_t messages_most(const struct ar_conversation *c, size_t first, int64_t answers)
{
	size_t total = ar_conversation_count(c);
	bool has_echo = false;
	int64_t bytes = 0;

	for (size_t i = first; i < total; i++) {
		const struct ar_context_entry *entry = ar_conversation_message(c, i);

		bytes += entry->bytes;
		has_echo |= !ar_str_absent(entry->echo);
	}
	return bytes + (int64_t)(total - first) * FRAME_MAX + (has_echo ? answers : 0);
}

int64_t ar_conversation_most(const struct ar_conversation *c, const struct ar_turn *turn,
			     const struct ar_offers *offers, const struct ar_choice *choice)
{
	const struct ar_turn *last = NULL;
	const struct ar_step *step = answered(c->thread, &last);
	int64_t since = c->thread->anchor_at.v - c->thread->omitted, anchor = c->thread->anchor.v;
	int64_t fixed = fixed_most(c, turn, offers);
	int64_t most = fixed + (c->boundary ? c->boundary->bytes + FRAME_MAX : 0) +
		       messages_most(c, ar_conversation_visible(c), c->d->session->spent.output_tokens);

	if (step && ar_str_eq(step->model, choice->name) && anchor > 0 && since >= 0 &&
	    (size_t)since <= ar_conversation_count(c)) {
		int64_t counted = anchor + fixed + messages_most(c, (size_t)since, last->output_tokens);

		most = counted < most ? counted : most;
	}
	return choice->entry->context_tokens > 0 && choice->entry->context_tokens < most
		       ? choice->entry->context_tokens
		       : most;
}
