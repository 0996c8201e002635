/* Whom the kernel names for the other end of a loopback connection: the user of that very socket, and nobody
 * when it is gone. */
#include "link/peer_user.h"

#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

struct pair {
	int listener, client, server;
	union ar_sockaddr here, there; /* as the server's end sees them */
};

static int open_socket(int family)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	return fd;
}

static union ar_sockaddr loopback(int family, const char *bytes)
{
	union ar_sockaddr sa;

	memset(&sa, 0, sizeof sa);
	sa.any.sa_family = (sa_family_t)family;
	if (family == AF_INET6)
		memcpy(&sa.v6.sin6_addr, bytes, 16);
	else
		sa.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return sa;
}

static void connect_pair(struct pair *p, const union ar_sockaddr *at, const union ar_sockaddr *target)
{
	union ar_sockaddr to = *target;
	socklen_t len = sizeof p->here;

	p->listener = open_socket(at->any.sa_family);
	assert_int_equal(bind(p->listener, &at->any, sizeof *at), 0);
	assert_int_equal(listen(p->listener, 1), 0);
	assert_int_equal(getsockname(p->listener, &p->here.any, &len), 0);
	to.v6.sin6_port = p->here.v6.sin6_port; /* the port is at the same place in both */
	p->client = open_socket(to.any.sa_family);
	assert_int_equal(connect(p->client, &to.any, sizeof to), 0);
	p->server = accept(p->listener, NULL, NULL);
	assert_true(p->server >= 0);
	len = sizeof p->here;
	assert_int_equal(getsockname(p->server, &p->here.any, &len), 0);
	len = sizeof p->there;
	assert_int_equal(getpeername(p->server, &p->there.any, &len), 0);
}

static void close_pair(struct pair *p)
{
	close(p->listener);
	close(p->server);
	if (p->client >= 0)
		close(p->client);
}

static void check(const union ar_sockaddr *at, const union ar_sockaddr *target)
{
	struct ar_peer_users u = { 0 };
	union ar_sockaddr elsewhere;
	struct pair p;

	ar_peer_users_init(&u);
	connect_pair(&p, at, target);
	assert_int_equal(ar_peer_user_of_tcp(&u, &p.here, &p.there), geteuid());
	elsewhere = p.there;
	elsewhere.v6.sin6_port ^= htons(1);
	assert_int_equal(ar_peer_user_of_tcp(&u, &p.here, &elsewhere), AR_NO_USER);
	close(p.client);
	p.client = -1;
	assert_int_equal(ar_peer_user_of_tcp(&u, &p.here, &p.there), AR_NO_USER);
	close_pair(&p);
	ar_peer_users_fini(&u);
	assert_int_equal(ar_peer_user_of_tcp(&u, &p.here, &p.there), AR_NO_USER);
}

static const char one[16] = { [15] = 1 };
static const char mapped[16] = { [10] = (char)0xff, [11] = (char)0xff, [12] = 127, [15] = 1 };

static void over_v4(void **state AR_UNUSED)
{
	union ar_sockaddr at = loopback(AF_INET, NULL);

	check(&at, &at);
}

static void over_v6(void **state AR_UNUSED)
{
	union ar_sockaddr at = loopback(AF_INET6, one);

	check(&at, &at);
}

static void over_v4_from_a_socket_of_v6(void **state AR_UNUSED)
{
	union ar_sockaddr at = loopback(AF_INET, NULL), target = loopback(AF_INET6, mapped);

	check(&at, &target);
}

/* The kernel would answer with the listener where there is no such connection. */
static void a_listener_is_not_the_peer(void **state AR_UNUSED)
{
	struct ar_peer_users u = { 0 };
	union ar_sockaddr at = loopback(AF_INET, NULL), listening;
	struct pair p;

	ar_peer_users_init(&u);
	connect_pair(&p, &at, &at);
	listening = p.here;
	assert_int_equal(ar_peer_user_of_tcp(&u, &p.there, &listening), geteuid());
	at.v4.sin_port = htons(1);
	assert_int_equal(ar_peer_user_of_tcp(&u, &at, &listening), AR_NO_USER);
	close_pair(&p);
	ar_peer_users_fini(&u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(over_v4),
		cmocka_unit_test(over_v6),
		cmocka_unit_test(over_v4_from_a_socket_of_v6),
		cmocka_unit_test(a_listener_is_not_the_peer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
