/* See attributes.h. */
#include "attributes.h"
#include "subagent/subagents.h"
#include "tenant.h"
#include "trace/trace.h"

#define TEXT_MAX 1024 /* bytes of one value; more is cut */

static struct ar_attr *add(struct ar_attribute_list *l, const char *name, enum ar_attr_kind kind)
{
	AR_ASSERT(l->count < AR_ATTRIBUTES_MAX);
	l->at[l->count] = (struct ar_attr){ .name = name, .kind = kind };
	return &l->at[l->count++];
}

void ar_attribute_text(struct ar_attribute_list *l, enum ar_attribute name, struct ar_str text)
{
	if (!ar_str_empty(text))
		add(l, ar_attribute_names[name], AR_ATTR_IS_TEXT)->text = ar_str_utf8_prefix(text, TEXT_MAX);
}

void ar_attribute_int(struct ar_attribute_list *l, enum ar_attribute name, struct ar_opt_int value)
{
	if (value.set)
		add(l, ar_attribute_names[name], AR_ATTR_IS_INT)->number = value.v;
}

void ar_attribute_word(struct ar_attribute_list *l, enum ar_attribute name, const struct ar_enum_desc *d,
		       int value)
{
	if (value > 0 && value < d->count)
		ar_attribute_text(l, name, ar_str_from(d->names[value]));
}

/* The fact's own, else the child agent whose thread it is. */
static struct ar_str subagent_of(const struct ar_session *s, const struct ar_event *e)
{
	const struct ar_shape_subagent_record *child;

	if (!ar_str_empty(e->ids[AR_SCOPE_SUBAGENT]) || s->subagents.count == 0)
		return e->ids[AR_SCOPE_SUBAGENT];
	child = ar_session_subagent_in(s, e->ids[AR_SCOPE_THREAD]);
	return child ? child->subagent_id : AR_STR_NONE;
}

struct ar_attribute_list ar_attributes_of(const struct ar_session *s, const struct ar_event *e,
					  struct ar_arena *a)
{
	struct ar_attribute_list l = { ar_arena_room(a, AR_ATTRIBUTES_MAX * sizeof(*l.at)), 0 };

	ar_attribute_text(&l, AR_ATTR_SESSION, e->session_id);
	ar_attribute_text(&l, AR_ATTR_RUNTIME, e->runtime_id);
	ar_attribute_text(&l, AR_ATTR_TENANT, ar_session_tenant(s));
	ar_attribute_text(&l, AR_ATTR_EVENT, e->event_id);
	ar_attribute_int(&l, AR_ATTR_SEQUENCE, AR_OPT_INT((int64_t)e->sequence));
	ar_attribute_text(&l, AR_ATTR_CONVERSATION, e->ids[AR_SCOPE_THREAD]);
	for (int i = 0; i < AR_SCOPE_COUNT; i++) {
		struct ar_str id = i == AR_SCOPE_SUBAGENT ? subagent_of(s, e) : e->ids[i];

		if (ar_scope_attributes[i] && !ar_str_empty(id))
			add(&l, ar_scope_attributes[i], AR_ATTR_IS_TEXT)->text = id;
	}
	return l;
}

bool ar_telemetry_ids(const struct ar_event *e, struct ar_trace_context *ret)
{
	struct ar_str subject = ar_trace_subject(e);

	if (ar_trace_read(e->ids[AR_SCOPE_TRACE], e->ids[AR_SCOPE_SPAN], ret))
		return true; /* the fact was recorded while traces were exported */
	if (ar_str_absent(subject))
		return false;
	ar_trace_of(e->session_id, subject, ret->trace);
	ar_span_of(e->session_id, ar_trace_span_subject(e), ret->span);
	ret->flags = 1;
	return true;
}
