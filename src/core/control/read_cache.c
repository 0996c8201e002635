/* Answers of reads that are asked again while nothing has changed. A document is rendered from a
 * session's state alone, so it is the same until the next fact; who polls gets the bytes of the last
 * time, which are not copied: the cache and the calls that it answers share them. Whether the caller may
 * see it was judged before, as for any other. An answer is kept when it is asked for the second time:
 * what is read once costs no memory. There is room for a few, and the newer one has it. Owner: the loop
 * thread. */
#include "control_priv.h"
#include "mem.h"

#include <string.h>

#define SLOTS 64
#define LARGEST ((size_t)16 * 1024) /* bytes of an answer; larger ones are rendered each time */

struct slot {
	uint64_t load, head; /* of the state; load 0: nothing was asked for yet */
	enum ar_command command;
	size_t id_len;
	char id[AR_ID_MAX];
	struct ar_kept_reply *reply; /* NULL: it was asked for once */
};

struct ar_read_cache {
	struct slot slots[SLOTS];
};

static void unref_reply(struct ar_kept_reply *reply)
{
	if (!reply || --reply->refs)
		return;
	ar_buf_fini(&reply->text);
	ar_free(reply);
}

void ar_kept_reply_drop(struct ar_call *c)
{
	unref_reply(c->kept);
	c->kept = NULL;
}

void ar_read_cache_free(struct ar_read_cache *k)
{
	for (size_t i = 0; k && i < SLOTS; i++)
		unref_reply(k->slots[i].reply);
	ar_free(k);
}

static struct slot *slot_of(struct ar_control *c, uint64_t load, enum ar_command command, struct ar_str id)
{
	uint64_t mix = load * 7 + (uint64_t)command;

	if (!c->read_cache)
		c->read_cache = ar_new0(sizeof(*c->read_cache));
	if (id.len) /* the last character of an id is the most different one */
		mix += (uint64_t)(unsigned char)id.p[id.len - 1] * 3;
	return &c->read_cache->slots[mix % SLOTS];
}

static bool is_of(const struct slot *p, uint64_t load, uint64_t head, enum ar_command command,
		  struct ar_str id)
{
	return p->load == load && p->head == head && p->command == command && p->id_len == id.len &&
	       (!id.len || memcmp(p->id, id.p, id.len) == 0);
}

bool ar_read_cache_answer(struct ar_call *c, const struct ar_session *s, struct ar_str id)
{
	uint64_t load = ar_engine_load_of(s);
	const struct slot *p = slot_of(c->control, load, c->command, id);

	if (!p->reply || !is_of(p, load, s->head, c->command, id))
		return false;
	c->kept = p->reply;
	c->kept->refs++;
	ar_call_done(c, 200);
	return true;
}

/* What the call has written, for it and for the slot. */
static struct ar_kept_reply *share_reply(struct ar_call *c)
{
	struct ar_kept_reply *reply = ar_new0(sizeof(*reply));

	*reply = (struct ar_kept_reply){ .refs = 2, .text = c->reply };
	c->reply = (struct ar_buf){ 0 };
	return c->kept = reply;
}

void ar_read_cache_store(struct ar_call *c, const struct ar_session *s, struct ar_str id)
{
	uint64_t load = ar_engine_load_of(s);
	struct slot *p = slot_of(c->control, load, c->command, id);

	if (id.len > sizeof(p->id) || c->reply.len > LARGEST)
		return;
	if (is_of(p, load, s->head, c->command, id)) {
		unref_reply(p->reply);
		p->reply = share_reply(c);
		return;
	}
	unref_reply(p->reply);
	*p = (struct slot){ .load = load, .head = s->head, .command = c->command, .id_len = id.len };
	if (id.len)
		memcpy(p->id, id.p, id.len);
}
