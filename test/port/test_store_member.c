/* Membership over PostgreSQL: who is there, who owns what, and that nobody owns it twice. Two nodes on one
 * database, beaten by hand, so that every order of events can be had. */
#include "postgres_fixture.h"

#include "clock.h"

#include <libpq-fe.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define LEASE_MS 2400
#define WAIT_MS 20000

/* A node: its store, its part in the cluster, and the beat it reuses. */
struct node {
	struct fixture f; /* a view of the shared database, for appends */
	struct ar_member *member;
	struct ar_member_beat beat;
	int wake_fd;
	bool is_done;
};

static struct node a, b;

static void wake(void *arg)
{
	uint64_t one = 1;

	assert_int_equal(write(((struct node *)arg)->wake_fd, &one, sizeof one), sizeof one);
}

static void done(struct ar_member_beat *beat)
{
	AR_CONTAINER_OF(beat, struct node, beat)->is_done = true;
}

static enum ar_status open_store(struct node *n, const char *id, uint64_t instance, bool is_rejoin,
				 struct ar_error *err)
{
	struct ar_store_postgres_options o = postgres_options(&n->f);

	o.node = id;
	o.instance = instance;
	o.is_rejoin = is_rejoin;
	return ar_store_postgres_open(&o, &n->f.store, err);
}

static void join(struct node *n)
{
	struct ar_member_options o = { .lease_ms = LEASE_MS, .wake = wake, .wake_arg = n };
	struct ar_error err = { 0 };

	if (ar_store_postgres_member(n->f.store, &o, &n->member, &err))
		fail_msg("%s", err.msg);
	snprintf(n->member->address, sizeof n->member->address, "10.0.0.1:7718");
	memset(&n->beat, 0, sizeof n->beat);
	n->beat.done = done;
	n->beat.state = AR_NODE_UP;
}

static void open_node(struct node *n, const struct fixture *f, const char *id, uint64_t instance)
{
	struct ar_error err = { 0 };

	*n = (struct node){ .wake_fd = eventfd(0, EFD_CLOEXEC) };
	memcpy(&n->f, f, sizeof n->f);
	n->f.store = NULL;
	n->f.wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (open_store(n, id, instance, false, &err))
		fail_msg("%s", err.msg);
	join(n);
}

static void leave(struct node *n)
{
	if (n->member)
		n->member->v->close(n->member);
	ar_store_close(n->f.store);
	n->member = NULL;
	n->f.store = NULL;
}

static int setup(void **state)
{
	struct fixture *f = *state;

	fixture_setup(state);
	open_node(&a, f, "a", 1);
	open_node(&b, f, "b", 2);
	return 0;
}

static int teardown(void **state)
{
	struct node *all[] = { &a, &b };

	for (size_t i = 0; i < AR_ARRAY_LEN(all); i++) {
		leave(all[i]);
		close(all[i]->wake_fd);
		close(all[i]->f.wake_fd);
	}
	return fixture_teardown(state);
}

/* ---- beats ---- */

static void start_beat(struct node *n)
{
	n->is_done = false;
	n->member->v->submit(n->member, &n->beat);
	assert_false(n->is_done);
}

static enum ar_status end_beat(struct node *n)
{
	struct pollfd pfd = { .fd = n->wake_fd, .events = POLLIN };
	uint64_t count;

	while (!n->is_done) {
		if (poll(&pfd, 1, WAIT_MS) != 1)
			fail_msg("the member did not wake its owner");
		assert_int_equal(read(n->wake_fd, &count, sizeof count), sizeof count);
		n->member->v->poll(n->member);
	}
	n->beat.lost_count = n->beat.handoff_count = n->beat.take_count = 0;
	return n->beat.status;
}

static void expect_beat(struct node *n, enum ar_status expected)
{
	start_beat(n);
	if (end_beat(n) != expected)
		fail_msg("beat ended %s (%s), expected %s", ar_status_name(n->beat.status), n->beat.err.msg,
			 ar_status_name(expected));
	if (expected) {
		assert_int_equal(n->beat.err.status, expected);
		assert_true(n->beat.err.msg[0]);
	}
}

