/* Several nodes over one table, on virtual time: they share the partitions out, take over from the
 * dead, hand over on request; and whatever is stopped, cut off or killed, no partition is ever
 * answered for by two of them. */
#include "cluster.h"
#include "cmocka_unit.h"
#include "table.h"

#include <stdio.h>

#define LEASE 2000000
#define STEP 5000

struct node {
	struct member member;
	struct ar_cluster *cluster;
	bool is_up, is_stopped, is_busy, is_slow_to_rest, is_fenced;
	char gone[AR_ADDRESS_MAX + 1]; /* the last that it was told of */
	ar_usec at; /* next thing that happens to its beat */
};

static struct {
	struct ar_clock clock;
	ar_usec now;
	struct table table;
	struct node nodes[NODES];
	char session_keys[AR_PARTITIONS][AR_SESSION_KEY_LEN];
	uint64_t random;
} w;

static ar_usec mono(struct ar_clock *c)
{
	(void)c;
	return w.now;
}

static unsigned below(unsigned n)
{
	w.random = w.random * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (unsigned)(w.random >> 33) % n;
}

static void gained(void *arg, const struct ar_partition_set *set)
{
	(void)arg;
	(void)set;
}

static bool is_busy(void *arg, unsigned partition)
{
	return ((struct node *)arg)->is_busy && partition % 3 == 0;
}

static void release(void *arg, unsigned partition)
{
	(void)arg;
	(void)partition;
}

static bool is_quiet(void *arg, unsigned partition)
{
	return !((struct node *)arg)->is_slow_to_rest || partition % 5 != 0;
}

static void gone(void *arg, struct ar_str address)
{
	struct node *n = arg;

	snprintf(n->gone, sizeof(n->gone), "%.*s", AR_STR_ARG(address));
}

static void fenced(void *arg)
{
	((struct node *)arg)->is_fenced = true;
}

static void start(unsigned i)
{
	struct node *n = &w.nodes[i];

	*n = (struct node){ .is_up = true };
	member_open(&n->member, &w.table, (int)i);
	n->cluster = ar_cluster_new(&(struct ar_cluster_options){ .member = &n->member.member,
								  .clock = &w.clock,
								  .lease = LEASE,
								  .handover = LEASE,
								  .gained = gained,
								  .is_busy = is_busy,
								  .release = release,
								  .is_quiet = is_quiet,
								  .gone = gone,
								  .fenced = fenced,
								  .arg = n });
}

static void kill_node(unsigned i)
{
	ar_cluster_free(w.nodes[i].cluster);
	w.nodes[i] = (struct node){ 0 };
}

static enum ar_place place(unsigned i, unsigned partition)
{
	struct ar_str address;

	if (!w.nodes[i].is_up)
		return AR_PLACE_UNSETTLED;
	return ar_cluster_find(w.nodes[i].cluster,
			       (struct ar_str){ w.session_keys[partition], AR_SESSION_KEY_LEN }, &address);
}

/* Also for those that are stopped: the first thing they do when they wake may be to answer. */
static void nobody_answers_twice(void)
{
	for (unsigned p = 0; p < AR_PARTITIONS; p += 61) {
		unsigned here = 0;

		for (unsigned i = 0; i < NODES; i++)
			here += place(i, p) == AR_PLACE_HERE;
		assert_in_range(here, 0, 1);
	}
}

static void step_node(struct node *n)
{
	ar_usec due = ar_cluster_deadline(n->cluster);

	if (due && w.now >= due)
		ar_cluster_tick(n->cluster);
	if (w.now < n->at)
		return;
	if (n->member.carried)
		member_tell(&n->member);
	else
		member_carry_out(&n->member);
	n->at = w.now + 1000 + below(5) * STEP;
}

