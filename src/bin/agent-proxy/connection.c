/* See gate.h. One connection from inside: its head is read and judged, the name is looked up here and
 * nowhere else, the address that was checked is the address that is dialled, then bytes go both ways,
 * each side read only as fast as the other takes.
 *
 *   HEAD -> LOOKUP -> DIAL -> RELAY -> closed;  a refusal is answered and closed. */
#include "address.h"
#include "gate.h"
#include "mem.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define HEAD_MS 10000
#define DIAL_MS 15000
#define IDLE_MS 300000
#define PIECE 65536

struct connection;

/* One side: a socket, and what is on its way from it to the other. */
struct side {
	uv_tcp_t tcp;
	uv_write_t write; /* to the other side */
	uv_shutdown_t farewell; /* likewise */
	struct connection *connection;
	struct side *other;
	char piece[PIECE];
	uint64_t left; /* bytes that may still be taken from it; UINT64_MAX: any number */
	uint64_t passed;
	bool is_open, is_writing, has_ended;
};

struct connection {
	struct ar_proxy_listener *listener;
	struct side inside, outside;
	struct ar_buf head;
	struct ar_egress_request request;
	const struct ar_egress_rule *rule;
	uv_getaddrinfo_t lookup;
	uv_connect_t dial;
	uv_timer_t timer;
	struct ar_buf answer;
	uv_write_t say;
	bool is_looking, is_relaying, is_closing;
	int open_handles;
};

/* ---- the end ---- */

static void connection_free(struct connection *c)
{
	ar_egress_request_fini(&c->request);
	ar_buf_fini(&c->head);
	ar_buf_fini(&c->answer);
	ar_proxy_listener_release(c->listener);
	ar_free(c);
}

static void free_if_done(struct connection *c)
{
	if (c->is_closing && c->open_handles == 0 && !c->is_looking)
		connection_free(c);
}

static void on_handle_closed(uv_handle_t *handle)
{
	struct connection *c = handle->data;

	c->open_handles--;
	free_if_done(c);
}

static void close_handle(struct connection *c, uv_handle_t *handle)
{
	handle->data = c;
	uv_close(handle, on_handle_closed);
}

static void connection_close(struct connection *c)
{
	if (c->is_closing)
		return;
	c->is_closing = true;
	if (c->is_relaying)
		ar_gate_passed(c->listener, &c->request, c->inside.passed, c->outside.passed);
	if (c->is_looking)
		uv_cancel((uv_req_t *)&c->lookup);
	close_handle(c, (uv_handle_t *)&c->timer);
	close_handle(c, (uv_handle_t *)&c->inside.tcp);
	if (c->outside.is_open)
		close_handle(c, (uv_handle_t *)&c->outside.tcp);
}

static void on_timer(uv_timer_t *timer)
{
	connection_close(timer->data);
}

static void wait_at_most(struct connection *c, uint64_t ms)
{
	uv_timer_start(&c->timer, on_timer, ms, 0);
}

static void on_said(uv_write_t *write, int status)
{
	(void)status;
	connection_close(AR_CONTAINER_OF(write, struct connection, say));
}

/* Why it is not passed on, for a reader of the client's output. */
static void send_answer(struct connection *c, int status, const char *why)
{
	uv_buf_t bytes;

	uv_read_stop((uv_stream_t *)&c->inside.tcp);
	ar_buf_addf(&c->answer,
		    "HTTP/1.1 %d Refused\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: "
		    "%zu\r\n\r\n%s\n",
		    status, strlen(why) + 1, why);
	bytes = uv_buf_init(c->answer.p, (unsigned)c->answer.len);
	if (uv_write(&c->say, (uv_stream_t *)&c->inside.tcp, &bytes, 1, on_said) != 0)
		connection_close(c);
}

static void deny_request(struct connection *c, const char *reason)
{
	ar_gate_judged(c->listener, &c->request, c->rule, reason);
	send_answer(c, 403, reason);
}

/* ---- relay ---- */

static void read_some(struct side *s);

static void on_written(uv_write_t *write, int status)
{
	struct side *s = AR_CONTAINER_OF(write, struct side, write);

	s->is_writing = false;
	if (status != 0)
		connection_close(s->connection);
	else
		read_some(s);
}

