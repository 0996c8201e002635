/* What may leave a sandbox: hosts in one form, rules, addresses, and heads that mean one thing only. */
#include "address.h"
#include "cmocka_unit.h"
#include "request.h"

#include <arpa/inet.h>
#include <string.h>

static void test_hosts_have_one_form(void **state)
{
	static const struct {
		const char *text, *canonical; /* NULL: refused */
	} rows[] = {
		{ "example.com", "example.com" },
		{ "EXAMPLE.Com.", "example.com" },
		{ "xn--bcher-kva.example", "xn--bcher-kva.example" },
		{ "127.0.0.1", "127.0.0.1" },
		{ "[::1]", "::1" },
		{ "[0:0:0:0:0:0:0:1]", "::1" },
		{ "", NULL },
		{ ".", NULL },
		{ "a..b", NULL },
		{ "example.com..", NULL },
		{ "-a.example", NULL },
		{ "b\xc3\xbc"
		  "cher.example",
		  NULL },
		{ "evil.example\0.example.com", "evil.example" },
		{ "a b.example", NULL },
		{ "user@example.com", NULL },
		{ "127.1", NULL },
		{ "0177.0.0.1", NULL },
		{ "0x7f.0.0.1", NULL },
		{ "0x7f000001", NULL },
		{ "2130706433", NULL },
		{ "example.com/x", NULL },
	};
	char out[AR_EGRESS_HOST_MAX];

	(void)state;
	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		bool is_good = ar_egress_host(ar_str_from(rows[i].text), out);

		if (is_good != (rows[i].canonical != NULL))
			fail_msg("'%s' was %s", rows[i].text, is_good ? "taken" : "refused");
		if (is_good)
			assert_string_equal(out, rows[i].canonical);
	}
	assert_false(ar_egress_host((struct ar_str){ "a\0b.example", 11 }, out));
}

static void test_rules(void **state)
{
	static const char *const texts[] = { "example.com", "*.npm.example:443", "api.example:8443,9000",
					     "10.1.2.3:80!", "mirror.example:80@127.0.0.1" };
	static const struct {
		const char *host;
		uint16_t port;
		int rule; /* -1: none */
	} rows[] = {
		{ "example.com", 443, 0 },	{ "example.com", 80, 0 },    { "example.com", 22, -1 },
		{ "sub.example.com", 443, -1 }, { "a.npm.example", 443, 1 }, { "a.b.npm.example", 443, 1 },
		{ "npm.example", 443, -1 },	{ "xnpm.example", 443, -1 }, { "a.npm.example", 80, -1 },
		{ "api.example", 9000, 2 },	{ "api.example", 443, -1 },  { "10.1.2.3", 80, 3 },
		{ "10.1.2.4", 80, -1 },		{ "mirror.example", 80, 4 }, { "127.0.0.1", 80, -1 },
	};
	static const char *const bad[] = { "",
					   "*",
					   "*.*.example",
					   "a.example:0",
					   "a.example:65536",
					   "a.example:x",
					   "a.example@host",
					   "http://a.example",
					   "a.example:1,2,3,4,5,6,7,8,9" };
	struct ar_egress_rule rules[AR_ARRAY_LEN(texts)], one;

	(void)state;
	for (size_t i = 0; i < AR_ARRAY_LEN(texts); i++)
		assert_true(ar_egress_rule_read(ar_str_from(texts[i]), &rules[i]));
	assert_true(rules[3].is_private);
	assert_string_equal(rules[4].address, "127.0.0.1");
	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		const struct ar_egress_rule *got =
			ar_egress_find(rules, AR_ARRAY_LEN(rules), rows[i].host, rows[i].port);

		if (got != (rows[i].rule < 0 ? NULL : &rules[rows[i].rule]))
			fail_msg("%s:%d", rows[i].host, rows[i].port);
	}
	for (size_t i = 0; i < AR_ARRAY_LEN(bad); i++) {
		if (ar_egress_rule_read(ar_str_from(bad[i]), &one))
			fail_msg("'%s' was taken", bad[i]);
	}
}

static const char *fault_of(const char *text, bool is_private)
{
	struct sockaddr_in six_or_four = { .sin_family = AF_INET };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };

	if (inet_pton(AF_INET, text, &six_or_four.sin_addr) == 1)
		return ar_egress_address_fault((const struct sockaddr *)&six_or_four, is_private);
	assert_int_equal(inet_pton(AF_INET6, text, &six.sin6_addr), 1);
	return ar_egress_address_fault((const struct sockaddr *)&six, is_private);
}

