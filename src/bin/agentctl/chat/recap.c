/* See chat.h. Only what get_session has at hand: all of it is what `agentctl show` prints. */
#include "chat/chat.h"

#define LINES 6 /* of the answer */

static void print_line(struct ar_chat *t, const char *before, struct ar_str line)
{
	if (!ar_chat_begin(t, AR_STYLE_DIM))
		return;
	ar_out_printf(t->side, "%s", before);
	ar_out_line(t->side, line);
	ar_chat_end(t);
}

static void print_answer(struct ar_chat *t, struct ar_str text)
{
	struct ar_str line;

	for (int i = 0; text.len && i < LINES; i++) {
		text = ar_str_split(text, '\n', &line);
		print_line(t, "  ", line);
	}
	if (text.len)
		print_line(t, "  ", AR_STR("…"));
}

void ar_chat_recap(struct ar_chat *t, struct ar_json thread)
{
	struct ar_json turns = ar_json_get(thread, "turns"), turn, steps;
	size_t count = ar_json_len(turns);
	struct ar_str line;

	if (!count || !t->is_interactive)
		return;
	turn = ar_json_at(turns, count - 1);
	steps = ar_json_get(turn, "steps");
	if (count > 1)
		ar_chat_printf(t, "%zu turn%s before (agentctl show %.*s)", count - 1, count == 2 ? "" : "s",
			       AR_STR_ARG(t->session));
	ar_str_split(ar_api_str(turn, "inputPreview"), '\n', &line);
	print_line(t, "> ", line);
	for (size_t i = ar_json_len(steps); i-- > 0;) {
		struct ar_str text = ar_api_str(ar_json_at(steps, i), "preview");

		if (ar_str_empty(text))
			continue;
		print_answer(t, text);
		return;
	}
}
