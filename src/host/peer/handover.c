/* How work gets to a peer. First its card, then the intent becomes a fact of the session, whose answer says
 * what is known of the work: its task is followed; a message that may have arrived is looked for; one that
 * cannot have arrived is sent. A message is sent again only if the peer takes one id once, or if it lists the
 * context, which is of this work alone, as empty. See delegate_priv.h. */
#include "peer/delegate_priv.h"
#include "peer/remote.h"

#define CARD_KEPT_MAX 262144
#define SKILLS_MAX 32
#define EMPTY_LOOKS 2 /* after which a message has not arrived */

static void look_for_task(struct ar_work *w);
static void hand_over(struct ar_work *w);

static void end_unclear(struct ar_work *w)
{
	ar_work_end_unclear(
		w, AR_STR("nobody knows whether the peer has the message: it cannot list its tasks, and "
			  "does not say that it takes a message once"));
}

/* A task in the context that is of this work alone. */
static bool find_task(struct ar_work *w, const struct ar_peer_result *r)
{
	for (size_t i = r->task_count; r->error == AR_PEER_OK && i > 0; i--) {
		const struct ar_peer_update *u = &r->tasks[i - 1];

		if (!ar_str_eq(u->context_id, w->context) || ar_str_absent(u->task_id))
			continue;
		w->remote_task = ar_arena_str(&w->arena, u->task_id);
		w->remote_context = w->context;
		return true;
	}
	return false;
}

/* It is there, and says that it does not list them, or not all of them. */
static void end_unlisted(struct ar_work *w, const struct ar_peer_result *r)
{
	if (r->http)
		w->away_since = 0;
	end_unclear(w);
}

static void look_done(struct ar_work *w, const struct ar_peer_result *r)
{
	if (find_task(w, r))
		ar_work_follow(w);
	else if (ar_work_is_away(r))
		ar_work_try_again(w, r, look_for_task);
	else if ((r->error != AR_PEER_OK && r->error != AR_PEER_NOT_FOUND) || !ar_str_empty(r->next_page))
		end_unlisted(w, r);
	else if (++w->looks < EMPTY_LOOKS) /* it may still be on its way */
		ar_work_wait(w, w->setting->poll_ms, look_for_task);
	else
		hand_over(w);
}

static void look_for_task(struct ar_work *w)
{
	if (!ar_str_absent(w->context))
		ar_work_ask(w, AR_PEER_LIST, look_done);
	else if (w->is_repeat_safe)
		hand_over(w);
	else
		end_unclear(w);
}

/* An error of the server, or of what stands before it, may come after the message was taken. */
static bool may_have_arrived(const struct ar_peer_result *r)
{
	return r->error == AR_PEER_UNREACHABLE || r->error == AR_PEER_TIMEOUT ||
	       (r->error == AR_PEER_REFUSED && r->code == 0 && r->http >= 500);
}

static void handed_over(struct ar_work *w, const struct ar_peer_result *r)
{
	bool is_away = ar_work_is_away(r) && r->error != AR_PEER_AUTH;

	w->looks = 0;
	w->is_unclear = w->is_unclear || (r->is_sent && may_have_arrived(r));
	if (r->error == AR_PEER_OK && r->task_count > 0 && !ar_work_update(w, &r->tasks[0]))
		return;
	if (w->is_cancelled)
		ar_work_stop(w);
	else if (r->error == AR_PEER_OK)
		ar_work_go_on(w);
	else if (is_away || (w->is_unclear && r->error == AR_PEER_AUTH))
		ar_work_try_again(w, r, w->is_unclear ? look_for_task : hand_over);
	else if (w->is_unclear || r->error == AR_PEER_PROTOCOL || r->error == AR_PEER_TOO_LARGE)
		ar_work_end_refused(w, AR_TOOL_ERROR, r);
	else
		ar_work_end_refused(w, AR_TOOL_NOT_RUN, r);
}

static void hand_over(struct ar_work *w)
{
	ar_work_ask(w, AR_PEER_SEND, handed_over);
}

/* A message that left without an address for what the peer posts brings nothing. */
static void set_mechanism(struct ar_work *w, int known)
{
	if (known)
		w->mechanism = known;
	if (w->mechanism == AR_DELIVERY_MECHANISM_PUSH_NOTIFICATION)
		ar_work_set_push(w);
}

