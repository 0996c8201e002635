/* Reading the channels of a session. Pure. */
#include "channel/channel.h"
#include "tenant.h"

struct ar_channel *ar_session_channel(const struct ar_session *s, struct ar_str id)
{
	return ar_vec_last_with(&s->channels, offsetof(struct ar_channel, id), id);
}

bool ar_channels_are_of_all(const struct ar_session *s)
{
	return ar_tenant_is_a_home(ar_id_session_key(s->id));
}

size_t ar_channels_max(const struct ar_session *s)
{
	return ar_channels_are_of_all(s) ? AR_CHANNELS_HOME_MAX : AR_CHANNELS_MAX;
}

bool ar_channels_left(const struct ar_session *s, ar_usec since)
{
	for (size_t i = 0; i < s->channels.count; i++) {
		const struct ar_channel *c = s->channels.at[i];

		if (c->status == AR_CHANNEL_CONNECTED && c->seen < since)
			return true;
	}
	return false;
}

static bool has_run_out(const struct ar_channel *c, ar_usec now)
{
	return c->token_expires && c->token_expires <= now;
}

static bool goes_before(const struct ar_channel *a, const struct ar_channel *b)
{
	bool has_left = a->status == AR_CHANNEL_DISCONNECTED;

	return has_left == (b->status == AR_CHANNEL_DISCONNECTED) ? a->seen < b->seen : has_left;
}

size_t ar_channels_leaver(const struct ar_session *s, ar_usec now)
{
	size_t found = s->channels.count;

	for (size_t i = 0; i < s->channels.count; i++) {
		const struct ar_channel *c = s->channels.at[i];

		if (c->status != AR_CHANNEL_DISCONNECTED && !has_run_out(c, now))
			continue;
		if (found == s->channels.count || goes_before(c, s->channels.at[found]))
			found = i;
	}
	return found;
}
