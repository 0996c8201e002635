/* Channels in a snapshot: the tables of their members, for snapshot.c alone. */
#ifndef AR_SESSION_CHANNEL_SNAPSHOT_H
#define AR_SESSION_CHANNEL_SNAPSHOT_H

#include "channel/channel.h"
#include "history/snapshot_fields.h"

static const struct ar_field_desc channel_fields[] = {
	STR(ar_channel, id),
	STR(ar_channel, account),
	TEXTS(ar_channel, capabilities),
	STR(ar_channel, native_protocol),
	STR(ar_channel, card_ref),
	STR(ar_channel, token_ref),
	STR(ar_channel, cursor),
	INT(ar_channel, transport),
	INT(ar_channel, role),
	INT(ar_channel, status),
	INT(ar_channel, acked),
	TIME(ar_channel, seen),
	TIME(ar_channel, token_expires),
};
static const struct ar_field_desc bridged_fields[] = {
	STR(ar_bridged, action),
};

#endif
