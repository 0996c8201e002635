/* Who may call the model next: as many at once as there are places, tenants in turn, sessions of a tenant in
 * turn, a session's calls in the order in which they asked. */
#include "cmocka_unit.h"
#include "request/turnstile.h"

#include <string.h>

struct caller {
	struct ar_ticket ticket;
	char name;
};

static char let_in[32];

static void go(struct ar_ticket *t)
{
	let_in[strlen(let_in)] = AR_CONTAINER_OF(t, struct caller, ticket)->name;
}

static void ask(struct ar_turnstile *t, struct caller *c, char name, const char *tenant, const char *session)
{
	*c = (struct caller){ .ticket = { .go = go }, .name = name };
	ar_turnstile_ask(t, &c->ticket, ar_str_from(tenant), ar_str_from(session));
}

static int begin(void **state)
{
	(void)state;
	memset(let_in, 0, sizeof(let_in));
	return 0;
}

static void test_all_are_let_in_without_a_limit(void **state)
{
	struct ar_turnstile t;
	struct caller a, b;

	(void)state;
	ar_turnstile_init(&t, 0);
	ask(&t, &a, 'a', "x", "1");
	ask(&t, &b, 'b', "x", "1");
	assert_string_equal(let_in, "ab");
	ar_turnstile_leave(&t, &a.ticket);
	ar_turnstile_leave(&t, &b.ticket);
	ar_turnstile_fini(&t);
}

static void test_tenants_then_sessions_take_turns(void **state)
{
	static const struct {
		char name;
		const char *tenant, *session;
	} rows[] = { { 'a', "x", "1" }, { 'b', "x", "1" }, { 'c', "x", "1" }, { 'd', "x", "1" },
		     { 'e', "x", "2" }, { 'f', "y", "3" }, { 'g', "y", "3" } };
	struct caller c[AR_ARRAY_LEN(rows)];
	struct ar_turnstile t;

	(void)state;
	ar_turnstile_init(&t, 1);
	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++)
		ask(&t, &c[i], rows[i].name, rows[i].tenant, rows[i].session);
	assert_string_equal(let_in, "a");
	assert_int_equal(t.waiting, 6);
	for (size_t done = 0; done < AR_ARRAY_LEN(rows); done++) {
		size_t i = 0;

		while (rows[i].name != let_in[done])
			i++;
		ar_turnstile_leave(&t, &c[i].ticket);
	}
	assert_string_equal(let_in, "abfegcd");
	assert_int_equal(t.waiting, 0);
	ar_turnstile_fini(&t);
}

static void test_who_waits_may_leave(void **state)
{
	struct ar_turnstile t;
	struct caller a, b, c;

	(void)state;
	ar_turnstile_init(&t, 1);
	ask(&t, &a, 'a', "x", "1");
	ask(&t, &b, 'b', "x", "1");
	ask(&t, &c, 'c', "x", "2");
	ar_turnstile_leave(&t, &b.ticket);
	ar_turnstile_leave(&t, &b.ticket);
	ar_turnstile_leave(&t, &a.ticket);
	assert_string_equal(let_in, "ac");
	ar_turnstile_leave(&t, &c.ticket);
	ar_turnstile_fini(&t);
}

static void test_nobody_comes_in_when_it_is_shut(void **state)
{
	struct ar_turnstile t;
	struct caller a, b, c;

	(void)state;
	ar_turnstile_init(&t, 1);
	ask(&t, &a, 'a', "x", "1");
	ask(&t, &b, 'b', "x", "1");
	ar_turnstile_shut(&t);
	ar_turnstile_leave(&t, &a.ticket);
	ask(&t, &c, 'c', "y", "2");
	assert_string_equal(let_in, "a");
	assert_int_equal(t.waiting, 2);
	ar_turnstile_leave(&t, &b.ticket);
	ar_turnstile_leave(&t, &c.ticket);
	ar_turnstile_fini(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_all_are_let_in_without_a_limit, begin),
		cmocka_unit_test_setup(test_tenants_then_sessions_take_turns, begin),
		cmocka_unit_test_setup(test_who_waits_may_leave, begin),
		cmocka_unit_test_setup(test_nobody_comes_in_when_it_is_shut, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