static void pass_bytes(struct side *s, size_t len)
{
	uv_buf_t bytes = uv_buf_init(s->piece, (unsigned)len);

	s->passed += len;
	s->is_writing = true;
	if (uv_write(&s->write, (uv_stream_t *)&s->other->tcp, &bytes, 1, on_written) != 0)
		connection_close(s->connection);
}

static void on_alloc(uv_handle_t *handle, size_t wanted, uv_buf_t *ret)
{
	struct side *s = AR_CONTAINER_OF(handle, struct side, tcp);

	(void)wanted;
	*ret = uv_buf_init(s->piece, (unsigned)(s->left < PIECE ? s->left : PIECE));
}

/* A side that has finished sending may still receive until the other has finished too. */
static void end_side(struct side *s)
{
	s->has_ended = true;
	if (s->other->has_ended || !s->connection->request.is_connect ||
	    uv_shutdown(&s->farewell, (uv_stream_t *)&s->other->tcp, NULL) != 0)
		connection_close(s->connection);
}

static void on_bytes(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct side *s = AR_CONTAINER_OF(stream, struct side, tcp);

	(void)buf;
	if (n == 0)
		return;
	uv_read_stop(stream);
	wait_at_most(s->connection, IDLE_MS);
	if (n < 0) {
		end_side(s);
		return;
	}
	if (s->left != UINT64_MAX)
		s->left -= (uint64_t)n;
	pass_bytes(s, (size_t)n);
}

static void read_some(struct side *s)
{
	if (!s->is_writing && !s->has_ended && s->left > 0 && !s->connection->is_closing)
		uv_read_start((uv_stream_t *)&s->tcp, on_alloc, on_bytes);
}

/* What came behind the head goes first; of a request no byte beyond its own body does. */
static void begin_relay(struct connection *c)
{
	struct ar_str early = ar_str_sub(ar_buf_str(&c->head), c->request.size, PIECE);

	c->is_relaying = true;
	wait_at_most(c, IDLE_MS);
	c->outside.left = UINT64_MAX;
	c->inside.left = c->request.is_connect ? UINT64_MAX : c->request.body;
	if (early.len > c->inside.left)
		early.len = (size_t)c->inside.left;
	if (c->inside.left != UINT64_MAX)
		c->inside.left -= early.len;
	if (early.len > 0) {
		memcpy(c->inside.piece, early.p, early.len);
		pass_bytes(&c->inside, early.len);
	} else {
		read_some(&c->inside);
	}
	read_some(&c->outside);
}

static void on_greeted(uv_write_t *write, int status)
{
	struct connection *c = AR_CONTAINER_OF(write, struct connection, say);

	if (status != 0)
		connection_close(c);
	else if (!c->is_closing)
		begin_relay(c);
}

static void on_dialled(uv_connect_t *dial, int status)
{
	struct connection *c = AR_CONTAINER_OF(dial, struct connection, dial);
	struct side *to = c->request.is_connect ? &c->inside : &c->outside;
	uv_buf_t bytes;

	if (c->is_closing)
		return;
	if (status != 0) {
		send_answer(c, 502, "the host does not answer");
		return;
	}
	if (c->request.is_connect)
		ar_buf_addz(&c->answer, "HTTP/1.1 200 Connected\r\n\r\n");
	bytes = c->request.is_connect ? uv_buf_init(c->answer.p, (unsigned)c->answer.len)
				      : uv_buf_init(c->request.head.p, (unsigned)c->request.head.len);
	if (uv_write(&c->say, (uv_stream_t *)&to->tcp, &bytes, 1, on_greeted) != 0)
		connection_close(c);
}

/* ---- where to ---- */

static void dial(struct connection *c, const struct sockaddr *address)
{
	ar_gate_judged(c->listener, &c->request, c->rule, NULL);
	uv_tcp_init(c->listener->gate->loop, &c->outside.tcp);
	c->outside.is_open = true;
	c->open_handles++;
	if (uv_tcp_connect(&c->dial, &c->outside.tcp, address, on_dialled) != 0)
		send_answer(c, 502, "the host cannot be reached");
}

