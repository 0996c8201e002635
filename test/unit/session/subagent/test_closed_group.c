/* Closed children in packs: the state means the same, and a restored one holds nothing of those that nobody
 * looks at. */
#include "apply.h"
#include "base64.h"
#include "compress.h"
#include "desk.h"
#include "closed/closed_group.h"
#include "subagent/subagents.h"

#include <string.h>

#define MANY 100

static int open_desk(void **state)
{
	struct desk *d;

	desk_open(state);
	d = *state;
	d->policy.subagent_depth = 2;
	d->policy.subagents_max = d->policy.subagents_running = MANY;
	desk_submit(d, "a");
	return 0;
}

static const struct ar_shape_subagent_record *newest(struct desk *d)
{
	return ar_subagent_at(&d->session, d->session.subagents.count - 1);
}

static void close_one(struct desk *d, struct ar_str id)
{
	struct ar_cmd_close_subagent_in in = { .subagent_id = id };

	assert_int_equal(desk_command(d, AR_CMD_CLOSE_SUBAGENT, &in), AR_OK);
}

static void answer(struct desk *d, const struct ar_turn *turn)
{
	struct ar_segment segment = { 1, 0, 4 };
	struct ar_step_output out = {
		.step = turn->open_step, .text = AR_STR("done"), .segments = &segment, .segment_count = 1
	};
	struct ar_model_result end = { .outcome = AR_MODEL_COMPLETED,
				       .stop_reason = AR_STR("stop"),
				       .output_tokens = 7,
				       .has_usage = true };

	assert_int_equal(desk_do(d,
				 (struct ar_input){ .kind = AR_IN_MODEL_DONE, .model_done = { &out, &end } }),
			 AR_OK);
}

/* Children of turn "a" that answered, each by a turn of its own, and were closed. */
static void make_closed(struct desk *d, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct ar_cmd_spawn_subagent_in in = { .session_id = d->session.id,
						       .thread_id = desk_thread(d, 0)->id,
						       .turn_id = AR_STR("a"),
						       .objective = AR_STR("look") };

		assert_int_equal(desk_command(d, AR_CMD_SPAWN_SUBAGENT, &in), AR_OK);
		answer(d, ar_thread_active(ar_session_thread(&d->session, newest(d)->child_thread_id)));
		close_one(d, newest(d)->subagent_id);
	}
}

/* The state goes on as what is stored of it. */
static void store_and_restore(struct desk *d)
{
	struct ar_buf text = { 0 };
	struct ar_session fresh;
	struct ar_json v;

	ar_session_snapshot_packed(&d->session, &text);
	ar_session_init(&fresh, d->session.session_key, d->json);
	assert_int_equal(ar_json_parse(d->decide_json, ar_buf_str(&text), &v, &d->err), AR_OK);
	assert_int_equal(ar_session_restore(&fresh, v, &d->err), AR_OK);
	ar_session_fini(&d->session);
	d->session = fresh;
	ar_buf_fini(&text);
}

/* How many packs nobody opened. */
static size_t packed(struct desk *d)
{
	size_t count = 0;

	for (size_t i = 0; i < d->session.packs.count; i++)
		count += !((const struct ar_closed_group *)d->session.packs.at[i])->is_open;
	return count;
}

static struct ar_buf whole(const struct ar_session *s)
{
	struct ar_buf text = { 0 };

	ar_session_snapshot(s, &text);
	return text;
}

static void expect_same(struct ar_buf before, const struct ar_session *s)
{
	struct ar_buf after = whole(s);

	assert_true(ar_str_eq(ar_buf_str(&before), ar_buf_str(&after)));
	ar_buf_fini(&before);
	ar_buf_fini(&after);
}

/* ---- what is kept ---- */

