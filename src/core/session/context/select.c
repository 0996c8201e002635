/* What a request carries: which messages of the conversation go along, how large that is, and the manifest that names it. Leaves to
 * decide_compact.c what happens when it is too large. Pure. */
#include "context/context.h"
#include "limits/route.h"

#define BYTES_PER_TOKEN 4
#define FRAME_TOKENS 4 /* role and separators of one message */
#define CALL_BYTES 16 /* that frame one tool call */
#define LIE_FACTOR 8 /* a count that is so far from our own is not believed */

static const char *const role_word[] = { "", "system", "user", "assistant", "tool", "summary" };

int64_t ar_context_estimate(int64_t bytes)
{
	return (bytes + BYTES_PER_TOKEN - 1) / BYTES_PER_TOKEN + FRAME_TOKENS;
}

int64_t ar_context_call_bytes(struct ar_str name, int64_t args)
{
	return (int64_t)name.len + args + CALL_BYTES;
}

int64_t ar_context_tokens(const struct ar_context_entry *entry)
{
	return ar_context_estimate(entry->bytes);
}

int64_t ar_context_window(const struct ar_draft *w)
{
	const struct ar_policy *policy = w->d->input->policy;
	int64_t by_bytes = policy->context_bytes / BYTES_PER_TOKEN;
	int64_t tokens = w->window > 0 ? w->window : policy->context_tokens;
	int64_t window = tokens > 0 ? tokens : INT64_MAX;

	return by_bytes > 0 && by_bytes < window ? by_bytes : window;
}

const struct ar_context_entry *ar_draft_message(const struct ar_draft *w, size_t i)
{
	return i < w->kept ? w->thread->context.at[i] : w->context.at[i - w->kept];
}

size_t ar_draft_visible(const struct ar_draft *w)
{
	size_t first = ar_thread_visible(w->thread, w->boundary);

	return first < w->kept ? first : w->kept;
}

/* ---- size ---- */

static int64_t tokens_from(const struct ar_draft *w, size_t first)
{
	size_t total = w->kept + w->context.count;
	int64_t tokens = 0;

	for (size_t i = first; i < total; i++)
		tokens += ar_context_tokens(ar_draft_message(w, i));
	return tokens;
}

int64_t ar_draft_own_estimate(const struct ar_draft *w)
{
	const struct ar_policy *policy = w->d->input->policy;
	int64_t tokens = tokens_from(w, ar_draft_visible(w));

	if (w->boundary)
		tokens += ar_context_estimate(w->boundary->bytes);
	return tokens +
	       ar_context_estimate((int64_t)(policy->system_prompt.len + ar_decide_instructions(w->d).len));
}

/* The provider counted the newest request; only what came since is estimated. */
static int64_t estimate(const struct ar_draft *w)
{
	int64_t own = ar_draft_own_estimate(w), since = w->anchor_at - w->thread->omitted;
	int64_t window = ar_context_window(w);

	if (w->anchor <= 0 || since < 0 || (size_t)since > w->kept + w->context.count)
		return own;
	if (w->anchor / LIE_FACTOR > window || w->anchor < own / LIE_FACTOR)
		return own;
	return w->anchor + tokens_from(w, (size_t)since);
}

/* ---- selection ---- */

/* How many of the oldest messages stay behind: policy bounds their number and their bytes, the newest always goes. */
static size_t first_sent(const struct ar_draft *w, size_t visible, size_t total)
{
	const struct ar_policy *policy = w->d->input->policy;
	int64_t window = ar_context_window(w);
	int64_t most = window < policy->context_bytes / BYTES_PER_TOKEN ? window * BYTES_PER_TOKEN
									: policy->context_bytes;
	int64_t bytes = w->boundary ? w->boundary->bytes : 0, count = w->boundary ? 1 : 0;
	size_t first = total;

	while (first > visible) {
		bytes += ar_draft_message(w, first - 1)->bytes;
		count++;
		if (first < total && (count > policy->context_max || bytes > most))
			break;
		first--;
	}
	/* Never begin with the answer to a call: the message that made it goes along, beyond the bounds if need be. */
	while (first > visible && first < total && ar_draft_message(w, first)->role == AR_CONTEXT_TOOL)
		first--;
	return first;
}

