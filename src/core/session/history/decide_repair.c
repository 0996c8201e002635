/* What is said when the stored read models of a session were not what its log says and are
 * written again. The state itself is the fold of the log, so nothing in it changes. Pure. */
#include "decide.h"

enum ar_status ar_decide_repair(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_repair *r = d->input->repair;

	(void)err;
	ar_decide_emit(
		d, AR_EV_SNAPSHOT_REPAIRED, &(struct ar_ids){ 0 },
		&(struct ar_ev_snapshot_repaired){
			.reason = r->is_loss
					  ? AR_STR("the end of the log was lost, and the loss was accepted: "
						   "the facts that follow use its sequences again")
					  : AR_STR("verification: what was stored beside the log "
						   "differed from it"),
			.from_sequence = (int64_t)r->from,
			.to_sequence = (int64_t)r->to,
			.repaired_fields = r->fields,
			.unavailable = r->unavailable });
	return AR_OK;
}
