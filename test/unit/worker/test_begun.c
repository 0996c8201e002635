/* The list of calls that have begun: it survives, it is bounded, and a full disk stops calls. */
#include "begun.h"
#include "cmocka_unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

struct bench {
	uv_loop_t loop;
	char dir[64], file[96], old[96];
	struct ar_begun *begun;
	struct ar_begun_wait wait;
	int durable, failed;
};

static int open_bench(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	assert_int_equal(uv_loop_init(&b->loop), 0);
	snprintf(b->dir, sizeof(b->dir), "/tmp/ar-begun-XXXXXX");
	assert_non_null(mkdtemp(b->dir));
	snprintf(b->file, sizeof(b->file), "%s/begun", b->dir);
	snprintf(b->old, sizeof(b->old), "%s/begun.old", b->dir);
	b->begun = ar_begun_open(&b->loop, ar_str_from(b->dir), NULL);
	assert_non_null(b->begun);
	*state = b;
	return 0;
}

static int close_bench(void **state)
{
	struct bench *b = *state;

	if (b->begun)
		ar_begun_close(b->begun);
	uv_run(&b->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&b->loop), 0);
	unlink(b->file);
	unlink(b->old);
	rmdir(b->dir);
	free(b);
	return 0;
}

static void reopen(struct bench *b)
{
	ar_begun_close(b->begun);
	uv_run(&b->loop, UV_RUN_DEFAULT);
	b->begun = ar_begun_open(&b->loop, ar_str_from(b->dir), NULL);
	assert_non_null(b->begun);
}

static void on_sync(struct ar_begun_wait *w, bool is_durable)
{
	struct bench *b = AR_CONTAINER_OF(w, struct bench, wait);

	b->durable += is_durable;
	b->failed += !is_durable;
}

static void it_survives(void **state)
{
	struct bench *b = *state;

	assert_int_equal(ar_begun_add(b->begun, AR_STR("t:one")), AR_OK);
	b->wait.done = on_sync;
	ar_begun_sync(b->begun, &b->wait);
	assert_int_equal(b->durable, 0);
	uv_run(&b->loop, UV_RUN_DEFAULT);
	assert_int_equal(b->durable, 1);
	reopen(b);
	assert_true(ar_begun_has(b->begun, AR_STR("t:one")));
	assert_false(ar_begun_has(b->begun, AR_STR("t:on")));
}

static void a_line_that_was_cut_is_nothing(void **state)
{
	struct bench *b = *state;
	int fd = open(b->file, O_WRONLY | O_APPEND);

	assert_int_equal(write(fd, "t:whole\nt:hal", 13), 13);
	close(fd);
	reopen(b);
	assert_true(ar_begun_has(b->begun, AR_STR("t:whole")));
	assert_false(ar_begun_has(b->begun, AR_STR("t:hal")));
	assert_int_equal(ar_begun_add(b->begun, AR_STR("t:next")), AR_OK);
	reopen(b);
	assert_true(ar_begun_has(b->begun, AR_STR("t:next")));
	assert_false(ar_begun_has(b->begun, AR_STR("t:halt:next")));
}

static void it_is_bounded_and_keeps_the_newest(void **state)
{
	struct bench *b = *state;
	struct stat st;
	char ref[32];

	for (int i = 0; i < 3 * AR_BEGUN_LINES + 5; i++) {
		snprintf(ref, sizeof(ref), "t:call_%d", i);
		assert_int_equal(ar_begun_add(b->begun, ar_str_from(ref)), AR_OK);
	}
	reopen(b);
	assert_true(ar_begun_count(b->begun) <= 2 * AR_BEGUN_LINES);
	assert_true(ar_begun_has(b->begun, ar_str_from(ref)));
	snprintf(ref, sizeof(ref), "t:call_%d", 2 * AR_BEGUN_LINES + 5);
	assert_true(ar_begun_has(b->begun, ar_str_from(ref)));
	assert_false(ar_begun_has(b->begun, AR_STR("t:call_0")));
	assert_int_equal(stat(b->file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

static void a_folder_has_one_worker(void **state)
{
	struct bench *b = *state;
	struct ar_error err = { 0 };

	assert_null(ar_begun_open(&b->loop, ar_str_from(b->dir), &err));
	assert_non_null(strstr(err.msg, "in use"));
	assert_null(ar_begun_open(&b->loop, AR_STR("/nonexistent/x"), &err));
}

/* A disk that is full in the middle of a line. */
static void nothing_begins_that_cannot_be_written(void **state)
{
	struct bench *b = *state;
	struct rlimit old, small;

	assert_int_equal(ar_begun_add(b->begun, AR_STR("t:one")), AR_OK);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	signal(SIGXFSZ, SIG_IGN);
	small = old;
	small.rlim_cur = 8;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(ar_begun_add(b->begun, AR_STR("t:two")), AR_E_IO);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_false(ar_begun_has(b->begun, AR_STR("t:two")));
	assert_int_equal(ar_begun_add(b->begun, AR_STR("t:three")), AR_OK);
	reopen(b);
	assert_true(ar_begun_has(b->begun, AR_STR("t:one")));
	assert_true(ar_begun_has(b->begun, AR_STR("t:three")));
	assert_int_equal(ar_begun_count(b->begun), 2);
}

static void closing_answers_those_who_wait(void **state)
{
	struct bench *b = *state;

	b->wait.done = on_sync;
	ar_begun_sync(b->begun, &b->wait);
	ar_begun_close(b->begun);
	b->begun = NULL;
	uv_run(&b->loop, UV_RUN_DEFAULT);
	assert_int_equal(b->failed, 1);
	assert_int_equal(b->durable, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_bench, close_bench)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(it_survives),
		TEST(a_line_that_was_cut_is_nothing),
		TEST(it_is_bounded_and_keeps_the_newest),
		TEST(a_folder_has_one_worker),
		TEST(nothing_begins_that_cannot_be_written),
		TEST(closing_answers_those_who_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
