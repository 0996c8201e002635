/* Journals that are damaged, contradict themselves or are large: what is whole is told, nothing else is, and
 * the loop stays free. */
#include "desk_group.h"
#include "journal_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static struct desk_process *attached(const char *handle)
{
	struct desk_process *p = desk_attach(&d, handle);

	desk_wait_end(p);
	return p;
}

static void write_all(const char *path, const char *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	assert_int_equal(write(fd, bytes, len), len);
	close(fd);
}

static size_t read_all(const char *path, char *out, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, out, room);

	assert_in_range(n, 1, room - 1);
	close(fd);
	return (size_t)n;
}

static void assert_honest(struct desk_process *p, const char *whole, bool is_cut)
{
	struct ar_str out = desk_out(p, AR_PROC_STDOUT);

	assert_true(ar_str_starts(ar_str_from(whole), out));
	if (p->end.outcome == AR_PROC_EXITED)
		assert_true(out.len == strlen(whole) && p->end.exit_code == 0);
	/* Not started is said of a whole beginning only. */
	else if (p->end.outcome == AR_PROC_NOT_STARTED)
		assert_true(is_cut && out.len == 0);
	else
		assert_true(p->end.outcome == AR_PROC_SUPERVISOR_LOST && !p->end.exit_is_known);
}

static void flipped_or_cut_anywhere(void **state)
{
	static const char whole[] = "one-two-three";
	char path[200], bytes[4096], broken[4096];
	struct journal_file j;
	size_t len;

	(void)state;
	journal_make(&j, &d);
	journal_begin(&j);
	for (size_t i = 0; i + 1 < sizeof(whole); i++)
		journal_add(&j, AR_RECORD_OUTPUT, AR_STREAM_STDOUT, whole + i, 1);
	journal_end(&j, "{\"code\":0,\"by\":\"itself\"}");
	snprintf(path, sizeof(path), "%s/journal", j.folder);
	len = read_all(path, bytes, sizeof(bytes));
	for (size_t at = 0; at < len; at += 3) {
		bool is_cut = at % 2 == 0;
		struct desk_process *p;

		memcpy(broken, bytes, len);
		broken[at] ^= 0x20;
		write_all(path, broken, is_cut ? at : len);
		p = attached(j.handle);
		assert_honest(p, whole, is_cut);
		desk_free(p);
	}
	journal_close(&j);
}

static void contradictions_end_it(void **state)
{
	static const struct {
		enum ar_record_type type;
		const char *payload;
		int skip; /* of the numbers */
	} rows[] = {
		{ AR_RECORD_OUTPUT, "x", 0 }, /* of no stream */
		{ AR_RECORD_VIOLATION, "not json", 0 },
		{ AR_RECORD_VIOLATION, "[]", 0 },
		{ AR_RECORD_VIOLATION, "{}", 1 },
		{ AR_RECORD_VIOLATION, "{}", -1 },
		{ AR_RECORD_TRUNCATED, "{\"stream\":\"stdout\",\"from\":9,\"to\":2}", 0 },
		{ AR_RECORD_TRUNCATED, "{\"stream\":\"x\",\"from\":1,\"to\":2}", 0 },
		{ AR_RECORD_EXIT, "{\"by\":\"itself\"}", 0 },
		{ AR_RECORD_EXIT, "{\"code\":70000,\"by\":\"itself\"}", 0 },
		{ AR_RECORD_INPUT_WRITTEN, "{\"number\":-1}", 0 },
	};

	(void)state;
	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		struct journal_file j;
		struct desk_process *p;

		journal_make(&j, &d);
		journal_begin(&j);
		journal_add(&j, AR_RECORD_OUTPUT, AR_STREAM_STDOUT, "a", 1);
		j.seq = (uint64_t)((int64_t)j.seq + rows[i].skip);
		journal_say(&j, rows[i].type, rows[i].payload);
		journal_end(&j, "{\"code\":0,\"by\":\"itself\"}");
		p = attached(j.handle);
		assert_int_equal(p->end.outcome, AR_PROC_SUPERVISOR_LOST);
		assert_false(p->end.exit_is_known);
		assert_non_null(strstr(p->message, "damaged"));
		assert_true(ar_str_is(desk_out(p, AR_PROC_STDOUT), "a"));
		desk_free(p);
		journal_close(&j);
	}
}

/* Somebody holds the lock and nobody answers: what the journal says is told, then it is not known. */
static void damaged_and_held(void **state)
{
	struct journal_file j;
	struct desk_process *p;

	(void)state;
	journal_make(&j, &d);
	journal_begin(&j);
	journal_add(&j, AR_RECORD_OUTPUT, AR_STREAM_STDOUT, "a", 1);
	journal_say(&j, AR_RECORD_VIOLATION, "not json");
	journal_lock(&j);
	p = attached(j.handle);
	assert_int_equal(p->end.outcome, AR_PROC_UNAVAILABLE);
	assert_true(ar_str_is(desk_out(p, AR_PROC_STDOUT), "a"));
	desk_free(p);
	journal_close(&j);
}

/* ---- large ones ---- */

static struct {
	int turns;
	size_t most, newest, before;
} seen;

static void count_turn(uv_prepare_t *h)
{
	(void)h;
	seen.turns++;
	seen.most = seen.newest > seen.most ? seen.newest : seen.most;
	seen.newest = 0;
}

static void count_bytes(struct desk_process *p)
{
	size_t now = desk_out(p, AR_PROC_STDOUT).len;

	seen.newest += now - seen.before;
	seen.before = now;
}

static void large_ones_leave_the_loop_free(void **state)
{
	enum { RECORDS = 64, BYTES = AR_JOURNAL_PAYLOAD_MAX };
	struct journal_file j;
	struct desk_process *p;
	static uv_prepare_t prepare;
	char *bytes = test_malloc(BYTES);

	(void)state;
	journal_make(&j, &d);
	journal_begin(&j);
	for (int i = 0; i < RECORDS; i++) {
		memset(bytes, 'a' + i % 26, BYTES);
		journal_add(&j, AR_RECORD_OUTPUT, AR_STREAM_STDOUT, bytes, BYTES);
	}
	journal_end(&j, "{\"code\":0,\"by\":\"itself\"}");
	uv_prepare_init(&d.loop, &prepare);
	uv_prepare_start(&prepare, count_turn);
	p = desk_attach(&d, j.handle);
	p->on_output = count_bytes;
	desk_wait_end(p);
	assert_int_equal(desk_out(p, AR_PROC_STDOUT).len, (size_t)RECORDS * BYTES);
	for (int i = 0; i < RECORDS; i++)
		assert_int_equal(desk_out(p, AR_PROC_STDOUT).p[(size_t)i * BYTES + BYTES / 2], 'a' + i % 26);
	assert_in_range(seen.most, 1, 256 * 1024);
	assert_true(seen.turns >= RECORDS / 4);
	uv_close((uv_handle_t *)&prepare, NULL);
	desk_turn(&d, 1);
	desk_free(p);
	test_free(bytes);
	journal_close(&j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(flipped_or_cut_anywhere, desk_setup, desk_teardown),
		cmocka_unit_test_setup_teardown(contradictions_end_it, desk_setup, desk_teardown),
		cmocka_unit_test_setup_teardown(damaged_and_held, desk_setup, desk_teardown),
		cmocka_unit_test_setup_teardown(large_ones_leave_the_loop_free, desk_setup, desk_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
