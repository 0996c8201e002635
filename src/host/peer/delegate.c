/* See delegate.h. The tool and the life of its calls: a call is over when its end was reported, and its
 * memory goes when nothing that it asked for is under way any more. */
#include "a2a/host_a2a.h"
#include "mem.h"
#include "peer/delegate_priv.h"
#include "peer/remote.h"
#include "webhook/push_target.h"

#define DAY_MS ((int64_t)24 * 3600 * 1000)

static const struct ar_tool tool = {
	.name = AR_STR(AR_PEER_TOOL),
	.title = AR_STR("Hands work on to a remote agent"),
	.description = AR_STR("Hands a piece of work on to a remote agent and waits until it has ended. The "
			      "agent sees only "
			      "the message, so say everything that it needs to know. The result is what it "
			      "left as artifacts. "
			      "A name that is not known brings the names that there are."),
	.schema = AR_STR("{\"type\":\"object\",\"properties\":{\"peer\":{\"type\":\"string\",\"minLength\":1,"
			 "\"maxLength\":64,\"description\":\"Name of the remote agent.\"},\"message\":{"
			 "\"type\":\"string\",\"minLength\":1,\"maxLength\":65536}},\"required\":[\"peer\","
			 "\"message\"],\"additionalProperties\":false}"),
	.owner = AR_TOOL_CONNECTOR,
	.capabilities = AR_TOOL_NETWORK | AR_TOOL_WRITE,
	.is_concurrency_safe = true,
	/* What was handed on is looked for before it is handed on again. */
	.is_idempotent = true,
	.outlives_us = true,
	.limit_ms = DAY_MS,
};

static struct ar_delegates *delegates_of(struct ar_tool_source *s)
{
	return AR_CONTAINER_OF(s, struct ar_delegates, base);
}

/* ---- the life of a call ---- */

static void work_free(struct ar_work *w)
{
	ar_list_del(&w->node);
	ar_work_drop_notes(w);
	ar_work_drop_outputs(w);
	ar_buf_fini(&w->body);
	ar_arena_fini(&w->update_arena);
	ar_arena_fini(&w->arena);
	ar_free(w);
}

void ar_work_let_go(struct ar_work *w)
{
	if (!w->call && !w->is_running && !w->is_aside && !w->is_reporting && w->open_timers == 0)
		work_free(w);
}

static void on_timer_closed(uv_handle_t *handle)
{
	struct ar_work *w = handle->data;

	w->open_timers--;
	ar_work_let_go(w);
}

/* Another try of the call may have its place already. */
static void end_pushes(struct ar_work *w)
{
	struct ar_map *works = &w->all->by_operation;

	if (ar_map_get(works, w->operation) == w)
		ar_map_del(works, w->operation);
}

static void deliver(struct ar_work *w, const struct ar_tool_result *result)
{
	struct ar_tool_call *call = w->call;

	end_pushes(w);
	w->call = NULL;
	call->source_state = NULL;
	call->v->on_done(call, result);
	uv_close((uv_handle_t *)&w->timer, on_timer_closed);
	uv_close((uv_handle_t *)&w->report_timer, on_timer_closed);
}

void ar_work_finish(struct ar_work *w)
{
	struct ar_tool_result result = w->end;
	struct ar_arena a = { 0 };

	if (!w->call->is_released && (w->is_reporting || !ar_list_empty(&w->notes))) {
		ar_work_report(w);
		return;
	}
	if (w->is_running || w->is_aside)
		return; /* cancelled: their end comes back here */
	if (result.outcome == AR_TOOL_OK)
		ar_work_result(w, &a, &result);
	else
		result.text = result.message;
	deliver(w, &result);
	ar_arena_fini(&a);
}

/* ---- the tool ---- */

static void read_args(struct ar_work *w, struct ar_str args)
{
	struct ar_str name = AR_STR(""), message = AR_STR("");
	struct ar_json doc;

	if (ar_json_parse(w->all->json, args, &doc, NULL) == AR_OK) {
		(void)ar_json_str(ar_json_get(doc, "peer"), &name);
		(void)ar_json_str(ar_json_get(doc, "message"), &message);
	}
	w->name = ar_arena_str(&w->arena, name);
	w->message = ar_arena_str(&w->arena, message);
}

