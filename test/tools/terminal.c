/* A terminal for tests: starts a program on a pty and shows what a person would see, by libvterm.
 *
 *   ar-terminal COLS ROWS DELAY_MS PROGRAM [ARG ...]
 *
 * Commands come on standard input, a line each: `type HEX` gives bytes to the program, `size COLS ROWS`
 * resizes, `show` prints the rows in sight, `all` those that scrolled off too, both as text, then a line
 * "--", then a letter for the style of each column, then a line "."; `wrote` prints how many bytes the
 * program has written, and how many of them at most were under way at once. With a delay bytes arrive that
 * much later, in both directions, as over a long line. `hold` stops reading what the program writes, `go`
 * begins again. The end of standard input ends the program. One thread. */
#include "fake_terminal.h"
#include "str.h"

#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Bytes on their way: each piece arrives at its time. */
struct piece {
	struct piece *next;
	int64_t at;
	size_t len;
	char bytes[];
};

struct way {
	struct piece *first, **last;
};

struct terminal {
	struct fake_terminal vt;
	int pty;
	pid_t child;
	int64_t delay, wrote;
	int64_t under_way, most; /* bytes of the program that have not arrived yet, and the most there were */
	struct way in, out; /* to the program, from it */
	struct ar_buf typed; /* of standard input, no whole line yet */
	struct ar_buf bytes; /* for libvterm, less than a sequence */
	bool is_held, is_gone, is_over;
};

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void send_later(struct way *way, int64_t at, const char *bytes, size_t len)
{
	struct piece *piece = malloc(sizeof(*piece) + len);

	if (!piece)
		abort();
	*piece = (struct piece){ .at = at, .len = len };
	memcpy(piece->bytes, bytes, len);
	*way->last = piece;
	way->last = &piece->next;
}

static struct piece *arrived(struct way *way, int64_t now)
{
	struct piece *piece = way->first;

	if (!piece || piece->at > now)
		return NULL;
	way->first = piece->next;
	if (!way->first)
		way->last = &way->first;
	return piece;
}

/* This libvterm does not know dim: blink stands for it. The sequence may come in parts. */
static void show_bytes(struct terminal *t, const char *bytes, size_t len)
{
	static const char dim[] = "\033[2m", blink[] = "\033[5m";
	struct ar_buf ready = { 0 };

	for (size_t i = 0; i < len; i++) {
		ar_buf_addc(&t->bytes, bytes[i]);
		if (!memcmp(ar_buf_str(&t->bytes).p, dim, t->bytes.len)) {
			if (t->bytes.len < sizeof(dim) - 1)
				continue;
			ar_buf_clear(&t->bytes);
			ar_buf_addz(&t->bytes, blink);
		}
		ar_buf_adds(&ready, ar_buf_str(&t->bytes));
		ar_buf_clear(&t->bytes);
	}
	fake_terminal_feed(&t->vt, &ready);
	ar_buf_fini(&ready);
}

/* What the terminal itself answers, such as where its cursor is. */
static void send_answers(struct terminal *t)
{
	char bytes[256];
	size_t n = vterm_output_read(t->vt.vt, bytes, sizeof(bytes));

	if (n)
		send_later(&t->in, now_ms() + t->delay, bytes, n);
}

static void deliver(struct terminal *t)
{
	int64_t now = now_ms();
	struct piece *piece;

	while ((piece = arrived(&t->out, now))) {
		show_bytes(t, piece->bytes, piece->len);
		t->under_way -= (int64_t)piece->len;
		free(piece);
	}
	send_answers(t);
	while ((piece = arrived(&t->in, now))) {
		for (size_t at = 0; at < piece->len && !t->is_gone;) {
			ssize_t n = write(t->pty, piece->bytes + at, piece->len - at);

			if (n < 0 && errno != EINTR)
				break;
			at += n > 0 ? (size_t)n : 0;
		}
		free(piece);
	}
}

static void read_program(struct terminal *t)
{
	char bytes[65536];
	ssize_t n = read(t->pty, bytes, sizeof(bytes));

	if (n > 0) {
		t->wrote += n;
		t->under_way += n;
		t->most = t->under_way > t->most ? t->under_way : t->most;
		send_later(&t->out, now_ms() + t->delay, bytes, (size_t)n);
	} else if (n == 0 || errno != EINTR) {
		t->is_gone = true;
	}
}

/* ---- commands ---- */

