/* One push configuration of A2A: the facts of its task are read from the beginning and folded; what comes
 * after the position is written as A2A has it and becomes deliveries, each with its sequence as the position
 * behind it. What a delivery needs of the outputs is read before. Owner: the loop thread. */
#include "codec.h"
#include "describe.h"
#include "mem.h"
#include "v03.h"
#include "webhook/webhook_priv.h"

/* ---- what it is ---- */

static void fill_config(struct ar_host_push *p, const struct ar_config *c)
{
	p->config = (struct ar_config_webhooks){ .name = (char *)p->setting.name.p,
						 .url = (char *)p->target.url.p,
						 .timeout_ms = c->a2a.push_timeout_ms,
						 .max_attempts = c->a2a.push_attempts,
						 .backoff_ms = c->a2a.push_backoff_ms,
						 .parallel = 1 };
	p->w.config = &p->config;
	p->w.setting = &p->setting;
}

/* Whatever the settings allow now, not when it was set. */
static bool read_target(struct ar_host_push *p, const struct ar_config *c, struct ar_str sealed)
{
	enum ar_push_way way;

	if (!ar_host_push_unseal(c, sealed, &p->arena, &p->target))
		return false;
	way = ar_host_push_way(c, p->target.url, NULL);
	p->is_public = way == AR_PUSH_PUBLIC;
	if (!ar_str_empty(p->target.scheme))
		p->authorization =
			ar_str_empty(p->target.credentials)
				? p->target.scheme
				: ar_arena_fmt(&p->arena, "%.*s %.*s", AR_STR_ARG(p->target.scheme),
					       AR_STR_ARG(p->target.credentials));
	return way != AR_PUSH_NOWHERE;
}

struct ar_host_push *ar_push_new(struct ar_host_webhooks *all, struct ar_str tenant,
				 const struct ar_webhook *known)
{
	struct ar_host_push *p = ar_new0(sizeof(*p));
	const struct ar_shape_push_record *r = known->push;

	p->w.all = all;
	p->w.push = p;
	p->setting.name = ar_arena_str(&p->arena, known->name);
	p->target.tenant = p->setting.tenant = ar_arena_str(&p->arena, tenant);
	p->target.task = p->task = ar_arena_str(&p->arena, r->task_id);
	p->target.config = ar_arena_str(&p->arena, r->config_id);
	p->session = ar_arena_str(&p->arena, ar_id_owner(r->task_id));
	p->is_old = ar_str_is(r->version, "0.3");
	p->begin = (uint64_t)r->begin;
	p->authorization = AR_STR_NONE;
	ar_list_init(&p->node);
	if (ar_str_absent(p->session) || !read_target(p, all->o.config, r->sealed)) {
		ar_push_free(p);
		return NULL;
	}
	fill_config(p, all->o.config);
	return p;
}

void ar_push_free(struct ar_host_push *p)
{
	ar_list_del(&p->node);
	ar_frame_unref(p->frame);
	ar_buf_fini(&p->read_body);
	ar_buf_fini(&p->read_ref);
	ar_buf_fini(&p->w.report_body);
	ar_a2a_task_fini(&p->state);
	ar_arena_fini(&p->facts);
	ar_arena_fini(&p->arena);
	ar_free(p);
}

void ar_push_dress(const struct ar_host_push *p, struct ar_webhook_post *post)
{
	post->content_type = p->is_old ? "application/json" : "application/a2a+json";
	post->authorization = p->authorization;
	post->token = ar_str_empty(p->target.token) ? AR_STR_NONE : p->target.token;
	post->is_public = p->is_public;
	post->key = AR_STR_NONE;
}

/* ---- where it is ---- */

void ar_push_reset(struct ar_host_push *p)
{
	ar_frame_unref(p->frame);
	p->frame = NULL;
	p->is_last = false;
	ar_a2a_task_fini(&p->state);
	ar_arena_reset(&p->facts);
	p->state = (struct ar_a2a_task){ .arena = &p->facts, .id = p->task, .base = p->w.all->pushes->base };
}

void ar_push_begin(struct ar_host_push *p, struct ar_str cursor)
{
	uint64_t sent = 0;

	ar_push_reset(p);
	p->is_task_due = ar_str_absent(cursor) || !ar_str_to_u64(cursor, &sent) || !sent;
	p->from = sent > p->begin ? sent : p->begin;
}

struct ar_follow_request ar_push_follow(const struct ar_host_push *p)
{
	return (struct ar_follow_request){ .session = p->session,
					   .tenant = p->setting.tenant,
					   .after = p->w.taken ? ar_str_from(p->w.taken) : AR_STR_NONE,
					   .task = p->task,
					   .types = p->w.all->pushes->types };
}

bool ar_push_wants(const struct ar_host_push *p)
{
	return !p->frame && !p->is_last && p->w.held < AR_PUSH_WINDOW &&
	       p->w.held_bytes < AR_PUSH_WINDOW_BYTES;
}

