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

static bool has_left(const struct ar_channel *c, ar_usec now AR_UNUSED)
{
	return c->status == AR_CHANNEL_DISCONNECTED;
}

static bool has_run_out(const struct ar_channel *c, ar_usec now)
{
	return c->token_expires && c->token_expires <= now;
}

static size_t longest_unheard(const struct ar_session *s, ar_usec now,
			      bool (*may_go)(const struct ar_channel *, ar_usec))
{
	size_t found = s->channels.count;
	ar_usec seen = INT64_MAX;

	for (size_t i = 0; i < s->channels.count; i++) {
		const struct ar_channel *c = s->channels.at[i];

		if (!may_go(c, now) || c->seen >= seen)
			continue;
		found = i;
		seen = c->seen;
	}
	return found;
}

size_t ar_channels_leaver(const struct ar_session *s, ar_usec now)
{
	size_t found = longest_unheard(s, now, has_left);

	return found < s->channels.count ? found : longest_unheard(s, now, has_run_out);
}
