/* Lets a libuv loop drive a libcurl multi handle: sockets become uv_poll handles, libcurl's one timeout a
 * uv_timer, or a uv_idle when it is zero. Which transfers run, and what their end means, is left to the
 * owner. Belongs to the loop thread. */
#ifndef AR_CURL_LOOP_H
#define AR_CURL_LOOP_H

#include "compiler.h"

#include <curl/curl.h>
#include <uv.h>

struct ar_curl_loop {
	CURLM *multi;
	uv_loop_t *loop;
	uv_timer_t timer;
	uv_idle_t soon; /* libcurl wants to go on in the next round */
	/* libcurl has worked: ends may wait in curl_multi_info_read. Not inside a libcurl callback. */
	void (*on_progress)(struct ar_curl_loop *l);
	void (*on_closed)(struct ar_curl_loop *l);
};

AR_BEGIN_DECLS

void ar_curl_loop_init(struct ar_curl_loop *l, uv_loop_t *loop, void (*on_progress)(struct ar_curl_loop *l));

/* All easy handles must have been removed. Calls on_closed from the loop once the memory may go. */
void ar_curl_loop_close(struct ar_curl_loop *l, void (*on_closed)(struct ar_curl_loop *l));

AR_END_DECLS

#endif
