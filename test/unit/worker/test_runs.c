/* Checkpoints, inspections and folders on a worker: what is asked for arrives whole, as does the result. */
#include "rig.h"

#include <stdio.h>

static struct rig *connected(void **state)
{
	struct rig *r = *state;

	rig_connect(r);
	rig_run(r);
	assert_int_equal(rig_status(r).state, AR_WORKER_CONNECTED);
	return r;
}

struct seen {
	struct ar_checkpoint_run run;
	struct ar_inspect_run look;
	struct ar_worker_folder folder;
	int done;
	enum ar_status status;
	char text[64];
};

static void on_checkpoint(struct ar_checkpoint_run *run, const struct ar_checkpoint_result *result)
{
	struct seen *s = AR_CONTAINER_OF(run, struct seen, run);

	s->done++;
	s->status = result->status;
	if (ar_str_absent(result->id))
		return;
	snprintf(s->text, sizeof(s->text), "%.*s %.*s %.*s %d %d %d", AR_STR_ARG(result->id),
		 AR_STR_ARG(result->base), AR_STR_ARG(result->conflicts), result->is_shared,
		 (int)result->changed, result->artifact_count == 1 ? (int)result->artifacts[0].size : 0);
}

static void on_inspected(struct ar_inspect_run *run, const struct ar_inspected *found)
{
	struct seen *s = AR_CONTAINER_OF(run, struct seen, look);
	struct ar_str text = ar_str_absent(found->instructions) ? found->reason : found->instructions;

	s->done++;
	snprintf(s->text, sizeof(s->text), "%.*s", AR_STR_ARG(text));
}

static void on_definitions(struct ar_inspect_run *run, const struct ar_inspected *found)
{
	struct seen *s = AR_CONTAINER_OF(run, struct seen, look);
	const struct ar_definition *of = found->definitions;

	s->done++;
	s->status = ar_str_absent(found->digest) ? AR_E_UNAVAILABLE : AR_OK;
	if (found->definition_count == 2)
		snprintf(s->text, sizeof(s->text), "%.*s|%.*s|%.*s|%zu|%.*s|%.*s|%d", AR_STR_ARG(of[0].name),
			 AR_STR_ARG(of[0].text), AR_STR_ARG(of[1].tools.at[0]), of[1].tools.count,
			 AR_STR_ARG(of[1].mode), AR_STR_ARG(of[1].isolation), of[0].tools.at != NULL);
}

static void on_folder(struct ar_worker_folder *f)
{
	struct seen *s = AR_CONTAINER_OF(f, struct seen, folder);

	s->done++;
	s->status = f->status;
	snprintf(s->text, sizeof(s->text), "%.*s", ar_str_absent(f->folder) ? 0 : (int)f->folder.len,
		 f->folder.p);
}

static struct ar_checkpoint_run run_of(const struct rig *r, const char *tenant)
{
	return (struct ar_checkpoint_run){ .kind = AR_CHECKPOINT_MERGE,
					   .origin = AR_STR("/files/o"),
					   .label = AR_STR("merge_1"),
					   .side = AR_MERGE_SIDE_SESSION,
					   .isolation = AR_ISOLATION_OVERLAY,
					   .keep_days = 30,
					   .tenant = ar_str_from(tenant),
					   .workspace_id = AR_STR("ws_1"),
					   .folder = AR_STR("/files/w"),
					   .session_id = AR_STR("sess_1"),
					   .worker = WORKER,
					   .deadline = r->now + 60000000,
					   .on_done = on_checkpoint };
}

