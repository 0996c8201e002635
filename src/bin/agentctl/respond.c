/* See respond.h. One thread, no I/O. */
#include "respond.h"
#include "json.h"

#include <stdlib.h>

const char *const ar_respond_yes[] = { "allow", "approve", "extend", NULL };
const char *const ar_respond_no[] = { "deny", "reject", "decline", "stop", NULL };
const char *const ar_respond_here[] = { "accept", "provide", NULL };

static bool is_among(struct ar_json words, const char *word)
{
	struct ar_str one;

	for (struct ar_json_iter it = ar_json_iter(words); ar_json_next(&it);) {
		if (ar_json_str(it.value, &one) && ar_str_is(one, word))
			return true;
	}
	return false;
}

struct ar_str ar_respond_pick(struct ar_str offer, const char *const *words)
{
	struct ar_json_parser *parser = ar_json_parser_new();
	struct ar_json offered = { 0 };

	if (ar_json_parse(parser, offer, &offered, NULL) != AR_OK)
		offered = (struct ar_json){ 0 };
	while (*words && !is_among(offered, *words))
		words++;
	ar_json_parser_free(parser);
	return ar_str_from(*words);
}

static void add_actor(struct ar_jw *w)
{
	const char *user = getenv("USER");

	if (!user || !ar_str_is_utf8(ar_str_from(user)))
		return;
	ar_jw_key(w, "actor");
	ar_jw_open(w);
	ar_jw_mstr(w, "name", ar_str_utf8_prefix(ar_str_from(user), 64));
	ar_jw_mstr(w, "client", AR_STR("agentctl"));
	ar_jw_close(w);
}

void ar_respond_body(struct ar_str action, struct ar_str decision, struct ar_str payload, struct ar_buf *ret)
{
	struct ar_jw w = ar_jw(ret);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "actionId", action);
	ar_jw_mstr(&w, "decision", decision);
	ar_jw_mraw(&w, "payload", payload);
	add_actor(&w);
	ar_jw_close(&w);
}
