/* A stream that begins again: after a restart what a process wrote is told from its first byte, and a
 * reader gets only what it does not have. */
#include "cmocka_unit.h"
#include "cursor.h"
#include "process.h"
#include "publish.h"
#include "store_open.h"

#define PROCESS 1 /* its number */

struct world {
	struct ar_clock clock;
	struct ar_store *store;
	struct ar_follow *follow;
	char session_key[AR_SESSION_KEY_LEN];
	struct ar_output out; /* its standard output */
};

struct reader {
	struct ar_subscription sub;
	int ended; /* code of the error that ended it; only where that is expected */
	bool may_end;
	struct ar_buf got; /* "from:bytes@cursor " of each piece of output, "fact@cursor " of each fact */
};

static ar_usec now_of(struct ar_clock *c AR_UNUSED)
{
	return 1000000;
}

static struct ar_str session_key_of(const struct world *w)
{
	return (struct ar_str){ w->session_key, AR_SESSION_KEY_LEN };
}

static void note(struct ar_store_op *op)
{
	assert_int_equal(op->status, AR_OK);
}

static void put_fact(struct world *w)
{
	struct ar_store_session_row row = { .updated = 1 };
	struct ar_store_append a = { .op = { .kind = AR_STORE_APPEND, .done = note },
				     .session = session_key_of(w),
				     .first_seq = 1,
				     .last_seq = 1,
				     .body = AR_STR("{}"),
				     .row = &row };

	ar_store_submit(w->store, &a.op);
	ar_store_poll(w->store);
}

/* As after a restart: the process is found again, and nothing of its output is here yet. */
static void open_world(struct world *w)
{
	static const uint8_t uuid[16] = { 0x01, 0x9a, 7 };

	*w = (struct world){ .clock = { now_of, now_of } };
	ar_id_encode(uuid, w->session_key);
	ar_store_memory_open(NULL, NULL, &w->store);
	w->follow = ar_follow_new(
		&(struct ar_follow_options){ .store = w->store, .clock = &w->clock, .ring_bytes = 65536 });
	put_fact(w);
	w->out = (struct ar_output){ .session = session_key_of(w),
				     .step = ar_cursor_stream(PROCESS, AR_PROC_STDOUT),
				     .stream = AR_PROC_STDOUT };
	ar_follow_output_open(w->follow, &w->out, 1);
}

static void close_world(struct world *w)
{
	ar_follow_output_close(w->follow, &w->out);
	ar_output_fini(&w->out);
	ar_follow_free(w->follow);
	ar_store_close(w->store);
}

/* As a client sees it. */
static void add_output(struct ar_buf *to, struct ar_str event)
{
	struct ar_json_parser *json = ar_json_parser_new();
	struct ar_str bytes = AR_STR_NONE;
	int64_t offset = -1;
	struct ar_json v;

	assert_int_equal(ar_json_parse(json, event, &v, NULL), AR_OK);
	v = ar_json_get(v, "payload");
	assert_true(ar_json_i64(ar_json_get(v, "offset"), &offset));
	assert_true(ar_json_str(ar_json_get(v, "preview"), &bytes));
	ar_buf_addf(to, "%d:%.*s", (int)offset, AR_STR_ARG(bytes));
	ar_json_parser_free(json);
}

static void take(struct reader *r)
{
	struct ar_frame *f;

	while ((f = ar_follow_next(&r->sub))) {
		if (f->type == AR_EV_PROCESS_OUTPUT)
			add_output(&r->got, f->json);
		else
			ar_buf_addz(&r->got, "fact");
		ar_buf_addf(&r->got, "@%.*s ", AR_STR_ARG(f->id));
		ar_frame_unref(f);
	}
}

static void on_opened(struct ar_subscription *s AR_UNUSED)
{
}

static void on_ready(struct ar_subscription *s)
{
	take(AR_CONTAINER_OF(s, struct reader, sub));
}

static void on_ended(struct ar_subscription *s, const struct ar_error *err)
{
	struct reader *r = AR_CONTAINER_OF(s, struct reader, sub);

	r->ended = (int)err->code;
	if (!r->may_end)
		fail_msg("the reader was ended: %s", err->msg);
}

static const struct ar_subscription_vtable vtable = { on_opened, on_ready, on_ended };

static void open_this(struct world *w, struct reader *r, const char *after)
{
	struct ar_follow_request request = { .session = session_key_of(w),
					     .after = ar_str_from(after),
					     .deltas = true };

	assert_int_equal(ar_follow_open(w->follow, &r->sub, &request, NULL), AR_OK);
	ar_store_poll(w->store);
}

static void open_reader(struct world *w, struct reader *r, const char *after)
{
	*r = (struct reader){ .sub.v = &vtable };
	open_this(w, r, after);
}

static void expect(struct reader *r, const char *want)
{
	ar_buf_addc(&r->got, 0);
	assert_string_equal(r->got.p, want);
	ar_buf_clear(&r->got);
}

static void close_reader(struct reader *r)
{
	ar_follow_close(&r->sub);
	ar_buf_fini(&r->got);
}

static void writes(struct world *w, const char *text)
{
	uint64_t from = w->out.pos;

	ar_output_add(&w->out, AR_PROC_STDOUT, 0, ar_str_from(text));
	ar_follow_output_grew(w->follow, &w->out, from);
}

