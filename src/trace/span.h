/* What a span and a log record are before they are encoded; the data model of OpenTelemetry. Everything is
 * borrowed. */
#ifndef AR_TRACE_SPAN_H
#define AR_TRACE_SPAN_H

#include "context.h"

enum ar_attr_kind {
	AR_ATTR_IS_TEXT = 1,
	AR_ATTR_IS_TEXTS, /* a list with this one text */
	AR_ATTR_IS_INT,
	AR_ATTR_IS_NUM,
};

struct ar_attr {
	const char *name;
	enum ar_attr_kind kind;
	struct ar_str text;
	int64_t number;
	double num;
};

struct ar_attrs {
	const struct ar_attr *at;
	size_t count;
};

/* The values of the protocol. */
enum ar_span_kind {
	AR_SPAN_KIND_INTERNAL = 1,
	AR_SPAN_KIND_CLIENT = 3,
};

enum ar_severity {
	AR_SEVERITY_INFO = 9,
	AR_SEVERITY_WARN = 13,
	AR_SEVERITY_ERROR = 17,
};

struct ar_span {
	struct ar_trace_context of; /* its own ids */
	uint8_t parent[AR_SPAN_BYTES];
	bool has_parent;
	bool is_failed;
	struct ar_str name;
	enum ar_span_kind kind;
	ar_usec start, end; /* wall time */
	struct ar_attrs attrs;
	const struct ar_trace_context *link; /* a span of another trace that led to it; NULL: none */
};

struct ar_record {
	struct ar_trace_context of; /* zeroed: it belongs to no trace that is known */
	bool has_trace;
	ar_usec time;
	enum ar_severity severity;
	const char *event; /* name of its kind */
	struct ar_str body;
	struct ar_attrs attrs;
};

#endif
