/* Artifacts in the pure core: what a call changed becomes facts without bytes, and the state keeps the
 * newest. */
#include "artifact/artifact.h"
#include "desk.h"
#include "json.h"

#include <stdio.h>
#include <string.h>

static const struct ar_tool put = { .name = AR_STR("put"),
				    .description = AR_STR("Puts."),
				    .schema = AR_STR("{\"type\":\"object\"}"),
				    .owner = AR_TOOL_LOCAL };
static const struct ar_tool *const tools[] = { &put };
static const struct ar_inventory inventory = { tools, AR_ARRAY_LEN(tools), 1, true };

#define ONE "1111111111111111111111111111111111111111111111111111111111111111"
#define TWO "2222222222222222222222222222222222222222222222222222222222222222"

/* The model of the running turn asks for one more call. */
static void ask_for_call(struct desk *d)
{
	struct ar_tool_use use = { AR_STR("call"), AR_STR("put"), AR_STR("{}") };
	struct ar_step_output out = { .tools = &use, .tool_count = 1, .text = AR_STR("") };

	out.step = desk_active(d)->open_step;
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_MODEL_DONE,
						       .model_done = { .output = &out,
								       .end =
									       &(struct ar_model_result){
										       .outcome = 1 } } }),
			 AR_OK);
}

static void begin(struct desk *d, const char *turn)
{
	d->policy.inventory = &inventory;
	d->policy.permission_mode = AR_MODE_BYPASS;
	d->policy.max_rounds = 10;
	assert_int_equal(desk_submit(d, turn), AR_OK);
}

static struct ar_str newest_call(struct desk *d)
{
	const struct ar_vec *calls = &desk_active(d)->calls;

	return ((const struct ar_invocation *)calls->at[calls->count - 1])->id;
}

static void change(struct desk *d, const struct ar_tool_artifact *files, size_t count)
{
	ask_for_call(d);
	desk_end_call(d, newest_call(d),
		      &(struct ar_tool_result){ .outcome = AR_TOOL_OK,
						.text = AR_STR("done"),
						.artifacts = files,
						.artifact_count = count });
}

static struct ar_tool_artifact file(const char *path, const char *version, const char *content)
{
	return (struct ar_tool_artifact){ .path = ar_str_from(path),
					  .change = AR_TOOL_MODIFIED,
					  .version = ar_str_from(version),
					  .content = ar_str_from(content),
					  .diff = AR_STR("--- a\n+++ b\n"),
					  .size = (int64_t)strlen(content) };
}

static size_t facts(struct desk *d, enum ar_event_type type)
{
	size_t n = 0;

	for (size_t i = 0; i < d->decision.event_count; i++)
		n += d->decision.events[i].type == type;
	return n;
}

static size_t place(struct desk *d, enum ar_event_type type)
{
	size_t i = 0;

	while (i < d->decision.event_count && d->decision.events[i].type != type)
		i++;
	return i;
}

static const struct ar_shape_artifact_record *only(struct desk *d)
{
	assert_int_equal(d->session.artifacts.count, 1);
	return ar_artifact_at(&d->session.artifacts, 0);
}

static void two_writes_are_one_id_and_two_versions(void **state)
{
	struct desk *d = *state;
	struct ar_tool_artifact first = file("a.txt", ONE, "one"), second = file("a.txt", TWO, "two");
	char id[80];

	begin(d, "a");
	first.change = AR_TOOL_CREATED;
	change(d, &first, 1);
	desk_expect_payload(d, AR_EV_ARTIFACT_CHANGED, "\"change\":\"produced\"");
	snprintf(id, sizeof(id), "%.*s", AR_STR_ARG(only(d)->artifact_id));
	assert_true(ar_str_eq(ar_id_owner(ar_str_from(id)), d->session.session_key));
	change(d, &second, 1);
	desk_expect_payload(d, AR_EV_ARTIFACT_CHANGED, "\"change\":\"updated\"");
	assert_true(ar_str_is(only(d)->artifact_id, id));
	assert_true(ar_str_is(only(d)->version_id, TWO));
	assert_int_equal(only(d)->versions, 2);
	assert_int_equal(d->session.versions.count, 1);
	assert_true(ar_str_is(ar_artifact_at(&d->session.versions, 0)->version_id, ONE));
}

