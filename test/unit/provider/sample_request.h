/* One conversation with everything in it, for the request tests of every format: two system messages, text,
 * an image by bytes and one by address, two tool calls with their results, and what the provider wanted
 * back. */
#ifndef AR_TEST_SAMPLE_REQUEST_H
#define AR_TEST_SAMPLE_REQUEST_H

#include "provider.h"

/* `echo` goes with the assistant message. Valid until the next call. */
const struct ar_model_request *sample_request(struct ar_str echo, struct ar_str options);

/* No format can write broken options, parts and schemas; this one says so. */
void assert_sample_refused(const char *format);

#endif
