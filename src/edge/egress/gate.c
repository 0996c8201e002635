/* See gate.h. */
#include "gate.h"
#include "gate_wire.h"
#include "json.h"
#include "list.h"
#include "mem.h"
#include "packet.h"
#include "program.h"
#include "rule.h"

#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define AGAIN_MS 200 /* before a proxy that died is started anew */

struct listener {
	struct ar_list node; /* gate's listeners */
	char *name;
	int fd;
};

struct ar_egress_gate {
	uv_loop_t *loop;
	char *program;
	struct ar_buf rules, secrets; /* JSON arrays */
	void (*on_report)(void *arg, struct ar_str name, struct ar_str report);
	void *arg;
	struct ar_list listeners;
	struct ar_json_parser *json;
	pid_t pid; /* 0: none runs */
	int fd;
	uv_poll_t poll;
	uv_timer_t again;
	int closing; /* handles that still have to close */
	void (*closed)(void *arg);
	void *closed_arg;
};

static void on_gate_message(uv_poll_t *poll, int status, int events);

/* ---- what we say ---- */

static void send_to_gate(struct ar_egress_gate *g, struct ar_str text, int fd)
{
	struct ar_packet p = { .parts = { { (char *)(uintptr_t)text.p, text.len } },
			       .fds = &fd,
			       .fd_count = fd >= 0 };

	ar_packet_send(g->fd, &p, MSG_DONTWAIT);
}

static void send_open(struct ar_egress_gate *g, const struct listener *d)
{
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "open", ar_str_from(d->name));
	ar_jw_mraw(&w, "rules", ar_buf_str(&g->rules));
	ar_jw_mraw(&w, "secrets", ar_buf_str(&g->secrets));
	ar_jw_close(&w);
	send_to_gate(g, ar_buf_str(&text), d->fd);
	ar_buf_fini(&text);
}

/* ---- the proxy's life ---- */

static bool start_gate(struct ar_egress_gate *g)
{
	char *argv[] = { g->program, NULL }, *envp[] = { NULL };
	struct ar_spawn s = {
		.program = g->program, .argv = argv, .envp = envp, .workdir = "/", .fd_count = 4
	};
	int pair[2];

	if (g->pid)
		return true;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return false;
	s.fds[0] = s.fds[1] = s.fds[2] = STDERR_FILENO;
	s.fds[3] = pair[1];
	if (ar_spawn(&s, &g->pid) != 0) {
		close(pair[0]);
		close(pair[1]);
		g->pid = 0;
		return false;
	}
	close(pair[1]);
	g->fd = pair[0];
	uv_poll_init(g->loop, &g->poll, g->fd);
	uv_poll_start(&g->poll, UV_READABLE, on_gate_message);
	AR_LIST_FOR (it, &g->listeners)
		send_open(g, AR_CONTAINER_OF(it, struct listener, node));
	return true;
}

static void on_restart_timer(uv_timer_t *timer)
{
	struct ar_egress_gate *g = AR_CONTAINER_OF(timer, struct ar_egress_gate, again);

	if (!ar_list_empty(&g->listeners) && !start_gate(g))
		uv_timer_start(timer, on_restart_timer, AGAIN_MS, 0);
}

static void gate_free(struct ar_egress_gate *g)
{
	void (*closed)(void *arg) = g->closed;
	void *arg = g->closed_arg;

	ar_json_parser_free(g->json);
	ar_buf_fini(&g->rules);
	ar_buf_fini(&g->secrets);
	ar_free(g->program);
	ar_free(g);
	closed(arg);
}

static void on_handle_closed(uv_handle_t *handle)
{
	struct ar_egress_gate *g = handle->data;

	if (--g->closing == 0 && g->closed)
		gate_free(g);
}

static void on_poll_closed(uv_handle_t *handle)
{
	struct ar_egress_gate *g = handle->data;

	if (!g->closed && !g->pid)
		uv_timer_start(&g->again, on_restart_timer, AGAIN_MS, 0);
	on_handle_closed(handle);
}

/* It is ours, and it is gone or about to be: the wait is short. */
static void kill_gate(struct ar_egress_gate *g)
{
	kill(g->pid, SIGKILL);
	waitpid(g->pid, NULL, 0);
	g->pid = 0;
	close(g->fd);
	g->poll.data = g;
	g->closing++;
	uv_close((uv_handle_t *)&g->poll, on_poll_closed);
}

