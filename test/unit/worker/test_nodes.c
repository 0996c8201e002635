/* A worker that is connected to two nodes: it knows the nodes, no call begins for both of them, and a process
 * goes over to the node that attaches last. */
#include "rig.h"

#include "mem.h"
#include "serve_priv.h"

#include <stdio.h>
#include <string.h>

/* The second node, and the worker's end of the link to it. */
struct second {
	struct rig *rig;
	struct ar_worker_set *set;
	struct ar_worker_serve *serve;
	struct wire_pair *pair;
	size_t lists, named;
	char last[64];
};

static void on_nodes(void *arg, const struct ar_str *urls, size_t count)
{
	struct second *s = arg;

	s->lists++;
	s->named = count;
	if (count > 0)
		snprintf(s->last, sizeof(s->last), "%.*s", AR_STR_ARG(urls[count - 1]));
}

static void link_second(struct second *s)
{
	s->pair = wire_pair_new();
	ar_list_push(&s->rig->pairs, &s->pair->node);
	ar_worker_set_link(s->set, WORKER, AR_STR("tenant"), &s->pair->daemon.link);
	ar_worker_serve_link(s->serve, &s->pair->worker.link);
}

static void open_second(struct rig *r, struct second *ret)
{
	*ret = (struct second){ .rig = r };
	ret->set = ar_worker_set_new(&r->loop, &r->here.ports,
				     &(struct ar_worker_set_options){ .lease_ms = LEASE_MS,
								      .clock = &r->clock });
	ret->serve = ar_worker_serve_new(&r->loop, &r->there.ports,
					 &(struct ar_worker_serve_options){ .shared = r->serve->shared,
									    .folders = AR_STR("/files"),
									    .clock = &r->clock,
									    .on_nodes = on_nodes,
									    .arg = ret },
					 NULL);
	rig_connect(r);
	link_second(ret);
	rig_run(r);
	assert_int_equal(rig_status(r).state, AR_WORKER_CONNECTED);
}

/* Owners of the rig use its set: for a while that of the second node. */
static void swap(struct second *s)
{
	struct ar_worker_set *other = s->rig->set;

	s->rig->set = s->set;
	s->set = other;
}

static void close_second(struct second *s)
{
	ar_worker_set_close(s->set);
	ar_worker_serve_close(s->serve);
	rig_run(s->rig);
}

static void a_call_of_one_node_does_not_begin_for_another(void **state)
{
	struct rig *r = *state;
	struct probe_call first, again;
	struct second s;

	open_second(r, &s);
	probe_start(r, &first, "call", "change");
	rig_run(r);
	assert_int_equal(fake_begins(&r->there, "call"), 1);
	swap(&s);
	probe_start(r, &again, "call", "change");
	rig_run(r);
	swap(&s);
	assert_int_equal(again.done, 1);
	assert_int_equal(again.outcome, AR_TOOL_LOST); /* nobody knows, here */
	assert_int_equal(fake_begins(&r->there, "call"), 1);
	fake_finish_first(&r->there);
	rig_run(r);
	assert_int_equal(first.done, 1);
	assert_int_equal(first.outcome, AR_TOOL_OK);
	close_second(&s);
}

static void a_process_goes_over_to_the_node_that_attaches(void **state)
{
	struct rig *r = *state;
	struct probe_process first, next = { 0 };
	struct ar_process_host *host;
	struct fake_proc *there;
	struct second s;

	open_second(r, &s);
	probe_launch(r, &first);
	rig_run(r);
	host = ar_worker_set_ports(r->set)->processes;
	host->v->go(host, &first.port);
	rig_run(r);
	there = fake_proc_at(&r->there, 0);
	fake_write(there, AR_PROC_STDOUT, AR_STR("one"));
	rig_run(r);
	swap(&s);
	probe_attach(r, &next, first.handle); /* the first node has not left it: it may be dead */
	rig_run(r);
	fake_write(there, AR_PROC_STDOUT, AR_STR("two"));
	fake_end(there);
	rig_run(r);
	swap(&s);
	assert_int_equal(next.attached, 1);
	assert_int_equal(next.ended, 1);
	assert_memory_equal(next.out[AR_PROC_STDOUT].p, "onetwo", 6);
	assert_int_equal(first.out[AR_PROC_STDOUT].len, 3);
	assert_int_equal(first.ended, 0); /* nothing is claimed there */
	probe_leave(r, &first);
	rig_run(r);
	close_second(&s);
	probe_process_fini(&first);
	probe_process_fini(&next);
}

