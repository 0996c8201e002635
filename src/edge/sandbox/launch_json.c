/* See launch_json.h. */
#include "launch_json.h"

#include "json.h"
#include "path_list.h"
#include "roots.h"

static struct ar_str finish_text(struct ar_buf *out, struct ar_arena *a)
{
	struct ar_str text = ar_arena_str(a, ar_buf_str(out));

	ar_buf_fini(out);
	return text;
}

struct ar_str ar_launch_read_roots(const struct ar_plan *p, struct ar_arena *a)
{
	struct ar_buf out = { 0 };
	struct ar_jw w = ar_jw(&out);

	ar_jw_open_array(&w);
	if (p->mode == AR_PLAN_DANGER)
		ar_jw_str(&w, AR_STR("/"));
	if (p->mode != AR_PLAN_DANGER && p->workspace)
		ar_jw_str(&w, ar_str_from(p->workspace));
	ar_path_json(&w, &p->read_roots);
	ar_path_json(&w, &p->write_roots);
	ar_jw_close_array(&w);
	return finish_text(&out, a);
}

struct ar_str ar_launch_write_roots(const struct ar_plan *p, struct ar_arena *a)
{
	struct ar_buf out = { 0 };
	struct ar_jw w = ar_jw(&out);

	ar_jw_open_array(&w);
	if (p->mode == AR_PLAN_DANGER)
		ar_jw_str(&w, AR_STR("/"));
	if (p->mode == AR_PLAN_WORKSPACE_WRITE && p->workspace)
		ar_jw_str(&w, ar_str_from(p->workspace));
	ar_path_json(&w, &p->write_roots);
	if (p->mode != AR_PLAN_DANGER) {
		ar_jw_str(&w, AR_STR("/tmp"));
		ar_jw_str(&w, AR_STR(AR_ROOTS_HOME));
	}
	ar_jw_close_array(&w);
	return finish_text(&out, a);
}

static struct ar_str stdin_of(const struct ar_process_spec *spec)
{
	if (spec->has_input || spec->tty)
		return AR_STR("open");
	return ar_str_absent(spec->input) ? AR_STR("empty") : AR_STR("given");
}

struct ar_str ar_launch_limits(const struct ar_plan *p, const struct ar_process_spec *spec,
			       struct ar_arena *a)
{
	const struct {
		const char *name;
		uint64_t most;
	} rows[] = {
		{ "processes", p->limits.processes },
		{ "memoryBytes", p->limits.memory_bytes },
		{ "cpuPercent", p->limits.cpu_percent },
		{ "fileBytes", p->limits.file_bytes },
		{ "openFiles", p->limits.open_files },
		{ "tmpBytes", p->limits.tmp_bytes },
		{ "timeoutMs", spec->timeout_ms > 0 ? (uint64_t)spec->timeout_ms : 0 },
	};
	struct ar_buf out = { 0 };
	struct ar_jw w = ar_jw(&out);

	ar_jw_open(&w);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].most > 0)
			ar_jw_mint(&w, rows[i].name, (int64_t)rows[i].most);
	}
	ar_jw_mbool(&w, "tty", spec->tty);
	ar_jw_mstr(&w, "stdin", stdin_of(spec));
	ar_jw_mstr(&w, "enforcedBy", p->cgroups.count > 0 ? AR_STR("cgroup") : AR_STR("rlimit_only"));
	ar_jw_close(&w);
	return finish_text(&out, a);
}

struct ar_str ar_launch_guarantees(struct ar_str of_profile, const struct ar_plan_paths *replaceable,
				   struct ar_arena *a)
{
	struct ar_buf out = { 0 };
	struct ar_jw w = { &out, true };

	if (replaceable->count == 0)
		return of_profile;
	ar_buf_adds(&out, ar_str_sub(of_profile, 0, of_profile.len - 1));
	ar_jw_key(&w, "replaceable");
	ar_jw_open_array(&w);
	ar_path_json(&w, replaceable);
	ar_jw_close_array(&w);
	ar_jw_close(&w);
	return finish_text(&out, a);
}
