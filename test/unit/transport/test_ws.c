/* WebSocket bytes in any portion: messages, fragments, control frames between them, and which close
 * code each fault gets; the opening handshake. */
#include "ws_codec.h"
#include "ws/ws_upgrade.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#define CAP 300

struct client {
	struct ar_ws_codec codec;
	struct ar_ws_spare spare;
	struct ar_buf seen; /* each text with a bar behind it, `pong|` for a pong */
	struct ar_buf out;
	int budget; /* messages that are taken before a pause */
};

static void on_text(struct ar_ws_codec *c, struct ar_str text)
{
	struct client *k = AR_CONTAINER_OF(c, struct client, codec);

	ar_buf_adds(&k->seen, text);
	ar_buf_addc(&k->seen, '|');
	k->budget--;
}

static void on_pong(struct ar_ws_codec *c)
{
	ar_buf_addz(&AR_CONTAINER_OF(c, struct client, codec)->seen, "pong|");
}

static bool takes_more(struct ar_ws_codec *c)
{
	return AR_CONTAINER_OF(c, struct client, codec)->budget > 0;
}

static const struct ar_ws_codec_vtable callbacks = { on_text, on_pong, takes_more };

static void begin(struct client *k)
{
	*k = (struct client){ .budget = 100 };
	k->codec = (struct ar_ws_codec){ .v = &callbacks, .spare = &k->spare, .cap = CAP };
}

static void end(struct client *k)
{
	ar_ws_codec_fini(&k->codec);
	ar_ws_spare_fini(&k->spare);
	ar_buf_fini(&k->seen);
	ar_buf_fini(&k->out);
}

static void add_frame(struct ar_buf *b, unsigned first, struct ar_str payload)
{
	static const char mask[4] = { 0x11, 0x22, 0x33, 0x44 };

	ar_buf_addc(b, (char)first);
	ar_buf_addc(b, (char)(0x80 | (payload.len < 126 ? payload.len : 126)));
	if (payload.len >= 126) {
		ar_buf_addc(b, (char)(payload.len >> 8));
		ar_buf_addc(b, (char)payload.len);
	}
	ar_buf_add(b, mask, sizeof mask);
	for (size_t i = 0; i < payload.len; i++)
		ar_buf_addc(b, (char)(payload.p[i] ^ mask[i % 4]));
}

/* Whether the connection goes on after these bytes, fed in portions. */
static bool feed(struct client *k, struct ar_str bytes, size_t portion)
{
	size_t used;

	while (bytes.len) {
		struct ar_str part = ar_str_sub(bytes, 0, portion);

		if (!ar_ws_feed(&k->codec, part, &k->out, &used))
			return false;
		assert_int_equal(used, part.len);
		bytes = ar_str_sub(bytes, used, bytes.len);
	}
	return true;
}

static void is(const struct ar_buf *got, struct ar_str expected)
{
	assert_int_equal(got->len, expected.len);
	assert_memory_equal(got->p, expected.p, expected.len);
}

static void reads_messages_in_any_portion(void **state AR_UNUSED)
{
	struct ar_buf wire = { 0 };

	add_frame(&wire, 0x81, AR_STR("one"));
	add_frame(&wire, 0x01, AR_STR("tw"));
	add_frame(&wire, 0x89, AR_STR("hi")); /* a ping between two fragments */
	add_frame(&wire, 0x00, AR_STR(""));
	add_frame(&wire, 0x80, AR_STR("o"));
	add_frame(&wire, 0x8a, AR_STR(""));
	add_frame(&wire, 0x81, AR_STR(""));
	add_frame(&wire, 0x81, AR_STR("\xc3\xa4"));
	for (size_t portion = 1; portion <= wire.len; portion++) {
		struct client k;

		begin(&k);
		assert_true(feed(&k, ar_buf_str(&wire), portion));
		is(&k.seen, AR_STR("one|two|pong||\xc3\xa4|"));
		is(&k.out, AR_STR("\x8a\x02hi"));
		assert_false(ar_ws_is_amid(&k.codec));
		end(&k);
	}
	ar_buf_fini(&wire);
}