bool ar_push_is_over(const struct ar_host_push *p)
{
	if (!p->is_last || p->frame)
		return false;
	AR_LIST_FOR (it, &p->w.queue) {
		const struct ar_delivery *d = AR_CONTAINER_OF(it, struct ar_delivery, node);

		if (d->state != AR_DELIVERY_DONE && d->state != AR_DELIVERY_FAILED)
			return false;
	}
	return true;
}

/* ---- what is sent ---- */

static void write_task(const struct ar_host_push *p, struct ar_jw *w)
{
	ar_a2a_write_task(w, &p->state, 0, true, AR_STR_NONE);
}

/* 0.3 sends the task each time; 1.0 what a stream would have. */
static void write_body(struct ar_host_push *p, struct ar_buf *out)
{
	struct ar_jw w = ar_jw(out);
	struct ar_buf task = { 0 };
	struct ar_jw inner = ar_jw(&task);
	struct ar_json v;

	if (p->is_old) {
		write_task(p, &inner);
		AR_ASSERT(ar_json_parse(p->w.all->json, ar_buf_str(&task), &v, NULL) == AR_OK);
		ar_a2a_v03_result(AR_STR("GetTask"), v, out);
		ar_buf_fini(&task);
	} else if (p->is_task_due) {
		ar_jw_open(&w);
		ar_jw_key(&w, "task");
		write_task(p, &w);
		ar_jw_close(&w);
	} else if (p->changes & AR_A2A_CHANGED_ARTIFACT) {
		ar_a2a_write_artifact_update(&w, &p->state, AR_STR_NONE);
	} else {
		ar_a2a_write_status_update(&w, &p->state, AR_STR_NONE);
	}
}

static void deliver(struct ar_host_push *p)
{
	struct ar_frame *f = p->frame;
	struct ar_buf body = { 0 };

	write_body(p, &body);
	p->frame = NULL;
	p->is_task_due = false;
	p->is_last = ar_a2a_is_terminal(p->state.state);
	ar_delivery_of_push(&p->w, f, ar_buf_str(&body));
	ar_buf_fini(&body);
}

/* ---- content ---- */

static void on_read(struct ar_send_run *run, uint16_t code, struct ar_str reply)
{
	struct ar_host_push *p = AR_CONTAINER_OF(run, struct ar_host_push, read);
	struct ar_a2a_artifact *f;
	struct ar_json v = { 0 };

	p->is_reading = false;
	if (p->is_gone) {
		ar_push_release(p);
		return;
	}
	if (code && ar_error_describe(code)->retryable) {
		p->w.retry_at = ar_webhook_now() + AR_WEBHOOK_RETRY;
	} else if ((f = ar_a2a_unread(&p->state)) && ar_str_eq(f->ref, ar_buf_str(&p->read_ref))) {
		/* another one, or none: it was left meanwhile, and is folded again */
		if (code || ar_json_parse(p->w.all->json, reply, &v, NULL) != AR_OK)
			v = (struct ar_json){ 0 };
		ar_a2a_take_output(&p->state, f, v);
	}
	ar_host_webhook_wake(&p->w);
}

static void read_content(struct ar_host_push *p, struct ar_str ref)
{
	const struct ar_cmd_read_output_in in = { .output_ref = ref,
						  .length = AR_OPT_INT(AR_A2A_OUTPUT_BYTES) };
	struct ar_sender *sender = ar_control_sender(p->w.all->o.control);
	struct ar_jw json = ar_jw(&p->read_body);

	ar_buf_clear(&p->read_body);
	ar_buf_clear(&p->read_ref);
	ar_buf_adds(&p->read_ref, ref);
	ar_struct_encode(&ar_command_describe(AR_CMD_READ_OUTPUT)->in, &in, AR_STR_NONE, &json);
	p->is_reading = true;
	p->read = (struct ar_send_run){ .command = AR_CMD_READ_OUTPUT,
					.body = ar_buf_str(&p->read_body),
					.tenant = p->setting.tenant,
					.on_done = on_read };
	sender->v->start(sender, &p->read);
}

void ar_push_go_on(struct ar_host_push *p)
{
	const struct ar_a2a_artifact *unread;

	if (!p->frame || p->is_reading || ar_webhook_now() < p->w.retry_at)
		return;
	unread = ar_a2a_unread(&p->state);
	if (unread)
		read_content(p, unread->ref);
	else
		deliver(p);
}

/* ---- facts ---- */

/* The task as it is at the beginning, then every change. */
static bool is_wanted(const struct ar_host_push *p, uint64_t sequence, unsigned changes)
{
	if (p->is_task_due)
		return sequence >= p->from;
	return sequence > p->from && changes;
}

void ar_push_take(struct ar_host_push *p, struct ar_frame *f)
{
	struct ar_json fact;

	p->changes = 0;
	if (ar_json_parse(p->w.all->json, f->json, &fact, NULL) == AR_OK)
		p->changes = ar_a2a_fold(&p->state, fact);
	if (!is_wanted(p, f->sequence, p->changes)) {
		/* all of it was sent, and the record of that was lost */
		p->is_last = f->sequence <= p->from && !p->is_task_due && ar_a2a_is_terminal(p->state.state);
		ar_frame_unref(f);
		return;
	}
	p->frame = f;
	ar_push_go_on(p);
}
