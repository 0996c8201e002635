/* See neutral.h. Compiled with the headers of a version in which the members of all kinds lie side by
 * side. */
#include "neutral.h"
#include "trace.h"

static struct ar_step_end step_end(const struct ar_model_result *r)
{
	return (struct ar_step_end){ .outcome = (int)r->outcome,
				     .category = r->category,
				     .message = r->message,
				     .stop_reason = r->stop_reason,
				     .model = r->model,
				     .request_id = r->request_id,
				     .echo = r->echo,
				     .payload = r->payload,
				     .retryable = r->retryable,
				     .has_usage = r->has_usage,
				     .http = r->http,
				     .retry_after_ms = r->retry_after_ms,
				     .input_tokens = r->input_tokens,
				     .output_tokens = r->output_tokens,
				     .cached_tokens = r->cached_tokens,
				     .cache_write_tokens = r->cache_write_tokens,
				     .ttft_ms = r->ttft_ms,
				     .latency_ms = r->latency_ms };
}

static struct ar_str images_json(const struct ar_tool_result *result, struct ar_arena *a)
{
	struct ar_buf buf = { 0 };
	struct ar_jw w = ar_jw(&buf);
	struct ar_str text;

	if (result->image_count == 0)
		return AR_STR_NONE;
	ar_jw_open_array(&w);
	for (size_t i = 0; i < result->image_count; i++) {
		ar_jw_open(&w);
		ar_jw_mstr(&w, "mimeType", result->images[i].mime);
		ar_jw_mstr(&w, "data", result->images[i].data);
		ar_jw_close(&w);
	}
	ar_jw_close_array(&w);
	text = ar_arena_str(a, ar_buf_str(&buf));
	ar_buf_fini(&buf);
	return text;
}

static const struct ar_tool_end *tool_end(const struct ar_neutral_input *n, struct ar_arena *a)
{
	const struct ar_tool_result *r = n->result;
	struct ar_tool_end *end = ar_arena_alloc(a, sizeof(*end));

	*end = (struct ar_tool_end){ .call = n->call,
				     .masked = n->call_masked,
				     .outcome = (int)r->outcome,
				     .text = r->text,
				     .structured = r->structured,
				     .images = images_json(r, a),
				     .category = r->category,
				     .message = r->message,
				     .advice = r->advice,
				     .retryable = r->retryable,
				     .duration_ms = n->duration_ms,
				     .changes = r->changes,
				     .profile = (int)r->profile,
				     .boundary = r->boundary,
				     .violations = r->violations,
				     .violation_count = r->violation_count };
	return end;
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
			       .command = (enum ar_command)n->command,
			       .args = n->kind == AR_IN_COMMAND ? ar_trace_read_args(n->command, n->args, a)
								: NULL,
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
		in.end = step_end(n->end);
	in.tool_end = n->kind == AR_IN_TOOL_DONE ? tool_end(n, a) : NULL;
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