static void test_packs_are_the_same_state(void **state)
{
	struct desk *d = *state;
	struct ar_buf before;

	make_closed(d, 50);
	before = whole(&d->session);
	store_and_restore(d);
	assert_int_equal(packed(d), 2);
	store_and_restore(d); /* packs are stored again as they are */
	assert_int_equal(packed(d), 2);
	assert_int_equal(d->session.subagents.count, 50);
	assert_int_equal(d->session.threads.count, 51);
	expect_same(before, &d->session);
	assert_int_equal(packed(d), 0);
}

/* Four times as many closed children take hardly more memory when the session is opened. */
static void test_closed_children_take_no_room(void **state)
{
	struct desk *d = *state;
	size_t few;

	make_closed(d, AR_CLOSED_GROUP_SIZE + AR_CLOSED_SPARED + 3);
	store_and_restore(d);
	few = d->session.arena.total;
	make_closed(d, 4 * AR_CLOSED_GROUP_SIZE);
	store_and_restore(d);
	assert_int_equal(packed(d), 5);
	assert_true(d->session.arena.total < 2 * few);
}

static void test_few_are_not_packed(void **state)
{
	struct desk *d = *state;
	struct ar_buf one, two = { 0 };

	make_closed(d, AR_CLOSED_GROUP_SIZE);
	one = whole(&d->session);
	ar_session_snapshot_packed(&d->session, &two);
	assert_true(ar_str_eq(ar_buf_str(&one), ar_buf_str(&two)));
	ar_buf_fini(&one);
	ar_buf_fini(&two);
}

/* ---- what is looked up ---- */

/* The id of what the first child has of it. */
static struct ar_str id_of(struct desk *d, const char *what)
{
	const struct ar_shape_subagent_record *r = ar_subagent_whole(&d->session, 0);
	const struct ar_turn *turn = ar_session_thread(&d->session, r->child_thread_id)->turns.at[0];

	if (strcmp(what, "turn") == 0)
		return turn->id;
	if (strcmp(what, "task") == 0)
		return turn->task->id;
	return strcmp(what, "thread") == 0 ? turn->thread : r->subagent_id;
}

static bool is_found(const struct ar_session *s, const char *what, struct ar_str id)
{
	struct ar_thread *t;

	if (strcmp(what, "turn") == 0)
		return ar_session_turn(s, id, &t);
	if (strcmp(what, "task") == 0)
		return ar_session_any_task(s, id);
	return strcmp(what, "thread") == 0 ? ar_session_thread(s, id) && ar_session_subagent_in(s, id)
					   : ar_session_subagent(s, id) != NULL;
}

static void test_a_lookup_opens_one_pack(void **state)
{
	static const char *const kinds[] = { "subagent", "thread", "turn", "task" };
	struct ar_arena kept = { 0 };
	struct desk *d = *state;

	make_closed(d, 50);
	for (size_t i = 0; i < AR_ARRAY_LEN(kinds); i++) {
		struct ar_str id = ar_arena_str(&kept, id_of(d, kinds[i]));

		store_and_restore(d);
		assert_int_equal(packed(d), 2);
		assert_false(is_found(&d->session, kinds[i], AR_STR("turn_of_nobody")));
		assert_false(is_found(&d->session, kinds[i], AR_STR_NONE));
		assert_false(is_found(&d->session, kinds[i], AR_STR("")));
		assert_int_equal(packed(d), 2);
		assert_true(is_found(&d->session, kinds[i], id));
		assert_int_equal(packed(d), 1);
	}
	ar_arena_fini(&kept);
}

/* What a copy of the struct opens is open in the session. */
static void test_a_copy_opens_packs_too(void **state)
{
	struct desk *d = *state;
	struct ar_session copy;

	make_closed(d, 50);
	store_and_restore(d);
	copy = d->session;
	assert_false(ar_str_absent(ar_subagent_whole(&copy, 0)->subagent_id));
	assert_int_equal(packed(d), 1);
	assert_true(ar_subagent_whole(&d->session, 0) == ar_subagent_at(&copy, 0));
	make_closed(d, 1);
	close_one(d, ar_subagent_at(&d->session, 0)->subagent_id);
	store_and_restore(d);
	assert_int_equal(packed(d), 2);
	ar_closed_groups_open_all(&d->session);
	assert_int_equal(d->session.subagents.count, 51);
}

