/* The feed of a tenant on PostgreSQL, written by two nodes: what is committed late is not missed, what is
 * committed early not told twice, a session that moves keeps its order, lanes go to the next node when their
 * epoch is over, and each has a floor of its own. */
#include "postgres_fixture.h"
#include "store_feed.h"
#include "store_op.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define SESSIONS 9
#define ROUNDS 40

/* A node is a store of its own on the database of the first. */
static void open_node(struct fixture *node, const struct fixture *first, const char *name)
{
	struct ar_store_postgres_options o;
	struct ar_error err = { 0 };

	*node = (struct fixture){ .engine = ENGINE_POSTGRES, .wake_fd = eventfd(0, EFD_CLOEXEC) };
	snprintf(node->path, sizeof node->path, "%s", first->path);
	o = postgres_options(node);
	o.node = name;
	if (ar_store_postgres_open(&o, &node->store, &err))
		fail_msg("%s", err.msg);
}

static void close_node(struct fixture *node)
{
	ar_store_close(node->store);
	close(node->wake_fd);
}

struct write {
	struct ar_store_append a;
	struct ar_store_session_row row;
};

static void begin_write(struct fixture *node, struct write *w, unsigned session, uint64_t seq)
{
	w->a = an_append(sess(session), seq, seq, "{}\n");
	w->row = (struct ar_store_session_row){ .updated = 1, .tenant = AR_STR("x") };
	w->a.row = &w->row;
	give(node, &w->a.op);
}

static void end_write(struct fixture *node, struct write *w)
{
	wait_for(node, &w->a.op);
	assert_status(&w->a.op, AR_OK);
	ar_store_op_fini(&w->a.op);
}

static void write_one(struct fixture *node, unsigned session, uint64_t seq)
{
	struct write w;

	forget_done();
	begin_write(node, &w, session, seq);
	end_write(node, &w);
}

/* A reader that notes how far it came in each session. */
struct reader {
	struct ar_store_place at[AR_FEED_LANES];
	size_t count;
	uint64_t seen[SESSIONS];
	size_t total;
};

static void move_to(struct reader *r, struct ar_store_place at)
{
	for (size_t i = 0; i < r->count; i++) {
		if (r->at[i].lane != at.lane)
			continue;
		assert_true(at.position > r->at[i].position);
		r->at[i] = at;
		return;
	}
	assert_true(r->count < AR_FEED_LANES);
	r->at[r->count++] = at;
}

static void take(struct reader *r, const struct ar_store_feed_row *row)
{
	unsigned n = 0;

	while (n < SESSIONS && !ar_str_eq(row->session, sess(n)))
		n++;
	assert_true(n < SESSIONS);
	assert_int_equal(row->first_seq, r->seen[n] + 1);
	r->seen[n] = row->last_seq;
	r->total++;
	move_to(r, row->at);
}

/* One page of at most that many bytes; whether it was the last. */
static bool read_page(struct fixture *node, struct reader *r, size_t max_bytes)
{
	struct ar_store_feed p = { .op = { .kind = AR_STORE_FEED, .done = note_done },
				   .tenant = AR_STR("x"),
				   .after = r->at,
				   .after_count = r->count,
				   .max_bytes = max_bytes };
	struct ar_store_place before[AR_FEED_LANES];
	bool at_end;

	memcpy(before, r->at, sizeof before);
	p.after = before;
	run(node, &p.op);
	assert_status(&p.op, AR_OK);
	for (size_t i = 0; i < p.row_count; i++)
		take(r, &p.rows[i]);
	at_end = p.at_end;
	ar_store_op_fini(&p.op);
	return at_end;
}

static void read_all(struct fixture *node, struct reader *r)
{
	while (!read_page(node, r, 1000))
		;
}

/* Holds the row of a session that is about to be made: whoever makes it waits, with its facts written and not
 * committed. */
static PGconn *hold_session(const struct fixture *f, unsigned session)
{
	static const char begin[] =
		"BEGIN; INSERT INTO session (session, created, updated, active) VALUES ('";
	PGconn *c = PQconnectdb(f->path);
	char text[sizeof begin + 64];
	struct ar_store_key key;
	int len = snprintf(text, sizeof text, "%s", begin);

	assert_true(ar_store_key_parse(sess(session), &key));
	for (size_t i = 0; i < sizeof key.b; i++)
		len += snprintf(text + len, sizeof text - (size_t)len, "%02x", key.b[i]);
	snprintf(text + len, sizeof text - (size_t)len, "', 1, 1, false)");
	PQclear(PQexec(c, text));
	assert_int_equal(PQtransactionStatus(c), PQTRANS_INTRANS);
	return c;
}

static void wait_until_blocked(const struct fixture *f)
{
	for (unsigned i = 0; i < 500; i++) {
		if (postgres_int(f, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
				    " AND datname = current_database()") > 0)
			return;
		usleep(10000);
	}
	fail_msg("nobody waits");
}