static void test_addresses(void **state)
{
	static const char *const never[] = { "127.0.0.1",
					     "127.9.9.9",
					     "0.0.0.0",
					     "169.254.169.254",
					     "100.100.100.200",
					     "168.63.129.16",
					     "224.0.0.1",
					     "255.255.255.255",
					     "::",
					     "::1",
					     "::ffff:127.0.0.1",
					     "::ffff:169.254.169.254",
					     "64:ff9b::7f00:1",
					     "fe80::1",
					     "ff02::1",
					     "2002:7f00:1::",
					     "fd00:ec2::254",
					     "::127.0.0.1",
					     "64:ff9b:1::1",
					     "2001::1" };
	static const char *const private[] = { "10.0.0.1",   "172.16.0.1", "192.168.1.1",
					       "100.64.0.1", "fc00::1",	   "::ffff:10.0.0.1" };
	static const char *const fine[] = { "1.1.1.1", "172.32.0.1", "8.8.8.8", "2606:4700::1111",
					    "::ffff:1.1.1.1" };

	(void)state;
	for (size_t i = 0; i < AR_ARRAY_LEN(never); i++) {
		if (!fault_of(never[i], false) || !fault_of(never[i], true))
			fail_msg("%s may be dialled", never[i]);
	}
	for (size_t i = 0; i < AR_ARRAY_LEN(private); i++) {
		if (!fault_of(private[i], false) || fault_of(private[i], true))
			fail_msg("%s", private[i]);
	}
	for (size_t i = 0; i < AR_ARRAY_LEN(fine); i++) {
		if (fault_of(fine[i], false))
			fail_msg("%s is %s", fine[i], fault_of(fine[i], false));
	}
}

static void test_heads(void **state)
{
	static const struct {
		const char *text;
		const char *host; /* NULL: refused */
		uint16_t port;
	} rows[] = {
		{ "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n", "example.com", 443 },
		{ "CONNECT [::1]:443 HTTP/1.1\r\n\r\n", "::1", 443 },
		{ "GET http://Example.com./a?b HTTP/1.1\r\nHost: example.com\r\n\r\n", "example.com", 80 },
		{ "GET http://example.com:8080 HTTP/1.0\r\nHost: example.com:8080\r\n\r\n", "example.com",
		  8080 },
		{ "CONNECT example.com HTTP/1.1\r\n\r\n", NULL, 0 },
		{ "CONNECT user@example.com:443 HTTP/1.1\r\n\r\n", NULL, 0 },
		{ "CONNECT example.com:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n", NULL, 0 },
		{ "GET http://example.com/ HTTP/1.1\r\nHost: evil.example\r\n\r\n", NULL, 0 },
		{ "GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\nHost: evil.example\r\n\r\n", NULL,
		  0 },
		{ "GET http://example.com@evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n", NULL, 0 },
		{ "GET http://example.com/ HTTP/1.1\r\n\r\n", NULL, 0 },
		{ "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n", NULL, 0 },
		{ "GET https://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n", NULL, 0 },
		{ "GET ftp://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n", NULL, 0 },
		{ "GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\nTransfer-Encoding: "
		  "chunked\r\n\r\n",
		  NULL, 0 },
		{ "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: "
		  "3\r\nContent-Length: 4\r\n\r\n",
		  NULL, 0 },
		{ "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: +3\r\n\r\n", NULL,
		  0 },
		{ "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n folded: x\r\n\r\n", NULL, 0 },
		{ "GET http://a.example/ HTTP/1.1\r\nHost : a.example\r\n\r\n", NULL, 0 },
		{ "GET http://a.example/ HTTP/1.1\nHost: a.example\r\n\r\n", NULL, 0 },
		{ "GET  http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", NULL, 0 },
		{ "GET http://a.example/ HTTP/2.0\r\nHost: a.example\r\n\r\n", NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		struct ar_egress_request r;
		enum ar_egress_read got = ar_egress_request_read(ar_str_from(rows[i].text), &r);

		if (got != (rows[i].host ? AR_EGRESS_WHOLE : AR_EGRESS_REFUSED))
			fail_msg("row %zu: %s", i, rows[i].text);
		if (rows[i].host) {
			assert_string_equal(r.host, rows[i].host);
			assert_int_equal(r.port, rows[i].port);
			assert_int_equal(r.size, strlen(rows[i].text));
		}
		ar_egress_request_fini(&r);
	}
}

static void test_the_origin_reads_one_request(void **state)
{
	struct ar_egress_request r;
	struct ar_str text = AR_STR("POST http://a.example?q HTTP/1.1\r\nHost: "
				    "a.example\r\nProxy-Authorization: x\r\nConnection: keep-alive\r\n"
				    "Content-Length: 3\r\nX-Y:  z \r\n\r\nabcGET /");

	(void)state;
	assert_int_equal(ar_egress_request_read(text, &r), AR_EGRESS_WHOLE);
	assert_int_equal(r.body, 3);
	assert_true(ar_str_is(ar_buf_str(&r.head), "POST /?q HTTP/1.1\r\nHost: a.example\r\nContent-Length: "
						   "3\r\nX-Y: z\r\nConnection: close\r\n\r\n"));
	ar_egress_request_fini(&r);
	for (size_t len = 0; len + 8 < text.len; len++) {
		enum ar_egress_read got = ar_egress_request_read(ar_str_sub(text, 0, len), &r);

		assert_true(got == AR_EGRESS_MORE || len + 11 >= text.len);
		ar_egress_request_fini(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hosts_have_one_form),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_heads),
		cmocka_unit_test(test_the_origin_reads_one_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
