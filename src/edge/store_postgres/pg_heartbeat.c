/* One heartbeat: a transaction that says we are alive, does what was decided after the last one, and
 * reads the table. Statements go one by one, each waited for: so whatever becomes of a heartbeat whose
 * connection broke, it holds our row of node_beat from its second statement on, and the next heartbeat
 * waits for it there. What must be true of other rows is looked at after they are locked, in a
 * statement of its own: one that waits for a lock goes on with what it saw before. Member thread. */
#include "pg_member.h"

#include <string.h>

#define LOCK_TIMEOUT "55P03"

static const struct ar_pg_args no_args;

/* The order of every transaction here: our node row, our heartbeat, lost nodes by id, partitions by id. */
static const char own_fence[] = "SELECT 1 FROM node WHERE id = $1 AND epoch = $2 FOR SHARE";

static const char update_heartbeat[] =
	"INSERT INTO node_beat (id, beat, address, state, seen) VALUES ($1, 1, $2, $3, now())"
	" ON CONFLICT (id) DO UPDATE SET beat = node_beat.beat + 1, address = excluded.address,"
	" state = excluded.state, seen = excluded.seen";

static const char lock_lost[] = "SELECT 1 FROM node WHERE id = ANY ($1::text[]) ORDER BY id FOR UPDATE";

static const char mark_lost[] =
	"UPDATE node_beat AS b SET state = 3 FROM unnest($1::text[], $2::int8[], $3::int8[]) AS v(id, epoch, "
	"beat)"
	" JOIN node AS n ON n.id = v.id AND n.epoch = v.epoch WHERE b.id = v.id AND b.beat = v.beat";

static const char end_epochs[] =
	"UPDATE node AS n SET epoch = n.epoch + 1, instance = 0"
	" FROM unnest($1::text[], $2::int8[], $3::int8[]) AS v(id, epoch, beat)"
	" JOIN node_beat AS b ON b.id = v.id AND b.beat = v.beat WHERE n.id = v.id AND n.epoch = v.epoch";

/* Connections of one that holds its fence in a transaction that does not end. Its cluster's only: others may
 * have the same names. */
static const char end_connections[] =
	"SELECT count(pg_terminate_backend(a.pid)) FROM pg_stat_activity AS a"
	" WHERE a.application_name = $1 AND a.usename = current_user AND a.datname = current_database()"
	" AND a.pid <> pg_backend_pid() AND EXISTS (SELECT 1 FROM node_beat AS b WHERE b.id = $2 AND b.beat "
	"= $3)";

static const char lock_partitions[] =
	"SELECT 1 FROM partition WHERE id = ANY ($1::int8[]) ORDER BY id FOR UPDATE";

static const char lock_own_partitions[] =
	"SELECT 1 FROM partition WHERE node = $1 AND epoch = $2 ORDER BY id FOR UPDATE";

static const char hand_off[] = "UPDATE partition AS p SET node = g.node, epoch = g.epoch"
			       " FROM unnest($1::int8[], $2::text[], $3::int8[]) AS g(id, node, epoch)"
			       " WHERE p.id = g.id AND p.node = $4 AND p.epoch = $5";

static const char release_all[] = "UPDATE partition SET node = '', epoch = 0 WHERE node = $1 AND epoch = $2";

/* A node that left owns nothing, also when a handoff reached it late. */
static const char acquire_free[] =
	"UPDATE partition AS p SET node = $2, epoch = $3 WHERE p.id = ANY ($1::int8[])"
	" AND NOT EXISTS (SELECT 1 FROM node AS n WHERE n.id = p.node AND n.epoch = p.epoch"
	" AND NOT EXISTS (SELECT 1 FROM node_beat AS b WHERE b.id = n.id AND b.state = 3))";

/* Ours is among them however many there are. */
static const char read_nodes[] =
	"SELECT id, address, epoch, beat, state FROM (SELECT n.id, b.address, n.epoch, b.beat, b.state"
	" FROM node_beat AS b JOIN node AS n ON n.id = b.id WHERE b.state <> 3 OR b.id = $1"
	" ORDER BY n.id <> $1, n.id COLLATE \"C\" LIMIT $2) AS t ORDER BY id COLLATE \"C\"";

static const char read_owners[] = "SELECT id, node, epoch FROM partition WHERE node <> ''";

