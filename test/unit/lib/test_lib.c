/* The public library by its header alone, without a model: results, streams and ends as agentruntime.h
 * promises them. */
#include "agentruntime.h"
#include "cmocka_unit.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 4
#define CALLS 25

struct lib {
	struct ar_runtime *runtime;
	pthread_t driver;
	char folder[64], data[80];
	const char *overrides[2];
	bool is_ready;
	atomic_int results, good;
	int is_inside; /* a function of ours is being called: no callback may come */
	int events, ends;
	char cursor[256], last[4096];
	struct ar_stream *stream;
};

static void on_ready(void *arg, const char *json, size_t len)
{
	struct lib *l = arg;

	assert_int_equal(len, strlen(json));
	assert_string_equal(json, "{\"ready\":true}");
	l->is_ready = true;
}

static void open_lib(struct lib *l)
{
	struct ar_runtime_options options = { .size = sizeof(options),
					      .overrides = l->overrides,
					      .ready = on_ready };
	struct ar_runtime_error err = { "" };

	options.arg = l;
	if (ar_runtime_new(&options, &l->runtime, &err) != AR_RUNTIME_OK)
		fail_msg("%s", err.message);
	l->driver = pthread_self();
}

static void make_lib(struct lib *l)
{
	*l = (struct lib){ 0 };
	snprintf(l->folder, sizeof(l->folder), "/tmp/ar-lib-XXXXXX");
	assert_non_null(mkdtemp(l->folder));
	snprintf(l->data, sizeof(l->data), "data_dir=%s", l->folder);
	l->overrides[0] = l->data;
	open_lib(l);
}

static void free_lib(struct lib *l)
{
	char line[128];

	ar_runtime_free(l->runtime);
	snprintf(line, sizeof(line), "rm -rf %s", l->folder);
	assert_int_equal(system(line), 0);
}

/* As a loop of the owner's does it; false: it took longer than ten seconds. */
static bool drive(struct lib *l, bool (*is_over)(const struct lib *l))
{
	for (int i = 0; i < 1000 && !is_over(l); i++) {
		struct pollfd fd = { .fd = ar_runtime_fd(l->runtime), .events = POLLIN };
		int timeout = ar_runtime_timeout_ms(l->runtime);

		poll(&fd, 1, timeout < 0 || timeout > 10 ? 10 : timeout);
		ar_runtime_step(l->runtime);
	}
	return is_over(l);
}

static bool is_ready(const struct lib *l)
{
	return l->is_ready;
}

static bool is_stopped(const struct lib *l)
{
	return ar_runtime_is_stopped(l->runtime);
}

static void on_result(void *arg, int is_ok, const char *json, size_t len)
{
	struct lib *l = arg;

	assert_true(pthread_equal(pthread_self(), l->driver));
	assert_false(l->is_inside);
	assert_int_equal(len, strlen(json));
	snprintf(l->last, sizeof(l->last), "%s", json);
	l->good += is_ok != 0;
	l->results++;
}

static void call(struct lib *l, const char *command, const char *json, const struct ar_caller *caller)
{
	l->is_inside = 1;
	ar_runtime_call(l->runtime, command, json, caller, on_result, l);
	l->is_inside = 0;
}

static bool has_result(const struct lib *l)
{
	return l->results > 0;
}

static void make_session(struct lib *l)
{
	l->results = l->good = 0;
	call(l, "create_session", "{\"title\":\"x\"}", NULL);
	assert_true(drive(l, has_result));
	assert_int_equal(l->good, 1);
}

/* ---- calls ---- */

static void *call_many(void *arg)
{
	struct lib *l = arg;

	for (int i = 0; i < CALLS; i++)
		ar_runtime_call(l->runtime, "list_sessions", NULL, NULL, on_result, l);
	return NULL;
}

static bool has_all(const struct lib *l)
{
	return l->results == THREADS * CALLS;
}

static void test_calls_of_many_threads(void **state)
{
	pthread_t threads[THREADS];
	struct lib l;

	(void)state;
	make_lib(&l);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, call_many, &l);
	assert_true(drive(&l, has_all));
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(l.good, THREADS * CALLS);
	free_lib(&l);
}

