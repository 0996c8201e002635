/* What a request carries: which messages of the conversation go along, how large that is, and
 * the manifest that names it. Leaves to decide_compact.c what happens when it is too large.
 * Pure. */
#include "context/context.h"
#include "limits/route.h"

#define BYTES_PER_TOKEN 4
#define FRAME_TOKENS 4 /* role and separators of one message */
#define CALL_BYTES 16 /* that frame one tool call */
#define LIE_FACTOR 8 /* a count that is so far from our own is not believed */

static const char *const role_word[] = { [AR_CONTEXT_SYSTEM] = "system",
					 [AR_CONTEXT_USER] = "user",
					 [AR_CONTEXT_ASSISTANT] = "assistant",
					 [AR_CONTEXT_TOOL] = "tool",
					 [AR_CONTEXT_SUMMARY] = "summary" };

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

int64_t ar_context_window(const struct ar_conversation *c)
{
	const struct ar_policy *policy = c->d->input->policy;
	int64_t by_bytes = policy->context_bytes / BYTES_PER_TOKEN;
	int64_t tokens = c->window > 0 ? c->window : policy->context_tokens;
	int64_t window = tokens > 0 ? tokens : INT64_MAX;

	return by_bytes > 0 && by_bytes < window ? by_bytes : window;
}

/* ---- the conversation ---- */

struct ar_conversation ar_conversation_of(struct ar_decision *d, const struct ar_thread *t,
					  const struct ar_turn *turn)
{
	return (struct ar_conversation){ .d = d,
					 .thread = t,
					 .turn = turn,
					 .steers = turn ? &turn->steers : NULL,
					 .kept = t->context.count,
					 .sent = (size_t)t->sent,
					 .boundary = ar_thread_boundary(t, INT64_MAX) };
}

size_t ar_conversation_count(const struct ar_conversation *c)
{
	return c->kept + (c->steers ? c->steers->count : 0);
}

const struct ar_context_entry *ar_conversation_message(const struct ar_conversation *c, size_t i)
{
	return i < c->kept ? c->thread->context.at[i] : c->steers->at[i - c->kept];
}

size_t ar_conversation_visible(const struct ar_conversation *c)
{
	size_t first = ar_thread_visible(c->thread, c->boundary);

	return first < c->kept ? first : c->kept;
}

/* ---- size ---- */

static int64_t tokens_from(const struct ar_conversation *c, size_t first)
{
	size_t total = ar_conversation_count(c);
	int64_t tokens = 0;

	for (size_t i = first; i < total; i++)
		tokens += ar_context_tokens(ar_conversation_message(c, i));
	return tokens;
}

int64_t ar_conversation_own_estimate(const struct ar_conversation *c)
{
	int64_t tokens = tokens_from(c, ar_conversation_visible(c));
	int64_t prompt = (int64_t)ar_system_prompt(c->d, c->turn).len;

	if (c->boundary)
		tokens += ar_context_estimate(c->boundary->bytes);
	return tokens + ar_context_estimate(prompt + ar_decide_instruction_bytes(c->d));
}

/* The provider counted the newest request; only what came since is estimated. */
static int64_t estimate(const struct ar_conversation *c)
{
	int64_t own = ar_conversation_own_estimate(c), since = c->thread->anchor_at.v - c->thread->omitted;
	int64_t window = ar_context_window(c), anchor = c->thread->anchor.v;

	if (anchor <= 0 || since < 0 || (size_t)since > ar_conversation_count(c))
		return own;
	if (anchor / LIE_FACTOR > window || anchor < own / LIE_FACTOR)
		return own;
	return anchor + tokens_from(c, (size_t)since);
}

/* ---- selection ---- */

/* How many of the oldest messages stay behind: policy bounds their number and their bytes, the
 * newest always goes. */
static size_t first_sent(const struct ar_conversation *c, size_t visible, size_t total)
{
	const struct ar_policy *policy = c->d->input->policy;
	int64_t window = ar_context_window(c);
	int64_t most = window < policy->context_bytes / BYTES_PER_TOKEN ? window * BYTES_PER_TOKEN
									: policy->context_bytes;
	int64_t bytes = c->boundary ? c->boundary->bytes : 0, count = c->boundary ? 1 : 0;
	size_t first = total;

	while (first > visible) {
		bytes += ar_conversation_message(c, first - 1)->bytes;
		count++;
		if (first < total && (count > policy->context_max || bytes > most))
			break;
		first--;
	}
	/* Never begin with the answer to a call: the message that made it goes along, beyond the
	 * bounds if need be. */
	while (first > visible && first < total && ar_conversation_message(c, first)->role == AR_CONTEXT_TOOL)
		first--;
	return first;
}