static void take(struct node *n, unsigned from, unsigned to)
{
	for (unsigned p = from; p < to; p++)
		n->beat.takes[n->beat.take_count++] = (uint16_t)p;
}

static uint16_t place(const struct node *n, const char *id)
{
	for (size_t i = 0; i < n->beat.node_count; i++) {
		if (strcmp(n->beat.nodes[i].id, id) == 0)
			return (uint16_t)i;
	}
	return AR_NOBODY;
}

static void declare_lost(struct node *n, const char *id)
{
	n->beat.lost[n->beat.lost_count++] = place(n, id);
}

static void give_to(struct node *n, unsigned partition, uint16_t to)
{
	n->beat.handoffs[n->beat.handoff_count++] = (struct ar_member_handoff){ (uint16_t)partition, to };
}

/* Partitions of that owner in the table of n. */
static size_t owned(const struct node *n, uint16_t by)
{
	size_t count = 0;

	for (size_t p = 0; p < AR_PARTITIONS; p++)
		count += n->beat.owner[p] == by;
	return count;
}

static ar_usec now_ms(void)
{
	return ar_clock_system()->mono(ar_clock_system()) / 1000;
}

/* ---- who is there ---- */

static void nodes_see_each_other(void **state)
{
	(void)state;
	expect_beat(&a, AR_OK);
	assert_int_equal(a.beat.node_count, 1);
	expect_beat(&b, AR_OK);
	assert_int_equal(b.beat.node_count, 2);
	assert_int_equal(b.beat.self, 1);
	assert_string_equal(b.beat.nodes[0].id, "a");
	assert_string_equal(b.beat.nodes[0].address, "10.0.0.1:7718");
	assert_int_equal(b.beat.nodes[0].epoch, 1);
	assert_int_equal(b.beat.nodes[0].beat, 1);
	assert_int_equal(b.beat.nodes[0].state, AR_NODE_UP);
	assert_int_equal(owned(&b, AR_NOBODY), AR_PARTITIONS);
	a.beat.state = AR_NODE_DRAINING;
	expect_beat(&a, AR_OK);
	assert_int_equal(a.beat.self, 0);
	expect_beat(&b, AR_OK);
	assert_int_equal(b.beat.nodes[0].beat, 2);
	assert_int_equal(b.beat.nodes[0].state, AR_NODE_DRAINING);
	assert_string_equal(a.member->id, "a");
	assert_int_equal(a.member->epoch, a.f.store->epoch);
	assert_int_equal(strlen(a.member->key), AR_MEMBER_KEY);
	assert_string_equal(a.member->key, b.member->key);
}

/* The list is bounded; whoever reads it is on it. */
static void too_many_nodes_leave_us_on_the_list(void **state)
{
	postgres_script(*state, "INSERT INTO node SELECT 'a' || n, 1, 1 FROM generate_series(1, 90) AS n");
	postgres_script(
		*state,
		"INSERT INTO node_beat SELECT 'a' || n, 1, '', 1, now() FROM generate_series(1, 90) AS n");
	expect_beat(&b, AR_OK);
	assert_int_equal(b.beat.node_count, AR_NODES_MAX);
	assert_int_equal(b.beat.self, AR_NODES_MAX - 1);
	assert_string_equal(b.beat.nodes[b.beat.self].id, "b");
	for (size_t i = 1; i < b.beat.node_count; i++)
		assert_true(strcmp(b.beat.nodes[i - 1].id, b.beat.nodes[i].id) < 0);
}

/* ---- who owns what ---- */

static void taken_partitions_have_one_owner(void **state)
{
	(void)state;
	take(&a, 0, AR_PARTITIONS);
	expect_beat(&a, AR_OK);
	assert_int_equal(owned(&a, a.beat.self), AR_PARTITIONS);
	take(&b, 0, AR_PARTITIONS);
	expect_beat(&b, AR_OK);
	assert_int_equal(owned(&b, b.beat.self), 0);
	assert_int_equal(owned(&b, place(&b, "a")), AR_PARTITIONS);
}

/* Both want all at the same moment, in opposite order, many times: each partition has one owner whatever both
 * believe. */
