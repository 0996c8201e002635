/* Frames of an HTTP/2 client through the whole transport, with a fake core behind it: whatever comes, nothing
 * is touched after it is gone, nothing is kept after the connection is, and every bound holds. The first byte
 * seeds the portions; the preface is put in front, so that inputs begin with frames. */
#include "fake_core.h"
#include "h2/h2_conn.h"
#include "h2/h2_stream.h"
#include "server.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static uv_loop_t loop;
static struct ar_control core;
static struct ar_http_server *server;

static void open_server(void)
{
	static char folder[] = "/tmp/fuzz-http2-XXXXXX";
	char path[64];

	if (server)
		return;
	uv_loop_init(&loop);
	fake_core_init(&core, &loop);
	if (!mkdtemp(folder))
		abort();
	snprintf(path, sizeof path, "%s/s", folder);
	if (ar_http_server_open(&loop,
				&(struct ar_http_options){ .control = &core,
							   .socket_path = path,
							   .max_header_bytes = 1024,
							   .max_body_bytes = 4096 },
				&server, NULL) != AR_OK)
		abort();
	unlink(path);
	rmdir(folder);
}

static void turn(int theirs)
{
	char dropped[4096];

	uv_run(&loop, UV_RUN_NOWAIT);
	while (recv(theirs, dropped, sizeof dropped, MSG_DONTWAIT) > 0)
		;
}

static void feed(struct ar_byte_link *l, struct ar_str bytes, uint32_t seed, int theirs)
{
	while (bytes.len && ar_http_server_counters(server)->connections && !l->is_closing) {
		size_t n = bytes.len;

		if (seed) {
			seed = seed * 1664525u + 1013904223u;
			n = 1 + (seed >> 26) < n ? 1 + (seed >> 26) : n;
		}
		l->v->bytes(l, ar_str_sub(bytes, 0, n));
		bytes = ar_str_sub(bytes, n, bytes.len);
		if (((struct ar_h2_conn *)l->owner)->stream_count > 2 * AR_H2_STREAMS)
			abort();
		if (seed & 3 << 8)
			turn(theirs);
	}
}

/* The fake core answers after so many milliseconds as an input says: long ones are not worth waiting for. */
static bool is_patient(struct ar_str bytes)
{
	const char *p = bytes.p, *end = bytes.p + bytes.len;

	while ((p = memmem(p, (size_t)(end - p), "delayMs", 7))) {
		for (p += 7; p < end && (*p < '0' || *p > '9'); p++)
			;
		if (p + 1 < end && p[1] >= '0' && p[1] <= '9')
			return true;
	}
	return false;
}

#define TURNS 10000 /* a machine that is busy lets a second pass between two of them */

/* Nobody is there any more: calls under way are answered, and then nothing is left. */
static void wait_for_the_end(void)
{
	const struct ar_http_counters *now = ar_http_server_counters(server);
	uint64_t began = uv_hrtime();

	for (int i = 0; now->connections && (i < TURNS || uv_hrtime() - began < UINT64_C(1000000000)); i++)
		uv_run(&loop, UV_RUN_NOWAIT);
	if (now->connections || now->subscribers)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	struct ar_byte_link *l;
	int pair[2];

	if (len < 2 || is_patient((struct ar_str){ (const char *)p, len }))
		return 0;
	open_server();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair))
		abort();
	l = ar_byte_link_new_pair(server, dup(pair[0]), pair[0]);
	if (!l)
		abort();
	l->source.is_unix = true;
	ar_h2_open(l, ar_h2_preface());
	feed(l, (struct ar_str){ (const char *)p + 1, len - 1 }, p[0] ? p[0] * 2654435761u : 0, pair[1]);
	for (int i = 0; i < 3; i++)
		turn(pair[1]);
	close(pair[1]);
	wait_for_the_end();
	return 0;
}
