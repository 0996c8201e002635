/* What a peer's answer means (see client_priv.h): read, checked against what was asked, kept in the call.
 * Loop thread only. */
#include "client_priv.h"
#include "mem.h"
#include "v03.h"

#include <string.h>

enum ar_peer_error ar_a2a_answer_fail(struct ar_a2a_call *c, enum ar_peer_error error, const char *why)
{
	c->outcome.error = error;
	c->outcome.reason = ar_arena_str(&c->came, ar_str_from(why));
	return error;
}

static void fail_read(struct ar_a2a_call *c, enum ar_peer_error error, const struct ar_a2a_fault *f)
{
	const char *why = c->reading.why ? c->reading.why : "its answer was not taken";

	c->outcome.error = error;
	c->outcome.code = f->code;
	c->outcome.reason = ar_str_absent(f->reason)
				    ? ar_arena_str(&c->came, ar_str_from(why))
				    : ar_arena_fmt(&c->came, "%s: %.*s", why, AR_STR_ARG(f->reason));
}

/* ---- cards ---- */

static struct ar_str ref_of(struct ar_arena *a, struct ar_str text)
{
	struct ar_hash hash = ar_hash_of(text);
	char hex[AR_HASH_HEX];

	ar_hash_hex(&hash, hex);
	return ar_arena_fmt(a, "sha256:%.*s", AR_HASH_HEX, hex);
}

static void keep_card(struct ar_a2a_client *client, const struct ar_a2a_card *card,
		      const struct ar_a2a_interface *i, struct ar_str key, struct ar_str text)
{
	struct ar_arena fresh = { 0 };

	client->interface = (struct ar_a2a_interface){ .url = ar_arena_str(&fresh, i->url),
						       .binding = ar_arena_str(&fresh, i->binding),
						       .version = ar_arena_str(&fresh, i->version),
						       .tenant = ar_arena_str(&fresh, i->tenant) };
	client->card = (struct ar_peer_card){ .name = ar_arena_str(&fresh, card->name),
					      .description = ar_arena_str(&fresh, card->description),
					      .version = ar_arena_str(&fresh, card->version),
					      .url = client->interface.url,
					      .binding = client->interface.binding,
					      .protocol_version = client->interface.version,
					      .tenant = client->interface.tenant,
					      .ref = ref_of(&fresh, text),
					      .text = ar_arena_str(&fresh, text),
					      .key_id = ar_arena_str(&fresh, key),
					      .has_streaming = card->has_streaming,
					      .has_push = card->has_push,
					      .is_repeat_safe = card->is_repeat_safe,
					      .is_signature_checked = client->keys != NULL };
	client->card_until = ar_a2a_now() + (ar_usec)client->o.card_ms * 1000;
	ar_arena_fini(&client->card_arena);
	client->card_arena = fresh;
}

static void read_card(struct ar_a2a_call *c, struct ar_json doc)
{
	struct ar_a2a_client *client = c->client;
	struct ar_a2a_trust trust = { client->o.url, client->keys, client->second };
	const struct ar_a2a_interface *i = NULL;
	struct ar_a2a_fault none = { 0 };
	struct ar_a2a_card card;
	struct ar_str key = AR_STR_NONE;
	enum ar_peer_error error = ar_a2a_read_card(&c->reading, doc, &card);

	if (error == AR_PEER_OK)
		error = ar_a2a_card_check(&c->reading, &trust, doc, &card, &i, &key);
	if (error == AR_PEER_OK)
		keep_card(client, &card, i, key, ar_buf_str(&c->body));
	else
		fail_read(c, error, &none);
}

/* ---- tasks ---- */

/* A peer that answers with another task than the one it was asked for is not believed. */
static enum ar_peer_error check_task(struct ar_a2a_call *c, const struct ar_peer_update *u)
{
	struct ar_str wanted = c->run->task_id;

	if (!ar_str_absent(wanted) && !ar_str_absent(u->task_id) && !ar_str_eq(wanted, u->task_id)) {
		c->reading.why = "it answered with another task than the one that was asked for";
		return AR_PEER_PROTOCOL;
	}
	return AR_PEER_OK;
}

static enum ar_peer_error read_one(struct ar_a2a_call *c, struct ar_json v)
{
	enum ar_peer_error error;

	c->tasks = ar_arena_alloc(&c->came, sizeof(*c->tasks));
	if (c->request.ask == AR_A2A_ASK_SEND)
		error = ar_a2a_read_event(&c->reading, v, c->tasks);
	else
		error = ar_a2a_read_task(&c->reading, v, c->tasks);
	if (error == AR_PEER_OK && c->request.ask == AR_A2A_ASK_SEND && !c->tasks->is_whole &&
	    c->tasks->state != AR_PEER_STATE_NONE) {
		c->reading.why = "it answered a message with an update";
		return AR_PEER_PROTOCOL;
	}
	c->task_count = error == AR_PEER_OK;
	return error == AR_PEER_OK ? check_task(c, c->tasks) : error;
}

static enum ar_peer_error read_result(struct ar_a2a_call *c, struct ar_json v)
{
	if (c->request.ask == AR_A2A_ASK_LIST)
		return ar_a2a_read_list(&c->reading, v, &c->tasks, &c->task_count, &c->next_page);
	if (c->request.ask != AR_A2A_ASK_SUBSCRIBE)
		return read_one(c, v);
	c->reading.why = "it answered a request for a stream with something else";
	return AR_PEER_UNSUPPORTED;
}

