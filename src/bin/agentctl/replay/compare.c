/* Recorded facts against those of now: each member that was recorded has to be there with the same value.
 * Who deletes a member from the file does not ask for it. */
#include "replay/replay.h"

#include <string.h>

#define VALUE_MAX 200 /* bytes of a value that are shown */

static void print_value(struct ar_ctl *c, struct ar_json v)
{
	struct ar_buf text = { 0 };
	struct ar_arena a = { 0 };

	if (ar_json_type(v) == AR_JSON_NONE)
		ar_buf_addz(&text, "nothing");
	else
		ar_json_print(v, &text);
	ar_out_line(&c->out, ar_arena_excerpt(&a, ar_buf_str(&text), VALUE_MAX));
	ar_arena_fini(&a);
	ar_buf_fini(&text);
}

/* "turn 2, step 1, call shell": where a fact is. */
static void print_place(struct ar_ctl *c, size_t turn, struct ar_json fact)
{
	struct ar_str call = ar_api_str(fact, "call");

	ar_out_printf(&c->out, "turn %zu, step %lld", turn + 1, (long long)ar_api_int(fact, "step"));
	if (!ar_str_absent(call)) {
		ar_out_printf(&c->out, ", call ");
		ar_out_line(&c->out, call);
	}
	ar_out_printf(&c->out, ": ");
}

static bool is_same(struct ar_json a, struct ar_json b)
{
	struct ar_buf x = { 0 }, y = { 0 };
	bool same;

	ar_json_print(a, &x);
	ar_json_print(b, &y);
	same = ar_json_type(a) == ar_json_type(b) && ar_str_eq(ar_buf_str(&x), ar_buf_str(&y));
	ar_buf_fini(&x);
	ar_buf_fini(&y);
	return same;
}

static struct ar_json member_of(struct ar_json object, struct ar_str name)
{
	struct ar_json value = { 0 };

	for (struct ar_json_iter it = ar_json_iter(object); ar_json_next(&it);) {
		if (ar_str_eq(it.name, name))
			value = it.value;
	}
	return value;
}

static size_t compare_fact(struct ar_ctl *c, size_t turn, struct ar_json was, struct ar_json is)
{
	size_t differ = 0;

	for (struct ar_json_iter it = ar_json_iter(was); ar_json_next(&it);) {
		struct ar_json now = member_of(is, it.name);

		if (is_same(it.value, now))
			continue;
		print_place(c, turn, was);
		ar_out_line(&c->out, it.name);
		ar_out_printf(&c->out, " was ");
		print_value(c, it.value);
		ar_out_printf(&c->out, ", is ");
		print_value(c, now);
		ar_out_printf(&c->out, "\n");
		differ++;
	}
	return differ;
}

static size_t compare_turn(struct ar_ctl *c, size_t turn, struct ar_json was, struct ar_json is)
{
	size_t differ = 0, at = 0;

	for (struct ar_json_iter it = ar_json_iter(was); ar_json_next(&it); at++) {
		if (at < ar_json_len(is)) {
			differ += compare_fact(c, turn, it.value, ar_json_at(is, at));
			continue;
		}
		print_place(c, turn, it.value);
		ar_out_printf(&c->out, "missing\n");
		differ++;
	}
	for (; at < ar_json_len(is); at++, differ++) {
		print_place(c, turn, ar_json_at(is, at));
		ar_out_printf(&c->out, "was not there: ");
		print_value(c, ar_json_at(is, at));
		ar_out_printf(&c->out, "\n");
	}
	return differ;
}

size_t ar_case_compare(struct ar_ctl *c, struct ar_json recorded, struct ar_json now)
{
	struct ar_json is = ar_json_get(now, "turns");
	size_t differ = 0, turn = 0;

	for (struct ar_json_iter it = ar_json_iter(ar_json_get(recorded, "turns")); ar_json_next(&it); turn++)
		differ += compare_turn(c, turn, ar_json_get(it.value, "facts"),
				       ar_json_get(ar_json_at(is, turn), "facts"));
	return differ;
}
