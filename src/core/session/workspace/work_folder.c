/* See work_folder.h. */
#include "workspace/work_folder.h"

#include "apply.h"
#include "subagent/subagents.h"

struct ar_work_folder ar_work_folder_of_session(const struct ar_session *s)
{
	return (struct ar_work_folder){ .bound = s->bound, .files = s->files };
}

struct ar_work_folder ar_work_folder_of_child(const struct ar_shape_subagent_record *r)
{
	return (struct ar_work_folder){ .child = r, .bound = r->folder, .files = r->files };
}

struct ar_work_folder ar_work_folder_in(const struct ar_session *s, struct ar_str thread)
{
	const struct ar_shape_subagent_record *r =
		s->subagents.count ? ar_session_subagent_in(s, thread) : NULL;

	while (r && !r->folder)
		r = ar_str_absent(r->parent_id) ? NULL : ar_session_subagent(s, r->parent_id);
	return r ? ar_work_folder_of_child(r) : ar_work_folder_of_session(s);
}

struct ar_work_folder ar_work_folder_named(const struct ar_session *s, struct ar_str child)
{
	const struct ar_shape_subagent_record *r = ar_str_empty(child) ? NULL : ar_session_subagent(s, child);

	return r && r->folder ? ar_work_folder_of_child(r) : ar_work_folder_of_session(s);
}

struct ar_work_folder ar_work_folder_around(const struct ar_session *s, const struct ar_work_folder *p)
{
	return ar_work_folder_in(s, p->child->parent_thread_id);
}

bool ar_work_folder_next(const struct ar_session *s, size_t *at, struct ar_work_folder *ret)
{
	if ((*at)++ == 0) {
		*ret = ar_work_folder_of_session(s);
		return true;
	}
	for (; *at - 2 < s->subagents.count; (*at)++) {
		const struct ar_shape_subagent_record *r = ar_subagent_at(s, *at - 2);

		if (!r->folder)
			continue;
		*ret = ar_work_folder_of_child(r);
		return true;
	}
	return false;
}

bool ar_work_folder_is_same(const struct ar_work_folder *a, const struct ar_work_folder *b)
{
	return ar_str_eq(ar_work_folder_child(a), ar_work_folder_child(b));
}

bool ar_work_folder_is_own(const struct ar_work_folder *p)
{
	return p->bound && !ar_str_absent(p->bound->origin);
}

bool ar_work_folder_has(const struct ar_work_folder *p, int status)
{
	return p->files && p->files->status == status;
}

bool ar_work_folder_is_merging(const struct ar_work_folder *p)
{
	return p->files && p->files->apply_status == AR_SESSION_FILES_APPLY_STATUS_MERGING;
}

struct ar_str ar_work_folder_child(const struct ar_work_folder *p)
{
	return p->child ? p->child->subagent_id : AR_STR_NONE;
}

struct ar_ids ar_work_folder_ids(const struct ar_work_folder *p)
{
	struct ar_ids ids = { 0 };

	if (p->child) {
		ids.at[AR_SCOPE_THREAD] = p->child->child_thread_id;
		ids.at[AR_SCOPE_SUBAGENT] = p->child->subagent_id;
	}
	return ids;
}

struct ar_str ar_work_folder_owner(struct ar_arena *a, const struct ar_work_folder *p)
{
	return p->child ? ar_arena_fmt(a, "agent %.*s", AR_STR_ARG(p->child->subagent_id))
			: AR_STR("the session");
}

/* ---- what facts leave ---- */

struct ar_work_folder ar_apply_work_folder(const struct ar_session *s, const struct ar_event *e)
{
	return ar_work_folder_named(s, e->ids[AR_SCOPE_SUBAGENT]);
}

void ar_apply_files(struct ar_session *s, const struct ar_work_folder *p,
		    const struct ar_shape_session_files *f)
{
	if (p->child)
		ar_apply_subagent_files(s, p->child->subagent_id, f);
	else
		s->files = ar_struct_copy(&ar_shape_session_files_desc, f, AR_COPY_TEXT, &s->arena);
}
