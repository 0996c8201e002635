/* See neutral.h. Compiled with the headers of a version in which the members of all kinds lie side by side. */
#include "neutral.h"

struct ar_input ar_neutral_to_input(const struct ar_neutral_input *n)
{
	struct ar_input in = { .kind = (enum ar_input_kind)n->kind,
			       .now = n->now,
			       .step = n->step,
			       .policy = n->policy,
			       .missing = n->missing,
			       .account = n->account,
			       .person = n->person,
			       .tenant = n->tenant,
			       .command = (enum ar_command)n->command,
			       .args = n->args,
			       .masked = n->masked,
			       .token = n->token,
			       .feed = n->feed,
			       .standing = n->standing,
			       .subject = n->subject,
			       .reason = n->reason,
			       .outputs = n->outputs,
			       .output_count = n->output_count,
			       .is_bystander = n->is_bystander };

	if (n->end)
		in.end = *n->end;
	in.tool_end = n->kind == AR_IN_TOOL_DONE ? n->body : NULL;
	in.hook_end = n->kind == AR_IN_HOOK_DONE ? n->body : NULL;
	in.tool_asked = n->kind == AR_IN_TOOL_ASKED ? n->body : NULL;
	in.launched = n->kind == AR_IN_PROCESS_READY ? n->body : NULL;
	in.told = n->kind == AR_IN_PROCESS_REPORT ? n->body : NULL;
	in.over = n->kind == AR_IN_PROCESS_END ? n->body : NULL;
	in.audit = n->kind == AR_IN_ACCESS ? n->body : NULL;
	in.repair = n->kind == AR_IN_REPAIR ? n->body : NULL;
	return in;
}

static struct ar_neutral_effect all_of(const struct ar_effect *e)
{
	return (struct ar_neutral_effect){ .kind = (int)e->kind,
					   .thread = e->thread,
					   .turn = e->turn,
					   .step = e->step,
					   .model_request = e->model_request,
					   .options = e->options,
					   .route = e->route,
					   .model = e->model,
					   .question = e->question,
					   .answer = e->answer,
					   .answer_content = e->answer_content,
					   .subject = e->subject,
					   .tool = e->tool,
					   .args_ref = e->args_ref,
					   .operation = e->operation,
					   .process = e->process,
					   .ending = e->ending,
					   .handle = e->handle,
					   .by = e->by,
					   .reason = e->reason,
					   .signal = e->signal,
					   .bytes = e->bytes,
					   .handler = e->handler,
					   .can_see = e->can_see,
					   .is_transcript = e->is_transcript,
					   .at = e->at,
					   .input = e->input,
					   .profile = e->profile,
					   .grace_ms = e->grace_ms,
					   .number = (int64_t)e->number,
					   .is_eof = e->is_eof,
					   .messages = e->messages,
					   .message_count = e->message_count,
					   .tools = e->tools,
					   .tool_count = e->tool_count,
					   .parts = e->parts,
					   .part_count = e->part_count };
}

/* Such a version also filled in members that nobody read for these kinds. */
struct ar_neutral_effect ar_neutral_from_effect(const struct ar_effect *e)
{
	struct ar_neutral_effect n = all_of(e);

	if (e->kind == AR_EFFECT_WAKE)
		return (struct ar_neutral_effect){ .kind = n.kind,
						   .input = n.input,
						   .subject = n.subject,
						   .turn = e->input == AR_IN_SILENCE_DUE ? n.turn
											 : AR_STR_NONE,
						   .at = n.at };
	if (e->kind == AR_EFFECT_TOOL_CALL)
		n.input = 0;
	else if (e->kind == AR_EFFECT_MODEL_CANCEL)
		n.turn = AR_STR_NONE;
	else if (e->kind == AR_EFFECT_TOOL_ANSWER)
		n.thread = n.turn = AR_STR_NONE;
	else if (e->kind == AR_EFFECT_PROCESS_FORGET)
		n.process = AR_STR_NONE;
	return n;
}
