/* See gate.h. One connection from inside: its head is read and judged, the name is looked up here and nowhere else, the address that was checked is the address that is dialled,
 * then bytes go both ways, each side read only as fast as the other takes.
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

struct passage;

/* One side: a socket, and what is on its way from it to the other. */
struct side {
	uv_tcp_t tcp;
	uv_write_t write; /* to the other side */
	uv_shutdown_t farewell; /* likewise */
	struct passage *passage;
	struct side *other;
	char piece[PIECE];
	uint64_t left; /* bytes that may still be taken from it; UINT64_MAX: any number */
	uint64_t passed;
	bool is_open, is_writing, has_ended;
};

struct passage {
	struct ar_door *door;
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

static void passage_free(struct passage *p)
{
	ar_egress_request_fini(&p->request);
	ar_buf_fini(&p->head);
	ar_buf_fini(&p->answer);
	ar_door_left(p->door);
	ar_free(p);
}

static void settle(struct passage *p)
{
	if (p->is_closing && p->open_handles == 0 && !p->is_looking)
		passage_free(p);
}

static void on_handle_closed(uv_handle_t *handle)
{
	struct passage *p = handle->data;

	p->open_handles--;
	settle(p);
}

static void close_handle(struct passage *p, uv_handle_t *handle)
{
	handle->data = p;
	uv_close(handle, on_handle_closed);
}

static void passage_close(struct passage *p)
{
	if (p->is_closing)
		return;
	p->is_closing = true;
	if (p->is_relaying)
		ar_gate_passed(p->door, &p->request, p->inside.passed, p->outside.passed);
	if (p->is_looking)
		uv_cancel((uv_req_t *)&p->lookup);
	close_handle(p, (uv_handle_t *)&p->timer);
	close_handle(p, (uv_handle_t *)&p->inside.tcp);
	if (p->outside.is_open)
		close_handle(p, (uv_handle_t *)&p->outside.tcp);
}

static void on_timer(uv_timer_t *timer)
{
	passage_close(timer->data);
}

static void wait_at_most(struct passage *p, uint64_t ms)
{
	uv_timer_start(&p->timer, on_timer, ms, 0);
}

static void on_said(uv_write_t *write, int status)
{
	(void)status;
	passage_close(AR_CONTAINER_OF(write, struct passage, say));
}

/* Why it is not passed on, for whoever reads the client's output. */
static void answer(struct passage *p, int status, const char *why)
{
	uv_buf_t bytes;

	uv_read_stop((uv_stream_t *)&p->inside.tcp);
	ar_buf_addf(&p->answer,
		    "HTTP/1.1 %d Refused\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: "
		    "%zu\r\n\r\n%s\n",
		    status, strlen(why) + 1, why);
	bytes = uv_buf_init(p->answer.p, (unsigned)p->answer.len);
	if (uv_write(&p->say, (uv_stream_t *)&p->inside.tcp, &bytes, 1, on_said) != 0)
		passage_close(p);
}

static void deny(struct passage *p, const char *reason)
{
	ar_gate_judged(p->door, &p->request, p->rule, reason);
	answer(p, 403, reason);
}

/* ---- relay ---- */

static void read_some(struct side *s);

static void on_written(uv_write_t *write, int status)
{
	struct side *s = AR_CONTAINER_OF(write, struct side, write);

	s->is_writing = false;
	if (status != 0)
		passage_close(s->passage);
	else
		read_some(s);
}

static void pass(struct side *s, size_t len)
{
	uv_buf_t bytes = uv_buf_init(s->piece, (unsigned)len);

	s->passed += len;
	s->is_writing = true;
	if (uv_write(&s->write, (uv_stream_t *)&s->other->tcp, &bytes, 1, on_written) != 0)
		passage_close(s->passage);
}

static void on_alloc(uv_handle_t *handle, size_t wanted, uv_buf_t *ret)
{
	struct side *s = AR_CONTAINER_OF(handle, struct side, tcp);

	(void)wanted;
	*ret = uv_buf_init(s->piece, (unsigned)(s->left < PIECE ? s->left : PIECE));
}

/* A side that says nothing more may still be told something, when the other is not done either. */
static void end_side(struct side *s)
{
	s->has_ended = true;
	if (s->other->has_ended || !s->passage->request.is_connect ||
	    uv_shutdown(&s->farewell, (uv_stream_t *)&s->other->tcp, NULL) != 0)
		passage_close(s->passage);
}

static void on_bytes(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct side *s = AR_CONTAINER_OF(stream, struct side, tcp);

	(void)buf;
	if (n == 0)
		return;
	uv_read_stop(stream);
	wait_at_most(s->passage, IDLE_MS);
	if (n < 0) {
		end_side(s);
		return;
	}
	if (s->left != UINT64_MAX)
		s->left -= (uint64_t)n;
	pass(s, (size_t)n);
}

static void read_some(struct side *s)
{
	if (!s->is_writing && !s->has_ended && s->left > 0 && !s->passage->is_closing)
		uv_read_start((uv_stream_t *)&s->tcp, on_alloc, on_bytes);
}

/* What came behind the head goes first; of a request no byte beyond its own body does. */
static void begin_relay(struct passage *p)
{
	struct ar_str early = ar_str_sub(ar_buf_str(&p->head), p->request.size, PIECE);

	p->is_relaying = true;
	wait_at_most(p, IDLE_MS);
	p->outside.left = UINT64_MAX;
	p->inside.left = p->request.is_connect ? UINT64_MAX : p->request.body;
	if (early.len > p->inside.left)
		early.len = (size_t)p->inside.left;
	if (p->inside.left != UINT64_MAX)
		p->inside.left -= early.len;
	if (early.len > 0) {
		memcpy(p->inside.piece, early.p, early.len);
		pass(&p->inside, early.len);
	} else {
		read_some(&p->inside);
	}
	read_some(&p->outside);
}

static void on_greeted(uv_write_t *write, int status)
{
	struct passage *p = AR_CONTAINER_OF(write, struct passage, say);

	if (status != 0)
		passage_close(p);
	else if (!p->is_closing)
		begin_relay(p);
}

static void on_dialled(uv_connect_t *dial, int status)
{
	struct passage *p = AR_CONTAINER_OF(dial, struct passage, dial);
	struct side *to = p->request.is_connect ? &p->inside : &p->outside;
	uv_buf_t bytes;

	if (p->is_closing)
		return;
	if (status != 0) {
		answer(p, 502, "the host does not answer");
		return;
	}
	if (p->request.is_connect)
		ar_buf_addz(&p->answer, "HTTP/1.1 200 Connected\r\n\r\n");
	bytes = p->request.is_connect ? uv_buf_init(p->answer.p, (unsigned)p->answer.len)
				      : uv_buf_init(p->request.head.p, (unsigned)p->request.head.len);
	if (uv_write(&p->say, (uv_stream_t *)&to->tcp, &bytes, 1, on_greeted) != 0)
		passage_close(p);
}

/* ---- where to ---- */

static void dial(struct passage *p, const struct sockaddr *address)
{
	ar_gate_judged(p->door, &p->request, p->rule, NULL);
	uv_tcp_init(p->door->gate->loop, &p->outside.tcp);
	p->outside.is_open = true;
	p->open_handles++;
	if (uv_tcp_connect(&p->dial, &p->outside.tcp, address, on_dialled) != 0)
		answer(p, 502, "the host cannot be reached");
}

static void on_found(uv_getaddrinfo_t *lookup, int status, struct addrinfo *found)
{
	struct passage *p = AR_CONTAINER_OF(lookup, struct passage, lookup);
	const char *fault = NULL;

	p->is_looking = false;
	if (p->is_closing) {
		uv_freeaddrinfo(found);
		settle(p);
		return;
	}
	for (struct addrinfo *a = status == 0 ? found : NULL; a; a = a->ai_next) {
		fault = ar_egress_address_fault(a->ai_addr, p->rule->is_private);
		if (!fault) {
			dial(p, a->ai_addr);
			uv_freeaddrinfo(found);
			return;
		}
	}
	uv_freeaddrinfo(found);
	if (fault)
		deny(p, "the name stands for an address that may not be reached from a sandbox");
	else
		answer(p, 502, "the name is not known");
}

static bool parse_address(const char *text, uint16_t port, struct sockaddr_storage *ret)
{
	return uv_ip4_addr(text, port, (struct sockaddr_in *)(void *)ret) == 0 ||
	       uv_ip6_addr(text, port, (struct sockaddr_in6 *)(void *)ret) == 0;
}

/* An address that the operator wrote down is used as it is: in a rule's place for one, or as the host itself. */
static void find_address(struct passage *p)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG };
	struct sockaddr_storage address;
	char port[8];

	if (parse_address(p->rule->address[0] ? p->rule->address : p->request.host, p->request.port,
			  &address)) {
		dial(p, (const struct sockaddr *)&address);
		return;
	}
	snprintf(port, sizeof(port), "%u", p->request.port);
	p->is_looking =
		uv_getaddrinfo(p->door->gate->loop, &p->lookup, on_found, p->request.host, port, &hints) == 0;
	if (!p->is_looking)
		answer(p, 502, "the name cannot be looked up");
}

