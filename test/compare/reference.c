/* The core of another version behind one function; see reference.h. Compiled with the
 * headers of that version. */
#include "reference.h"
#include "mem.h"
#include "neutral.h"
#include "trace.h"

#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

static enum ar_status load(struct ar_session *s, struct ar_str session_key, struct ar_str snapshot,
			   struct ar_json_parser *json, struct ar_error *err)
{
	struct ar_json_parser *reader = ar_json_parser_new();
	struct ar_json v;
	enum ar_status rc = AR_OK;

	ar_session_init(s, session_key, json);
	if (snapshot.len > 0)
		rc = ar_json_parse(reader, snapshot, &v, err) == AR_OK ? ar_session_restore(s, v, err)
								       : AR_E_CORRUPT;
	ar_json_parser_free(reader);
	return rc;
}

EXPORTED char *ar_reference_decide(const char *session_key, const char *snapshot, size_t len,
				   const struct ar_neutral_input *n)
{
	struct ar_json_parser *json = ar_json_parser_new(), *own = ar_json_parser_new();
	struct ar_arena arena = { 0 };
	struct ar_input in = ar_neutral_to_input(n, &arena);
	struct ar_decision d = { 0 };
	struct ar_error err = { 0 };
	struct ar_buf out = { 0 };
	struct ar_session s;
	char *text;

	if (load(&s, ar_str_from(session_key), (struct ar_str){ snapshot, len }, json, &err) != AR_OK)
		ar_buf_addf(&out, "the snapshot cannot be restored: %s\n", err.msg);
	else
		ar_trace_decision(ar_session_decide(&s, &in, own, &arena, &d, &err), &err, &d, &out);
	text = strndup(out.p, out.len);
	ar_buf_fini(&out);
	ar_arena_fini(&arena);
	ar_session_fini(&s);
	ar_json_parser_free(json);
	ar_json_parser_free(own);
	return text;
}

EXPORTED void ar_reference_sizes(size_t ret[2])
{
	ret[0] = sizeof(struct ar_neutral_input);
	ret[1] = sizeof(struct ar_policy);
}