static void facts_come_before_the_result_without_bytes(void **state)
{
	struct desk *d = *state;
	struct ar_tool_artifact f = file("a.txt", ONE, "needle in a file");

	begin(d, "a");
	change(d, &f, 1);
	assert_true(place(d, AR_EV_ARTIFACT_CHANGED) < place(d, AR_EV_TOOL_RESULT));
	assert_null(strstr(desk_payload(d, AR_EV_ARTIFACT_CHANGED), "needle"));
	desk_expect_payload(d, AR_EV_ARTIFACT_CHANGED, "\"state\":\"available\"");
	desk_expect_payload(d, AR_EV_ARTIFACT_CHANGED, "\"diffRef\":\"blob_");
	desk_expect_payload(d, AR_EV_TOOL_RESULT, "\"artifactRefs\":[\"artifact_");
	assert_int_equal(desk_answer(d, "done"), AR_OK);
	desk_expect_payload(d, AR_EV_TURN_COMPLETED, "\"artifactRefs\":[\"artifact_");
}

static void a_version_without_bytes_is_unavailable(void **state)
{
	struct desk *d = *state;
	struct ar_tool_artifact f = file("a.txt", ONE, "");

	begin(d, "a");
	f.content = f.diff = AR_STR_NONE;
	change(d, &f, 1);
	desk_expect_payload(d, AR_EV_ARTIFACT_CHANGED, "\"state\":\"unavailable\"");
	desk_expect_payload(d, AR_EV_ARTIFACT_CHANGED, "\"readRef\":\"artifact_");
	assert_null(strstr(desk_payload(d, AR_EV_ARTIFACT_CHANGED), "previewRef"));
}

static void a_deleted_file_is_a_version_of_its_own(void **state)
{
	struct desk *d = *state;
	struct ar_tool_artifact f = file("a.txt", ONE, "one"),
				gone = { .path = AR_STR("a.txt"), .change = AR_TOOL_DELETED };

	begin(d, "a");
	change(d, &f, 1);
	change(d, &gone, 1);
	desk_expect_payload(d, AR_EV_ARTIFACT_CHANGED, "\"state\":\"deleted\"");
	assert_int_equal(only(d)->versions, 2);
	change(d, &f, 1); /* it is back: the same bytes are a change again */
	assert_int_equal(only(d)->versions, 3);
}

static void a_file_that_is_told_twice_is_one_fact(void **state)
{
	struct desk *d = *state;
	struct ar_tool_artifact f[] = { file("a.txt", ONE, "one"), file("a.txt", ONE, "one") };
	const char *refs;

	begin(d, "a");
	change(d, f, 2);
	assert_int_equal(facts(d, AR_EV_ARTIFACT_CHANGED), 1);
	assert_int_equal(only(d)->versions, 1);
	refs = strstr(desk_payload(d, AR_EV_TOOL_RESULT), "artifact_");
	assert_non_null(refs);
	assert_null(strstr(refs + 1, "artifact_"));
}

static void binary_files_have_no_preview(void **state)
{
	struct desk *d = *state;
	struct ar_tool_artifact f = file("a.bin", ONE, "");

	begin(d, "a");
	f.content = (struct ar_str){ "\0\xff\x01", 3 };
	f.diff = AR_STR_NONE;
	change(d, &f, 1);
	desk_expect_payload(d, AR_EV_ARTIFACT_CHANGED, "\"state\":\"available\"");
	assert_null(strstr(desk_payload(d, AR_EV_ARTIFACT_CHANGED), "previewRef"));
}

static void ten_thousand_files_are_bounded(void **state)
{
	enum { COUNT = 10000 };
	struct desk *d = *state;
	static struct ar_tool_artifact files[COUNT];
	static char paths[COUNT][16];

	for (size_t i = 0; i < COUNT; i++) {
		snprintf(paths[i], sizeof(paths[i]), "f%zu", i);
		files[i] = file(paths[i], ONE, "x");
	}
	begin(d, "a");
	change(d, files, COUNT);
	assert_int_equal(facts(d, AR_EV_ARTIFACT_CHANGED), AR_ARTIFACTS_PER_CALL);
	desk_expect_payload(d, AR_EV_RUNTIME_WARNING, "9744 of 10000");
	for (size_t i = 0; i < 3; i++)
		change(d, files + (i + 1) * AR_ARTIFACTS_PER_CALL, AR_ARTIFACTS_PER_CALL);
	assert_int_equal(d->session.artifacts.count, AR_WINDOW_ARTIFACTS);
	assert_int_equal(d->session.artifacts_left.v, 4 * AR_ARTIFACTS_PER_CALL - AR_WINDOW_ARTIFACTS);
}

static void long_and_hostile_paths_are_cut_and_differ(void **state)
{
	struct desk *d = *state;
	static char path[2][16384];
	struct ar_tool_artifact f[2];

	for (size_t i = 0; i < 2; i++) {
		memset(path[i], 'x', sizeof(path[i]) - 2);
		path[i][sizeof(path[i]) - 2] = (char)('a' + i);
		f[i] = file(path[i], ONE, "x");
	}
	begin(d, "a");
	change(d, f, 2);
	assert_int_equal(d->session.artifacts.count, 2);
	assert_true(ar_artifact_at(&d->session.artifacts, 0)->path.len <= 4096);
	assert_false(ar_str_eq(ar_artifact_at(&d->session.artifacts, 0)->artifact_id,
			       ar_artifact_at(&d->session.artifacts, 1)->artifact_id));
}

