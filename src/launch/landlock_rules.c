/* See landlock_rules.h. */
#include "landlock_rules.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#define OF_FILES \
	(LL_FS_EXECUTE | LL_FS_WRITE_FILE | LL_FS_READ_FILE | LL_FS_TRUNCATE | LL_FS_IOCTL_DEV | \
	 LL_FS_RESOLVE_UNIX)

/* Rights of an ABI: the first ones, and what came with each. */
static uint64_t rights_of(int abi)
{
	static const struct {
		int since;
		uint64_t rights;
	} rows[] = {
		{ 1, LL_FS_REFER - 1 }, { 2, LL_FS_REFER },	   { 3, LL_FS_TRUNCATE },
		{ 5, LL_FS_IOCTL_DEV }, { 9, LL_FS_RESOLVE_UNIX },
	};
	uint64_t rights = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (abi >= rows[i].since)
			rights |= rows[i].rights;
	}
	return rights;
}

int ar_landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LL_CREATE_VERSION);

	return abi > 0 ? (int)abi : 0;
}

int ar_landlock_new(int abi)
{
	struct ll_ruleset set = { .handled_fs = rights_of(abi) };
	size_t size = abi >= 6	 ? sizeof(set)
		      : abi >= 4 ? offsetof(struct ll_ruleset, scoped)
				 : sizeof(set.handled_fs);

	if (abi >= 6)
		set.scoped = LL_SCOPE_ABSTRACT_UNIX | LL_SCOPE_SIGNAL;
	return (int)syscall(SYS_landlock_create_ruleset, &set, size, 0);
}

int ar_landlock_allow(int rules, int abi, const char *path, uint64_t rights)
{
	struct ll_path_beneath rule = { .allowed = rights & rights_of(abi),
					.parent = open(path, O_PATH | O_CLOEXEC) };
	struct stat st;
	int failed, saved;

	if (rule.parent < 0)
		return errno == ENOENT ? 0 : -1;
	if (fstat(rule.parent, &st) == 0 && !S_ISDIR(st.st_mode))
		rule.allowed &= OF_FILES;
	failed = (int)syscall(SYS_landlock_add_rule, rules, LL_RULE_PATH_BENEATH, &rule, 0);
	saved = errno;
	close(rule.parent);
	errno = saved;
	return failed;
}

int ar_landlock_enforce(int rules, int abi)
{
	unsigned flags = abi >= 7 ? LL_LOG_SAME_EXEC_OFF | LL_LOG_NEW_EXEC_ON : 0;

	return (int)syscall(SYS_landlock_restrict_self, rules, flags);
}
