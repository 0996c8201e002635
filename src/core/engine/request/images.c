/* Images that tools brought, as parts of the message that answers the call: the newest few of a
 * request, to a model that can see. What is left out is said in a sentence, so that the model does not
 * speak of what it never saw. Loop thread. */
#include "request/messages.h"
#include "identity.h"

#define IMAGES_MAX 16 /* of one request, the newest */
#define IMAGE_BYTES ((size_t)5 << 20) /* of one, as base64: what every vendor takes */
#define IMAGES_BYTES ((size_t)16 << 20) /* of all of them */

void ar_images_plan(struct ar_messages *m, const struct ar_context_entry *entries, size_t count, bool can_see)
{
	size_t left = can_see ? IMAGES_MAX : 0;

	m->can_see = can_see;
	for (size_t i = count; i > 0; i--) {
		struct ar_message_images *images = &m->images[i - 1];

		images->count = entries[i - 1].images.count;
		images->taken = images->count < left ? images->count : left;
		left -= images->taken;
	}
}

void ar_images_refs(struct ar_messages *m, size_t i, struct ar_texts refs)
{
	struct ar_str session_key;

	for (size_t n = 0; n < m->images[i].taken; n++)
		ar_ref_parse(refs.at[n], &session_key, &m->hashes[m->hash_count++]);
}

/* A stored image is an object of ours, with mimeType and data: only its kind is missing. */
static bool add_image(struct ar_messages *m, struct ar_jw *w, struct ar_str image, struct ar_arena *a)
{
	if (image.len < 2 || image.len > IMAGE_BYTES || m->image_bytes + image.len > IMAGES_BYTES)
		return false;
	m->image_bytes += image.len;
	ar_jw_raw(w,
		  ar_arena_fmt(a, "{\"type\":\"image\",%.*s", AR_STR_ARG(ar_str_sub(image, 1, image.len))));
	return true;
}

static void add_text(struct ar_jw *w, struct ar_str text)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "type", AR_STR("text"));
	ar_jw_mstr(w, "text", text);
	ar_jw_close(w);
}

static struct ar_str left_out(const struct ar_messages *m, size_t count, struct ar_arena *a)
{
	return ar_arena_fmt(a, "[%zu image%s of this result %s left out: %s]", count, count == 1 ? "" : "s",
			    count == 1 ? "is" : "are",
			    m->can_see ? "too large, or too many for one request" : "this model takes none");
}

void ar_images_add(struct ar_messages *m, size_t i, const struct ar_str *images, struct ar_arena *a)
{
	struct ar_message *message = &m->list[i];
	struct ar_buf parts = { 0 };
	struct ar_jw w = ar_jw(&parts);
	size_t shown = 0;

	if (m->images[i].count == 0)
		return;
	ar_jw_open_array(&w);
	add_text(&w, message->text);
	for (size_t k = 0; k < m->images[i].taken; k++)
		shown += add_image(m, &w, images[k], a);
	if (shown == 0) {
		message->text = ar_arena_fmt(a, "%.*s\n%.*s", AR_STR_ARG(message->text),
					     AR_STR_ARG(left_out(m, m->images[i].count, a)));
		ar_buf_fini(&parts);
		return;
	}
	if (shown < m->images[i].count)
		add_text(&w, left_out(m, m->images[i].count - shown, a));
	ar_jw_close_array(&w);
	message->text = ar_arena_str(a, ar_buf_str(&parts));
	message->is_parts = true;
	ar_buf_fini(&parts);
}