/* What a peer of 0.3 answers, in the words of 1.0. */
static struct ar_json translate(struct ar_a2a_call *c, struct ar_json result)
{
	struct ar_buf text = { .cap = (size_t)c->client->o.answer_max * 4 };
	struct ar_json doc = { 0 };

	if (!c->request.id || !ar_a2a_interface_is_old(&c->client->interface))
		return result;
	ar_a2a_v03_result_back(ar_a2a_method(c->request.ask), result, &text);
	if (text.failed || ar_json_parse(c->client->second, ar_buf_str(&text), &doc, NULL) != AR_OK)
		doc = (struct ar_json){ 0 };
	ar_buf_fini(&text);
	return doc;
}

/* The word of a peer of 0.3 is kept as it was, not as it was translated. */
static void keep_native(struct ar_a2a_call *c, struct ar_json result, struct ar_peer_update *u)
{
	struct ar_str word;

	if (c->request.id && ar_a2a_interface_is_old(&c->client->interface) && u->state &&
	    ar_json_str(ar_json_get(ar_json_get(result, "status"), "state"), &word) &&
	    ar_str_is_line(word, 64))
		u->native_status = ar_arena_str(&c->came, word);
}

/* ---- whole answers ---- */

static bool is_json(struct ar_str type)
{
	static const char *const types[] = { "application/json", "application/a2a+json" };

	for (size_t i = 0; i < AR_ARRAY_LEN(types); i++) {
		size_t len = strlen(types[i]);

		if (type.len >= len && strncasecmp(type.p, types[i], len) == 0 &&
		    (type.len == len || type.p[len] == ';' || type.p[len] == ' '))
			return true;
	}
	return false;
}

static bool parse(struct ar_a2a_call *c, struct ar_str text, struct ar_json *ret)
{
	c->reading.arena = &c->came;
	c->reading.bytes_max = c->client->o.artifact_max;
	c->reading.bytes = 0;
	c->reading.why = NULL;
	return ar_json_parse(c->client->parser, text, ret, NULL) == AR_OK;
}

static void read_refusal(struct ar_a2a_call *c, bool is_text)
{
	struct ar_a2a_fault fault = { 0 };
	struct ar_json doc = { 0 }, none = { 0 };
	bool is_parsed = is_text && parse(c, ar_buf_str(&c->body), &doc);
	enum ar_peer_error error;

	c->reading.arena = &c->came;
	error = ar_a2a_read_http_error(&c->reading, c->outcome.http, is_parsed ? doc : none, &fault);
	fail_read(c, error, &fault);
	if (ar_str_absent(fault.reason))
		c->outcome.reason = ar_arena_fmt(&c->came, "%.*s (HTTP status %d)",
						 AR_STR_ARG(c->outcome.reason), c->outcome.http);
}

void ar_a2a_answer_whole(struct ar_a2a_call *c)
{
	bool is_text = is_json(ar_transfer_header(&c->transfer, "content-type"));
	struct ar_a2a_fault fault = { 0 };
	struct ar_json doc, result;
	enum ar_peer_error error = AR_PEER_OK;

	if (c->outcome.http < 200 || c->outcome.http > 299) {
		read_refusal(c, is_text);
		return;
	}
	if (!is_text) {
		ar_a2a_answer_fail(c, AR_PEER_PROTOCOL, "its answer is not declared as JSON");
		return;
	}
	if (!parse(c, ar_buf_str(&c->body), &doc)) {
		ar_a2a_answer_fail(c, AR_PEER_PROTOCOL, "its answer is no JSON that can be read");
		return;
	}
	if (c->request.ask == AR_A2A_ASK_CARD) {
		read_card(c, doc);
		return;
	}
	result = doc;
	if (c->request.id)
		error = ar_a2a_read_rpc(&c->reading, doc, c->request.id, &result, &fault);
	if (error == AR_PEER_OK)
		error = read_result(c, translate(c, result));
	if (error == AR_PEER_OK && c->task_count == 1)
		keep_native(c, result, c->tasks);
	if (error != AR_PEER_OK)
		fail_read(c, error, &fault);
}

/* ---- events ---- */

bool ar_a2a_answer_event(struct ar_a2a_call *c, struct ar_str text)
{
	size_t before = c->reading.bytes;
	struct ar_a2a_fault fault = { 0 };
	struct ar_peer_update u;
	struct ar_json doc, result, said;
	enum ar_peer_error error = AR_PEER_OK;

	ar_arena_reset(&c->came);
	if (!parse(c, text, &doc)) {
		ar_a2a_answer_fail(c, AR_PEER_PROTOCOL, "an event of its stream is no JSON that can be read");
		return false;
	}
	c->reading.bytes = before;
	result = doc;
	if (c->request.id)
		error = ar_a2a_read_rpc(&c->reading, doc, c->request.id, &result, &fault);
	else if (ar_json_type(ar_json_get(doc, "error")) == AR_JSON_OBJECT)
		error = ar_a2a_read_http_error(&c->reading, 200, doc, &fault);
	said = result;
	if (error == AR_PEER_OK)
		result = translate(c, said);
	/* A whole task says again all that came before. */
	if (ar_json_type(ar_json_get(result, "task")) == AR_JSON_OBJECT)
		c->reading.bytes = 0;
	if (error == AR_PEER_OK)
		error = ar_a2a_read_event(&c->reading, result, &u);
	if (error == AR_PEER_OK)
		error = check_task(c, &u);
	if (error != AR_PEER_OK) {
		fail_read(c, error, &fault);
		return false;
	}
	keep_native(c, said, &u);
	return ar_a2a_call_update(c, &u);
}
