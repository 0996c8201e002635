/* A conversation as one text, for the model that is to summarise it: no tools need to be offered for
 * it, and no wire format minds what it consists of. A long message is included in part; the
 * core bounded how many there are. Loop thread. */
#include "buf.h"
#include "request/messages.h"

#define MESSAGE_MAX \
	8192 /* bytes of one message that are included, half from its beginning and half from its end */
#define ARGS_MAX 1024

static const char *const speaker[] = { "", "System", "User", "Assistant", "Tool" };

/* Where a cut at `at` or shortly after it breaks no character. */
static size_t whole_character(struct ar_str text, size_t at)
{
	while (at < text.len && ((uint8_t)text.p[at] & 0xc0) == 0x80)
		at++;
	return at;
}

static void add_part(struct ar_buf *out, struct ar_str text, size_t max)
{
	struct ar_str head;
	size_t tail;

	if (text.len <= max) {
		ar_buf_adds(out, text);
		return;
	}
	head = ar_str_utf8_prefix(text, max / 2);
	tail = whole_character(text, text.len - max / 2);
	ar_buf_adds(out, head);
	ar_buf_addf(out, "\n(%zu bytes are left out here)\n", tail - head.len);
	ar_buf_adds(out, ar_str_sub(text, tail, text.len - tail));
}

/* Parts that are not text are only named. */
static void add_parts(struct ar_buf *out, struct ar_str parts, struct ar_json_parser *json)
{
	struct ar_json v;

	if (ar_json_parse(json, parts, &v, NULL) != AR_OK) {
		add_part(out, parts, MESSAGE_MAX);
		return;
	}
	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it);) {
		struct ar_str text = AR_STR_NONE;

		if (ar_json_str(ar_json_get(it.value, "text"), &text)) {
			add_part(out, text, MESSAGE_MAX);
			continue;
		}
		ar_json_str(ar_json_get(it.value, "type"), &text);
		ar_buf_addf(out, "(%.*s)", AR_STR_ARG(text));
	}
}

static void add_message(struct ar_buf *out, const struct ar_message *m, bool is_summary,
			struct ar_json_parser *json)
{
	ar_buf_addf(out, "### %s\n", is_summary ? "Summary of what came before" : speaker[m->role]);
	if (m->is_parts)
		add_parts(out, m->text, json);
	else
		add_part(out, m->text, is_summary ? SIZE_MAX : MESSAGE_MAX);
	for (size_t i = 0; i < m->use_count; i++) {
		ar_buf_addf(out, "\n(calls %.*s with ", AR_STR_ARG(m->uses[i].name));
		add_part(out, m->uses[i].args, ARGS_MAX);
		ar_buf_addf(out, ")");
	}
	ar_buf_addf(out, "\n\n");
}

void ar_messages_to_transcript(struct ar_messages *m, struct ar_arena *a, struct ar_json_parser *json)
{
	struct ar_message *list = ar_arena_alloc(a, 2 * sizeof(*list));
	struct ar_buf text = { 0 };

	ar_buf_addf(&text, "The conversation so far:\n\n");
	for (size_t i = 1; i < m->count; i++)
		add_message(&text, &m->list[i], m->is_summary[i], json);
	ar_buf_addf(&text, "### End of the conversation. Write its summary now.");
	list[0] = m->list[0];
	list[1] = (struct ar_message){ .role = AR_ROLE_USER, .text = ar_arena_str(a, ar_buf_str(&text)) };
	ar_buf_fini(&text);
	m->list = list;
	m->count = 2;
}
