/* A program that has the runtime inside itself, by the public header alone (and faults that a test asks
 * for): no listener, no socket. A test says on stdin what the program is to call, one line each, and reads
 * on stdout what came of it:
 *   in   <n> <command> <JSON>                       subscribe_events follows a session until the end
 *   out  <n> <200 or 400> <JSON>                    the answer of a command, or an error
 *        <n> frame <cursor> <JSON>                  an event;  <n> ended <message> is the last of them
 * First line out: `ready`. The end of stdin ends it. One thread reads stdin, the other drives the runtime. */
#include "agentruntime.h"
#include "fault.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct ar_runtime *runtime;

struct asked {
	unsigned long n;
	char *json;
};

/* The driving thread alone prints. */
static void print_answer(void *arg, int is_ok, const char *json, size_t len)
{
	struct asked *a = arg;

	printf("%lu %d %.*s\n", a->n, is_ok ? 200 : 400, (int)len, json);
	fflush(stdout);
	free(a);
}

static void print_event(void *arg, const char *cursor, const char *json, size_t len)
{
	printf("%lu frame %s %.*s\n", ((struct asked *)arg)->n, cursor, (int)len, json);
	fflush(stdout);
}

static void print_end(void *arg, const char *json, size_t len)
{
	printf("%lu ended %.*s\n", ((struct asked *)arg)->n, (int)len, json ? json : "");
	fflush(stdout);
	free(arg);
}

/* Streams are opened by the driving thread: a read that it answers brings us there. */
static void open_stream(void *arg, int is_ok, const char *json, size_t len)
{
	struct asked *a = arg;
	struct ar_stream_callbacks callbacks = {
		.size = sizeof(callbacks), .event = print_event, .end = print_end, .arg = a
	};
	struct ar_runtime_error err = { "" };
	struct ar_stream *stream;
	char *input = a->json;

	(void)is_ok;
	(void)json;
	(void)len;
	a->json = NULL;
	printf("%lu opened \n", a->n);
	if (ar_stream_open(runtime, input, NULL, &callbacks, &stream, &err) != AR_RUNTIME_OK)
		print_end(a, err.message, strlen(err.message));
	free(input);
}

static void take_line(char *line)
{
	char *rest, *name, *body;
	struct asked *a = calloc(1, sizeof(*a));

	a->n = strtoul(line, &rest, 10);
	name = strtok_r(rest, " ", &body);
	if (name && strcmp(name, "subscribe_events") == 0) {
		a->json = strdup(body);
		ar_runtime_call(runtime, "list_sessions", "{\"limit\":1}", NULL, open_stream, a);
	} else if (name) {
		ar_runtime_call(runtime, name, body, NULL, print_answer, a);
	} else {
		free(a);
	}
}

static void *read_lines(void *arg)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t len;

	(void)arg;
	while ((len = getline(&line, &room, stdin)) > 0) {
		line[len - 1] = '\0';
		take_line(line);
	}
	free(line);
	ar_runtime_stop(runtime, NULL);
	return NULL;
}

static void print_ready(void *arg, const char *json, size_t len)
{
	(void)arg;
	(void)json;
	(void)len;
	printf("ready\n");
	fflush(stdout);
}

static void print_log(void *arg, const char *level, const char *json, size_t len)
{
	(void)arg;
	(void)level;
	fprintf(stderr, "%.*s\n", (int)len, json);
}

static void on_term(int number)
{
	(void)number;
	ar_runtime_stop(runtime, "signal:SIGTERM");
}

int main(int argc, char **argv)
{
	char folder[4096];
	const char *overrides[] = { folder, NULL };
	struct ar_runtime_options options = { .size = sizeof(options),
					      .config_file = argc > 2 ? argv[2] : NULL,
					      .overrides = overrides,
					      .log = print_log,
					      .ready = print_ready };
	struct ar_runtime_error err;
	pthread_t reader;

	snprintf(folder, sizeof(folder), "data_dir=%s", argc > 1 ? argv[1] : "");
	umask(077);
	ar_fault_init();
	if (ar_runtime_new(&options, &runtime, &err) != AR_RUNTIME_OK) {
		fprintf(stderr, "embed: %s\n", err.message);
		return 1;
	}
	signal(SIGTERM, on_term);
	pthread_create(&reader, NULL, read_lines, NULL);
	pthread_detach(reader);
	ar_runtime_run(runtime);
	ar_runtime_free(runtime);
	return 0;
}
