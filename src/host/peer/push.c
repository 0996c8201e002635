/* What peers post about work that is with them. The token that a peer was given is made of the operation and
 * a2a.push_key, so that every node knows it, also after a restart. What is posted is not used: it wakes the
 * follower, which asks the peer. It may come to any node, which passes it on to the one that has the work.
 * See delegate_priv.h. */
#include "hash.h"
#include "id.h"
#include "mem.h"
#include "peer/delegate_priv.h"
#include "reader.h"
#include "sign.h"

#define TOKEN_DIGITS 64

/* On its way to the node that has the work: one for each work at a time. */
struct push_pass {
	struct ar_delegates *all;
	struct ar_arena arena;
	struct ar_str operation;
	bool is_due_again; /* the peer posted more meanwhile */
	struct ar_str next_task; /* that all of that named; absent: they did not name the same */
	struct ar_passed_call call;
};

static void hand_to_work(struct ar_delegates *all, struct ar_str operation, struct ar_str task);

/* ---- where a peer posts, and with what ---- */

bool ar_delegates_take_pushes(const struct ar_config *c)
{
	for (size_t i = 0; i < c->peers_count; i++) {
		if (c->peers[i].mechanism == AR_CONFIG_PEERS_MECHANISM_PUSH)
			return true;
	}
	return false;
}

/* A hash of a signature: it says nothing of other signatures with the key. Absent: there is no usable key. */
static struct ar_str token_of(const struct ar_delegates *all, struct ar_str operation, struct ar_arena *a)
{
	struct ar_str key, signature;

	if (!ar_webhook_key(ar_arena_str(a, ar_str_from(all->config->a2a.push_key)), a, &key))
		return AR_STR_NONE;
	signature = ar_webhook_signature(key, AR_STR("agentruntime peer push v1"), 0, operation, a);
	return ar_hash_digits(a, signature, TOKEN_DIGITS);
}

void ar_work_set_push(struct ar_work *w)
{
	w->push_token = token_of(w->all, w->operation, &w->arena);
	w->push_url = ar_arena_fmt(&w->arena, "%s/v1/peers/%.*s/push", w->all->config->a2a.url,
				   AR_STR_ARG(w->operation));
}

static bool has_right_token(const struct ar_delegates *all, const struct ar_http_peer_push *p)
{
	struct ar_arena a = { 0 };
	struct ar_str right = token_of(all, p->operation, &a);
	bool is_token = false, is_bearer = false;

	if (!ar_str_absent(right)) {
		is_token = ar_hash_is_same(ar_str_absent(p->token) ? AR_STR("") : p->token, right);
		is_bearer = ar_hash_is_same(ar_str_absent(p->bearer) ? AR_STR("") : p->bearer, right);
	}
	ar_arena_fini(&a);
	return is_token || is_bearer;
}

/* ---- to the node that has the work ---- */

static void pass_free(struct push_pass *p)
{
	ar_arena_fini(&p->arena);
	ar_free(p);
}

/* One that is lost is made up for by the next question. What came meanwhile may be newer than the answer to
 * the question that the other node asked. */
static void on_passed(struct ar_passed_call *call, uint16_t code AR_UNUSED, struct ar_str reply AR_UNUSED)
{
	struct push_pass *p = AR_CONTAINER_OF(call, struct push_pass, call);

	ar_map_del(&p->all->passes, p->operation);
	if (p->is_due_again)
		hand_to_work(p->all, p->operation, p->next_task);
	pass_free(p);
}

/* However many come: a notification only says that the peer is to be asked. */
static void remember_push(struct push_pass *p, struct ar_str task)
{
	if (!p->is_due_again)
		p->next_task = ar_arena_str(&p->arena, task);
	else if (!ar_str_eq(p->next_task, task))
		p->next_task = AR_STR_NONE;
	p->is_due_again = true;
}

static struct push_pass *pass_new(struct ar_delegates *all, struct ar_str operation, struct ar_str task,
				  struct ar_str address)
{
	static const struct ar_principal without_rights = { .tenant = AR_STR("local"),
							    .actor = AR_STR("runtime") };
	struct push_pass *p = ar_new0(sizeof(*p));
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "id", task);
	ar_jw_close(&w);
	p->all = all;
	p->operation = ar_arena_str(&p->arena, operation);
	p->call = (struct ar_passed_call){
		.address = ar_arena_str(&p->arena, address),
		.command = ar_arena_fmt(&p->arena, "peers/%.*s/push", AR_STR_ARG(operation)).p,
		.body = ar_arena_str(&p->arena, ar_buf_str(&body)),
		.who = &without_rights,
		.done = on_passed,
	};
	ar_buf_fini(&body);
	return p;
}

static void pass_on(struct ar_delegates *all, struct ar_str operation, struct ar_str task)
{
	struct push_pass *p = ar_map_get(&all->passes, operation);
	struct ar_str key = ar_id_session_key(operation), address;

	if (p) {
		remember_push(p, task);
		return;
	}
	if (ar_str_absent(key) || ar_control_place(all->control, key, &address) != AR_PLACE_PEER)
		return;
	p = pass_new(all, operation, task, address);
	if (ar_control_pass(all->control, &p->call))
		ar_map_put(&all->passes, p->operation, p);
	else
		pass_free(p);
}

void ar_delegates_drop_passes(struct ar_delegates *all)
{
	struct push_pass *p;
	size_t cursor = 0;

	while ((p = ar_map_next(&all->passes, &cursor)))
		pass_free(p);
	ar_map_fini(&all->passes);
}

/* ---- what came ---- */

/* A peer chooses how often it posts, so one work is one line of the log. */
static void refuse_foreign(struct ar_work *w)
{
	if (w->has_foreign)
		return;
	w->has_foreign = true;
	ar_host_peers_refuse(w->all->peers, w->setting, AR_PEER_PROTOCOL,
			     AR_STR("it posted something about another task than the one that is with it"));
}

/* Its task may not be known yet: the answer to the message is still on its way. */
static void take_push(struct ar_work *w, struct ar_str task)
{
	if (!ar_str_empty(task) && !ar_str_absent(w->remote_task) && !ar_str_eq(task, w->remote_task))
		refuse_foreign(w);
	else if (w->is_running && w->run.op == AR_PEER_FOLLOW)
		w->peer->v->wake(w->peer, &w->run);
}

static void hand_to_work(struct ar_delegates *all, struct ar_str operation, struct ar_str task)
{
	struct ar_work *w = ar_map_get(&all->by_operation, operation);

	if (w)
		take_push(w, task);
	else
		pass_on(all, operation, task);
}

enum ar_status ar_delegates_push(struct ar_delegates *all, const struct ar_http_peer_push *p,
				 struct ar_error *err)
{
	struct ar_work *w;
	struct ar_json doc;
	struct ar_str task;

	if (!p->is_from_node && !has_right_token(all, p))
		return ar_refuse(err, AR_ERR_AUTH_FAILED, "there is no such work, or its token is not right");
	w = ar_map_get(&all->by_operation, p->operation);
	if (w && p->body.len > (size_t)w->setting->max_answer_bytes)
		return ar_refuse(err, AR_ERR_PAYLOAD_TOO_LARGE,
				 "the body is larger than max_answer_bytes allows");
	if (ar_json_parse(all->json, p->body, &doc, NULL) != AR_OK || !ar_a2a_push_task(doc, &task))
		return ar_refuse(err, AR_ERR_INVALID_JSON, "the body is no notification about a task");
	if (w)
		take_push(w, task);
	else if (!p->is_from_node)
		pass_on(all, p->operation, task);
	ar_json_parser_trim(all->json);
	return AR_OK;
}
