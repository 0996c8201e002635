/* The daemon's end of a control connection for tests, one line per message: `drive start SHIM FOLDER [INPUT]`
 * starts agent-shim with fd 3 (and fd 0), `drive attach FOLDER` connects to its socket. Reads from stdin: go
 * | looked | input NUMBER EOF HEX | resize ROWS COLUMNS | signal JSON | end JSON | hangup. Writes: shim PID |
 * hello PROTOCOL RELEASED INPUTS FDS | poke | taken NUMBER VERDICT | closed. Killed -9 it is a killed
 * daemon. */
#include "shim_wire.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define LINE_MAX_BYTES (2 * AR_SHIM_INPUT_MAX + 256)

static void become_shim(char *shim, char *folder, const char *input, int fd)
{
	char *const argv[] = { shim, folder, NULL }, *const env[] = { NULL };

	dup2(open(input, O_RDONLY | O_CLOEXEC), 0);
	if (fd != AR_SHIM_FD) {
		dup2(fd, AR_SHIM_FD);
		close(fd);
	} else {
		fcntl(fd, F_SETFD, 0);
	}
	execve(shim, argv, env);
	_exit(127);
}

static int start(char *shim, char *folder, const char *input)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -1;
	pid = fork();
	if (pid == 0)
		become_shim(shim, folder, input, pair[1]);
	close(pair[1]);
	printf("shim %d\n", (int)pid);
	return pair[0];
}

static int attach(const char *folder)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = "sock" };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (chdir(folder) || connect(fd, (struct sockaddr *)&name, sizeof(name)))
		return -1;
	return fd;
}

static void on_packet(int fd)
{
	union {
		struct cmsghdr align;
		char bytes[256];
	} control;
	char bytes[256];
	struct iovec part = { bytes, sizeof(bytes) };
	struct msghdr m = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
	};
	ssize_t n = recvmsg(fd, &m, 0);
	struct ar_shim_hello hello;
	struct ar_shim_input_result result;

	if (n <= 0) {
		puts("closed");
		exit(0);
	}
	if (bytes[0] == AR_SHIM_POKE)
		puts("poke");
	if (bytes[0] == AR_SHIM_HELLO) {
		memcpy(&hello, bytes + 1, sizeof(hello));
		printf("hello %u %u %llu %d\n", hello.protocol, hello.is_released,
		       (unsigned long long)hello.inputs, m.msg_controllen > 0);
	}
	if (bytes[0] == AR_SHIM_INPUT_RESULT) {
		memcpy(&result, bytes + 1, sizeof(result));
		printf("taken %llu %u\n", (unsigned long long)result.number, result.status);
	}
}

static void send_kind(int fd, char kind, const void *body, size_t len)
{
	char packet[1 + sizeof(struct ar_shim_input) + AR_SHIM_INPUT_MAX];

	packet[0] = kind;
	if (len > 0)
		memcpy(packet + 1, body, len);
	send(fd, packet, len + 1, MSG_NOSIGNAL);
}

static void send_input(int fd, const char *line)
{
	char body[sizeof(struct ar_shim_input) + AR_SHIM_INPUT_MAX];
	struct ar_shim_input head = { 0 };
	unsigned long long number;
	unsigned byte;
	size_t len = sizeof(head);
	int used = 0;

	if (sscanf(line, "input %llu %u %n", &number, &head.is_eof, &used) < 2)
		return;
	head.number = number;
	memcpy(body, &head, sizeof(head));
	for (line += used; len < sizeof(body) && sscanf(line, "%2x", &byte) == 1; line += 2)
		body[len++] = (char)byte;
	send_kind(fd, AR_SHIM_INPUT, body, len);
}

static void on_line(int fd, char *line)
{
	uint16_t size[2];
	char *space = strchr(line, ' ');

	line[strcspn(line, "\n")] = '\0';
	if (strcmp(line, "go") == 0)
		send_kind(fd, AR_SHIM_GO, NULL, 0);
	if (strcmp(line, "looked") == 0)
		send_kind(fd, AR_SHIM_LOOKED, NULL, 0);
	if (strcmp(line, "hangup") == 0)
		exit(0);
	if (strncmp(line, "input ", 6) == 0)
		send_input(fd, line);
	if (sscanf(line, "resize %hu %hu", &size[0], &size[1]) == 2)
		send_kind(fd, AR_SHIM_RESIZE, size, sizeof(size));
	if (space && strncmp(line, "signal ", 7) == 0)
		send_kind(fd, AR_SHIM_SIGNAL, space + 1, strlen(space + 1));
	if (space && strncmp(line, "end ", 4) == 0)
		send_kind(fd, AR_SHIM_END, space + 1, strlen(space + 1));
}

/* Lines are put together here: what poll() sees and what a buffer of stdio holds would differ. */
static void on_stdin(int fd)
{
	static char line[LINE_MAX_BYTES];
	static size_t used;
	char chunk[4096];
	ssize_t n = read(0, chunk, sizeof(chunk));

	if (n <= 0)
		exit(0);
	for (ssize_t i = 0; i < n; i++) {
		if (used + 1 < sizeof(line))
			line[used++] = chunk[i];
		if (chunk[i] != '\n')
			continue;
		line[used] = '\0';
		used = 0;
		on_line(fd, line);
	}
}

int main(int argc, char **argv)
{
	int fd = -1;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if ((argc == 4 || argc == 5) && strcmp(argv[1], "start") == 0)
		fd = start(argv[2], argv[3], argc == 5 ? argv[4] : "/dev/null");
	if (argc == 3 && strcmp(argv[1], "attach") == 0)
		fd = attach(argv[2]);
	if (fd < 0) {
		puts("closed");
		return 1;
	}
	for (;;) {
		struct pollfd p[2] = { { .fd = fd, .events = POLLIN }, { .fd = 0, .events = POLLIN } };

		poll(p, 2, -1);
		if (p[0].revents)
			on_packet(fd);
		if (p[1].revents)
			on_stdin(fd);
	}
}
