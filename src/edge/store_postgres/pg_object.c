/* Large content kept as objects beside the database (port/objects.h).
 *
 * object(name, since) is every object there may be: since is when it was begun, or set free; NULL
 * while a blob row names it. The row is committed before the object is put, the object is put
 * before the append's transaction names it: so a commit never names what is not there, and what a
 * crash leaves behind is found by its row. A name is used once, so putting the same content again
 * cannot meet a removal under way. Removal moves the row to object_gone, from where no blob can
 * name it any more, then removes the object, then forgets the name: whatever is cut off in
 * between is done by the next step.
 *
 * Writer thread, but for ar_postgres_object_get(), which is the reader's. */
#include "postgres.h"

#include "clock.h"
#include "store_upkeep.h"

#include <string.h>

#define REMOVE_MAX 16 /* objects that one step removes: each is a request */

static ar_usec wall_time(void)
{
	return ar_clock_system()->wall(ar_clock_system());
}

static struct ar_str hash_bytes(const struct ar_hash *h)
{
	return (struct ar_str){ (const char *)h->b, sizeof h->b };
}

/* ---- put ---- */

/* The hash, so that an operator finds it, and an id of its own. */
static struct ar_str name_object(struct ar_arena *a, const struct ar_hash *hash)
{
	char text[AR_HASH_TEXT], once[AR_SESSION_KEY_LEN];

	ar_hash_text(hash, text);
	ar_id_mint(once);
	return ar_arena_fmt(a, "%.*s-%.*s", (int)sizeof text, text, (int)sizeof once, once);
}

static const struct ar_store_append *append_of(struct ar_list *node)
{
	struct ar_store_op *op = AR_CONTAINER_OF(node, struct ar_store_op, node);
	const struct ar_store_append *a = AR_CONTAINER_OF(op, struct ar_store_append, op);
	struct ar_store_key key;

	return op->kind == AR_STORE_APPEND && !ar_store_check_append(a, &key, NULL) ? a : NULL;
}

/* Names for what of the batch is to become an object, each content once. */
static void name_objects(struct ar_postgres *s, struct ar_list *ops, struct ar_pg_array *names)
{
	AR_LIST_FOR (it, ops) {
		const struct ar_store_append *a = append_of(it);

		for (size_t i = 0; a && i < a->blob_count; i++) {
			struct ar_str hash = hash_bytes(&a->blobs[i].hash), *name;

			if (a->blobs[i].bytes.len < s->object_min || ar_map_get(&s->batch.objects, hash))
				continue;
			name = ar_arena_alloc(&s->object_arena, sizeof *name);
			*name = name_object(&s->object_arena, &a->blobs[i].hash);
			ar_map_put(&s->batch.objects, hash, name);
			ar_pg_array_bytes(names, *name);
		}
	}
}

static enum ar_pg_fault commit(struct ar_pg *pg)
{
	ar_pg_send(pg, AR_PG_COMMIT, NULL);
	ar_pg_sync(pg);
	return ar_pg_end(pg);
}

static enum ar_status begin_objects(struct ar_postgres *s, struct ar_pg_array *names, struct ar_error *err)
{
	struct ar_pg_args args = { 0 };
	enum ar_status st = AR_OK;

	if (!ar_pg_is_alive(&s->writer))
		st = ar_postgres_reconnect(s, err);
	if (st)
		return st;
	ar_pg_arg_array(&args, names);
	ar_pg_arg_u64(&args, (uint64_t)wall_time());
	ar_postgres_begin(s);
	ar_pg_send(&s->writer, AR_PG_OBJECT_BEGIN, &args);
	switch (commit(&s->writer)) {
	case AR_PG_FINE:
		return AR_OK;
	case AR_PG_FENCED:
		return ar_store_fail_fenced(err, s->base.store.epoch);
	default:
		return ar_pg_fail(&s->writer, err);
	}
}

static enum ar_status put_objects(struct ar_postgres *s, const struct ar_store_append *a, struct ar_map *done,
				  struct ar_error *err)
{
	enum ar_status st = AR_OK;

	for (size_t i = 0; !st && i < a->blob_count; i++) {
		struct ar_str hash = hash_bytes(&a->blobs[i].hash);
		struct ar_str *name = ar_map_get(&s->batch.objects, hash);

		if (!name || ar_map_get(done, hash))
			continue;
		ar_packer_look(s->writer.packer, NULL);
		st = s->objects->v->put(s->objects, *name, ar_pack(s->writer.packer, a->blobs[i].bytes), err);
		if (!st)
			ar_map_put(done, hash, name);
	}
	return st;
}

static void fail(struct ar_list *node, struct ar_list *failed, enum ar_status st, const struct ar_error *err)
{
	struct ar_store_op *op = AR_CONTAINER_OF(node, struct ar_store_op, node);

	op->err = *err;
	op->status = st == AR_E_FENCED ? st : (op->err.status = AR_E_IO);
	ar_list_del(node);
	ar_list_push(failed, node);
}

