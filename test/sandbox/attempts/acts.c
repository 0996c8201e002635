/* What attempts of several themes do: open, read, list, change one path; one bare system call; and the names
 * that the test gave to things outside. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attempt.h"

#define KEPT 8
#define NAME_MAX_LEN 16

int fail_with(int error)
{
	errno = error;
	return -1;
}

/* The value of ESC_<the capitals at `name`>; *ret_len is how many they are. */
static const char *value_of(const char *name, size_t *ret_len)
{
	char key[NAME_MAX_LEN + 8] = "ESC_";
	size_t n = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");

	*ret_len = n;
	if (n > NAME_MAX_LEN)
		return "";
	memcpy(key + 4, name, n);
	key[4 + n] = '\0';
	const char *value = getenv(key);
	return value ? value : "";
}

const char *expand(const char *text)
{
	static char kept[KEPT][4096];
	static size_t turn;
	char *out = kept[turn++ % KEPT];
	size_t at = 0, n;

	while (*text && at + 1 < sizeof(kept[0])) {
		if (*text != '$') {
			out[at++] = *text++;
			continue;
		}
		const char *value = value_of(text + 1, &n);
		int wrote = snprintf(out + at, sizeof(kept[0]) - at, "%s", value);
		at += wrote > 0 ? (size_t)wrote : 0;
		text += 1 + n;
	}
	out[at < sizeof(kept[0]) ? at : sizeof(kept[0]) - 1] = '\0';
	return out;
}

long given_number(const char *name)
{
	size_t n;

	return strtol(value_of(name, &n), NULL, 10);
}

int write_at(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0)
		return -1;
	ssize_t n = write(fd, "#!/bin/sh\n", 10);
	close(fd);
	return n < 0 ? -1 : 0;
}

int try_write(const struct attempt *a)
{
	return write_at(expand(a->path));
}

int try_overwrite(const struct attempt *a)
{
	int fd = open(expand(a->path), O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	return fd < 0 ? -1 : close(fd);
}

int try_read(const struct attempt *a)
{
	char bytes[64];
	int fd = open(expand(a->path), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return -1;
	ssize_t n = read(fd, bytes, sizeof(bytes));
	int error = errno;
	close(fd);
	return n < 0 ? fail_with(error) : 0;
}

int try_stat(const struct attempt *a)
{
	struct stat st;

	return lstat(expand(a->path), &st);
}

int try_list(const struct attempt *a)
{
	DIR *dir = opendir(expand(a->path));

	return dir ? closedir(dir) : -1;
}

int try_unlink(const struct attempt *a)
{
	return unlink(expand(a->path));
}

int try_mkdir(const struct attempt *a)
{
	return mkdir(expand(a->path), 0755);
}

int try_chmod(const struct attempt *a)
{
	return chmod(expand(a->path), (mode_t)a->args[0]);
}

int try_system_call(const struct attempt *a)
{
	return syscall(a->nr, a->args[0], a->args[1], a->args[2], a->args[3], a->args[4]) < 0 ? -1 : 0;
}
