/* Attempts on the protected paths of a workspace: what a later program outside would run or obey. The test
 * made a repository with hooks, a configuration and the files of editors; .idea is a link to a folder of the
 * workspace. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attempt.h"

#define SHUT "EROFS EACCES"
#define PINNED "EBUSY EROFS EACCES"
#define AWAY "EBUSY EROFS EACCES EXDEV"
#define NOT_LINKED "EXDEV EROFS EACCES"

static int rename_away(const struct attempt *a)
{
	return rename(expand(a->path), expand("$WS/taken-away"));
}

/* In the same folder, so that no other file system is in the way. */
static int rename_beside(const struct attempt *a)
{
	char beside[4096];

	snprintf(beside, sizeof(beside), "%s.beside", expand(a->path));
	return rename(expand(a->path), beside);
}

static int remove_folder(const struct attempt *a)
{
	return rmdir(expand(a->path));
}

static int touch(const struct attempt *a)
{
	return utimensat(AT_FDCWD, expand(a->path), NULL, 0);
}

static int truncate_path(const struct attempt *a)
{
	return truncate(expand(a->path), 0);
}

/* As git itself changes a file: a new one beside it, then over it. */
static int replace(const struct attempt *a)
{
	char lock[4096];

	snprintf(lock, sizeof(lock), "%s.lock", expand(a->path));
	if (write_at(lock) != 0)
		return -1;
	int r = rename(lock, expand(a->path));
	int error = errno;
	unlink(lock);
	return r == 0 ? 0 : fail_with(error);
}

static int exchange(const struct attempt *a)
{
	char beside[4096];

	snprintf(beside, sizeof(beside), "%s.instead", expand(a->path));
	mkdir(beside, 0755);
	return renameat2(AT_FDCWD, expand(a->path), AT_FDCWD, beside, RENAME_EXCHANGE);
}

static int by_link(const struct attempt *a)
{
	unlink(expand("$WS/git-link"));
	return symlink(".git", expand("$WS/git-link")) != 0 ? -1 : write_at(expand(a->path));
}

static int by_descriptor(const struct attempt *a)
{
	int dir = open(expand(a->path), O_PATH | O_DIRECTORY | O_CLOEXEC);

	return dir < 0 ? -1 : openat(dir, "post-merge", O_WRONLY | O_CREAT | O_CLOEXEC, 0755) < 0 ? -1 : 0;
}