/* Between two messages a connection holds nothing, and who reads next takes what the last one used. */
static void holds_nothing_between_messages(void **state AR_UNUSED)
{
	struct client a, b;
	struct ar_buf wire = { 0 };
	size_t used;

	begin(&a);
	begin(&b);
	b.codec.spare = &a.spare;
	add_frame(&wire, 0x81, AR_STR("text"));
	for (size_t cut = 1; cut < wire.len; cut++) {
		assert_true(ar_ws_feed(&a.codec, ar_str_sub(ar_buf_str(&wire), 0, cut), &a.out, &used));
		assert_true(ar_ws_is_amid(&a.codec));
		assert_true(feed(&b, ar_buf_str(&wire), wire.len));
		assert_false(ar_ws_is_amid(&b.codec));
		assert_true(feed(&a, ar_str_sub(ar_buf_str(&wire), cut, wire.len), wire.len));
		assert_false(ar_ws_is_amid(&a.codec));
		is(&a.seen, AR_STR("text|"));
		is(&b.seen, AR_STR("text|"));
		ar_buf_clear(&a.seen);
		ar_buf_clear(&b.seen);
	}
	ar_buf_clear(&wire);
	add_frame(&wire, 0x01, AR_STR("first "));
	assert_true(feed(&a, ar_buf_str(&wire), wire.len));
	assert_true(ar_ws_is_amid(&a.codec));
	ar_buf_fini(&wire);
	end(&b);
	end(&a);
}

static unsigned close_code(const struct client *k)
{
	assert_true(k->out.len >= 4 && (unsigned char)k->out.p[0] == 0x88);
	return (unsigned)(unsigned char)k->out.p[2] << 8 | (unsigned char)k->out.p[3];
}

static void each_fault_has_its_close_code(void **state AR_UNUSED)
{
	static const struct {
		struct ar_str wire;
		unsigned code;
	} cases[] = {
		{ AR_STR("\x81\x02hi"), 1002 }, /* not masked */
		{ AR_STR("\xc1\x80\x00\x00\x00\x00"),
		  1002 }, /* a reserved bit: compression was not agreed on */
		{ AR_STR("\x83\x80\x00\x00\x00\x00"), 1002 }, /* an opcode that nobody knows */
		{ AR_STR("\x80\x80\x00\x00\x00\x00"), 1002 }, /* goes on with nothing */
		{ AR_STR("\x01\x80\x00\x00\x00\x00\x81\x80\x00\x00\x00\x00"),
		  1002 }, /* begins within another */
		{ AR_STR("\x09\x80\x00\x00\x00\x00"), 1002 }, /* a ping in fragments */
		{ AR_STR("\x89\xfe\x00\x7e\x00\x00\x00\x00"), 1002 }, /* a ping of 126 bytes */
		{ AR_STR("\x81\xfe\x00\x05\x00\x00\x00\x00"),
		  1002 }, /* a length that is longer than it need be */
		{ AR_STR("\x81\xff\x80\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"),
		  1002 }, /* its top bit */
		{ AR_STR("\x82\x80\x00\x00\x00\x00"), 1003 }, /* binary */
		{ AR_STR("\x81\x81\x00\x00\x00\x00\xff"), 1007 }, /* not UTF-8 */
		{ AR_STR("\x81\x82\x00\x00\x00\x00\xc3\x28"), 1007 },
		{ AR_STR("\x81\x81\x00\x00\x00\x00\xc3"), 1007 }, /* ends within a character */
		{ AR_STR("\x81\xfe\x01\x2d\x00\x00\x00\x00x"), 1009 }, /* 301 bytes: told at the first */
		{ AR_STR("\x81\xff\x00\x00\x00\xff\x00\x00\x00\x00\x00\x00\x00\x00x"), 1009 },
		{ AR_STR("\x88\x81\x00\x00\x00\x00\x03"), 1002 }, /* half a close code */
		{ AR_STR("\x88\x82\x00\x00\x00\x00\x03\xed"), 1002 }, /* 1005 is never sent */
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(cases); i++) {
		for (size_t portion = 1; portion <= cases[i].wire.len; portion++) {
			struct client k;

			begin(&k);
			assert_false(feed(&k, cases[i].wire, portion));
			assert_int_equal(close_code(&k), cases[i].code);

			end(&k);
		}
	}
}

static void fragments_count_together(void **state AR_UNUSED)
{
	struct ar_buf wire = { 0 };
	char half[CAP / 2 + 1];
	struct client k;

	memset(half, 'x', sizeof half);
	add_frame(&wire, 0x01, (struct ar_str){ half, sizeof half });
	add_frame(&wire, 0x80, (struct ar_str){ half, sizeof half });
	begin(&k);
	assert_false(feed(&k, ar_buf_str(&wire), 64));
	assert_int_equal(close_code(&k), 1009);
	is(&k.seen, AR_STR(""));
	end(&k);
	ar_buf_fini(&wire);
}

