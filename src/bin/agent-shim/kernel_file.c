/* Reads and writes with plain system calls: stdio's scanf alone would be a quarter of this program's
 * memory. */
#include "kernel_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATH_ROOM 4096

static int open_in(const char *folder, const char *name, int flags)
{
	char path[PATH_ROOM];
	int n = snprintf(path, sizeof(path), "%s%s%s", folder ? folder : "", folder ? "/" : "", name);

	return n > 0 && (size_t)n < sizeof(path) ? open(path, flags | O_CLOEXEC) : -1;
}

size_t ar_kernel_file_read(const char *folder, const char *name, char *out, size_t room)
{
	int fd = open_in(folder, name, O_RDONLY);
	ssize_t n = fd < 0 ? 0 : read(fd, out, room - 1);

	if (fd >= 0)
		close(fd);
	out[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

bool ar_kernel_file_write(const char *folder, const char *name, const char *text)
{
	int fd = open_in(folder, name, O_WRONLY);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}
