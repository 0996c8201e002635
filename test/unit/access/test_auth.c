/* The auth port over a store in memory: who is let in without a token, what a token's life means to
 * what it opened, two nodes on one store, and a change that another node was first with. */
#include "access.h"
#include "catalog.h"
#include "cmocka_unit.h"
#include "store_open.h"

#include <string.h>

#define NOW ((ar_usec)1800000000 * 1000000)
#define SECOND ((ar_usec)1000000)
#define DAY (86400 * SECOND)
#define KEPT (10 * DAY)

static ar_usec elapsed;
static struct ar_store *store;
static struct ar_access *node, *other;

static ar_usec wall(struct ar_clock *c AR_UNUSED)
{
	return NOW + elapsed;
}

static ar_usec mono(struct ar_clock *c AR_UNUSED)
{
	return elapsed + 1;
}

static struct ar_clock test_clock = { wall, mono };

static struct ar_access *open_node(bool is_required)
{
	return ar_access_new(&(struct ar_access_options){ .store = store,
							  .clock = &test_clock,
							  .is_shared = true,
							  .is_required = is_required,
							  .uid = 1000,
							  .keep = KEPT });
}

static void settle(void)
{
	for (int i = 0; i < 8; i++)
		ar_store_poll(store);
}

static int setup(void **state AR_UNUSED)
{
	elapsed = 0;
	ar_store_memory_open(NULL, NULL, &store);
	node = open_node(true);
	other = open_node(false);
	settle();
	assert_true(ar_access_is_ready(node) && ar_access_is_ready(other));
	return 0;
}

static int teardown(void **state AR_UNUSED)
{
	ar_store_close(store);
	ar_access_free(node);
	ar_access_free(other);
	return 0;
}

static bool is_answered;
static struct ar_arena memory; /* of all principals: some are asked about later */

static void answered(struct ar_auth_request *e AR_UNUSED)
{
	assert_false(is_answered);
	is_answered = true;
}

static enum ar_status show(struct ar_access *a, struct ar_auth_request *e)
{
	struct ar_auth *d = ar_access_auth(a);

	is_answered = false;
	e->done = answered;
	e->arena = &memory;
	d->v->authenticate(d, e);
	settle();
	assert_true(is_answered);
	if (e->status != AR_OK)
		assert_int_equal(e->err.code, AR_ERR_AUTH_FAILED);
	return e->status;
}

static enum ar_status show_token(struct ar_access *a, const char *text, struct ar_principal *ret)
{
	struct ar_auth_request e = { .credentials = { .bearer = ar_str_from(text) } };
	enum ar_status st = show(a, &e);

	if (ret)
		*ret = e.who;
	return st;
}

static bool is_done;
static enum ar_status done_status;
static uint16_t done_code;
static char done_id[32], done_text[AR_TOKEN_TEXT + 1];

static void changed(struct ar_token_change *c)
{
	is_done = true;
	done_status = c->status;
	done_code = c->err.code;
	memcpy(done_text, c->text, sizeof(done_text));
	if (c->token)
		memcpy(done_id, c->token->id, sizeof(c->token->id));
}

static enum ar_status change(struct ar_access *a, struct ar_token_change c)
{
	c.done = changed;
	is_done = false;
	ar_access_change(a, &c);
	settle();
	assert_true(is_done);
	return done_status;
}

static const char *create(struct ar_access *a, unsigned rights)
{
	static char text[AR_TOKEN_TEXT + 1];

	assert_int_equal(change(a, (struct ar_token_change){ .act = AR_TOKEN_CREATE,
							     .tenant = AR_STR("acme"),
							     .name = AR_STR("x"),
							     .rights = rights }),
			 AR_OK);
	memcpy(text, done_text, sizeof(text));
	return text;
}

/* ---- tests ---- */

