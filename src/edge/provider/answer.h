/* One answer of a model while it is read: event stream or one JSON document in, text, reasoning and tool
 * calls out, and at the end how it ended. What an event means is the wire format's knowledge, which reports
 * through outputs.h. Pure: no network, no clock; driven by the caller that has the bytes. */
#ifndef AR_PROVIDER_ANSWER_H
#define AR_PROVIDER_ANSWER_H

#include "arena.h"
#include "json.h"
#include "provider.h"
#include "sse_reader.h"

struct ar_wire;

/* Where outputs go. The strings are valid during the call only; none is empty except a tool's name. */
struct ar_answer_sink {
	void (*on_tool)(void *owner, uint32_t index, struct ar_str id, struct ar_str name);
	void (*on_output)(void *owner, enum ar_output_kind kind, uint32_t index, struct ar_str bytes);
	void *owner;
};

struct ar_answer_tool {
	int64_t wire_index; /* -1: the server gave none */
	struct ar_str key; /* how later events name it; empty: by index or not at all */
	struct ar_str id; /* what the runtime knows it by */
	bool announced;
	bool has_args;
};

struct ar_answer {
	const struct ar_wire *wire;
	struct ar_answer_sink sink;
	struct ar_json_parser *json; /* borrowed; its document lives only while an event is taken */
	struct ar_sse_reader sse;
	struct ar_arena arena; /* strings of the result and ids of tools */
	struct ar_buf scratch;
	struct ar_buf echo; /* elements of a JSON array; see ar_model_result.echo */
	struct ar_buf thought, signature; /* of the open piece of reasoning, for the echo */
	struct ar_answer_tool *tools;
	size_t tool_count;
	size_t output_left;
	struct ar_str answer_id; /* the server's id of this answer */
	struct ar_model_result result; /* outcome is 0 until decided */
	bool has_thoughts; /* reasoning came that is no summary, or of which that is not known yet */
	bool done; /* the end mark came; what follows is not read */
	bool ending;
};

AR_BEGIN_DECLS

/* `output_max` caps the sum of all outputs in bytes; one event may be that long plus framing. */
void ar_answer_init(struct ar_answer *a, const struct ar_wire *wire, struct ar_json_parser *json,
		    const struct ar_answer_sink *sink, size_t output_max);
void ar_answer_fini(struct ar_answer *a);

/* Bytes of the event stream. False when the answer cannot become a success any more and reading on is of no
 * use. */
bool ar_answer_feed(struct ar_answer *a, struct ar_str bytes);

/* The answer of a server that ignored "stream": one JSON document. */
void ar_answer_whole(struct ar_answer *a, struct ar_str body);

/* No more bytes come. Decides between COMPLETED and CUT where nothing else was decided; the result is valid
 * until fini and has no times, no HTTP status, no limits: those are the caller's knowledge. */
struct ar_model_result *ar_answer_end(struct ar_answer *a);

/* Whether the model has named its stop reason or the end mark came: the answer is whole even if the
 * connection is not. */
bool ar_answer_is_whole(const struct ar_answer *a);

AR_END_DECLS

#endif
