/* See handle.h. `shim1:<machine>:<boot>:<folder>`: the path comes last, it may hold anything. */
#include "handle.h"

#include "hash.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define FORM "shim1"

static size_t read_small(const char *path, char *out, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, room - 1);

	if (fd >= 0)
		close(fd);
	while (n > 0 && (out[n - 1] == '\n' || out[n - 1] == ' '))
		n--;
	out[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

void ar_machine_read(struct ar_machine *ret)
{
	char text[256], hashed[AR_HASH_TEXT];
	struct ar_hash hash;

	*ret = (struct ar_machine){ 0 };
	if (read_small("/etc/machine-id", text, sizeof(text)) == 0 &&
	    gethostname(text, sizeof(text) - 1) != 0)
		text[0] = '\0';
	text[sizeof(text) - 1] = '\0';
	hash = ar_hash_of(ar_str_from(text));
	ar_hash_text(&hash, hashed);
	memcpy(ret->id, hashed, sizeof(ret->id) - 1);
	read_small("/proc/sys/kernel/random/boot_id", ret->boot, sizeof(ret->boot));
}

struct ar_str ar_handle_text(struct ar_arena *a, const struct ar_machine *m, struct ar_str folder)
{
	return ar_arena_fmt(a, FORM ":%s:%s:%.*s", m->id, m->boot, AR_STR_ARG(folder));
}

bool ar_handle_parse(struct ar_str text, struct ar_handle *ret)
{
	struct ar_handle h;
	struct ar_str form, rest;

	if (text.len > AR_HANDLE_MAX)
		return false;
	rest = ar_str_split(text, ':', &form);
	rest = ar_str_split(rest, ':', &h.machine);
	h.folder = ar_str_split(rest, ':', &h.boot);
	if (!ar_str_is(form, FORM) || ar_str_empty(h.folder) || h.folder.p[0] != '/' ||
	    memchr(h.folder.p, '\0', h.folder.len))
		return false;
	*ret = h;
	return true;
}
