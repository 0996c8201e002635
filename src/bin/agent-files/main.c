/* agent-files: one call of a file tool, from a request on stdin to an answer on stdout. The daemon runs it
 * inside a boundary; it works on the workspace alone by itself too. What the tools do is src/files. */
#include "files.h"
#include "io/descriptor.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char usage[] =
	"usage: agent-files < REQUEST > ANSWER\n"
	"\n"
	"Runs one call of a file tool. The request is a JSON object:\n"
	"  {\"tool\":\"read_file\",\"args\":{\"path\":\"README.md\"},\"workspace\":\"/srv/project\"}\n"
	"The answer is one, too: outcome 1 with text, or category, message and advice.\n"
	"\n"
	"Started by agentd, which puts it into a sandbox. By hand:\n"
	"  echo '{\"tool\":\"list_files\",\"args\":{},\"workspace\":\"'$PWD'\"}' | agent-files\n";

#ifdef __SANITIZE_ADDRESS__
/* A boundary refuses the ptrace that the search for leaks needs. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

static bool read_request(struct ar_buf *to)
{
	char part[65536];
	ssize_t n;

	do {
		n = read(STDIN_FILENO, part, sizeof(part));
		if (n > 0)
			ar_buf_add(to, part, (size_t)n);
	} while ((n > 0 && !to->failed) || (n < 0 && errno == EINTR));
	return n == 0;
}

int main(int argc, char **argv)
{
	struct ar_buf request = { .cap = AR_FILES_REQUEST_MAX }, answer = { 0 };
	bool is_asked = argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);

	if (argc > 1) {
		fputs(usage, is_asked ? stdout : stderr);
		return is_asked ? 0 : 2;
	}
	signal(SIGPIPE, SIG_IGN);
	umask(022);
	if (!read_request(&request)) {
		fputs("agent-files: the request cannot be read, or is longer than 24 MiB\n", stderr);
		return 1;
	}
	ar_files_serve(ar_buf_str(&request), &answer);
	bool is_told = ar_fd_write_all(STDOUT_FILENO, ar_buf_str(&answer));

	ar_buf_fini(&request);
	ar_buf_fini(&answer);
	return is_told ? 0 : 1;
}