_Static_assert(AR_NODE_GONE == 3, "the statements above hold that number");

/* A wait for a standby that is cut short would report success without it; ours gives up by itself. */
static const char commit[] = "SET LOCAL statement_timeout = 0; COMMIT";

static enum ar_status run(struct ar_pg_member *m, const char *text, const struct ar_pg_args *args)
{
	PGresult *r = ar_pg_query(&m->link, text, args);

	PQclear(r);
	return r ? AR_OK : AR_E_IO;
}

static void add_self(const struct ar_pg_member *m, struct ar_pg_args *args)
{
	ar_pg_arg_bytes(args, ar_str_from(m->base.member.id));
	ar_pg_arg_u64(args, m->base.member.epoch);
}

/* ---- we ---- */

static enum ar_status hold_fence(struct ar_pg_member *m)
{
	struct ar_pg_args args = { 0 };
	PGresult *r;
	bool is_ours;

	add_self(m, &args);
	r = ar_pg_query(&m->link, own_fence, &args);
	is_ours = r && PQntuples(r) == 1;
	PQclear(r);
	if (!r)
		return AR_E_IO;
	return is_ours ? AR_OK : AR_E_FENCED;
}

static enum ar_status write_heartbeat(struct ar_pg_member *m, enum ar_node_state state)
{
	struct ar_pg_args args = { 0 };

	ar_pg_arg_bytes(&args, ar_str_from(m->base.member.id));
	ar_pg_arg_bytes(&args, ar_str_from(m->base.member.address));
	ar_pg_arg_u64(&args, state);
	return run(m, update_heartbeat, &args);
}

/* ---- lost nodes ---- */

static const struct ar_member_node *lost_node(const struct ar_member_beat *b, size_t i)
{
	AR_ASSERT(b->lost[i] < b->node_count);
	return &b->nodes[b->lost[i]];
}

static void list_lost(struct ar_pg_member *m, const struct ar_member_beat *b)
{
	ar_pg_array_start(&m->columns[0], AR_PG_TEXT);
	ar_pg_array_start(&m->columns[1], AR_PG_INT8);
	ar_pg_array_start(&m->columns[2], AR_PG_INT8);
	for (size_t i = 0; i < b->lost_count; i++) {
		ar_pg_array_bytes(&m->columns[0], ar_str_from(lost_node(b, i)->id));
		ar_pg_array_i64(&m->columns[1], (int64_t)lost_node(b, i)->epoch);
		ar_pg_array_i64(&m->columns[2], (int64_t)lost_node(b, i)->beat);
	}
}

static void end_connections_of(struct ar_pg_member *m, const struct ar_member_node *node)
{
	char application[AR_PG_APPLICATION + 1];
	struct ar_pg_args args = { 0 };

	ar_pg_application(ar_str_from(node->id), application);
	ar_pg_arg_bytes(&args, ar_str_from(application));
	ar_pg_arg_bytes(&args, ar_str_from(node->id));
	ar_pg_arg_u64(&args, node->beat);
	(void)run(m, end_connections, &args); /* a server that does not let us: they time out by themselves */
}

/* The epoch of a node whose transaction stays open, because its network is cut or its machine stands still,
 * cannot be ended: its connections are, and the next heartbeat tries again. This one's fault is what it
 * reports. */
static enum ar_status break_loose(struct ar_pg_member *m, const struct ar_member_beat *b)
{
	struct ar_error why = m->link.error;

	if (strcmp(m->link.sqlstate, LOCK_TIMEOUT) == 0 && run(m, "ROLLBACK", NULL) == AR_OK) {
		for (size_t i = 0; i < b->lost_count; i++)
			end_connections_of(m, lost_node(b, i));
	}
	m->link.error = why;
	return AR_E_IO;
}

static enum ar_status end_lost(struct ar_pg_member *m, const struct ar_member_beat *b)
{
	struct ar_pg_args ids = { 0 }, all = { 0 };
	enum ar_status st;

	if (b->lost_count == 0)
		return AR_OK;
	list_lost(m, b);
	ar_pg_arg_array(&ids, &m->columns[0]);
	for (size_t i = 0; i < AR_ARRAY_LEN(m->columns); i++)
		ar_pg_arg_array(&all, &m->columns[i]);
	if (run(m, lock_lost, &ids))
		return break_loose(m, b);
	st = run(m, mark_lost, &all);
	return st ? st : run(m, end_epochs, &all);
}

