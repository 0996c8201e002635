/* transport-probe: the HTTP server in front of a fake core, for the scenario tests. Prints
 * {"port":n,"cluster":n} when it serves and its counters when it ends. SIGTERM drains; SIGINT closes at
 * once. */
#include "fake_core.h"
#include "fake_workers.h"
#include "transport.h"

#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

struct probe {
	struct ar_http_server *server;
	uv_signal_t term, interrupt, hangup;
	uv_timer_t poll;
};

static const struct option flags[] = {
	{ "listen", required_argument, NULL, 'l' },
	{ "socket", required_argument, NULL, 's' },
	{ "body", required_argument, NULL, 'b' },
	{ "connections", required_argument, NULL, 'c' },
	{ "address-connections", required_argument, NULL, 'a' },
	{ "subscribers", required_argument, NULL, 'u' },
	{ "header-ms", required_argument, NULL, 'H' },
	{ "body-ms", required_argument, NULL, 'B' },
	{ "write-ms", required_argument, NULL, 'W' },
	{ "keepalive-ms", required_argument, NULL, 'K' },
	{ "heartbeat-ms", required_argument, NULL, 'T' },
	{ "descriptors", required_argument, NULL, 'd' },
	{ "cluster", required_argument, NULL, 'C' },
	{ "advertise", required_argument, NULL, 'A' },
	{ "key", required_argument, NULL, 'k' },
	{ "cluster-certificate", required_argument, NULL, '1' },
	{ "cluster-key", required_argument, NULL, '2' },
	{ "cluster-ca", required_argument, NULL, '3' },
	{ "cluster-name", required_argument, NULL, '4' },
	{ "connect-ms", required_argument, NULL, 'n' },
	{ "reply-ms", required_argument, NULL, 'r' },
	{ "settle-ms", required_argument, NULL, 'e' },
	{ "pong-ms", required_argument, NULL, 'P' },
	{ "ops", no_argument, NULL, 'o' },
	{ "certificate", required_argument, NULL, 'x' },
	{ "certificate-key", required_argument, NULL, 'y' },
	{ "client-ca", required_argument, NULL, 'z' },
	{ "hosts", required_argument, NULL, 'h' },
	{ "origins", required_argument, NULL, 'O' },
	{ "guarded", no_argument, NULL, 'g' },
	{ "workers", no_argument, NULL, 'w' },
	{ NULL, 0, NULL, 0 },
};

static void limit_descriptors(uint32_t count)
{
	struct rlimit limit = { count, count };

	setrlimit(RLIMIT_NOFILE, &limit);
}

/* The first drain makes it unready, and takes its store away; it is told apart from the server's own. */
static bool was_drained;

static void write_nodes(void *arg AR_UNUSED, struct ar_buf *out)
{
	ar_buf_addz(out, "{\"nodes\":[]}");
}

static void drain_node(void *arg AR_UNUSED)
{
	was_drained = true;
}

static bool is_ready(void *arg AR_UNUSED, struct ar_str *ret_why)
{
	*ret_why = AR_STR("the node is draining");
	return !was_drained;
}

static bool is_store_out(void *arg AR_UNUSED)
{
	return was_drained;
}

static void tell(void *arg AR_UNUSED, bool is_bad, const char *text)
{
	printf("{\"notice\":\"%s\",\"bad\":%s}\n", text, is_bad ? "true" : "false");
	fflush(stdout);
}

static const struct ar_http_ops ops = { .nodes = write_nodes,
					.drain = drain_node,
					.is_ready = is_ready,
					.is_store_out = is_store_out,
					.notice = tell };
static const struct ar_http_ops no_ops = { .notice = tell };

#define AT(member) offsetof(struct ar_http_options, member)

/* Which member a flag fills. */
static const struct {
	int flag;
	bool is_text;
	size_t at;
} members[] = {
	{ 'l', true, AT(listen) },
	{ 's', true, AT(socket_path) },
	{ 'C', true, AT(cluster_listen) },
	{ 'k', true, AT(peer_key) },
	{ 'A', true, AT(cluster_advertise) },
	{ '1', true, AT(cluster_tls.certificate) },
	{ '2', true, AT(cluster_tls.key) },
	{ '3', true, AT(cluster_tls.ca) },
	{ '4', true, AT(cluster_tls.name) },
	{ 'x', true, AT(tls_certificate) },
	{ 'y', true, AT(tls_key) },
	{ 'z', true, AT(tls_client_ca) },
	{ 'h', true, AT(hosts) },
	{ 'O', true, AT(origins) },
	{ 'c', false, AT(max_connections) },
	{ 'a', false, AT(max_address_connections) },
	{ 'u', false, AT(max_subscribers) },
	{ 'H', false, AT(header_ms) },
	{ 'B', false, AT(body_ms) },
	{ 'W', false, AT(write_ms) },
	{ 'K', false, AT(keepalive_ms) },
	{ 'T', false, AT(heartbeat_ms) },
	{ 'n', false, AT(peer_connect_ms) },
	{ 'r', false, AT(peer_reply_ms) },
	{ 'e', false, AT(settle_ms) },
	{ 'P', false, AT(pong_ms) },
};