static void run(ar_usec time)
{
	for (ar_usec end = w.now + time; w.now < end; w.now += STEP) {
		for (unsigned i = 0; i < NODES; i++) {
			if (w.nodes[i].is_up && !w.nodes[i].is_stopped)
				step_node(&w.nodes[i]);
			if (w.nodes[i].is_fenced) {
				kill_node(i);
				start(i);
			}
		}
		nobody_answers_twice();
	}
}

static unsigned has(unsigned i)
{
	unsigned n = 0;

	for (unsigned p = 0; p < AR_PARTITIONS; p++)
		n += place(i, p) == AR_PLACE_HERE;
	return n;
}

static int set_up(void **state)
{
	unsigned found = 0;
	char session_key[AR_SESSION_KEY_LEN];

	(void)state;
	memset(&w, 0, sizeof(w));
	w.clock.mono = mono;
	w.now = 1000000;
	table_init(&w.table);
	while (found < AR_PARTITIONS) {
		unsigned p;

		ar_id_mint(session_key);
		p = ar_id_partition((struct ar_str){ session_key, AR_SESSION_KEY_LEN });
		found += !w.session_keys[p][0];
		memcpy(w.session_keys[p], session_key, AR_SESSION_KEY_LEN);
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (unsigned i = 0; i < NODES; i++) {
		if (w.nodes[i].is_up)
			kill_node(i);
	}
	return 0;
}

static void one_node_has_all_at_once(void **state)
{
	(void)state;
	start(0);
	assert_int_equal(place(0, 1), AR_PLACE_UNSETTLED);
	run(LEASE / 10);
	assert_int_equal(has(0), AR_PARTITIONS);
}

static void those_who_join_get_their_share(void **state)
{
	struct ar_str address = AR_STR_NONE;

	(void)state;
	start(0);
	run(LEASE);
	start(1);
	start(2);
	run(20 * LEASE);
	assert_in_range(has(0), 341, 342);
	assert_in_range(has(1), 341, 342);
	assert_int_equal(has(0) + has(1) + has(2), AR_PARTITIONS);
	for (unsigned p = 0; p < AR_PARTITIONS; p++) {
		if (place(0, p) == AR_PLACE_HERE)
			continue;
		assert_int_equal(ar_cluster_find(w.nodes[0].cluster,
						 (struct ar_str){ w.session_keys[p], AR_SESSION_KEY_LEN },
						 &address),
				 AR_PLACE_PEER);
		assert_true(ar_str_is(address, place(1, p) == AR_PLACE_HERE ? "10.0.0.1:1" : "10.0.0.2:1"));
	}
}

static void the_dead_are_replaced_within_two_leases(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3; i++)
		start(i);
	run(20 * LEASE);
	kill_node(1);
	run(2 * LEASE - LEASE / 4);
	assert_int_equal(has(0) + has(2), AR_PARTITIONS);
}

static void a_sleeper_is_fenced_and_comes_back(void **state)
{
	(void)state;
	start(0);
	start(1);
	run(10 * LEASE);
	w.nodes[1].is_stopped = true;
	run(3 * LEASE);
	assert_int_equal(has(0), AR_PARTITIONS);
	assert_string_equal(w.nodes[0].gone, "10.0.0.1:1");
	w.nodes[1].is_stopped = false;
	run(20 * LEASE);
	assert_int_equal(has(0), 512);
	assert_int_equal(has(1), 512);
}

/* The database was away for everybody: whoever finds it again first must not take the others for dead. */
static void an_outage_of_the_database_moves_nothing(void **state)
{
	uint64_t epoch;

	(void)state;
	start(0);
	start(1);
	run(10 * LEASE);
	epoch = w.table.nodes[1].epoch;
	w.nodes[0].member.is_cut = w.nodes[1].member.is_cut = true;
	run(10 * LEASE);
	assert_int_equal(has(0) + has(1), 0);
	w.nodes[0].member.is_cut = false;
	run(LEASE / 2);
	w.nodes[1].member.is_cut = false;
	run(LEASE);
	assert_int_equal(w.table.nodes[1].epoch, epoch);
	assert_int_equal(has(0) + has(1), AR_PARTITIONS);
}

