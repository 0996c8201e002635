/* Events of a view: they follow from one fact and are no facts (items of a turn, core/projection). A reader
 * that asked for them gets them before their fact. Their cursor is the one before it, so a reader that was
 * cut between them gets them again with the same ids; the last one has that after it when the reader does not
 * want the fact. Owner: the loop thread. */
#include "follow_priv.h"
#include "mem.h"

void ar_follow_derive(struct ar_follow *f, ar_derive_fn *derive)
{
	f->derive = derive;
}

bool ar_reader_is_deriving(const struct ar_follow_request *r)
{
	static const enum ar_event_type derived[] = { AR_EV_ITEM_STARTED, AR_EV_ITEM_UPDATED,
						      AR_EV_ITEM_COMPLETED };

	for (size_t i = 0; !r->is_strict && r->types && i < AR_ARRAY_LEN(derived); i++) {
		if (r->types[derived[i]])
			return true;
	}
	return false;
}

static struct ar_str text_of(struct ar_json object, const char *name)
{
	struct ar_str text = AR_STR_NONE;

	ar_json_str(ar_json_get(object, name), &text);
	return text;
}

static void push(struct ar_follow_cursor *c, const struct ar_event *e, const struct ar_cursor *at)
{
	struct ar_frame *f = ar_frame_event(e, at);

	f->is_delta = false;
	ar_reader_push(c, f);
}

void ar_reader_derive(struct ar_follow_cursor *c, const struct ar_frame *fact, const struct ar_cursor *after)
{
	struct ar_follow *follow = c->hub->follow;
	struct ar_event events[AR_DERIVED_MAX];
	struct ar_arena a = { 0 };
	struct ar_json json;
	size_t count = 0;

	if (ar_json_parse(follow->json, fact->json, &json, NULL) == AR_OK)
		count = follow->derive(fact->type, json, &a, events);
	for (size_t i = 0; i < count; i++) {
		struct ar_event *e = &events[i];
		bool is_last = i + 1 == count && !ar_reader_wants(c, fact);

		e->sequence = fact->sequence;
		e->runtime_id = follow->runtime_id;
		e->session_id = text_of(json, "sessionId");
		e->event_id = ar_arena_fmt(&a, "%.*s.item%zu", AR_STR_ARG(text_of(json, "eventId")), i);
		ar_time_parse(text_of(json, "timestamp"), &e->time);
		push(c, e, is_last ? after : &c->at);
	}
	ar_arena_fini(&a);
}