/* ---- partitions ---- */

static enum ar_status lock_named(struct ar_pg_member *m, const struct ar_member_beat *b)
{
	struct ar_pg_args args = { 0 };

	if (b->handoff_count + b->take_count == 0)
		return AR_OK;
	ar_pg_array_start(&m->columns[0], AR_PG_INT8);
	for (size_t i = 0; i < b->handoff_count; i++)
		ar_pg_array_i64(&m->columns[0], b->handoffs[i].partition);
	for (size_t i = 0; i < b->take_count; i++)
		ar_pg_array_i64(&m->columns[0], b->takes[i]);
	ar_pg_arg_array(&args, &m->columns[0]);
	return run(m, lock_partitions, &args);
}

static enum ar_status hand_off_partitions(struct ar_pg_member *m, const struct ar_member_beat *b)
{
	static const struct ar_member_node nobody;
	struct ar_pg_args args = { 0 };

	if (b->handoff_count == 0)
		return AR_OK;
	ar_pg_array_start(&m->columns[0], AR_PG_INT8);
	ar_pg_array_start(&m->columns[1], AR_PG_TEXT);
	ar_pg_array_start(&m->columns[2], AR_PG_INT8);
	for (size_t i = 0; i < b->handoff_count; i++) {
		const struct ar_member_handoff *g = &b->handoffs[i];
		const struct ar_member_node *to = g->to == AR_NOBODY ? &nobody : &b->nodes[g->to];

		AR_ASSERT(g->to == AR_NOBODY || g->to < b->node_count);
		ar_pg_array_i64(&m->columns[0], g->partition);
		ar_pg_array_bytes(&m->columns[1], ar_str_from(to->id));
		ar_pg_array_i64(&m->columns[2], (int64_t)to->epoch);
	}
	for (size_t i = 0; i < AR_ARRAY_LEN(m->columns); i++)
		ar_pg_arg_array(&args, &m->columns[i]);
	add_self(m, &args);
	return run(m, hand_off, &args);
}

static enum ar_status acquire_partitions(struct ar_pg_member *m, const struct ar_member_beat *b)
{
	struct ar_pg_args args = { 0 };

	if (b->take_count == 0)
		return AR_OK;
	ar_pg_array_start(&m->columns[0], AR_PG_INT8);
	for (size_t i = 0; i < b->take_count; i++)
		ar_pg_array_i64(&m->columns[0], b->takes[i]);
	ar_pg_arg_array(&args, &m->columns[0]);
	add_self(m, &args);
	return run(m, acquire_free, &args);
}

static enum ar_status release_partitions(struct ar_pg_member *m, const struct ar_member_beat *b)
{
	struct ar_pg_args args = { 0 };
	enum ar_status st;

	if (b->state != AR_NODE_GONE)
		return AR_OK;
	add_self(m, &args);
	st = run(m, lock_own_partitions, &args);
	return st ? st : run(m, release_all, &args);
}

/* ---- the table ---- */

static void copy_text(char *to, size_t room, struct ar_str from)
{
	size_t len = from.len < room ? from.len : room - 1;

	memcpy(to, from.p, len);
	to[len] = '\0';
}

static void read_node(const struct ar_pg_member *m, const PGresult *r, int row, struct ar_pg_roster *t)
{
	struct ar_member_node *n = &t->nodes[t->node_count];

	*n = (struct ar_member_node){ .epoch = ar_pg_col_u64(r, row, 2),
				      .beat = ar_pg_col_u64(r, row, 3),
				      .state = (enum ar_node_state)ar_pg_col_u64(r, row, 4) };
	copy_text(n->id, sizeof n->id, ar_pg_col_bytes(r, row, 0));
	copy_text(n->address, sizeof n->address, ar_pg_col_bytes(r, row, 1));
	if (strcmp(n->id, m->base.member.id) == 0)
		t->self = (uint16_t)t->node_count;
	t->node_count++;
}

static enum ar_status list_nodes(struct ar_pg_member *m, struct ar_pg_roster *t)
{
	struct ar_pg_args args = { 0 };
	PGresult *r;

