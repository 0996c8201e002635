/* See term.h. The terminal is put back in every case: by us at a usual end and on signals that can
 * be caught, and by a child that does nothing but wait for our death. Signal handlers have no argument,
 * so what they need is here, written before they are installed. */
#include "term/term.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

/* The title of the window is kept for the end, by terminals that can. */
#define KEEP_TITLE "\033[22;2t"
#define TITLE_BACK "\033[23;2t"
/* Bracketed paste and reports of the focus; and what ends both, colours and an open synchronised frame. */
#define BEGIN KEEP_TITLE "\033[?2004h\033[?1004h"
#define MODES_END "\033[?2026l\033[?2004l\033[?1004l\033[?25h\033[0m"
#define END MODES_END TITLE_BACK
/* The same on the other screen, which has no cursor unless a text is typed. */
#define BEGIN_FULL "\033[?1049h\033[?25l\033[?2004h"
#define END_FULL MODES_END "\033[?1049l"
#define ERASE_BELOW "\033[J"
#define ERASE "\r" ERASE_BELOW

static struct {
	struct termios before;
	volatile sig_atomic_t is_raw;
	bool is_known; /* `before` is the mode that we found */
	bool is_full; /* on the other screen */
	pid_t guard;
	int guard_fd; /* its other end is the guard's; closed: we are gone */
} raw = { .guard_fd = -1 };

static void put_back(void)
{
	ssize_t n;

	if (!raw.is_raw)
		return;
	raw.is_raw = 0;
	n = raw.is_full ? write(STDOUT_FILENO, END_FULL, sizeof(END_FULL) - 1)
			: write(STDOUT_FILENO, END, sizeof(END) - 1);
	(void)n;
	tcsetattr(STDIN_FILENO, TCSADRAIN, &raw.before);
}

static void on_end(int signal)
{
	ssize_t n = raw.is_raw ? write(STDOUT_FILENO, ERASE, sizeof(ERASE) - 1) : 0;

	(void)n;
	put_back();
	raise(signal); /* the handler is used once */
}

static void on_stop(int signal AR_UNUSED)
{
	put_back();
	raise(SIGSTOP);
}

/* ---- the guard ---- */

/* Waits until we are gone. A byte says that all is well: then it leaves the terminal alone. */
static void guard(int fd)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGTTOU, SIGTTIN, SIGPIPE };
	ssize_t n;
	char c;

	for (size_t i = 0; i < AR_ARRAY_LEN(ignored); i++)
		signal(ignored[i], SIG_IGN);
	dup2(fd, 3);
	close_range(4, ~0u, 0);
	do
		n = read(3, &c, 1);
	while (n < 0);
	if (n == 0) { /* what stands below a prompt that may be there already is our live region */
		n = write(STDOUT_FILENO, ERASE_BELOW, sizeof(ERASE_BELOW) - 1);
		raw.is_raw = 1;
		put_back();
	}
	_exit(0);
}

static void begin_guard(void)
{
	int ends[2];

	if (raw.guard_fd >= 0 || pipe2(ends, O_CLOEXEC) != 0)
		return;
	raw.guard = fork();
	if (raw.guard == 0) {
		close(ends[1]);
		guard(ends[0]);
	}
	close(ends[0]);
	raw.guard_fd = ends[1];
	if (raw.guard < 0) {
		close(raw.guard_fd);
		raw.guard_fd = -1;
	}
}

static void end_guard(void)
{
	if (raw.guard_fd < 0)
		return;
	if (write(raw.guard_fd, "", 1) == 1)
		waitpid(raw.guard, NULL, 0);
	close(raw.guard_fd);
	raw.guard_fd = -1;
}

/* ---- entering and leaving ---- */

static void catch_signals(void)
{
	static const int ends[] = { SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction end = { .sa_handler = on_end, .sa_flags = (int)SA_RESETHAND };
	struct sigaction stop = { .sa_handler = on_stop };

	for (size_t i = 0; i < AR_ARRAY_LEN(ends); i++)
		sigaction(ends[i], &end, NULL);
	sigaction(SIGTSTP, &stop, NULL);
}

static void enter(bool is_full, const char *begin)
{
	struct termios mode;
	ssize_t n;

	if (raw.is_raw || (!raw.is_known && tcgetattr(STDIN_FILENO, &raw.before) != 0))
		return;
	if (!raw.is_known)
		atexit(ar_raw_leave);
	raw.is_known = true;
	raw.is_full = is_full;
	mode = raw.before;
	mode.c_iflag &= ~(tcflag_t)(BRKINT | ICRNL | INLCR | IGNCR | INPCK | ISTRIP | IXON);
	mode.c_lflag &= ~(tcflag_t)(ECHO | ICANON | IEXTEN | ISIG);
	mode.c_cc[VMIN] = 1;
	mode.c_cc[VTIME] = 0;
	begin_guard();
	catch_signals();
	raw.is_raw = 1;
	tcsetattr(STDIN_FILENO, TCSADRAIN, &mode);
	n = write(STDOUT_FILENO, begin, strlen(begin));
	(void)n;
}

void ar_raw_enter(void)
{
	enter(false, BEGIN);
}

void ar_raw_enter_full(void)
{
	enter(true, BEGIN_FULL);
}

void ar_raw_leave(void)
{
	put_back();
	end_guard();
}