static void checkpoints_run_there(void **state)
{
	struct rig *r = connected(state);
	struct ar_checkpoints *front = ar_worker_set_ports(r->set)->checkpoints;
	struct seen s = { .run = run_of(r, "tenant") };

	front->v->start(front, &s.run);
	rig_run(r);
	assert_int_equal(fake_begins(&r->there, "ws_1"), 1);
	rig_cut(r);
	rig_connect(r);
	rig_run(r);
	fake_finish_first(&r->there);
	rig_run(r);
	assert_int_equal(s.done, 1);
	assert_int_equal(s.status, AR_OK);
	assert_string_equal(s.text, "abc merge_1 [\"a\"] 1 30 7");
	s = (struct seen){ .run = run_of(r, "another") };
	front->v->start(front, &s.run);
	rig_run(r);
	assert_int_equal(s.status, AR_E_UNAVAILABLE);
	s = (struct seen){ .run = run_of(r, "tenant") };
	s.run.origin = AR_STR("/etc/o");
	front->v->start(front, &s.run);
	rig_run(r);
	assert_int_equal(s.status, AR_E_UNAVAILABLE);
	assert_int_equal(fake_begins(&r->there, "ws_1"), 1);
}

static void a_checkpoint_ends_at_its_deadline(void **state)
{
	struct rig *r = connected(state);
	struct ar_checkpoints *front = ar_worker_set_ports(r->set)->checkpoints;
	struct seen s = { .run = run_of(r, "tenant") };

	front->v->start(front, &s.run);
	rig_run(r);
	rig_wait(r, 60000);
	assert_int_equal(s.done, 0);
	rig_wait(r, 5000);
	assert_int_equal(s.status, AR_E_TIMEOUT);
	rig_run(r);
	assert_int_equal(s.done, 1);
}

static void folders_and_inspections(void **state)
{
	struct rig *r = connected(state);
	const struct ar_worker_ports *front = ar_worker_set_ports(r->set);
	struct ar_arena a = { 0 };
	struct seen s = { .look = {
				  .folder = AR_STR("/files/w"), .worker = WORKER, .on_done = on_inspected } };

	front->inspector->v->start(front->inspector, &s.look);
	rig_run(r);
	assert_string_equal(s.text, "be kind");
	front->inspector->v->start(front->inspector, &s.look);
	r->holds_messages = true;
	rig_wait(r, 2000);
	r->holds_messages = false;
	assert_int_equal(s.done, 2);
	assert_string_not_equal(s.text, "be kind");
	rig_run(r);
	s = (struct seen){ .folder = { .home = AR_STR("home"),
				       .key = AR_STR("key"),
				       .worker = WORKER,
				       .arena = &a,
				       .done = on_folder } };
	front->find_folder(front->folder_arg, &s.folder);
	rig_run(r);
	assert_int_equal(s.status, AR_OK);
	assert_string_equal(s.text, "/files/home/key");
	ar_arena_fini(&a);
}

/* Skills and agents come over as they are; a worker cannot send what no file could have brought. */
static void definitions_are_checked(void **state)
{
	struct rig *r = connected(state);
	const struct ar_worker_ports *front = ar_worker_set_ports(r->set);
	struct ar_definition list[] = { { .kind = AR_INSPECT_SKILL,
					  .name = AR_STR("tea"),
					  .description = AR_STR("d"),
					  .path = AR_STR("p"),
					  .text = AR_STR("boil") },
					{ .kind = AR_INSPECT_AGENT,
					  .name = AR_STR("rev"),
					  .description = AR_STR("d"),
					  .path = AR_STR("p"),
					  .text = AR_STR(""),
					  .tools = AR_TEXTS(AR_STR("look"), AR_STR("x")),
					  .mode = AR_STR("plan"),
					  .isolation = AR_STR("worktree") } };
	struct seen s = {
		.look = { .folder = AR_STR("/files/w"), .worker = WORKER, .on_done = on_definitions }
	};

	r->there.definitions = list;
	r->there.definition_count = 2;
	front->inspector->v->start(front->inspector, &s.look);
	rig_run(r);
	assert_int_equal(s.status, AR_OK);
	assert_string_equal(s.text, "tea|boil|look|2|plan|worktree|0");
	list[0].name = AR_STR("a\nb");
	front->inspector->v->start(front->inspector, &s.look);
	rig_run(r);
	rig_wait(r, 3000);
	assert_int_equal(s.done, 2);
	assert_int_equal(s.status, AR_E_UNAVAILABLE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_open, rig_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(checkpoints_run_there),
		TEST(a_checkpoint_ends_at_its_deadline),
		TEST(folders_and_inspections),
		TEST(definitions_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
