/* One call of a tool: sent, asked about, answered, ended once. Loop thread only. */
#ifndef AR_MCP_CALL_H
#define AR_MCP_CALL_H

#include "source.h"

#define AR_MCP_QUESTIONS_MAX 32 /* of one call */

enum ar_mcp_question_kind {
	AR_MCP_ASKED = 1, /* a request of the server: the answer goes out at once */
	AR_MCP_INPUT, /* part of a result: the call is sent again with all answers */
	AR_MCP_PAGE, /* a page to visit first: the call is sent again as it was */
};

struct ar_mcp_question {
	struct ar_tool_question shown;
	enum ar_mcp_question_kind kind;
	struct ar_str key; /* ASKED: JSON of the request's id; INPUT: name of the input */
	struct ar_str answer; /* JSON; absent: open */
};

struct ar_mcp_call {
	struct ar_mcp_link *link;
	struct ar_tool_call *port;
	struct ar_mcp_inventory *inventory;
	const struct ar_mcp_remote *tool;
	struct ar_arena arena;
	struct ar_tool_result result; /* once ended */
	struct ar_list node; /* of the link's calls, or of the source's ended ones */
	struct ar_mcp_request request;
	int64_t last_id; /* of the newest request that was made; 0: none was */
	struct ar_mcp_question questions[AR_MCP_QUESTIONS_MAX];
	size_t question_count;
	size_t round_at; /* first question of the round whose answers go along with the next request */
	struct ar_str state; /* to be sent back; absent: none */
	uint32_t rounds;
	bool waits; /* for the connection */
	bool resumes; /* the next request carries answers */
	bool was_resent; /* because the server had forgotten the session */
	bool asking; /* questions are just being handed out */
	bool has_ended;
};

AR_BEGIN_DECLS

/* Waits in the link until ar_mcp_call_go. */
struct ar_mcp_call *ar_mcp_call_new(struct ar_mcp_link *link, struct ar_tool_call *port, size_t index);
void ar_mcp_call_free(struct ar_mcp_call *c); /* after its end was delivered */

void ar_mcp_call_go(struct ar_mcp_call *c); /* the link is ready */

/* Ends it with this result (see ar_mcp_result_end); on_done follows from the loop. */
void ar_mcp_call_end(struct ar_mcp_call *c, enum ar_tool_outcome outcome, const char *category,
		     const char *why);
void ar_mcp_call_cancel(struct ar_mcp_call *c, const char *why);

bool ar_mcp_call_is(const struct ar_mcp_request *r); /* the request of a call */

/* ---- call_ask.c ---- */

/* The server wants an answer while it works. */
void ar_mcp_call_on_request(struct ar_mcp_call *c, const struct ar_mcp_message *m);

/* The answer to the call is a set of questions. */
void ar_mcp_call_on_input_required(struct ar_mcp_call *c, struct ar_json result);
void ar_mcp_call_on_url_required(struct ar_mcp_call *c, const struct ar_mcp_message *m);

void ar_mcp_call_answer(struct ar_mcp_call *c, const struct ar_tool_answer *a);

/* The end has come: open questions of the server get `cancel`. */
void ar_mcp_call_withdraw(struct ar_mcp_call *c);

/* Writes inputResponses and requestState. */
void ar_mcp_call_write_answers(const struct ar_mcp_call *c, struct ar_jw *w);

bool ar_mcp_call_has_open_questions(const struct ar_mcp_call *c);
void ar_mcp_call_set_deadline(struct ar_mcp_call *c);

AR_END_DECLS

#endif
