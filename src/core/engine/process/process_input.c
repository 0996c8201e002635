/* What is written to a process: numbered, one at a time, in order, again after a restart. It is on
 * record before it is sent; the host writes each number once. */
#include "process/process_priv.h"
#include "identity.h"

#define BUSY_RETRY ((ar_usec)50000)

static struct ar_process_input_item *add_input(struct ar_live_process *p, uint64_t number, bool is_eof)
{
	struct ar_process_input_item *item = ar_new0(sizeof(*item));

	item->number = number;
	item->is_eof = is_eof;
	ar_list_push(&p->inputs, &item->node);
	return item;
}

static void item_free(struct ar_process_input_item *item)
{
	ar_list_del(&item->node);
	ar_buf_fini(&item->bytes);
	ar_free(item);
}

void ar_process_inputs_drop(struct ar_live_process *p)
{
	while (!ar_list_empty(&p->inputs))
		item_free(AR_CONTAINER_OF(p->inputs.next, struct ar_process_input_item, node));
}

/* The bytes of those that are to be sent again are fetched first: nothing overtakes them. */
void ar_process_inputs_send(struct ar_live_process *p)
{
	struct ar_process_host *host = ar_process_host_of(p);
	struct ar_process_input_item *item;

	if (!p->is_reached || !p->is_held || p->is_writing || p->has_unread || ar_list_empty(&p->inputs))
		return;
	item = AR_CONTAINER_OF(p->inputs.next, struct ar_process_input_item, node);
	p->is_writing = true;
	host->v->write(host, &p->port, item->number, ar_buf_str(&item->bytes), item->is_eof);
}

static void fetch(struct ar_live_process *p);

static void write_again(struct ar_timer *t)
{
	struct ar_live_process *p = AR_CONTAINER_OF(t, struct ar_live_process, write_again);

	p->is_write_set = false;
	if (p->has_unread && !p->has_ended)
		fetch(p);
	else
		ar_process_inputs_send(p);
	ar_process_settle(p);
}

static void write_dropped(struct ar_timer *t)
{
	AR_CONTAINER_OF(t, struct ar_live_process, write_again)->is_write_set = false;
}

static void write_later(struct ar_live_process *p)
{
	if (p->is_write_set || !p->is_held)
		return;
	p->write_again = (struct ar_timer){ .live = p->live, .fire = write_again, .drop = write_dropped };
	p->is_write_set = true;
	ar_timer_start(p->live->engine, &p->write_again, BUSY_RETRY);
}

static void inputs_taken(struct ar_live_process *p, uint64_t number)
{
	if (number > p->taken)
		p->taken = number;
	AR_LIST_FOR_SAFE (it, &p->inputs) {
		struct ar_process_input_item *item = AR_CONTAINER_OF(it, struct ar_process_input_item, node);

		if (item->number <= p->taken)
			item_free(item);
	}
}

void ar_process_on_written(struct ar_process *port, uint64_t number, enum ar_process_write how)
{
	struct ar_live_process *p = AR_CONTAINER_OF(port, struct ar_live_process, port);

	p->is_writing = false;
	if (p->live->engine->is_stopping)
		return;
	if (how == AR_PROC_BUSY) {
		write_later(p);
		return;
	}
	if (how == AR_PROC_CLOSED) {
		p->is_closed = true;
		ar_process_inputs_drop(p);
		return;
	}
	inputs_taken(p, number);
	ar_process_inputs_send(p);
}

void ar_process_write(struct ar_live *l, const struct ar_effect_process_write *effect)
{
	struct ar_live_process *p = ar_process_find(l, effect->process);

	if (!p || p->has_ended)
		return;
	ar_buf_adds(&add_input(p, effect->number, effect->is_eof)->bytes, effect->bytes);
	ar_process_inputs_send(p);
}

/* ---- after a restart ---- */

static void on_blobs(struct ar_store_op *op)
{
	struct ar_live_process *p = AR_CONTAINER_OF(op, struct ar_live_process, blobs.op);
	struct ar_live *l = p->live;
	size_t i = 0;

	l->busy--;
	p->busy--;
	if (l->engine->is_stopping)
		return;
	p->has_unread = op->status != AR_OK;
	AR_LIST_FOR (it, &p->inputs) {
		struct ar_process_input_item *item = AR_CONTAINER_OF(it, struct ar_process_input_item, node);

		if (!p->has_unread && i < p->blobs.count && !ar_str_absent(p->blobs.bytes[i]))
			ar_buf_adds(&item->bytes, p->blobs.bytes[i]);
		i++;
	}
	ar_store_op_fini(op);
	if (p->has_unread) {
		write_later(p);
	} else {
		inputs_taken(p, p->taken);
		ar_process_inputs_send(p);
	}
	ar_process_settle(p);
	ar_live_pump(l); /* a session that moves away may have waited for this alone */
}

static void fetch(struct ar_live_process *p)
{
	p->blobs.op = (struct ar_store_op){ .kind = AR_STORE_BLOBS, .done = on_blobs };
	p->blobs.hashes = p->hashes;
	p->busy++;
	p->live->busy++;
	ar_store_submit(p->live->engine->o.store, &p->blobs.op);
}

void ar_process_inputs_find(struct ar_live_process *p, const struct ar_process_record *r)
{
	struct ar_str session_key;

	for (size_t i = 0; i < r->written.count; i++) {
		const struct ar_process_input *in = r->written.at[i];

		ar_ref_parse(in->ref, &session_key, &p->hashes[p->blobs.count++]);
		add_input(p, (uint64_t)in->number, in->is_eof);
	}
	p->has_unread = p->blobs.count > 0;
	if (p->has_unread)
		fetch(p);
}

void ar_process_on_attached(struct ar_process *port, uint64_t inputs)
{
	struct ar_live_process *p = AR_CONTAINER_OF(port, struct ar_live_process, port);

	if (p->live->engine->is_stopping)
		return;
	p->is_reached = true;
	if (inputs > p->taken)
		p->taken = inputs;
	if (!p->has_unread)
		inputs_taken(p, p->taken);
	ar_process_reached(p);
	ar_process_inputs_send(p);
}
