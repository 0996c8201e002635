/* Partitions that leave this node and come back, as in a cluster whose other nodes do nothing: the
 * engine lets one go while it works, callers are told that it is not settled, and once nothing of it is
 * in flight it is gained again and its open work is taken up. */
#include "sim.h"

static enum ar_place find(void *arg, struct ar_str session_key, struct ar_str *ret_address)
{
	struct sim *s = arg;

	(void)ret_address;
	return !ar_str_absent(session_key) && ar_partition_has(&s->away, ar_id_partition(session_key))
		       ? AR_PLACE_UNSETTLED
		       : AR_PLACE_HERE;
}

static void come_back(struct sim *s, unsigned partition)
{
	struct ar_partition_set gained = { 0 };

	sim_say(s, "move", "partition %u is gained", partition);
	ar_partition_remove(&s->away, partition);
	ar_partition_add(&gained, partition);
	sim_note_saved(s);
	ar_engine_recover(s->engine, &gained);
}

static void let_go(struct sim *s)
{
	const struct sim_submit *t = s->submit_count ? s->submits[sim_below(s, s->submit_count)] : NULL;
	unsigned p;

	if (!t || ar_str_absent(t->session_key) ||
	    ar_partition_has(&s->away, ar_id_partition(t->session_key)))
		return;
	p = ar_id_partition(t->session_key);
	sim_say(s, "move", "partition %u is released", p);
	s->counts->moves++;
	ar_partition_add(&s->away, p);
	ar_engine_release(s->engine, p);
	sim_readers_are_out(s, p);
}

static void mover_step(struct sim *s, struct sim_actor *a)
{
	bool goes_on = !s->is_calm && s->plan.move_permille > 0;

	for (unsigned p = 0; p < AR_PARTITIONS; p++) {
		if (ar_partition_has(&s->away, p) && ar_engine_load(s->engine, p).sessions == 0)
			come_back(s, p);
	}
	if (goes_on && sim_chance(s, s->plan.move_permille))
		let_go(s);
	if (ar_partition_any(&s->away))
		sim_actor_by(a, s->now + 2 * SIM_MS);
	else if (goes_on)
		sim_actor_by(a, s->now + (ar_usec)sim_below(s, 20 * (uint64_t)s->plan.pace) + SIM_MS);
}

void sim_mover_open(struct sim *s)
{
	s->placement = (struct ar_placement){ find, s };
	sim_actor_start(s, &s->mover, SIM_MS, mover_step);
}
