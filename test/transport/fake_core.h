/* Stands in for core/control and core/eventlog so that the transport can be tried alone: commands echo their
 * input, all sessions share one ring of synthetic events, and an input may say where its session is. */
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
	uint16_t own_port; /* of the address for peers: a session placed there is here */
	size_t tries; /* of the input that is not settled */
};

void fake_core_init(struct ar_control *c, uv_loop_t *loop);
void fake_core_fini(struct ar_control *c);

#endif
