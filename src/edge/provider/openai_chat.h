/* The provider port over any server that speaks OpenAI's Chat Completions. Loop thread only. */
#ifndef AR_PROVIDER_OPENAI_CHAT_H
#define AR_PROVIDER_OPENAI_CHAT_H

#include "provider.h"

#include <uv.h>

/* Zero and NULL mean the default. Strings are copied. */
struct ar_openai_options {
	const char *
		base_url; /* up to and without "/chat/completions", e.g. "http://127.0.0.1:8080/v1"; required */
	const char *api_key; /* NULL or empty: no Authorization header; surrounding white space is dropped */
	const char *ca_file; /* certificates to trust instead of the system's */
	uint32_t connect_timeout_ms; /* 10 s; waiting for a free connection included */
	uint32_t first_byte_timeout_ms; /* 5 min: some models think before the first byte */
	uint32_t idle_timeout_ms; /* 2 min between bytes */
	uint32_t total_timeout_ms; /* 30 min */
	uint32_t max_output_bytes; /* 8 MiB of text, reasoning and tool arguments together */
};

AR_BEGIN_DECLS

/* Never fails: what is wrong with the URL or the key shows as the outcome of each call. After close() the loop must run
 * once more for the memory to go; close() must not be called from inside on_tool or on_output. cancel() is followed by
 * on_done in the next turn of the loop, with no output between. Strings of a result are valid during on_done. */
struct ar_provider *ar_provider_openai_new(uv_loop_t *loop, const struct ar_openai_options *o);

AR_END_DECLS

#endif
