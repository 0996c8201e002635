/* Reading the artifacts of a session. Pure. */
#include "artifact/artifact.h"

const struct ar_shape_artifact_record *ar_session_artifact(const struct ar_session *s, struct ar_str id)
{
	for (size_t i = s->artifacts.count; i > 0; i--) {
		const struct ar_shape_artifact_record *r = ar_artifact_at(&s->artifacts, i - 1);

		if (ar_str_eq(r->artifact_id, id))
			return r;
	}
	return NULL;
}

struct ar_texts ar_artifacts_of_turn(const struct ar_session *s, struct ar_str turn, struct ar_arena *a)
{
	struct ar_str *ids = ar_arena_alloc(a, (s->artifacts.count + 1) * sizeof(*ids));
	struct ar_texts of = { ids, 0 };

	for (size_t i = 0; i < s->artifacts.count; i++) {
		const struct ar_shape_artifact_record *r = ar_artifact_at(&s->artifacts, i);

		if (ar_str_eq(r->turn_id, turn))
			ids[of.count++] = r->artifact_id;
	}
	for (size_t i = 0; i < s->versions.count; i++) {
		const struct ar_shape_artifact_record *r = ar_artifact_at(&s->versions, i);

		if (ar_str_eq(r->turn_id, turn) && !ar_texts_have(of, r->artifact_id) &&
		    ar_session_artifact(s, r->artifact_id))
			ids[of.count++] = r->artifact_id;
	}
	return of.count > 0 ? of : (struct ar_texts){ 0 };
}

struct ar_texts ar_artifacts_of_thread(const struct ar_session *s, struct ar_str thread, struct ar_arena *a)
{
	struct ar_str *ids = ar_arena_alloc(a, (s->artifacts.count + 1) * sizeof(*ids));
	struct ar_texts of = { ids, 0 };
	size_t from;

	for (size_t i = 0; i < s->artifacts.count; i++) {
		const struct ar_shape_artifact_record *r = ar_artifact_at(&s->artifacts, i);

		if (ar_str_eq(r->thread_id, thread))
			ids[of.count++] = r->artifact_id;
	}
	from = of.count > AR_ARTIFACTS_LISTED ? of.count - AR_ARTIFACTS_LISTED : 0;
	return of.count > 0 ? (struct ar_texts){ ids + from, of.count - from } : (struct ar_texts){ 0 };
}