static void on_gate_message(uv_poll_t *poll, int status, int events)
{
	struct ar_egress_gate *g = AR_CONTAINER_OF(poll, struct ar_egress_gate, poll);
	char text[AR_GATE_MESSAGE_MAX / 8];
	ssize_t n = recv(g->fd, text, sizeof(text), MSG_DONTWAIT);
	struct ar_json doc;
	struct ar_str name;

	(void)status;
	(void)events;
	if (n == 0)
		kill_gate(g);
	else if (n > 0 && ar_json_parse(g->json, (struct ar_str){ text, (size_t)n }, &doc, NULL) == AR_OK &&
		 ar_json_str(ar_json_get(doc, "name"), &name))
		g->on_report(g->arg, name, (struct ar_str){ text, (size_t)n });
}

/* ---- the owner's side ---- */

static bool write_rules(struct ar_jw *w, const struct ar_str *rules, size_t count, struct ar_error *err)
{
	struct ar_egress_rule rule;

	ar_jw_open_array(w);
	for (size_t i = 0; i < count; i++) {
		if (!ar_egress_rule_read(rules[i], &rule)) {
			ar_fail(err, AR_E_INVALID,
				"'%.*s' is not a valid host; write host[:port,...][@address][!]",
				AR_STR_ARG(rules[i]));
			return false;
		}
		ar_jw_str(w, rules[i]);
	}
	ar_jw_close_array(w);
	return true;
}

static bool write_secret(struct ar_jw *w, const struct ar_egress_hidden *s, struct ar_error *err)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "placeholder", s->placeholder);
	ar_jw_mstr(w, "value", s->value);
	ar_jw_name(w, AR_STR("hosts"));
	if (!write_rules(w, s->hosts, s->host_count, err))
		return false;
	ar_jw_close(w);
	return true;
}

static bool copy_options(struct ar_egress_gate *g, const struct ar_egress_options *o, struct ar_error *err)
{
	struct ar_jw rules = ar_jw(&g->rules), secrets = ar_jw(&g->secrets);

	if (!write_rules(&rules, o->rules, o->rule_count, err))
		return false;
	ar_jw_open_array(&secrets);
	for (size_t i = 0; i < o->secret_count; i++) {
		if (!write_secret(&secrets, &o->secrets[i], err))
			return false;
	}
	ar_jw_close_array(&secrets);
	return true;
}

enum ar_status ar_egress_gate_open(uv_loop_t *loop, const struct ar_egress_options *o,
				   struct ar_egress_gate **ret, struct ar_error *err)
{
	struct ar_egress_gate *g = ar_new0(sizeof(*g));

	g->loop = loop;
	g->on_report = o->on_report;
	g->arg = o->arg;
	ar_list_init(&g->listeners);
	if (!copy_options(g, o, err)) {
		ar_buf_fini(&g->rules);
		ar_buf_fini(&g->secrets);
		ar_free(g);
		return AR_E_INVALID;
	}
	g->program = ar_str_dup(ar_str_from(o->program));
	g->json = ar_json_parser_new();
	uv_timer_init(loop, &g->again);
	g->again.data = g;
	*ret = g;
	return AR_OK;
}

static void listener_free(struct listener *d)
{
	ar_list_del(&d->node);
	close(d->fd);
	ar_free(d->name);
	ar_free(d);
}

bool ar_egress_gate_serve(struct ar_egress_gate *g, struct ar_str name, int listener)
{
	struct listener *d = ar_new0(sizeof(*d));
	bool was_running = g->pid != 0;

	d->name = ar_str_dup(name);
	d->fd = listener;
	ar_list_push(&g->listeners, &d->node);
	if (!start_gate(g)) {
		listener_free(d);
		return false;
	}
	if (was_running)
		send_open(g, d);
	return true;
}

void ar_egress_gate_forget(struct ar_egress_gate *g, struct ar_str name)
{
	AR_LIST_FOR_SAFE (it, &g->listeners) {
		struct listener *d = AR_CONTAINER_OF(it, struct listener, node);
		struct ar_buf text = { 0 };
		struct ar_jw w = ar_jw(&text);

		if (!ar_str_is(name, d->name))
			continue;
		ar_jw_open(&w);
		ar_jw_mstr(&w, "close", name);
		ar_jw_close(&w);
		if (g->pid)
			send_to_gate(g, ar_buf_str(&text), -1);
		ar_buf_fini(&text);
		listener_free(d);
	}
}

void ar_egress_gate_close(struct ar_egress_gate *g, void (*closed)(void *arg), void *arg)
{
	g->closed = closed;
	g->closed_arg = arg;
	while (!ar_list_empty(&g->listeners))
		listener_free(AR_CONTAINER_OF(g->listeners.next, struct listener, node));
	g->closing++;
	uv_close((uv_handle_t *)&g->again, on_handle_closed);
	if (g->pid)
		kill_gate(g);
}
