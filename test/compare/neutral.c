/* See neutral.h. */
#include "neutral.h"
#include "state_process.h"
#include "trace.h"

static void command_from(struct ar_neutral_input *n, const struct ar_input_command *c, struct ar_arena *a)
{
	n->command = (int)c->id;
	n->args = ar_trace_args(c->id, c->args, a);
	n->masked = c->masked;
	n->token = c->token;
	n->feed = c->feed;
	n->standing = c->standing;
	n->subject = c->call;
}

/* A question of a tool: its call, then the members of the question. */
struct asked {
	struct ar_str call;
	struct ar_tool_question question;
};

static const struct asked *asked_from(const struct ar_input *in, struct ar_arena *a)
{
	struct asked *asked = ar_arena_alloc(a, sizeof(*asked));

	*asked = (struct asked){ in->tool_asked.call, *in->tool_asked.question };
	return asked;
}

static void recovery_from(struct ar_neutral_input *n, const struct ar_input *in)
{
	n->outputs = in->recover.outputs;
	n->output_count = in->recover.output_count;
	n->is_bystander = in->recover.is_bystander;
}

static void channel_from(struct ar_neutral_input *n, const struct ar_input *in)
{
	n->subject = in->channel.id;
	n->reason = in->channel.reason;
	n->from = in->channel.from;
	n->to = in->channel.to;
}

static void tool_done_from(struct ar_neutral_input *n, const struct ar_input *in)
{
	n->call = in->tool_done.call;
	n->call_masked = in->tool_done.masked;
	n->duration_ms = in->tool_done.duration_ms;
	n->result = in->tool_done.result;
}

struct ar_neutral_input ar_neutral_from_input(const struct ar_input *in, struct ar_arena *a)
{
	struct ar_neutral_input n = { .kind = (int)in->kind,
				      .now = in->now,
				      .step = in->step,
				      .policy = in->policy,
				      .missing = in->missing,
				      .account = in->account,
				      .person = in->person,
				      .tenant = in->tenant,
				      .worker = in->worker };

	switch (in->kind) {
	case AR_IN_COMMAND:
		command_from(&n, &in->command, a);
		break;
	case AR_IN_MODEL_DONE:
		n.outputs = in->model_done.output;
		n.output_count = 1;
		n.end = in->model_done.end;
		break;
	case AR_IN_RECOVER:
		recovery_from(&n, in);
		break;
	case AR_IN_RETRY_DUE:
	case AR_IN_CALL_DUE:
	case AR_IN_ACTION_DUE:
	case AR_IN_BUDGET_DUE:
	case AR_IN_SILENCE_DUE:
	case AR_IN_TASK_DUE:
	case AR_IN_JOB_DUE:
	case AR_IN_CHANNEL_DUE:
		n.subject = in->due;
		break;
	case AR_IN_CHANNEL_FOLLOWED:
	case AR_IN_CHANNEL_GONE:
	case AR_IN_CHANNEL_READ:
		channel_from(&n, in);
		break;
	case AR_IN_TOOL_DONE:
		tool_done_from(&n, in);
		break;
	case AR_IN_TOOL_ASKED:
		n.body = asked_from(in, a);
		break;
	case AR_IN_HOOK_DONE:
	case AR_IN_PROCESS_READY:
	case AR_IN_PROCESS_REPORT:
	case AR_IN_PROCESS_END:
	case AR_IN_ACCESS:
	case AR_IN_REPAIR:
	case AR_IN_CHECKPOINT_DONE:
	case AR_IN_SENT:
	case AR_IN_SERVERS:
	case AR_IN_WORKSPACE:
		n.body = in->hook_done; /* all of them are one pointer */
		break;
	case AR_IN_INSPECTED:
		n.subject = in->inspected.turn;
		n.body = in->inspected.found;
		break;
	case AR_IN_WORKER:
	case AR_IN_CONTENTS: /* decides nothing */
	case AR_IN_SCHEDULE_DUE:
		break;
	}
	return n;
}

static void channel_to(struct ar_input *in, const struct ar_neutral_input *n)
{
	in->channel.id = n->subject;
	in->channel.reason = n->reason;
	in->channel.from = n->from;
	in->channel.to = n->to;
}