static void takes_at_the_same_time_are_exclusive(void **state)
{
	struct fixture *f = *state;

	for (unsigned round = 0; round < 20; round++) {
		postgres_script(f, "UPDATE partition SET node = '', epoch = 0");
		for (unsigned p = 0; p < AR_PARTITIONS; p++) {
			take(&a, p, p + 1);
			take(&b, AR_PARTITIONS - 1 - p, AR_PARTITIONS - p);
		}
		start_beat(&a);
		start_beat(&b);
		assert_int_equal(end_beat(&a), AR_OK);
		assert_int_equal(end_beat(&b), AR_OK);
		assert_int_equal(owned(&a, a.beat.self) + owned(&b, b.beat.self), AR_PARTITIONS);
	}
}

/* The one that waits for the row must not go by what it saw before: the winner is a node it has never
 * seen. */
static void late_taker_sees_an_owner_that_came_meanwhile(void **state)
{
	struct fixture *f = *state;
	PGconn *c = PQconnectdb(f->path);

	expect_beat(&a, AR_OK);
	PQclear(PQexec(c, "BEGIN; INSERT INTO node (id, epoch, connection) VALUES ('new', 1, 1);"
			  "UPDATE partition SET node = 'new', epoch = 1 WHERE id = 7"));
	take(&a, 7, 9);
	start_beat(&a);
	usleep(200000);
	PQclear(PQexec(c, "COMMIT"));
	PQfinish(c);
	assert_int_equal(end_beat(&a), AR_OK);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM partition WHERE id = 7 AND node = 'new'"), 1);
	assert_int_equal(owned(&a, a.beat.self), 1);
}

static void handoffs_move_what_is_ours(void **state)
{
	(void)state;
	expect_beat(&b, AR_OK);
	take(&a, 0, 10);
	expect_beat(&a, AR_OK);
	give_to(&a, 3, place(&a, "b"));
	give_to(&a, 4, AR_NOBODY);
	give_to(&a, 500, place(&a, "b"));
	expect_beat(&a, AR_OK);
	assert_int_equal(a.beat.owner[3], place(&a, "b"));
	assert_int_equal(a.beat.owner[4], AR_NOBODY);
	assert_int_equal(a.beat.owner[500], AR_NOBODY);
	assert_int_equal(owned(&a, a.beat.self), 8);
	give_to(&a, 3, a.beat.self); /* no longer ours to give */
	expect_beat(&a, AR_OK);
	expect_beat(&b, AR_OK);
	assert_int_equal(b.beat.owner[3], b.beat.self);
}

/* ---- leaving and losing ---- */

static void a_node_that_leaves_frees_its_partitions(void **state)
{
	expect_beat(&b, AR_OK);
	take(&a, 0, 10);
	expect_beat(&a, AR_OK);
	take(&b, 10, 20);
	expect_beat(&b, AR_OK);
	a.beat.state = AR_NODE_GONE;
	expect_beat(&a, AR_OK);
	assert_int_equal(postgres_int(*state, "SELECT count(*) FROM partition WHERE node = '' AND epoch = 0"),
			 AR_PARTITIONS - 10);
	take(&b, 0, 5);
	expect_beat(&b, AR_OK);
	assert_int_equal(b.beat.node_count, 1);
	assert_int_equal(owned(&b, b.beat.self), 15);
	assert_int_equal(owned(&b, AR_NOBODY), AR_PARTITIONS - 15);
}

/* It left while the handoff was on its way. */
static void a_gift_to_one_that_left_is_not_lost(void **state)
{
	(void)state;
	expect_beat(&b, AR_OK);
	take(&a, 0, 10);
	expect_beat(&a, AR_OK);
	b.beat.state = AR_NODE_GONE;
	expect_beat(&b, AR_OK);
	give_to(&a, 3, place(&a, "b"));
	expect_beat(&a, AR_OK);
	assert_int_equal(a.beat.owner[3], AR_NOBODY);
	take(&a, 3, 4);
	expect_beat(&a, AR_OK);
	assert_int_equal(a.beat.owner[3], a.beat.self);
}

