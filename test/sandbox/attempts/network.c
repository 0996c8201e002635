/* Attempts to reach any network: the host's loopback where a listener waits, addresses beyond, other
 * families, other protocols. Nothing is sent to any address but loopback and those that documentation
 * reserves. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attempt.h"

#ifndef MSG_FASTOPEN
#define MSG_FASTOPEN 0x20000000
#endif
#define PROTOCOL_MPTCP 262
#define PROTOCOL_SCTP 132
#define CUT_OFF "ECONNREFUSED ENETUNREACH EADDRNOTAVAIL EHOSTUNREACH EACCES EPERM"
#define FAMILY "EAFNOSUPPORT EPERM EACCES EPROTONOSUPPORT"

struct address {
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	};
	socklen_t len;
};

static struct address address_of(const char *host, long port)
{
	struct address a = { .v6 = { .sin6_family = AF_INET6 }, .len = sizeof(struct sockaddr_in6) };

	if (strchr(host, ':') && inet_pton(AF_INET6, host, &a.v6.sin6_addr) == 1) {
		a.v6.sin6_port = htons((uint16_t)port);
		return a;
	}
	a = (struct address){ .v4 = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) },
			      .len = sizeof(struct sockaddr_in) };
	inet_pton(AF_INET, host, &a.v4.sin_addr);
	return a;
}

/* Connected within two seconds: a network that swallows packets is no answer. */
static int dial(int fd, const struct address *to)
{
	struct pollfd wait = { .fd = fd, .events = POLLOUT };
	int error = 0;
	socklen_t len = sizeof(error);

	if (connect(fd, &to->any, to->len) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return -1;
	if (poll(&wait, 1, 2000) <= 0)
		return fail_with(ENETUNREACH);
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
	return error ? fail_with(error) : 0;
}

/* args: protocol, a port, 0 for the listener's. */
static int tcp(const struct attempt *a)
{
	struct address to = address_of(a->path, a->args[1] ? a->args[1] : given_number("PORT"));
	int fd = socket(to.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, (int)a->args[0]);

	return fd < 0 ? -1 : dial(fd, &to);
}

static int udp(const struct attempt *a)
{
	struct address to = address_of(a->path, a->args[1] ? a->args[1] : given_number("PORT"));
	int fd = socket(to.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	if (connect(fd, &to.any, to.len) != 0 || send(fd, "escape", 6, 0) < 0)
		return -1;
	/* Nobody there comes back as an error of the next call. */
	usleep(20000);
	return send(fd, "escape", 6, 0) < 0 ? -1 : 0;
}

static int fast_open(const struct attempt *a)
{
	struct address to = address_of(a->path, given_number("PORT"));
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 ? -1 : sendto(fd, "escape", 6, MSG_FASTOPEN, &to.any, to.len) < 0 ? -1 : 0;
}

/* args: family, type, protocol. */
static int open_socket(const struct attempt *a)
{
	int fd = socket((int)a->args[0], (int)a->args[1] | SOCK_CLOEXEC, (int)a->args[2]);

	return fd < 0 ? -1 : close(fd);
}

static int loopback_inside(const struct attempt *a)
{
	struct address at = address_of(a->path, 0);
	int server = socket(at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int client = socket(at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (server < 0 || client < 0 || bind(server, &at.any, at.len) != 0 || listen(server, 1) != 0)
		return -1;
	getsockname(server, &at.any, &at.len);
	return connect(client, &at.any, at.len);
}

static int other_interfaces(const struct attempt *a)
{
	(void)a;
	struct if_nameindex *all = if_nameindex();

	for (struct if_nameindex *i = all; i && i->if_index; i++) {
		if (strcmp(i->if_name, "lo") != 0)
			return 0;
	}
	return fail_with(ENODEV);
}

static int interface_down(const struct attempt *a)
{
	struct ifreq request = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)a;
	if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &request) != 0)
		return -1;
	return ioctl(fd, SIOCSIFFLAGS, &request);
}

static int mark_packets(const struct attempt *a)
{
	int mark = 1, fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)a;
	return fd < 0 ? -1 : setsockopt(fd, SOL_SOCKET, SO_MARK, &mark, sizeof(mark));
}

/* IPT_SO_SET_REPLACE: half of the kernel's published ways up begin here. */
static int replace_firewall(const struct attempt *a)
{
	char table[128] = "filter";
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)a;
	return fd < 0 ? -1 : setsockopt(fd, SOL_IP, 64, table, sizeof(table));
}

#define SOCKET(name, family, type, protocol) \
	{ \
		name, open_socket, NULL, FAMILY, FAMILY, "?", NULL, 0, \
		{ \
			family, type, protocol \
		} \
	}

