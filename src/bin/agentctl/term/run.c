/* See term.h: other programs on the same terminal: a command of the person, their editor, the shell that
 * Ctrl-Z goes back to. */
#include "term/term.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXT_MAX ((size_t)1024 * 1024)

extern char **environ;

/* Signals that we hold or catch are the child's as usual. */
static bool spawn(char *const argv[], pid_t *ret)
{
	posix_spawnattr_t attr;
	sigset_t none, all;
	int failed;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	failed = posix_spawnp(ret, argv[0], NULL, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	return !failed;
}

/* A Ctrl-C in the meantime was for the child. */
static void drop_interrupts(const struct ar_ctl *c)
{
	struct signalfd_siginfo got;

	while (c->signal_fd >= 0 && read(c->signal_fd, &got, sizeof(got)) == (ssize_t)sizeof(got))
		;
}

static int run_program(struct ar_term *t, char *const argv[])
{
	int status = -1;
	pid_t pid;

	ar_term_release(t);
	if (spawn(argv, &pid))
		waitpid(pid, &status, 0);
	drop_interrupts(t->chat->ctl);
	ar_term_seize(t);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void ar_term_run(struct ar_term *t, struct ar_str command)
{
	char *text = (char *)ar_arena_str(&t->chat->ctl->arena, command).p;
	char *argv[] = { (char *)"/bin/sh", (char *)"-c", text, NULL };
	int exit = run_program(t, argv);

	if (exit != 0)
		ar_term_printf(t, AR_STYLE_DIM, "exit %d", exit);
}

/* ---- the editor ---- */

static void read_back(struct ar_term *t, const char *path)
{
	struct ar_buf text = { .cap = TEXT_MAX };
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char bytes[65536];
	ssize_t n;

	if (fd < 0)
		return;
	while ((n = read(fd, bytes, sizeof(bytes))) > 0)
		ar_buf_add(&text, bytes, (size_t)n);
	close(fd);
	while (text.len && text.p[text.len - 1] == '\n')
		text.len--;
	ar_edit_set(&t->edit, ar_buf_str(&text));
	ar_buf_fini(&text);
}

static const char *editor(void)
{
	const char *visual = getenv("VISUAL"), *other = getenv("EDITOR");

	return visual && *visual ? visual : other && *other ? other : "vi";
}

/* The editor's name may have options: the shell splits it, the path is an argument. */
void ar_term_edit(struct ar_term *t)
{
	char path[] = "/tmp/agentctl-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);
	struct ar_str command = ar_arena_fmt(&t->chat->ctl->arena, "%s \"$1\"", editor());
	char *argv[] = { (char *)"/bin/sh", (char *)"-c", (char *)command.p, (char *)"sh", path, NULL };
	struct ar_buf text = { 0 };
	bool is_written;

	if (fd < 0)
		return;
	ar_edit_text(&t->edit, &text);
	is_written = write(fd, ar_buf_str(&text).p, text.len) == (ssize_t)text.len;
	close(fd);
	ar_buf_fini(&text);
	if (is_written && run_program(t, argv) == 0)
		read_back(t, path);
	unlink(path);
}

void ar_term_suspend(struct ar_term *t)
{
	ar_term_release(t);
	kill(0, SIGTSTP); /* as the terminal does; SIGCONT brings us back to ar_term_seize */
}
