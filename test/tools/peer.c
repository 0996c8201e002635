/* Drives the A2A client without a runtime around it: one run against the address given, each update and the
 * end as a line of JSON on standard output. Used by test/peer.
 *
 *   ar-peer OP URL [NAME=VALUE...]   OP: card, send, get, list, follow, cancel */
#include "a2a_client.h"
#include "json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct driver {
	struct ar_peer *peer;
	struct ar_peer_run run;
	struct ar_a2a_options options;
	const char *token;
	int64_t deadline_ms;
	uv_timer_t cancel;
	int64_t cancel_ms;
	bool is_done;
};

static const char *const ops[] = { "", "card", "send", "get", "list", "follow", "cancel" };

static void print_line(struct ar_buf *line)
{
	ar_buf_addc(line, '\n');
	fwrite(line->p, 1, line->len, stdout);
	fflush(stdout);
	ar_buf_fini(line);
}

static void write_artifacts(struct ar_jw *w, const struct ar_peer_update *u)
{
	ar_jw_key(w, "artifacts");
	ar_jw_open_array(w);
	for (size_t i = 0; i < u->artifact_count; i++) {
		const struct ar_peer_artifact *a = &u->artifacts[i];
		size_t bytes = 0;

		for (size_t n = 0; n < a->part_count; n++)
			bytes += a->parts[n].bytes.len;
		ar_jw_open(w);
		ar_jw_mstr(w, "id", a->id);
		ar_jw_mint(w, "parts", (int64_t)a->part_count);
		ar_jw_mint(w, "bytes", (int64_t)bytes);
		ar_jw_mbool(w, "append", a->is_append);
		ar_jw_mbool(w, "last", a->is_last);
		ar_jw_close(w);
	}
	ar_jw_close_array(w);
}

static void write_update(struct ar_jw *w, const struct ar_peer_update *u)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "task", u->task_id);
	ar_jw_mstr(w, "context", u->context_id);
	ar_jw_mint(w, "state", (int64_t)u->state);
	ar_jw_mstr(w, "native", u->native_status);
	ar_jw_mstr(w, "message", u->message);
	ar_jw_mbool(w, "whole", u->is_whole);
	write_artifacts(w, u);
	ar_jw_close(w);
}

static void on_update(struct ar_peer_run *r AR_UNUSED, const struct ar_peer_update *u)
{
	struct ar_buf line = { 0 };
	struct ar_jw w = ar_jw(&line);

	ar_jw_open(&w);
	ar_jw_key(&w, "update");
	write_update(&w, u);
	ar_jw_close(&w);
	print_line(&line);
}

static void write_card(struct ar_jw *w, const struct ar_peer_card *c)
{
	ar_jw_key(w, "card");
	ar_jw_open(w);
	ar_jw_mstr(w, "name", c->name);
	ar_jw_mstr(w, "url", c->url);
	ar_jw_mstr(w, "binding", c->binding);
	ar_jw_mstr(w, "ref", c->ref);
	ar_jw_mstr(w, "key", c->key_id);
	ar_jw_mbool(w, "checked", c->is_signature_checked);
	ar_jw_mbool(w, "streaming", c->has_streaming);
	ar_jw_close(w);
}

static void on_done(struct ar_peer_run *r, const struct ar_peer_result *result)
{
	struct driver *d = AR_CONTAINER_OF(r, struct driver, run);
	struct ar_buf line = { 0 };
	struct ar_jw w = ar_jw(&line);

	AR_ASSERT(!d->is_done);
	d->is_done = true;
	ar_jw_open(&w);
	ar_jw_mstr(&w, "error", ar_str_from(ar_a2a_error_word(result->error)));
	ar_jw_mstr(&w, "reason", result->reason);
	ar_jw_mbool(&w, "sent", result->is_sent);
	ar_jw_mint(&w, "http", result->http);
	ar_jw_mint(&w, "code", result->code);
	ar_jw_mstr(&w, "nextPage", result->next_page);
	if (result->card)
		write_card(&w, result->card);
	ar_jw_key(&w, "tasks");
	ar_jw_open_array(&w);
	for (size_t i = 0; i < result->task_count; i++)
		write_update(&w, &result->tasks[i]);
	ar_jw_close_array(&w);
	ar_jw_close(&w);
	print_line(&line);
	uv_close((uv_handle_t *)&d->cancel, NULL);
}

