/* HTTP endpoints as handlers: each way they end, against a server of a few lines on the same loop. */
#include "desk.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

#define PLENTY 20000

/* Answers every connection with the same bytes, once it has the end of the request;
 * nothing to say: it stays silent. */
struct server {
	uv_tcp_t listener;
	const char *answer;
	size_t answer_len;
	bool hangs_up; /* instead of answering */
	char request[4096];
	size_t request_len;
	char url[64];
};

struct peer {
	uv_tcp_t tcp;
	uv_write_t write;
	char bytes[4096];
	size_t len;
	struct server *server;
};

static void on_peer_closed(uv_handle_t *handle)
{
	test_free(AR_CONTAINER_OF(handle, struct peer, tcp));
}

static void hang_up(struct peer *p)
{
	if (!uv_is_closing((uv_handle_t *)&p->tcp))
		uv_close((uv_handle_t *)&p->tcp, on_peer_closed);
}

static void on_written(uv_write_t *write, int status AR_UNUSED)
{
	hang_up(AR_CONTAINER_OF(write, struct peer, write));
}

static void give_room(uv_handle_t *handle, size_t size AR_UNUSED, uv_buf_t *ret)
{
	struct peer *p = AR_CONTAINER_OF(handle, struct peer, tcp);

	*ret = uv_buf_init(p->bytes + p->len, (unsigned)(sizeof(p->bytes) - p->len - 1));
}

static void on_request(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf AR_UNUSED)
{
	struct peer *p = AR_CONTAINER_OF(stream, struct peer, tcp);
	struct server *s = p->server;
	uv_buf_t answer = uv_buf_init((char *)(uintptr_t)s->answer, (unsigned)s->answer_len);

	if (n < 0) {
		hang_up(p);
		return;
	}
	p->len += (size_t)n;
	p->bytes[p->len] = '\0';
	if (!strstr(p->bytes, "}"))
		return;
	memcpy(s->request, p->bytes, p->len + 1);
	if (s->hangs_up)
		hang_up(p);
	else if (s->answer)
		uv_write(&p->write, stream, &answer, 1, on_written);
}

static void on_connection(uv_stream_t *listener, int status AR_UNUSED)
{
	struct peer *p = test_calloc(1, sizeof(*p));

	p->server = AR_CONTAINER_OF(listener, struct server, listener);
	uv_tcp_init(listener->loop, &p->tcp);
	assert_int_equal(uv_accept(listener, (uv_stream_t *)&p->tcp), 0);
	uv_read_start((uv_stream_t *)&p->tcp, give_room, on_request);
}

static void serve(struct server *s, struct desk *d, const char *answer, size_t answer_len)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int len = sizeof(at);

	memset(s, 0, sizeof(*s));
	s->answer = answer;
	s->answer_len = answer_len;
	uv_tcp_init(&d->loop, &s->listener);
	uv_tcp_bind(&s->listener, (struct sockaddr *)&at, 0);
	assert_int_equal(uv_listen((uv_stream_t *)&s->listener, 128, on_connection), 0);
	uv_tcp_getsockname(&s->listener, (struct sockaddr *)&at, &len);
	snprintf(s->url, sizeof(s->url), "http://127.0.0.1:%d/hook", ntohs(at.sin_port));
}

static void stop(struct server *s)
{
	uv_close((uv_handle_t *)&s->listener, NULL);
}

/* ---- how they end ---- */

static void an_answer_is_taken(void **state AR_UNUSED)
{
	static const char answer[] =
		"HTTP/1.1 200 OK\r\nContent-Length: 23\r\n\r\n{\"decision\":\"continue\"}";
	struct server s;
	struct desk d;
	struct desk_run *r;

	desk_init(&d);
	serve(&s, &d, answer, sizeof(answer) - 1);
	r = desk_run(&d, s.url, PLENTY);
	assert_int_equal(r->outcome, AR_HOOK_ANSWERED);
	assert_string_equal(r->output, "{\"decision\":\"continue\"}");
	assert_non_null(strstr(s.request, "POST /hook HTTP/1.1\r\n"));
	assert_non_null(strstr(s.request, "Content-Type: application/json\r\n"));
	assert_memory_equal(strstr(s.request, "\r\n\r\n") + 4, r->run.input.p, r->run.input.len);
	test_free(r);
	stop(&s);
	desk_fini(&d);
}

static void every_other_status_fails(void **state AR_UNUSED)
{
	static const struct {
		const char *answer, *message;
	} answers[] = {
		{ "HTTP/1.1 204 No Content\r\n\r\n", "the endpoint answered with status 204 instead of 200" },
		{ "HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n",
		  "the endpoint answered with status 302 instead of 200" },
		{ "HTTP/1.1 500 Oops\r\nContent-Length: 2\r\n\r\n{}",
		  "the endpoint answered with status 500 instead of 200" },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(answers); i++) {
		struct server s;
		struct desk d;
		struct desk_run *r;

		desk_init(&d);
		serve(&s, &d, answers[i].answer, strlen(answers[i].answer));
		r = desk_run(&d, s.url, PLENTY);
		assert_int_equal(r->outcome, AR_HOOK_FAILED);
		assert_string_equal(r->message, answers[i].message);
		test_free(r);
		stop(&s);
		desk_fini(&d);
	}
}