static const struct attempt rows[] = {
	{ "tcp_host", tcp, "127.0.0.1", CUT_OFF, CUT_OFF, "ok" },
	{ "tcp6_host", tcp, "::1", CUT_OFF, CUT_OFF, "?" },
	{ "tcp_mapped_host", tcp, "::ffff:127.0.0.1", CUT_OFF, CUT_OFF, "?" },
	{ "tcp_other_loopback", tcp, "127.1.2.3", CUT_OFF, CUT_OFF, "?" },
	{ "tcp_any_address", tcp, "0.0.0.0", CUT_OFF, CUT_OFF, "ok" },
	{ "tcp_beyond", tcp, "192.0.2.1", CUT_OFF, CUT_OFF, "-", NULL, 0, { 0, 80 } },
	{ "tcp6_beyond", tcp, "2001:db8::1", CUT_OFF, CUT_OFF, "-", NULL, 0, { 0, 80 } },
	{ "tcp_metadata", tcp, "169.254.169.254", CUT_OFF, CUT_OFF, "-", NULL, 0, { 0, 80 } },
	{ "tcp_fast_open", fast_open, "127.0.0.1", CUT_OFF, CUT_OFF, "?" },
	{ "mptcp_host",
	  tcp,
	  "127.0.0.1",
	  CUT_OFF " EPROTONOSUPPORT",
	  CUT_OFF " EPROTONOSUPPORT",
	  "?",
	  NULL,
	  0,
	  { PROTOCOL_MPTCP } },
	{ "udp_host", udp, "127.0.0.1", CUT_OFF, CUT_OFF, "ok" },
	{ "udp6_host", udp, "::1", CUT_OFF, CUT_OFF, "?" },
	{ "udp_name_server", udp, "192.0.2.53", CUT_OFF, CUT_OFF, "-", NULL, 0, { 0, 53 } },
	{ "udp_multicast", udp, "224.0.0.251", CUT_OFF, CUT_OFF, "-", NULL, 0, { 0, 5353 } },
	SOCKET("socket_raw", AF_INET, SOCK_RAW, IPPROTO_ICMP),
	SOCKET("socket_raw6", AF_INET6, SOCK_RAW, IPPROTO_ICMPV6),
	SOCKET("socket_ping", AF_INET, SOCK_DGRAM, IPPROTO_ICMP),
	SOCKET("socket_mptcp", AF_INET, SOCK_STREAM, PROTOCOL_MPTCP),
	SOCKET("socket_sctp", AF_INET, SOCK_STREAM, PROTOCOL_SCTP),
	SOCKET("socket_packet", AF_PACKET, SOCK_RAW, 0),
	SOCKET("socket_packet_dgram", AF_PACKET, SOCK_DGRAM, 0),
	SOCKET("socket_netlink_route", AF_NETLINK, SOCK_RAW, 0),
	SOCKET("socket_netlink_audit", AF_NETLINK, SOCK_RAW, 9),
	SOCKET("socket_netlink_netfilter", AF_NETLINK, SOCK_RAW, 12),
	SOCKET("socket_netlink_uevent", AF_NETLINK, SOCK_DGRAM, 15),
	SOCKET("socket_vsock", AF_VSOCK, SOCK_STREAM, 0),
	SOCKET("socket_vsock_dgram", AF_VSOCK, SOCK_DGRAM, 0),
	SOCKET("socket_alg", AF_ALG, SOCK_SEQPACKET, 0),
	SOCKET("socket_xdp", 44, SOCK_RAW, 0),
	SOCKET("socket_bluetooth", AF_BLUETOOTH, SOCK_RAW, 1),
	SOCKET("socket_can", AF_CAN, SOCK_RAW, 1),
	SOCKET("socket_kcm", 41, SOCK_DGRAM, 0),
	SOCKET("socket_smc", 43, SOCK_STREAM, 0),
	SOCKET("socket_rds", AF_RDS, SOCK_SEQPACKET, 0),
	SOCKET("socket_tipc", AF_TIPC, SOCK_SEQPACKET, 0),
	SOCKET("socket_high_bits", AF_NETLINK | (long)0x100000000, SOCK_RAW, 0),
	{ "interface_other", other_interfaces, NULL, "ENODEV EPERM EACCES EAFNOSUPPORT",
	  "ENODEV EPERM EACCES EAFNOSUPPORT", "?" },
	{ "interface_flags", interface_down, NULL, "EPERM EACCES", "EPERM EACCES", "EPERM" },
	{ "socket_mark", mark_packets, NULL, "EPERM", "EPERM", "EPERM" },
	{ "firewall_replace", replace_firewall, NULL, "EPERM ENOPROTOOPT", "EPERM ENOPROTOOPT",
	  "EPERM ENOPROTOOPT" },
	{ "loopback_inside", loopback_inside, "127.0.0.1", "ok", "ok", "ok" },
	{ "loopback6_inside", loopback_inside, "::1", "ok EADDRNOTAVAIL", "ok EADDRNOTAVAIL", "?" },
};

const struct attempt_list network_attempts = ATTEMPT_LIST(rows);