static void on_found(uv_getaddrinfo_t *lookup, int status, struct addrinfo *found)
{
	struct connection *c = AR_CONTAINER_OF(lookup, struct connection, lookup);
	const char *fault = NULL;

	c->is_looking = false;
	if (c->is_closing) {
		uv_freeaddrinfo(found);
		free_if_done(c);
		return;
	}
	for (struct addrinfo *a = status == 0 ? found : NULL; a; a = a->ai_next) {
		fault = ar_egress_address_fault(a->ai_addr, c->rule->is_private);
		if (!fault) {
			dial(c, a->ai_addr);
			uv_freeaddrinfo(found);
			return;
		}
	}
	uv_freeaddrinfo(found);
	if (fault)
		deny_request(c, "the name resolves to an address that a sandbox may not reach");
	else
		send_answer(c, 502, "the name is not known");
}

static bool parse_address(const char *text, uint16_t port, struct sockaddr_storage *ret)
{
	return uv_ip4_addr(text, port, (struct sockaddr_in *)(void *)ret) == 0 ||
	       uv_ip6_addr(text, port, (struct sockaddr_in6 *)(void *)ret) == 0;
}

/* An address that the operator wrote down is used as it is: in a rule's place for one,
 * or as the host itself. */
static void find_address(struct connection *c)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG };
	struct sockaddr_storage address;
	char port[8];

	if (parse_address(c->rule->address[0] ? c->rule->address : c->request.host, c->request.port,
			  &address)) {
		dial(c, (const struct sockaddr *)&address);
		return;
	}
	snprintf(port, sizeof(port), "%u", c->request.port);
	c->is_looking = uv_getaddrinfo(c->listener->gate->loop, &c->lookup, on_found, c->request.host, port,
				       &hints) == 0;
	if (!c->is_looking)
		send_answer(c, 502, "the name cannot be looked up");
}

/* ---- the head ---- */

static void judge_request(struct connection *c)
{
	c->rule = ar_egress_find(c->listener->terms.rules, c->listener->terms.rule_count, c->request.host,
				 c->request.port);
	wait_at_most(c, DIAL_MS);
	if (c->rule) {
		ar_egress_secrets_fill(&c->request, c->listener->terms.secrets,
				       c->listener->terms.secret_count);
		find_address(c);
		return;
	}
	deny_request(c, "this host and port are not among those that the sandbox may reach (setting "
			"sandbox.allow_hosts)");
}

static void on_head_room(uv_handle_t *handle, size_t wanted, uv_buf_t *ret)
{
	struct connection *c = AR_CONTAINER_OF(handle, struct side, tcp)->connection;

	(void)wanted;
	*ret = uv_buf_init(c->inside.piece, PIECE);
}

static void on_head(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct connection *c = AR_CONTAINER_OF(stream, struct side, tcp)->connection;

	if (n == 0)
		return;
	if (n < 0) {
		connection_close(c);
		return;
	}
	ar_buf_add(&c->head, buf->base, (size_t)n);
	ar_egress_request_fini(&c->request);
	switch (ar_egress_request_read(ar_buf_str(&c->head), &c->request)) {
	case AR_EGRESS_MORE:
		break;
	case AR_EGRESS_REFUSED:
		ar_gate_judged(c->listener, &c->request, NULL, c->request.why);
		send_answer(c, c->request.status, c->request.why);
		break;
	case AR_EGRESS_WHOLE:
		uv_read_stop(stream);
		judge_request(c);
	}
}

void ar_proxy_connection_begin(struct ar_proxy_listener *l, int fd)
{
	struct connection *c = ar_new0(sizeof(*c));

	c->listener = l;
	c->inside.connection = c->outside.connection = c;
	c->inside.other = &c->outside;
	c->outside.other = &c->inside;
	c->open_handles = 2;
	uv_timer_init(l->gate->loop, &c->timer);
	c->timer.data = c;
	uv_tcp_init(l->gate->loop, &c->inside.tcp);
	c->inside.is_open = true;
	uv_tcp_open(&c->inside.tcp, fd);
	wait_at_most(c, HEAD_MS);
	uv_read_start((uv_stream_t *)&c->inside.tcp, on_head_room, on_head);
}