static void a_lost_node_can_write_no_more(void **state)
{
	(void)state;
	take(&a, 0, AR_PARTITIONS);
	expect_beat(&a, AR_OK);
	expect_append(&a.f, 1, 1, AR_OK);
	expect_beat(&b, AR_OK);
	declare_lost(&b, "a");
	take(&b, 0, AR_PARTITIONS);
	expect_beat(&b, AR_OK);
	assert_int_equal(b.beat.node_count, 1);
	assert_int_equal(owned(&b, b.beat.self), AR_PARTITIONS);
	expect_append(&a.f, 1, 2, AR_E_FENCED);
	take(&a, 0, AR_PARTITIONS);
	expect_beat(&a, AR_E_FENCED);
	expect_append(&b.f, 1, 2, AR_OK);
	assert_int_equal(postgres_int(*state, "SELECT count(*) FROM partition WHERE node = 'b'"),
			 AR_PARTITIONS);
}

static void a_node_that_beat_meanwhile_is_not_lost(void **state)
{
	(void)state;
	take(&a, 0, 10);
	expect_beat(&a, AR_OK);
	expect_beat(&b, AR_OK);
	expect_beat(&a, AR_OK);
	declare_lost(&b, "a");
	take(&b, 0, 10);
	expect_beat(&b, AR_OK);
	assert_int_equal(b.beat.node_count, 2);
	assert_int_equal(owned(&b, b.beat.self), 0);
	expect_beat(&a, AR_OK);
	expect_append(&a.f, 1, 1, AR_OK);
}

/* Its beat commits while ours waits for the row: what was true before the wait does not count. */
static void a_node_that_beats_at_the_last_moment_is_not_lost(void **state)
{
	struct fixture *f = *state;
	PGconn *c = PQconnectdb(f->path);

	expect_beat(&a, AR_OK);
	expect_beat(&b, AR_OK);
	PQclear(PQexec(c, "BEGIN; SELECT 1 FROM node WHERE id = 'a' FOR SHARE;"
			  "UPDATE node_beat SET beat = beat + 1 WHERE id = 'a'"));
	declare_lost(&b, "a");
	start_beat(&b);
	usleep(200000);
	PQclear(PQexec(c, "COMMIT"));
	PQfinish(c);
	assert_int_equal(end_beat(&b), AR_OK);
	assert_int_equal(b.beat.node_count, 2);
	expect_append(&a.f, 1, 1, AR_OK);
}

/* A restart is a new epoch: who was thought dead in the old one is alive. */
static void a_node_that_came_back_is_not_lost(void **state)
{
	struct fixture *f = *state;

	take(&a, 0, 10);
	expect_beat(&a, AR_OK);
	expect_beat(&b, AR_OK);
	leave(&a);
	close(a.wake_fd);
	close(a.f.wake_fd);
	open_node(&a, f, "a", 3);
	declare_lost(&b, "a");
	expect_beat(&b, AR_OK);
	assert_int_equal(b.beat.nodes[0].epoch, 2);
	assert_int_equal(owned(&b, AR_NOBODY), AR_PARTITIONS); /* what the old epoch had is free */
	expect_beat(&a, AR_OK);
}

/* Its machine stopped in the middle of a transaction: that holds the fence, and nothing on it will ever end
 * it. */
static void an_open_transaction_does_not_save_a_lost_node(void **state)
{
	struct fixture *f = *state;
	char conninfo[400];
	ar_usec start;
	unsigned tries = 0;
	PGconn *c;

	take(&a, 0, AR_PARTITIONS);
	expect_beat(&a, AR_OK);
	expect_beat(&b, AR_OK);
	snprintf(conninfo, sizeof conninfo, "%s application_name='agentd a'", f->path);
	c = PQconnectdb(conninfo);
	PQclear(PQexec(c, "BEGIN; SELECT 1 FROM node WHERE id = 'a' FOR SHARE"));
	start = now_ms();
	do {
		assert_true(++tries < 10);
		declare_lost(&b, "a");
		take(&b, 0, AR_PARTITIONS);
		start_beat(&b);
	} while (end_beat(&b) == AR_E_IO);
	assert_true(now_ms() - start < 2 * LEASE_MS);
	assert_int_equal(tries, 2);
	assert_int_equal(b.beat.status, AR_OK);
	assert_int_equal(owned(&b, b.beat.self), AR_PARTITIONS);
	PQfinish(c);
	expect_append(&a.f, 1, 1, AR_E_FENCED);
}

