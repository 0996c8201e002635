/* ar_runtime_call: a message that becomes a call over the wire of this process. Owner: the driving thread,
 * once it is posted. */
#include "json.h"
#include "mem.h"
#include "rpc/local_wire.h"
#include "runtime_priv.h"

#include <string.h>

struct call {
	struct ar_mailbox_message message;
	struct ar_list node; /* in runtime->calls while the host has it */
	struct ar_runtime *runtime;
	struct ar_local *wire;
	struct ar_principal *who;
	ar_call_fn *done;
	void *arg;
	char *command, *json;
	bool is_asking; /* the wire is still at work with the question */
	bool is_answered;
};

static void free_call(struct call *c)
{
	ar_list_del(&c->node);
	if (c->wire)
		ar_local_close(c->wire);
	ar_free(c->who);
	ar_free(c->command);
	ar_free(c->json);
	ar_free(c);
}

/* The wire may not be closed from inside its callback: that is done by the next message, or after the
 * question. */
static void on_finished(struct ar_mailbox_message *message, void *owner AR_UNUSED)
{
	free_call(AR_CONTAINER_OF(message, struct call, message));
}

static void answer(struct call *c, bool is_ok, struct ar_str json)
{
	char *text = ar_str_dup(json); /* with a zero behind it, for those who print it */

	c->is_answered = true;
	c->done(c->arg, is_ok, text, json.len);
	ar_free(text);
}

static void answer_over_wire(struct call *c, bool is_ok, struct ar_str json)
{
	answer(c, is_ok, json);
	if (c->is_asking)
		return;
	c->message.deliver = on_finished;
	ar_mailbox_post(c->runtime->mail, &c->message);
}

static void on_result(void *arg, struct ar_str json)
{
	answer_over_wire(arg, true, json);
}

static void on_failed(void *arg, struct ar_str json)
{
	answer_over_wire(arg, false, json);
}

static const struct ar_local_vtable wire_callbacks = { .result = on_result, .failed = on_failed };

static bool is_object(struct ar_runtime *r, const char *json)
{
	struct ar_json doc;

	return ar_json_parse(r->parser, ar_str_from(json), &doc, NULL) == AR_OK &&
	       ar_json_type(doc) == AR_JSON_OBJECT;
}

static void refuse(struct call *c, struct ar_str json)
{
	answer(c, false, json);
	free_call(c);
}

/* A stream has a function of its own. */
static void start_call(struct ar_mailbox_message *message, void *owner)
{
	struct call *c = AR_CONTAINER_OF(message, struct call, message);
	struct ar_runtime *r = owner;

	if (!r || r->is_stopped || r->is_closing) {
		refuse(c, AR_STR(AR_STOPPED_JSON));
		return;
	}
	if (!r->host) {
		ar_list_push(&r->held, &message->node);
		return;
	}
	if (strcmp(c->command, "subscribe_events") == 0 || !is_object(r, c->json)) {
		refuse(c, AR_STR("{\"error\":{\"code\":\"invalid_input\",\"message\":\"the input of a "
				 "command is a JSON object; "
				 "subscribe_events is ar_stream_open\",\"retryable\":false}}"));
		return;
	}
	c->wire = ar_local_open(ar_host_http(r->host), &wire_callbacks, c, c->who);
	ar_list_push(&r->calls, &c->node);
	c->is_asking = true;
	ar_local_ask(c->wire, ar_str_from(c->command), ar_str_from(c->json));
	c->is_asking = false;
	if (c->is_answered)
		free_call(c);
}

void ar_runtime_call(struct ar_runtime *r, const char *command, const char *json,
		     const struct ar_caller *caller, ar_call_fn *done, void *arg)
{
	struct call *c = ar_new0(sizeof(*c));

	c->message.deliver = start_call;
	ar_list_init(&c->node);
	c->runtime = r;
	c->who = ar_principal_of(caller);
	c->done = done;
	c->arg = arg;
	c->command = ar_str_dup(ar_str_from(command));
	c->json = ar_str_dup(json ? ar_str_from(json) : AR_STR("{}"));
	ar_mailbox_post(r->mail, &c->message);
}

/* Those that are answered have a message on its way, which frees them. */
void ar_runtime_end_calls(struct ar_runtime *r)
{
	AR_LIST_FOR_SAFE (it, &r->calls) {
		struct call *c = AR_CONTAINER_OF(it, struct call, node);

		ar_local_close(c->wire);
		c->wire = NULL;
		if (!c->is_answered)
			refuse(c, AR_STR(AR_STOPPED_JSON));
	}
}
