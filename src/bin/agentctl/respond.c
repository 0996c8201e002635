/* See respond.h. One thread. */
#include "respond.h"
#include "hash.h"
#include "resolve.h"

#include <stdlib.h>

#define WHOLE_MAX 16777216

const char *const ar_respond_yes[] = { "allow", "approve", "extend", "provide", NULL };
const char *const ar_respond_no[] = { "deny", "reject", "decline", "stop", NULL };
const char *const ar_respond_here[] = { "accept", NULL };

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

bool ar_respond_is_no(struct ar_str decision)
{
	static const char *const words[] = { "deny", "reject", "decline", "cancel", "stop", "skip" };

	for (size_t i = 0; i < AR_ARRAY_LEN(words); i++) {
		if (ar_str_is(decision, words[i]))
			return true;
	}
	return false;
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

enum ar_exit ar_respond_read(struct ar_ctl *c, struct ar_str action, struct ar_str ref,
			     struct ar_respond_whole *ret)
{
	struct ar_api_reply reply;
	struct ar_hash h;
	char hex[AR_HASH_HEX];
	enum ar_exit exit;

	exit = ar_api_call(c, "read_output", ar_resolve_output_body(c, ref, 0, WHOLE_MAX), &reply);
	if (exit == AR_EXIT_OK && (!ar_str_is(ar_api_str(reply.doc, "encoding"), "utf-8") ||
				   ar_api_int(reply.doc, "sizeBytes") > WHOLE_MAX))
		exit = ar_ctl_complain(c, AR_EXIT_FAILED, AR_STR("agentctl deny"),
				       "the whole question cannot be shown");
	ret->text = ar_arena_fmt(&c->arena, "%.*s", AR_STR_ARG(ar_api_str(reply.doc, "content")));
	h = ar_hash_of(ar_arena_join(&c->arena, (struct ar_str[]){ action, AR_STR("\n"), ret->text }, 3));
	ar_hash_hex(&h, hex);
	ret->digest = ar_arena_str(&c->arena, (struct ar_str){ hex, sizeof(hex) });
	ar_api_fini(&reply);
	return exit;
}

void ar_respond_body(const struct ar_respond *r, struct ar_buf *ret)
{
	struct ar_jw w = ar_jw(ret);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "actionId", r->action);
	ar_jw_mstr(&w, "decision", r->decision);
	ar_jw_mraw(&w, "payload", r->payload);
	ar_jw_mstr(&w, "promptDigest", r->digest);
	add_actor(&w);
	ar_jw_close(&w);
}
