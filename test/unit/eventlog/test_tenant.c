/* Following a whole tenant: what is written while a reader joins, what others write, a reader that
 * falls behind, one that leaves in a callback. */
#include "cmocka_unit.h"
#include "mem.h"
#include "publish.h"
#include "store_open.h"

#include <stdio.h>
#include <string.h>

#define SESSIONS 3
#define RING 4096

struct world {
	struct ar_clock clock;
	struct ar_store *store;
	struct ar_follow *follow;
	char session_keys[SESSIONS][AR_SESSION_KEY_LEN];
	uint64_t heads[SESSIONS];
};

struct reader {
	struct ar_subscription sub;
	struct ar_buf got; /* "<session><sequence> " of each fact */
	char cursor[64];
	unsigned opened;
	uint16_t ended; /* code */
	bool leaves; /* as soon as it is opened */
};

static ar_usec now; /* monotonic */

static ar_usec now_of(struct ar_clock *c AR_UNUSED)
{
	return now;
}

static void open_world(struct world *w, ar_usec look_every)
{
	now = 1000000;
	*w = (struct world){ .clock = { now_of, now_of } };
	for (uint8_t i = 0; i < SESSIONS; i++)
		ar_id_encode((const uint8_t[16]){ 0x01, 0x9a, i }, w->session_keys[i]);
	ar_store_memory_open(NULL, NULL, &w->store);
	w->follow = ar_follow_new(&(struct ar_follow_options){
		.store = w->store, .clock = &w->clock, .ring_bytes = RING, .look_every = look_every });
}

static void close_world(struct world *w)
{
	ar_store_close(w->store); /* what is under way comes back */
	ar_follow_free(w->follow);
}

static void settle(struct world *w)
{
	for (unsigned i = 0; i < 8; i++)
		ar_store_poll(w->store);
}

static void note(struct ar_store_op *op)
{
	assert_int_equal(op->status, AR_OK);
}

/* One append of `count` facts. What it is made of lives until the store was polled. */
struct write {
	struct ar_store_append a;
	struct ar_store_session_row row;
	char body[1024];
};

static void submit(struct world *w, struct write *x, unsigned session, unsigned count, const char *tenant)
{
	struct ar_str session_key = { w->session_keys[session], AR_SESSION_KEY_LEN };
	size_t len = 0;

	for (unsigned i = 1; i <= count; i++)
		len += (size_t)
			snprintf(x->body + len, sizeof x->body - len,
				 "{\"type\":\"turn.started\",\"sessionId\":\"sess_%.26s\",\"sequence\":%u}\n",
				 session_key.p, (unsigned)w->heads[session] + i);
	x->row = (struct ar_store_session_row){ .updated = 1, .tenant = ar_str_from(tenant) };
	x->a = (struct ar_store_append){ .op = { .kind = AR_STORE_APPEND, .done = note },
					 .session = session_key,
					 .first_seq = w->heads[session] + 1,
					 .last_seq = w->heads[session] + count,
					 .body = { x->body, len },
					 .row = &x->row };
	w->heads[session] += count;
	ar_store_submit(w->store, &x->a.op);
}

static void put(struct world *w, unsigned session, unsigned count, const char *tenant)
{
	struct write x;

	submit(w, &x, session, count, tenant);
	ar_store_poll(w->store);
	ar_follow_tenant_grew(w->follow, ar_str_from(tenant));
}

/* ---- a reader ---- */

static void on_opened(struct ar_subscription *s)
{
	struct reader *r = AR_CONTAINER_OF(s, struct reader, sub);

	r->opened++;
	if (r->leaves)
		ar_follow_close(s);
}

static void on_ready(struct ar_subscription *s AR_UNUSED)
{
}

static void on_ended(struct ar_subscription *s, const struct ar_error *err)
{
	AR_CONTAINER_OF(s, struct reader, sub)->ended = err->code;
}

static const struct ar_subscription_vtable callbacks = { on_opened, on_ready, on_ended };

