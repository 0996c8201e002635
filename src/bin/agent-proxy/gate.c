/* See gate.h. What is said to the daemon is never waited for: a daemon that does not read loses
 * reports, not the sandbox's connections. */
#include "confine.h"
#include "gate.h"
#include "gate_wire.h"
#include "packet.h"
#include "json.h"
#include "mem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LOOK_MS 2000
#define LOOKS_MAX 30 /* that connections which are open get to end */

/* ---- what we say ---- */

static void send_text(struct ar_gate *g, struct ar_buf *text)
{
	send(g->fd, text->p, text->len, MSG_DONTWAIT | MSG_NOSIGNAL);
	ar_buf_fini(text);
}

static struct ar_jw begin_message(struct ar_proxy_listener *l, const struct ar_egress_request *r,
				  struct ar_buf *text)
{
	struct ar_jw w = ar_jw(text);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "name", ar_str_from(l->name));
	ar_jw_mstr(&w, "host", ar_str_from(r->host));
	ar_jw_mint(&w, "port", r->port);
	return w;
}

void ar_gate_judged(struct ar_proxy_listener *l, const struct ar_egress_request *r,
		    const struct ar_egress_rule *rule, const char *reason)
{
	struct ar_buf text = { 0 };
	struct ar_jw w = begin_message(l, r, &text);

	ar_jw_mstr(&w, "verdict", reason ? AR_STR("denied") : AR_STR("allowed"));
	ar_jw_mstr(&w, "method", ar_str_is_utf8(r->method) ? r->method : AR_STR("?"));
	if (rule)
		ar_jw_mstr(&w, "rule", ar_str_from(rule->host));
	if (reason)
		ar_jw_mstr(&w, "reason", ar_str_from(reason));
	ar_jw_close(&w);
	send_text(l->gate, &text);
}

void ar_gate_passed(struct ar_proxy_listener *l, const struct ar_egress_request *r, uint64_t up,
		    uint64_t down)
{
	struct ar_buf text = { 0 };
	struct ar_jw w = begin_message(l, r, &text);

	ar_jw_mint(&w, "up", (int64_t)up);
	ar_jw_mint(&w, "down", (int64_t)down);
	ar_jw_close(&w);
	send_text(l->gate, &text);
}

/* ---- messages of the daemon ---- */

/* Rules out of a list of texts, at most `max`; those that cannot be read are left out. */
static size_t read_rules(struct ar_json list, struct ar_egress_rule *rules, size_t max)
{
	size_t used = 0;

	for (struct ar_json_iter it = ar_json_iter(list); used < max && ar_json_next(&it);) {
		struct ar_str text;

		used += ar_json_str(it.value, &text) && ar_egress_rule_read(text, &rules[used]);
	}
	return used;
}

static bool read_secret(struct ar_json from, struct ar_arena *a, struct ar_egress_secret *ret)
{
	if (!ar_json_str(ar_json_get(from, "placeholder"), &ret->placeholder) ||
	    !ar_json_str(ar_json_get(from, "value"), &ret->value) || ret->placeholder.len == 0)
		return false;
	ret->placeholder = ar_arena_str(a, ret->placeholder);
	ret->value = ar_arena_str(a, ret->value);
	ret->host_count = read_rules(ar_json_get(from, "hosts"), ret->hosts, AR_EGRESS_SECRET_HOSTS_MAX);
	return true;
}

static void read_secrets(struct ar_json list, struct ar_proxy_terms *t)
{
	t->secrets = ar_arena_alloc(&t->arena, AR_LISTENER_SECRETS_MAX * sizeof(*t->secrets));
	for (struct ar_json_iter it = ar_json_iter(list);
	     t->secret_count < AR_LISTENER_SECRETS_MAX && ar_json_next(&it);)
		t->secret_count += read_secret(it.value, &t->arena, &t->secrets[t->secret_count]);
}

static void open_listener(struct ar_gate *g, struct ar_str name, struct ar_json said, int fd)
{
	struct ar_json list = ar_json_get(said, "rules");
	struct ar_proxy_terms terms = { 0 };
	size_t count = ar_json_len(list);

	if (fd < 0 || count > AR_LISTENER_RULES_MAX)
		return;
	terms.rules = ar_arena_alloc(&terms.arena, (count + 1) * sizeof(*terms.rules));
	terms.rule_count = read_rules(list, terms.rules, count);
	read_secrets(ar_json_get(said, "secrets"), &terms);
	ar_proxy_listener_open(g, name, fd, &terms);
}

static void take_message(struct ar_gate *g, struct ar_str text, int fd)
{
	struct ar_json_parser *parser = ar_json_parser_new();
	struct ar_json doc;
	struct ar_str name;

	if (ar_json_parse(parser, text, &doc, NULL) != AR_OK) {
		ar_json_parser_free(parser);
		return;
	}
	if (ar_json_str(ar_json_get(doc, "open"), &name))
		open_listener(g, name, doc, fd);
	else if (ar_json_str(ar_json_get(doc, "close"), &name))
		ar_proxy_listener_close(g, name);
	ar_json_parser_free(parser);
}

static void on_message(uv_poll_t *poll, int status, int events)
{
	struct ar_gate *g = AR_CONTAINER_OF(poll, struct ar_gate, poll);
	static char text[AR_GATE_MESSAGE_MAX];
	int fd;
	struct ar_packet p = { .parts = { { text, sizeof(text) } }, .fds = &fd, .fd_count = 1 };
	ssize_t n = ar_packet_receive(g->fd, &p, MSG_DONTWAIT);

	(void)status;
	(void)events;
	if (n == 0)
		exit(0); /* the daemon is gone */
	if (n > 0)
		take_message(g, (struct ar_str){ text, (size_t)n }, fd);
}

static bool is_idle(const struct ar_gate *g)
{
	AR_LIST_FOR (it, &g->listeners) {
		if (AR_CONTAINER_OF(it, struct ar_proxy_listener, node)->connections > 0)
			return false;
	}
	return true;
}

/* The daemon starts another one at once, which may read the new file; clients that come
 * meanwhile wait in the backlog. */
static void on_look(uv_timer_t *timer)
{
	struct ar_gate *g = AR_CONTAINER_OF(timer, struct ar_gate, look);

	if (!ar_confine_is_outdated())
		return;
	if (is_idle(g) || g->outdated++ > LOOKS_MAX)
		exit(0);
}

void ar_gate_open(struct ar_gate *g, uv_loop_t *loop, int fd)
{
	*g = (struct ar_gate){ .loop = loop, .fd = fd };
	ar_list_init(&g->listeners);
	uv_poll_init(loop, &g->poll, fd);
	uv_poll_start(&g->poll, UV_READABLE, on_message);
	uv_timer_init(loop, &g->look);
	uv_timer_start(&g->look, on_look, LOOK_MS, LOOK_MS);
}