static const struct ar_context_entry *summary_entry(struct ar_conversation *c)
{
	struct ar_context_entry *entry = ar_arena_alloc(c->d->arena, sizeof(*entry));

	*entry = (struct ar_context_entry){ .role = AR_CONTEXT_SUMMARY,
					    .ref = c->boundary->summary_ref,
					    .bytes = c->boundary->bytes };
	return entry;
}

static struct ar_selection select_from(struct ar_conversation *c, size_t first, size_t total)
{
	struct ar_selection s = { 0 };

	s.entries = ar_arena_room(c->d->arena, (total + 2) * sizeof(*s.entries));
	if (c->boundary)
		s.entries[s.count++] = summary_entry(c);
	if (c->sent > 0)
		s.first_new = s.count + (c->sent > first ? c->sent - first : 0);
	for (size_t i = first; i < total; i++)
		s.entries[s.count++] = ar_conversation_message(c, i);
	return s;
}

struct ar_selection ar_conversation_select(struct ar_conversation *c)
{
	size_t total = ar_conversation_count(c), visible = ar_conversation_visible(c);
	size_t first = first_sent(c, visible, total);
	struct ar_selection s = select_from(c, first, total);

	s.skipped = first - visible;
	s.tokens = estimate(c);
	return s;
}

/* ---- manifests ---- */

void ar_conversation_write_messages(struct ar_jw *j, const struct ar_context_entry *const *entries,
				    size_t count)
{
	ar_jw_open_array(j);
	for (size_t i = 0; i < count; i++) {
		ar_jw_open(j);
		ar_jw_mstr(j, "role", ar_str_from(role_word[entries[i]->role]));
		ar_jw_mstr(j, "ref", entries[i]->ref);
		ar_jw_mstr(j, "toolCallId", entries[i]->tool_call_id);
		ar_jw_mtexts(j, "images", entries[i]->images);
		if (entries[i]->uses.at) {
			ar_jw_key(j, "toolCalls");
			ar_list_encode(&ar_shape_requested_call_desc, &entries[i]->uses, j);
		}
		ar_jw_mstr(j, "echoRef", entries[i]->echo);
		ar_jw_close(j);
	}
	ar_jw_close_array(j);
}

int64_t ar_conversation_bytes(const struct ar_conversation *c)
{
	int64_t bytes = c->boundary ? c->boundary->bytes : 0;

	for (size_t i = ar_conversation_visible(c); i < ar_conversation_count(c); i++)
		bytes += ar_conversation_message(c, i)->bytes;
	return bytes;
}

struct ar_str ar_conversation_manifest(struct ar_conversation *c, struct ar_str options,
				       const struct ar_selection *s, const struct ar_choice *choice)
{
	struct ar_jw j = ar_decide_json(c->d);

	ar_jw_open(&j);
	ar_jw_mstr(&j, "base", c->thread->request_ref);
	ar_jw_mstr(&j, "provider", choice->entry->provider);
	ar_jw_mstr(&j, "model", choice->model);
	ar_jw_mstr(&j, "systemRef", s->system[0]);
	ar_jw_mstr(&j, "instructionsRef", s->system[1]);
	ar_jw_mstr(&j, "skillsRef", s->system[2]);
	ar_jw_mstr(&j, "agentRef", s->system[3]);
	ar_jw_mraw(&j, "options", options);
	ar_jw_mint(&j, "omitted", c->thread->omitted + (int64_t)(ar_conversation_visible(c) + s->skipped));
	ar_jw_key(&j, "append");
	ar_conversation_write_messages(&j, s->entries + s->first_new, s->count - s->first_new);
	ar_jw_close(&j);
	return ar_decide_content(c->d, ar_decide_json_end(c->d));
}

struct ar_str ar_conversation_baseline(struct ar_conversation *c)
{
	size_t visible = ar_conversation_visible(c);
	struct ar_selection s = select_from(c, visible, ar_conversation_count(c));
	struct ar_jw j = ar_decide_json(c->d);

	ar_jw_open(&j);
	ar_jw_mint(&j, "omitted", c->thread->omitted + (int64_t)visible);
	ar_jw_key(&j, "append");
	ar_conversation_write_messages(&j, s.entries, s.count);
	ar_jw_close(&j);
	return ar_decide_content(c->d, ar_decide_json_end(c->d));
}
