/* See turnstile.h. Two levels of lanes that take turns: a lane is made for the first ticket that waits
 * in it and goes with the last. */
#include "request/turnstile.h"

#include "mem.h"
#include "status.h"

#include <string.h>

/* Of a tenant: its sessions take turns. Of a session: its tickets stand in a row. */
struct ar_ticket_lane {
	struct ar_list node; /* among its equals */
	struct ar_list waiting; /* lanes of sessions, or tickets */
	struct ar_ticket_lane *tenant; /* of a session's lane */
	struct ar_str name;
	char text[]; /* of the name: a letter for the level, so that no session is taken for a tenant */
};

void ar_turnstile_init(struct ar_turnstile *t, size_t places)
{
	*t = (struct ar_turnstile){ .places = places };
	ar_list_init(&t->tenants);
}

void ar_turnstile_fini(struct ar_turnstile *t)
{
	AR_ASSERT(t->waiting == 0 && t->taken == 0);
	ar_map_fini(&t->lanes);
}

static struct ar_ticket_lane *lane_new(struct ar_str name, char level)
{
	struct ar_ticket_lane *l = ar_new0(sizeof(*l) + name.len + 1);

	l->text[0] = level;
	if (name.len)
		memcpy(l->text + 1, name.p, name.len);
	l->name = (struct ar_str){ l->text, name.len + 1 };
	ar_list_init(&l->waiting);
	return l;
}

/* The lane of that name, at the end of its row when it is new. */
static struct ar_ticket_lane *lane_get(struct ar_turnstile *t, struct ar_str name, char level,
				       struct ar_ticket_lane *tenant)
{
	struct ar_ticket_lane *made = lane_new(name, level), *found = ar_map_get(&t->lanes, made->name);

	if (found) {
		ar_free(made);
		return found;
	}
	made->tenant = tenant;
	ar_list_push(tenant ? &tenant->waiting : &t->tenants, &made->node);
	ar_map_put(&t->lanes, made->name, made);
	return made;
}

static void lane_drop_empty(struct ar_turnstile *t, struct ar_ticket_lane *l)
{
	while (l && ar_list_empty(&l->waiting)) {
		struct ar_ticket_lane *tenant = l->tenant;

		ar_list_del(&l->node);
		ar_map_del(&t->lanes, l->name);
		ar_free(l);
		l = tenant;
	}
}

static bool has_place(const struct ar_turnstile *t)
{
	return !t->is_shut && (t->places == 0 || t->taken < t->places);
}

static void let_in(struct ar_turnstile *t, struct ar_ticket *ticket)
{
	ticket->place = AR_TICKET_IN;
	t->taken++;
	ticket->go(ticket);
}

static void stop_waiting(struct ar_turnstile *t, struct ar_ticket *ticket)
{
	struct ar_ticket_lane *lane = ticket->lane;

	ar_list_del(&ticket->node);
	ticket->place = AR_TICKET_NONE;
	ticket->lane = NULL;
	t->waiting--;
	lane_drop_empty(t, lane);
}

static void to_the_end(struct ar_list *row, struct ar_ticket_lane *l)
{
	ar_list_del(&l->node);
	ar_list_push(row, &l->node);
}

static void next(struct ar_turnstile *t)
{
	struct ar_ticket_lane *tenant = AR_CONTAINER_OF(t->tenants.next, struct ar_ticket_lane, node);
	struct ar_ticket_lane *session = AR_CONTAINER_OF(tenant->waiting.next, struct ar_ticket_lane, node);
	struct ar_ticket *ticket = AR_CONTAINER_OF(session->waiting.next, struct ar_ticket, node);

	to_the_end(&t->tenants, tenant);
	to_the_end(&tenant->waiting, session);
	stop_waiting(t, ticket);
	let_in(t, ticket);
}

void ar_turnstile_ask(struct ar_turnstile *t, struct ar_ticket *ticket, struct ar_str tenant,
		      struct ar_str session)
{
	AR_ASSERT(ticket->place == AR_TICKET_NONE);
	if (has_place(t) && t->waiting == 0) {
		let_in(t, ticket);
		return;
	}
	ticket->place = AR_TICKET_WAITS;
	ticket->lane = lane_get(t, session, 's', lane_get(t, tenant, 't', NULL));
	ar_list_push(&ticket->lane->waiting, &ticket->node);
	t->waiting++;
}

void ar_turnstile_leave(struct ar_turnstile *t, struct ar_ticket *ticket)
{
	if (ticket->place == AR_TICKET_WAITS)
		stop_waiting(t, ticket);
	if (ticket->place != AR_TICKET_IN)
		return;
	ticket->place = AR_TICKET_NONE;
	t->taken--;
	while (t->waiting > 0 && has_place(t))
		next(t);
}

void ar_turnstile_shut(struct ar_turnstile *t)
{
	t->is_shut = true;
}
