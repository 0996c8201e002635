/* The provider port: one call to a language model, streamed. The runtime owns history and order; a provider
 * turns one neutral request into its wire format and its stream back into these callbacks.
 *
 * Contract: the caller owns the call struct and everything it points to until on_done. start() never calls
 * back before it returns. Between start and on_done any number of on_tool/on_output; on_done exactly once,
 * also after cancel() (outcome AR_MODEL_CANCELLED). All callbacks come on the loop thread. */
#ifndef AR_PORT_PROVIDER_H
#define AR_PORT_PROVIDER_H

#include "status.h"
#include "str.h"
#include "tool.h"

enum ar_output_kind {
	AR_OUT_TEXT = 1,
	AR_OUT_REASONING,
	AR_OUT_TOOL_ARGS,
};

enum ar_role {
	AR_ROLE_SYSTEM = 1,
	AR_ROLE_USER,
	AR_ROLE_ASSISTANT,
	AR_ROLE_TOOL,
};

struct ar_tool_use {
	struct ar_str id; /* the provider's own call id */
	struct ar_str name;
	struct ar_str args; /* JSON text as the model wrote it; may be invalid */
};

struct ar_message {
	enum ar_role role;
	/* Plain text, or with is_parts a JSON array of input parts: {"type":"text","text"}, {"type":"image"}
	 * with "url" (https: or data:) or "data" (base64) and "mimeType"; what a wire format has no word for
	 * goes as JSON text. */
	struct ar_str text;
	bool is_parts;
	struct ar_str echo; /* role assistant: ar_model_result.echo of the call that said it; may be absent */
	struct ar_str tool_call_id; /* role tool: which call this answers */
	const struct ar_tool_use *uses; /* role assistant: calls it made */
	size_t use_count;
};

struct ar_model_request {
	struct ar_str model;
	const struct ar_message *messages; /* borrowed until start() returns; all else until the call ends */
	size_t count;
	struct ar_str session_id, turn_id, step_id, model_request_id; /* for correlation headers */
	struct ar_str trace_parent; /* W3C traceparent of the call; absent: nothing is traced */
	/* JSON object of the turn, may be absent: temperature, topP, maxOutputTokens, stop, seed,
	 * reasoningEffort, outputSchema (a JSON Schema that the answer has to meet). What a wire format has
	 * no word for is left out. */
	struct ar_str options;
	const struct ar_tool *tools; /* that the model may call: name, description and schema count */
	size_t tool_count;
};

/* What a provider said about its limits; each member on its own may be unknown. */
enum ar_rate_kind {
	AR_RATE_REQUESTS,
	AR_RATE_TOKENS,
	AR_RATE_INPUT_TOKENS,
	AR_RATE_OUTPUT_TOKENS,
	AR_RATE_KINDS,
};

struct ar_rate_limit {
	struct ar_opt_int limit, remaining, reset_ms; /* reset_ms: from the answer on */
};

/* How a call ended; only COMPLETED is success. */
enum ar_model_outcome {
	AR_MODEL_COMPLETED = 1,
	AR_MODEL_REJECTED, /* the provider answered with an error before streaming (HTTP status in `http`) */
	AR_MODEL_FAILED, /* the provider reported an error inside the stream */
	AR_MODEL_CUT, /* the stream ended without its end mark */
	AR_MODEL_TIMEOUT,
	AR_MODEL_CANCELLED,
	AR_MODEL_UNREACHABLE,
	AR_MODEL_GARBLED, /* bytes that are not the protocol, or over a cap */
};

struct ar_model_result {
	enum ar_model_outcome outcome;
	/* rate_limited, overloaded, auth, invalid_request, context_length, timeout, network, ... */
	struct ar_str category;
	struct ar_str message;
	bool retryable;
	int http;
	int64_t retry_after_ms; /* 0 = not given */
	/* Input counts what came from a cache or went into one; output counts reasoning. */
	int64_t input_tokens, output_tokens;
	int64_t cached_tokens, cache_write_tokens, reasoning_tokens;
	bool has_usage;
	struct ar_str stop_reason; /* stop, length, tool_calls, content_filter, ... */
	struct ar_str model; /* as the provider named it */
	struct ar_str request_id; /* the provider's, for correlation */
	struct ar_rate_limit limits[AR_RATE_KINDS];
	struct ar_str payload; /* a failure in the provider's own words, without the key, at most 4 KiB */
	/* What the provider wants back unread with this assistant message (signed reasoning), as JSON;
	 * absent: nothing. It means something only to the provider kind that made it. */
	struct ar_str echo;
	int64_t ttft_ms, latency_ms;
	/* What came as AR_OUT_REASONING is a summary that the provider made, for people to read. False: it is
	 * the reasoning itself, or nobody says which. */
	bool is_summary;
};

struct ar_model_call;

struct ar_model_call_vtable {
	/* A tool call with this index began; its arguments follow as AR_OUT_TOOL_ARGS with the same index. */
	void (*on_tool)(struct ar_model_call *c, uint32_t index, struct ar_str id, struct ar_str name);
	void (*on_output)(struct ar_model_call *c, enum ar_output_kind kind, uint32_t index,
			  struct ar_str bytes);
	void (*on_done)(struct ar_model_call *c, const struct ar_model_result *r);
};

struct ar_model_call {
	const struct ar_model_call_vtable *v;
	const struct ar_model_request *request;
	void *provider_state; /* the provider's while the call is open */
};

struct ar_provider;

struct ar_provider_vtable {
	void (*start)(struct ar_provider *p, struct ar_model_call *c);
	void (*cancel)(struct ar_provider *p, struct ar_model_call *c); /* harmless when it has ended */
	void (*close)(struct ar_provider *p); /* cancels what is open (on_done is called), frees */
};

struct ar_provider {
	const struct ar_provider_vtable *v;
	const char *name; /* "openai-chat" */
};

#endif
