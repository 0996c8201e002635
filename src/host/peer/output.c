/* What a peer left: its artifacts, joined from the pieces as they came, and the result of the call that is
 * made of them. What it said in messages is no artifact. See delegate_priv.h. */
#include "hash.h"
#include "mem.h"
#include "peer/delegate_priv.h"

#include <string.h>

#define OUTPUTS_MAX 256
#define NAME_KEPT 64 /* bytes of a name in a path */
#define SHOWN_MAX ((size_t)65536) /* bytes of one artifact that the model reads */

static struct ar_peer_output *output_at(struct ar_list *node)
{
	return AR_CONTAINER_OF(node, struct ar_peer_output, node);
}

static void output_free(struct ar_work *w, struct ar_peer_output *o)
{
	w->output_bytes -= o->bytes.len;
	ar_list_del(&o->node);
	ar_buf_fini(&o->bytes);
	ar_arena_fini(&o->arena);
	ar_free(o);
}

void ar_work_drop_outputs(struct ar_work *w)
{
	AR_LIST_FOR_SAFE (it, &w->outputs)
		output_free(w, output_at(it));
}

static struct ar_peer_output *find_or_add(struct ar_work *w, const struct ar_peer_artifact *a)
{
	struct ar_peer_output *o;
	size_t count = 0;

	AR_LIST_FOR (it, &w->outputs) {
		if (ar_str_eq(output_at(it)->id, a->id))
			return output_at(it);
		count++;
	}
	if (count == OUTPUTS_MAX)
		return NULL;
	o = ar_new0(sizeof(*o));
	o->id = ar_arena_str(&o->arena, a->id);
	o->name = ar_arena_str(&o->arena, ar_str_empty(a->name) ? a->id : a->name);
	ar_list_push(&w->outputs, &o->node);
	return o;
}

/* Pieces of a stream and parts of a whole task come to the same bytes. */
static bool keep_one(struct ar_work *w, const struct ar_peer_artifact *a)
{
	struct ar_peer_output *o = find_or_add(w, a);

	if (!o)
		return false;
	if (!a->is_append) {
		w->output_bytes -= o->bytes.len;
		ar_buf_clear(&o->bytes);
	}
	for (size_t i = 0; i < a->part_count; i++) {
		if (a->parts[i].bytes.len > (size_t)w->setting->max_artifact_bytes - w->output_bytes)
			return false;
		ar_buf_adds(&o->bytes, a->parts[i].bytes);
		w->output_bytes += a->parts[i].bytes.len;
	}
	return true;
}

bool ar_work_keep(struct ar_work *w, const struct ar_peer_update *u)
{
	if (u->is_whole)
		ar_work_drop_outputs(w);
	for (size_t i = 0; i < u->artifact_count; i++) {
		if (!keep_one(w, &u->artifacts[i]))
			return false;
	}
	return true;
}

/* ---- the result ---- */

static struct ar_str plain(struct ar_arena *a, struct ar_str name)
{
	struct ar_str text = ar_arena_str(a, ar_str_utf8_prefix(name, NAME_KEPT));
	char *p = (char *)(uintptr_t)text.p;

	for (size_t i = 0; i < text.len; i++) {
		bool is_plain = (p[i] >= '0' && p[i] <= '9') || (p[i] >= 'A' && p[i] <= 'Z') ||
				(p[i] >= 'a' && p[i] <= 'z') || p[i] == '-' || p[i] == '_' ||
				(p[i] == '.' && i > 0);

		if (!is_plain)
			p[i] = '_';
	}
	return text;
}

/* The place in the list keeps two apart whose names become the same. */
static struct ar_tool_artifact artifact_of(const struct ar_work *w, const struct ar_peer_output *o,
					   size_t place, struct ar_arena *a)
{
	struct ar_str bytes = ar_buf_str(&o->bytes);
	struct ar_hash hash = ar_hash_of(bytes);
	char *hex = ar_arena_alloc(a, AR_HASH_HEX);

	ar_hash_hex(&hash, hex);
	return (struct ar_tool_artifact){
		.path = ar_arena_fmt(a, "peers/%.*s/%.*s/%zu-%.*s", AR_STR_ARG(w->name),
				     AR_STR_ARG(plain(a, w->remote_task)), place,
				     AR_STR_ARG(plain(a, o->name))),
		.change = AR_TOOL_CREATED,
		.version = { hex, AR_HASH_HEX },
		.content = bytes.p ? bytes : AR_STR(""),
		.size = (int64_t)bytes.len,
	};
}

static void show(struct ar_buf *text, const struct ar_peer_output *o)
{
	struct ar_str bytes = ar_buf_str(&o->bytes);

	ar_buf_addf(text, "%sArtifact %.*s", text->len ? "\n\n" : "", AR_STR_ARG(o->name));
	if (!ar_str_is_text(bytes)) {
		ar_buf_addf(text, ": %zu bytes that are no text", bytes.len);
		return;
	}
	ar_buf_addz(text, ":\n");
	ar_buf_adds(text, ar_str_utf8_prefix(bytes, SHOWN_MAX));
	if (bytes.len > SHOWN_MAX)
		ar_buf_addf(text, "\n(%zu more bytes)", bytes.len - SHOWN_MAX);
}

void ar_work_result(struct ar_work *w, struct ar_arena *a, struct ar_tool_result *ret)
{
	struct ar_tool_artifact *list;
	struct ar_buf text = { 0 };
	size_t count = 0;

	AR_LIST_FOR (it, &w->outputs)
		count++;
	list = ar_arena_alloc(a, (count + 1) * sizeof(*list));
	AR_LIST_FOR (it, &w->outputs) {
		list[ret->artifact_count] = artifact_of(w, output_at(it), ret->artifact_count + 1, a);
		ret->artifact_count++;
		show(&text, output_at(it));
	}
	if (count == 0) {
		ar_buf_addz(&text, "The peer has ended its task and left no artifact.");
		if (!ar_str_empty(w->prompt))
			ar_buf_addf(&text, " Its last message, which is no result:\n%.*s",
				    AR_STR_ARG(w->prompt));
	}
	ret->artifacts = list;
	ret->text = ar_arena_str(a, ar_buf_str(&text));
	ar_buf_fini(&text);
}