static void add_body(struct ar_input *in, const struct ar_neutral_input *n, struct ar_arena *a)
{
	switch (in->kind) {
	case AR_IN_COMMAND:
		in->command = (struct ar_input_command){ .id = (enum ar_command)n->command,
							 .args = ar_trace_read_args(n->command, n->args, a),
							 .masked = n->masked,
							 .call = n->subject,
							 .token = n->token,
							 .feed = n->feed,
							 .standing = n->standing };
		break;
	case AR_IN_MODEL_DONE:
		in->model_done.output = n->outputs;
		in->model_done.end = n->end;
		break;
	case AR_IN_RECOVER:
		in->recover.outputs = n->outputs;
		in->recover.output_count = n->output_count;
		in->recover.is_bystander = n->is_bystander;
		break;
	case AR_IN_RETRY_DUE:
	case AR_IN_CALL_DUE:
	case AR_IN_ACTION_DUE:
	case AR_IN_BUDGET_DUE:
	case AR_IN_SILENCE_DUE:
	case AR_IN_TASK_DUE:
	case AR_IN_JOB_DUE:
	case AR_IN_CHANNEL_DUE:
		in->due = n->subject;
		break;
	case AR_IN_CHANNEL_FOLLOWED:
	case AR_IN_CHANNEL_GONE:
	case AR_IN_CHANNEL_READ:
		channel_to(in, n);
		break;
	case AR_IN_TOOL_DONE:
		in->tool_done.call = n->call;
		in->tool_done.masked = n->call_masked;
		in->tool_done.duration_ms = n->duration_ms;
		in->tool_done.result = n->result;
		break;
	case AR_IN_TOOL_ASKED:
		in->tool_asked.call = ((const struct asked *)n->body)->call;
		in->tool_asked.question = &((const struct asked *)n->body)->question;
		break;
	case AR_IN_HOOK_DONE:
	case AR_IN_PROCESS_READY:
	case AR_IN_PROCESS_REPORT:
	case AR_IN_PROCESS_END:
	case AR_IN_ACCESS:
	case AR_IN_REPAIR:
	case AR_IN_CHECKPOINT_DONE:
	case AR_IN_SENT:
	case AR_IN_SERVERS:
	case AR_IN_WORKSPACE:
		in->hook_done = n->body; /* all of them are one pointer */
		break;
	case AR_IN_INSPECTED:
		in->inspected.turn = n->subject;
		in->inspected.found = n->body;
		break;
	case AR_IN_WORKER:
	case AR_IN_CONTENTS: /* decides nothing */
	case AR_IN_SCHEDULE_DUE:
		break;
	}
}

struct ar_input ar_neutral_to_input(const struct ar_neutral_input *n, struct ar_arena *a)
{
	struct ar_input in = { .kind = (enum ar_input_kind)n->kind,
			       .now = n->now,
			       .step = n->step,
			       .policy = n->policy,
			       .missing = n->missing,
			       .account = n->account,
			       .person = n->person,
			       .tenant = n->tenant,
			       .worker = n->worker };

	add_body(&in, n, a);
	return in;
}

static struct ar_neutral_effect model_call(const struct ar_effect_model_call *e)
{
	return (struct ar_neutral_effect){ .thread = e->thread,
					   .turn = e->turn,
					   .step = e->step,
					   .model_request = e->model_request,
					   .options = e->options,
					   .route = e->choice.entry->name,
					   .model = e->choice.model,
					   .can_see = e->choice.entry->capabilities & AR_CAN_VISION,
					   .is_transcript = e->is_transcript,
					   .messages = e->messages,
					   .message_count = e->message_count,
					   .tools = e->tools,
					   .tool_count = e->tool_count };
}

static struct ar_neutral_effect tool_call(const struct ar_effect *e)
{
	const struct ar_invocation *call = e->tool_call.call;

	return (struct ar_neutral_effect){ .thread = e->tool_call.turn->thread,
					   .turn = e->tool_call.turn->id,
					   .step = call->step,
					   .subject = call->id,
					   .tool = call->name,
					   .args_ref = call->args_ref,
					   .operation = call->permission,
					   .profile = call->profile.v,
					   .process = e->tool_call.process ? e->tool_call.process->id
									   : AR_STR_NONE,
					   .at = call->expires };
}

