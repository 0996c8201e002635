/* The sweep: folders of processes that are over go when nobody asked for them in a day, all others stay. */
#include "desk_group.h"
#include "journal_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define HOUR ((ar_usec)3600 * 1000000)

static void set_age(const struct journal_file *j, ar_usec age)
{
	struct ar_clock *clock = ar_clock_system();
	time_t at = (time_t)((clock->wall(clock) - age) / 1000000);
	struct timespec times[2] = { { .tv_sec = at }, { .tv_sec = at } };
	char path[200];

	snprintf(path, sizeof(path), "%s/journal", j->folder);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void make(struct journal_file *j, ar_usec age)
{
	journal_make(j, &d);
	journal_begin(j);
	journal_end(j, "{\"code\":0,\"by\":\"itself\"}");
	set_age(j, age);
}

static void sweep_all(void)
{
	while (ar_processes_sweep(d.host))
		;
}

static void sweeps_what_is_over_and_old(void **state)
{
	struct journal_file old, young, locked;
	char stranger[200];

	(void)state;
	make(&old, 25 * HOUR);
	make(&young, 23 * HOUR);
	make(&locked, 25 * HOUR);
	journal_lock(&locked);
	snprintf(stranger, sizeof(stranger), "%s/somebody-elses-own-folder-", d.folder);
	assert_int_equal(mkdir(stranger, 0755), 0);
	sweep_all();
	assert_false(desk_exists(old.folder, ""));
	assert_true(desk_exists(young.folder, "journal"));
	assert_true(desk_exists(locked.folder, "journal"));
	assert_true(desk_exists(stranger, ""));
	journal_close(&old);
	journal_close(&young);
	journal_close(&locked);
}

/* Its shim was killed: what it ran may still be there. */
static void keeps_what_is_not_sealed(void **state)
{
	struct journal_file begun, exited;

	(void)state;
	journal_make(&begun, &d);
	journal_begin(&begun);
	set_age(&begun, 1000 * HOUR);
	journal_make(&exited, &d);
	journal_begin(&exited);
	journal_say(&exited, AR_RECORD_EXIT, "{\"code\":0,\"by\":\"itself\"}");
	set_age(&exited, 1000 * HOUR);
	sweep_all();
	assert_true(desk_exists(begun.folder, "journal"));
	assert_true(desk_exists(exited.folder, "journal"));
	journal_close(&begun);
	journal_close(&exited);
}

/* The runtime was away for days: a session that comes back for its process finds it, whatever comes first
 * afterwards. */
static void keeps_what_was_asked_for(void **state)
{
	struct journal_file j;
	struct desk_process *p;

	(void)state;
	make(&j, 100 * HOUR);
	p = desk_attach(&d, j.handle);
	desk_wait_end(p);
	sweep_all();
	assert_true(desk_exists(j.folder, "journal"));
	desk_free(p);
	journal_close(&j);
}

/* One call looks at some of them only; the next goes on from there. */
static void sweeps_piece_by_piece(void **state)
{
	enum { FOLDERS = 600 };
	struct journal_file j;
	struct stat st;
	int calls = 1;

	(void)state;
	for (int i = 0; i < FOLDERS; i++) {
		make(&j, 25 * HOUR);
		journal_close(&j);
	}
	while (ar_processes_sweep(d.host))
		calls++;
	assert_true(calls > 1);
	assert_int_equal(stat(d.folder, &st), 0);
	assert_int_equal(st.st_nlink, 2);
}

/* A handle is no right to remove anything else. */
static void forgets_only_its_own(void **state)
{
	struct journal_file j;
	char other[512], path[100];

	(void)state;
	make(&j, 0);
	journal_handle(&j, "0123456789abcdef", NULL, other);
	d.host->v->forget(d.host, ar_str_from(other));
	assert_true(desk_exists(j.folder, "journal"));
	d.host->v->forget(d.host, AR_STR("shim1:::/"));
	snprintf(path, sizeof(path), "%s/kept", d.root);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(j.folder, sizeof(j.folder), "%s", path);
	journal_handle(&j, NULL, NULL, other);
	d.host->v->forget(d.host, ar_str_from(other));
	assert_true(desk_exists(path, ""));
	d.host->v->forget(d.host, ar_str_from(j.handle));
	desk_folder_of(j.handle, other);
	assert_false(desk_exists(other, ""));
	journal_close(&j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sweeps_what_is_over_and_old, desk_setup, desk_teardown),
		cmocka_unit_test_setup_teardown(keeps_what_is_not_sealed, desk_setup, desk_teardown),
		cmocka_unit_test_setup_teardown(keeps_what_was_asked_for, desk_setup, desk_teardown),
		cmocka_unit_test_setup_teardown(sweeps_piece_by_piece, desk_setup, desk_teardown),
		cmocka_unit_test_setup_teardown(forgets_only_its_own, desk_setup, desk_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
