/* A list of attributes that grows while a span or a record is made; in an arena. */
#ifndef AR_CORE_TELEMETRY_ATTRIBUTES_H
#define AR_CORE_TELEMETRY_ATTRIBUTES_H

#include "telemetry.h"
#include "telemetry_names.h"

#define AR_ATTRIBUTES_MAX 64

struct ar_attribute_list {
	struct ar_attr *at; /* room for AR_ATTRIBUTES_MAX */
	size_t count;
};

/* Absent texts and numbers that are not set are left out. */
void ar_attribute_text(struct ar_attribute_list *l, enum ar_attribute name, struct ar_str text);
void ar_attribute_int(struct ar_attribute_list *l, enum ar_attribute name, struct ar_opt_int value);
void ar_attribute_word(struct ar_attribute_list *l, enum ar_attribute name, const struct ar_enum_desc *d,
		       int value);

/* The ids that every span and record has, and those of the fact. */
struct ar_attribute_list ar_attributes_of(const struct ar_session *s, const struct ar_event *e,
					  struct ar_arena *a);

/* Whether it waits in the queue of its thread, or did. */
bool ar_telemetry_has_waited(const struct ar_turn *t);

/* Its trace and span; false: it is in none. */
bool ar_telemetry_ids(const struct ar_event *e, struct ar_trace_context *ret);

#endif
