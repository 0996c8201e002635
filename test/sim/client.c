/* Clients: each has one call on its way at a time, through the front door, as JSON. A call that a crash took
 * is made again when the client can do so safely; one that was refused for weather perhaps. Every call is
 * answered exactly once. */
#include "sim.h"

struct sim_client {
	struct ar_list node;
	struct sim_actor actor;
	struct sim *sim;
	unsigned number, left;
	bool is_waiting;
	struct sim_submit *again; /* to be sent once more */
};

/* A call and what is expected of it; freed inside done(), which is when the front door must be done with
 * it. */
struct box {
	struct ar_call call;
	struct sim_client *client;
	unsigned generation;
	const struct sim_ask *ask;
	struct sim_submit *about;
	struct ar_buf body;
};

static const struct sim_ask *const submit = &sim_asks[SIM_ASK_SUBMIT];

/* ---- answers ---- */

static bool is_outage(struct ar_str code)
{
	return ar_str_is(code, "overloaded") || ar_str_is(code, "storage_unavailable") ||
	       ar_str_is(code, "unavailable") || ar_str_is(code, "not_owner");
}

static void refused(struct box *b, struct ar_str code)
{
	struct sim *s = b->client->sim;
	bool is_conflict = ar_str_is(code, "id_conflict");

	if (ar_str_absent(code))
		sim_fail(s, "%s answered an error without a code", b->ask->name);
	s->counts->refused++;
	sim_say(s, "client", "%u %s refused: %.*s", b->client->number, b->ask->name, AR_STR_ARG(code));
	if (ar_str_is(code, "internal") || ar_str_is(code, "invalid_input") ||
	    ar_str_is(code, "invalid_json"))
		sim_fail(s, "%s answered %.*s: %.*s", b->ask->name,
			 AR_STR_ARG(ar_call_reply(&b->call).len ? ar_call_reply(&b->call) : code),
			 AR_STR_ARG(ar_buf_str(&b->body)));
	if (b->ask == &sim_asks[SIM_ASK_REPEAT] && !is_outage(code))
		sim_fail(s, "a repeat of turn #%u was refused: %.*s", b->about->number, AR_STR_ARG(code));
	if (b->ask == &sim_asks[SIM_ASK_CONFLICT] && !is_outage(code)) {
		if (!is_conflict)
			sim_fail(s, "turn #%u with another body: %.*s instead of id_conflict",
				 b->about->number, AR_STR_ARG(code));
		s->counts->conflicts++;
	}
	if (b->ask == submit && is_conflict)
		sim_fail(s, "turn #%u was sent for the first time and conflicts", b->about->number);
	if (b->ask == submit && is_outage(code) && sim_chance(s, 700))
		b->client->again = b->about;
}

static void judge(struct box *b)
{
	struct sim *s = b->client->sim;
	struct ar_str text = ar_call_reply(&b->call);
	struct ar_error err;
	struct ar_json v;

	if (b->call.place != AR_PLACE_HERE) {
		refused(b, AR_STR("not_owner"));
		return;
	}
	if (ar_json_parse(s->json, text, &v, &err) != AR_OK)
		sim_fail(s, "%s answered what is not JSON: %s", b->ask->name, err.msg);
	if (b->call.http >= 400) {
		refused(b, sim_text(ar_json_get(v, "error"), "code"));
		return;
	}
	sim_say(s, "client", "%u %s answered %.*s", b->client->number, b->ask->name,
		AR_STR_ARG(ar_str_utf8_prefix(text, 240)));
	b->ask->judge(s, b->about, v, text);
}

static void done(struct ar_call *call)
{
	struct box *b = AR_CONTAINER_OF(call, struct box, call);
	struct sim_client *c = b->client;
	struct sim *s = c->sim;

	if (!c->is_waiting)
		sim_fail(s, "%s was answered twice", b->ask->name);
	c->is_waiting = false;
	if (b->generation == s->generation) {
		judge(b);
	} else if (b->ask == submit) { /* nobody heard it */
		b->about->was_lost = true;
		if (!ar_str_absent(b->about->key))
			c->again = b->about;
	}
	ar_call_fini(call);
	ar_buf_fini(&b->body);
	ar_free(b);
	sim_actor_by(&c->actor, s->now + (ar_usec)sim_below(s, 4 * (uint64_t)s->plan.pace) + 1);
}

/* ---- questions ---- */

static void ask(struct sim_client *c, const struct sim_ask *what, struct sim_submit *about)
{
	struct sim *s = c->sim;
	struct box *b = ar_new0(sizeof(*b));

	*b = (struct box){ .client = c, .generation = s->generation, .ask = what, .about = about };
	if (!what->compose(s, about, &b->body)) {
		ar_buf_fini(&b->body);
		ar_free(b);
		sim_actor_by(&c->actor, s->now + SIM_MS);
		return;
	}
	b->call = (struct ar_call){ .command = what->command, .body = ar_buf_str(&b->body), .done = done };
	sim_say(s, "client", "%u %s %.*s", c->number, what->name,
		AR_STR_ARG(ar_str_utf8_prefix(b->call.body, 200)));
	c->is_waiting = true;
	ar_control_call(s->control, &b->call);
}