static int by_magic_link(const struct attempt *a)
{
	char path[64];
	int dir = open(expand(a->path), O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d/post-merge", dir);
	return write_at(path);
}

static int by_hard_link(const struct attempt *a)
{
	unlink(expand("$WS/config-link"));
	return link(expand(a->path), expand("$WS/config-link")) != 0 ? -1
								     : write_at(expand("$WS/config-link"));
}

static int nested_repository(const struct attempt *a)
{
	(void)a;
	mkdir(expand("$WS/nest"), 0755);
	mkdir(expand("$WS/nest/.git"), 0755);
	mkdir(expand("$WS/nest/.git/hooks"), 0755);
	return write_at(expand("$WS/nest/.git/hooks/pre-commit"));
}

static const struct attempt rows[] = {
	{ "git_hook_write", try_write, "$WS/.git/hooks/pre-commit", SHUT, SHUT, "ok" },
	{ "git_hook_create", try_write, "$WS/.git/hooks/post-checkout", SHUT, SHUT, "ok" },
	{ "git_hook_chmod", try_chmod, "$WS/.git/hooks/pre-commit", SHUT, SHUT, "ok", NULL, 0, { 0755 } },
	{ "git_hook_touch", touch, "$WS/.git/hooks/pre-commit", SHUT, SHUT, "ok" },
	{ "git_hook_unlink", try_unlink, "$WS/.git/hooks/pre-push", SHUT, SHUT, "ok" },
	{ "git_hook_mkdir", try_mkdir, "$WS/.git/hooks/more", SHUT, SHUT, "ok" },
	{ "git_hook_by_link", by_link, "$WS/git-link/hooks/by-link", SHUT, SHUT, "ok" },
	{ "git_hook_by_descriptor", by_descriptor, "$WS/.git/hooks", SHUT, SHUT, "ok" },
	{ "git_hook_by_magic_link", by_magic_link, "$WS/.git/hooks", SHUT, SHUT, "ok" },
	{ "git_hook_by_cwd", try_write, "/proc/self/cwd/.git/hooks/by-cwd", SHUT, SHUT, "ok" },
	{ "git_config_write", try_write, "$WS/.git/config", SHUT, SHUT, "ok" },
	{ "git_config_truncate", truncate_path, "$WS/.git/config", SHUT, SHUT, "-" },
	{ "git_config_replace", replace, "$WS/.git/config", SHUT, PINNED, "ok" },
	{ "git_config_unlink", try_unlink, "$WS/.git/config", SHUT, PINNED, "-" },
	{ "git_config_rename", rename_beside, "$WS/.git/config", PINNED, PINNED, "-" },
	{ "git_config_rename_away", rename_away, "$WS/.git/config", AWAY, AWAY, "-" },
	{ "git_config_hard_link", by_hard_link, "$WS/.git/config", NOT_LINKED, NOT_LINKED, "ok" },
	{ "git_hooks_rename", rename_beside, "$WS/.git/hooks", PINNED, PINNED, "-" },
	{ "git_hooks_rename_away", rename_away, "$WS/.git/hooks", AWAY, AWAY, "-" },
	{ "git_hooks_rmdir", remove_folder, "$WS/.git/hooks", PINNED, PINNED, "-" },
	{ "git_hooks_exchange", exchange, "$WS/.git/hooks", PINNED, PINNED, "-" },
	{ "git_rename", rename_beside, "$WS/.git", PINNED, PINNED, "-" },
	{ "git_exchange", exchange, "$WS/.git", PINNED, PINNED, "-" },
	{ "git_modules_write", try_write, "$WS/.gitmodules", SHUT, SHUT, "ok" },
	{ "git_modules_unlink", try_unlink, "$WS/.gitmodules", SHUT, PINNED, "-" },
	{ "git_modules_replace", replace, "$WS/.gitmodules", SHUT, PINNED, "-" },
	{ "editor_write", try_write, "$WS/.vscode/tasks.json", SHUT, SHUT, "ok" },
	{ "editor_rename", rename_beside, "$WS/.vscode", PINNED, PINNED, "-" },
	{ "editor_link_write", try_write, "$WS/.idea/workspace.xml", SHUT, SHUT, "ok" },
	{ "editor_link_target_write", try_write, "$WS/conf/idea/workspace.xml", SHUT, SHUT, "ok" },
	{ "husky_write", try_write, "$WS/.husky/pre-commit", SHUT, SHUT, "ok" },
	{ "envrc_write", try_write, "$WS/.envrc", SHUT, SHUT, "ok" },
	{ "git_module_hook_write", try_write, "$WS/.git/modules/lib/hooks/pre-commit", SHUT, SHUT, "ok" },
	{ "git_module_config_write", try_write, "$WS/.git/modules/lib/config", SHUT, SHUT, "ok" },
	{ "git_module_rename", rename_beside, "$WS/.git/modules/lib", PINNED, PINNED, "-" },
	{ "git_modules_folder_rename", rename_beside, "$WS/.git/modules", PINNED, PINNED, "-" },
	{ "git_hooks_path_write", try_write, "$WS/.hooks/pre-commit", SHUT, SHUT, "ok" },
	{ "git_hooks_path_rename", rename_beside, "$WS/.hooks", PINNED, PINNED, "-" },
	{ "git_pinned_hook_write", try_write, "$WS/deep/sub/.git/hooks/pre-commit", SHUT, SHUT, "ok" },
	{ "git_pinned_rename", rename_beside, "$WS/deep/sub/.git", PINNED, PINNED, "-" },
	{ "git_pinned_parent_rename", rename_beside, "$WS/deep/sub", PINNED, PINNED, "-" },
	{ "git_pinned_top_rename", rename_beside, "$WS/deep", PINNED, PINNED, "-" },
	{ "git_include_write", try_write, "$WS/team.gitconfig", SHUT, SHUT, "ok" },
	{ "git_object_write", try_write, "$WS/.git/objects/new", SHUT, "ok", "ok" },
	{ "git_index_write", try_write, "$WS/.git/index", SHUT, "ok", "ok" },
	{ "git_nested", nested_repository, NULL, SHUT " ENOENT", "ok", "ok" },
	/* Protected names that nothing stands under: they can be made, which is seen. */
	{ "git_commondir_make", try_write, "$WS/.git/commondir", SHUT, "ok", "-" },
	{ "servers_make", try_write, "$WS/.mcp.json", SHUT, "ok", "-" },
	{ "agents_make", try_mkdir, "$WS/.agents", SHUT, "ok", "-" },
};

const struct attempt_list git_attempts = ATTEMPT_LIST(rows);