static void on_trouble(void *arg AR_UNUSED, enum ar_peer_error error, struct ar_str reason)
{
	struct ar_buf line = { 0 };
	struct ar_jw w = ar_jw(&line);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "trouble", ar_str_from(ar_a2a_error_word(error)));
	ar_jw_mstr(&w, "why", reason);
	ar_jw_close(&w);
	print_line(&line);
}

static void on_cancel(uv_timer_t *timer)
{
	struct driver *d = timer->data;

	d->peer->v->cancel(d->peer, &d->run);
}

static void set_text(struct driver *d, const char *name, const char *value)
{
	const struct {
		const char *name;
		struct ar_str *to;
	} texts[] = {
		{ "task", &d->run.task_id },
		{ "context", &d->run.context_id },
		{ "message", &d->run.message_id },
		{ "text", &d->run.text },
		{ "page", &d->run.page },
		{ "push_url", &d->run.push_url },
		{ "push_token", &d->run.push_token },
		{ "keys", &d->options.keys },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(texts); i++) {
		if (strcmp(texts[i].name, name) == 0)
			*texts[i].to = ar_str_from(value);
	}
	if (strcmp(name, "token") == 0)
		d->token = value;
	if (strcmp(name, "mechanism") == 0)
		d->run.way = strcmp(value, "poll") == 0 ? AR_PEER_BY_ASKING : AR_PEER_BY_STREAM;
}

static void set_number(struct driver *d, const char *name, const char *value)
{
	uint32_t number = (uint32_t)strtoul(value, NULL, 10);
	const struct {
		const char *name;
		uint32_t *to;
	} numbers[] = {
		{ "poll_ms", &d->options.poll_ms },	      { "timeout_ms", &d->options.timeout_ms },
		{ "idle_ms", &d->options.idle_ms },	      { "answer_max", &d->options.answer_max },
		{ "artifact_max", &d->options.artifact_max }, { "stream_max", &d->options.stream_max },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(numbers); i++) {
		if (strcmp(numbers[i].name, name) == 0)
			*numbers[i].to = number;
	}
	if (strcmp(name, "deadline_ms") == 0)
		d->deadline_ms = number;
	if (strcmp(name, "cancel_ms") == 0)
		d->cancel_ms = number;
}

static void set(struct driver *d, char *pair)
{
	char *value = strchr(pair, '=');

	if (!value)
		return;
	*value++ = '\0';
	set_text(d, pair, value);
	set_number(d, pair, value);
}

static void start(struct driver *d, uv_loop_t *loop)
{
	struct ar_clock *clock = ar_clock_system();

	d->peer = ar_a2a_peer_new(loop, &d->options);
	d->run.deadline = clock->mono(clock) + d->deadline_ms * 1000;
	uv_timer_init(loop, &d->cancel);
	d->cancel.data = d;
	if (d->cancel_ms > 0)
		uv_timer_start(&d->cancel, on_cancel, (uint64_t)d->cancel_ms, 0);
	d->peer->v->start(d->peer, &d->run);
}

int main(int argc, char **argv)
{
	static struct driver d;
	uv_loop_t *loop = uv_default_loop();

	if (argc < 3)
		return 2;
	d.options = (struct ar_a2a_options){ .url = argv[2],
					     .poll_ms = 20,
					     .timeout_ms = 5000,
					     .idle_ms = 5000,
					     .card_ms = 60000,
					     .answer_max = 65536,
					     .artifact_max = 16384,
					     .stream_max = 262144,
					     .token = &d.token,
					     .on_trouble = on_trouble };
	d.run = (struct ar_peer_run){ .on_update = on_update, .on_done = on_done };
	d.deadline_ms = 15000;
	for (size_t i = 1; i < AR_ARRAY_LEN(ops); i++) {
		if (strcmp(ops[i], argv[1]) == 0)
			d.run.op = (enum ar_peer_op)i;
	}
	for (int i = 3; i < argc; i++)
		set(&d, argv[i]);
	start(&d, loop);
	while (!d.is_done)
		uv_run(loop, UV_RUN_ONCE);
	d.peer->v->close(d.peer);
	uv_run(loop, UV_RUN_DEFAULT);
	return uv_loop_close(loop) == 0 ? 0 : 1;
}
