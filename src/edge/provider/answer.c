/* The reading of one answer: events to the wire format's table, caps, and the verdict at the end. Pure. */
#include "answer.h"

#include "mem.h"
#include "outputs.h"
#include "wire.h"

#define FRAMING_MAX ((size_t)1 << 20)
#define ECHO_FRAMING ((size_t)64 * 1024)

/* ---- one event ---- */

static void dispatch(struct ar_answer *a, struct ar_str name, struct ar_json doc)
{
	for (const struct ar_wire_event *e = a->wire->events; e->read; e++) {
		if (e->name && !ar_str_is(name, e->name))
			continue;
		e->read(a, doc);
		return;
	}
}

/* Whatever the format: an object "error", or an event of that name, is one. Formats wrap it differently, none
 * uses the word for something else. */
static void read_object(struct ar_answer *a, struct ar_str name, struct ar_json doc)
{
	struct ar_json error = ar_json_get(doc, "error");

	ar_json_str(ar_json_get(doc, "type"), &name);
	if (ar_json_type(error) > AR_JSON_NULL)
		ar_out_fail(a, error);
	else if (ar_str_is(name, "error"))
		ar_out_fail(a, doc);
	else
		dispatch(a, name, doc);
}

static bool read_event(void *owner, struct ar_str name, struct ar_str text)
{
	struct ar_answer *a = owner;
	struct ar_json doc;

	if (a->wire->end_mark && ar_str_is(text, a->wire->end_mark)) {
		a->done = true;
		return false;
	}
	if (text.len == 0)
		return true;
	if (ar_json_parse(a->json, text, &doc, NULL) != AR_OK || ar_json_type(doc) != AR_JSON_OBJECT) {
		/* What follows the model's last word does not undo it. The last event of a broken connection
		 * is more likely cut than wrong. */
		if (ar_answer_is_whole(a))
			a->done = true;
		else if (!a->ending)
			ar_out_malformed(a, "an event of the answer is not a JSON object", text);
		return false;
	}
	read_object(a, name, doc);
	return a->result.outcome == 0 && !a->done;
}

/* ---- the answer ---- */

void ar_answer_init(struct ar_answer *a, const struct ar_wire *wire, struct ar_json_parser *json,
		    const struct ar_answer_sink *sink, size_t output_max)
{
	*a = (struct ar_answer){ .wire = wire, .sink = *sink, .json = json, .output_left = output_max };
	a->answer_id = AR_STR("");
	a->echo.cap = a->thought.cap = a->signature.cap = output_max + ECHO_FRAMING;
	ar_sse_init(&a->sse, output_max + FRAMING_MAX, read_event, a);
}

void ar_answer_fini(struct ar_answer *a)
{
	ar_sse_fini(&a->sse);
	ar_buf_fini(&a->scratch);
	ar_buf_fini(&a->echo);
	ar_buf_fini(&a->thought);
	ar_buf_fini(&a->signature);
	ar_arena_fini(&a->arena);
	ar_free(a->tools);
}

bool ar_answer_feed(struct ar_answer *a, struct ar_str bytes)
{
	if (!a->done && !a->result.outcome && ar_sse_feed(&a->sse, bytes) == AR_E_LIMIT)
		ar_out_oversize(a);
	return a->result.outcome == 0;
}

void ar_answer_whole(struct ar_answer *a, struct ar_str body)
{
	struct ar_json doc, error;

	a->done = true;
	if (ar_json_parse(a->json, body, &doc, NULL) != AR_OK || ar_json_type(doc) < AR_JSON_ARRAY) {
		ar_out_malformed(a, "the answer is neither an event stream nor a JSON object", body);
		return;
	}
	error = ar_json_get(doc, "error");
	if (ar_json_type(error) > AR_JSON_NULL)
		ar_out_fail(a, error);
	else if (!a->wire->read_whole(a, doc) && a->result.outcome == 0)
		ar_out_malformed(a, "the answer is JSON, but not a response of this API", body);
}

bool ar_answer_is_whole(const struct ar_answer *a)
{
	return a->result.outcome == 0 && (a->done || a->result.stop_reason.len > 0);
}

static void complete(struct ar_answer *a)
{
	a->result.outcome = AR_MODEL_COMPLETED;
	if (a->echo.len > 0)
		a->result.echo = ar_arena_fmt(&a->arena, "[%.*s]", AR_STR_ARG(ar_buf_str(&a->echo)));
}

struct ar_model_result *ar_answer_end(struct ar_answer *a)
{
	struct ar_model_result *r = &a->result;

	a->ending = true;
	if (!a->done && !r->outcome && ar_sse_end(&a->sse) == AR_E_LIMIT)
		ar_out_oversize(a);
	if (ar_answer_is_whole(a)) {
		complete(a);
	} else if (r->outcome == 0) {
		r->outcome = AR_MODEL_CUT;
		r->category = AR_STR("network");
		r->retryable = true;
		r->message = AR_STR("the answer of the model ended before it was complete");
	}
	return r;
}