	ar_pg_arg_bytes(&args, ar_str_from(m->base.member.id));
	ar_pg_arg_u64(&args, AR_NODES_MAX);
	r = ar_pg_query(&m->link, read_nodes, &args);
	if (!r)
		return AR_E_IO;
	t->node_count = 0;
	for (int i = 0; i < PQntuples(r); i++)
		read_node(m, r, i, t);
	PQclear(r);
	return AR_OK;
}

static uint16_t index_of(const struct ar_pg_roster *t, struct ar_str id, uint64_t epoch)
{
	for (size_t i = 0; i < t->node_count; i++) {
		if (t->nodes[i].epoch == epoch && ar_str_eq(id, ar_str_from(t->nodes[i].id)))
			return (uint16_t)i;
	}
	return AR_NOBODY;
}

static enum ar_status list_owners(struct ar_pg_member *m, struct ar_pg_roster *t)
{
	PGresult *r = ar_pg_query(&m->link, read_owners, &no_args);

	if (!r)
		return AR_E_IO;
	for (size_t i = 0; i < AR_PARTITIONS; i++)
		t->owner[i] = AR_NOBODY;
	for (int i = 0; i < PQntuples(r); i++) {
		uint64_t id = ar_pg_col_u64(r, i, 0);

		if (id < AR_PARTITIONS)
			t->owner[id] = index_of(t, ar_pg_col_bytes(r, i, 1), ar_pg_col_u64(r, i, 2));
	}
	PQclear(r);
	return AR_OK;
}

/* ---- all of it ---- */

static ar_usec now(void)
{
	return ar_clock_system()->mono(ar_clock_system());
}

/* A connection that went bad since the last heartbeat costs a new one, not the heartbeat: nothing was
 * done on it yet. Not so one that kept us waiting until the end. */
static enum ar_status begin(struct ar_pg_member *m)
{
	static const char text[] = "BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE";

	m->link.deadline = now() + m->lease;
	if (ar_pg_is_alive(&m->link) && run(m, text, NULL) == AR_OK)
		return AR_OK;
	if (now() >= m->link.deadline)
		return AR_E_IO;
	ar_pg_disconnect(&m->link);
	if (ar_pg_connect(&m->link, &m->target, &m->link.error) != AR_OK)
		return AR_E_IO;
	m->link.deadline = now() + m->lease;
	return run(m, text, NULL);
}

static enum ar_status transact(struct ar_pg_member *m, const struct ar_member_beat *b)
{
	enum ar_status st = begin(m);

	st = st ? st : hold_fence(m);
	st = st ? st : write_heartbeat(m, b->state);
	st = st ? st : end_lost(m, b);
	st = st ? st : lock_named(m, b);
	st = st ? st : hand_off_partitions(m, b);
	st = st ? st : acquire_partitions(m, b);
	st = st ? st : release_partitions(m, b);
	st = st ? st : list_nodes(m, &m->roster);
	st = st ? st : list_owners(m, &m->roster);
	return st ? st : run(m, commit, NULL);
}

static void clean_up(struct ar_pg_member *m)
{
	struct ar_error why = m->link.error;

	if (m->link.handle && PQtransactionStatus(m->link.handle) != PQTRANS_IDLE && run(m, "ROLLBACK", NULL))
		ar_pg_disconnect(&m->link);
	m->link.error = why;
}

static enum ar_status heartbeat_once(struct ar_pg_member *m, const struct ar_member_beat *b,
				     struct ar_error *err)
{
	enum ar_status st = transact(m, b);

	if (!st)
		return AR_OK;
	clean_up(m);
	if (st == AR_E_FENCED)
		return ar_fail(err, st,
			       "node %s: epoch %llu was ended; another node or process has taken over",
			       m->base.member.id, (unsigned long long)m->base.member.epoch);
	ar_pg_fail(&m->link, err);
	return err->status = AR_E_IO; /* also for a server that cannot be reached: it may come back */
}

static void return_table(const struct ar_pg_roster *t, struct ar_member_beat *b)
{
	memcpy(b->nodes, t->nodes, t->node_count * sizeof *t->nodes);
	memcpy(b->owner, t->owner, sizeof t->owner);
	b->node_count = t->node_count;
	b->self = t->self;
}

void ar_pg_heartbeat(struct ar_pg_member *m, struct ar_member_beat *b)
{
	b->err = (struct ar_error){ 0 };
	b->status = heartbeat_once(m, b, &b->err);
	if (!b->status)
		return_table(&m->roster, b);
}
