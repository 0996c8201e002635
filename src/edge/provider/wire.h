/* What one wire format is: how a request is written, where it goes, and what each event of the answer means.
 * The table of all of them is wire.c; everything that they have alike is elsewhere in this folder. Const and
 * pure. */
#ifndef AR_PROVIDER_WIRE_H
#define AR_PROVIDER_WIRE_H

#include "answer.h"

struct ar_wire_event {
	const char *name; /* of the event: member "type", else the event's name; NULL takes every event */
	void (*read)(struct ar_answer *a, struct ar_json doc);
};

struct ar_wire {
	const char *name; /* as the settings call it */
	const char *base_url; /* where the vendor serves it */
	const char *model; /* when none is named and the vendor serves it */
	const char *key_header; /* up to the key */
	const char *version_header; /* up to the version; NULL: the format has none */
	const char *version; /* when none is given */
	const char *request_id_header;
	const char *end_mark; /* event that ends the stream; NULL: some other event does */
	const struct ar_wire_event *events; /* an unnamed or all-zero row ends the table */

	/* Appends the path below the base URL. */
	void (*path)(const struct ar_model_request *r, struct ar_buf *out);

	/* Appends the body. AR_E_INVALID when options, schemas or parts are not the JSON they have to be. */
	enum ar_status (*write)(const struct ar_model_request *r, struct ar_str version,
				struct ar_json_parser *json, struct ar_buf *out, struct ar_error *err);

	/* The answer of a server that ignored "stream". False when it is something else. */
	bool (*read_whole)(struct ar_answer *a, struct ar_json doc);
};

AR_BEGIN_DECLS

/* NULL when there is none of that name. */
const struct ar_wire *ar_wire_find(struct ar_str name);

AR_END_DECLS

#endif
