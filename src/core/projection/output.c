/* Outputs that were too long to be shown: where they lie, how large they are and how they begin. They
 * are kept as long as their session. */
#include "thread.h"

static void output(const struct ar_stored_output *o, struct ar_jw *w)
{
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
	ar_jw_close(w);
}

void ar_projection_outputs(const struct ar_thread *t, struct ar_jw *w)
{
	ar_jw_key(w, "outputs");
	ar_jw_open_array(w);
	for (size_t i = 0; i < t->outputs.count; i++)
		output(t->outputs.at[i], w);
	ar_jw_close_array(w);
}
