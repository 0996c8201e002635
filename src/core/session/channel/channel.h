/* Peers that follow a session: who they are, what they can do, how far they have come, and which
 * questions went out to them. A peer keeps one id in all sessions that it follows; each session
 * knows only its own part of it, so nothing here depends on another log. One that follows all
 * sessions of a tenant is a channel of its home. Tokens are compared by their hash: the token
 * itself is never here. Pure. */
#ifndef AR_SESSION_CHANNEL_H
#define AR_SESSION_CHANNEL_H

#include "action/action.h"

#define AR_CHANNELS_MAX 64 /* known per session */
#define AR_CHANNELS_HOME_MAX 1024 /* in the home of a tenant, for all of it */
#define AR_CHANNEL_HEARTBEAT_MIN 1000
#define AR_CHANNEL_HEARTBEAT_MAX 86400000
#define AR_CAPABILITY_PERMISSIONS "permissions"

struct ar_channel {
	struct ar_str id;
	struct ar_str account; /* the actor that enrolled it */
	struct ar_texts capabilities;
	struct ar_str native_protocol, card_ref; /* may be absent */
	struct ar_str token_ref; /* "token:" and the hash of the one that it may come back with */
	struct ar_str cursor; /* it came back with, and over all sessions acknowledged; absent: never */
	int64_t transport, role; /* enums transport, peer_role */
	int64_t status; /* of the channel machine */
	int64_t acked; /* sequence */
	struct ar_opt_int read_from; /* where the older window on record begins; not set: there is none */
	ar_usec seen, token_expires;
	struct ar_opt_int heartbeat; /* ms; without one silence says nothing */
	struct ar_vec open; /* struct ar_bridged: questions that it was asked and that nobody has answered */
};

/* One question on its way over a channel. */
struct ar_bridged {
	struct ar_str action;
};

struct ar_channel *ar_session_channel(const struct ar_session *s, struct ar_str id);

/* Whether it is the home of a tenant, whose channels follow all sessions. */
bool ar_channels_are_of_all(const struct ar_session *s);

/* How many a session knows; and which one makes room then: of those that left the first, else of
 * those whose token ran out the one that was not heard of for the longest time. A peer that
 * never follows does not keep others out. Their count: none does. */
size_t ar_channels_max(const struct ar_session *s);
size_t ar_channels_leaver(const struct ar_session *s, ar_usec now);

/* Whether a channel counts as connected though its peer was last heard of before `since`. */
bool ar_channels_left(const struct ar_session *s, ar_usec since);

/* The token that a command shows, when it shows one: refuses one that no channel of the session
 * has, and one that is too old. */
AR_MUST_USE enum ar_status ar_channel_check_shown(const struct ar_decision *d, struct ar_error *err);

/* Whether the channel that a command comes through is the caller's own; refuses as ack_events does. */
AR_MUST_USE enum ar_status ar_channel_check_own(const struct ar_decision *d, struct ar_str id,
						struct ar_error *err);

/* The turn or answer of a fact came through a channel: its peer was there. */
void ar_apply_channel_used(struct ar_session *s, const struct ar_event *e);

/* The peer of a channel does something: it is back if it was away. */
void ar_channel_note_use(struct ar_decision *d, struct ar_str id);

/* After a restart: questions of peers that are away are withdrawn when their tokens run out. It is the time
 * of the same timer that ends the silence of a peer that agreed to a heartbeat. */
void ar_channels_recover(struct ar_decision *d);

/* ---- reach.c: how far a peer has come ---- */

/* In the log of a session. Over all sessions a cursor of their feed (core/cursor/places.h); the
 * sequence is its furthest position then. */
struct ar_channel_reach {
	int64_t sequence;
	struct ar_str cursor;
};

/* What the peer says, a cursor or a sequence. Refused: what is no cursor, and what is ahead of all facts. */
AR_MUST_USE enum ar_status ar_channel_reach_read(struct ar_decision *d, const struct ar_channel *c,
						 struct ar_str cursor, struct ar_opt_int sequence,
						 struct ar_channel_reach *ret, struct ar_error *err);

/* What a channel of the session stands at. */
struct ar_channel_reach ar_channel_reach_of(const struct ar_session *s, const struct ar_channel *c,
					    struct ar_arena *a);

/* Whether the peer has more than the channel knew. */
bool ar_channel_reach_is_news(const struct ar_decision *d, const struct ar_channel *c,
			      const struct ar_channel_reach *r);

/* What was removed without the peer having seen it, and the furthest position of that. False: nothing. */
bool ar_channel_reach_gap(const struct ar_decision *d, const struct ar_channel_reach *r,
			  struct ar_shape_channel_gap *ret, int64_t *ret_to);

/* ---- bridge.c: questions that cross a channel ---- */

/* The question has just been asked, or the channel has just come: channel.permission_forwarded
 * to each that can answer it. `expires` 0: never. */
void ar_bridge_ask(struct ar_decision *d, const struct ar_ids *ids, ar_usec expires);

/* All open questions of the session, to a channel that this decision connects; it may answer for
 * what it says in `capabilities`. */
void ar_bridge_catch_up(struct ar_decision *d, const struct ar_channel *c, struct ar_texts capabilities);

/* The peer is away and cannot come back with its token: it can settle nothing any more. Its questions come
 * back from it, for this channel alone; they stay open for others. */
void ar_bridge_withdraw(struct ar_decision *d, const struct ar_channel *c);

/* It is settled: channel.permission_returned to each that was asked. */
void ar_bridge_answer(struct ar_decision *d, const struct ar_ids *ids, const struct ar_settlement *s);

#endif
