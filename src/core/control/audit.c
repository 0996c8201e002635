/* Entries for the home session of a tenant: no request waits for them, and a flood of them is bounded. What
 * could not be written is kept for a while and tried again; where another node owns the home it is
 * handed to the transport to forward. Owner: the loop thread. */
#include "audit_act.h"
#include "audit/trail.h"
#include "control_priv.h"
#include "mem.h"
#include "metrics.h"
#include "tenant.h"

#define KEPT_MAX 256
#define NAME_MAX 256
#define MESSAGE_MAX 512

/* One on its way, with text of its own. */
struct ar_note {
	struct ar_list node; /* in `notes` of the control, while it waits */
	struct ar_control *control;
	struct ar_engine_request write;
	struct ar_audit audit;
	struct ar_store_audit entry; /* of a refusal; what was done has one from who did it */
	struct ar_arena arena;
	char session_key[AR_SESSION_KEY_LEN];
};

static void note_free(struct ar_note *n)
{
	ar_arena_fini(&n->arena);
	ar_free(n);
}

/* The oldest makes room, and is counted: a metric is all that is left of it. */
static void keep_for_later(struct ar_note *n)
{
	struct ar_control *c = n->control;

	ar_list_push(&c->notes, &n->node);
	if (++c->note_count <= KEPT_MAX)
		return;
	c->note_count--;
	note_free(AR_CONTAINER_OF(ar_list_pop(&c->notes), struct ar_note, node));
	ar_metric_add(ar_engine_metrics(c->engine), AR_METRIC_AUDIT_DROPPED, AR_STR_NONE, AR_STR_NONE, 1);
}

static bool is_outage(uint16_t code)
{
	return ar_error_describe(code ? code : AR_ERR_INTERNAL)->retryable || code == AR_ERR_NOT_OWNER;
}

static void written(struct ar_engine_request *r)
{
	struct ar_note *n = AR_CONTAINER_OF(r, struct ar_note, write);

	if (r->status != AR_OK && is_outage(r->err.code))
		keep_for_later(n);
	else
		note_free(n);
}

static void write_here(struct ar_note *n)
{
	n->write = (struct ar_engine_request){
		.session = { n->session_key, AR_SESSION_KEY_LEN },
		.may_create = true,
		.input = { .kind = AR_IN_ACCESS, .tenant = n->audit.tenant, .access = &n->audit },
		.done = written,
	};
	if (n->audit.code) {
		n->entry = ar_trail_of_refusal(n->control, &n->audit, &n->arena);
		n->write.audit = &n->entry;
	}
	ar_engine_write(n->control->engine, &n->write);
}

static bool hand_over(struct ar_note *n, struct ar_str address)
{
	struct ar_buf out = { 0 };
	struct ar_jw w = ar_jw(&out);
	bool is_carried;

	if (!n->control->carry)
		return false;
	ar_jw_open(&w);
	ar_jw_mstr(&w, "tenant", n->audit.tenant);
	ar_jw_mstr(&w, "actor", n->audit.actor);
	ar_jw_mstr(&w, "command", n->audit.command);
	ar_jw_mstr(&w, "target", n->audit.target);
	ar_jw_mstr(&w, "message", n->audit.message);
	ar_jw_mstr(&w, "policy", n->audit.policy);
	ar_jw_mint(&w, "code", n->audit.code);
	ar_jw_mint(&w, "count", (int64_t)n->audit.count);
	ar_origin_write(&w, &n->audit.from);
	ar_jw_close(&w);
	is_carried = n->control->carry(n->control->carry_arg, address, ar_buf_str(&out));
	ar_buf_fini(&out);
	return is_carried;
}

static void send(struct ar_note *n)
{
	struct ar_control *c = n->control;
	struct ar_str address;
	enum ar_place place =
		ar_control_place(c, (struct ar_str){ n->session_key, AR_SESSION_KEY_LEN }, &address);

	if (place == AR_PLACE_HERE)
		write_here(n);
	else if (place == AR_PLACE_PEER && hand_over(n, address))
		note_free(n);
	else
		keep_for_later(n);
}

static struct ar_str copy(struct ar_arena *a, struct ar_str text, size_t most)
{
	return ar_str_absent(text) ? AR_STR_NONE : ar_arena_str(a, ar_str_utf8_prefix(text, most));
}

static struct ar_str copy_or_empty(struct ar_arena *a, struct ar_str text, size_t most)
{
	return ar_str_absent(text) ? AR_STR("") : copy(a, text, most);
}

static struct ar_note *note_new(struct ar_control *control, const struct ar_audit *a)
{
	struct ar_note *n = ar_new0(sizeof(*n));

	n->control = control;
	n->audit = (struct ar_audit){ .tenant = copy_or_empty(&n->arena, a->tenant, NAME_MAX),
				      .actor = copy_or_empty(&n->arena, a->actor, NAME_MAX),
				      .command = copy_or_empty(&n->arena, a->command, 64),
				      .code = a->code,
				      .target = copy(&n->arena, a->target, NAME_MAX),
				      .message = copy(&n->arena, a->message, MESSAGE_MAX),
				      .count = a->count,
				      .from = a->from,
				      .policy = copy(&n->arena, a->policy, SIZE_MAX) };
	n->audit.from.address = copy(&n->arena, a->from.address, NAME_MAX);
	n->audit.from.request_id = copy(&n->arena, a->from.request_id, NAME_MAX);
	ar_tenant_home(n->audit.tenant, n->session_key);
	return n;
}

void ar_control_audit(void *control, const struct ar_audit *a)
{
	send(note_new(control, a));
}

/* What another node says; what is not a note of one is passed over. */
void ar_control_audit_told(struct ar_control *c, struct ar_str note, bool is_later)
{
	struct ar_audit a = { 0 };
	int64_t code = 0, count = 0;
	struct ar_note *n;
	struct ar_json v;

	if (ar_json_parse(c->json, note, &v, NULL) != AR_OK || ar_json_type(v) != AR_JSON_OBJECT)
		return;
	ar_json_str(ar_json_get(v, "tenant"), &a.tenant);
	ar_json_str(ar_json_get(v, "actor"), &a.actor);
	ar_json_str(ar_json_get(v, "command"), &a.command);
	ar_json_str(ar_json_get(v, "target"), &a.target);
	ar_json_str(ar_json_get(v, "message"), &a.message);
	ar_json_str(ar_json_get(v, "policy"), &a.policy);
	ar_json_i64(ar_json_get(v, "code"), &code);
	ar_json_i64(ar_json_get(v, "count"), &count);
	ar_origin_read(v, &a.from);
	if (ar_str_empty(a.tenant) || code < 0 || code >= AR_ERR_COUNT || count < 0)
		return;
	a.code = (uint16_t)code;
	a.count = (uint64_t)count;
	n = note_new(c, &a);
	if (is_later)
		keep_for_later(n);
	else
		send(n);
}

void ar_control_audit_again(struct ar_control *c)
{
	size_t count = c->note_count;
	struct ar_list *node;

	while (count-- > 0 && (node = ar_list_pop(&c->notes))) {
		c->note_count--;
		send(AR_CONTAINER_OF(node, struct ar_note, node));
	}
}

void ar_control_carry_audit(struct ar_control *c, ar_control_carry_fn *carry, void *arg)
{
	c->carry = carry;
	c->carry_arg = arg;
}

void ar_control_forget_notes(struct ar_control *c)
{
	struct ar_list *node;

	while ((node = ar_list_pop(&c->notes)))
		note_free(AR_CONTAINER_OF(node, struct ar_note, node));
}
