/* channel_summary, and the channels that a thread shows. How far a peer has come is its last
 * acknowledgement; whether it is still there is as old as lastSeenAt says. Pure. */
#include "channel/channel.h"
#include "describe.h"
#include "thread.h"

static void bridge(const struct ar_channel *c, struct ar_jw *w)
{
	ar_jw_key(w, "permissionBridge");
	ar_jw_open(w);
	ar_jw_key(w, "open");
	ar_jw_open_array(w);
	for (size_t i = 0; i < c->open.count; i++)
		ar_jw_str(w, ((const struct ar_bridged *)c->open.at[i])->action);
	ar_jw_close_array(w);
	ar_jw_close(w);
}

static void channel(const struct ar_channel *c, struct ar_jw *w)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "channelId", c->id);
	ar_jw_mstr(w, "transport", ar_str_from(ar_enum_name(&ar_transport_desc, (int)c->transport)));
	ar_jw_mstr(w, "peerRole", ar_str_from(ar_enum_name(&ar_peer_role_desc, (int)c->role)));
	ar_jw_mstr(w, "accountRef", c->account);
	ar_jw_mtexts(w, "capabilities", c->capabilities);
	ar_jw_mstr(w, "nativeProtocol", c->native_protocol);
	ar_jw_mstr(w, "agentCardRef", c->card_ref);
	ar_jw_mstr(w, "resumeTokenRef", c->token_ref);
	ar_jw_mstr(w, "status",
		   c->status == AR_CHANNEL_CONNECTED ? AR_STR("connected") : AR_STR("disconnected"));
	ar_jw_mtime(w, "lastSeenAt", c->seen);
	if (c->heartbeat.set)
		ar_jw_mint(w, "heartbeatMs", c->heartbeat.v);
	ar_jw_mstr(w, "resumeCursor", c->cursor);
	ar_jw_mint(w, "lastAckedSequence", c->acked);
	bridge(c, w);
	ar_jw_close(w);
}

void ar_projection_channels(const struct ar_session *s, struct ar_jw *w)
{
	ar_jw_key(w, "channels");
	ar_jw_open_array(w);
	for (size_t i = 0; i < s->channels.count; i++)
		channel(s->channels.at[i], w);
	ar_jw_close_array(w);
}

void ar_projection_channel_summary(const struct ar_session *s, struct ar_jw *w)
{
	ar_jw_key(w, "channelSummary");
	ar_jw_open(w);
	ar_jw_mstr(w, "state", s->channels.count ? AR_STR("available") : AR_STR("not_applicable"));
	ar_projection_channels(s, w);
	ar_jw_close(w);
}
