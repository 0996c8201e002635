/* See program.h. posix_spawn and not fork: the daemon has threads, and its memory is not copied for a program
 * that replaces it. */
#include "program.h"

#include "status.h"

#include <signal.h>
#include <spawn.h>

static void write_files(const struct ar_spawn *s, posix_spawn_file_actions_t *files)
{
	for (size_t i = 0; i < s->fd_count; i++) {
		/* In rising order: a descriptor that is still to be given away is never overwritten. */
		AR_ASSERT(s->fds[i] >= (int)i);
		posix_spawn_file_actions_adddup2(files, s->fds[i], (int)i);
	}
	posix_spawn_file_actions_addclosefrom_np(files, (int)s->fd_count);
	if (s->workdir)
		posix_spawn_file_actions_addchdir_np(files, s->workdir);
}

/* We ignore some signals, and our threads block what they do not want: none of that is handed on. */
static void write_how(const struct ar_spawn *s, posix_spawnattr_t *how)
{
	int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
	sigset_t unblocked, usual;

	sigemptyset(&unblocked);
	sigfillset(&usual);
	posix_spawnattr_setpgroup(how, 0);
	posix_spawnattr_setsigmask(how, &unblocked);
	posix_spawnattr_setsigdefault(how, &usual);
	flags |= s->has_session ? POSIX_SPAWN_SETSID : POSIX_SPAWN_SETPGROUP;
	posix_spawnattr_setflags(how, (short)flags);
}

int ar_spawn(const struct ar_spawn *s, pid_t *ret)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t how;
	int rc;

	AR_ASSERT(s->fd_count <= AR_SPAWN_FDS_MAX);
	posix_spawn_file_actions_init(&files);
	posix_spawnattr_init(&how);
	write_files(s, &files);
	write_how(s, &how);
	rc = posix_spawnp(ret, s->program, &files, &how, s->argv, s->envp);
	posix_spawnattr_destroy(&how);
	posix_spawn_file_actions_destroy(&files);
	return rc;
}