static void test_bad_calls(void **state)
{
	static const char *const bad[][2] = { { "no_such_command", "{}" },
					      { "list_sessions", "[]" },
					      { "list_sessions", "{},\"id\":2,\"method\":\"x\"" },
					      { "get_session", "{}" },
					      { "subscribe_events", "{}" } };
	struct lib l;

	(void)state;
	make_lib(&l);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		l.results = l.good = 0;
		call(&l, bad[i][0], bad[i][1], NULL);
		assert_true(drive(&l, has_result));
		assert_int_equal(l.good, 0);
		assert_memory_equal(l.last, "{\"error\":{\"code\":\"", 18);
	}
	free_lib(&l);
}

static void test_scopes_of_a_caller(void **state)
{
	const struct ar_caller reader = {
		.size = sizeof(reader), .tenant = "acme", .actor = "app", .scopes = AR_SCOPE_READ
	};
	struct lib l;

	(void)state;
	make_lib(&l);
	make_session(&l);
	l.results = l.good = 0;
	call(&l, "create_session", "{}", &reader);
	assert_true(drive(&l, has_result));
	assert_int_equal(l.good, 0);
	l.results = 0;
	call(&l, "list_sessions", "{}", &reader);
	assert_true(drive(&l, has_result));
	assert_int_equal(l.good, 1);
	assert_null(strstr(l.last, "sess_")); /* another tenant's */
	free_lib(&l);
}

/* ---- ends ---- */

static void test_every_call_gets_its_result(void **state)
{
	struct lib l;

	(void)state;
	make_lib(&l);
	call(&l, "list_sessions", NULL, NULL); /* never driven */
	ar_runtime_free(l.runtime);
	assert_int_equal(l.results, 1);
	assert_int_equal(l.good, 0);
	open_lib(&l);
	assert_true(drive(&l, is_ready));
	ar_runtime_stop(l.runtime, NULL);
	assert_true(drive(&l, is_stopped));
	assert_null(ar_runtime_stop_reason(l.runtime));
	l.results = 0;
	call(&l, "list_sessions", NULL, NULL);
	free_lib(&l);
	assert_int_equal(l.results, 1);
	assert_non_null(strstr(l.last, "\"retryable\":true"));
}

static void *call_and_stop(void *arg)
{
	struct lib *l = arg;

	call_many(l);
	ar_runtime_reload(l->runtime, NULL);
	ar_runtime_stop(l->runtime, NULL);
	call_many(l); /* while it stops */
	return NULL;
}

static void test_stop_of_another_thread(void **state)
{
	pthread_t thread;
	struct lib l;

	(void)state;
	make_lib(&l);
	pthread_create(&thread, NULL, call_and_stop, &l);
	ar_runtime_run(l.runtime);
	assert_true(ar_runtime_is_stopped(l.runtime));
	pthread_join(thread, NULL);
	free_lib(&l);
	assert_int_equal(l.results, 2 * CALLS);
}

static int open_with(const char *const *overrides, struct ar_runtime_error *err)
{
	struct ar_runtime_options options = { .size = sizeof(options), .overrides = overrides };
	struct ar_runtime *runtime;
	int status = ar_runtime_new(&options, &runtime, err);

	assert_int_not_equal(status, AR_RUNTIME_OK);
	return status;
}

static void test_a_folder_in_use(void **state)
{
	const char *bad[] = { "no_such_key=1", NULL };
	struct ar_runtime_error err = { "" };
	struct lib l;

	(void)state;
	make_lib(&l);
	assert_int_equal(open_with(l.overrides, &err), AR_RUNTIME_IN_USE);
	assert_non_null(strstr(err.message, "in use by process"));
	assert_int_equal(open_with(bad, &err), AR_RUNTIME_INVALID);
	assert_non_null(strstr(err.message, "no_such_key"));
	free_lib(&l);
}

/* Bound and not listening: a connection is refused, and nobody else gets the port meanwhile. */
static int reserve_port(unsigned *ret_port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	*ret_port = ntohs(at.sin_port);
	return fd;
}

