/* The answer of a Chat Completions server as the runtime's outputs: event stream or one JSON object in, text, reasoning
 * and tool calls out, and at the end how it ended. Pure: no network, no clock; driven by whoever has the bytes. */
#ifndef AR_PROVIDER_OPENAI_STREAM_H
#define AR_PROVIDER_OPENAI_STREAM_H

#include "arena.h"
#include "json.h"
#include "provider.h"
#include "sse_reader.h"

/* Where outputs go. The strings are valid during the call only; none is empty except a tool's name. */
struct ar_openai_sink {
	void (*on_tool)(void *owner, uint32_t index, struct ar_str id, struct ar_str name);
	void (*on_output)(void *owner, enum ar_output_kind kind, uint32_t index, struct ar_str bytes);
	void *owner;
};

struct ar_openai_tool {
	int64_t wire_index; /* -1: the server gave none */
	struct ar_str id;
	bool announced;
};

struct ar_openai_stream {
	struct ar_openai_sink sink;
	struct ar_json_parser *json; /* borrowed; its document lives only while an event is taken */
	struct ar_sse_reader sse;
	struct ar_arena arena; /* strings of the result and ids of tools */
	struct ar_buf scratch;
	struct ar_openai_tool *tools;
	size_t tool_count;
	size_t output_left;
	struct ar_str answer_id; /* the server's id of this answer */
	struct ar_model_result result; /* outcome is 0 until decided */
	bool done; /* the end mark came; what follows is not read */
	bool ending;
};

AR_BEGIN_DECLS

/* `output_max` caps the sum of all outputs in bytes; one event may be that long plus framing. */
void ar_openai_stream_init(struct ar_openai_stream *s, struct ar_json_parser *json,
			   const struct ar_openai_sink *sink, size_t output_max);
void ar_openai_stream_fini(struct ar_openai_stream *s);

/* Bytes of the event stream. False when the answer cannot become a success any more and reading on is of no use. */
bool ar_openai_stream_feed(struct ar_openai_stream *s, struct ar_str bytes);

/* The answer of a server that ignored "stream": one chat.completion object. */
void ar_openai_stream_whole(struct ar_openai_stream *s, struct ar_str body);

/* No more bytes come. Decides between COMPLETED and CUT where nothing else was decided; the result is valid until fini
 * and has no times, no HTTP status, no ids and no retry_after_ms: those are the caller's knowledge. */
struct ar_model_result *ar_openai_stream_end(struct ar_openai_stream *s);

/* Whether the model has named its stop reason or the end mark came: the answer is whole even if the connection is not. */
bool ar_openai_stream_is_whole(const struct ar_openai_stream *s);

AR_END_DECLS

#endif
