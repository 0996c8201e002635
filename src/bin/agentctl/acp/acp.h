/* `agentctl acp`: sessions of the daemon for an editor, by the Agent Client Protocol (version 1): lines of
 * JSON-RPC on standard input and output. It is a translator: what happens is in the daemon's log, and the
 * editor may come and go. The parts: acp.c is the command and its loop, lines.c reads lines, rpc.c tells
 * requests from answers and writes both, hello.c says what we can do, session.c opens sessions and list.c
 * lists them, stream.c follows their events, replay.c reads what was before, update.c tells the editor about
 * an event, call.c about a tool call, change.c about files it changed, prompt.c makes turns, input.c their
 * input, buffer.c asks for unsaved text, permission.c asks the editor's user, option.c has modes and choices,
 * command.c the slash commands, server.c and tool.c the MCP servers of the editor. One thread. */
#ifndef AR_CTL_ACP_H
#define AR_CTL_ACP_H

#include "acp/server.h"
#include "sse_reader.h"

#define AR_ACP_SESSIONS 64 /* open at once */
#define AR_ACP_PROMPTS 16 /* of a session that wait for their turn to end */
#define AR_ACP_QUESTIONS 16 /* of a session that are shown at once */
#define AR_ACP_CALLS 32 /* of a session that are remembered */
#define AR_ACP_FILES 16 /* changed by one call that are shown */
#define AR_ACP_BUFFERS 8 /* of the editor that go with a prompt */
#ifndef AR_ACP_LINE_MAX /* a fuzz target has a shorter one */
#define AR_ACP_LINE_MAX ((size_t)8 << 20) /* bytes of a line of the editor */
#endif
#define AR_ACP_TEXT_MAX ((size_t)256 << 10) /* bytes of a file or a result that are shown */

/* Codes of JSON-RPC and of the protocol. */
enum ar_acp_code {
	AR_ACP_PARSE = -32700,
	AR_ACP_INVALID_REQUEST = -32600,
	AR_ACP_NO_METHOD = -32601,
	AR_ACP_INVALID_PARAMS = -32602,
	AR_ACP_INTERNAL = -32603,
	AR_ACP_AUTH = -32000,
	AR_ACP_NOT_FOUND = -32002,
};

struct ar_acp;
struct ar_acp_session;

/* A file of the editor that the prompt names, as the editor has it. */
struct ar_acp_buffer {
	int64_t request; /* id of the request for it; 0: answered */
	struct ar_buf path, text;
	bool is_there;
};

/* A session/prompt that is not answered yet. */
struct ar_acp_prompt {
	struct ar_buf id; /* of the request, as JSON; empty: the place is free */
	struct ar_buf input; /* of a turn that waits for buffers: its parts without them, as JSON */
	struct ar_buf turn; /* empty: not submitted */
	struct ar_acp_buffer buffers[AR_ACP_BUFFERS];
	ar_usec until; /* when buffers are not waited for any more, monotonic */
	bool is_cancelled; /* by the editor: nothing else is answered than that */
	bool is_removed; /* from the queue */
};

/* A question of the daemon that the editor was asked. */
struct ar_acp_question {
	struct ar_buf action; /* empty: the place is free */
	struct ar_buf event; /* as JSON, while it is not asked */
	struct ar_buf decisions; /* that were offered, as a JSON array */
	struct ar_buf digest; /* of the whole question; empty: not needed */
	int64_t request; /* 0: not asked, or answered */
};

struct ar_acp_call {
	struct ar_buf id, name, args;
	struct {
		struct ar_buf path, ref; /* of the new content */
	} files[AR_ACP_FILES];
	size_t file_count;
};

struct ar_acp_stream {
	struct ar_http_transfer *transfer; /* NULL: cut */
	struct ar_buf cursor;
	struct ar_sse_reader sse;
	struct ar_json_parser *parser;
	int64_t last_fact;
	int failures; /* in a row */
	ar_usec retry_at; /* monotonic; 0: not at all */
	bool is_broken;
};

struct ar_acp_session {
	struct ar_acp *acp; /* NULL: the place is free */
	struct ar_buf id, thread, cwd;
	struct ar_buf mode, model, effort; /* of the next turns; empty: the daemon's */
	struct ar_acp_stream stream;
	struct ar_buf own; /* ids of turns from here that were not seen as facts yet, one per line */
	struct ar_buf step; /* model step whose output is shown */
	struct ar_buf partial; /* ref of what it said before it failed; empty: nothing */
	int64_t text, reasoning; /* bytes of it that were shown */
	bool is_aside; /* the step is the runtime's own */
	bool is_replay; /* facts of before */
	bool is_silent; /* they are not told */
	struct ar_acp_call calls[AR_ACP_CALLS]; /* a ring */
	size_t call_count;
	struct ar_acp_question questions[AR_ACP_QUESTIONS];
	struct ar_acp_prompt prompts[AR_ACP_PROMPTS];
	struct ar_acp_server servers[AR_ACP_SERVERS];
};

