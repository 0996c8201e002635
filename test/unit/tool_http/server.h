/* A service of a few lines on the test's own loop: keeps the last request, answers every one with the same
 * bytes, in the way it is told to. */
#ifndef AR_TEST_TOOL_HTTP_SERVER_H
#define AR_TEST_TOOL_HTTP_SERVER_H

#include "cmocka_unit.h"

#include "compiler.h"

#include <stdbool.h>
#include <uv.h>

enum server_way {
	SERVER_ANSWERS, /* and hangs up */
	SERVER_HANGS_UP, /* once it has the request */
	SERVER_IS_SILENT,
	SERVER_FLOODS, /* answers, then goes on for ever */
};

struct server {
	uv_tcp_t listener;
	enum server_way way;
	const char *answer;
	size_t answer_len; /* 0: up to its NUL */
	size_t requests;
	char request[8192]; /* the last one */
	int port;
};

void server_start(struct server *s, uv_loop_t *loop, enum server_way way, const char *answer);
void server_stop(struct server *s);

#endif
