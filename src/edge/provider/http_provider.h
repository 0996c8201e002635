/* The provider port over HTTP, in any wire format of wire.h. Loop thread only. */
#ifndef AR_PROVIDER_HTTP_PROVIDER_H
#define AR_PROVIDER_HTTP_PROVIDER_H

#include "provider.h"
#include "wire.h"

#include <uv.h>

/* Zero and NULL mean the default. Strings are copied. */
struct ar_http_provider_options {
	const struct ar_wire *wire; /* required */
	/* below it lies the path of the format; a last part that both have is taken once */
	const char *base_url;
	const char *api_key; /* NULL or empty: no header for it; surrounding white space is dropped */
	/* Instead: where the key stands, not copied; each call sends what stands there then */
	const char *const *api_key_at;
	const char *version; /* of the API, where the format has several */
	const char *ca_file; /* certificates to trust instead of the system's */
	uint32_t connect_timeout_ms; /* 10 s; waiting for a free connection included */
	uint32_t first_byte_timeout_ms; /* 5 min: some models think before the first byte */
	uint32_t idle_timeout_ms; /* 2 min between bytes */
	uint32_t total_timeout_ms; /* 30 min */
	uint32_t kept_connections; /* four for each call under way */
	uint32_t max_output_bytes; /* 8 MiB of text, reasoning and tool arguments together */
};

AR_BEGIN_DECLS

/* Never fails: what is wrong with the URL or the key shows as the outcome of each call. After close() the
 * loop must run once more for the memory to go; close() must not be called from inside on_tool or on_output.
 * cancel() is followed by on_done in the next turn of the loop, with no output between. Strings of a result
 * are valid during on_done. */
struct ar_provider *ar_http_provider_new(uv_loop_t *loop, const struct ar_http_provider_options *o);

AR_END_DECLS

#endif