/* Each thinks the other is dead: they must not both be right, and nothing may hang. */
static void nodes_that_declare_each_other_lost_end_somehow(void **state)
{
	ar_usec start = now_ms();

	(void)state;
	expect_beat(&a, AR_OK);
	expect_beat(&b, AR_OK);
	expect_beat(&a, AR_OK);
	expect_beat(&b, AR_OK);
	declare_lost(&a, "b");
	declare_lost(&b, "a");
	start_beat(&a);
	start_beat(&b);
	end_beat(&a);
	end_beat(&b);
	assert_true(now_ms() - start < 4 * LEASE_MS);
	assert_true(a.beat.status == AR_OK || a.beat.status == AR_E_IO || a.beat.status == AR_E_FENCED);
	assert_true(b.beat.status == AR_OK || b.beat.status == AR_E_IO || b.beat.status == AR_E_FENCED);
	assert_true(postgres_int(*state, "SELECT count(*) FROM node WHERE id IN ('a', 'b') AND epoch > 1") <
		    2);
}

/* ---- coming back ---- */

static void reopen(struct node *n, const char *id, uint64_t instance, enum ar_status expected)
{
	struct ar_error err = { 0 };

	leave(n);
	assert_int_equal(open_store(n, id, instance, true, &err), expected);
	if (!expected)
		join(n);
	else if (!strstr(err.msg, "another process runs as node a; give each node its own node.id"))
		fail_msg("%s", err.msg);
}

static void a_lost_node_comes_back_in_a_new_epoch(void **state)
{
	(void)state;
	expect_beat(&a, AR_OK);
	expect_beat(&b, AR_OK);
	declare_lost(&b, "a");
	expect_beat(&b, AR_OK);
	expect_beat(&a, AR_E_FENCED);
	reopen(&a, "a", 1, AR_OK);
	assert_int_equal(a.member->epoch, 3);
	take(&a, 0, 10);
	expect_beat(&a, AR_OK);
	assert_int_equal(owned(&a, a.beat.self), 10);
	expect_append(&a.f, 1, 1, AR_OK);
	reopen(&a, "a", 1, AR_OK); /* its own instance is no obstacle either */
	expect_beat(&a, AR_OK);
}

static void a_node_whose_id_was_taken_stays_away(void **state)
{
	struct fixture *f = *state;
	struct ar_error err = { 0 };

	expect_beat(&a, AR_OK);
	leave(&b);
	if (open_store(&b, "a", 77, false, &err))
		fail_msg("%s", err.msg);
	join(&b);
	expect_beat(&a, AR_E_FENCED);
	reopen(&a, "a", 1, AR_E_EXISTS);
	expect_beat(&b, AR_OK);
	assert_int_equal(postgres_int(f, "SELECT epoch FROM node WHERE id = 'a'"), 2);
}

/* ---- weather ---- */

static void a_server_that_is_down_is_weather(void **state)
{
	ar_usec start;

	(void)state;
	take(&a, 0, 10);
	expect_beat(&a, AR_OK);
	postgres_control("crash");
	start = now_ms();
	expect_beat(&a, AR_E_IO);
	expect_beat(&a, AR_E_IO);
	assert_true(now_ms() - start < 2 * LEASE_MS);
	assert_int_equal(owned(&a, a.beat.self), 10); /* the table is the old one */
	postgres_control("start");
	expect_beat(&a, AR_OK);
	assert_int_equal(owned(&a, a.beat.self), 10);
	assert_int_equal(a.beat.nodes[a.beat.self].beat, 2);
}

/* As with packets that are silently dropped, only time can tell. The next beat does not wait for the old
 * connection. */