/* ---- what happens to them ---- */

/* As to one that is in no pack: it does not go on, and a repeated close does nothing. */
static void test_a_packed_child_is_closed(void **state)
{
	struct desk *d = *state;
	struct ar_cmd_resume_subagent_in again = { .input = AR_STR("\"once more\"") };
	struct ar_arena kept = { 0 };

	make_closed(d, 50);
	again.subagent_id = ar_arena_str(&kept, ar_subagent_at(&d->session, 0)->subagent_id);
	desk_expect_refusal(d, desk_command(d, AR_CMD_RESUME_SUBAGENT, &again), AR_ERR_SUBAGENT_CLOSED);
	store_and_restore(d);
	desk_expect_refusal(d, desk_command(d, AR_CMD_RESUME_SUBAGENT, &again), AR_ERR_SUBAGENT_CLOSED);
	assert_int_equal(packed(d), 1);
	store_and_restore(d);
	close_one(d, again.subagent_id);
	desk_expect(d, "");
	ar_arena_fini(&kept);
}

/* A fact about a packed child, as an older version may have written it after the close, changes it. */
static void test_a_fact_about_a_packed_child(void **state)
{
	struct desk *d = *state;
	struct ar_str id;

	make_closed(d, 50);
	store_and_restore(d);
	ar_apply_subagent_spent(&d->session, ar_subagent_whole(&d->session, 0)->child_thread_id,
				(struct ar_subagent_use){ .tokens = 3 });
	id = ar_subagent_at(&d->session, 0)->subagent_id;
	assert_int_equal(ar_session_subagent(&d->session, id)->spent->tokens.v, 10);
	assert_int_equal(ar_subagents_held(&d->session, desk_active(d), AR_QUOTA_TOKENS), 50 * 7 + 3);
}

static void test_closed_ones_count_as_before(void **state)
{
	struct desk *d = *state;
	struct ar_buf before;

	make_closed(d, 50);
	assert_int_equal(ar_subagents_held(&d->session, desk_active(d), AR_QUOTA_TOKENS), 50 * 7);
	assert_int_equal(ar_session_open_subagents(&d->session, AR_STR_NONE), 0);
	store_and_restore(d);
	assert_int_equal(ar_subagents_held(&d->session, desk_active(d), AR_QUOTA_TOKENS), 50 * 7);
	assert_int_equal(ar_session_open_subagents(&d->session, AR_STR_NONE), 0);
	make_closed(d, 1);
	assert_int_equal(packed(d), 2);
	assert_int_equal(ar_subagents_held(&d->session, desk_active(d), AR_QUOTA_TOKENS), 51 * 7);
	before = whole(&d->session);
	store_and_restore(d);
	expect_same(before, &d->session);
}

/* ---- what is refused ---- */

static void expect_corrupt(struct desk *d, const char *text)
{
	struct ar_session fresh;
	struct ar_json v;

	ar_session_init(&fresh, d->session.session_key, d->json);
	assert_int_equal(ar_json_parse(d->decide_json, ar_str_from(text), &v, &d->err), AR_OK);
	assert_int_equal(ar_session_restore(&fresh, v, &d->err), AR_E_CORRUPT);
	ar_session_fini(&fresh);
}

/* A snapshot whose packs do not fit its lists: here the number of one, in its place in a list. */
static void test_a_stub_needs_its_pack(void **state)
{
	struct desk *d = *state;
	struct ar_buf text = { 0 };
	char *at;

	make_closed(d, 50);
	ar_session_snapshot_packed(&d->session, &text);
	ar_buf_addc(&text, 0);
	at = strstr(text.p, ",0,0,");
	assert_non_null(at);
	at[1] = '7';
	expect_corrupt(d, text.p);
	at[1] = '1'; /* of another pack: one too many there */
	expect_corrupt(d, text.p);
	ar_buf_fini(&text);
}

