/* See system.h. */
#include "ops/system.h"

#include <uv.h>

void ar_system_describe(struct ar_arena *a, struct ar_policy *p)
{
	uv_utsname_t name;

	if (uv_os_uname(&name) != 0)
		return;
	p->os = ar_arena_str(a, ar_str_from(name.sysname));
	p->arch = ar_arena_str(a, ar_str_from(name.machine));
	p->shell = AR_STR("/bin/sh");
}
