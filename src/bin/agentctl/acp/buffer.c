/* See acp.h: the text of files as the editor has them, which may not be saved. It goes with the turn as
 * context; files are read and written by the tools of the agent alone. */
#include "acp/acp.h"

void ar_acp_buffers_ask(struct ar_acp_session *s, struct ar_acp_prompt *p)
{
	for (size_t i = 0; i < AR_ACP_BUFFERS && p->buffers[i].path.len; i++) {
		struct ar_jw w = ar_acp_ask(s->acp, "fs/read_text_file", &p->buffers[i].request);

		ar_jw_open(&w);
		ar_jw_mstr(&w, "sessionId", ar_buf_str(&s->id));
		ar_jw_mstr(&w, "path", ar_buf_str(&p->buffers[i].path));
		ar_jw_close(&w);
		ar_acp_end(s->acp, &w);
	}
}

bool ar_acp_buffers_wait(const struct ar_acp_prompt *p)
{
	for (size_t i = 0; i < AR_ACP_BUFFERS; i++) {
		if (p->buffers[i].request)
			return true;
	}
	return false;
}

void ar_acp_buffers_drop(struct ar_acp *a, struct ar_acp_prompt *p)
{
	for (size_t i = 0; i < AR_ACP_BUFFERS; i++) {
		if (p->buffers[i].request)
			ar_acp_withdraw(a, p->buffers[i].request);
		p->buffers[i].request = 0;
	}
}

static struct ar_acp_buffer *find_buffer(struct ar_acp_session *s, int64_t id)
{
	for (size_t i = 0; s && i < AR_ACP_PROMPTS * AR_ACP_BUFFERS; i++) {
		struct ar_acp_buffer *b = &s->prompts[i / AR_ACP_BUFFERS].buffers[i % AR_ACP_BUFFERS];

		if (b->request == id)
			return b;
	}
	return NULL;
}

/* A file that the editor does not have, or that is too large, goes without its text. */
static void take_text(struct ar_acp_buffer *b, struct ar_str text)
{
	b->request = 0;
	if (ar_str_absent(text) || text.len > AR_ACP_TEXT_MAX)
		return;
	ar_buf_adds(&b->text, text);
	b->is_there = true;
}

bool ar_acp_buffer_answer(struct ar_acp *a, int64_t id, struct ar_json result)
{
	for (size_t i = 0; i < AR_ACP_SESSIONS; i++) {
		struct ar_acp_buffer *b = find_buffer(a->sessions[i], id);

		if (b) {
			take_text(b, ar_api_str(result, "content"));
			return true;
		}
	}
	return false;
}