static void open_reader(struct world *w, struct reader *r, const char *after)
{
	struct ar_follow_request q = { .tenant = AR_STR("x"), .after = ar_str_from(after) };

	r->sub = (struct ar_subscription){ .v = &callbacks };
	assert_int_equal(ar_follow_open(w->follow, &r->sub, &q, NULL), AR_OK);
}

static void take(struct world *w, struct reader *r)
{
	struct ar_frame *f;

	while ((f = ar_follow_next(&r->sub))) {
		const char *session_key = memmem(f->json.p, f->json.len, "sess_", 5);

		for (unsigned i = 0; i < SESSIONS; i++) {
			if (memcmp(session_key + 5, w->session_keys[i], AR_SESSION_KEY_LEN) == 0)
				ar_buf_addf(&r->got, "%c%u ", 'a' + (int)i, (unsigned)f->sequence);
		}
		snprintf(r->cursor, sizeof r->cursor, "%.*s", AR_STR_ARG(f->id));
		ar_frame_unref(f);
	}
}

static void expect(struct world *w, struct reader *r, const char *expected)
{
	for (unsigned i = 0; i < 4; i++) {
		settle(w);
		take(w, r);
	}
	ar_buf_addc(&r->got, '\0');
	assert_string_equal(r->got.p, expected);
	ar_buf_clear(&r->got);
}

static void close_reader(struct reader *r)
{
	ar_follow_close(&r->sub);
	ar_buf_fini(&r->got);
}

/* ---- tests ---- */

static void stored_and_new_facts_of_one_tenant(void **state AR_UNUSED)
{
	struct reader r = { 0 };
	struct world w;

	open_world(&w, 0);
	put(&w, 0, 2, "x");
	put(&w, 1, 1, "y");
	open_reader(&w, &r, NULL);
	expect(&w, &r, "a1 a2 ");
	assert_int_equal(r.opened, 1);
	put(&w, 2, 1, "x");
	put(&w, 1, 1, "y");
	put(&w, 0, 1, "x");
	expect(&w, &r, "c1 a3 ");
	close_reader(&r);
	close_world(&w);
}

/* The commit comes back before the reader's page does, which did not show it. */
static void what_is_written_while_a_reader_joins(void **state AR_UNUSED)
{
	struct reader r = { 0 };
	struct write x;
	struct world w;

	open_world(&w, 0);
	put(&w, 0, 1, "x");
	open_reader(&w, &r, NULL);
	ar_store_poll(w.store); /* heads; its page is under way */
	ar_follow_tenant_grew(w.follow, AR_STR("x")); /* told before it joins, stored after its page */
	submit(&w, &x, 0, 1, "x");
	expect(&w, &r, "a1 a2 ");
	close_reader(&r);
	close_world(&w);
}

static void two_readers_share_and_none_is_told_twice(void **state AR_UNUSED)
{
	struct reader r = { 0 }, late = { 0 };
	struct world w;

	open_world(&w, 0);
	put(&w, 0, 2, "x");
	open_reader(&w, &r, NULL);
	expect(&w, &r, "a1 a2 ");
	submit(&w, &(struct write){ 0 }, 1, 2, "x"); /* stored, and the first was not told yet */
	settle(&w);
	open_reader(&w, &late, NULL);
	expect(&w, &late, "a1 a2 b1 b2 ");
	ar_follow_tenant_grew(w.follow, AR_STR("x"));
	expect(&w, &late, "");
	expect(&w, &r, "b1 b2 ");
	put(&w, 0, 1, "x");
	expect(&w, &late, "a3 ");
	expect(&w, &r, "a3 ");
	assert_string_equal(r.cursor, late.cursor);
	close_reader(&r);
	close_reader(&late);
	close_world(&w);
}