static bool has_objects(const struct ar_postgres *s, const struct ar_store_append *a)
{
	for (size_t i = 0; a && i < a->blob_count; i++) {
		if (ar_map_get(&s->batch.objects, hash_bytes(&a->blobs[i].hash)))
			return true;
	}
	return false;
}

void ar_postgres_put_objects(struct ar_postgres *s, struct ar_list *ops, struct ar_list *failed)
{
	struct ar_pg_array *names = &s->batch.columns[0];
	struct ar_map done = { 0 };
	struct ar_error err = { 0 };
	enum ar_status st;

	if (!s->objects)
		return;
	ar_pg_array_start(names, AR_PG_BYTEA);
	name_objects(s, ops, names);
	if (!names->count)
		return;
	st = begin_objects(s, names, &err);
	AR_LIST_FOR_SAFE (it, ops) {
		const struct ar_store_append *a = append_of(it);
		enum ar_status own = st;

		if (!has_objects(s, a))
			continue;
		if (!own)
			own = put_objects(s, a, &done, &err);
		if (own)
			fail(it, failed, own, &err);
	}
	ar_map_fini(&done);
}

void ar_postgres_forget_objects(struct ar_postgres *s)
{
	ar_map_fini(&s->batch.objects);
	ar_arena_reset(&s->object_arena);
}

/* ---- get ---- */

enum ar_status ar_postgres_object_get(struct ar_postgres *s, struct ar_str name, const struct ar_hash *hash,
				      struct ar_store_blobs_get *op, struct ar_str *ret)
{
	struct ar_error *err = &op->op.err;
	struct ar_arena scratch = { 0 };
	struct ar_hash found;
	struct ar_str packed;
	enum ar_status st;

	if (!s->objects)
		return ar_fail(err, AR_E_IO,
			       "a blob is in an object storage, and none is configured; set blob.s3_url");
	st = s->objects->v->get(s->objects, name, AR_STORE_VALUE_MAX + 1u, &scratch, &packed, err);
	if (!st)
		st = ar_unpack(s->reader.packer, packed, &op->op.arena, ret, err);
	ar_arena_fini(&scratch);
	if (st)
		return st == AR_E_NOT_FOUND || st == AR_E_LIMIT ? (err->status = AR_E_CORRUPT) : st;
	found = ar_hash_of(*ret);
	if (memcmp(found.b, hash->b, sizeof found.b) == 0)
		return AR_OK;
	*ret = AR_STR_NONE;
	return ar_fail(err, AR_E_CORRUPT, "the object '%.*s' differs from what was stored", AR_STR_ARG(name));
}

/* ---- removed ---- */

/* Moves what is free to object_gone and takes some names from there; they are copies in the arena. */
static size_t read_gone(struct ar_postgres *s, struct ar_store_upkeep *op, struct ar_str names[REMOVE_MAX])
{
	struct ar_pg_args free_before = { 0 }, most = { 0 };
	PGresult *fence, *r;
	size_t count = 0;

	ar_pg_arg_u64(&free_before, (uint64_t)op->doomed_before);
	ar_pg_arg_u64(&free_before, REMOVE_MAX);
	ar_pg_arg_u64(&most, REMOVE_MAX);
	ar_postgres_begin(s);
	ar_pg_send(&s->writer, AR_PG_OBJECT_FREE, &free_before);
	ar_pg_send(&s->writer, AR_PG_OBJECT_GONE, &most);
	ar_pg_send(&s->writer, AR_PG_COMMIT, NULL);
	ar_pg_sync(&s->writer);
	fence = ar_pg_next(&s->writer);
	r = ar_pg_next(&s->writer);
	for (; r && count < (size_t)PQntuples(r); count++)
		names[count] = ar_pg_col_str(r, (int)count, 0, &op->op.arena);
	PQclear(fence);
	PQclear(r);
	return ar_pg_end(&s->writer) ? 0 : count;
}

/* Only removes things that nothing names, so what goes wrong here is left for the next step. */
void ar_postgres_remove_objects(struct ar_postgres *s, struct ar_store_upkeep *op)
{
	struct ar_pg_array *removed = &s->batch.columns[0];
	struct ar_pg_args args = { 0 };
	struct ar_str names[REMOVE_MAX];
	size_t count;

	if (!s->objects || !ar_pg_is_alive(&s->writer))
		return;
	count = read_gone(s, op, names);
	ar_pg_array_start(removed, AR_PG_BYTEA);
	for (size_t i = 0; i < count; i++) {
		if (s->objects->v->remove(s->objects, names[i], NULL))
			break; /* it is away: do not wait for every one of them */
		ar_pg_array_bytes(removed, names[i]);
	}
	if (!removed->count)
		return;
	ar_pg_arg_array(&args, removed);
	ar_postgres_begin(s);
	ar_pg_send(&s->writer, AR_PG_OBJECT_FORGET, &args);
	if (!commit(&s->writer))
		op->more = op->more || removed->count == REMOVE_MAX;
}