static void a_server_that_says_nothing_is_weather(void **state)
{
	struct fixture *f = *state;
	ar_usec start;
	pid_t pid;

	expect_beat(&a, AR_OK);
	pid = (pid_t)postgres_int(f, "SELECT pid FROM pg_stat_activity WHERE application_name = 'agentd a'"
				     " AND datname = current_database() ORDER BY backend_start DESC LIMIT 1");
	assert_int_equal(kill(pid, SIGSTOP), 0);
	start = now_ms();
	start_beat(&a);
	assert_int_equal(end_beat(&a), AR_E_IO);
	assert_in_range(now_ms() - start, LEASE_MS - 100, 2 * LEASE_MS);
	start_beat(&a);
	assert_int_equal(end_beat(&a), AR_OK);
	assert_int_equal(kill(pid, SIGCONT), 0);
	assert_int_equal(a.beat.nodes[a.beat.self].beat, 2);
}

static void a_beat_that_finds_its_row_locked_ends(void **state)
{
	struct fixture *f = *state;
	PGconn *c = PQconnectdb(f->path);
	ar_usec start = now_ms();

	expect_beat(&a, AR_OK);
	PQclear(PQexec(c, "BEGIN; UPDATE node_beat SET beat = beat WHERE id = 'a'"));
	expect_beat(&a, AR_E_IO);
	assert_true(now_ms() - start < 2 * LEASE_MS);
	PQclear(PQexec(c, "COMMIT"));
	PQfinish(c);
	expect_beat(&a, AR_OK);
}

static int64_t count_connections(struct fixture *f)
{
	return postgres_int(f, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'agentd a'"
			       " AND datname = current_database()");
}

static void a_cut_connection_is_made_again(void **state)
{
	struct fixture *f = *state;

	expect_beat(&a, AR_OK);
	assert_int_equal(count_connections(f), 3);
	postgres_script(f, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
			   " WHERE application_name = 'agentd a' AND datname = current_database()");
	while (count_connections(f) > 0)
		usleep(10000);
	expect_beat(&a, AR_OK);
	assert_int_equal(a.beat.nodes[a.beat.self].beat, 2);
}

/* As after a failover: the first of the hosts is not there any more. */
static void several_hosts_are_tried_in_turn(void **state)
{
	struct fixture *f = *state;
	struct node c;

	assert_memory_equal(f->path, "host=", 5);
	open_node(&c, f, "c", 3);
	leave(&c);
	snprintf(c.f.path, sizeof c.f.path, "host=/nowhere,%s", f->path + 5);
	assert_int_equal(open_store(&c, "c", 3, false, NULL), AR_OK);
	join(&c);
	expect_beat(&c, AR_OK);
	assert_int_equal(c.beat.nodes[c.beat.self].epoch, 2);
	leave(&c);
	close(c.wake_fd);
	close(c.f.wake_fd);
}

#define T(fn) cmocka_unit_test_prestate_setup_teardown(fn, setup, teardown, &f)

int main(void)
{
	static struct fixture f = { .engine = ENGINE_POSTGRES };
	const struct CMUnitTest tests[] = {
		T(nodes_see_each_other),
		T(too_many_nodes_leave_us_on_the_list),
		T(taken_partitions_have_one_owner),
		T(takes_at_the_same_time_are_exclusive),
		T(late_taker_sees_an_owner_that_came_meanwhile),
		T(handoffs_move_what_is_ours),
		T(a_node_that_leaves_frees_its_partitions),
		T(a_gift_to_one_that_left_is_not_lost),
		T(a_lost_node_can_write_no_more),
		T(a_node_that_beat_meanwhile_is_not_lost),
		T(a_node_that_beats_at_the_last_moment_is_not_lost),
		T(a_node_that_came_back_is_not_lost),
		T(an_open_transaction_does_not_save_a_lost_node),
		T(nodes_that_declare_each_other_lost_end_somehow),
		T(a_lost_node_comes_back_in_a_new_epoch),
		T(a_node_whose_id_was_taken_stays_away),
		T(a_server_that_is_down_is_weather),
		T(a_server_that_says_nothing_is_weather),
		T(a_beat_that_finds_its_row_locked_ends),
		T(a_cut_connection_is_made_again),
		T(several_hosts_are_tried_in_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