/* ---- the head ---- */

static void judge(struct passage *p)
{
	p->rule = ar_egress_find(p->door->terms.rules, p->door->terms.rule_count, p->request.host,
				 p->request.port);
	wait_at_most(p, DIAL_MS);
	if (p->rule) {
		ar_egress_secrets_fill(&p->request, p->door->terms.secrets, p->door->terms.secret_count);
		find_address(p);
		return;
	}
	deny(p, "this host and port are not among those that the sandbox may reach (setting "
		"sandbox.allow_hosts)");
}

static void on_head_room(uv_handle_t *handle, size_t wanted, uv_buf_t *ret)
{
	struct passage *p = AR_CONTAINER_OF(handle, struct side, tcp)->passage;

	(void)wanted;
	*ret = uv_buf_init(p->inside.piece, PIECE);
}

static void on_head(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct passage *p = AR_CONTAINER_OF(stream, struct side, tcp)->passage;

	if (n == 0)
		return;
	if (n < 0) {
		passage_close(p);
		return;
	}
	ar_buf_add(&p->head, buf->base, (size_t)n);
	ar_egress_request_fini(&p->request);
	switch (ar_egress_request_read(ar_buf_str(&p->head), &p->request)) {
	case AR_EGRESS_MORE:
		break;
	case AR_EGRESS_REFUSED:
		ar_gate_judged(p->door, &p->request, NULL, p->request.why);
		answer(p, p->request.status, p->request.why);
		break;
	case AR_EGRESS_WHOLE:
		uv_read_stop(stream);
		judge(p);
	}
}

void ar_passage_begin(struct ar_door *d, int fd)
{
	struct passage *p = ar_new0(sizeof(*p));

	p->door = d;
	p->inside.passage = p->outside.passage = p;
	p->inside.other = &p->outside;
	p->outside.other = &p->inside;
	p->open_handles = 2;
	uv_timer_init(d->gate->loop, &p->timer);
	p->timer.data = p;
	uv_tcp_init(d->gate->loop, &p->inside.tcp);
	p->inside.is_open = true;
	uv_tcp_open(&p->inside.tcp, fd);
	wait_at_most(p, HEAD_MS);
	uv_read_start((uv_stream_t *)&p->inside.tcp, on_head_room, on_head);
}
