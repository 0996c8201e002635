/* Reads the options of one shim: lines `word value`, each word by its row in a table. An unknown word is
 * refused, so that a newer daemon never believes that an older shim does what it asked for. */
#include "options.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_OUTPUT_BYTES (64ull << 20)
#define DEFAULT_BARRIER_MS 30000
#define NUMBER_MAX (1ull << 50) /* as microseconds it still fits */

static bool parse_number(const char *value, uint64_t *ret)
{
	char *end;

	if (*value < '0' || *value > '9')
		return false;
	errno = 0;
	*ret = strtoull(value, &end, 10);
	return errno == 0 && *end == '\0' && *ret <= NUMBER_MAX;
}

static bool parse_init(struct ar_shim_options *o, const char *value)
{
	o->init = value;
	return value[0] == '/';
}

static bool parse_timeout(struct ar_shim_options *o, const char *value)
{
	return parse_number(value, &o->timeout_ms);
}

static bool parse_output(struct ar_shim_options *o, const char *value)
{
	return parse_number(value, &o->output_bytes);
}

static bool parse_barrier(struct ar_shim_options *o, const char *value)
{
	return parse_number(value, &o->barrier_ms) && o->barrier_ms > 0;
}

static bool parse_leftovers(struct ar_shim_options *o, const char *value)
{
	o->keeps_leftovers = strcmp(value, "keep") == 0;
	return o->keeps_leftovers || strcmp(value, "kill") == 0;
}

static bool parse_cgroup(struct ar_shim_options *o, const char *value)
{
	if (value[0] != '/' || o->cgroup_count == AR_SHIM_CGROUPS_MAX)
		return false;
	o->cgroups[o->cgroup_count++] = value;
	return true;
}

static const struct {
	const char *word;
	bool (*parse)(struct ar_shim_options *o, const char *value);
	const char *wrong;
} words[] = {
	{ "init", parse_init, "init: needs an absolute path" },
	{ "timeout_ms", parse_timeout, "timeout_ms: needs a number" },
	{ "output_bytes", parse_output, "output_bytes: needs a number" },
	{ "barrier_ms", parse_barrier, "barrier_ms: needs a number above 0" },
	{ "leftovers", parse_leftovers, "leftovers: kill or keep" },
	{ "cgroup", parse_cgroup, "cgroup: needs an absolute path, at most 8 of them" },
};

/* NULL: taken; otherwise what is wrong. */
static const char *parse_line(struct ar_shim_options *o, char *line)
{
	char *space = strchr(line, ' ');

	if (!space)
		return "a line is not `word value`";
	*space = '\0';
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(line, words[i].word) == 0)
			return words[i].parse(o, space + 1) ? NULL : words[i].wrong;
	}
	return "an option that this agent-shim does not know";
}

static bool read_text(struct ar_shim_options *o, const char *path, const char **ret_wrong)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n = fd < 0 ? -1 : read(fd, o->text, sizeof(o->text));

	if (fd >= 0)
		close(fd);
	*ret_wrong = n < 0 ? "the file cannot be read" : "the file is too long";
	if (n < 0 || (size_t)n == sizeof(o->text))
		return false;
	o->text[n] = '\0';
	return true;
}

bool ar_shim_options_read(struct ar_shim_options *o, const char *path, const char **ret_wrong)
{
	char *next;

	o->output_bytes = DEFAULT_OUTPUT_BYTES;
	o->barrier_ms = DEFAULT_BARRIER_MS;
	if (!read_text(o, path, ret_wrong))
		return false;
	for (char *line = o->text; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		*ret_wrong = parse_line(o, line);
		if (*ret_wrong)
			return false;
	}
	*ret_wrong = "no line `init`";
	return o->init != NULL;
}
