/* The pieces of a neutral request that every wire format has to write: parts of a message, schemas,
 * arguments, options. Each is read here once; how it looks on the wire is the format's. Everything a caller
 * gave goes through parser and writer, nothing is pasted. Pure. */
#ifndef AR_PROVIDER_WIRE_PARTS_H
#define AR_PROVIDER_WIRE_PARTS_H

#include "json.h"
#include "provider.h"

/* One part of a message. An image has either a URL, or data (base64) with its media type. */
struct ar_part {
	bool is_image;
	struct ar_str text; /* no image: the text, or the part as JSON where no format has a word for it */
	struct ar_str url, media_type, bytes, detail;
};

typedef void (*ar_part_writer)(struct ar_jw *w, const struct ar_part *part);

/* An option of ours and its name on the wire; `types` are the JSON types (AR_OPTION bits) that are passed
 * on. */
#define AR_OPTION(type) (1u << (type))
#define AR_OPTION_NUMBER (AR_OPTION(AR_JSON_INT) | AR_OPTION(AR_JSON_NUM))
struct ar_option {
	const char *ours, *theirs;
	unsigned types;
	bool in_array; /* a single value is sent as an array of one */
};

AR_BEGIN_DECLS

/* Calls `write` for every part of the message in order; a plain text is one part, an empty one none. */
AR_MUST_USE enum ar_status ar_parts_write(struct ar_jw *w, const struct ar_message *m,
					  struct ar_json_parser *json, ar_part_writer write,
					  struct ar_error *err);

/* The same for its images alone, and its text alone, appended to `out`: for formats in which a tool's answer
 * is a text. A message whose parts do not parse has neither. */
size_t ar_parts_images(struct ar_jw *w, const struct ar_message *m, struct ar_json_parser *json,
		       ar_part_writer write); /* how many; NULL: only counts */
void ar_parts_text(const struct ar_message *m, struct ar_json_parser *json, struct ar_buf *out);

/* True when the message is a single text. It is valid until the parser's next use. */
bool ar_parts_plain(const struct ar_message *m, struct ar_json_parser *json, struct ar_str *ret);

/* The URL of an image; a data: URL where it came as bytes. Appended to `out`. */
void ar_part_url(const struct ar_part *part, struct ar_buf *out);

/* Relays a parsed value. */
void ar_write_json(struct ar_jw *w, struct ar_json v);

/* A schema that has to be a JSON object; absent: that of no arguments. */
AR_MUST_USE enum ar_status ar_write_schema(struct ar_jw *w, struct ar_str schema, struct ar_json_parser *json,
					   struct ar_error *err);

/* Arguments of an earlier tool call as an object; what the model wrote wrongly goes as
 * {"arguments":"..."}. */
void ar_write_args(struct ar_jw *w, struct ar_str args, struct ar_json_parser *json);

/* The options of the turn, an object; absent stays absent. Valid until the parser's next use. */
AR_MUST_USE enum ar_status ar_options_read(struct ar_str text, struct ar_json_parser *json,
					   struct ar_json *ret, struct ar_error *err);

/* Writes the members that the table (ended by zeros) names and whose type fits. */
void ar_options_write(struct ar_jw *w, struct ar_json options, const struct ar_option *table);

/* What a provider wanted back with this message: an array made by ar_out_echo; absent when there is none. */
struct ar_json ar_echo_read(const struct ar_message *m, struct ar_json_parser *json);

AR_END_DECLS

#endif