static void a_rollback_names_what_its_turns_changed(void **state)
{
	struct desk *d = *state;
	struct ar_tool_artifact first = file("a.txt", ONE, "one"), second = file("b.txt", TWO, "two");
	const struct ar_shape_rollback_target target = { .turn_id = AR_STR("a") };
	const char *affected;

	begin(d, "a");
	change(d, &first, 1);
	assert_int_equal(desk_answer(d, "done"), AR_OK);
	begin(d, "b");
	change(d, &second, 1);
	assert_int_equal(desk_answer(d, "done"), AR_OK);
	assert_int_equal(desk_command(d, AR_CMD_ROLLBACK_THREAD,
				      &(struct ar_cmd_rollback_thread_in){ .session_id = d->session.id,
									   .thread_id = desk_thread(d, 0)->id,
									   .target = &target }),
			 AR_OK);
	affected = strstr(desk_payload(d, AR_EV_HISTORY_ROLLBACK_COMPLETED), "\"artifacts\":[");
	assert_non_null(affected);
	assert_non_null(strstr(affected, ar_artifact_at(&d->session.artifacts, 1)->artifact_id.p));
	assert_null(strstr(affected, ar_artifact_at(&d->session.artifacts, 0)->artifact_id.p));
}

static void the_snapshot_keeps_all(void **state)
{
	struct desk *d = *state;
	struct ar_tool_artifact first = file("a.txt", ONE, "one"), second = file("a.txt", TWO, "two");
	struct ar_buf before = { 0 }, after = { 0 };
	struct ar_session copy;
	struct ar_json v;

	begin(d, "a");
	change(d, &first, 1);
	change(d, &second, 1);
	ar_session_snapshot(&d->session, &before);
	ar_session_init(&copy, d->session.session_key, d->json);
	assert_int_equal(ar_json_parse(d->decide_json, ar_buf_str(&before), &v, NULL), AR_OK);
	assert_int_equal(ar_session_restore(&copy, v, NULL), AR_OK);
	ar_session_snapshot(&copy, &after);
	assert_true(ar_str_eq(ar_buf_str(&before), ar_buf_str(&after)));
	assert_int_equal(copy.artifacts.count, 1);
	assert_int_equal(copy.versions.count, 1);
	ar_session_fini(&copy);
	ar_buf_fini(&before);
	ar_buf_fini(&after);
}

/* Facts of versions without a list have no kind: snapshots of then must equal the fold of the log now. */
static void facts_of_old_versions_add_nothing(void **state)
{
	struct desk *d = *state;
	struct ar_buf snapshot = { 0 };

	struct ar_ev_artifact_changed old = { .change = AR_ARTIFACT_CHANGED_CHANGE_OBSERVED,
					      .read_ref = AR_STR("report-1"),
					      .version_id = AR_STR("v1") };
	struct ar_event e = { .type = AR_EV_ARTIFACT_CHANGED, .payload = &old };

	begin(d, "a");
	e.sequence = d->session.head + 1;
	e.time = d->now;
	e.ids[AR_SCOPE_ARTIFACT] = AR_STR("report-1");
	assert_int_equal(ar_session_apply(&d->session, &e, &d->err), AR_OK);
	assert_int_equal(d->session.artifacts.count, 0);
	ar_session_snapshot(&d->session, &snapshot);
	ar_buf_addc(&snapshot, '\0');
	assert_null(strstr(snapshot.p, "artifact"));
	ar_buf_fini(&snapshot);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(two_writes_are_one_id_and_two_versions, desk_open,
						desk_close),
		cmocka_unit_test_setup_teardown(facts_come_before_the_result_without_bytes, desk_open,
						desk_close),
		cmocka_unit_test_setup_teardown(a_version_without_bytes_is_unavailable, desk_open,
						desk_close),
		cmocka_unit_test_setup_teardown(a_deleted_file_is_a_version_of_its_own, desk_open,
						desk_close),
		cmocka_unit_test_setup_teardown(a_file_that_is_told_twice_is_one_fact, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(binary_files_have_no_preview, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(ten_thousand_files_are_bounded, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(long_and_hostile_paths_are_cut_and_differ, desk_open,
						desk_close),
		cmocka_unit_test_setup_teardown(a_rollback_names_what_its_turns_changed, desk_open,
						desk_close),
		cmocka_unit_test_setup_teardown(the_snapshot_keeps_all, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(facts_of_old_versions_add_nothing, desk_open, desk_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