void ar_work_begun(struct ar_work *w, const struct ar_cmd_report_peer_task_out *known)
{
	w->is_begun = true;
	if (w->is_ending || w->is_cancelled)
		return;
	if (known->is_answered.v) {
		ar_work_end_by_state(w);
		return;
	}
	w->is_unclear = known->is_sent;
	set_mechanism(w, known->delivery_mechanism);
	if (known->is_sent)
		w->context = ar_arena_str(&w->arena, known->remote_context_id);
	if (!ar_str_empty(known->remote_task_id)) {
		w->remote_task = ar_arena_str(&w->arena, known->remote_task_id);
		w->remote_context = w->context;
		ar_work_follow(w);
	} else if (known->is_sent) {
		look_for_task(w);
	} else {
		hand_over(w);
	}
}

/* Only a call that is there hands work on, and only what was handed on can be away. */
void ar_work_refused(struct ar_work *w)
{
	if (!w->is_begun)
		ar_work_end(w, (struct ar_tool_result){ .outcome = AR_TOOL_NOT_RUN,
							.category = AR_STR(AR_CATEGORY_NETWORK),
							.message = ar_str_empty(w->why)
									   ? AR_STR("the call has ended")
									   : w->why,
							.advice = AR_STR("try again later"),
							.retryable = true });
}

/* ---- the card ---- */

static void add_skills(struct ar_work *w, struct ar_json card)
{
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(card, "skills"));
	     ar_json_next(&it) && w->capabilities.count < SKILLS_MAX;) {
		struct ar_str id;

		if (ar_json_str(ar_json_get(it.value, "id"), &id) && ar_str_is_line(id, 128))
			w->capabilities =
				ar_arena_texts_add(&w->arena, w->capabilities,
						   ar_arena_fmt(&w->arena, "skill:%.*s", AR_STR_ARG(id)));
	}
}

static int mechanism_of(const struct ar_work *w, const struct ar_peer_card *card)
{
	if (w->setting->mechanism == AR_CONFIG_PEERS_MECHANISM_PUSH && card->has_push)
		return AR_DELIVERY_MECHANISM_PUSH_NOTIFICATION;
	if (w->setting->mechanism == AR_CONFIG_PEERS_MECHANISM_POLL || !card->has_streaming)
		return AR_DELIVERY_MECHANISM_POLLING;
	return AR_DELIVERY_MECHANISM_STREAMING;
}

static void keep_card(struct ar_work *w, const struct ar_peer_card *card)
{
	struct ar_json doc;

	w->binding = ar_arena_str(&w->arena, card->binding);
	w->mechanism = mechanism_of(w, card);
	w->is_repeat_safe = card->is_repeat_safe;
	w->capabilities = ar_arena_texts_add(&w->arena, (struct ar_texts){ 0 }, AR_STR("task_delegation"));
	if (card->has_streaming)
		w->capabilities = ar_arena_texts_add(&w->arena, w->capabilities, AR_STR("streaming"));
	if (card->has_push)
		w->capabilities =
			ar_arena_texts_add(&w->arena, w->capabilities, AR_STR("push_notifications"));
	if (ar_json_parse(w->all->json, card->text, &doc, NULL) == AR_OK)
		add_skills(w, doc);
	if (!card->is_repeat_safe)
		w->context = ar_arena_fmt(&w->arena, "c-%.*s", AR_STR_ARG(w->operation));
}

static void card_done(struct ar_work *w, const struct ar_peer_result *r);

static void ask_card(struct ar_work *w)
{
	ar_work_ask(w, AR_PEER_CARD, card_done);
}

static void card_done(struct ar_work *w, const struct ar_peer_result *r)
{
	struct ar_peer_note *n;

	if (r->error != AR_PEER_OK) {
		w->why = ar_arena_str(&w->arena, r->reason);
		ar_work_try_again(w, r, ask_card);
		return;
	}
	w->away_since = 0;
	keep_card(w, r->card);
	n = ar_work_note(w, AR_REPORT_PEER_TASK_EVENT_BEGIN);
	n->context_id = ar_arena_str(&n->arena, w->context);
	if (r->card->text.len <= CARD_KEPT_MAX)
		n->card = ar_arena_str(&n->arena, r->card->text);
	ar_work_report(w);
}

/* ---- the beginning ---- */

static void begin(struct ar_work *w)
{
	if (w->peer) {
		ask_card(w);
		return;
	}
	ar_work_end(w, (struct ar_tool_result){
			       .outcome = AR_TOOL_NOT_RUN,
			       .category = AR_STR("not_found"),
			       .message = ar_arena_fmt(&w->arena, "there is no peer '%.*s'; there is: %.*s",
						       AR_STR_ARG(w->name),
						       AR_STR_ARG(ar_host_peers_names(w->all->peers,
										      w->tenant, &w->arena))),
			       .advice = AR_STR("use the name of a peer that there is") });
}

void ar_work_begin(struct ar_work *w)
{
	ar_work_wait(w, 0, begin);
}
