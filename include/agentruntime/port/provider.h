/* The provider port: one call to a language model, streamed. The runtime owns history and order; a provider turns one
 * neutral request into its wire format and its stream back into these callbacks.
 *
 * Contract: the caller owns the call struct and everything it points to until on_done. start() never calls back before
 * it returns. Between start and on_done any number of on_tool/on_output; on_done exactly once, also after cancel()
 * (outcome AR_MODEL_CANCELLED). All callbacks come on the loop thread. */
#ifndef AR_PORT_PROVIDER_H
#define AR_PORT_PROVIDER_H

#include "status.h"
#include "str.h"

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
	struct ar_str text; /* plain text, or with is_parts a JSON array of input parts */
	bool is_parts;
	struct ar_str tool_call_id; /* role tool: which call this answers */
	const struct ar_tool_use *uses; /* role assistant: calls it made */
	size_t use_count;
};

struct ar_model_request {
	struct ar_str model;
	const struct ar_message *messages;
	size_t count;
	struct ar_str session_id, turn_id, step_id, model_request_id; /* for correlation headers */
	struct ar_str
		options; /* JSON object of the turn (temperature, maxOutputTokens, ...); may be absent */
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
	struct ar_str
		category; /* rate_limited, overloaded, auth, invalid_request, context_length, timeout, network, ... */
	struct ar_str message;
	bool retryable;
	int http;
	int64_t retry_after_ms; /* 0 = not given */
	int64_t input_tokens, output_tokens, cached_tokens;
	bool has_usage;
	struct ar_str stop_reason; /* stop, length, tool_calls, content_filter, ... */
	struct ar_str model; /* as the provider named it */
	struct ar_str request_id; /* the provider's, for correlation */
	int64_t ttft_ms, latency_ms;
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
