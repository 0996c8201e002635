/* Asks through NETLINK_SOCK_DIAG for exactly one socket, by both of its addresses: the kernel answers
 * within the call, in a few microseconds whatever the number of connections. The answer is checked
 * against the question, because the kernel falls back to a listening socket of the same port, and
 * because it tells user 0 of a socket that nobody holds any more (closed by its owner, or waiting in
 * TIME_WAIT): such a socket has no inode. Owner: the loop thread. */
#include "link/peer_user.h"
#include "mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ALL_STATES 0xffffffffu
#define ANSWERS 4 /* that are read at most; there is one unless an earlier question was given up */
#define GROUPS 64 /* that are read without an allocation */
#define GROUPS_MAX 65536 /* the kernel's own limit */

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif

void ar_peer_users_init(struct ar_peer_users *u)
{
	u->diag = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG) + 1;
}

void ar_peer_users_fini(struct ar_peer_users *u)
{
	if (u->diag)
		close(u->diag - 1);
	u->diag = 0;
}

/* ---- TCP ---- */

static void put_address(const union ar_sockaddr *sa, __be16 *ret_port, __be32 ret_address[4])
{
	if (sa->any.sa_family == AF_INET6) {
		*ret_port = sa->v6.sin6_port;
		memcpy(ret_address, &sa->v6.sin6_addr, sizeof sa->v6.sin6_addr);
		return;
	}
	*ret_port = sa->v4.sin_port;
	ret_address[0] = sa->v4.sin_addr.s_addr;
}

static bool is_mapped(const __be32 address[4])
{
	return !address[0] && !address[1] && address[2] == htonl(0xffff);
}

/* A program may speak IPv4 through a socket of IPv6; the kernel then writes the address
 * in its mapped form. */
static bool is_same_address(const __be32 asked[4], bool is_v6, const struct inet_diag_msg *m,
			    const __be32 told[4])
{
	if (m->idiag_family == AF_INET)
		return !is_v6 && asked[0] == told[0];
	if (!is_v6)
		return is_mapped(told) && asked[0] == told[3];
	return memcmp(asked, told, 4 * sizeof told[0]) == 0;
}

static bool is_answer(const struct inet_diag_req_v2 *q, const struct inet_diag_msg *m)
{
	bool is_v6 = q->sdiag_family == AF_INET6;

	return m->idiag_inode && m->id.idiag_sport == q->id.idiag_sport &&
	       m->id.idiag_dport == q->id.idiag_dport &&
	       is_same_address(q->id.idiag_src, is_v6, m, m->id.idiag_src) &&
	       is_same_address(q->id.idiag_dst, is_v6, m, m->id.idiag_dst);
}

struct question {
	struct nlmsghdr head;
	struct inet_diag_req_v2 q;
};

static bool send_question(int diag, const struct question *q)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	ssize_t n = sendto(diag, q, sizeof *q, MSG_DONTWAIT, (const struct sockaddr *)&kernel, sizeof kernel);

	return n == (ssize_t)sizeof *q;
}

/* Reads the next message. False: it is not the answer to this question. `ret` stays as it is when the
 * kernel found no such socket. */
static bool take_answer(int diag, const struct question *q, unsigned *ret)
{
	union {
		struct nlmsghdr head;
		char bytes[1024];
	} in;
	struct inet_diag_msg m;
	struct sockaddr_nl from = { 0 };
	socklen_t size = sizeof from;
	ssize_t n = recvfrom(diag, &in, sizeof in, MSG_DONTWAIT, (struct sockaddr *)&from, &size);

	if (n < (ssize_t)sizeof in.head)
		return true;
	if (from.nl_pid || in.head.nlmsg_seq != q->head.nlmsg_seq)
		return false;
	if (in.head.nlmsg_type != SOCK_DIAG_BY_FAMILY || (size_t)n < NLMSG_LENGTH(sizeof m))
		return true;
	memcpy(&m, in.bytes + NLMSG_HDRLEN, sizeof m);
	if (is_answer(&q->q, &m))
		*ret = m.idiag_uid;
	return true;
}

unsigned ar_peer_user_of_tcp(struct ar_peer_users *u, const union ar_sockaddr *here,
			     const union ar_sockaddr *there)
{
	struct question q = {
		.head = { .nlmsg_len = sizeof q,
			  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			  .nlmsg_flags = NLM_F_REQUEST,
			  .nlmsg_seq = ++u->sequence },
		.q = { .sdiag_family = (__u8)there->any.sa_family,
		       .sdiag_protocol = IPPROTO_TCP,
		       .idiag_states = ALL_STATES,
		       .id.idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } },
	};
	unsigned uid = AR_NO_USER;

	put_address(there, &q.q.id.idiag_sport, q.q.id.idiag_src);
	put_address(here, &q.q.id.idiag_dport, q.q.id.idiag_dst);
	if (!u->diag || here->any.sa_family != there->any.sa_family || !send_question(u->diag - 1, &q))
		return AR_NO_USER;
	for (int i = 0; i < ANSWERS && !take_answer(u->diag - 1, &q, &uid); i++)
		;
	return uid;
}

/* ---- unix ---- */

unsigned ar_peer_user_of_unix(int fd)
{
	struct ucred cred;
	socklen_t size = sizeof cred;

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size) ? AR_NO_USER : cred.uid;
}

bool ar_peer_user_is_in_group(int fd, unsigned group)
{
	gid_t few[GROUPS], *groups = few;
	socklen_t size = sizeof few;
	struct ucred cred;
	socklen_t cred_size = sizeof cred;
	bool is_in = false;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &cred_size))
		return false;
	if (cred.gid == group)
		return true;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, few, &size)) {
		if (errno != ERANGE || size > GROUPS_MAX * sizeof *groups)
			return false;
		groups = ar_grow(NULL, size, 1);
		if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size))
			size = 0;
	}
	for (size_t i = 0; i < size / sizeof *groups; i++)
		is_in = is_in || groups[i] == group;
	if (groups != few)
		ar_free(groups);
	return is_in;
}
