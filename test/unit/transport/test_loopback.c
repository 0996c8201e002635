/* What counts as this machine. */
#include "loopback.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void tells_hosts_apart(void **state AR_UNUSED)
{
	static const char *const ours[] = { "localhost",   "LOCALHOST:7717", "127.0.0.1",
					    "127.1.2.3:1", "[::1]",	     "[::1]:65535" };
	static const char *const others[] = { "",
					      "example.com",
					      "localhost.evil.com",
					      "127.0.0.1.nip.io",
					      "0.0.0.0",
					      "10.0.0.1",
					      "[::]",
					      "[::1",
					      "[::1]x",
					      "::1",
					      "localhost:",
					      "localhost:x",
					      "localhost:70000",
					      "127.1",
					      "localhost:1:2",
					      ":80",
					      "[fe80::1]",
					      "user@localhost" };

	for (size_t i = 0; i < AR_ARRAY_LEN(ours); i++) {
		if (!ar_loopback_host(ar_str_from(ours[i])))
			fail_msg("'%s' is ours", ours[i]);
	}
	for (size_t i = 0; i < AR_ARRAY_LEN(others); i++) {
		if (ar_loopback_host(ar_str_from(others[i])))
			fail_msg("'%s' is not ours", others[i]);
	}
	assert_false(ar_loopback_host(AR_STR("127.0.0.1\0.evil.com")));
}

static void tells_origins_apart(void **state AR_UNUSED)
{
	assert_true(ar_loopback_origin(AR_STR("http://localhost:3000")));
	assert_true(ar_loopback_origin(AR_STR("https://127.0.0.1")));
	assert_false(ar_loopback_origin(AR_STR("null")));
	assert_false(ar_loopback_origin(AR_STR("")));
	assert_false(ar_loopback_origin(AR_STR("http://evil.example")));
	assert_false(ar_loopback_origin(AR_STR("http://localhost.evil.example")));
	assert_false(ar_loopback_origin(AR_STR("file://localhost")));
}

static void makes_addresses(void **state AR_UNUSED)
{
	struct ar_authority a;
	union ar_sockaddr sa;

	assert_true(ar_authority_parse(AR_STR("[::1]:7717"), &a));
	assert_true(ar_loopback_address(&a, &sa));
	assert_int_equal(sa.any.sa_family, AF_INET6);
	assert_int_equal(ntohs(sa.v6.sin6_port), 7717);
	assert_true(ar_authority_parse(AR_STR("localhost:0"), &a));
	assert_true(a.has_port);
	assert_true(ar_loopback_address(&a, &sa));
	assert_int_equal(ntohl(sa.v4.sin_addr.s_addr), INADDR_LOOPBACK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_hosts_apart),
		cmocka_unit_test(tells_origins_apart),
		cmocka_unit_test(makes_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
