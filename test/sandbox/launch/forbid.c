/* See forbid.h. By a filter around everything: it needs root, or gives up new privileges first, as the
 * boundary itself does later. */
#include "forbid.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define NR_LANDLOCK_CREATE 444
#define NR_LANDLOCK_RESTRICT 446

struct rule {
	const char *word;
	int call;
	int error;
	unsigned arg; /* which holds the bits */
	uint64_t bits; /* all of them set; 0: always */
};

static const struct rule rules[] = {
	{ "landlock", NR_LANDLOCK_CREATE, ENOSYS, 0, 0 },
	{ "landlock", NR_LANDLOCK_CREATE + 1, ENOSYS, 0, 0 },
	{ "landlock", NR_LANDLOCK_RESTRICT, ENOSYS, 0, 0 },
	{ "userns", SCMP_SYS(unshare), ENOSPC, 0, CLONE_NEWUSER },
	{ "userns", SCMP_SYS(clone), ENOSPC, 0, CLONE_NEWUSER },
	{ "userns", SCMP_SYS(clone3), ENOSYS, 0, 0 },
	{ "netns", SCMP_SYS(unshare), ENOSPC, 0, CLONE_NEWNET },
	{ "netns", SCMP_SYS(clone), ENOSPC, 0, CLONE_NEWNET },
	{ "netns", SCMP_SYS(clone3), ENOSYS, 0, 0 },
	{ "pidns", SCMP_SYS(unshare), ENOSPC, 0, CLONE_NEWPID },
	{ "pidns", SCMP_SYS(clone), ENOSPC, 0, CLONE_NEWPID },
	{ "pidns", SCMP_SYS(clone3), ENOSYS, 0, 0 },
	{ "mountns", SCMP_SYS(unshare), ENOSPC, 0, CLONE_NEWNS },
	{ "mountns", SCMP_SYS(clone), ENOSPC, 0, CLONE_NEWNS },
	{ "mountns", SCMP_SYS(clone3), ENOSYS, 0, 0 },
	{ "notify", SCMP_SYS(seccomp), EINVAL, 1, SECCOMP_FILTER_FLAG_NEW_LISTENER },
	{ "seccomp", SCMP_SYS(seccomp), ENOSYS, 0, 0 },
};

static bool add(scmp_filter_ctx filter, const struct rule *r)
{
	const struct scmp_arg_cmp bits = { r->arg, SCMP_CMP_MASKED_EQ, r->bits, r->bits };

	return seccomp_rule_add_array(filter, SCMP_ACT_ERRNO((uint32_t)r->error), r->call, r->bits ? 1 : 0,
				      &bits) == 0;
}

bool forbid(const char *word)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	bool is_known = false, is_good = filter != NULL;

	for (size_t i = 0; is_good && i < sizeof(rules) / sizeof(rules[0]); i++) {
		if (strcmp(rules[i].word, word) != 0)
			continue;
		is_known = true;
		is_good = add(filter, &rules[i]);
	}
	if (geteuid() == 0)
		seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 0);
	is_good = is_known && is_good && seccomp_load(filter) == 0;
	seccomp_release(filter);
	return is_good;
}
