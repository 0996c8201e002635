/* Stands in for core/control and core/eventlog so that the transport can be tried alone: commands echo their
 * input, all sessions share one ring of synthetic events. */
#ifndef AR_TEST_FAKE_CORE_H
#define AR_TEST_FAKE_CORE_H

#include "control.h"

#include <uv.h>

#define FAKE_RING 4096

struct ar_control {
	uv_loop_t *loop;
	struct ar_list subscribers;
	struct ar_frame *ring[FAKE_RING];
	uint64_t head; /* order of the newest frame */
};

void fake_core_init(struct ar_control *c, uv_loop_t *loop);
void fake_core_fini(struct ar_control *c);

#endif
