/* What the spans of an export need of facts before the one that ends them. */
#ifndef AR_EXPORT_OTLP_OPEN_H
#define AR_EXPORT_OTLP_OPEN_H

#include "clock.h"
#include "export_priv.h"
#include "map.h"
#include "telemetry_names.h"

/* What has begun and not ended. */
struct ar_otlp_open {
	char *key;
	ar_usec submitted, started; /* 0: not yet */
	int64_t attempt;
	/* Of a turn. */
	int64_t requests, input, output, cached, unpriced, fallbacks;
	int64_t cost; /* billionths */
	bool is_routed;
	char *provider, *model, *mode, *source; /* of its route */
	char *parent; /* traceparent of the request */
};

struct ar_otlp_known {
	struct ar_map open; /* by kind and id */
	struct ar_map children; /* ids of child agents, by their threads */
	struct ar_buf key;
	char *tenant;
};

/* Takes from the fact what later spans need. */
void ar_otlp_learn(struct ar_export *x, struct ar_otlp_known *k, const struct ar_export_fact *f);

/* NULL: nothing is known of it. */
struct ar_otlp_open *ar_otlp_find(struct ar_otlp_known *k, enum ar_span_type type, struct ar_str id);
void ar_otlp_forget(struct ar_otlp_known *k, enum ar_span_type type, struct ar_str id);

/* The child agent whose thread that is; absent: none. */
struct ar_str ar_otlp_child(const struct ar_otlp_known *k, struct ar_str thread);

void ar_otlp_known_fini(struct ar_otlp_known *k);

#endif
