/* Messages between a daemon and its workers. One message is the length of its head (four bytes, big endian),
 * the head (a JSON object with `op`, mostly `ref`), and bytes. Texts of the head that may be long, or may not
 * be text, are in the bytes: "name":[offset, length]. A message too long for the link has its first bytes in
 * messages `part` before it; `size` says how many bytes there are in all.
 *
 * The other end is not trusted: every size has a limit, and a message that breaks a rule is not used at all.
 * Single owner, no I/O but link->v->send. */
#ifndef AR_EDGE_WORKER_WIRE_H
#define AR_EDGE_WORKER_WIRE_H

#include "json.h"
#include "link.h"
#include "list.h"

#define AR_WIRE_HEAD_MAX ((size_t)256 * 1024)
#define AR_WIRE_PART_BYTES ((size_t)256 * 1024) /* of a long message in one message of the link */
#define AR_WIRE_BYTES_MAX ((size_t)64 << 20) /* of one message: arguments, or a result */
#define AR_WIRE_QUEUE_MAX ((size_t)192 << 20) /* that wait for a link; then it is too slow */
#define AR_WIRE_REF_MAX 160
#define AR_WIRE_DEPTH_MAX 24 /* of JSON that is relayed: it becomes a part of documents with a limit */

/* ---- reading ---- */

struct ar_wire_message {
	struct ar_str op, ref; /* ref: absent where there is none */
	struct ar_json head;
	struct ar_str bytes;
	struct ar_json_parser *checker; /* for JSON inside the bytes */
	bool is_broken; /* a member that was read is not what it must be */
};

/* What comes over one link. */
struct ar_wire_in {
	struct ar_json_parser *parser, *checker; /* borrowed */
	struct ar_buf parts; /* of a message that is not complete */
	size_t *held; /* may be NULL: bytes of parts of all links together */
	size_t held_max;
};

enum ar_wire_read {
	AR_WIRE_BROKEN = 1, /* the link cannot be used any longer */
	AR_WIRE_PART, /* of a message: more follows */
	AR_WIRE_WHOLE,
};

AR_BEGIN_DECLS

/* The message lives no longer than `message`, and until ar_wire_in_done, which gives back what was gathered
 * for it. */
enum ar_wire_read ar_wire_read(struct ar_wire_in *in, struct ar_str message, struct ar_wire_message *ret);
void ar_wire_in_done(struct ar_wire_in *in, const struct ar_wire_message *m);
void ar_wire_in_fini(struct ar_wire_in *in); /* drops what was gathered */

/* Members of `v`, which is the head or an object in it. Absent, 0 or false when they are not there;
 * is_broken when they are something else. */
struct ar_str ar_wire_text(struct ar_wire_message *m, struct ar_json v, const char *name); /* UTF-8 */
struct ar_str ar_wire_bytes(struct ar_wire_message *m, struct ar_json v, const char *name);
struct ar_str ar_wire_json(struct ar_wire_message *m, struct ar_json v, const char *name,
			   enum ar_json_type type); /* the text of such a value */
int64_t ar_wire_int(struct ar_wire_message *m, struct ar_json v, const char *name, int64_t min, int64_t max);
bool ar_wire_bool(struct ar_wire_message *m, struct ar_json v, const char *name);

/* The array of that name; absent when it is not there. At most `max` elements, else is_broken. */
struct ar_json ar_wire_array(struct ar_wire_message *m, struct ar_json v, const char *name, size_t max);

/* One element of an array of texts or of bytes. */
struct ar_str ar_wire_piece(struct ar_wire_message *m, struct ar_json pair);

/* Whether it is JSON of that type, and not nested too deep. */
bool ar_wire_is_json(struct ar_json_parser *p, struct ar_str text, enum ar_json_type type);

/* ---- writing ---- */

/* A message that is being made; zeroed is empty. */
struct ar_wire_writer {
	struct ar_buf head, bytes;
	struct ar_jw w;
};

/* ref: absent for none. Then members through w.w, and those below; ar_wire_out_send ends it. */
void ar_wire_begin(struct ar_wire_writer *w, const char *op, struct ar_str ref);
void ar_wire_add(struct ar_wire_writer *w, const char *name, struct ar_str bytes); /* absent: nothing */
void ar_wire_add_piece(struct ar_wire_writer *w, struct ar_str bytes); /* an element of an array */
void ar_wire_writer_fini(struct ar_wire_writer *w);

/* What goes over one link, in order. */
struct ar_wire_out {
	struct ar_link *link; /* NULL: nothing is sent */
	struct ar_list items; /* what the link has no room for now */
	size_t queued; /* bytes of them */
};

void ar_wire_out_init(struct ar_wire_out *o, struct ar_link *link);

/* The writer is empty afterwards. Not AR_OK: the link is too slow or ending, and should be closed. */
AR_MUST_USE enum ar_status ar_wire_out_send(struct ar_wire_out *o, struct ar_wire_writer *w);

/* The same for a short message that may overtake others. */
AR_MUST_USE enum ar_status ar_wire_out_send_now(struct ar_wire_out *o, struct ar_wire_writer *w);

/* As above, and the writer keeps what it has, so that it can be sent again later. */
AR_MUST_USE enum ar_status ar_wire_out_send_copy(struct ar_wire_out *o, const struct ar_wire_writer *w);

AR_MUST_USE enum ar_status ar_wire_out_pump(struct ar_wire_out *o); /* the link has room again */
size_t ar_wire_out_waiting(const struct ar_wire_out *o); /* bytes, of the link too */
void ar_wire_out_fini(struct ar_wire_out *o);

AR_END_DECLS

#endif