static void a_close_is_answered_with_its_code(void **state AR_UNUSED)
{
	struct ar_buf wire = { 0 };
	struct client k;

	add_frame(&wire, 0x88, AR_STR("\x0f\xa1why"));
	add_frame(&wire, 0x81, AR_STR("too late"));
	begin(&k);
	assert_false(feed(&k, ar_buf_str(&wire), wire.len));
	assert_int_equal(close_code(&k), 4001);
	is(&k.seen, AR_STR(""));
	end(&k);
	ar_buf_fini(&wire);
}

static void stops_when_no_more_is_wanted(void **state AR_UNUSED)
{
	static char payload[250];
	struct ar_buf wire = { 0 };
	struct client k;
	size_t used;

	memset(payload, 'x', sizeof payload);
	for (int i = 0; i < 100; i++)
		add_frame(&wire, 0x81, (struct ar_str){ payload, sizeof payload });
	begin(&k);
	k.budget = 1;
	assert_true(ar_ws_feed(&k.codec, ar_buf_str(&wire), &k.out, &used));
	assert_true(used < 8192); /* what wslay reads ahead, and no more */
	k.budget = 1000;
	assert_true(feed(&k, ar_str_sub(ar_buf_str(&wire), used, wire.len), wire.len));
	assert_int_equal(k.seen.len, 100 * (sizeof payload + 1));
	end(&k);
	ar_buf_fini(&wire);
}

static void writes_frames(void **state AR_UNUSED)
{
	static char large[70000];
	struct ar_buf out = { 0 };

	ar_ws_write_text(&out, AR_STR("hi"));
	ar_ws_write_ping(&out);
	ar_ws_write_close(&out, 1001, AR_STR("bye"));
	is(&out, AR_STR("\x81\x02hi\x89\x00\x88\x05\x03\xe9"
			"bye"));
	ar_buf_clear(&out);
	ar_ws_write_text(&out, (struct ar_str){ large, 126 });
	assert_memory_equal(out.p, "\x81\x7e\x00\x7e", 4);
	assert_int_equal(out.len, 4 + 126);
	ar_buf_clear(&out);
	ar_ws_write_text(&out, (struct ar_str){ large, sizeof large });
	assert_memory_equal(out.p, "\x81\x7f\x00\x00\x00\x00\x00\x01\x11\x70", 10);
	assert_int_equal(out.len, 10 + sizeof large);
	ar_buf_fini(&out);
}

/* ---- the opening handshake ---- */

static const struct ar_http_head good = {
	.is_upgrade = true,
	.upgrade = AR_STR("WebSocket"),
	.ws_key = AR_STR("dGhlIHNhbXBsZSBub25jZQ=="),
	.ws_version = AR_STR("13"),
	.ws_protocol = AR_STR("chat, agentruntime.v1 ,bearer.art_x.y"),
};

static int verdict(struct ar_http_head r)
{
	struct ar_fault fault;

	return ar_ws_upgrade_check(&r, AR_WS_PROTOCOL, &fault) ? 0 : fault.status;
}

static void checks_the_handshake(void **state AR_UNUSED)
{
	struct ar_http_head r;

	assert_int_equal(verdict(good), 0);
	r = good, r.is_upgrade = false;
	assert_int_equal(verdict(r), 426);
	r = good, r.upgrade = AR_STR("h2c");
	assert_int_equal(verdict(r), 426);
	r = good, r.ws_version = AR_STR("8");
	assert_int_equal(verdict(r), 426);
	r = good, r.ws_version = AR_STR_NONE;
	assert_int_equal(verdict(r), 426);
	r = good, r.ws_key = AR_STR("c2hvcnQ=");
	assert_int_equal(verdict(r), 400);
	r = good, r.ws_key = AR_STR("!!!!IHNhbXBsZSBub25jZQ==");
	assert_int_equal(verdict(r), 400);
	r = good, r.ws_key = AR_STR_NONE;
	assert_int_equal(verdict(r), 400);
	r = good, r.ws_protocol = AR_STR("AgentRuntime.v1");
	assert_int_equal(verdict(r), 400);
	r = good, r.ws_protocol = AR_STR("chat");
	assert_int_equal(verdict(r), 400);
	r = good, r.ws_protocol = AR_STR_NONE;
	assert_int_equal(verdict(r), 400);
}