static void a_link_that_ends_leaves_what_another_has(void **state)
{
	struct rig *r = *state;
	struct probe_process first, next = { 0 };
	struct ar_process_host *host;
	struct fake_proc *there;
	struct second s;

	open_second(r, &s);
	probe_launch(r, &first);
	rig_run(r);
	host = ar_worker_set_ports(r->set)->processes;
	host->v->go(host, &first.port);
	rig_run(r);
	there = fake_proc_at(&r->there, 0);
	swap(&s);
	probe_attach(r, &next, first.handle);
	rig_run(r);
	swap(&s);
	rig_cut(r); /* of the first node */
	rig_run(r);
	fake_write(there, AR_PROC_STDOUT, AR_STR("still"));
	rig_run(r);
	assert_int_equal(next.out[AR_PROC_STDOUT].len, 5);
	swap(&s);
	probe_leave(r, &next);
	swap(&s);
	rig_run(r);
	probe_leave(r, &first);
	close_second(&s);
	probe_process_fini(&first);
	probe_process_fini(&next);
}

static void a_worker_knows_the_nodes(void **state)
{
	static const struct ar_str urls[] = { { "https://a:1", 11 }, { "https://b:1", 11 } };
	struct rig *r = *state;
	struct second s;

	open_second(r, &s);
	assert_int_equal(s.lists, 1);
	assert_int_equal(s.named, 0);
	ar_worker_set_nodes(s.set, (struct ar_texts){ urls, 1 });
	rig_run(r);
	assert_int_equal(s.named, 1);
	ar_worker_set_nodes(s.set, (struct ar_texts){ urls, 2 });
	ar_worker_set_nodes(s.set, (struct ar_texts){ urls, 2 });
	rig_run(r);
	assert_int_equal(s.lists, 3); /* once for each change */
	assert_string_equal(s.last, "https://b:1");
	assert_true(ar_worker_set_workers(s.set)->is_on_all_nodes);
	wire_cut(s.pair);
	s.named = 0;
	link_second(&s);
	rig_run(r);
	assert_int_equal(s.named, 2); /* with the greeting */
	close_second(&s);
}

static void a_list_of_nodes_that_breaks_the_rules_ends_the_link(void **state)
{
	struct rig *r = *state;
	struct second s;
	struct ar_buf many = { 0 }, lists[4] = { 0 };

	ar_buf_addz(&many, "[\"x\"");
	for (int i = 0; i < AR_WORKER_NODES_MAX; i++)
		ar_buf_addz(&many, ",\"x\"");
	ar_buf_addf(&lists[0], "{\"op\":\"nodes\",\"nodes\":%.*s]}", (int)many.len, many.p);
	ar_buf_addz(&lists[1], "{\"op\":\"nodes\",\"nodes\":[3]}");
	ar_buf_addz(&lists[2], "{\"op\":\"nodes\",\"nodes\":[\"\"]}");
	ar_buf_addz(&lists[3], "{\"op\":\"nodes\",\"nodes\":{}}");
	for (size_t i = 0; i < AR_ARRAY_LEN(lists); i++) {
		open_second(r, &s);
		ar_buf_addc(&lists[i], '\0');
		wire_put(&s.pair->daemon, lists[i].p, AR_STR(""));
		rig_run(r);
		assert_true(s.pair->worker.is_closed);
		assert_int_equal(s.lists, 1);
		close_second(&s);
		ar_buf_fini(&lists[i]);
	}
	ar_buf_fini(&many);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_open, rig_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_call_of_one_node_does_not_begin_for_another),
		TEST(a_process_goes_over_to_the_node_that_attaches),
		TEST(a_link_that_ends_leaves_what_another_has),
		TEST(a_worker_knows_the_nodes),
		TEST(a_list_of_nodes_that_breaks_the_rules_ends_the_link),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
