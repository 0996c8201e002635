/* Which facts end a span, and what of them its attributes are. */
#ifndef AR_EXPORT_OTLP_ROW_H
#define AR_EXPORT_OTLP_ROW_H

#include "export_priv.h"
#include "telemetry_names.h"

#define AR_OTLP_MEMBERS 6

enum ar_otlp_form { AR_OTLP_TEXT, AR_OTLP_NUMBER, AR_OTLP_LIST, AR_OTLP_SECONDS };

/* A fact that ends a span. */
struct ar_otlp_row {
	const char *type;
	enum ar_span_type span;
	const char *id; /* member with the id of what ended; NULL: the fact itself */
	const char *ms; /* member with how long it lasted; NULL: it does not say */
	const char *subject; /* member that stands behind the name */
	const char *outcome; /* that this type of fact means */
	const char *category; /* member with the reason of a failure, in `error` if it is "category" */
	const char *verdict; /* member that says whether it failed; NULL: with a category it did */
	struct {
		const char *name;
		enum ar_attribute attribute;
		enum ar_otlp_form form;
	} members[AR_OTLP_MEMBERS];
};

/* NULL: the fact ends no span. */
const struct ar_otlp_row *ar_otlp_row_of(const struct ar_export_fact *f);

#endif
