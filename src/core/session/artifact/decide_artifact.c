/* The files that a call or a turn changed become facts: an id that follows from the path, the hash of
 * the file as its version, and refs of what is stored of it. Pure. */
#include "artifact/artifact.h"
#include "hash.h"

#define PREVIEW_MAX 1024
#define PATH_MAX_BYTES 4096 /* of the fact; the id is made of the whole path */
#define CUT_MARK "\xe2\x80\xa6"
#define ID_DIGITS 32

static struct ar_str id_of(struct ar_decision *d, struct ar_str path)
{
	struct ar_str digits = ar_hash_digits(d->arena, path, ID_DIGITS);

	return ar_arena_fmt(d->arena, "artifact_%.*s_%.*s", AR_STR_ARG(d->session->session_key),
			    AR_STR_ARG(digits));
}

static struct ar_str shown_path(struct ar_decision *d, struct ar_str path)
{
	struct ar_str parts[] = { ar_str_utf8_prefix(path, PATH_MAX_BYTES - sizeof(CUT_MARK)),
				  AR_STR(CUT_MARK) };

	return path.len <= PATH_MAX_BYTES ? path : ar_arena_join(d->arena, parts, 2);
}

static struct ar_str version_of(const struct ar_tool_artifact *f)
{
	return f->change == AR_TOOL_DELETED ? AR_STR(AR_ARTIFACT_DELETED) : f->version;
}

static int state_of(const struct ar_tool_artifact *f)
{
	if (f->change == AR_TOOL_DELETED)
		return AR_ARTIFACT_CHANGED_STATE_DELETED;
	return ar_str_absent(f->content) ? AR_ARTIFACT_CHANGED_STATE_UNAVAILABLE
					 : AR_ARTIFACT_CHANGED_STATE_AVAILABLE;
}

static struct ar_str keep_preview(struct ar_decision *d, struct ar_str content)
{
	if (ar_str_absent(content) || !ar_str_is_text(content))
		return AR_STR_NONE;
	return ar_decide_content(d, ar_str_utf8_prefix(content, PREVIEW_MAX));
}

static int change_of(const struct ar_tool_artifact *f, bool is_observed)
{
	if (is_observed)
		return AR_ARTIFACT_CHANGED_CHANGE_OBSERVED;
	return f->change == AR_TOOL_CREATED ? AR_ARTIFACT_CHANGED_CHANGE_PRODUCED
					    : AR_ARTIFACT_CHANGED_CHANGE_UPDATED;
}

static void emit_changed(struct ar_decision *d, const struct ar_ids *ids, const struct ar_tool_artifact *f,
			 bool is_observed)
{
	const struct ar_shape_party producer = { .kind = AR_STR("tool"), .id = ids->at[AR_SCOPE_TOOL_CALL] };
	bool is_deleted = f->change == AR_TOOL_DELETED, is_kept = !is_deleted && !ar_str_absent(f->content);

	ar_decide_emit(d, AR_EV_ARTIFACT_CHANGED, ids,
		       &(struct ar_ev_artifact_changed){
			       .change = change_of(f, is_observed),
			       .read_ref = is_kept ? ar_decide_content(d, f->content)
						   : ids->at[AR_SCOPE_ARTIFACT],
			       .version_id = version_of(f),
			       .preview_ref = is_kept ? keep_preview(d, f->content) : AR_STR_NONE,
			       .diff_ref =
				       ar_str_absent(f->diff) ? AR_STR_NONE : ar_decide_content(d, f->diff),
			       .producer = is_observed ? NULL : &producer,
			       .kind = AR_STR(AR_ARTIFACT_FILE),
			       .path = shown_path(d, f->path),
			       .state = state_of(f),
			       .size_bytes = is_deleted ? (struct ar_opt_int){ 0 } : AR_OPT_INT(f->size) });
}

/* A call that changes only permissions, or reports a file twice, makes no new version. */
static bool is_known(const struct ar_session *s, struct ar_str id, const struct ar_tool_artifact *f)
{
	const struct ar_shape_artifact_record *r = ar_session_artifact(s, id);

	return r && ar_str_eq(r->version_id, version_of(f));
}

static void warn_of_rest(struct ar_decision *d, const struct ar_ids *owner,
			 const struct ar_changed_files *files)
{
	const char *what = files->is_observed ? "turn" : "call";
	struct ar_str id = owner->at[files->is_observed ? AR_SCOPE_TURN : AR_SCOPE_TOOL_CALL];
	struct ar_str scope = ar_arena_fmt(d->arena, "{\"%s\":\"%.*s\"}",
					   files->is_observed ? "turnId" : "toolCallId", AR_STR_ARG(id));

	ar_decide_emit(d, AR_EV_RUNTIME_WARNING, owner,
		       &(struct ar_ev_runtime_warning){
			       .code = AR_STR(AR_WARNING_ARTIFACTS),
			       .scope = scope,
			       .message = ar_arena_fmt(
				       d->arena,
				       "%zu of %zu files that the %s changed have no fact of their own; a %s "
				       "may have %d",
				       files->total - files->count, files->total, what, what,
				       AR_ARTIFACTS_PER_CALL) });
}

struct ar_texts ar_decide_artifacts(struct ar_decision *d, const struct ar_ids *owner,
				    const struct ar_changed_files *files)
{
	struct ar_changed_files some = *files;
	struct ar_texts known = { 0 };
	struct ar_str *ids;

	if (some.count == 0)
		return known;
	if (some.count > AR_ARTIFACTS_PER_CALL)
		some.count = AR_ARTIFACTS_PER_CALL;
	ids = ar_arena_alloc(d->arena, some.count * sizeof(*ids));
	known.at = ids;
	for (size_t i = 0; i < some.count; i++) {
		struct ar_ids scope = *owner;
		struct ar_str id = id_of(d, some.at[i].path);

		scope.at[AR_SCOPE_ARTIFACT] = id;
		if (!is_known(d->session, id, &some.at[i]))
			emit_changed(d, &scope, &some.at[i], some.is_observed);
		if (!ar_texts_have(known, id))
			ids[known.count++] = id;
	}
	if (some.total > some.count)
		warn_of_rest(d, owner, &some);
	return known;
}
