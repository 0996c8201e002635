/* Stands in for edge/sandbox: every profile is the same absence of a boundary, so that these tests are about
 * processes alone. */
#include "desk.h"

#include <unistd.h>

static const struct ar_sandbox_host nothing_proven;

const struct ar_sandbox_host *ar_sandbox_host_of(const struct ar_sandbox *s)
{
	(void)s;
	return &nothing_proven;
}

static struct desk *desk_of(struct ar_sandbox *s)
{
	return (struct desk *)(void *)s;
}

enum ar_status ar_sandbox_plan_in(struct ar_sandbox *s, const struct ar_process_spec *spec,
				  const struct ar_plan_paths *groups, struct ar_arena *a,
				  struct ar_launch *ret, struct ar_error *err)
{
	struct ar_plan *p = ar_arena_alloc(a, sizeof(*p));

	(void)groups;
	if (desk_of(s)->sandbox_refuses)
		return ar_fail(err, AR_E_UNAVAILABLE, "%s", desk_of(s)->sandbox_refuses);
	p->mode = AR_PLAN_DANGER;
	p->network = AR_PLAN_NET_HOST;
	p->backend = geteuid() == 0 ? AR_PLAN_ROOT : AR_PLAN_USERNS;
	p->uid = geteuid() == 0 ? 61000 : (uint32_t)geteuid();
	p->gid = geteuid() == 0 ? 61000 : (uint32_t)getegid();
	p->cwd = "/";
	p->tty = spec->tty;
	p->rows = spec->rows;
	p->columns = spec->columns;
	for (size_t i = 0; i < spec->argc; i++)
		p->argv[p->argc++] = ar_arena_str(a, spec->argv[i]).p;
	p->env[p->env_count++] = "PATH=/usr/bin:/bin";
	*ret = (struct ar_launch){ .plan = p,
				   .read_roots = AR_STR("[\"/\"]"),
				   .write_roots = AR_STR("[]"),
				   .environment = AR_STR("{\"PATH\":\"/usr/bin:/bin\"}"),
				   .limits = AR_STR("{}"),
				   .guarantees = AR_STR("{\"nothing\":true}") };
	return AR_OK;
}

enum ar_status ar_sandbox_plan(struct ar_sandbox *s, const struct ar_process_spec *spec, struct ar_arena *a,
			       struct ar_launch *ret, struct ar_error *err)
{
	return ar_sandbox_plan_in(s, spec, NULL, a, ret, err);
}

void ar_sandbox_release(struct ar_sandbox *s, const struct ar_launch *l)
{
	(void)s;
	(void)l;
}
