/* What a command under agent-init sees and may change: the workspace, its protected paths, and nothing else
 * of the host. */
#include "cmocka_unit.h"
#include "status.h"
#include "world.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static struct launched l;

static void the_workspace_is_written(void **state)
{
	const struct world *w = *state;
	struct stat mine, made;

	need(w);
	assert_string_equal(printed(w, "echo new > made && cat made && stat -c %U made | wc -l && rm file && "
				       "mkdir -p a/b && mv made a/b/"),
			    "new\n1\n");
	assert_int_equal(stat(w->workspace, &mine), 0);
	assert_int_equal(stat(inside(w, "a/b/made"), &made), 0);
	assert_int_equal(made.st_uid, mine.st_uid);
	assert_int_equal(made.st_gid, mine.st_gid);
	assert_int_equal(access(inside(w, "file"), F_OK), -1);
}

static void read_only_is_only_read(void **state)
{
	const struct world *w = *state;
	struct ar_plan *p;

	need(w);
	p = plan_for(
		w, "cat file; echo new > made; echo new > file; rm file; echo x > /tmp/own && cat /tmp/own");
	p->mode = AR_PLAN_READ_ONLY;
	run_in(&l, w, p);
	assert_string_equal(l.out[OUT], "old\nx\n");
	assert_non_null(strstr(l.out[ERR], "made: Read-only file system"));
	assert_int_equal(access(inside(w, "made"), F_OK), -1);
	assert_int_equal(access(inside(w, "file"), F_OK), 0);
	assert_non_null(strstr(l.ready, "\"writeRoots\":[]"));
}

static void the_rest_of_the_host_is_not_there(void **state)
{
	const struct world *w = *state;
	char command[512];

	need(w);
	snprintf(command, sizeof(command),
		 "cat %1$s ../secret /proc/1/root%1$s; ls -d /root /var /sys /etc/shadow /home/[!a]*; ls -A "
		 "/ /home ..",
		 w->secret);
	run_in(&l, w, plan_for(w, command));
	assert_string_equal(
		l.out[OUT],
		"..:\nws\n\n/:\nbin\ndev\netc\nhome\nlib\nlib64\nproc\ntmp\nusr\n\n/home:\nagent\n");
	assert_null(strstr(l.out[OUT], "secret"));
	assert_non_null(strstr(l.out[ERR], "/sys': No such file"));
}

static void nothing_outside_is_written(void **state)
{
	const struct world *w = *state;
	char outside[128];

	need(w);
	run_in(&l, w,
	       plan_for(w, "for f in /usr/x /etc/x /x /dev/x /proc/sys/kernel/core_pattern "
			   "/proc/self/oom_score_adj; do "
			   "(echo x > $f) && echo $f; done; echo x > ~/x && cat ~/x; echo y > "
			   "/dev/shm/y; cat /dev/shm/y; "
			   "mknod b b 8 0 2>/dev/null || echo none; echo x > ../x"));
	assert_string_equal(l.out[OUT], "x\ny\nnone\n");
	assert_non_null(strstr(l.out[ERR], "/usr/x: Read-only file system"));
	snprintf(outside, sizeof(outside), "%s/x", w->base);
	assert_int_equal(access(outside, F_OK), -1);
}

static void protected_paths_stay(void **state)
{
	const struct world *w = *state;

	need(w);
	run_in(&l, w,
	       plan_for(w, "echo x > .git/hooks/pre-commit; echo x > .git/config; rm .git/config; mv "
			   ".git/config y; mv .git x; mv sub x; "
			   "mv sub/.git x; rmdir .git/hooks; ln -s .git g; echo x > g/hooks/y; chmod 777 "
			   ".git/hooks; "
			   "touch -d 2000-01-01 .git/config; echo new > .git/index && echo beside > sub/f && "
			   "cat .git/config"));
	assert_string_equal(l.out[OUT], "old\n");
	assert_non_null(strstr(l.out[ERR], "pre-commit: Read-only file system"));
	assert_non_null(strstr(l.out[ERR], "cannot move '.git' to 'x': Device or resource busy"));
	assert_non_null(strstr(l.out[ERR], "cannot move 'sub' to 'x': Device or resource busy"));
	assert_non_null(strstr(l.out[ERR], "g/hooks/y: Read-only file system"));
	assert_non_null(strstr(l.out[ERR], "changing permissions of '.git/hooks': Read-only file system"));
	assert_non_null(strstr(l.ready, "\"protected\":[\".git/hooks\",\".git/config\",\"sub/.git/hooks\"]"));
	assert_non_null(strstr(l.ready, "\"skipped\":[\".husky\"]"));
	assert_int_equal(access(inside(w, ".git/hooks/pre-commit"), F_OK), -1);
	assert_int_equal(access(inside(w, ".git/index"), F_OK), 0);
	assert_int_equal(access(inside(w, ".husky"), F_OK), -1);
}

