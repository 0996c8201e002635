/* Objects in a bucket of an S3-compatible storage (port/objects.h), over HTTP with signature version 4,
 * path-style: <url>/<name>. */
#ifndef AR_EDGE_BLOB_S3_H
#define AR_EDGE_BLOB_S3_H

#include "objects.h"

/* Text is copied. */
struct ar_blob_s3_options {
	const char *url; /* of the bucket: http://host:9000/bucket */
	const char *region;
	const char *access_key, *secret_key;
	const char *prefix; /* before every name; NULL for none */
	uint32_t connect_ms, total_ms; /* 0: 5 s to connect, 60 s in all */
};

AR_BEGIN_DECLS

/* AR_E_INVALID: not an address of a bucket. The storage is not asked. */
AR_MUST_USE enum ar_status ar_blob_s3_open(const struct ar_blob_s3_options *o, struct ar_objects **ret,
					   struct ar_error *err);

AR_END_DECLS

#endif