static const struct ar_context_entry *summary_entry(struct ar_draft *w)
{
	struct ar_context_entry *entry = ar_arena_alloc(w->d->arena, sizeof(*entry));

	*entry = (struct ar_context_entry){ .role = AR_CONTEXT_SUMMARY,
					    .ref = w->boundary->summary_ref,
					    .bytes = w->boundary->bytes };
	return entry;
}

static struct ar_selection select_from(struct ar_draft *w, size_t first, size_t total)
{
	struct ar_selection s = { 0 };

	s.entries = ar_arena_room(w->d->arena, (total + 2) * sizeof(*s.entries));
	if (w->boundary)
		s.entries[s.count++] = summary_entry(w);
	if (w->sent > 0)
		s.first_new = s.count + (w->sent > first ? w->sent - first : 0);
	for (size_t i = first; i < total; i++)
		s.entries[s.count++] = ar_draft_message(w, i);
	return s;
}

struct ar_selection ar_draft_select(struct ar_draft *w)
{
	size_t total = w->kept + w->context.count, visible = ar_draft_visible(w);
	size_t first = first_sent(w, visible, total);
	struct ar_selection s = select_from(w, first, total);

	s.skipped = first - visible;
	s.tokens = estimate(w);
	return s;
}

/* ---- manifests ---- */

void ar_draft_write_messages(struct ar_jw *j, const struct ar_context_entry *const *entries, size_t count)
{
	ar_jw_open_array(j);
	for (size_t i = 0; i < count; i++) {
		ar_jw_open(j);
		ar_jw_mstr(j, "role", ar_str_from(role_word[entries[i]->role]));
		ar_jw_mstr(j, "ref", entries[i]->ref);
		ar_jw_mstr(j, "toolCallId", entries[i]->tool_call_id);
		ar_jw_mraw(j, "images", entries[i]->images);
		ar_jw_mraw(j, "toolCalls", entries[i]->uses);
		ar_jw_mstr(j, "echoRef", entries[i]->echo);
		ar_jw_close(j);
	}
	ar_jw_close_array(j);
}

int64_t ar_draft_bytes(const struct ar_draft *w)
{
	int64_t bytes = w->boundary ? w->boundary->bytes : 0;

	for (size_t i = ar_draft_visible(w); i < w->kept + w->context.count; i++)
		bytes += ar_draft_message(w, i)->bytes;
	return bytes;
}

struct ar_str ar_draft_manifest(struct ar_draft *w, const struct ar_turn *turn, const struct ar_selection *s,
				const struct ar_choice *choice, const struct ar_instructions *system)
{
	struct ar_jw j = ar_decide_json(w->d);

	ar_jw_open(&j);
	ar_jw_mstr(&j, "base", w->base);
	ar_jw_mstr(&j, "provider", choice->entry->provider);
	ar_jw_mstr(&j, "model", choice->model);
	ar_jw_mstr(&j, "systemRef", system->prompt);
	ar_jw_mstr(&j, "instructionsRef", system->file);
	ar_jw_mraw(&j, "options", turn->options);
	ar_jw_mint(&j, "omitted", w->thread->omitted + (int64_t)(ar_draft_visible(w) + s->skipped));
	ar_jw_key(&j, "append");
	ar_draft_write_messages(&j, s->entries + s->first_new, s->count - s->first_new);
	ar_jw_close(&j);
	return ar_decide_content(w->d, ar_decide_json_end(w->d));
}

struct ar_str ar_draft_baseline(struct ar_draft *w)
{
	size_t visible = ar_draft_visible(w);
	struct ar_selection s = select_from(w, visible, w->kept + w->context.count);
	struct ar_jw j = ar_decide_json(w->d);

	ar_jw_open(&j);
	ar_jw_mint(&j, "omitted", w->thread->omitted + (int64_t)visible);
	ar_jw_key(&j, "append");
	ar_draft_write_messages(&j, s.entries, s.count);
	ar_jw_close(&j);
	return ar_decide_content(w->d, ar_decide_json_end(w->d));
}
