/* One request: found in the catalogue, given to a request as an HTTP request would be, and its answer
 * written as a response. The exchange does not know the difference, so sessions of other nodes are
 * reached by the same code. Owner: the loop thread. */
#include "rpc/task.h"
#include "describe.h"
#include "mem.h"
#include "server.h"

#include <stdio.h>

/* ---- answers ---- */

static void send_answers(struct ar_rpc_post *post)
{
	struct ar_rpc *r = post->rpc;

	if (r->is_stopped)
		return;
	if (post->answers.len) {
		ar_buf_addc(&post->answers, ']');
		r->v->send(r, ar_buf_str(&post->answers));
	}
	ar_list_splice(&r->waiting, &post->held);
	ar_rpc_drained(r);
}

static void add_answer(struct ar_rpc_post *post, struct ar_str text)
{
	if (!text.len)
		return;
	ar_buf_addc(&post->answers, post->answers.len ? ',' : '[');
	ar_buf_adds(&post->answers, text);
}

void ar_rpc_post_answer(struct ar_rpc_post *post, struct ar_str text)
{
	struct ar_rpc *r = post->rpc;

	if (post->is_batch)
		add_answer(post, text);
	else if (text.len && !r->is_stopped)
		r->v->send(r, text);
	if (--post->open)
		return;
	if (post->is_batch)
		send_answers(post);
	r->call_bytes -= post->bytes;
	ar_buf_fini(&post->answers);
	ar_arena_fini(&post->arena);
	ar_free(post);
}

void ar_rpc_task_answered(struct ar_rpc_task *t, struct ar_str text)
{
	struct ar_rpc_post *post = t->post;

	t->post = NULL;
	t->id = AR_STR_NONE;
	if (post)
		ar_rpc_post_answer(post, text);
}

/* ---- life ---- */

static void free_task(struct ar_rpc_task *t)
{
	struct ar_rpc *r = t->rpc;

	if (t->carrier.request) {
		ar_http_request_fini(t->carrier.request);
		ar_free(t->carrier.request);
	}
	ar_list_del(&t->node);
	ar_list_del(&t->waiting);
	if (t->number)
		r->subscription_count--;
	else
		r->call_count--;
	ar_rpc_task_answered(t, AR_STR(""));
	ar_buf_fini(&t->cursor);
	ar_sse_text_fini(&t->text);
	ar_free(t);
	r->v->moved(r);
}

void ar_rpc_task_drop(struct ar_rpc_task *t)
{
	ar_carrier_stop(&t->carrier);
	if (ar_carrier_fini(&t->carrier))
		free_task(t);
}

/* ---- running ---- */

static void start_request(struct ar_rpc *r, struct ar_rpc_post *post, const struct ar_rpc_request *request,
			  const struct ar_command_desc *command)
{
	static const struct ar_http_head nothing = { 0 };
	struct ar_rpc_task *t = ar_new0(sizeof *t);
	struct ar_http_request *req = ar_new0(sizeof *req);

	t->rpc = r;
	t->post = post;
	t->id = request->id;
	t->carrier = (struct ar_carrier){
		.v = &ar_rpc_carrier, .server = r->server, .source = r->source, .request = req
	};
	ar_carrier_admit(&t->carrier, r->who);
	ar_list_init(&t->waiting);
	ar_list_push(&r->calls, &t->node);
	r->call_count++;
	ar_http_request_init(req, &t->carrier);
	req->head = &nothing;
	req->route.command = command;
	req->body = request->params;
	req->arrived = uv_now(r->server->loop);
	ar_http_request_begin(req);
}

static size_t open_subscriptions(const struct ar_rpc *r)
{
	size_t count = r->subscription_count;

	AR_LIST_FOR (it, &r->calls) {
		const struct ar_rpc_task *t = AR_CONTAINER_OF(it, struct ar_rpc_task, node);

		count += t->carrier.request &&
			 t->carrier.request->route.command->id == AR_CMD_SUBSCRIBE_EVENTS;
	}
	return count;
}

/* Why it cannot be run at all; 0 when it can. */
static uint16_t find_command(const struct ar_rpc *r, const struct ar_rpc_request *request,
			     const struct ar_command_desc **ret, char why[static 160])
{
	*ret = ar_command_find(request->method);
	if (!*ret) {
		snprintf(why, 160, "there is no method '%.*s'",
			 AR_STR_ARG(ar_str_utf8_prefix(request->method, 100)));
		return AR_ERR_NOT_FOUND;
	}
	if ((*ret)->id == AR_CMD_SUBSCRIBE_EVENTS && open_subscriptions(r) >= AR_RPC_SUBSCRIPTIONS) {
		snprintf(why, 160, "this connection has %d subscriptions; end one of them first",
			 AR_RPC_SUBSCRIPTIONS);
		return AR_ERR_OVERLOADED;
	}
	return 0;
}

static void answer_at_once(struct ar_rpc_post *post, const struct ar_rpc_request *request,
			   struct ar_buf *text)
{
	if (ar_str_absent(request->id))
		ar_buf_clear(text);
	ar_rpc_post_answer(post, ar_buf_str(text));
	ar_buf_fini(text);
}

void ar_rpc_task_run(struct ar_rpc *r, struct ar_rpc_post *post, const struct ar_rpc_request *request)
{
	const struct ar_command_desc *command = NULL;
	struct ar_buf text = { 0 };
	char why[160];
	uint16_t code;

	r->server->counters.requests++;
	if (request->code) {
		r->server->counters.refused++;
		ar_rpc_write_error(&text, request->id, request->code, request->why);
		answer_at_once(post, request, &text);
		return;
	}
	if (ar_str_is(request->method, "unsubscribe")) {
		ar_rpc_unsubscribe(r, request, &text);
		answer_at_once(post, request, &text);
		return;
	}
	code = find_command(r, request, &command, why);
	if (!code) {
		start_request(r, post, request, command);
		return;
	}
	ar_rpc_write_error(&text, request->id, code, why);
	answer_at_once(post, request, &text);
}
