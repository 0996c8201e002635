/* See lines.h. */
#include "pack/lines.h"
#include "mem.h"

#include <fcntl.h>

bool ar_pack_lines_open(struct ar_pack_lines *l, int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	*l = (struct ar_pack_lines){ .file = fd < 0 ? NULL : fdopen(fd, "r") };
	return l->file != NULL;
}

void ar_pack_lines_close(struct ar_pack_lines *l)
{
	if (l->file)
		fclose(l->file);
	ar_free(l->line);
}

bool ar_pack_lines_next(struct ar_pack_lines *l, struct ar_str *ret)
{
	ssize_t len = getline(&l->line, &l->room, l->file);

	if (len <= 0 || l->line[len - 1] != '\n')
		return false;
	*ret = (struct ar_str){ l->line, (size_t)len - 1 };
	return true;
}
