/* The connection to one shim (journal/shim_wire.h). Never waits: what the shim's buffer does not take now is
 * owed and goes out when it can, and again over the next connection where losing it would matter. Inputs are
 * not owed: they are answered, or their sender has to try again.
 *
 * Contract: loop thread only; nothing is called back from inside a function of this file. A zeroed struct
 * with v and loop set is without a connection. */
#ifndef AR_PROCESS_SHIM_CONTROL_H
#define AR_PROCESS_SHIM_CONTROL_H

#include "shim_wire.h"
#include "str.h"

#include <uv.h>

#define AR_SHIM_CONTROL_SIGNALS_MAX 8 /* owed at once; beyond, they are dropped */
#define AR_SHIM_CONTROL_JSON_MAX 2048

struct ar_shim_control;

struct ar_shim_control_vtable {
	/* With the socket that the process reaches the world through, for the callee to close; -1: it has
	 * none. */
	void (*on_hello)(struct ar_shim_control *c, const struct ar_shim_hello *h, int listener);
	void (*on_growth)(
		struct ar_shim_control *c); /* the journal has to be read; further growth is reported */
	void (*on_input_result)(struct ar_shim_control *c, uint64_t number, enum ar_shim_input_status status);
	void (*on_down)(struct ar_shim_control *c); /* the other side is gone, or drives with another */
};

struct ar_shim_control {
	const struct ar_shim_control_vtable *v;
	uv_loop_t *loop;
	struct ar_connection *now;
	uint32_t pending; /* of enum owed in shim_control.c */
	bool wants_go;
	uint16_t rows, columns;
	char end[AR_SHIM_CONTROL_JSON_MAX];
	size_t end_len;
	char signals[AR_SHIM_CONTROL_SIGNALS_MAX][128];
	size_t signal_count;
};

/* Takes the descriptor, non-blocking; an older connection is closed. */
void ar_shim_control_open(struct ar_shim_control *c, int fd);

/* Closes the connection, without on_down. Nothing is owed any more. */
void ar_shim_control_close(struct ar_shim_control *c);

static inline bool ar_shim_control_is_up(const struct ar_shim_control *c)
{
	return c->now != NULL;
}

/* The process at the other end; 0: not known. */
int ar_shim_control_peer(const struct ar_shim_control *c);

void ar_shim_control_go(struct ar_shim_control *c);
void ar_shim_control_resize(struct ar_shim_control *c, uint16_t rows, uint16_t columns);
void ar_shim_control_signal(struct ar_shim_control *c, struct ar_str name);
void ar_shim_control_end(struct ar_shim_control *c, struct ar_str by, struct ar_str reason, int64_t grace_ms);

/* False: it did not go out, and will not by itself. */
bool ar_shim_control_input(struct ar_shim_control *c, uint64_t number, struct ar_str bytes, bool is_eof);

#endif
