/* See first.h. A port of this machine that nobody listens on answers at once; a server that may be there by
 * chance has 200 ms, one on a port that the person names has longer. */
#include "first/first.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ASK_MS 200L
#define ASK_NAMED_MS 5000L
#define NAME_MAX_BYTES 200
#define SYSTEM_UIDS 1000 /* users below are the system's own */
#define LISTENING 0x0a

static const struct {
	unsigned port;
	const char *name;
} usual[] = { { 11434, "ollama" }, { 8080, "llama.cpp" }, { 1234, "LM Studio" }, { 8000, "vLLM" } };

/* ---- who listens ---- */

/* A row of /proc/net/tcp: the user, if it listens on the port. */
static bool listener_of(const char *row, unsigned port, unsigned *ret_uid)
{
	char address[40];
	unsigned at, state, uid;

	if (sscanf(row, " %*d: %39[0-9A-Fa-f]:%x %*s %x %*s %*s %*s %u", address, &at, &state, &uid) != 4 ||
	    at != port || state != LISTENING)
		return false;
	*ret_uid = uid;
	return true;
}

static bool is_foreign_in(const char *table, unsigned port)
{
	FILE *file = fopen(table, "re");
	bool is_foreign = false;
	char row[512];
	unsigned uid;

	while (file && fgets(row, sizeof(row), file)) {
		if (listener_of(row, port, &uid))
			is_foreign |= uid != getuid() && uid >= SYSTEM_UIDS;
	}
	if (file)
		fclose(file);
	return is_foreign;
}

bool ar_first_is_foreign(unsigned port)
{
	return is_foreign_in("/proc/net/tcp", port) || is_foreign_in("/proc/net/tcp6", port);
}

/* ---- asking ---- */

static void read_models(struct ar_ctl *c, struct ar_str body, struct ar_first_server *s)
{
	struct ar_json_parser *parser = ar_json_parser_new();
	struct ar_json doc = { 0 };

	if (ar_json_parse(parser, body, &doc, NULL) != AR_OK)
		doc = (struct ar_json){ 0 };
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(doc, "data"));
	     ar_json_next(&it) && s->count < AR_FIRST_MODELS;) {
		struct ar_str id = ar_api_str(it.value, "id");

		if (id.len && id.len <= NAME_MAX_BYTES && ar_str_is_text(id) && !memchr(id.p, '\n', id.len))
			s->models[s->count++] = ar_arena_str(&c->arena, id);
	}
	ar_json_parser_free(parser);
}

/* name: NULL for a port that the person names. */
static bool ask_server(struct ar_ctl *c, unsigned port, const char *name, struct ar_first_server *ret)
{
	long most = name ? ASK_MS : ASK_NAMED_MS;
	struct ar_http_request r = { .url = ar_arena_fmt(&c->arena, "http://127.0.0.1:%u/v1/models", port).p,
				     .is_local = true,
				     .connect_ms = most,
				     .total_ms = most,
				     .signal_fd = -1 };
	struct ar_http_reply reply;

	*ret = (struct ar_first_server){ .name = name ? name : "a server", .port = port };
	if (ar_first_is_foreign(port))
		return false;
	if (ar_http_run(&r, &reply, NULL) == AR_OK && reply.status == 200)
		read_models(c, ar_buf_str(&reply.body), ret);
	ar_buf_fini(&reply.body);
	return ret->count > 0;
}

bool ar_first_find(struct ar_ctl *c, struct ar_first_server *ret)
{
	struct ar_str ports = ar_str_from(getenv("AGENTCTL_LOCAL_PORTS")), word;
	uint64_t port;

	for (size_t i = 0; i < AR_ARRAY_LEN(usual) && ar_str_absent(ports); i++) {
		if (ask_server(c, usual[i].port, usual[i].name, ret))
			return true;
	}
	while (ports.len) {
		ports = ar_str_split(ports, ',', &word);
		if (ar_str_to_u64(word, &port) && port > 0 && port < 65536 &&
		    ask_server(c, (unsigned)port, NULL, ret))
			return true;
	}
	return false;
}
