/* See messages.h. */
#include "request/messages.h"
#include "identity.h"

/* Before a summary, so that the model does not take it for the user's words. */
#define SUMMARY_MARK "[The earlier part of this conversation was shortened. Summary of it:]\n\n"

/* The calls that an assistant message made; their arguments are among the contents to fetch. */
static void plan_uses(struct ar_messages *m, struct ar_message *message,
		      const struct ar_shape_requested_call_list *uses, struct ar_arena *a)
{
	struct ar_tool_use *list = ar_arena_alloc(a, (uses->count + 1) * sizeof(*list));
	struct ar_str session_key;

	for (size_t i = 0; i < uses->count; i++) {
		list[i].id = ar_arena_str(a, uses->at[i].id);
		list[i].name = ar_arena_str(a, uses->at[i].name);
		ar_ref_parse(uses->at[i].ref, &session_key, &m->hashes[m->hash_count++]);
	}
	message->uses = list;
	message->use_count = uses->count;
}

static size_t count_contents(const struct ar_context_entry *entries, size_t count)
{
	size_t n = count;

	for (size_t i = 0; i < count; i++)
		n += !ar_str_absent(entries[i].echo) + entries[i].images.count + entries[i].uses.count;
	return n;
}

void ar_messages_plan(struct ar_messages *m, const struct ar_effect_model_call *effect, struct ar_arena *a)
{
	const struct ar_context_entry *entries = effect->messages;
	size_t count = effect->message_count;

	m->list = ar_arena_alloc(a, (count + 1) * sizeof(*m->list));
	m->is_summary = ar_arena_alloc(a, count + 1);
	m->images = ar_arena_alloc(a, (count + 1) * sizeof(*m->images));
	ar_images_plan(m, entries, count,
		       (effect->choice.entry->capabilities & AR_CAN_VISION) && !effect->is_transcript);
	m->hashes = ar_arena_alloc(a, (count_contents(entries, count) + 1) * sizeof(*m->hashes));
	for (size_t i = 0; i < count; i++) {
		struct ar_message *message = &m->list[m->count++];
		struct ar_str session_key;

		message->role =
			entries[i].role == AR_CONTEXT_SUMMARY ? AR_ROLE_USER : (enum ar_role)entries[i].role;
		m->is_summary[i] = entries[i].role == AR_CONTEXT_SUMMARY;
		message->is_parts = entries[i].role == AR_CONTEXT_USER;
		message->tool_call_id = ar_arena_str(a, entries[i].tool_call_id);
		ar_ref_parse(entries[i].ref, &session_key, &m->hashes[m->hash_count++]);
		if (!ar_str_absent(entries[i].echo)) {
			message->echo = AR_STR(""); /* filled with its content */
			ar_ref_parse(entries[i].echo, &session_key, &m->hashes[m->hash_count++]);
		}
		plan_uses(m, message, &entries[i].uses, a);
		ar_images_refs(m, i, entries[i].images);
	}
}

/* A user's input is a list of parts; a single text part is sent as plain text, which
 * every server understands. */
static void simplify(struct ar_message *message, struct ar_arena *a, struct ar_json_parser *json)
{
	struct ar_str text;
	struct ar_json v;

	if (!message->is_parts || ar_json_parse(json, message->text, &v, NULL) != AR_OK ||
	    ar_json_len(v) != 1 || !ar_json_str(ar_json_get(ar_json_at(v, 0), "text"), &text))
		return;
	message->text = ar_arena_str(a, text);
	message->is_parts = false;
}

/* Some wire formats have one place for all that the system says. */
static void join_system(struct ar_messages *m, struct ar_arena *a)
{
	size_t n = 0;

	while (n < m->count && m->list[n].role == AR_ROLE_SYSTEM)
		n++;
	for (; n > 1; n--) {
		m->list[1].text = ar_arena_fmt(a, "%.*s\n\n%.*s", AR_STR_ARG(m->list[0].text),
					       AR_STR_ARG(m->list[1].text));
		m->list++;
		m->is_summary++;
		m->count--;
	}
}

bool ar_messages_fill(struct ar_messages *m, const struct ar_str *contents, struct ar_arena *a,
		      struct ar_json_parser *json)
{
	size_t next = 0;

	for (size_t i = 0; i < m->count; i++) {
		struct ar_message *message = &m->list[i];
		struct ar_tool_use *uses = (struct ar_tool_use *)message->uses;

		if (ar_str_absent(contents[next]))
			return false;
		message->text = contents[next++];
		simplify(message, a, json);
		if (m->is_summary[i])
			message->text = ar_arena_fmt(a, SUMMARY_MARK "%.*s", AR_STR_ARG(message->text));
		if (!ar_str_absent(message->echo)) {
			if (ar_str_absent(contents[next]))
				return false;
			message->echo = contents[next++];
		}
		for (size_t k = 0; k < message->use_count; k++) {
			if (ar_str_absent(contents[next]))
				return false;
			uses[k].args = contents[next++];
		}
		for (size_t k = 0; k < m->images[i].taken; k++) {
			if (ar_str_absent(contents[next + k]))
				return false;
		}
		ar_images_add(m, i, contents + next, a);
		next += m->images[i].taken;
	}
	join_system(m, a);
	return true;
}

/* ---- outputs ---- */

static struct ar_str collect(const struct ar_output *o, struct ar_arena *a, uint8_t kind, uint32_t index)
{
	struct ar_buf bytes = { 0 };
	struct ar_str text;

	ar_output_collect(o, kind, index, &bytes);
	text = ar_arena_str(a, ar_buf_str(&bytes));
	ar_buf_fini(&bytes);
	return text;
}

void ar_step_output_of(const struct ar_output *o, struct ar_arena *a, struct ar_step_output *ret)
{
	struct ar_segment *segments = ar_arena_alloc(a, (o->count + 1) * sizeof(*segments));

	for (size_t i = 0; i < o->count; i++)
		segments[i] =
			(struct ar_segment){ o->segments[i].kind, o->segments[i].index, o->segments[i].len };
	ret->segments = segments;
	ret->segment_count = o->count;
	ret->text = collect(o, a, AR_OUT_TEXT, 0);
	ret->reasoning = collect(o, a, AR_OUT_REASONING, 0);
}

struct ar_str ar_step_tool_args(const struct ar_output *o, struct ar_arena *a, uint32_t index)
{
	return collect(o, a, AR_OUT_TOOL_ARGS, index);
}
