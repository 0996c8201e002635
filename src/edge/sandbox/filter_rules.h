/* What the filters forbid, as rows. A call that no row matches is allowed: what a process may reach is
 * decided by its view of files and its namespaces; the filters close what those do not cover, and the parts
 * of the kernel that no build or test needs. Rows with several comparisons need all of them. Constant
 * tables. */
#ifndef AR_SANDBOX_FILTER_RULES_H
#define AR_SANDBOX_FILTER_RULES_H

#include <seccomp.h>
#include <stddef.h>

enum ar_filter_kind {
	AR_FILTER_BOUNDED, /* of every profile with a boundary */
	AR_FILTER_DANGER, /* of danger_full_access: the native way of calling, and no typing into terminals */
	AR_FILTER_COUNT,
};

enum ar_filter_answer {
	AR_FILTER_NOTIFIED = 1, /* refused, and the supervisor sees it: a violation */
	AR_FILTER_MISSING, /* ENOSYS: programs then use the older call, which a row can judge */
};

struct ar_filter_rule {
	int call;
	enum ar_filter_answer answer;
	unsigned count;
	struct scmp_arg_cmp args[3];
};

struct ar_filter_rules {
	const struct ar_filter_rule *at;
	size_t count;
};

struct ar_filter_rules ar_filter_rules(enum ar_filter_kind kind);

/* The highest number of a system call that the rows were written with; what is newer is answered as
 * AR_FILTER_MISSING. */
#define AR_FILTER_NEWEST 450

#endif