static void late_commit_is_not_missed(void **state)
{
	struct fixture *a = *state, b;
	struct reader r = { 0 };
	struct write late;
	PGconn *held;

	open_node(&b, a, "node-b");
	write_one(a, 1, 1);
	held = hold_session(a, 5);
	begin_write(&b, &late, 5, 1);
	wait_until_blocked(a);
	write_one(a, 1, 2);
	read_all(a, &r);
	assert_int_equal(r.seen[1], 2);
	assert_int_equal(r.seen[5], 0);
	PQfinish(held);
	end_write(&b, &late);
	assert_true(postgres_int(a, "SELECT ((SELECT min(position) FROM log WHERE lane = 2) <"
				    " (SELECT max(position) FROM log WHERE lane = 1))::int"));
	read_all(a, &r);
	assert_int_equal(r.seen[5], 1);
	assert_int_equal(r.total, 3);
	close_node(&b);
}

/* Sessions 0 to 3 are the first node's, 4 to 7 the second's; 8 moves after every fact. */
static void facts_of_two_nodes_come_once_and_in_order(void **state)
{
	struct fixture *a = *state, b;
	static struct write writes[SESSIONS];
	struct reader r = { 0 };

	open_node(&b, a, "node-b");
	for (uint64_t seq = 1; seq <= ROUNDS; seq++) {
		for (unsigned n = 0; n < SESSIONS; n++)
			begin_write(n == 8 ? (seq % 2 ? a : &b) : n < 4 ? a : &b, &writes[n], n, seq);
		(void)read_page(&b, &r, seq % 3 ? 20 : 1000);
		for (unsigned n = 0; n < SESSIONS; n++)
			end_write(n == 8 ? (seq % 2 ? a : &b) : n < 4 ? a : &b, &writes[n]);
	}
	read_all(&b, &r);
	assert_int_equal(r.total, SESSIONS * ROUNDS);
	assert_int_equal(r.count, 2);
	close_node(&b);
}

static void lane_goes_to_the_next_node(void **state)
{
	struct fixture *a = *state, b;

	open_node(&b, a, "node-b");
	assert_int_equal(postgres_int(a, "SELECT number FROM lane WHERE node = 'node-b'"), 2);
	close_node(&b); /* which leaves it */
	open_node(&b, a, "node-c");
	assert_int_equal(postgres_int(a, "SELECT number FROM lane WHERE node = 'node-c'"), 2);
	postgres_script(a,
			"UPDATE node SET epoch = epoch + 1 WHERE id = 'node-c'"); /* lost: it cannot leave */
	{
		struct fixture d;

		open_node(&d, a, "node-d");
		assert_int_equal(postgres_int(a, "SELECT number FROM lane WHERE node = 'node-d'"), 2);
		close_node(&b); /* what was its lane is another's now */
		assert_int_equal(postgres_int(a, "SELECT number FROM lane WHERE node = 'node-d'"), 2);
		close_node(&d);
	}
	fixture_reopen(a);
	assert_int_equal(postgres_int(a, "SELECT count(*) FROM lane"), 2);
}

/* Session 8 has facts of both; whichever node removes it, it reached so far in each lane. */
static void floors_are_by_lane(void **state)
{
	struct fixture *a = *state, b;
	struct ar_store_feed ends = { .op = { .kind = AR_STORE_FEED, .done = note_done },
				      .tenant = AR_STR("x"),
				      .only_heads = true };
	uint64_t of_b;

	open_node(&b, a, "node-b");
	write_one(a, 8, 1);
	write_one(&b, 8, 2);
	write_one(&b, 5, 1);
	of_b = (uint64_t)postgres_int(a, "SELECT max(position) FROM log");
	write_one(a, 8, 3);
	assert_int_equal(keep_up(&b, an_upkeep((ar_usec)1800000000 * 1000000, 10)), 2);
	assert_int_equal(run(a, &ends.op), AR_OK);
	assert_int_equal(ends.head_count, 0);
	assert_int_equal(ends.floor_count, 2);
	assert_int_equal(ar_store_place_of(ends.floors, 2, 1), of_b + 1);
	assert_int_equal(ar_store_place_of(ends.floors, 2, 2), of_b);
	ar_store_op_fini(&ends.op);
	close_node(&b);
}

int main(void)
{
	static struct fixture f = { .engine = ENGINE_POSTGRES };
#define T(fn) cmocka_unit_test_prestate_setup_teardown(fn, fixture_setup, fixture_teardown, &f)
	const struct CMUnitTest tests[] = {
		T(late_commit_is_not_missed),
		T(facts_of_two_nodes_come_once_and_in_order),
		T(lane_goes_to_the_next_node),
		T(floors_are_by_lane),
	};

	return cmocka_run_group_tests_name("store_feed_nodes", tests, NULL, NULL);
}