static void test_a_database_out_of_reach(void **state)
{
	struct ar_runtime_error err = { "" };
	char store[64];
	const char *overrides[3] = { NULL, store, NULL };
	struct lib l;
	unsigned port;
	int fd = reserve_port(&port);

	(void)state;
	make_lib(&l);
	ar_runtime_free(l.runtime);
	l.runtime = NULL;
	snprintf(store, sizeof(store), "store=postgres://nobody@127.0.0.1:%u/none", port);
	overrides[0] = l.data;
	assert_int_equal(open_with(overrides, &err), AR_RUNTIME_FAILED);
	assert_non_null(strstr(err.message, "PostgreSQL"));
	close(fd);
	free_lib(&l);
}

/* ---- streams ---- */

static void on_event(void *arg, const char *cursor, const char *json, size_t len)
{
	struct lib *l = arg;

	assert_int_equal(len, strlen(json));
	assert_false(l->is_inside);
	snprintf(l->cursor, sizeof(l->cursor), "%s", cursor);
	l->events++;
}

static void on_end(void *arg, const char *json, size_t len)
{
	(void)json;
	(void)len;
	((struct lib *)arg)->ends++;
}

static void on_first_event(void *arg, const char *cursor, const char *json, size_t len)
{
	struct lib *l = arg;

	on_event(arg, cursor, json, len);
	ar_stream_close(l->stream);
}

static void open_stream(struct lib *l, const char *json,
			void (*event)(void *, const char *, const char *, size_t))
{
	const struct ar_stream_callbacks callbacks = {
		.size = sizeof(callbacks), .event = event, .end = on_end, .arg = l
	};

	l->is_inside = 1;
	l->events = l->ends = 0;
	assert_int_equal(ar_stream_open(l->runtime, json, NULL, &callbacks, &l->stream, NULL), AR_RUNTIME_OK);
	l->is_inside = 0;
}

static bool has_event(const struct lib *l)
{
	return l->events > 0;
}

static bool has_end(const struct lib *l)
{
	return l->ends > 0;
}

static void drive_a_while(struct lib *l)
{
	for (int i = 0; i < 20; i++) {
		struct pollfd fd = { .fd = ar_runtime_fd(l->runtime), .events = POLLIN };

		poll(&fd, 1, 5);
		ar_runtime_step(l->runtime);
	}
}

static void test_streams(void **state)
{
	char after[300];
	struct lib l;
	int seen;

	(void)state;
	make_lib(&l);
	make_session(&l);
	open_stream(&l, "{}", on_event);
	assert_true(drive(&l, has_event));
	drive_a_while(&l);
	seen = l.events;
	ar_stream_pause(l.stream, 1);
	make_session(&l);
	drive_a_while(&l);
	assert_int_equal(l.events, seen);
	ar_stream_pause(l.stream, 0);
	drive_a_while(&l);
	assert_int_equal(l.events, 2 * seen);
	ar_stream_close(l.stream);
	make_session(&l);
	assert_int_equal(l.events, 2 * seen);
	assert_int_equal(l.ends, 0);
	snprintf(after, sizeof(after), "{\"after\":\"%s\"}", l.cursor);
	open_stream(&l, after, on_event);
	drive_a_while(&l);
	assert_int_equal(l.events, seen);
	open_stream(&l, "{}", on_first_event);
	drive_a_while(&l);
	assert_int_equal(l.events, 1);
	open_stream(&l, "{\"after\":\"nonsense\"}", on_event);
	assert_true(drive(&l, has_end));
	open_stream(&l, "{}", on_event);
	free_lib(&l);
	assert_int_equal(l.ends, 2); /* this one, and the one that stayed open before */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls_of_many_threads),
		cmocka_unit_test(test_bad_calls),
		cmocka_unit_test(test_scopes_of_a_caller),
		cmocka_unit_test(test_every_call_gets_its_result),
		cmocka_unit_test(test_stop_of_another_thread),
		cmocka_unit_test(test_a_folder_in_use),
		cmocka_unit_test(test_a_database_out_of_reach),
		cmocka_unit_test(test_streams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