struct ar_acp {
	struct ar_ctl *ctl; /* with an arena that is emptied after each line and each wait */
	struct ar_http_set *set;
	struct ar_json_parser *parser; /* of the line that is handled */
	struct ar_buf in, out;
	struct ar_acp_session *sessions[AR_ACP_SESSIONS];
	const char *workspace; /* id that is used instead of the folder; NULL: none */
	int64_t last_request;
	bool ignores_servers; /* MCP servers that the editor names */
	bool is_too_long; /* the line that is being read is over the limit */
	bool is_ready; /* initialize was answered */
	bool can_read; /* the editor: fs/read_text_file */
	bool can_terminal_auth;
	bool is_over;
};

/* A request or a notification of the editor. */
struct ar_acp_request {
	struct ar_str id; /* as JSON; absent: a notification */
	struct ar_json params;
};

/* ---- lines.c ---- */

/* Reads what standard input has and handles the lines that are whole. */
void ar_acp_read(struct ar_acp *a);

/* Takes bytes of the editor; every line goes to ar_acp_line, one that is over the limit is refused once. */
void ar_acp_feed(struct ar_acp *a, struct ar_str bytes);

/* Writes what is due. */
void ar_acp_flush(struct ar_acp *a);

/* ---- rpc.c ---- */

void ar_acp_line(struct ar_acp *a, struct ar_str line);

/* A result: the object has to be written, then end. */
struct ar_jw ar_acp_result(struct ar_acp *a, struct ar_str id);
void ar_acp_end(struct ar_acp *a, struct ar_jw *w);
void ar_acp_result_empty(struct ar_acp *a, struct ar_str id);
void ar_acp_error(struct ar_acp *a, struct ar_str id, enum ar_acp_code code, const char *fmt, ...)
	AR_PRINTF(4, 5);

/* A refusal of the daemon, or that it cannot be reached, in its words. */
void ar_acp_refused(struct ar_acp *a, struct ar_str id, enum ar_status st, const struct ar_api_reply *reply,
		    const struct ar_error *err);

/* A notification or a request of ours with the member `params`, an object that has to be written, then end.
 * Returns the id of the request in *ret_id. */
struct ar_jw ar_acp_notify(struct ar_acp *a, const char *method);
struct ar_jw ar_acp_ask(struct ar_acp *a, const char *method, int64_t *ret_id);
void ar_acp_withdraw(struct ar_acp *a, int64_t request); /* $/cancel_request */

/* session/update: the members of the update behind its kind have to be written, then end_update. */
struct ar_jw ar_acp_update(struct ar_acp_session *s, const char *kind);
void ar_acp_end_update(struct ar_acp_session *s, struct ar_jw *w);

/* ---- hello.c ---- */

void ar_acp_initialize(struct ar_acp *a, const struct ar_acp_request *r);
void ar_acp_authenticate(struct ar_acp *a, const struct ar_acp_request *r);

/* ---- session.c ---- */

/* The open session that params name; NULL: there is none, which has been answered. */
struct ar_acp_session *ar_acp_session_of(struct ar_acp *a, const struct ar_acp_request *r);
void ar_acp_session_new(struct ar_acp *a, const struct ar_acp_request *r);
void ar_acp_session_load(struct ar_acp *a, const struct ar_acp_request *r);
void ar_acp_session_resume(struct ar_acp *a, const struct ar_acp_request *r);
void ar_acp_session_close(struct ar_acp *a, const struct ar_acp_request *r);
void ar_acp_session_free(struct ar_acp_session *s);

/* ---- list.c ---- */

void ar_acp_session_list(struct ar_acp *a, const struct ar_acp_request *r);

/* ---- replay.c ---- */

/* Tells the editor every fact up to that sequence, but those of turns that were rolled back. False: the log
 * could not be read, which is answered. */
bool ar_acp_replay(struct ar_acp_session *s, struct ar_str request, int64_t until);

/* ---- stream.c ---- */

/* Follows the session from its cursor on. Nothing if it is followed. */
void ar_acp_stream_open(struct ar_acp_session *s);
void ar_acp_stream_close(struct ar_acp_session *s);

