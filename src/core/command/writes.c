/* Where a command writes, by the text of its targets: redirections, and files that tee, cp, ln and the
 * like are given. A target that is not known is left to the sandbox. Pure. */
#include "danger.h"

#include <string.h>

void ar_danger_keep_path(struct ar_command_line *c, struct ar_str target, bool is_write, struct ar_arena *a)
{
	static const char harmless[] =
		"/dev/null /dev/zero /dev/full /dev/tty /dev/stdout /dev/stderr /dev/fd/* "
		"/dev/shm/* /dev/random /dev/urandom /dev/tcp/* /dev/udp/*";
	size_t n = c->redirect_count;

	if (n == AR_COMMAND_WORDS_MAX)
		return;
	if ((n & (n - 1)) == 0) { /* full: it grows at the powers of two */
		struct ar_command_redirect *more = ar_arena_alloc(a, (n ? 2 * n : 1) * sizeof(*more));

		if (n)
			memcpy(more, c->redirects, n * sizeof(*more));
		c->redirects = more;
	}
	c->redirects[c->redirect_count++] = (struct ar_command_redirect){ target, is_write };
	if (is_write && ar_str_starts(target, AR_STR("/dev/")) && !ar_danger_fits(target, harmless))
		ar_danger_raise(c, AR_DANGER_DEVICE_WRITE, target);
}

/* Names that the sandbox keeps read-only in a workspace; here they only raise a question. */
static bool has_protected_part(struct ar_str path)
{
	struct ar_str part;

	while (!ar_str_absent(path)) {
		path = ar_str_split(path, '/', &part);
		if (ar_danger_fits(
			    part,
			    ".git .gitmodules .envrc .husky .vscode .idea .mcp.json .claude .codex .agents"))
			return true;
	}
	return false;
}

static bool is_system(struct ar_str path)
{
	static const char *const places[] = { "/etc/",	"/usr/", "/bin/",  "/sbin/", "/lib",
					      "/boot/", "/sys/", "/proc/", "/root/", "/home/",
					      "/opt/",	"/var/", "/run/" };

	if (ar_str_starts(path, AR_STR("/var/tmp/")))
		return false;
	for (size_t i = 0; i < AR_ARRAY_LEN(places); i++) {
		if (ar_str_starts(path, ar_str_from(places[i])))
			return true;
	}
	return false;
}

static bool climbs(struct ar_str path)
{
	return ar_str_starts(path, AR_STR("../")) || ar_danger_contains(path, "/../") ||
	       ar_str_is(path, "..");
}

static bool is_outside(const struct ar_command_line *c, struct ar_str target)
{
	char room[AR_PATH_TEXT_MAX];
	struct ar_str path;

	if (ar_str_empty(target) || target.p[0] == AR_ANY_PART || target.p[0] == AR_ANY_WORDS)
		return false;
	if (target.p[0] == '~')
		return true;
	path = ar_path_relative(c->root, c->cwd, target, room);
	if (ar_str_absent(path) || has_protected_part(path))
		return true;
	if (path.p[0] == '/' && is_system(path))
		return true;
	return !c->changes_folder && climbs(target) &&
	       (path.p[0] == '/' || ar_str_starts(path, AR_STR("..")));
}

void ar_command_judge_writes(struct ar_command_line *c)
{
	for (size_t i = 0; i < c->redirect_count; i++) {
		if (c->redirects[i].is_write && is_outside(c, c->redirects[i].target))
			ar_danger_raise(c, AR_DANGER_OUTSIDE_WRITE, c->redirects[i].target);
	}
}
