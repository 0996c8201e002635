/* Artifacts: `artifactSummary` of a session and of a thread, a page of their list, and one of them. Pure. */
#include "artifact/artifact.h"
#include "describe.h"
#include "thread.h"

#define SHOWN_ARTIFACTS 10 /* newest in a summary */
#define SHOWN_VERSIONS 5 /* of each */

static void write_record(const struct ar_shape_artifact_record *r, struct ar_jw *w)
{
	ar_struct_encode(&ar_shape_artifact_record_desc, r, r->extra_, w);
}

struct versions {
	size_t most;
	void (*write)(const struct ar_shape_artifact_record *r, struct ar_jw *w);
};

static void write_versions(const struct ar_session *s, const struct ar_shape_artifact_record *newest,
			   const struct versions *how, struct ar_jw *w)
{
	size_t shown = 1;

	ar_jw_open_array(w);
	how->write(newest, w);
	for (size_t i = s->versions.count; i > 0 && shown < how->most; i--) {
		const struct ar_shape_artifact_record *r = ar_artifact_at(&s->versions, i - 1);

		if (!ar_str_eq(r->artifact_id, newest->artifact_id))
			continue;
		how->write(r, w);
		shown++;
	}
	ar_jw_close_array(w);
}

void ar_projection_artifact_versions(const struct ar_session *s,
				     const struct ar_shape_artifact_record *newest, size_t most,
				     struct ar_jw *w)
{
	write_versions(s, newest, &(struct versions){ most, write_record }, w);
}

static bool is_of(const struct ar_shape_artifact_record *r, struct ar_str thread)
{
	return ar_str_absent(thread) || ar_str_eq(r->thread_id, thread);
}

/* What differs between the versions of one artifact. */
static void write_version(const struct ar_shape_artifact_record *r, struct ar_jw *w)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "versionId", r->version_id);
	ar_jw_mstr(w, "readRef", r->read_ref);
	ar_jw_mstr(w, "previewRef", r->preview_ref);
	ar_jw_mstr(w, "diffRef", r->diff_ref);
	if (r->validation_issue_count.set)
		ar_jw_mint(w, "validationIssueCount", r->validation_issue_count.v);
	ar_jw_mstr(w, "state", ar_str_from(ar_enum_name(&ar_artifact_record_state_desc, r->state)));
	ar_jw_mtime(w, "updatedAt", r->updated_at);
	ar_jw_close(w);
}

static void write_shown(const struct ar_session *s, const struct ar_shape_artifact_record *r, struct ar_jw *w)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "artifactId", r->artifact_id);
	ar_jw_mstr(w, "kind", r->kind);
	ar_jw_mstr(w, "path", r->path);
	ar_jw_mint(w, "versionCount", r->versions);
	ar_jw_key(w, "versions");
	write_versions(s, r, &(struct versions){ SHOWN_VERSIONS, write_version }, w);
	ar_jw_close(w);
}

/* Those of the window; `omitted` left it, whatever thread they were of. */
static void write_counts(const struct ar_session *s, struct ar_str thread, struct ar_jw *w)
{
	int64_t count = 0, issues = 0, unavailable = 0;

	for (size_t i = 0; i < s->artifacts.count; i++) {
		const struct ar_shape_artifact_record *r = ar_artifact_at(&s->artifacts, i);

		if (!is_of(r, thread))
			continue;
		count++;
		issues += r->validation_issue_count.v;
		unavailable += r->state == AR_ARTIFACT_RECORD_STATE_UNAVAILABLE;
	}
	ar_jw_mint(w, "count", count);
	ar_jw_mint(w, "unavailable", unavailable);
	ar_jw_mint(w, "validationIssueCount", issues);
	ar_jw_mint(w, "omitted", s->artifacts_left.v);
}

static void write_id(const struct ar_session *s AR_UNUSED, const struct ar_shape_artifact_record *r,
		     struct ar_jw *w)
{
	ar_jw_str(w, r->artifact_id);
}

typedef void write_fn(const struct ar_session *s, const struct ar_shape_artifact_record *r, struct ar_jw *w);

static void write_newest(const struct ar_session *s, struct ar_str thread, write_fn *write, struct ar_jw *w)
{
	size_t shown = 0;

	ar_jw_open_array(w);
	for (size_t i = s->artifacts.count; i > 0 && shown < SHOWN_ARTIFACTS; i--) {
		const struct ar_shape_artifact_record *r = ar_artifact_at(&s->artifacts, i - 1);

		if (!is_of(r, thread))
			continue;
		write(s, r, w);
		shown++;
	}
	ar_jw_close_array(w);
}

static void open_summary(const struct ar_session *s, struct ar_str thread, struct ar_jw *w)
{
	ar_jw_key(w, "artifactSummary");
	ar_jw_open(w);
	ar_jw_mstr(w, "state", AR_STR("available"));
	ar_jw_mstr(w, "command", AR_STR("list_artifacts"));
	write_counts(s, thread, w);
}

void ar_projection_artifact_summary(const struct ar_session *s, struct ar_str thread, struct ar_jw *w)
{
	open_summary(s, thread, w);
	ar_jw_key(w, "artifacts");
	write_newest(s, thread, write_shown, w);
	ar_jw_close(w);
}

void ar_projection_thread_artifacts(const struct ar_session *s, const struct ar_thread *t, struct ar_jw *w)
{
	open_summary(s, t->id, w);
	ar_jw_key(w, "artifactRefs");
	write_newest(s, t->id, write_id, w);
	ar_jw_close(w);
}

int64_t ar_projection_artifact_page(const struct ar_session *s, const struct ar_artifact_page *page,
				    struct ar_jw *w)
{
	size_t shown = 0;
	int64_t last = 0;

	ar_jw_open_array(w);
	for (size_t i = s->artifacts.count; i > 0; i--) {
		const struct ar_shape_artifact_record *r = ar_artifact_at(&s->artifacts, i - 1);

		if (r->sequence >= page->before || (page->of && !ar_texts_have(*page->of, r->artifact_id)))
			continue;
		if (shown == page->limit) {
			ar_jw_close_array(w);
			return last;
		}
		write_record(r, w);
		last = r->sequence;
		shown++;
	}
	ar_jw_close_array(w);
	return 0;
}
