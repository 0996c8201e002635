/* Resource limits and the marks that a process tree carries: its standing when memory runs out, its audit
 * session. Done while the starter's /proc is still in view and before privilege is gone. */
#include "rlimits.h"

#include "file.h"
#include "message.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#define AUDIT_NONE UINT32_MAX

static int set_limit(struct ar_init *in, int which, uint64_t most, const char *name)
{
	struct rlimit now;

	if (getrlimit((__rlimit_resource_t)which, &now) < 0)
		return ar_init_fail(in, "limit of", name);
	if (now.rlim_max > most)
		now.rlim_max = most;
	now.rlim_cur = now.rlim_max;
	if (setrlimit((__rlimit_resource_t)which, &now) < 0)
		return ar_init_fail(in, "limit of", name);
	return 0;
}

int ar_rlimits_set(struct ar_init *in)
{
	const struct ar_plan_limits *l = &in->plan.limits;
	bool is_alone = in->plan.cgroups.count == 0;
	const struct {
		int which;
		uint64_t most;
		bool is_wanted;
		const char *name;
	} rows[] = {
		{ RLIMIT_CORE, 0, true, "core" },
		{ RLIMIT_FSIZE, l->file_bytes, l->file_bytes > 0, "file size" },
		{ RLIMIT_NOFILE, l->open_files, l->open_files > 0, "open files" },
		{ RLIMIT_NPROC, l->processes, is_alone && l->processes > 0, "processes" },
		{ RLIMIT_DATA, l->memory_bytes, is_alone && l->memory_bytes > 0, "memory" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].is_wanted && set_limit(in, rows[i].which, rows[i].most, rows[i].name) < 0)
			return -1;
	}
	if (ar_file_write(AT_FDCWD, "/proc/self/oom_score_adj", "500") < 0)
		return ar_init_fail(in, "oom_score_adj", NULL);
	return 0;
}

int ar_rlimits_mark(struct ar_init *in)
{
	char text[16];

	in->session = AUDIT_NONE;
	if (in->plan.backend != AR_PLAN_ROOT || in->namespaces == 0)
		return 0;
	snprintf(text, sizeof(text), "%u", in->plan.uid);
	if (ar_file_write(AT_FDCWD, "/proc/self/loginuid", text) < 0)
		return 0;
	if (ar_file_read(AT_FDCWD, "/proc/self/sessionid", text, sizeof(text)) > 0)
		in->session = (uint32_t)strtoul(text, NULL, 10);
	return 0;
}
