/* See protected.h. */
#include "protected.h"

#include "compiler.h"
#include "git_config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MODULES_DEPTH 4
#define MODULES_MAX 96
#define ENTRIES_MAX 2048 /* of .git/modules that are looked at in one launch */
#define INCLUDES_DEPTH 10 /* as git itself */
#define INCLUDES_MAX 64

static const char *const usual[] = {
	".git/hooks",	  ".git/config", ".git/config.worktree",
	".git/commondir", ".gitmodules", ".vscode",
	".idea",	  ".envrc",	 ".husky",
	".mcp.json",	  ".claude",	 ".codex",
	".agents",
};

/* commondir: creating one moves hooks and configuration elsewhere. */
static const char *const of_a_gitdir[] = { "hooks", "config", "config.worktree", "commondir" };

struct search {
	const struct ar_protected_options *o;
	struct ar_arena *a;
	struct ar_protected *ret;
	unsigned modules, entries; /* that may still be looked at */
	bool is_full;
};

static struct ar_str in_workspace(const struct search *s, struct ar_str name)
{
	return ar_arena_fmt(s->a, "%.*s/%.*s", AR_STR_ARG(s->o->workspace), AR_STR_ARG(name));
}

/* The part of an absolute path after the workspace; absent when it is not below it. */
static struct ar_str relative(const struct search *s, struct ar_str path)
{
	size_t root = s->o->workspace.len;

	if (!ar_path_is_in(path, s->o->workspace) || path.len <= root + 1)
		return AR_STR_NONE;
	return ar_str_sub(path, root + 1, path.len);
}

static void add_path(struct search *s, struct ar_plan_paths *list, struct ar_str path)
{
	if (!ar_path_add(list, path, s->a))
		s->is_full = true;
}

/* Why a path that leads nowhere does: ENOENT it is missing, ELOOP a link is on it, ENOTDIR a file is. */
static int why_missing(const struct search *s, struct ar_str name)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC | O_NOFOLLOW, .resolve = RESOLVE_NO_SYMLINKS };
	long fd = syscall(SYS_openat2, AT_FDCWD, in_workspace(s, name).p, &how, sizeof(how));

	if (fd < 0)
		return errno;
	close((int)fd);
	return ELOOP; /* the last name is a link itself */
}

static void protect_missing(struct search *s, struct ar_str name)
{
	int why = why_missing(s, name);

	if (why == ELOOP)
		add_path(s, &s->ret->replaceable, name);
	if (why == ENOENT)
		add_path(s, &s->ret->paths, name);
}

/* Names a path by where it really is, so that agent-init need not follow anything. One that leads
 * outside is not ours to write anyway. */
static void protect(struct search *s, struct ar_str name)
{
	struct ar_str real = ar_path_real(in_workspace(s, name), s->a), target;

	if (ar_str_absent(real)) {
		protect_missing(s, name);
		return;
	}
	target = relative(s, real);
	if (!ar_str_eq(target, name))
		add_path(s, &s->ret->replaceable, name);
	if (!ar_str_absent(target))
		add_path(s, &s->ret->paths, target);
}

static void protect_gitdir(struct search *s, struct ar_str folder)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(of_a_gitdir); i++)
		protect(s, ar_arena_fmt(s->a, "%.*s/%s", AR_STR_ARG(folder), of_a_gitdir[i]));
}

static bool is_gitdir(const struct search *s, struct ar_str folder)
{
	struct stat st;

	return stat(in_workspace(s, ar_arena_fmt(s->a, "%.*s/HEAD", AR_STR_ARG(folder))).p, &st) == 0;
}

/* Repositories of submodules; their names may have slashes. Sandboxed commands write here: no link is
 * followed, and a launch looks at so many. `is_wanted`: a folder that is there and cannot be looked at
 * makes all of .git/modules protected. */