static void show(struct terminal *t, bool is_all)
{
	struct ar_buf text = { 0 }, styles = { 0 };

	if (is_all) {
		ar_buf_adds(&text, ar_buf_str(&t->vt.scrolled));
		ar_buf_adds(&styles, ar_buf_str(&t->vt.scrolled_styles));
	}
	fake_terminal_rows(&t->vt, &text, &styles);
	printf("%.*s--\n%.*s.\n", AR_STR_ARG(ar_buf_str(&text)), AR_STR_ARG(ar_buf_str(&styles)));
	ar_buf_fini(&text);
	ar_buf_fini(&styles);
}

static void type(struct terminal *t, const char *hex)
{
	struct ar_buf bytes = { 0 };
	unsigned byte;

	for (; sscanf(hex, "%2x", &byte) == 1; hex += 2)
		ar_buf_addc(&bytes, (char)byte);
	send_later(&t->in, now_ms() + t->delay, ar_buf_str(&bytes).p, bytes.len);
	ar_buf_fini(&bytes);
}

static void resize(struct terminal *t, int cols, int rows)
{
	struct winsize size = { .ws_col = (unsigned short)cols, .ws_row = (unsigned short)rows };

	t->vt.rows = rows;
	t->vt.cols = cols;
	vterm_set_size(t->vt.vt, rows, cols);
	ioctl(t->pty, TIOCSWINSZ, &size);
}

static void run_command(struct terminal *t, const char *line)
{
	int cols, rows;

	if (!strncmp(line, "type ", 5))
		type(t, line + 5);
	else if (sscanf(line, "size %d %d", &cols, &rows) == 2)
		resize(t, cols, rows);
	else if (!strcmp(line, "show") || !strcmp(line, "all"))
		show(t, line[0] == 'a');
	else if (!strcmp(line, "wrote"))
		printf("%lld %lld\n.\n", (long long)t->wrote, (long long)t->most);
	else if (!strcmp(line, "hold") || !strcmp(line, "go"))
		t->is_held = line[0] == 'h';
	fflush(stdout);
}

static void read_commands(struct terminal *t)
{
	char bytes[65536], *end;
	ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));

	if (n <= 0) {
		t->is_over = true;
		return;
	}
	ar_buf_add(&t->typed, bytes, (size_t)n);
	while (t->typed.len && (end = memchr(t->typed.p, '\n', t->typed.len))) {
		*end = '\0';
		run_command(t, t->typed.p);
		ar_buf_eat(&t->typed, (size_t)(end - t->typed.p) + 1);
	}
}

/* ---- the loop ---- */

static int wait_ms(const struct terminal *t)
{
	const struct piece *in = t->in.first, *out = t->out.first;
	int64_t at = in ? in->at : INT64_MAX, left;

	if (out && out->at < at)
		at = out->at;
	left = at - now_ms();
	return at == INT64_MAX ? -1 : left > 0 ? (int)left : 0;
}

static void live(struct terminal *t)
{
	struct pollfd fds[2] = { { .fd = STDIN_FILENO, .events = POLLIN }, { .events = POLLIN } };

	while (!t->is_over) {
		fds[1].fd = t->is_held || t->is_gone ? -1 : t->pty;
		if (poll(fds, AR_ARRAY_LEN(fds), wait_ms(t)) > 0) {
			if (fds[1].fd >= 0 && fds[1].revents)
				read_program(t);
			if (fds[0].revents)
				read_commands(t);
		}
		deliver(t);
	}
}

static void free_way(struct way *way)
{
	struct piece *piece;

	while ((piece = arrived(way, INT64_MAX)))
		free(piece);
}

int main(int argc, char **argv)
{
	struct terminal t = { .in.last = &t.in.first, .out.last = &t.out.first };
	struct winsize size = { 0 };

	if (argc < 5)
		return 2;
	size.ws_col = (unsigned short)atoi(argv[1]);
	size.ws_row = (unsigned short)atoi(argv[2]);
	t.delay = atoi(argv[3]);
	fake_terminal_init(&t.vt, size.ws_row, size.ws_col);
	t.child = forkpty(&t.pty, NULL, NULL, &size);
	if (t.child == 0) {
		execvp(argv[4], argv + 4);
		_exit(127);
	}
	if (t.child < 0)
		return 1;
	live(&t);
	kill(t.child, SIGKILL);
	waitpid(t.child, NULL, 0);
	close(t.pty);
	free_way(&t.in);
	free_way(&t.out);
	fake_terminal_fini(&t.vt);
	ar_buf_fini(&t.typed);
	ar_buf_fini(&t.bytes);
	return 0;
}
