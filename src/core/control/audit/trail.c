/* See the header. */
#include "audit/trail.h"
#include "access.h"
#include "audit_act.h"
#include "describe.h"
#include "mem.h"
#include "metrics.h"

/* ---- what an entry says ---- */

static bool is_id(const struct ar_field_desc *f)
{
	size_t len = ar_str_from(f->name).len;

	return f->kind == AR_F_STRING && len > 2 && f->name[len - 2] == 'I' && f->name[len - 1] == 'd';
}

/* Ids that the input names: they passed the funnel with it, or nothing is written. */
static void write_target(struct ar_jw *w, const struct ar_struct_desc *d, const void *input)
{
	bool is_open = false;

	for (size_t i = 0; i < d->count; i++) {
		const struct ar_str *id = (const void *)((const char *)input + d->fields[i].offset);

		if (!is_id(&d->fields[i]) || ar_str_absent(*id))
			continue;
		if (!is_open) {
			ar_jw_key(w, "target");
			ar_jw_open(w);
			is_open = true;
		}
		ar_jw_mstr(w, d->fields[i].name, *id);
	}
	if (is_open)
		ar_jw_close(w);
}

static void write_key(struct ar_jw *w, const struct ar_struct_desc *d, const void *input)
{
	const struct ar_field_desc *f = ar_field_find(d, AR_STR("idempotencyKey"));
	const struct ar_str *key = f ? (const void *)((const char *)input + f->offset) : NULL;
	char digest[AR_HASH_HEX];
	struct ar_hash hash;

	if (!key || ar_str_absent(*key))
		return;
	hash = ar_hash_of(*key);
	ar_hash_hex(&hash, digest);
	ar_jw_mstr(w, "keyDigest", (struct ar_str){ digest, sizeof(digest) });
}

static void open_act(struct ar_call *c, struct ar_jw *w, const char *command)
{
	c->from.request_id = ar_engine_mask(c->control->engine, c->from.request_id, &c->arena);
	ar_audit_act_open(w, &(struct ar_audit_act){ .actor = ar_control_who(c->who)->actor,
						     .command = ar_str_from(command),
						     .from = &c->from });
}

static struct ar_str finish(struct ar_jw *w, struct ar_buf *text, struct ar_arena *a)
{
	struct ar_str record;

	ar_jw_close(w);
	record = ar_arena_str(a, ar_buf_str(text));
	ar_buf_fini(text);
	return record;
}

const struct ar_store_audit *ar_trail_of_call(struct ar_call *c)
{
	const struct ar_command_desc *d = ar_command_describe(c->command);
	struct ar_store_audit *e;
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);

	if (!d->is_audited)
		return NULL;
	e = ar_arena_alloc(&c->arena, sizeof(*e));
	open_act(c, &w, d->name);
	write_target(&w, &d->in, c->input);
	write_key(&w, &d->in, c->input);
	*e = (struct ar_store_audit){ .tenant = ar_control_who(c->who)->tenant,
				      .record = finish(&w, &text, &c->arena) };
	return e;
}

struct ar_store_audit ar_trail_of_refusal(struct ar_control *control, const struct ar_audit *a,
					  struct ar_arena *arena)
{
	struct ar_call_origin from = a->from;
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);

	from.request_id = ar_engine_mask(control->engine, from.request_id, arena);
	ar_audit_act_open(&w,
			  &(struct ar_audit_act){
				  .actor = a->actor, .command = a->command, .code = a->code, .from = &from });
	if (!ar_str_empty(a->message))
		ar_jw_mstr(&w, "reason", ar_engine_mask(control->engine, a->message, arena));
	ar_jw_mint(&w, "count", (int64_t)a->count);
	return (struct ar_store_audit){ .tenant = a->tenant, .record = finish(&w, &text, arena) };
}

/* ---- entries of their own ---- */

struct put {
	struct ar_store_audit_put op;
	struct ar_store_audit entry;
	struct ar_control *control;
	struct ar_call *call; /* NULL: nobody waits */
	ar_query_fn *then;
	struct ar_arena arena;
};

static ar_usec wall_clock(void)
{
	return ar_clock_system()->wall(ar_clock_system());
}

static void on_put(struct ar_store_op *op)
{
	struct put *p = AR_CONTAINER_OF(op, struct put, op.op);
	struct ar_call *c = p->call;
	ar_query_fn *then = p->then;
	struct ar_metrics *metrics = ar_engine_metrics(p->control->engine);
	enum ar_status st = op->status;

	ar_store_op_fini(op);
	ar_arena_fini(&p->arena);
	ar_free(p);
	if (st != AR_OK)
		ar_metric_add(metrics, AR_METRIC_AUDIT_DROPPED, AR_STR_NONE, AR_STR_NONE, 1);
	if (!c)
		return;
	if (st == AR_OK)
		then(c);
	else
		ar_call_refuse(
			c, AR_ERR_STORAGE_UNAVAILABLE,
			"the audit trail cannot be written now, so the command was not run; repeat later");
}

static void submit(struct put *p, struct ar_str tenant, struct ar_str record)
{
	p->entry = (struct ar_store_audit){ .tenant = ar_arena_str(&p->arena, tenant),
					    .at = wall_clock(),
					    .record = ar_arena_str(&p->arena, record) };
	p->op = (struct ar_store_audit_put){ .op = { .kind = AR_STORE_AUDIT_PUT, .done = on_put },
					     .entry = &p->entry };
	ar_store_submit(p->control->store, &p->op.op);
}

void ar_trail_then(struct ar_call *c, const char *command, ar_query_fn *then)
{
	struct put *p = ar_new0(sizeof(*p));
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);

	p->control = c->control;
	p->call = c;
	p->then = then;
	open_act(c, &w, command);
	submit(p, ar_control_who(c->who)->tenant, finish(&w, &text, &c->arena));
}

void ar_control_record(struct ar_control *c, const char *actor, const char *command)
{
	struct put *p = ar_new0(sizeof(*p));
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);

	p->control = c;
	ar_audit_act_open(&w, &(struct ar_audit_act){ .actor = ar_str_from(actor),
						      .command = ar_str_from(command) });
	submit(p, AR_STR(AR_TENANT_LOCAL), finish(&w, &text, &p->arena));
}

/* ---- an act on the server as a whole ---- */

static void recorded(struct ar_call *c)
{
	c->http = 200;
	c->done(c);
}

void ar_control_act(struct ar_control *control, struct ar_call *c, const char *command)
{
	c->control = control;
	c->began = ar_engine_now(control->engine);
	ar_trail_then(c, command, recorded);
}

/* ---- between nodes ---- */

void ar_control_write_origin(struct ar_jw *w, const struct ar_call_origin *from)
{
	ar_origin_write(w, from);
}

struct ar_call_origin ar_control_read_origin(struct ar_json v, struct ar_arena *a)
{
	struct ar_call_origin from;

	ar_origin_read(v, &from);
	from.address = ar_arena_str(a, from.address);
	from.request_id = ar_arena_str(a, from.request_id);
	return from;
}
