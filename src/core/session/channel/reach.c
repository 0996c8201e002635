/* How far a peer has come (see channel.h): a sequence of the session's log; or, in the home of a
 * tenant, a place in the feed of all its sessions. Pure. */
#include "channel/channel.h"
#include "places.h"

struct ar_channel_reach ar_channel_reach_of(const struct ar_session *s, const struct ar_channel *c,
					    struct ar_arena *a)
{
	struct ar_channel_reach r = { .sequence = c->acked };

	if (!ar_channels_are_of_all(s))
		r.cursor = ar_arena_fmt(a, "%lld", (long long)c->acked);
	else
		r.cursor = ar_str_absent(c->cursor) ? AR_STR("") : c->cursor;
	return r;
}

/* A cursor begins with the sequence that was reached. */
static enum ar_status read_in_log(struct ar_decision *d, struct ar_str cursor, struct ar_opt_int sequence,
				  struct ar_channel_reach *ret, struct ar_error *err)
{
	struct ar_str text;

	if (sequence.set) {
		cursor = ar_arena_fmt(d->arena, "%lld", (long long)sequence.v);
		ret->sequence = sequence.v;
	} else {
		ar_str_split(cursor, '.', &text);
		if (!ar_str_to_i64(text, &ret->sequence))
			ret->sequence = -1;
	}
	ret->cursor = cursor;
	if (ret->sequence >= 0 && (uint64_t)ret->sequence <= d->session->head)
		return AR_OK;
	return ar_refuse(err, sequence.set ? AR_ERR_SEQUENCE_AHEAD : AR_ERR_INVALID_CURSOR,
			 "the log of session %.*s ends at %llu", AR_STR_ARG(d->session->id),
			 (unsigned long long)d->session->head);
}

static enum ar_status read_in_feed(const struct ar_decision *d, struct ar_str cursor,
				   struct ar_channel_reach *ret, struct ar_error *err)
{
	struct ar_places at;

	if (ar_places_parse(cursor, &at, err) != AR_OK)
		return AR_E_REFUSED;
	*ret = (struct ar_channel_reach){ (int64_t)ar_places_reach(&at), cursor };
	ar_places_fini(&at);
	if (ret->sequence <= d->input->command.feed->limit)
		return AR_OK;
	return ar_refuse(err, AR_ERR_INVALID_CURSOR,
			 "the cursor is ahead of the stored events; start again without it");
}

enum ar_status ar_channel_reach_read(struct ar_decision *d, const struct ar_channel *c, struct ar_str cursor,
				     struct ar_opt_int sequence, struct ar_channel_reach *ret,
				     struct ar_error *err)
{
	if (!ar_channels_are_of_all(d->session))
		return read_in_log(d, cursor, sequence, ret, err);
	if (!sequence.set)
		return read_in_feed(d, cursor, ret, err);
	*ret = ar_channel_reach_of(d->session, c, d->arena);
	if (sequence.v == 0)
		return AR_OK;
	return ar_refuse(err, AR_ERR_INVALID_INPUT,
			 "a sequence belongs to one session; for all sessions send the cursor of the last "
			 "event, or 0 for the acknowledged position");
}

static bool is_beyond(struct ar_str a, struct ar_str b)
{
	struct ar_places x = { 0 }, y = { 0 };
	bool ret = ar_places_parse(a, &x, NULL) == AR_OK && ar_places_parse(b, &y, NULL) == AR_OK &&
		   ar_places_beyond(&x, &y);

	ar_places_fini(&x);
	ar_places_fini(&y);
	return ret;
}

bool ar_channel_reach_is_news(const struct ar_decision *d, const struct ar_channel *c,
			      const struct ar_channel_reach *r)
{
	if (!ar_channels_are_of_all(d->session))
		return r->sequence > c->acked;
	return is_beyond(r->cursor, c->cursor) && !is_beyond(c->cursor, r->cursor);
}

static int64_t position_of(struct ar_str cursor)
{
	struct ar_places at = { 0 };
	int64_t ret;

	if (ar_places_parse(cursor, &at, NULL) != AR_OK)
		return 0;
	ret = (int64_t)ar_places_reach(&at);
	ar_places_fini(&at);
	return ret;
}

bool ar_channel_reach_gap(const struct ar_decision *d, const struct ar_channel_reach *r,
			  struct ar_shape_channel_gap *ret, int64_t *ret_to)
{
	const struct ar_feed_bounds *feed = d->input->command.feed;

	if (!feed || !is_beyond(feed->floor, r->cursor))
		return false;
	*ret_to = position_of(feed->floor);
	*ret = (struct ar_shape_channel_gap){ .from = r->cursor,
					      .to = feed->floor,
					      .reason = AR_STR("retention") };
	return true;
}
