/* A boundary that was made before its command was known: the same one, for one command, and for no other plan
 * than it was made for. */
#include "cmocka_unit.h"
#include "status.h"
#include "world.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct launched l;
static struct ar_plan prewarmed;

static uid_t starter_of(const struct world *w)
{
	return geteuid() == 0 ? w->starter : 0;
}

static void make_prewarmed(const struct world *w, const struct ar_plan *p)
{
	ar_plan_strip(p, &prewarmed);
	launch(&l, &prewarmed, starter_of(w));
}

/* Lets it go and waits for its end. */
static void finish(void)
{
	hear(&l, AR_INIT_READY);
	if (l.ready[0] == '\0')
		fail_msg("not ready: %s", l.failed);
	say(&l, "G");
	hear(&l, (enum ar_init_message)0);
	assert_int_equal(end(&l), 0);
}

/* The member of READY's JSON that begins so, up to `stop`. */
static void copy_member(const char *ready, const char *name, char stop, char out[2048])
{
	const char *at = strstr(ready, name);

	assert_non_null(at);
	assert_non_null(strchr(at, stop));
	snprintf(out, 2048, "%.*s", (int)(strchr(at, stop) - at), at);
}

static void it_is_the_boundary_that_it_would_have_been(void **state)
{
	const struct world *w = *state;
	static const char *const members[] = { "\"mode\":",	 "\"uid\":",	   "\"capabilities\":",
					       "\"landlock\":",	 "\"readRoots\":", "\"writeRoots\":",
					       "\"protected\":", "\"skipped\":",   "\"seccomp\":" };
	char cold[AR_ARRAY_LEN(members)][2048], warm[2048];
	struct ar_plan *p;

	need(w);
	p = plan_for(w, "echo $$; touch made && echo made; touch .git/hooks/x || echo closed");
	run_in(&l, w, p);
	for (size_t i = 0; i < AR_ARRAY_LEN(members); i++)
		copy_member(l.ready, members[i], members[i][1] == 'r' || members[i][1] == 'w' ? ']' : ',',
			    cold[i]);
	make_prewarmed(w, p);
	send_plan(&l, p, NULL, 0);
	finish();
	assert_string_equal(l.out[OUT], "2\nmade\nclosed\n");
	for (size_t i = 0; i < AR_ARRAY_LEN(members); i++) {
		copy_member(l.ready, members[i], members[i][1] == 'r' || members[i][1] == 'w' ? ']' : ',',
			    warm);
		assert_string_equal(warm, cold[i]);
	}
}

/* Says nothing and runs nothing by itself; whoever let it be made and went away is not waited for. */
static void it_waits_and_goes_with_whoever_made_it(void **state)
{
	const struct world *w = *state;
	struct pollfd said;

	need(w);
	make_prewarmed(w, plan_for(w, "touch ran"));
	said = (struct pollfd){ .fd = l.socket, .events = POLLIN };
	assert_int_equal(poll(&said, 1, 300), 0);
	assert_int_not_equal(end(&l), 0);
	assert_int_equal(access(inside(w, "ran"), F_OK), -1);
}

static void what_came_to_be_meanwhile_is_protected(void **state)
{
	const struct world *w = *state;
	struct ar_plan *p;

	need(w);
	p = plan_for(w, "echo x >.husky/hook || echo closed; mv .husky y || echo pinned");
	make_prewarmed(w, p);
	usleep(200000); /* it waits by now; where it does not, the test is easier */
	assert_int_equal(mkdir(inside(w, ".husky"), 0777), 0);
	assert_int_equal(chmod(inside(w, ".husky"), 0777), 0);
	p->protected_paths = (struct ar_plan_paths){ { ".husky" }, 1 };
	send_plan(&l, p, NULL, 0);
	finish();
	assert_string_equal(l.out[OUT], "closed\npinned\n");
}

static void refuses(const struct world *w, const struct ar_plan *made, const struct ar_plan *sent,
		    const char *why)
{
	make_prewarmed(w, made);
	send_plan(&l, sent, NULL, 0);
	hear(&l, (enum ar_init_message)0);
	assert_string_equal(l.ready, "");
	if (!strstr(l.failed, "{\"step\":\"plan\"") || !strstr(l.failed, why))
		fail_msg("failed as %s", l.failed);
	assert_int_not_equal(end(&l), 0);
	assert_int_equal(access(inside(w, "ran"), F_OK), -1);
}

static void another_plan_is_refused(void **state)
{
	const struct world *w = *state;
	static struct ar_plan made, sent;

	need(w);
	made = *plan_for(w, "touch ran");
	sent = made;
	sent.network = AR_PLAN_NET_HOST;
	refuses(w, &made, &sent, "made: network");
	sent = made;
	sent.write_roots = (struct ar_plan_paths){ { "/var" }, 1 };
	refuses(w, &made, &sent, "made: write");
	sent = made;
	sent.uid++;
	refuses(w, &made, &sent, "made: uid");
	sent = made;
	sent.given = 1; /* and none came */
	refuses(w, &made, &sent, "given descriptors");
	ar_plan_strip(&made, &sent);
	refuses(w, &made, &sent, "made:");
}

static int file_of(const char *text)
{
	int fd = memfd_create("given", MFD_CLOEXEC);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static void what_is_given_comes_with_the_plan(void **state)
{
	const struct world *w = *state;
	struct ar_plan *p;
	int fds[2];

	need(w);
	p = plan_for(w, "cat; cat /proc/self/fd/40; ls /proc/self/fd | wc -l");
	make_prewarmed(w, p);
	p->stdin_is_given = true;
	p->given = 1;
	fds[0] = file_of("input ");
	fds[1] = file_of("secret ");
	send_plan(&l, p, fds, 2);
	close(fds[0]);
	close(fds[1]);
	finish();
	assert_string_equal(l.out[OUT], "input secret 5\n"); /* 0, 1, 2, 40, and that of ls */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(it_is_the_boundary_that_it_would_have_been),
		BOTH(it_waits_and_goes_with_whoever_made_it),
		BOTH(what_came_to_be_meanwhile_is_protected),
		BOTH(another_plan_is_refused),
		BOTH(what_is_given_comes_with_the_plan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
