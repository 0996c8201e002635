/* Fuzz target: facts in any order and of any content, one JSON object per line, are applied or refused,
 * and what is then there goes through a snapshot unchanged. Sequences are put right first, so that the
 * rest of a fact is reached. */
#include "session.h"

static struct ar_json_parser *parser, *members;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerInitialize(int *argc AR_UNUSED, char ***argv AR_UNUSED)
{
	parser = ar_json_parser_new();
	members = ar_json_parser_new();
	return 0;
}

static void apply(struct ar_session *s, struct ar_str line)
{
	struct ar_arena arena = { 0 };
	struct ar_error err = { 0 };
	struct ar_event e;
	struct ar_json v;

	if (ar_json_parse(parser, line, &v, NULL) == AR_OK && ar_event_decode(v, &arena, &e, &err) == AR_OK) {
		e.sequence = s->head + 1;
		if (ar_session_apply(s, &e, &err) != AR_OK)
			AR_ASSERT(err.status == AR_E_CORRUPT && err.msg[0]);
	}
	ar_arena_fini(&arena);
}

static void check_snapshot(const struct ar_session *s)
{
	struct ar_buf first = { 0 }, second = { 0 };
	struct ar_session copy;
	struct ar_error err = { 0 };
	struct ar_json v;

	ar_session_snapshot(s, &first);
	AR_ASSERT(ar_json_parse(parser, ar_buf_str(&first), &v, &err) == AR_OK);
	ar_session_init(&copy, s->session_key, members);
	AR_ASSERT(ar_session_restore(&copy, v, &err) == AR_OK);
	ar_session_snapshot(&copy, &second);
	AR_ASSERT(ar_str_eq(ar_buf_str(&first), ar_buf_str(&second)));
	ar_session_fini(&copy);
	ar_buf_fini(&first);
	ar_buf_fini(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct ar_str rest = { (const char *)bytes, len }, line;
	struct ar_session s;

	ar_session_init(&s, AR_STR("0123456789abcdefghjkmnpqrs"), members);
	while (!ar_str_empty(rest)) {
		rest = ar_str_split(rest, '\n', &line);
		apply(&s, line);
	}
	check_snapshot(&s);
	ar_session_fini(&s);
	return 0;
}
