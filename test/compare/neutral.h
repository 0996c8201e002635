/* Inputs and effects in a layout that both versions of the core understand: every member of every kind, side
 * by side. The neutral.c of each version translates its layout. The arguments of a command are JSON; what
 * other members point at is shared between the versions. A member that the kind of an effect does not use is
 * left out. */
#ifndef AR_NEUTRAL_H
#define AR_NEUTRAL_H

#include "provider.h"
#include "session.h"
#include "tool.h"

struct ar_neutral_input {
	int kind;
	ar_usec now, step;
	const struct ar_policy *policy;
	struct ar_missing missing;
	struct ar_str account, person, tenant;
	int command;
	struct ar_str args;
	struct ar_masked masked;
	struct ar_channel_token token;
	const struct ar_feed_bounds *feed;
	struct ar_process_standing standing;
	struct ar_str subject; /* what is due, the channel, the call that asks for a command */
	int reason;
	int64_t from, to;
	const struct ar_step_output *outputs;
	size_t output_count;
	const struct ar_model_result *end;
	struct ar_str call; /* a tool call that ended, and its result */
	struct ar_masked call_masked;
	int64_t duration_ms;
	const struct ar_tool_result *result;
	bool is_bystander;
	const void *body; /* of the kinds that have just one pointer */
	struct ar_worker_status worker;
};

struct ar_neutral_effect {
	int kind;
	struct ar_str thread, turn, step, model_request, options, route, model, question, answer,
		answer_content, subject, tool, args_ref, operation, process, ending, handle, by, reason,
		signal, bytes, handler;
	int64_t can_see, is_transcript, at, input, profile, grace_ms, number, is_eof;
	const struct ar_context_entry *messages;
	size_t message_count;
	const struct ar_tool *const *tools;
	size_t tool_count;
	const struct ar_hook_part *parts;
	size_t part_count;
};

struct ar_neutral_input ar_neutral_from_input(const struct ar_input *in, struct ar_arena *a);
struct ar_input ar_neutral_to_input(const struct ar_neutral_input *n, struct ar_arena *a);
struct ar_neutral_effect ar_neutral_from_effect(const struct ar_effect *e);

#endif