static void start(struct ar_tool_source *s, struct ar_tool_call *c)
{
	struct ar_delegates *all = delegates_of(s);
	struct ar_work *w = ar_new0(sizeof(*w));

	w->all = all;
	w->call = c;
	c->source_state = w;
	ar_list_init(&w->notes);
	ar_list_init(&w->outputs);
	ar_list_push(&all->works, &w->node);
	read_args(w, c->args);
	w->operation = ar_arena_str(&w->arena, c->operation_id);
	w->call_id = ar_arena_str(&w->arena, c->tool_call_id);
	w->tenant = ar_arena_str(&w->arena, c->tenant);
	w->message_id = ar_arena_fmt(&w->arena, "m-%.*s", AR_STR_ARG(w->operation));
	w->peer = ar_host_peers_find(all->peers, w->tenant, w->name);
	w->setting = ar_host_peers_setting(all->peers, w->tenant, w->name);
	if (w->setting)
		ar_map_put(&all->by_operation, w->operation, w);
	uv_timer_init(all->loop, &w->timer);
	uv_timer_init(all->loop, &w->report_timer);
	w->timer.data = w->report_timer.data = w;
	w->open_timers = 2;
	ar_work_begin(w);
}

static void cancel(struct ar_tool_source *s AR_UNUSED, struct ar_tool_call *c)
{
	if (c->source_state)
		ar_work_cancel(c->source_state);
}

static void answer(struct ar_tool_source *s AR_UNUSED, struct ar_tool_call *c, const struct ar_tool_answer *a)
{
	if (c->source_state)
		ar_work_answer(c->source_state, a);
}

/* What is with the peers stays there: the next start finds it. */
static void close_source(struct ar_tool_source *s)
{
	AR_LIST_FOR_SAFE (it, &delegates_of(s)->works) {
		struct ar_work *w = AR_CONTAINER_OF(it, struct ar_work, node);

		if (w->call)
			deliver(w, &(struct ar_tool_result){ .outcome = AR_TOOL_CANCELLED });
	}
}

/* ---- all of it ---- */

/* Where peers post to us, and what makes their tokens. The peers themselves are checked when they are opened,
 * also whether both are set. */
static enum ar_status check_pushes(const struct ar_config *c, struct ar_error *err)
{
	if (!ar_delegates_take_pushes(c))
		return AR_OK;
	if (ar_host_push_key_check(c, err) != AR_OK)
		return ar_fail_wrap(err, "a2a.push_key");
	if (*c->a2a.url && ar_host_a2a_url_check(c, err) != AR_OK)
		return ar_fail_wrap(err, "a2a.url");
	return AR_OK;
}

enum ar_status ar_delegates_open(const struct ar_host_peers_options *o, struct ar_delegates **ret,
				 struct ar_error *err)
{
	static const struct ar_tool_source_vtable vtable = {
		.start = start, .cancel = cancel, .answer = answer, .close = close_source
	};
	struct ar_host_peers *peers;
	struct ar_delegates *all;

	*ret = NULL;
	if (check_pushes(o->config, err) != AR_OK)
		return err->status;
	if (ar_host_peers_open(o, &peers, err) != AR_OK)
		return err->status;
	if (!peers)
		return AR_OK;
	all = ar_new0(sizeof(*all));
	all->base = (struct ar_tool_source){
		.v = &vtable, .name = "peers", .tools = &tool, .tool_count = 1, .is_ready = true
	};
	all->loop = o->loop;
	all->config = o->config;
	all->peers = peers;
	all->json = ar_json_parser_new();
	ar_list_init(&all->works);
	*ret = all;
	return AR_OK;
}

struct ar_tool_source *ar_delegates_source(struct ar_delegates *all)
{
	return &all->base;
}

void ar_delegates_report_to(struct ar_delegates *all, struct ar_control *control)
{
	if (!all)
		return;
	all->control = control;
	all->sender = ar_control_sender(control);
}

void ar_delegates_close(struct ar_delegates *all)
{
	if (all)
		ar_host_peers_close(all->peers);
}

/* What is left waited for an answer of a session, which does not come any more. */
void ar_delegates_free(struct ar_delegates *all)
{
	if (!all)
		return;
	AR_LIST_FOR_SAFE (it, &all->works)
		work_free(AR_CONTAINER_OF(it, struct ar_work, node));
	ar_map_fini(&all->by_operation);
	ar_delegates_drop_passes(all);
	ar_json_parser_free(all->json);
	ar_free(all);
}
