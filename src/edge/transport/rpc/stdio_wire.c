/* See stdio_wire.h. There is no deadline: a peer that does not read holds up nobody but
 * itself, and what it has coming is bounded by what the outbox and the calls under way may
 * hold. Owner: the loop thread. */
#include "rpc/stdio_wire.h"
#include "catalog.h"
#include "mem.h"
#include "rpc/lines.h"
#include "rpc/outbox.h"
#include "rpc/rpc.h"
#include "server.h"

#include <string.h>

struct ar_stdio {
	struct ar_outbox out; /* first: see outbox.c */
	struct ar_rpc rpc;
	struct ar_lines lines;
	struct ar_buf pending; /* came in while no message was wanted */
	struct ar_stdio_options options;
	struct ar_byte_link *link;
	bool is_eof; /* nothing more comes in */
	bool is_told; /* that the peer has said all */
	bool is_closed;
};

/* ---- the end ---- */

static void tell_end(struct ar_stdio *s)
{
	if (s->is_told)
		return;
	s->is_told = true;
	s->options.ended(s->options.arg);
}

static void release(struct ar_stdio *s)
{
	struct ar_byte_link *l = s->link;

	if (!s->is_closed || !ar_rpc_is_idle(&s->rpc))
		return;
	ar_outbox_fini(&s->out);
	ar_lines_fini(&s->lines);
	ar_buf_fini(&s->pending);
	ar_free(s);
	ar_byte_link_free(l);
}

static void end_wire(struct ar_stdio *s)
{
	ar_rpc_stop(&s->rpc, false);
	ar_byte_link_close(s->link);
	tell_end(s);
}

/* ---- input ---- */

static bool wants_more(const struct ar_stdio *s)
{
	return ar_rpc_wants_more(&s->rpc) && ar_outbox_takes_more(&s->out);
}

static void on_line(struct ar_lines *l, struct ar_str text)
{
	ar_rpc_take(&AR_CONTAINER_OF(l, struct ar_stdio, lines)->rpc, text);
}

static void on_too_long(struct ar_lines *l)
{
	ar_rpc_refuse(&AR_CONTAINER_OF(l, struct ar_stdio, lines)->rpc, AR_ERR_PAYLOAD_TOO_LARGE,
		      "the line is longer than limits.max_body_bytes allows; it was dropped");
}

static bool takes_line(struct ar_lines *l)
{
	return wants_more(AR_CONTAINER_OF(l, struct ar_stdio, lines));
}

static const struct ar_lines_vtable line_callbacks = { on_line, on_too_long, takes_line };

static void on_bytes(struct ar_byte_link *l, struct ar_str bytes)
{
	struct ar_stdio *s = l->owner;
	size_t used = s->pending.len ? 0 : ar_lines_feed(&s->lines, bytes);

	ar_buf_adds(&s->pending, ar_str_sub(bytes, used, bytes.len));
	if (s->pending.len || !wants_more(s))
		ar_byte_link_read_stop(l);
}

static void read_on(struct ar_stdio *s)
{
	struct ar_buf bytes = s->pending;

	s->pending = (struct ar_buf){ 0 };
	if (bytes.len)
		ar_buf_eat(&bytes, ar_lines_feed(&s->lines, ar_buf_str(&bytes)));
	if (bytes.len)
		s->pending = bytes;
	else
		ar_buf_fini(&bytes);
	if (s->pending.len || !wants_more(s))
		return;
	if (s->is_eof) {
		ar_lines_finish(&s->lines);
		tell_end(s);
	} else if (!ar_byte_link_read_start(s->link)) {
		end_wire(s);
	}
}

/* ---- output ---- */

/* A line break can only stand between the words of a JSON text, where a blank means the same. */
static void send_text(struct ar_rpc *r, struct ar_str text)
{
	struct ar_stdio *s = AR_CONTAINER_OF(r, struct ar_stdio, rpc);
	struct ar_buf *out = ar_outbox_open(&s->out);
	size_t start = out->len;
	char *at;

	ar_buf_adds(out, text);
	while ((at = memchr(out->p + start, '\n', out->len - start)))
		*at = ' ';
	ar_buf_addc(out, '\n');
}

static bool takes_more(struct ar_rpc *r)
{
	return ar_outbox_takes_more(&AR_CONTAINER_OF(r, struct ar_stdio, rpc)->out);
}

static void on_hurry(struct ar_rpc *r)
{
	ar_outbox_push(&AR_CONTAINER_OF(r, struct ar_stdio, rpc)->out);
}

static void on_moved(struct ar_rpc *r)
{
	struct ar_stdio *s = AR_CONTAINER_OF(r, struct ar_stdio, rpc);

	if (s->is_closed)
		release(s);
	else
		ar_outbox_wake(&s->out);
}

static const struct ar_rpc_vtable rpc_callbacks = { send_text, takes_more, on_hurry, on_moved };

static void on_stalled(struct ar_outbox *o AR_UNUSED)
{
}

static void on_drained(struct ar_outbox *o)
{
	struct ar_stdio *s = AR_CONTAINER_OF(o, struct ar_stdio, out);

	ar_rpc_drained(&s->rpc);
	if (!s->rpc.is_draining)
		read_on(s);
	else if (ar_rpc_is_idle(&s->rpc) && ar_outbox_is_empty(o))
		end_wire(s);
}

static void on_broken(struct ar_outbox *o)
{
	end_wire(AR_CONTAINER_OF(o, struct ar_stdio, out));
}

static const struct ar_outbox_vtable out_callbacks = { on_stalled, on_drained, on_broken };

/* ---- the link ---- */

/* The end of the input is not the end of the output: what was asked is answered. */
static void on_lost(struct ar_byte_link *l)
{
	struct ar_stdio *s = l->owner;

	ar_byte_link_read_stop(l);
	s->is_eof = true;
	ar_outbox_wake(&s->out);
}

static void on_closed(struct ar_byte_link *l)
{
	struct ar_stdio *s = l->owner;

	s->is_closed = true;
	release(s);
}

static void on_drain(struct ar_byte_link *l)
{
	struct ar_stdio *s = l->owner;

	ar_byte_link_read_stop(l);
	ar_rpc_drain(&s->rpc);
	ar_outbox_wake(&s->out);
}

static void on_abort(struct ar_byte_link *l)
{
	end_wire(l->owner);
}

static const struct ar_byte_link_vtable link_callbacks = { on_bytes, on_lost, on_closed, on_drain, on_abort };

enum ar_status ar_stdio_open(struct ar_http_server *server, const struct ar_stdio_options *o,
			     struct ar_error *err)
{
	struct ar_byte_link *l = ar_byte_link_new_pair(server, o->in, o->out);
	struct ar_stdio *s;

	if (!l)
		return ar_fail(err, AR_E_IO, "standard input or output cannot be used: is it closed?");
	s = ar_new0(sizeof *s);
	s->link = l;
	s->options = *o;
	s->lines = (struct ar_lines){ .v = &line_callbacks, .cap = server->limits.body_bytes };
	ar_outbox_init(&s->out, &out_callbacks, l);
	/* The caller is the user who started us. */
	ar_rpc_init(&s->rpc, &rpc_callbacks, server, &l->source, NULL);
	ar_byte_link_own(l, &link_callbacks, s);
	if (ar_byte_link_read_start(l))
		return AR_OK;
	s->is_told = true;
	end_wire(s);
	return ar_fail(err, AR_E_IO, "standard input cannot be read");
}