static struct sim_submit *some_acked(struct sim *s)
{
	size_t first = s->submit_count ? sim_below(s, s->submit_count) : 0;

	if (s->submit_count > 6 && sim_chance(s, 600))
		first = s->submit_count - 1 - sim_below(s, 6); /* mostly what is going on now */
	for (size_t i = 0; i < s->submit_count; i++) {
		struct sim_submit *about = s->submits[(first + i) % s->submit_count];

		if (about->was_acked)
			return about;
	}
	return NULL;
}

static const struct sim_ask *some_ask(struct sim *s)
{
	unsigned total = 0, at;

	for (size_t i = 0; i < sim_ask_count; i++)
		total += sim_asks[i].weight;
	at = (unsigned)sim_below(s, total);
	for (size_t i = 0; i < sim_ask_count; i++) {
		if (at < sim_asks[i].weight)
			return &sim_asks[i];
		at -= sim_asks[i].weight;
	}
	return submit;
}

static void client_step(struct sim *s, struct sim_actor *a)
{
	struct sim_client *c = AR_CONTAINER_OF(a, struct sim_client, actor);
	struct sim_submit *again = c->again, *about;
	const struct sim_ask *what;

	if (c->is_waiting)
		return;
	if (again) {
		c->again = NULL;
		ask(c, submit, again);
		return;
	}
	if (c->left == 0)
		return;
	c->left--;
	what = some_ask(s);
	about = what == submit ? NULL : some_acked(s);
	if (!about)
		what = submit;
	ask(c, what, about ? about : sim_submit_new(s));
}

/* ---- life ---- */

static struct sim_client *client_new(struct sim *s, unsigned number, unsigned left)
{
	struct sim_client *c = ar_arena_alloc(&s->arena, sizeof(*c));

	c->sim = s;
	c->number = number;
	c->left = left;
	ar_list_push(&s->clients, &c->node);
	sim_actor_start(s, &c->actor, SIM_NEVER, client_step);
	return c;
}

void sim_clients_open(struct sim *s)
{
	for (unsigned i = 1; i <= s->plan.clients; i++) {
		struct sim_client *c = client_new(s, i, s->plan.actions / s->plan.clients + 1);

		sim_actor_by(&c->actor, (ar_usec)sim_below(s, 10 * SIM_MS));
	}
}

void sim_clients_crashed(struct sim *s)
{
	AR_LIST_FOR (it, &s->clients) {
		struct sim_client *c = AR_CONTAINER_OF(it, struct sim_client, node);

		if (c->is_waiting)
			sim_fail(s, "a call of client %u was never answered (process ended)", c->number);
	}
}

bool sim_clients_are_done(const struct sim *s)
{
	AR_LIST_FOR (it, &s->clients) {
		const struct sim_client *c = AR_CONTAINER_OF(it, struct sim_client, node);

		if (c->left > 0 || c->again || c->is_waiting)
			return false;
	}
	return true;
}

void sim_clients_close(struct sim *s)
{
	if (!sim_clients_are_done(s))
		sim_fail(s, "a call was never answered");
}

/* ---- one question of the checks, in between ---- */

struct now {
	struct ar_call call;
	struct sim *sim;
	struct ar_str reply;
	int http;
};

static void done_now(struct ar_call *call)
{
	struct now *n = AR_CONTAINER_OF(call, struct now, call);

	n->http = call->http;
	n->reply = sim_keep(n->sim, ar_call_reply(call));
	ar_call_fini(call);
}

/* Weather is waited out. */
static struct ar_str call_now(struct sim *s, enum ar_command command, struct ar_str body,
			      void (*call)(struct ar_control *c, struct ar_call *call))
{
	for (int tries = 0; tries < 100; tries++) {
		struct now n = { .sim = s };

		n.call = (struct ar_call){ .command = command, .body = body, .done = done_now };
		call(s->control, &n.call);
		sim_settle(s);
		if (n.http == 0)
			sim_fail(s, "no answer to %.*s", AR_STR_ARG(body));
		if (n.http < 400)
			return n.reply;
		if (n.http != 503)
			sim_fail(s, "%.*s answered %.*s", AR_STR_ARG(body), AR_STR_ARG(n.reply));
	}
	sim_fail(s, "%.*s is refused for ever", AR_STR_ARG(body));
}

struct ar_str sim_ask_now(struct sim *s, enum ar_command command, struct ar_str body)
{
	return call_now(s, command, body, ar_control_call);
}

struct ar_str sim_verify_now(struct sim *s, struct ar_str body)
{
	return call_now(s, 0, body, ar_control_verify);
}