static void a_place_within_an_append(void **state AR_UNUSED)
{
	struct reader r = { 0 };
	struct world w;

	open_world(&w, 0);
	put(&w, 0, 3, "x");
	put(&w, 1, 1, "x");
	open_reader(&w, &r, "t1:1.2");
	expect(&w, &r, "a3 b1 ");
	assert_string_equal(r.cursor, "t1:2");
	close_reader(&r);
	open_reader(&w, &r, "now");
	expect(&w, &r, "");
	put(&w, 0, 1, "x");
	expect(&w, &r, "a4 ");
	close_reader(&r);
	close_world(&w);
}

static void reader_that_falls_behind_comes_back(void **state AR_UNUSED)
{
	struct reader r = { 0 };
	struct world w;

	open_world(&w, 0);
	put(&w, 0, 1, "x");
	open_reader(&w, &r, NULL);
	expect(&w, &r, "a1 ");
	for (unsigned i = 0; i < 80; i++) {
		put(&w, 1, 1, "x");
		settle(&w);
	}
	assert_null(ar_follow_next(&r.sub));
	assert_int_equal(r.ended, AR_ERR_OVERLOADED);
	assert_int_equal(ar_follow_cuts(w.follow), 1);
	put(&w, 0, 1, "x");
	open_reader(&w, &r, r.cursor);
	for (unsigned i = 0; i < 4; i++) {
		settle(&w);
		take(&w, &r);
	}
	assert_memory_equal(r.got.p, "b1 b2 b3 ", 9);
	assert_memory_equal(r.got.p + r.got.len - 7, "b80 a2 ", 7);
	close_reader(&r);
	close_world(&w);
}

static void others_writes_are_found_in_time(void **state AR_UNUSED)
{
	struct reader r = { 0 };
	struct world w;

	open_world(&w, 500);
	assert_int_equal(ar_follow_deadline(w.follow), 0);
	open_reader(&w, &r, NULL);
	assert_int_equal(ar_follow_deadline(w.follow), now + 500);
	expect(&w, &r, "");
	submit(&w, &(struct write){ 0 }, 0, 1, "x");
	expect(&w, &r, "");
	ar_follow_tick(w.follow);
	expect(&w, &r, "");
	now += 500;
	ar_follow_tick(w.follow);
	assert_int_equal(ar_follow_deadline(w.follow), now + 500);
	expect(&w, &r, "a1 ");
	close_reader(&r);
	assert_int_equal(ar_follow_deadline(w.follow), 0);
	close_world(&w);
}

static void reader_may_leave_when_it_is_opened(void **state AR_UNUSED)
{
	struct reader r = { .leaves = true };
	struct ar_follow_request q = { 0 };
	struct world w;

	open_world(&w, 0);
	put(&w, 0, 1, "x");
	open_reader(&w, &r, NULL);
	settle(&w);
	assert_int_equal(r.opened, 1);
	q.session = (struct ar_str){ w.session_keys[0], AR_SESSION_KEY_LEN };
	assert_int_equal(ar_follow_open(w.follow, &r.sub, &q, NULL), AR_OK);
	settle(&w);
	assert_int_equal(r.opened, 2);
	close_world(&w);
}

static void cursor_ahead_of_everything(void **state AR_UNUSED)
{
	struct reader r = { 0 };
	struct world w;

	open_world(&w, 0);
	put(&w, 0, 1, "x");
	open_reader(&w, &r, "t1:7");
	settle(&w);
	assert_int_equal(r.ended, AR_ERR_INVALID_CURSOR);
	close_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stored_and_new_facts_of_one_tenant),
		cmocka_unit_test(what_is_written_while_a_reader_joins),
		cmocka_unit_test(two_readers_share_and_none_is_told_twice),
		cmocka_unit_test(a_place_within_an_append),
		cmocka_unit_test(reader_that_falls_behind_comes_back),
		cmocka_unit_test(others_writes_are_found_in_time),
		cmocka_unit_test(reader_may_leave_when_it_is_opened),
		cmocka_unit_test(cursor_ahead_of_everything),
	};

	return cmocka_run_group_tests_name("eventlog_tenant", tests, NULL, NULL);
}