static void test_without_a_token(void **state AR_UNUSED)
{
	static const struct {
		struct ar_credentials shown;
		bool is_in, is_in_unless_required;
	} cases[] = {
		{ { .is_loopback = true, .uid = 1000 }, false, true },
		{ { .is_loopback = true, .uid = 0 }, false, true },
		{ { .is_loopback = true, .uid = 1001 }, false, false },
		{ { .is_loopback = true, .uid = (unsigned)-1 }, false, false },
		{ { .is_loopback = true, .is_in_group = true, .uid = 1001 }, false, false },
		{ { .is_loopback = false }, false, false },
		{ { .is_unix = true, .uid = 1000 }, true, true },
		{ { .is_unix = true, .uid = 0 }, true, true },
		{ { .is_unix = true, .uid = 1001 }, false, false },
		{ { .is_unix = true, .is_in_group = true, .uid = 1001 }, false, false },
		{ { .is_unix = true, .uid = (unsigned)-1 }, false, false },
		{ { .certificate = { "CN=x", 4 }, .is_loopback = true }, false, false },
		{ { .bearer = { "", 0 }, .is_loopback = true }, false, false },
		{ { .bearer = { "x", 1 }, .is_unix = true, .uid = 0 }, false, false },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(cases); i++) {
		struct ar_auth_request e = { .credentials = cases[i].shown };

		assert_int_equal(show(node, &e) == AR_OK, cases[i].is_in);
		e = (struct ar_auth_request){ .credentials = cases[i].shown };
		assert_int_equal(show(other, &e) == AR_OK, cases[i].is_in_unless_required);
		if (e.status == AR_OK)
			assert_true(ar_principal_is_operator(&e.who));
	}
}

static void test_a_token_on_both_nodes(void **state AR_UNUSED)
{
	const char *text = create(node, AR_RIGHT_READ);
	struct ar_principal who;

	assert_int_equal(show_token(other, text, &who), AR_OK);
	assert_true(ar_str_is(who.tenant, "acme"));
	assert_int_equal(who.rights, AR_RIGHT_READ);
	assert_false(ar_principal_is_operator(&who));
	assert_true(ar_access_auth(other)->v->is_valid(ar_access_auth(other), &who));
	assert_int_equal(change(node, (struct ar_token_change){ .act = AR_TOKEN_REVOKE,
								.id = ar_str_from(done_id) }),
			 AR_OK);
	assert_int_equal(show_token(node, text, NULL), AR_E_REFUSED);
	elapsed += 2 * SECOND;
	ar_access_tick(other);
	settle();
	assert_false(ar_access_auth(other)->v->is_valid(ar_access_auth(other), &who));
	assert_int_equal(show_token(other, text, NULL), AR_E_REFUSED);
}

/* What one node did is built upon by the other, although it had not seen it yet. */
static void test_changes_meet(void **state AR_UNUSED)
{
	const char *text = create(node, AR_RIGHT_READ);
	struct ar_token_change rotate = { .act = AR_TOKEN_ROTATE,
					  .id = ar_str_from(done_id),
					  .grace = 3600 * SECOND };
	char first[AR_TOKEN_TEXT + 1];

	assert_int_equal(change(other, rotate), AR_OK);
	memcpy(first, done_text, sizeof(first));
	assert_int_equal(change(node, rotate), AR_OK);
	elapsed += 2 * SECOND;
	ar_access_tick(other);
	settle();
	assert_int_equal(show_token(other, text, NULL), AR_OK);
	assert_int_equal(show_token(other, first, NULL), AR_OK);
	assert_int_equal(show_token(other, done_text, NULL), AR_OK);
}

static void test_what_was_opened_ends_with_its_secret(void **state AR_UNUSED)
{
	const char *text = create(node, AR_RIGHT_READ);
	struct ar_auth *d = ar_access_auth(node);
	struct ar_principal who;

	assert_int_equal(show_token(node, text, &who), AR_OK);
	assert_int_equal(change(node, (struct ar_token_change){ .act = AR_TOKEN_ROTATE,
								.id = ar_str_from(done_id),
								.grace = 10 * SECOND }),
			 AR_OK);
	assert_true(d->v->is_valid(d, &who));
	elapsed += 10 * SECOND;
	assert_false(d->v->is_valid(d, &who));
}

