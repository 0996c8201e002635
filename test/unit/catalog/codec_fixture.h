/* A parser, an arena and a buffer for tests of the codec. */
#ifndef AR_TEST_CODEC_FIXTURE_H
#define AR_TEST_CODEC_FIXTURE_H

#include "cmocka_unit.h"
#include "codec.h"
#include "describe.h"
#include "sample.h"

struct fixture {
	struct ar_json_parser *parser;
	struct ar_arena arena;
	struct ar_buf out;
	struct ar_error err;
};

static int set_up(void **state)
{
	static struct fixture f;

	f = (struct fixture){ .parser = ar_json_parser_new() };
	*state = &f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	ar_json_parser_free(f->parser);
	ar_arena_fini(&f->arena);
	ar_buf_fini(&f->out);
	return 0;
}

static inline struct ar_json parse(struct fixture *f, struct ar_str text)
{
	struct ar_json v;

	if (ar_json_parse(f->parser, text, &v, &f->err))
		fail_msg("%.*s: %s", AR_STR_ARG(text), f->err.msg);
	return v;
}

/* The struct as JSON text, in the arena. */
static inline struct ar_str encoded(struct fixture *f, const struct ar_struct_desc *d, const void *s,
				    struct ar_str extra)
{
	struct ar_jw w = ar_jw(&f->out);

	ar_buf_clear(&f->out);
	ar_struct_encode(d, s, extra, &w);
	assert_false(f->out.failed);
	return ar_arena_str(&f->arena, ar_buf_str(&f->out));
}

static inline struct ar_str encoded_event(struct fixture *f, const struct ar_event *e)
{
	ar_buf_clear(&f->out);
	ar_event_encode(e, &f->out);
	assert_false(f->out.failed);
	return ar_arena_str(&f->arena, ar_buf_str(&f->out));
}

#define assert_text(actual, expected) assert_str_is((actual), ar_str_from(expected))

static inline void assert_str_is(struct ar_str actual, struct ar_str expected)
{
	if (!ar_str_eq(actual, expected))
		fail_msg("got  %.*s\nwant %.*s", AR_STR_ARG(actual), AR_STR_ARG(expected));
}

#define codec_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
