/* The answer to a request for a WebSocket: taken only from a server that has read this very request; in any
 * portion; never longer than its cap. */
#include "upgrade_answer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#define ACCEPT "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
#define PROTOCOL "agentruntime.worker.1"
#define GOOD \
	"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" \
	"Sec-WebSocket-Accept: " ACCEPT "\r\nSec-WebSocket-Protocol: " PROTOCOL "\r\n"

static struct ar_upgrade_answer answer;

static enum ar_upgrade_outcome reading(struct ar_str bytes)
{
	return ar_upgrade_answer_read(bytes, AR_STR(ACCEPT), AR_STR(PROTOCOL), &answer);
}

static void reads_an_agreement_in_any_portion(void **state AR_UNUSED)
{
	struct ar_str all = AR_STR(GOOD "\r\n\x82\x01x");
	size_t head = sizeof(GOOD "\r\n") - 1;

	for (size_t len = 0; len < head; len++)
		assert_int_equal(reading(ar_str_sub(all, 0, len)), AR_UPGRADE_MORE);
	for (size_t len = head; len <= all.len; len++) {
		assert_int_equal(reading(ar_str_sub(all, 0, len)), AR_UPGRADE_DONE);
		assert_int_equal(answer.head_bytes, head);
	}
	assert_int_equal(reading(AR_STR(
				 "HTTP/1.1 101 \r\nupgrade: WebSocket\r\nCONNECTION:upgrade\r\nX: y\r\n"
				 "sec-websocket-accept:\t" ACCEPT " \r\n"
				 "Sec-WebSocket-Protocol: " PROTOCOL "\r\n\r\n")),
			 AR_UPGRADE_DONE);
}

static void tells_the_status_of_a_refusal(void **state AR_UNUSED)
{
	assert_int_equal(reading(AR_STR("HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\n{}")),
			 AR_UPGRADE_REFUSED);
	assert_int_equal(answer.status, 401);
	assert_int_equal(reading(AR_STR("HTTP/1.1 200 OK\r\n\r\n")), AR_UPGRADE_REFUSED);
	assert_int_equal(answer.status, 200);
}

static void refuses_what_is_no_agreement(void **state AR_UNUSED)
{
	static const char *const all[] = {
		/* another request's, another protocol's, none, an extension that nobody asked for */
		"HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
		"Sec-WebSocket-Accept: AAAALMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: " PROTOCOL
		"\r\n\r\n",
		"HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
		"Sec-WebSocket-Accept: " ACCEPT "\r\nSec-WebSocket-Protocol: agentruntime.v1\r\n\r\n",
		"HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
		"Sec-WebSocket-Accept: " ACCEPT "\r\n\r\n",
		"HTTP/1.1 101 x\r\n\r\n",
		GOOD "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n",
		/* said twice, folded, no colon, a blank before it, another line end, a NUL is not text */
		GOOD "Sec-WebSocket-Accept: " ACCEPT "\r\n\r\n",
		GOOD "X: y\r\n z\r\n\r\n",
		GOOD "nonsense\r\n\r\n",
		GOOD "X : y\r\n\r\n",
		GOOD "X: y\n\r\n\r\n",
		/* other first lines */
		"HTTP/1.0 101 x\r\n\r\n",
		"HTTP/2 101 x\r\n\r\n",
		"HTTP/1.1 1010 x\r\n\r\n",
		"HTTP/1.1 099 x\r\n\r\n",
		"HTTP/1.1 x\r\n\r\n",
		"\r\n\r\n",
		"SSH-2.0-OpenSSH\r\n\r\n",
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(all); i++)
		assert_int_equal(reading(ar_str_from(all[i])), AR_UPGRADE_BAD);
}

static void has_a_cap(void **state AR_UNUSED)
{
	static char bytes[AR_UPGRADE_HEAD_MAX + 8];

	memset(bytes, 'x', sizeof bytes);
	assert_int_equal(reading((struct ar_str){ bytes, AR_UPGRADE_HEAD_MAX }), AR_UPGRADE_MORE);
	assert_int_equal(reading((struct ar_str){ bytes, AR_UPGRADE_HEAD_MAX + 1 }), AR_UPGRADE_BAD);
	memcpy(bytes + AR_UPGRADE_HEAD_MAX + 4, "\r\n\r\n", 4);
	memcpy(bytes, "HTTP/1.1 200 ", 13);
	assert_int_equal(reading((struct ar_str){ bytes, sizeof bytes }), AR_UPGRADE_BAD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_an_agreement_in_any_portion),
		cmocka_unit_test(tells_the_status_of_a_refusal),
		cmocka_unit_test(refuses_what_is_no_agreement),
		cmocka_unit_test(has_a_cap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
