/* Rows of channels and webhooks in the tables of snapshot.c, which alone includes this. */
#ifndef AR_SESSION_SNAPSHOT_CHANNEL_H
#define AR_SESSION_SNAPSHOT_CHANNEL_H

#include "channel/channel.h"
#include "history/snapshot_fields.h"
#include "webhook/webhook.h"

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
	OPT(ar_channel, heartbeat),
	OPT(ar_channel, read_from),
};
static const struct ar_field_desc bridged_fields[] = {
	STR(ar_bridged, action),
};
static const struct ar_field_desc webhook_fields[] = {
	STR(ar_webhook, name),		STR(ar_webhook, cursor),
	INT(ar_webhook, failure_count), OBJECT(ar_webhook, push, push_record),
	OPT_FLAG(ar_webhook, over),
};
static const struct ar_field_desc webhook_failure_fields[] = {
	OBJECT(ar_webhook_failure, record, webhook_failure),
};

#endif