/* ---- what cannot be read ---- */

static struct ar_str base64_of(struct ar_arena *a, const char *json)
{
	return ar_base64(a, ar_compress(a, ar_str_from(json)));
}

static void expect_unreadable(struct desk *d, struct ar_str id)
{
	const struct ar_shape_subagent_record *r = ar_subagent_whole(&d->session, 0);
	struct ar_cmd_resume_subagent_in again = { .subagent_id = id, .input = AR_STR("\"once more\"") };
	struct ar_buf text = { 0 };

	assert_true(ar_subagent_is_closed(r));
	assert_true(ar_str_is(r->status_detail, "unavailable"));
	assert_null(ar_session_subagent(&d->session, id));
	desk_expect_refusal(d, desk_command(d, AR_CMD_RESUME_SUBAGENT, &again), AR_ERR_SUBAGENT_NOT_FOUND);
	ar_session_snapshot(&d->session, &text); /* differs from the fold, which a verification finds */
	ar_buf_fini(&text);
	assert_int_equal(d->session.subagents.count, 50);
	assert_int_equal(d->session.threads.count, 51);
}

/* A group whose content is not what was written: nobody's end, and nothing more is lost by it. */
static void test_an_unreadable_pack_is_said_to_be_so(void **state)
{
	struct desk *d = *state;
	struct ar_arena kept = { 0 };
	struct ar_closed_group *p;
	struct ar_str id, last, good;

	make_closed(d, 50);
	id = ar_arena_str(&kept, ar_subagent_at(&d->session, 0)->subagent_id);
	last = ar_arena_str(&kept, ar_subagent_at(&d->session, AR_CLOSED_GROUP_SIZE)->subagent_id);
	store_and_restore(d);
	p = d->session.packs.at[0];
	good = ar_arena_str(&kept, p->body);
	const struct ar_str bodies[] = { AR_STR("!"),
					 ar_str_sub(good, 0, 100),
					 base64_of(&kept, "{"),
					 base64_of(&kept, "{}"),
					 base64_of(&kept, "{\"threads\":[{}],\"subagents\":[]}"),
					 ar_base64(&kept, AR_STR("plain")) };

	for (size_t i = 0; i < AR_ARRAY_LEN(bodies); i++) {
		((struct ar_closed_group *)d->session.packs.at[0])->body = ar_arena_str(&kept, bodies[i]);
		expect_unreadable(d, id);
		assert_non_null(ar_session_subagent(&d->session, last)); /* of another group */
		store_and_restore(d);
		expect_unreadable(d, id);
		store_and_restore(d);
		assert_int_equal(packed(d), 2);
	}
	((struct ar_closed_group *)d->session.packs.at[0])->body = good;
	assert_non_null(ar_session_subagent(&d->session, id));
	ar_arena_fini(&kept);
}

/* The oldest closed ones leave when there are too many; one that cannot be read keeps its place. */
static void test_an_unreadable_pack_outlives_the_window(void **state)
{
	struct desk *d = *state;

	make_closed(d, 50);
	store_and_restore(d);
	((struct ar_closed_group *)d->session.packs.at[0])->body = AR_STR("!");
	make_closed(d, 470);
	store_and_restore(d);
	assert_true(ar_str_is(ar_subagent_whole(&d->session, 0)->status_detail, "unavailable"));
	assert_int_equal(d->session.subagents.count, 520 - 4);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_desk, desk_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_packs_are_the_same_state),
		TEST(test_closed_children_take_no_room),
		TEST(test_few_are_not_packed),
		TEST(test_a_lookup_opens_one_pack),
		TEST(test_a_packed_child_is_closed),
		TEST(test_a_fact_about_a_packed_child),
		TEST(test_closed_ones_count_as_before),
		TEST(test_a_stub_needs_its_pack),
		TEST(test_a_copy_opens_packs_too),
		TEST(test_an_unreadable_pack_is_said_to_be_so),
		TEST(test_an_unreadable_pack_outlives_the_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