static void a_drained_node_has_nothing(void **state)
{
	(void)state;
	start(0);
	start(1);
	run(10 * LEASE);
	w.nodes[1].is_busy = true; /* its work is waited for, then cut */
	ar_cluster_drain(w.nodes[1].cluster);
	run(LEASE / 2);
	assert_false(ar_cluster_is_drained(w.nodes[1].cluster));
	assert_in_range(has(1), 1, 511);
	run(2 * LEASE);
	assert_true(ar_cluster_is_drained(w.nodes[1].cluster));
	assert_int_equal(has(0), AR_PARTITIONS);
	ar_cluster_leave(w.nodes[1].cluster);
	run(LEASE);
	assert_true(ar_cluster_has_left(w.nodes[1].cluster));
	assert_int_equal(ar_cluster_table(w.nodes[0].cluster)->node_count, 1);
}

static void what_is_released_is_not_answered_for(void **state)
{
	(void)state;
	start(0);
	start(1);
	run(10 * LEASE);
	w.nodes[1].is_slow_to_rest = true;
	ar_cluster_drain(w.nodes[1].cluster);
	run(2 * LEASE);
	assert_false(ar_cluster_is_drained(w.nodes[1].cluster));
	assert_int_equal(has(1), 0);
	w.nodes[1].is_slow_to_rest = false;
	run(LEASE);
	assert_true(ar_cluster_is_drained(w.nodes[1].cluster));
}

static void a_drained_node_takes_nothing_any_more(void **state)
{
	(void)state;
	start(0);
	start(1);
	run(10 * LEASE);
	ar_cluster_drain(w.nodes[1].cluster);
	run(3 * LEASE);
	kill_node(0);
	run(5 * LEASE);
	assert_int_equal(has(1), 0);
}

static void the_last_node_frees_what_it_has(void **state)
{
	(void)state;
	start(0);
	run(LEASE);
	ar_cluster_drain(w.nodes[0].cluster);
	run(LEASE / 2);
	assert_true(ar_cluster_is_drained(w.nodes[0].cluster));
	ar_cluster_leave(w.nodes[0].cluster);
	run(LEASE / 2);
	start(1);
	run(LEASE / 4);
	assert_int_equal(has(1), AR_PARTITIONS);
}

static void mishap(void)
{
	unsigned i = below(NODES);
	struct node *n = &w.nodes[i];

	if (!n->is_up) {
		start(i);
		return;
	}
	switch (below(6)) {
	case 0:
		kill_node(i);
		return;
	case 1:
		n->is_stopped = !n->is_stopped;
		return;
	case 2:
		n->member.is_cut = !n->member.is_cut;
		return;
	case 3:
		n->is_busy = !n->is_busy;
		return;
	case 4:
		n->is_slow_to_rest = !n->is_slow_to_rest;
		return;
	default:
		ar_cluster_drain(n->cluster);
	}
}

static void whatever_happens_nobody_answers_twice(void **state)
{
	(void)state;
	w.random = 7;
	for (unsigned round = 0; round < 150; round++) {
		mishap();
		run((ar_usec)(1 + below(30)) * LEASE / 10);
	}
	for (unsigned i = 0; i < NODES; i++) {
		if (w.nodes[i].is_up)
			kill_node(i);
		start(i);
	}
	run(20 * LEASE);
	for (unsigned i = 0; i < NODES; i++)
		assert_int_equal(has(i), 256);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_node_has_all_at_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(those_who_join_get_their_share, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_dead_are_replaced_within_two_leases, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_sleeper_is_fenced_and_comes_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_outage_of_the_database_moves_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_drained_node_has_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_released_is_not_answered_for, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_drained_node_takes_nothing_any_more, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_last_node_frees_what_it_has, set_up, tear_down),
		cmocka_unit_test_setup_teardown(whatever_happens_nobody_answers_twice, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