static void one_that_is_not_there_or_hangs_up_fails(void **state AR_UNUSED)
{
	struct server s;
	struct desk d;
	struct desk_run *r;

	desk_init(&d);
	serve(&s, &d, NULL, 0);
	s.hangs_up = true;
	r = desk_run(&d, s.url, PLENTY);
	assert_int_equal(r->outcome, AR_HOOK_FAILED);
	assert_non_null(strstr(r->message, "the endpoint could not be called: "));
	test_free(r);
	stop(&s);
	r = desk_run(&d, s.url, PLENTY);
	assert_int_equal(r->outcome, AR_HOOK_FAILED);
	test_free(r);
	desk_fini(&d);
}

static void a_silent_one_ends_at_its_deadline(void **state AR_UNUSED)
{
	struct server s;
	struct desk d;
	struct desk_run *r;

	desk_init(&d);
	serve(&s, &d, NULL, 0);
	r = desk_run(&d, s.url, 200);
	assert_int_equal(r->outcome, AR_HOOK_TIMEOUT);
	assert_true(r->took_ms >= 190 && r->took_ms < PLENTY);
	test_free(r);
	stop(&s);
	desk_fini(&d);
}

static void too_long_an_answer_fails(void **state AR_UNUSED)
{
	static const char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n";
	size_t len = sizeof(head) - 1 + 300000;
	char *answer = test_malloc(len);
	struct server s;
	struct desk d;
	struct desk_run *r;

	memset(answer, 'x', len);
	memcpy(answer, head, sizeof(head) - 1);
	desk_init(&d);
	serve(&s, &d, answer, len);
	r = desk_run(&d, s.url, PLENTY);
	assert_int_equal(r->outcome, AR_HOOK_FAILED);
	assert_string_equal(r->message,
			    "the endpoint answered with 300000 bytes, and may answer with 262144");
	test_free(r);
	stop(&s);
	desk_fini(&d);
	test_free(answer);
}

/* From inside a turn of the loop, as the engine does it, and before the request has left. */
static void a_cancelled_one_ends(void **state AR_UNUSED)
{
	struct server s;
	struct desk d;
	struct desk_run *early, *late;

	desk_init(&d);
	serve(&s, &d, NULL, 0);
	early = desk_start(&d, s.url, PLENTY);
	d.runner->v->cancel(d.runner, &early->run);
	late = desk_start(&d, s.url, PLENTY);
	while (s.request[0] == '\0')
		uv_run(&d.loop, UV_RUN_ONCE);
	d.runner->v->cancel(d.runner, &late->run);
	desk_wait(&d);
	assert_int_equal(early->outcome, AR_HOOK_CANCELLED);
	assert_int_equal(late->outcome, AR_HOOK_CANCELLED);
	test_free(early);
	test_free(late);
	stop(&s);
	desk_fini(&d);
}

static void closing_ends_what_is_open(void **state AR_UNUSED)
{
	struct server s;
	struct desk d;
	struct desk_run *r;

	desk_init(&d);
	serve(&s, &d, NULL, 0);
	r = desk_start(&d, s.url, PLENTY);
	while (s.request[0] == '\0')
		uv_run(&d.loop, UV_RUN_ONCE);
	stop(&s);
	desk_fini(&d);
	assert_int_equal(r->outcome, AR_HOOK_CANCELLED);
	test_free(r);
}

static void a_hundred_at_once(void **state AR_UNUSED)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
	struct desk_run *runs[100];
	struct server s;
	struct desk d;

	desk_init(&d);
	serve(&s, &d, answer, sizeof(answer) - 1);
	for (size_t i = 0; i < AR_ARRAY_LEN(runs); i++)
		runs[i] = desk_start(&d, s.url, PLENTY);
	desk_wait(&d);
	for (size_t i = 0; i < AR_ARRAY_LEN(runs); i++) {
		assert_int_equal(runs[i]->outcome, AR_HOOK_ANSWERED);
		assert_string_equal(runs[i]->output, "{}");
		test_free(runs[i]);
	}
	stop(&s);
	desk_fini(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_is_taken),
		cmocka_unit_test(every_other_status_fails),
		cmocka_unit_test(one_that_is_not_there_or_hangs_up_fails),
		cmocka_unit_test(a_silent_one_ends_at_its_deadline),
		cmocka_unit_test(too_long_an_answer_fails),
		cmocka_unit_test(a_cancelled_one_ends),
		cmocka_unit_test(closing_ends_what_is_open),
		cmocka_unit_test(a_hundred_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
