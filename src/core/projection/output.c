/* Outputs that were too long to be shown: where they lie, how large they are, how they begin, and whether
 * they can still be read. */
#include "output/outputs.h"
#include "thread.h"

static struct ar_str state_of(const struct ar_removed_output *removed)
{
	if (!removed)
		return AR_STR("available");
	return ar_str_absent(removed->replacement) ? AR_STR("expired") : AR_STR("redacted");
}

static void output(const struct ar_session *s, const struct ar_stored_output *o, struct ar_jw *w)
{
	const struct ar_removed_output *removed = ar_session_removed_output(s, o->ref);

	ar_jw_open(w);
	ar_jw_mstr(w, "outputRef", o->ref);
	ar_jw_mstr(w, "owner", o->owner);
	ar_jw_mstr(w, "toolCallId", o->call);
	ar_jw_mstr(w, "processId", o->process);
	ar_jw_mstr(w, "mediaType", o->media_type);
	ar_jw_mstr(w, "encoding", o->encoding);
	ar_jw_mint(w, "sizeBytes", o->size);
	ar_jw_mstr(w, "truncation", o->truncation);
	ar_jw_mstr(w, "preview", o->preview);
	ar_shape_write(w, "redaction", &ar_shape_redaction_desc, o->redaction);
	ar_jw_mtime(w, "storedAt", o->at);
	ar_jw_mstr(w, "state", state_of(removed));
	if (o->expires)
		ar_jw_mtime(w, "expiresAt", o->expires);
	if (removed)
		ar_jw_mtime(w, "removedAt", removed->at);
	ar_jw_close(w);
}

void ar_projection_outputs(const struct ar_session *s, const struct ar_thread *t, struct ar_jw *w)
{
	ar_jw_key(w, "outputs");
	ar_jw_open_array(w);
	for (size_t i = 0; i < t->outputs.count; i++)
		output(s, t->outputs.at[i], w);
	ar_jw_close_array(w);
}