static bool fill_member(struct ar_http_options *o, int flag, const char *value)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(members); i++) {
		char *at = (char *)o + members[i].at;
		uint32_t number = (uint32_t)strtoul(value ? value : "0", NULL, 10);

		if (members[i].flag != flag)
			continue;
		if (members[i].is_text)
			memcpy(at, &value, sizeof value);
		else
			memcpy(at, &number, sizeof number);
		return true;
	}
	return false;
}

static void set_option(struct ar_http_options *o, int flag, const char *value)
{
	if (fill_member(o, flag, value))
		return;
	switch (flag) {
	case 'b':
		o->max_body_bytes = strtoul(value, NULL, 10);
		return;
	case 'o':
		o->ops = &ops;
		return;
	case 'g':
		o->is_guarded = true;
		return;
	case 'w':
		o->auth = fake_workers_auth();
		o->workers = fake_workers();
		return;
	case 'd':
		limit_descriptors((uint32_t)strtoul(value, NULL, 10));
		return;
	default:
		exit(2);
	}
}

static void print_counters(const struct ar_http_counters *c)
{
	printf("{\"accepted\":%llu,\"turnedAway\":%llu,\"requests\":%llu,\"refused\":%llu,\"timeouts\":%llu,"
	       "\"tlsFailed\":%llu,\"tlsReloads\":%llu,\"streams\":%llu,\"streamsCut\":%llu,\"frames\":%llu,"
	       "\"forwarded\":%llu,\"forwardFailed\":%"
	       "llu,\"settling\":%u,\"connections\":%u,\"subscribers\":%u}"
	       "\n",
	       (unsigned long long)c->accepted, (unsigned long long)c->turned_away,
	       (unsigned long long)c->requests, (unsigned long long)c->refused,
	       (unsigned long long)c->timeouts, (unsigned long long)c->tls_failed,
	       (unsigned long long)c->tls_reloads, (unsigned long long)c->streams,
	       (unsigned long long)c->streams_cut, (unsigned long long)c->frames,
	       (unsigned long long)c->forwarded, (unsigned long long)c->forward_failed, c->settling,
	       c->connections, c->subscribers);
	fflush(stdout);
}

static void stop(struct probe *p)
{
	if (uv_is_closing((uv_handle_t *)&p->poll))
		return;
	print_counters(ar_http_server_counters(p->server));
	ar_http_server_close(p->server, NULL, NULL);
	uv_close((uv_handle_t *)&p->term, NULL);
	uv_close((uv_handle_t *)&p->interrupt, NULL);
	uv_close((uv_handle_t *)&p->hangup, NULL);
	uv_close((uv_handle_t *)&p->poll, NULL);
}

static void on_poll(uv_timer_t *timer)
{
	struct probe *p = timer->data;

	if (!ar_http_server_counters(p->server)->connections)
		stop(p);
}

static void on_signal(uv_signal_t *signal, int number)
{
	struct probe *p = signal->data;

	if (number == SIGINT) {
		stop(p);
		return;
	}
	if (number == SIGHUP) {
		ar_http_server_reload(p->server);
		return;
	}
	ar_http_server_drain(p->server);
	uv_timer_start(&p->poll, on_poll, 10, 10);
}

static void watch(struct probe *p, uv_loop_t *loop)
{
	uv_signal_init(loop, &p->term);
	uv_signal_init(loop, &p->interrupt);
	uv_signal_init(loop, &p->hangup);
	uv_timer_init(loop, &p->poll);
	p->term.data = p->interrupt.data = p->hangup.data = p->poll.data = p;
	uv_signal_start(&p->term, on_signal, SIGTERM);
	uv_signal_start(&p->interrupt, on_signal, SIGINT);
	uv_signal_start(&p->hangup, on_signal, SIGHUP);
}

int main(int argc, char **argv)
{
	static struct ar_control core;
	static struct probe probe;
	struct ar_http_options o = { .control = &core, .ops = &no_ops };
	struct ar_error err = { 0 };
	uv_loop_t loop;
	int flag;

	while ((flag = getopt_long(argc, argv, "", flags, NULL)) != -1)
		set_option(&o, flag, optarg);
	uv_loop_init(&loop);
	fake_core_init(&core, &loop);
	if (ar_http_server_open(&loop, &o, &probe.server, &err) != AR_OK) {
		fprintf(stderr, "%s\n", err.msg);
		uv_run(&loop, UV_RUN_DEFAULT);
		return uv_loop_close(&loop) ? 3 : 1;
	}
	watch(&probe, &loop);
	core.own_port = ar_http_server_cluster_port(probe.server);
	printf("{\"port\":%u,\"cluster\":%u}\n", ar_http_server_port(probe.server), core.own_port);
	fflush(stdout);
	uv_run(&loop, UV_RUN_DEFAULT);
	fake_core_fini(&core);
	return uv_loop_close(&loop) ? 3 : 0;
}
