/* One exchange with a server over HTTP: a POST with its answer, or a GET that waits for what the server has
 * to say. Reads plain and event stream bodies, and goes on with a stream that broke where the server lets it.
 * What the messages mean, and which headers go along, is its owner's. Loop thread only. */
#ifndef AR_MCP_HTTP_STREAM_H
#define AR_MCP_HTTP_STREAM_H

#include "transfer.h"
#include "wire.h"

#include "sse_reader.h"

struct ar_mcp_stream;

struct ar_mcp_stream_vtable {
	/* All headers of the next request; `last_id` is absent unless a stream is gone on with. The stream
	 * frees them. */
	struct curl_slist *(*headers)(struct ar_mcp_stream *s, struct ar_str last_id);
	/* The status line and headers are there; comes before the first message. */
	void (*on_headers)(struct ar_mcp_stream *s);
	void (*on_message)(struct ar_mcp_stream *s, struct ar_str text);
	/* Nothing more comes. `f` is NULL when the stream was settled or all is well. Afterwards the memory
	 * is the owner's again. */
	void (*on_end)(struct ar_mcp_stream *s, const struct ar_mcp_failure *f);
};

/* Embedded by the owner; the members below `resumable` are private. */
struct ar_mcp_stream {
	const struct ar_mcp_stream_vtable *v;
	struct ar_transfer_pool *pool;
	const char *url; /* borrowed until on_end, as the pool */
	const char *method; /* NULL: POST */
	struct ar_str body; /* borrowed */
	ar_usec deadline; /* monotonic; 0: none */
	uint32_t connect_ms;
	bool expects_answer; /* a body without one is a failure */
	bool standing; /* reconnects for ever */
	bool resumable; /* a broken event stream is gone on with by GET */

	struct ar_transfer transfer;
	uv_timer_t retry;
	struct ar_sse_reader sse;
	struct ar_buf kept; /* a body that is read at its end */
	struct ar_buf last_id;
	struct ar_mcp_failure failure;
	int64_t retry_ms;
	uint32_t barren; /* connections in a row that brought no event */
	uint8_t form;
	bool running, settled, abandoned, got_event, ended;
	char why[256];
};

AR_BEGIN_DECLS

void ar_mcp_stream_start(struct ar_mcp_stream *s, uv_loop_t *loop);

/* What was awaited has come, here or elsewhere, or (abandoned) is no longer wanted. on_end follows from the
 * loop. */
void ar_mcp_stream_settle(struct ar_mcp_stream *s, bool abandoned);

int ar_mcp_stream_status(const struct ar_mcp_stream *s);
struct ar_str ar_mcp_stream_header(const struct ar_mcp_stream *s, const char *name);

AR_END_DECLS

#endif