static void test_another_tenants_token_is_not_there(void **state AR_UNUSED)
{
	struct ar_principal boss = { .tenant = AR_STR("other"),
				     .actor = AR_STR("token:tok_x"),
				     .token = AR_STR("tok_x"),
				     .rights = AR_RIGHT_ALL };
	const struct ar_token *found[4];

	create(node, AR_RIGHT_READ);
	assert_int_equal(change(node, (struct ar_token_change){ .act = AR_TOKEN_REVOKE,
								.who = &boss,
								.id = ar_str_from(done_id) }),
			 AR_E_REFUSED);
	assert_int_equal(done_code, AR_ERR_TOKEN_NOT_FOUND);
	assert_int_equal(ar_access_list(node,
					&(struct ar_token_query){ .who = &boss, .tenant = AR_STR("acme") },
					found, 4),
			 0);
	assert_int_equal(ar_access_list(node, &(struct ar_token_query){ 0 }, found, 4), 1);
	assert_int_equal(change(node, (struct ar_token_change){ .act = AR_TOKEN_CREATE,
								.who = &boss,
								.tenant = AR_STR("acme"),
								.name = AR_STR("x"),
								.rights = AR_RIGHT_READ }),
			 AR_E_REFUSED);
	assert_int_equal(done_code, AR_ERR_NOT_AUTHORIZED);
}

static size_t count_tokens(const struct ar_access *a)
{
	const struct ar_token *found[8];

	return ar_access_list(a, &(struct ar_token_query){ .with_dead = true }, found, AR_ARRAY_LEN(found));
}

static void wait_days(ar_usec days)
{
	elapsed += days * DAY;
	ar_access_tick(node);
	settle();
}

static size_t count_stored(void)
{
	struct ar_access *fresh = open_node(true);
	size_t count;

	settle();
	count = count_tokens(fresh);
	ar_access_free(fresh);
	return count;
}

static void test_tokens_that_ended_are_kept_for_a_while(void **state AR_UNUSED)
{
	struct ar_token_change expiring = {
		.act = AR_TOKEN_CREATE, .name = AR_STR("short"), .rights = AR_RIGHT_READ, .expires = NOW + DAY
	};
	char revoked[32], living[AR_TOKEN_TEXT + 1];

	create(node, AR_RIGHT_READ);
	memcpy(revoked, done_id, sizeof(revoked));
	assert_int_equal(change(node, expiring), AR_OK);
	assert_int_equal(change(node, (struct ar_token_change){ .act = AR_TOKEN_REVOKE,
								.id = ar_str_from(revoked) }),
			 AR_OK);
	wait_days(10);
	assert_int_equal(count_tokens(node), 2);
	wait_days(2);
	assert_int_equal(count_stored(), 1); /* the newest stays until there is a newer one */
	memcpy(living, create(node, AR_RIGHT_READ), sizeof(living));
	wait_days(1);
	assert_int_equal(count_tokens(node), 1);
	assert_int_equal(count_stored(), 1);
	assert_int_equal(show_token(other, living, NULL), AR_OK);
	assert_int_equal(change(node, (struct ar_token_change){ .act = AR_TOKEN_REVOKE,
								.id = ar_str_from(revoked) }),
			 AR_E_REFUSED);
	assert_int_equal(done_code, AR_ERR_TOKEN_NOT_FOUND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_without_a_token, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_token_on_both_nodes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_changes_meet, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_was_opened_ends_with_its_secret, setup, teardown),
		cmocka_unit_test_setup_teardown(test_another_tenants_token_is_not_there, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tokens_that_ended_are_kept_for_a_while, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