static void protect_modules(struct search *s, struct ar_str folder, unsigned depth, bool is_wanted)
{
	int fd = depth > 0 ? open(in_workspace(s, folder).p,
				  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
			   : -1;
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *e;

	while (d && s->modules > 0 && s->entries > 0 && (e = readdir(d))) {
		struct ar_str inner;

		s->entries--;
		if ((e->d_type != DT_DIR && e->d_type != DT_UNKNOWN) || e->d_name[0] == '.')
			continue;
		inner = ar_arena_fmt(s->a, "%.*s/%s", AR_STR_ARG(folder), e->d_name);
		if (is_gitdir(s, inner)) {
			s->modules--;
			protect_gitdir(s, inner);
			protect_modules(s, ar_arena_fmt(s->a, "%s/modules", inner.p), depth - 1, true);
			continue;
		}
		protect_modules(s, inner, depth - 1, false);
	}
	if (d)
		closedir(d);
	else if (is_wanted && depth > 0 && (fd >= 0 || errno != ENOENT))
		s->entries = 0; /* a link, or nothing that can be looked at */
}

static struct ar_str first_line(struct ar_str text)
{
	struct ar_str line;

	ar_str_split(text, '\n', &line);
	while (line.len > 0 && (line.p[line.len - 1] == '\r' || line.p[line.len - 1] == ' '))
		line.len--;
	return line;
}

/* A path as git writes them: absolute, or from `base`; links followed. */
static struct ar_str led_to(const struct search *s, struct ar_str base, struct ar_str path)
{
	if (path.len == 0 || memchr(path.p, '\0', path.len))
		return AR_STR_NONE;
	if (path.p[0] == '/')
		return ar_path_real(path, s->a);
	return ar_path_real(ar_arena_fmt(s->a, "%.*s/%.*s", AR_STR_ARG(base), AR_STR_ARG(path)), s->a);
}

static struct ar_str read_in(const struct search *s, struct ar_str folder, const char *name)
{
	return ar_git_read(ar_arena_fmt(s->a, "%.*s/%s", AR_STR_ARG(folder), name), s->a);
}

/* The folder outside is shown only when it says itself that this workspace is its worktree: a
 * .git file that was planted inside must not open whatever it names. What is outside nobody
 * inside could have written. */
static bool points_back(const struct search *s, struct ar_str gitdir)
{
	struct ar_str back = first_line(read_in(s, gitdir, "gitdir"));

	return back.len > 0 && ar_str_eq(led_to(s, gitdir, back), in_workspace(s, AR_STR(".git")));
}

static void show_outside(struct search *s, struct ar_str gitdir)
{
	struct ar_str common = led_to(s, gitdir, first_line(read_in(s, gitdir, "commondir")));

	if (!points_back(s, gitdir))
		return;
	if (!ar_str_absent(common) && ar_path_is_in(gitdir, common)) {
		add_path(s, &s->ret->git, common);
		return;
	}
	add_path(s, &s->ret->git, gitdir);
}

/* A worktree or a submodule: .git is a file that names a folder. */
static void follow_git_file(struct search *s)
{
	struct ar_str text = ar_git_read(in_workspace(s, AR_STR(".git")), s->a);
	struct ar_str line = first_line(text), gitdir;

	if (!ar_str_starts(line, AR_STR("gitdir: ")))
		return;
	add_path(s, &s->ret->paths, AR_STR(".git"));
	gitdir = led_to(s, s->o->workspace, ar_str_sub(line, sizeof("gitdir: ") - 1, line.len));
	if (ar_str_absent(gitdir))
		return;
	if (!ar_str_absent(relative(s, gitdir))) {
		protect_gitdir(s, relative(s, gitdir));
		return;
	}
	show_outside(s, gitdir);
}

static bool has_dots(struct ar_str path)
{
	struct ar_str name;

	while (!ar_str_absent(path)) {
		path = ar_str_split(path, '/', &name);
		if (name.len == 0 || ar_str_is(name, ".") || ar_str_is(name, ".."))
			return true;
	}
	return false;
}

/* A folder of hooks is looked for from the top of the worktree; one that does not exist yet
 * is named as it is written. */
static void protect_hooks_of(struct search *s, struct ar_str config)
{
	struct ar_str path = ar_git_hooks_path(config, s->a), inside;

	if (path.len == 0 || path.p[0] == '~' || memchr(path.p, '\0', path.len))
		return;
	while (ar_str_starts(path, AR_STR("./")))
		path = ar_str_sub(path, 2, path.len);
	while (path.len > 1 && path.p[path.len - 1] == '/')
		path.len--;
	inside = path.p[0] == '/' ? relative(s, path) : path;
	if (!ar_str_empty(inside) && has_dots(inside))
		inside = relative(s, led_to(s, s->o->workspace, inside));
	if (!ar_str_empty(inside))
		protect(s, inside);
}

/* A file of configuration that counts: where from, and how many more may follow. */
struct counting {
	struct search *s;
	struct ar_str file;
	unsigned depth;
	unsigned *left;
};

static void protect_configured(const struct counting *c);

/* Up to the last slash, with it. */
static struct ar_str folder_of(struct ar_str path)
{
	while (path.len > 0 && path.p[path.len - 1] != '/')
		path.len--;
	return path;
}

/* From the folder of the file that includes it. Its own folder must exist, the file need not: if it
 * is made later, git obeys it. */
static struct ar_str real_path_of(const struct counting *c, struct ar_str path)
{
	struct ar_arena *a = c->s->a;
	struct ar_str folder, name;

	if (path.len == 0 || path.p[0] == '~' || memchr(path.p, '\0', path.len))
		return AR_STR_NONE;
	if (path.p[0] != '/')
		path = ar_arena_fmt(a, "%.*s%.*s", AR_STR_ARG(folder_of(c->file)), AR_STR_ARG(path));
	name = ar_str_sub(path, folder_of(path).len, path.len);
	folder = ar_path_real(folder_of(path), a);
	if (name.len == 0 || ar_str_absent(folder))
		return AR_STR_NONE;
	return ar_arena_fmt(a, "%.*s/%.*s", AR_STR_ARG(folder), AR_STR_ARG(name));
}

/* Outside of the workspace nobody inside writes, and nothing is followed further. */
static void protect_included(void *ctx, struct ar_str path)
{
	const struct counting *from = ctx;
	struct counting next = { from->s, real_path_of(from, path), from->depth - 1, from->left };
	struct ar_str inside = ar_str_absent(next.file) ? AR_STR_NONE : relative(from->s, next.file);

	if (ar_str_absent(inside) || *from->left == 0)
		return;
	*from->left -= 1;
	protect(from->s, inside);
	if (next.depth > 0)
		protect_configured(&next);
}

static void protect_configured(const struct counting *c)
{
	struct ar_str text = ar_git_read(c->file, c->s->a);

	protect_hooks_of(c->s, text);
	ar_git_includes(text, c->s->a, protect_included, (void *)c);
}

static void protect_config(struct search *s, struct ar_str file)
{
	unsigned left = INCLUDES_MAX;

	protect_configured(&(struct counting){ s, file, INCLUDES_DEPTH, &left });
	if (left == 0)
		s->is_full = true;
}

static void protect_hooks(struct search *s)
{
	static const char *const at_home[] = { ".gitconfig", ".config/git/config" };

	protect_config(s, in_workspace(s, AR_STR(".git/config")));
	protect_config(s, in_workspace(s, AR_STR(".git/config.worktree")));
	protect_config(s, AR_STR("/etc/gitconfig"));
	for (size_t i = 0; !ar_str_empty(s->o->home) && i < AR_ARRAY_LEN(at_home); i++)
		protect_config(s, ar_arena_fmt(s->a, "%.*s/%s", AR_STR_ARG(s->o->home), at_home[i]));
}

static enum ar_status protect_settings(struct search *s, struct ar_error *err)
{
	struct ar_str rest = s->o->setting, name;

	while (ar_path_next(&rest, ":\n", &name)) {
		while (name.len > 1 && name.p[name.len - 1] == '/')
			name.len--;
		if (name.p[0] == '/' || has_dots(name))
			return ar_fail(err, AR_E_INVALID,
				       "sandbox.protected: '%.*s' is not a path inside a workspace",
				       AR_STR_ARG(name));
		protect(s, name);
	}
	return AR_OK;
}

enum ar_status ar_protected_find(const struct ar_protected_options *o, struct ar_arena *a,
				 struct ar_protected *ret, struct ar_error *err)
{
	struct search s = { .o = o, .a = a, .ret = ret, .modules = MODULES_MAX, .entries = ENTRIES_MAX };
	enum ar_status rc;

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < AR_ARRAY_LEN(usual); i++)
		protect(&s, ar_str_from(usual[i]));
	rc = protect_settings(&s, err);
	if (rc != AR_OK)
		return rc;
	follow_git_file(&s);
	protect_modules(&s, AR_STR(".git/modules"), MODULES_DEPTH, true);
	if (s.modules == 0 || s.entries == 0)
		protect(&s, AR_STR(".git/modules")); /* too many to name each: none of them is written */
	protect_hooks(&s);
	if (s.is_full)
		return ar_fail(err, AR_E_LIMIT,
			       "the workspace has more than %d protected paths, the limit of a sandbox",
			       AR_PLAN_PATHS_MAX);
	return AR_OK;
}
