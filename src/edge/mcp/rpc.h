/* The JSON-RPC messages of MCP: read from a text that a peer wrote, written into a buffer. Pure. */
#ifndef AR_MCP_RPC_H
#define AR_MCP_RPC_H

#include "json.h"

#define AR_MCP_MESSAGE_MAX (8u << 20)
#define AR_MCP_VERSION_MODERN "2026-07-28"
#define AR_MCP_VERSION_LEGACY "2025-11-25"

/* Codes of the protocol that mean something to a client. */
enum {
	AR_MCP_ERR_PARSE = -32700,
	AR_MCP_ERR_REQUEST = -32600,
	AR_MCP_ERR_METHOD = -32601,
	AR_MCP_ERR_PARAMS = -32602,
	AR_MCP_ERR_HEADERS = -32020,
	AR_MCP_ERR_CAPABILITY = -32021,
	AR_MCP_ERR_VERSION = -32022,
	AR_MCP_ERR_URL_REQUIRED = -32042,
};

enum ar_mcp_kind {
	AR_MCP_REQUEST = 1, /* of the server: wants an answer */
	AR_MCP_NOTIFICATION,
	AR_MCP_RESULT,
	AR_MCP_ERROR,
};

/* Strings and values belong to the parser's document. */
struct ar_mcp_message {
	enum ar_mcp_kind kind;
	int64_t answers; /* RESULT, ERROR: id of our request; 0: of none */
	struct ar_json id; /* REQUEST: string or integer */
	struct ar_str method; /* REQUEST, NOTIFICATION */
	struct ar_json params; /* the same; may be absent */
	struct ar_json result;
	int64_t code; /* ERROR */
	struct ar_str error; /* ERROR: its sentence, may be empty */
	struct ar_json error_data; /* may be absent */
};

AR_BEGIN_DECLS

/* AR_E_INVALID for what is no message of JSON-RPC; the connection may go on. */
AR_MUST_USE enum ar_status ar_mcp_read(struct ar_json_parser *p, struct ar_str text,
				       struct ar_mcp_message *ret, struct ar_error *err);

/* What stands in the _meta of a request. */
struct ar_mcp_meta {
	bool modern; /* version, capabilities and name of the client come with every request */
	int64_t progress_token; /* 0: no progress is wanted */
	struct ar_str trace_parent; /* of the call; absent: nothing is traced */
};

/* Opens a request up to the members of its params; the caller writes these and closes. Id 0: a
 * notification. */
struct ar_jw ar_mcp_open(struct ar_buf *out, int64_t id, const char *method, const struct ar_mcp_meta *meta);
void ar_mcp_close(struct ar_jw *w);

/* The whole `initialize`. */
void ar_mcp_write_initialize(struct ar_buf *out, int64_t id);

/* Answers to a request of the server. `id` (as the server wrote it) and `result` are JSON. */
void ar_mcp_write_result(struct ar_buf *out, struct ar_str id, struct ar_str result);
void ar_mcp_write_error(struct ar_buf *out, struct ar_str id, int code, struct ar_str message);

AR_END_DECLS

#endif
