/* A2A 0.3 beside 1.0: requests and answers of JSON-RPC are translated, so that the rest knows 1.0 alone.
 * What 1.0 does not have is dropped; what is not as 0.3 says comes out without its members, and is refused
 * where 1.0 is read. An answer is at most a few times as long as what it was made of. Pure, any thread. */
#ifndef AR_A2A_V03_H
#define AR_A2A_V03_H

#include "json.h"

/* Which version a request speaks, by its header or query: absent or empty is 0.3. */
enum ar_a2a_version {
	AR_A2A_UNKNOWN = 0, /* VersionNotSupported */
	AR_A2A_0_3,
	AR_A2A_1_0,
};
enum ar_a2a_version ar_a2a_version_of(struct ar_str text);

/* The method of 1.0 for one of 0.3, and back; absent: there is none. */
struct ar_str ar_a2a_v03_method(struct ar_str old);
struct ar_str ar_a2a_v03_method_back(struct ar_str method);

/* For a server. `method` is that of 1.0. Params of 0.3 become those of 1.0; what 1.0 answers (a result, or
 * one event of a stream) becomes that of 0.3. */
void ar_a2a_v03_params(struct ar_str method, struct ar_json params, struct ar_buf *out);
void ar_a2a_v03_result(struct ar_str method, struct ar_json result, struct ar_buf *out);

/* For a client, the other way. */
void ar_a2a_v03_params_back(struct ar_str method, struct ar_json params, struct ar_buf *out);
void ar_a2a_v03_result_back(struct ar_str method, struct ar_json result, struct ar_buf *out);

#endif
