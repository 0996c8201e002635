/* Attempts to leave a boundary: what each tries and what has to come of it. The program made of them runs
 * inside; it only tries and says what the kernel answered, the test outside knows whether that is right.
 * Nothing here may do lasting harm when it succeeds: no attempt relies on the boundary for that, because it
 * also runs where one layer of it was taken away. One thread; each attempt is a process of its own. */
#ifndef AR_TEST_ATTEMPT_H
#define AR_TEST_ATTEMPT_H

#include <stddef.h>

/* What must come of it in a profile: "ok", names of errors or signals any of which will do, "?" for no
 * promise, "-" for not tried there. */
struct attempt {
	const char *name;
	int (*run)(const struct attempt *a); /* 0: it worked; -1: errno */
	const char *path; /* $WS $OUT $PID ... stand for what the test gave as ESC_WS ... */
	const char *read_only, *write, *danger;
	/* Of the denial: "notify" when the listener of the filter has to hear of it, "landlock" when nothing
	 * else denies it */
	const char *evidence;
	long nr; /* of a bare system call, */
	long args[5]; /* and what it is called with */
};

struct attempt_list {
	const struct attempt *at;
	size_t count;
};

#define ATTEMPT_LIST(rows) \
	{ \
		rows, sizeof(rows) / sizeof((rows)[0]) \
	}

extern const struct attempt_list files_attempts, links_attempts, git_attempts, proc_attempts,
	privilege_attempts, mounts_attempts, kernel_attempts, devices_attempts, network_attempts,
	sockets_attempts, signals_attempts, limits_attempts, hygiene_attempts;

/* Text with the $NAMEs replaced; kept until the eighth call after this one. */
const char *expand(const char *text);

long given_number(const char *name); /* of ESC_<name>; 0 without */

/* Acts on a->path that many themes share. */
int try_write(const struct attempt *a); /* opens to write and writes, creates when missing */
int try_overwrite(const struct attempt *a); /* opens what exists to write; writes nothing */
int try_read(const struct attempt *a);
int try_stat(const struct attempt *a);
int try_list(const struct attempt *a); /* the names of a folder */
int try_unlink(const struct attempt *a);
int try_mkdir(const struct attempt *a);
int try_chmod(const struct attempt *a); /* with the bits of args[0] */
int try_system_call(const struct attempt *a); /* nr with args, as they are */

int write_at(const char *path);
int fail_with(int error); /* -1 with that errno */

#endif