/* Joins streams again whose time has come; how long the next may be waited for. */
int ar_acp_streams_due(struct ar_acp *a);

/* ---- update.c ---- */

/* Tells the editor about an event and keeps what follows from it. */
void ar_acp_event(struct ar_acp_session *s, struct ar_json event);

/* Text in pieces that editors read well. */
void ar_acp_chunks(struct ar_acp_session *s, const char *kind, struct ar_str message, struct ar_str text);

/* Stored text, at most `max` bytes of it; false: it cannot be read or is no text. */
bool ar_acp_content(struct ar_acp *a, struct ar_str ref, size_t max, struct ar_buf *to);

/* ---- call.c ---- */

void ar_acp_call_started(struct ar_acp_session *s, struct ar_json event);
void ar_acp_call_changed(struct ar_acp_session *s, struct ar_json event); /* artifact.changed */
void ar_acp_call_ended(struct ar_acp_session *s, struct ar_json event);

/* Members of a tool call: title, kind, locations, rawInput. */
void ar_acp_call_members(struct ar_acp_session *s, struct ar_jw *w, struct ar_str name, struct ar_str args);
void ar_acp_text_content(struct ar_jw *w, struct ar_str text); /* an element of `content` */
void ar_acp_path(struct ar_acp_session *s, struct ar_jw *w, struct ar_str path); /* absolute */

/* ---- change.c ---- */

/* Elements of `content`, one for each file that the call changed; the number of them. `changes` is the stored
 * content behind changesRef. */
size_t ar_acp_diffs(struct ar_acp_session *s, struct ar_jw *w, const struct ar_acp_call *call,
		    struct ar_str changes);

/* ---- prompt.c ---- */

void ar_acp_prompt(struct ar_acp *a, const struct ar_acp_request *r);
void ar_acp_cancel(struct ar_acp *a, const struct ar_acp_request *r);

/* Submits what does not wait for buffers any more. */
void ar_acp_prompts_due(struct ar_acp *a);
void ar_acp_prompt_submit(struct ar_acp_session *s, struct ar_acp_prompt *p);
void ar_acp_prompt_end(struct ar_acp_session *s, struct ar_json event); /* of a turn */
void ar_acp_prompt_free(struct ar_acp_prompt *p);

/* Stops the turns of this editor, or that of another if it has none; and the prompts are answered. */
void ar_acp_interrupt(struct ar_acp_session *s);

/* The daemon is gone: nothing is waited for. */
void ar_acp_prompts_fail(struct ar_acp_session *s);

/* ---- input.c ---- */

/* The parts of a turn as a JSON array in p->input, and what is to be asked of the editor in p->buffers.
 * False: it cannot be sent, and *ret_reason says why. */
bool ar_acp_input(struct ar_acp_session *s, struct ar_acp_prompt *p, struct ar_json blocks,
		  const char **ret_reason);

/* ---- buffer.c ---- */

/* Asks for the text of what p->buffers name. */
void ar_acp_buffers_ask(struct ar_acp_session *s, struct ar_acp_prompt *p);
bool ar_acp_buffers_wait(const struct ar_acp_prompt *p);
void ar_acp_buffers_drop(struct ar_acp *a, struct ar_acp_prompt *p);

/* An answer to one of our requests; false: it was not for a buffer. */
bool ar_acp_buffer_answer(struct ar_acp *a, int64_t id, struct ar_json result);

/* ---- permission.c ---- */

void ar_acp_question(struct ar_acp_session *s, struct ar_json event); /* action.required */
void ar_acp_settled(struct ar_acp_session *s, struct ar_json event); /* action.resolved */
void ar_acp_questions_ask(struct ar_acp_session *s); /* those that were found by a replay */
void ar_acp_questions_free(struct ar_acp_session *s);
bool ar_acp_question_answer(struct ar_acp *a, int64_t id, struct ar_json result);

/* ---- option.c ---- */

/* The members modes and configOptions of an open object. */
void ar_acp_options(struct ar_acp_session *s, struct ar_jw *w);
void ar_acp_set_mode(struct ar_acp *a, const struct ar_acp_request *r);
void ar_acp_set_option(struct ar_acp *a, const struct ar_acp_request *r);

/* ---- command.c ---- */

void ar_acp_commands_update(struct ar_acp_session *s);

/* Runs the command that the text is; false: it is none. */
bool ar_acp_command(struct ar_acp_session *s, struct ar_acp_prompt *p, struct ar_str text);

#endif
