#include "ops/observers.h"
#include "host_priv.h"

enum ar_status ar_observers_open(struct ar_host *r, const struct ar_config *c, struct ar_error *err)
{
	if (ar_host_telemetry_open(r, c, err) != AR_OK || ar_request_log_open(&r->requests, c, err) != AR_OK)
		return err->status;
	return ar_log_checkpoints_open(r, c, err);
}

bool ar_observers_are_there(const struct ar_host *r)
{
	return r->telemetry || r->requests.file.is_open || r->log_checkpoints;
}

void ar_observers_committed(void *host, const struct ar_session *s, const struct ar_event *facts,
			    size_t count)
{
	struct ar_host *r = host;

	if (r->telemetry)
		ar_host_telemetry_committed(r->telemetry, s, facts, count);
	if (r->requests.file.is_open)
		ar_request_log_committed(&r->requests, s, facts, count);
	if (r->log_checkpoints)
		ar_log_checkpoints_committed(r->log_checkpoints, s);
}

void ar_observers_free(struct ar_host *r)
{
	ar_host_telemetry_free(r->telemetry);
	ar_request_log_close(&r->requests);
	ar_log_checkpoints_free(r->log_checkpoints);
}