static struct ar_neutral_effect checkpoint(const struct ar_effect_checkpoint *c)
{
	return (struct ar_neutral_effect){ .subject = c->id,
					   .number = (int64_t)c->kind,
					   .handle = c->tree,
					   .by = c->from,
					   .reason = c->label,
					   .grace_ms = (int64_t)c->side,
					   .turn = c->child,
					   .at = c->deadline };
}

/* Of what is about the folder of a session. */
static struct ar_neutral_effect folder_body(const struct ar_effect *e)
{
	if (e->kind == AR_EFFECT_INSPECT)
		return (struct ar_neutral_effect){ .turn = e->inspect.turn, .subject = e->inspect.folder };
	if (e->kind == AR_EFFECT_SERVERS)
		return (struct ar_neutral_effect){ .turn = e->servers.turn,
						   .subject = e->servers.digest,
						   .number = (int64_t)e->servers.count };
	return (struct ar_neutral_effect){ .subject = e->checkpoint_cancel };
}

static struct ar_neutral_effect body_of(const struct ar_effect *e)
{
	switch (e->kind) {
	case AR_EFFECT_MODEL_CALL:
		return model_call(&e->model_call);
	case AR_EFFECT_MODEL_CANCEL:
		return (struct ar_neutral_effect){ .step = e->model_cancel };
	case AR_EFFECT_TOOL_CALL:
		return tool_call(e);
	case AR_EFFECT_TOOL_CANCEL:
		return (struct ar_neutral_effect){ .subject = e->tool_cancel };
	case AR_EFFECT_HOOK_RUN:
		return (struct ar_neutral_effect){ .subject = e->hook_run.run,
						   .turn = e->hook_run.turn,
						   .handler = e->hook_run.handler,
						   .parts = e->hook_run.parts,
						   .part_count = e->hook_run.part_count,
						   .at = e->hook_run.deadline };
	case AR_EFFECT_HOOK_CANCEL:
		return (struct ar_neutral_effect){ .subject = e->hook_cancel };
	case AR_EFFECT_WAKE:
		return (struct ar_neutral_effect){ .input = e->wake.input,
						   .subject = e->wake.subject,
						   .turn = e->wake.turn,
						   .at = e->wake.at };
	case AR_EFFECT_WAKE_CANCEL:
		return (struct ar_neutral_effect){ .subject = e->wake_cancel };
	case AR_EFFECT_TOOL_ANSWER:
		return (struct ar_neutral_effect){ .subject = e->tool_answer.call,
						   .question = e->tool_answer.question,
						   .answer = e->tool_answer.decision,
						   .answer_content = e->tool_answer.content };
	case AR_EFFECT_PROCESS_GO:
		return (struct ar_neutral_effect){ .subject = e->process_go.call,
						   .process = e->process_go.process };
	case AR_EFFECT_PROCESS_ATTACH:
		return (struct ar_neutral_effect){ .process = e->process_attach->id,
						   .subject = e->process_attach->call,
						   .handle = e->process_attach->handle };
	case AR_EFFECT_PROCESS_WRITE:
		return (struct ar_neutral_effect){ .process = e->process_write.process,
						   .number = (int64_t)e->process_write.number,
						   .bytes = e->process_write.bytes,
						   .is_eof = e->process_write.is_eof };
	case AR_EFFECT_PROCESS_END:
		return (struct ar_neutral_effect){ .process = e->process_end.process,
						   .by = e->process_end.by,
						   .reason = e->process_end.reason,
						   .signal = e->process_end.signal,
						   .grace_ms = e->process_end.grace_ms };
	case AR_EFFECT_SEND:
		return (struct ar_neutral_effect){ .subject = e->send.subject,
						   .input = e->send.command,
						   .bytes = e->send.body };
	case AR_EFFECT_PROCESS_FORGET:
		return (struct ar_neutral_effect){ .handle = e->process_forget };
	case AR_EFFECT_CHECKPOINT:
		return checkpoint(&e->checkpoint);
	case AR_EFFECT_CHECKPOINT_CANCEL:
	case AR_EFFECT_INSPECT:
	case AR_EFFECT_SERVERS:
		return folder_body(e);
	}
	return (struct ar_neutral_effect){ 0 };
}

struct ar_neutral_effect ar_neutral_from_effect(const struct ar_effect *e)
{
	struct ar_neutral_effect n = body_of(e);

	n.kind = (int)e->kind;
	return n;
}
