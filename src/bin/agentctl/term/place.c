/* See term.h. The folder may hold what a sandboxed command wrote: no link in it is followed, and what is
 * no plain file is not read. */
#include "term/term.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HEAD_MAX 512
#define BRANCH "ref: refs/heads/"

static int open_head(void)
{
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };

	return (int)syscall(SYS_openat2, AT_FDCWD, ".git/HEAD", &how, sizeof(how));
}

static void read_branch(struct ar_buf *to)
{
	char text[HEAD_MAX];
	int fd = open_head();
	struct stat st;
	ssize_t n = 0;
	struct ar_str line;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		n = read(fd, text, sizeof(text));
	close(fd);
	ar_str_split((struct ar_str){ text, n > 0 ? (size_t)n : 0 }, '\n', &line);
	if (ar_str_starts(line, AR_STR(BRANCH)))
		ar_text_add(to, ar_str_sub(line, sizeof(BRANCH) - 1, line.len));
}

void ar_place_read(struct ar_buf *folder, struct ar_buf *branch)
{
	char here[PATH_MAX];
	struct ar_str path = ar_str_from(getcwd(here, sizeof(here)) ? here : "?");

	ar_buf_clear(folder);
	ar_buf_clear(branch);
	while (path.len > 1 && memchr(path.p, '/', path.len))
		path = ar_str_split(path, '/', &(struct ar_str){ 0 });
	ar_text_add(folder, path);
	read_branch(branch);
}
