/* Whose Host and Origin headers are taken. */
#include "names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static const struct ar_source loopback = { .is_loopback = true };
static const struct ar_source sealed = { .is_tls = true };

static struct ar_names names(const char *hosts, const char *origins)
{
	struct ar_names n = { 0 };

	assert_int_equal(ar_names_init(&n, hosts, origins, NULL), AR_OK);
	return n;
}

static void hosts_are_ours_or_listed(void **state AR_UNUSED)
{
	static const struct {
		const char *host;
		bool on_loopback, over_tls;
	} rows[] = {
		{ "localhost", true, true },
		{ "127.0.0.1:7717", true, true },
		{ "[::1]", true, true },
		{ "agents.example", true, true },
		{ "AGENTS.example:443", true, true },
		{ "other.example", true, true },
		{ "192.0.2.1", false, true },
		{ "[2001:db8::1]:80", false, true },
		{ "evil.example", false, false },
		{ "agents.example.evil.example", false, false },
		{ "agents.example@evil.example", false, false },
		{ "", false, false },
		{ "agents.example:99999", false, false },
	};
	struct ar_names n = names(" agents.example,\tother.example\n", NULL);

	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		assert_int_equal(ar_names_host(&n, &loopback, ar_str_from(rows[i].host)),
				 rows[i].on_loopback);
		assert_int_equal(ar_names_host(&n, &sealed, ar_str_from(rows[i].host)), rows[i].over_tls);
	}
	ar_names_fini(&n);
}

static void pages_are_listed_near_or_foreign(void **state AR_UNUSED)
{
	static const struct {
		const char *origin, *site;
		enum ar_page on_loopback, over_tls;
		bool is_shared;
	} rows[] = {
		{ NULL, NULL, AR_PAGE_NONE, AR_PAGE_NONE, false },
		{ NULL, "none", AR_PAGE_NONE, AR_PAGE_NONE, false },
		{ NULL, "same-origin", AR_PAGE_NONE, AR_PAGE_NONE, false },
		{ NULL, "same-site", AR_PAGE_FOREIGN, AR_PAGE_FOREIGN, false },
		{ NULL, "cross-site", AR_PAGE_FOREIGN, AR_PAGE_FOREIGN, false },
		{ NULL, "", AR_PAGE_FOREIGN, AR_PAGE_FOREIGN, false },
		{ NULL, "new-word", AR_PAGE_FOREIGN, AR_PAGE_FOREIGN, false },
		{ "https://console.example", NULL, AR_PAGE_LISTED, AR_PAGE_LISTED, true },
		{ "https://Console.Example", "same-origin", AR_PAGE_LISTED, AR_PAGE_LISTED, true },
		{ "https://console.example", "same-site", AR_PAGE_LISTED_ELSEWHERE, AR_PAGE_LISTED_ELSEWHERE,
		  true },
		{ "https://console.example", "cross-site", AR_PAGE_LISTED_ELSEWHERE, AR_PAGE_LISTED_ELSEWHERE,
		  true },
		{ "https://console.example:8443", NULL, AR_PAGE_FOREIGN, AR_PAGE_FOREIGN, false },
		{ "http://console.example", NULL, AR_PAGE_FOREIGN, AR_PAGE_FOREIGN, false },
		{ "http://localhost:3000", NULL, AR_PAGE_NEAR, AR_PAGE_FOREIGN, false },
		{ "http://localhost:3000", "same-site", AR_PAGE_FOREIGN, AR_PAGE_FOREIGN, false },
		{ "http://127.0.0.1:3000", "cross-site", AR_PAGE_FOREIGN, AR_PAGE_FOREIGN, false },
		{ "https://agents.example", NULL, AR_PAGE_FOREIGN, AR_PAGE_NEAR, false },
		{ "https://agents.example", "same-origin", AR_PAGE_FOREIGN, AR_PAGE_NEAR, false },
		{ "http://agents.example", NULL, AR_PAGE_NEAR, AR_PAGE_FOREIGN, false },
		{ "https://agents.example:444", NULL, AR_PAGE_FOREIGN, AR_PAGE_FOREIGN, false },
		{ "null", NULL, AR_PAGE_FOREIGN, AR_PAGE_FOREIGN, false },
		{ "null", "same-origin", AR_PAGE_FOREIGN, AR_PAGE_FOREIGN, false },
		{ "", NULL, AR_PAGE_FOREIGN, AR_PAGE_FOREIGN, false },
		{ "https://", NULL, AR_PAGE_FOREIGN, AR_PAGE_FOREIGN, false },
		{ "https://agents.example/", NULL, AR_PAGE_FOREIGN, AR_PAGE_FOREIGN, false },
	};
	struct ar_names n = names(NULL, "https://console.example");

	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		struct ar_http_head r = { .host = AR_STR("agents.example"),
					  .origin = ar_str_from(rows[i].origin),
					  .fetch_site = ar_str_from(rows[i].site) };

		assert_int_equal(ar_names_page(&n, &loopback, &r), rows[i].on_loopback);
		assert_int_equal(ar_names_page(&n, &sealed, &r), rows[i].over_tls);
		assert_int_equal(!ar_str_absent(ar_names_shared_with(&n, &r)), rows[i].is_shared);
		r.is_upgrade = true;
		if (rows[i].is_shared && !rows[i].site)
			assert_int_equal(ar_names_page(&n, &loopback, &r), AR_PAGE_LISTED_ELSEWHERE);
	}
	ar_names_fini(&n);
}

static void lists_are_checked(void **state AR_UNUSED)
{
	static const char *const bad_hosts[] = { "https://a", "a:80", "a,b:1" };
	static const char *const bad_origins[] = { "a", "https://a/b", "ftp://a", "https://", "https://a b" };
	struct ar_names n = { 0 };

	for (size_t i = 0; i < AR_ARRAY_LEN(bad_hosts); i++)
		assert_int_equal(ar_names_init(&n, bad_hosts[i], NULL, NULL), AR_E_INVALID);
	for (size_t i = 0; i < AR_ARRAY_LEN(bad_origins); i++)
		assert_int_equal(ar_names_init(&n, NULL, bad_origins[i], NULL), AR_E_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts_are_ours_or_listed),
		cmocka_unit_test(pages_are_listed_near_or_foreign),
		cmocka_unit_test(lists_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