/* The reader was here before the bytes come again: in the middle of a piece, at its end, before all of it. */
static void told_again_a_reader_gets_the_rest(void **state)
{
	struct world w;
	struct reader ahead, at_end, fresh;

	(void)state;
	open_world(&w);
	open_reader(&w, &ahead, "1.1o:5");
	open_reader(&w, &at_end, "1.1o:9");
	open_reader(&w, &fresh, "1");
	writes(&w, "abc");
	writes(&w, "defghi");
	writes(&w, "jk");
	expect(&ahead, "5:fghi@1.1o:9 9:jk@1.1o:11 ");
	expect(&at_end, "9:jk@1.1o:11 ");
	expect(&fresh, "0:abc@1.1o:3 3:defghi@1.1o:9 9:jk@1.1o:11 ");
	close_reader(&ahead);
	close_reader(&at_end);
	close_reader(&fresh);
	close_world(&w);
}

/* The reader comes while they do: what it is given at once and what comes live is one stream. */
static void a_reader_that_joins_meanwhile_gets_the_rest(void **state)
{
	struct world w;
	struct reader ahead, behind;

	(void)state;
	open_world(&w);
	writes(&w, "abc");
	open_reader(&w, &ahead, "1.1o:5");
	open_reader(&w, &behind, "1.1o:2");
	expect(&ahead, "");
	expect(&behind, "2:c@1.1o:3 ");
	writes(&w, "defghi");
	expect(&ahead, "5:fghi@1.1o:9 ");
	expect(&behind, "3:defghi@1.1o:9 ");
	close_reader(&ahead);
	close_reader(&behind);
	close_world(&w);
}

/* The cursor of a frame of something else says where this reader is, not where the stream is that
 * begins again: whoever resumes by it would be given bytes twice. */
static void a_place_is_kept_while_the_stream_catches_up(void **state)
{
	struct ar_fact fact = { .type = AR_EV_RUN_STATUS, .sequence = 2, .json = AR_STR("{}") };
	struct world w;
	struct reader ahead;

	(void)state;
	open_world(&w);
	open_reader(&w, &ahead, "1.1o:5");
	writes(&w, "abc");
	ar_follow_publish(w.follow, session_key_of(&w), &fact, 1);
	expect(&ahead, "fact@2.1o:5 ");
	writes(&w, "defghi");
	expect(&ahead, "5:fghi@2.1o:9 ");
	close_reader(&ahead);
	close_world(&w);
}

static void put_row(struct world *w, uint64_t first, uint64_t last, const char *body)
{
	struct ar_store_append a = { .op = { .kind = AR_STORE_APPEND, .done = note },
				     .session = session_key_of(w),
				     .first_seq = first,
				     .last_seq = last,
				     .body = ar_str_from(body) };

	ar_store_submit(w->store, &a.op);
	ar_store_poll(w->store);
}

/* The end of the log is lost while the session has readers: who reads on in it is told, and does not
 * wait for facts that do not come. */
static void a_log_that_lost_what_was_published_is_corrupt(void **state)
{
	struct ar_fact facts[] = { { .type = AR_EV_RUN_STATUS, .sequence = 2, .json = AR_STR("{}") },
				   { .type = AR_EV_RUN_STATUS, .sequence = 3, .json = AR_STR("{}") } };
	struct reader r = { .sub.v = &vtable, .may_end = true };
	struct world w;

	(void)state;
	open_world(&w);
	ar_follow_publish(w.follow, session_key_of(&w), facts, 2);
	open_this(&w, &r, "1");
	assert_int_equal(r.ended, AR_ERR_STORAGE_CORRUPT);
	expect(&r, "");
	close_reader(&r);
	close_world(&w);
}

/* A reader that is live reads on in the log, which by then is shorter than what the reader has. */
static void a_log_that_is_shorter_than_a_reader_is_corrupt(void **state)
{
	struct ar_fact fact = { .type = AR_EV_RUN_STATUS, .sequence = 2, .json = AR_STR("{}") };
	struct reader r = { .sub.v = &vtable, .may_end = true };
	struct world w;

	(void)state;
	open_world(&w);
	open_this(&w, &r, "1");
	ar_follow_publish(w.follow, session_key_of(&w), &fact, 1);
	expect(&r, "fact@2.1o:0 ");
	ar_follow_reread(w.follow, session_key_of(&w), 1);
	take(&r);
	ar_store_poll(w.store);
	assert_int_equal(r.ended, AR_ERR_STORAGE_CORRUPT);
	close_reader(&r);
	close_world(&w);
}

static void a_fact_with_the_number_of_another_is_corrupt(void **state)
{
	struct reader r = { .sub.v = &vtable, .may_end = true };
	struct world w;

	(void)state;
	open_world(&w);
	put_row(&w, 2, 2, "{\"type\":\"run.status\",\"sequence\":5}\n");
	open_this(&w, &r, "1");
	assert_int_equal(r.ended, AR_ERR_STORAGE_CORRUPT);
	expect(&r, "");
	close_reader(&r);
	close_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_log_that_lost_what_was_published_is_corrupt),
		cmocka_unit_test(a_log_that_is_shorter_than_a_reader_is_corrupt),
		cmocka_unit_test(a_fact_with_the_number_of_another_is_corrupt),
		cmocka_unit_test(told_again_a_reader_gets_the_rest),
		cmocka_unit_test(a_reader_that_joins_meanwhile_gets_the_rest),
		cmocka_unit_test(a_place_is_kept_while_the_stream_catches_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