static void a_link_is_followed_to_what_it_protects(void **state)
{
	const struct world *w = *state;

	need(w);
	assert_int_equal(mkdir(inside(w, "tool"), 0777), 0);
	if (geteuid() == 0)
		assert_int_equal(chown(inside(w, "tool"), w->starter ? w->starter : 1000, 1000), 0);
	assert_int_equal(symlink("tool", inside(w, ".husky")), 0);
	run_in(&l, w, plan_for(w, "echo x > tool/x; echo x > .husky/x; mv tool y"));
	assert_non_null(strstr(l.ready, "\"protectedTargets\":[\".husky\"]"));
	assert_non_null(strstr(l.out[ERR], "tool/x: Read-only"));
	assert_non_null(strstr(l.out[ERR], ".husky/x: Read-only"));
	assert_non_null(strstr(l.out[ERR], "cannot move 'tool' to 'y': Device or resource busy"));
}

static void a_link_that_leads_away_is_refused(void **state)
{
	const struct world *w = *state;

	need(w);
	assert_int_equal(symlink("/home/agent", inside(w, ".husky")), 0);
	launch(&l, plan_for(w, "true"), geteuid() == 0 ? w->starter : 0);
	hear(&l, (enum ar_init_message)0);
	assert_string_equal(l.ready, "");
	assert_non_null(strstr(l.failed, "\"step\":\"protect\""));
	assert_non_null(strstr(l.failed, ".husky"));
	end(&l);
}

/* A workspace that an earlier command has replaced by a link must not decide what is mounted. */
static void a_link_as_workspace_is_refused(void **state)
{
	const struct world *w = *state;
	char link[128];
	struct ar_plan *p = plan_for(w, "true");

	need(w);
	snprintf(link, sizeof(link), "%s/link", w->base);
	assert_int_equal(symlink(w->workspace, link), 0);
	p->workspace = link;
	p->cwd = link;
	launch(&l, p, geteuid() == 0 ? w->starter : 0);
	hear(&l, (enum ar_init_message)0);
	assert_string_equal(l.ready, "");
	assert_non_null(strstr(l.failed, "\"step\":\"view\",\"errno\":40"));
	end(&l);
}

static void git_works_beside_what_is_protected(void **state)
{
	const struct world *w = *state;

	need(w);
	assert_string_equal(printed(w, "mkdir repo && cd repo && git init -q . && git config user.email a@b "
				       "&& git config user.name n && echo x > f && "
				       "git add f && git commit -qm one && git log --format=%s"),
			    "one\n");
}

static void a_decoy_is_there_and_cannot_be_read(void **state)
{
	const struct world *w = *state;
	struct ar_plan *p;

	need(w);
	p = plan_for(w, "ls /root/.ssh; cat /root/.ssh/id_rsa; echo x > /root/.ssh/id_rsa; ls ~/.ssh; cat "
			"~/.ssh/id_rsa; cat /etc/shadow; "
			"head -c 4 /etc/passwd");
	p->decoys = (struct ar_plan_paths){ { "/root/.ssh/id_rsa", "/home/agent/.ssh/id_rsa", "/etc/shadow" },
					    3 };
	run_in(&l, w, p);
	assert_string_equal(l.out[OUT], "id_rsa\nid_rsa\nroot");
	assert_non_null(strstr(l.out[ERR], "cat: /root/.ssh/id_rsa: Permission denied"));
	assert_non_null(strstr(l.out[ERR], "cat: /home/agent/.ssh/id_rsa: Permission denied"));
	assert_non_null(strstr(l.out[ERR], "cat: /etc/shadow: Permission denied"));
}

static void further_roots_are_written(void **state)
{
	const struct world *w = *state;
	char root[128], command[512];
	struct ar_plan *p;

	need(w);
	snprintf(root, sizeof(root), "%s/cache", w->base);
	assert_int_equal(mkdir(root, 0755), 0);
	if (geteuid() == 0)
		assert_int_equal(chown(root, w->starter ? w->starter : 1000, w->starter ? w->starter : 1000),
				 0);
	snprintf(command, sizeof(command), "echo x > %1$s/f && cat %1$s/f", root);
	p = plan_for(w, command);
	p->write_roots = (struct ar_plan_paths){ { root }, 1 };
	run_in(&l, w, p);
	assert_string_equal(l.out[OUT], "x\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(the_workspace_is_written),
		BOTH(read_only_is_only_read),
		BOTH(the_rest_of_the_host_is_not_there),
		BOTH(nothing_outside_is_written),
		BOTH(protected_paths_stay),
		BOTH(a_link_is_followed_to_what_it_protects),
		BOTH(a_link_that_leads_away_is_refused),
		BOTH(a_link_as_workspace_is_refused),
		BOTH(git_works_beside_what_is_protected),
		BOTH(a_decoy_is_there_and_cannot_be_read),
		BOTH(further_roots_are_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