/* The example of RFC 6455, 1.3. */
static void proves_that_it_read_the_key(void **state AR_UNUSED)
{
	struct ar_buf out = { 0 };

	ar_ws_upgrade_write(&out, good.ws_key, AR_WS_PROTOCOL, AR_STR_NONE);
	ar_buf_addc(&out, '\0');
	assert_non_null(strstr(out.p, "\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
	assert_non_null(strstr(out.p, "\r\nSec-WebSocket-Protocol: agentruntime.v1\r\n\r\n"));
	ar_buf_fini(&out);
}

/* ---- the other end ---- */

/* What the client writes, the server reads, and the other way round. */
static void client_and_server_read_each_other(void **state AR_UNUSED)
{
	static const size_t lengths[] = { 0, 1, 125, 126, 300 };
	static const char bytes[CAP] = { '\xff', '\0', 1, 2, 3 };

	for (size_t portion = 1; portion <= 700; portion += 233) {
		struct client server, client;

		begin(&server);
		begin(&client);
		server.codec.is_binary = client.codec.is_binary = client.codec.is_client = true;
		for (size_t i = 0; i < AR_ARRAY_LEN(lengths); i++) {
			struct ar_buf up = { 0 }, down = { 0 };

			ar_ws_client_binary(&up, (struct ar_str){ bytes, lengths[i] });
			ar_ws_write_binary(&down, (struct ar_str){ bytes, lengths[i] });
			assert_true(feed(&server, ar_buf_str(&up), portion));
			assert_true(feed(&client, ar_buf_str(&down), portion));
			assert_int_equal(server.seen.len, lengths[i] + 1);
			assert_int_equal(client.seen.len, lengths[i] + 1);
			assert_memory_equal(server.seen.p, bytes, lengths[i]);
			assert_memory_equal(client.seen.p, bytes, lengths[i]);
			assert_false(ar_ws_is_amid(&server.codec) || ar_ws_is_amid(&client.codec));
			ar_buf_clear(&server.seen);
			ar_buf_clear(&client.seen);
			ar_buf_fini(&up);
			ar_buf_fini(&down);
		}
		end(&server);
		end(&client);
	}
}

/* A ping is answered with a frame that the other end takes. */
static void client_answers_pings_masked(void **state AR_UNUSED)
{
	struct client server, client;
	struct ar_buf down = { 0 };

	begin(&server);
	begin(&client);
	server.codec.is_binary = client.codec.is_binary = client.codec.is_client = true;
	ar_ws_write_ping(&down);
	assert_true(feed(&client, ar_buf_str(&down), 100));
	assert_true(client.out.len > 0 && client.out.p[1] & (char)0x80);
	assert_true(feed(&server, ar_buf_str(&client.out), 100));
	assert_true(ar_str_is(ar_buf_str(&server.seen), "pong|"));
	ar_buf_fini(&down);
	end(&server);
	end(&client);
}

/* A masked frame of a server, text instead of bytes, a message over the cap: each has its close code. */
static void client_refuses_a_broken_server(void **state AR_UNUSED)
{
	static const struct {
		const char *bytes;
		size_t len;
		unsigned code;
	} rows[] = { { "\x82\x81\1\2\3\4x", 7, AR_WS_PROTOCOL_ERROR },
		     { "\x81\x01x", 3, AR_WS_WRONG_KIND },
		     { "\x82\x7e\x01\x2dx", 5, AR_WS_TOO_LARGE } };

	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		struct client server, client;

		begin(&server);
		begin(&client);
		client.codec.is_binary = client.codec.is_client = true;
		assert_false(feed(&client, (struct ar_str){ rows[i].bytes, rows[i].len }, 100));
		/* two bytes of head, four of mask, then the code, masked */
		assert_true(client.out.len >= 8 && client.out.p[0] == '\x88');
		assert_int_equal((unsigned char)(client.out.p[6] ^ client.out.p[2]) << 8 |
					 (unsigned char)(client.out.p[7] ^ client.out.p[3]),
				 rows[i].code);
		assert_int_equal(client.seen.len, 0);
		end(&server);
		end(&client);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_messages_in_any_portion),
		cmocka_unit_test(holds_nothing_between_messages),
		cmocka_unit_test(each_fault_has_its_close_code),
		cmocka_unit_test(fragments_count_together),
		cmocka_unit_test(a_close_is_answered_with_its_code),
		cmocka_unit_test(stops_when_no_more_is_wanted),
		cmocka_unit_test(writes_frames),
		cmocka_unit_test(checks_the_handshake),
		cmocka_unit_test(proves_that_it_read_the_key),
		cmocka_unit_test(client_and_server_read_each_other),
		cmocka_unit_test(client_answers_pings_masked),
		cmocka_unit_test(client_refuses_a_broken_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
