/* ar_stream_open: a subscription over the wire of this process. Opened, resumed and closed by messages, so
 * that no callback comes inside the function that caused it. Owner: the driving thread. */
#include "json.h"
#include "mem.h"
#include "rpc/local_wire.h"
#include "runtime_priv.h"

struct ar_stream {
	struct ar_mailbox_message open_message; /* opens it, */
	struct ar_mailbox_message resume_message; /* goes on after a pause, */
	struct ar_mailbox_message close_message; /* frees it */
	struct ar_list node; /* in runtime->streams */
	struct ar_runtime *runtime;
	struct ar_local *wire; /* NULL: not opened yet, or ended */
	struct ar_principal *who;
	struct ar_stream_callbacks callbacks;
	char *json;
	bool is_paused;
	bool is_resuming; /* resume_message is on its way */
	bool is_closed; /* close_message is on its way: nothing is called any more */
};

static void free_stream(struct ar_mailbox_message *message, void *owner AR_UNUSED)
{
	struct ar_stream *s = AR_CONTAINER_OF(message, struct ar_stream, close_message);

	ar_list_del(&s->node);
	ar_list_del(&s->open_message.node); /* it may wait for a host */
	if (s->wire)
		ar_local_close(s->wire);
	ar_free(s->who);
	ar_free(s->json);
	ar_free(s);
}

/* Messages come in order: this one is the last of the stream. */
void ar_stream_close(struct ar_stream *s)
{
	if (s->is_closed)
		return;
	s->is_closed = true;
	ar_mailbox_post(s->runtime->mail, &s->close_message);
}

static void end_stream(struct ar_stream *s, struct ar_str json)
{
	char *text;

	if (s->is_closed)
		return;
	text = ar_str_absent(json) ? NULL : ar_str_dup(json);
	ar_stream_close(s);
	if (s->callbacks.end)
		s->callbacks.end(s->callbacks.arg, text, json.len);
	ar_free(text);
}

static void on_opened(void *arg AR_UNUSED, struct ar_str json AR_UNUSED)
{
}

static void on_end(void *arg, struct ar_str json)
{
	end_stream(arg, json);
}

static void on_event(void *arg, struct ar_str cursor, struct ar_str json)
{
	struct ar_stream *s = arg;
	char *at, *text;

	if (s->is_closed)
		return;
	at = ar_str_dup(cursor);
	text = ar_str_dup(json);
	s->callbacks.event(s->callbacks.arg, at, text, json.len);
	ar_free(at);
	ar_free(text);
}

static bool takes_more(void *arg)
{
	const struct ar_stream *s = arg;

	return !s->is_paused && !s->is_closed;
}

static const struct ar_local_vtable wire_callbacks = {
	.result = on_opened, .failed = on_end, .event = on_event, .ended = on_end, .takes_more = takes_more
};

static void start_stream(struct ar_mailbox_message *message, void *owner)
{
	struct ar_stream *s = AR_CONTAINER_OF(message, struct ar_stream, open_message);
	struct ar_runtime *r = owner;

	if (s->is_closed)
		return;
	if (!r || r->is_stopped || r->is_closing) {
		end_stream(s, AR_STR(AR_STOPPED_JSON));
		return;
	}
	if (!r->host) {
		ar_list_push(&r->held, &message->node);
		return;
	}
	s->wire = ar_local_open(ar_host_http(r->host), &wire_callbacks, s, s->who);
	ar_local_ask(s->wire, AR_STR("subscribe_events"), ar_str_from(s->json));
}

static void resume_stream(struct ar_mailbox_message *message, void *owner AR_UNUSED)
{
	struct ar_stream *s = AR_CONTAINER_OF(message, struct ar_stream, resume_message);

	s->is_resuming = false;
	if (s->wire && takes_more(s))
		ar_local_drained(s->wire);
}

void ar_stream_pause(struct ar_stream *s, int is_paused)
{
	s->is_paused = is_paused;
	if (is_paused || s->is_resuming || s->is_closed)
		return;
	s->is_resuming = true;
	ar_mailbox_post(s->runtime->mail, &s->resume_message);
}

int ar_stream_open(struct ar_runtime *r, const char *json, const struct ar_caller *caller,
		   const struct ar_stream_callbacks *callbacks, struct ar_stream **ret,
		   struct ar_runtime_error *err)
{
	struct ar_json doc;
	struct ar_error e = { 0 };
	struct ar_stream *s;

	/* Or who opens a stream again as soon as it has ended would never come to an end. */
	if (r->is_stopped || atomic_load(&r->stops)) {
		ar_fail(&e, AR_E_CANCELED, "the runtime is stopping");
		return ar_runtime_report(&e, err);
	}
	if (ar_json_parse(r->parser, ar_str_from(json), &doc, &e) != AR_OK ||
	    ar_json_type(doc) != AR_JSON_OBJECT) {
		ar_fail(&e, AR_E_INVALID, "the input of a stream is a JSON object");
		return ar_runtime_report(&e, err);
	}
	s = ar_new0(sizeof(*s));
	ar_list_init(&s->open_message.node);
	s->open_message.deliver = start_stream;
	s->resume_message.deliver = resume_stream;
	s->close_message.deliver = free_stream;
	s->runtime = r;
	s->who = ar_principal_of(caller);
	ar_copy_sized(&s->callbacks, sizeof(s->callbacks), callbacks, callbacks->size);
	s->json = ar_str_dup(ar_str_from(json));
	ar_list_push(&r->streams, &s->node);
	ar_mailbox_post(r->mail, &s->open_message);
	*ret = s;
	return AR_RUNTIME_OK;
}

void ar_runtime_end_streams(struct ar_runtime *r)
{
	AR_LIST_FOR_SAFE (it, &r->streams) {
		struct ar_stream *s = AR_CONTAINER_OF(it, struct ar_stream, node);

		if (!s->wire)
			continue;
		ar_local_close(s->wire);
		s->wire = NULL;
		end_stream(s, AR_STR(AR_STOPPED_JSON));
	}
}
