/* What an address is taken for: always what libcurl connects to, and never what it looks like. */
#include "cmocka_unit.h"
#include "url.h"

static void hosts_of_this_machine(void **state AR_UNUSED)
{
	static const char *const here[] = {
		"http://127.0.0.1",	  "http://127.0.0.1:7717/v1",	  "http://127.255.1.2/",
		"http://LOCALHOST:80/x",  "https://[::1]:7717",		  "http://127.1/",
		"http://0x7f000001/",	  "http://2130706433/",		  "http://[::ffff:127.0.0.1]/",
		"http://user@127.0.0.1/", "http://example.com@localhost/"
	};
	static const char *const elsewhere[] = { "http://127.0.0.1.example.com/",
						 "http://localhost.example.com/",
						 "http://127.0.0.1:x@example.com/",
						 "http://127.0.0.1@10.0.0.1/",
						 "http://localhost:80@[2001:db8::1]/",
						 "http://10.0.0.1/#@127.0.0.1",
						 "http://example.com/127.0.0.1",
						 "http://128.0.0.1/",
						 "http://[::2]/",
						 "http://0.0.0.0/" };
	struct ar_url u;

	for (size_t i = 0; i < AR_ARRAY_LEN(here); i++) {
		assert_true(ar_url_parse(here[i], &u));
		assert_true(u.is_loopback);
		assert_string_equal(ar_url_proxy(here[i]), "");
	}
	for (size_t i = 0; i < AR_ARRAY_LEN(elsewhere); i++) {
		assert_false(ar_url_parse(elsewhere[i], &u) && u.is_loopback);
		assert_null(ar_url_proxy(elsewhere[i]));
		assert_false(ar_url_is_safe(elsewhere[i]));
	}
}

static void what_is_safe(void **state AR_UNUSED)
{
	static const struct {
		const char *url;
		bool want;
	} rows[] = {
		{ "https://example.com/keys", true },
		{ "HTTPS://example.com", true },
		{ "http://127.0.0.1:8080/", true },
		{ "http://example.com", false },
		{ "https://user@example.com", false },
		{ "https://user:word@example.com", false },
		{ "http://:word@127.0.0.1/", false },
		{ "ftp://127.0.0.1/", false },
		{ "file:///etc/passwd", false },
		{ "127.0.0.1:7717", false },
		{ "", false },
		{ "http://exa mple.com", false },
		{ "https://", false },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		if (ar_url_is_safe(rows[i].url) != rows[i].want)
			fail_msg("%s", rows[i].url);
	}
}

static void parts(void **state AR_UNUSED)
{
	struct ar_url u;

	assert_true(ar_url_parse("http://host:9000/bucket", &u));
	assert_true(u.has_path && !u.has_query && !u.has_user && !u.is_https);
	assert_true(ar_url_parse("https://host/", &u));
	assert_true(!u.has_path && u.is_https);
	assert_true(ar_url_parse("http://host//", &u));
	assert_false(u.has_path);
	assert_true(ar_url_parse("http://host/bucket?x=1", &u) && u.has_query);
	assert_true(ar_url_parse("http://host/bucket#x", &u) && u.has_query);
}

static void origins(void **state AR_UNUSED)
{
	static const struct {
		const char *a, *b;
		bool is_same;
	} all[] = {
		{ "https://h/x?y", "https://H:443/", true },
		{ "http://h", "http://h:80/rpc#f", true },
		{ "https://h/", "http://h/", false },
		{ "https://h/", "https://h:444/", false },
		{ "https://h/", "https://h.evil/", false },
		{ "https://h/", "https://h@evil/", false },
		{ "https://h/", "https://u@h/", false },
		{ "https://h/", "ftp://h/", false },
		{ "https://h/", "", false },
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		assert_int_equal(ar_url_is_same_origin(all[i].a, all[i].b), all[i].is_same);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts_of_this_machine),
		cmocka_unit_test(what_is_safe),
		cmocka_unit_test(parts),
		cmocka_unit_test(origins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
