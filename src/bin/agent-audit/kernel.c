/* See kernel.h. Netlink by hand: the few messages that are needed are plain structs. */
#include "kernel.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/netlink.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#define KEY "agentruntime"
#define MESSAGE_MAX 9000
#define RULES_MAX 64 /* of ours, that are removed in one go */

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#error "the rules were written for x86-64 and arm64"
#endif

#define RULE_SIZE (sizeof(struct audit_rule_data) + sizeof(KEY) - 1)

/* A rule with its key behind it. */
union rule {
	struct audit_rule_data head;
	char room[RULE_SIZE];
};

union message {
	struct nlmsghdr head;
	char room[MESSAGE_MAX];
};

int ar_kernel_open(void)
{
	struct sockaddr_nl at = { .nl_family = AF_NETLINK };
	struct timeval patience = { .tv_sec = 2 };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_AUDIT);

	if (fd < 0)
		return -1;
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 &&
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0)
		return fd;
	close(fd);
	return -1;
}

static int send_message(int fd, uint16_t type, const void *body, size_t len)
{
	union message m = { .head = { .nlmsg_len = (uint32_t)(NLMSG_HDRLEN + len),
				      .nlmsg_type = type,
				      .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
				      .nlmsg_seq = 1 } };

	if (len > 0)
		memcpy(NLMSG_DATA(&m.head), body, len);
	return send(fd, &m, m.head.nlmsg_len, 0) < 0 ? -1 : 0;
}

/* The next message for us; its body is behind the head. */
static int receive_message(int fd, union message *m)
{
	ssize_t n;

	do {
		n = recv(fd, m, sizeof(*m), 0);
	} while (n < 0 && errno == EINTR);
	if (n >= (ssize_t)sizeof(m->head))
		return 0;
	if (n >= 0)
		errno = EPROTO;
	return -1;
}

/* The kernel's word on what was asked; whatever comes before it is of another request. */
static int receive_ack(int fd)
{
	union message m;

	for (;;) {
		int verdict;

		if (receive_message(fd, &m) < 0)
			return -1;
		if (m.head.nlmsg_type != NLMSG_ERROR)
			continue;
		memcpy(&verdict, NLMSG_DATA(&m.head), sizeof(verdict));
		errno = -verdict;
		return verdict ? -1 : 0;
	}
}

static int request_with_ack(int fd, uint16_t type, const void *body, size_t len)
{
	return send_message(fd, type, body, len) < 0 ? -1 : receive_ack(fd);
}

int ar_kernel_state(int fd, struct ar_audit_state *ret)
{
	struct audit_status s = { 0 };
	union message m;

	if (send_message(fd, AUDIT_GET, NULL, 0) < 0)
		return -1;
	for (;;) {
		int verdict;

		if (receive_message(fd, &m) < 0)
			return -1;
		if (m.head.nlmsg_type == AUDIT_GET)
			break;
		memcpy(&verdict, NLMSG_DATA(&m.head), sizeof(verdict));
		if (m.head.nlmsg_type == NLMSG_ERROR && verdict != 0) {
			errno = -verdict;
			return -1;
		}
	}
	memcpy(&s, NLMSG_DATA(&m.head), offsetof(struct audit_status, lost));
	*ret = (struct ar_audit_state){ s.enabled, s.backlog_limit, (pid_t)s.pid };
	return 0;
}

int ar_kernel_set(int fd, uint32_t enabled, uint32_t backlog)
{
	struct audit_status s = { .mask = AUDIT_STATUS_ENABLED | AUDIT_STATUS_BACKLOG_LIMIT,
				  .enabled = enabled,
				  .backlog_limit = backlog };

	return request_with_ack(fd, AUDIT_SET, &s, sizeof(s));
}

static void add_field(union rule *r, uint32_t field, uint32_t op, uint32_t value)
{
	uint32_t n = r->head.field_count++;

	r->head.fields[n] = field;
	r->head.fieldflags[n] = op;
	r->head.values[n] = value;
}

static union rule rule_of(int error, uint32_t first, uint32_t last)
{
	union rule r = { .head = { .flags = AUDIT_FILTER_EXIT, .action = AUDIT_ALWAYS } };

	add_field(&r, AUDIT_ARCH, AUDIT_EQUAL, ARCH);
	add_field(&r, AUDIT_EXIT, AUDIT_EQUAL, (uint32_t)-error);
	add_field(&r, AUDIT_LOGINUID, AUDIT_GREATER_THAN_OR_EQUAL, first);
	add_field(&r, AUDIT_LOGINUID, AUDIT_LESS_THAN_OR_EQUAL, last);
	add_field(&r, AUDIT_FILTERKEY, AUDIT_EQUAL, sizeof(KEY) - 1);
	r.head.buflen = sizeof(KEY) - 1;
	memcpy(r.head.buf, KEY, sizeof(KEY) - 1);
	return r;
}

static void add_call(union rule *r, long call)
{
	r->head.mask[AUDIT_WORD(call)] |= AUDIT_BIT(call);
}

/* EROFS is what a read-only mount says. EBUSY is what it says of a mount point that should be moved or
 * removed; elsewhere it means something else. */
int ar_kernel_add(int fd, uint32_t first, uint32_t last)
{
	static const long moves[] = {
#ifdef SYS_rename
		SYS_rename,   SYS_rmdir,     SYS_unlink,
#endif
		SYS_renameat, SYS_renameat2, SYS_unlinkat,
	};
	union rule readonly = rule_of(EROFS, first, last), busy = rule_of(EBUSY, first, last);

	memset(readonly.head.mask, 0xff, sizeof(readonly.head.mask));
	for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++)
		add_call(&busy, moves[i]);
	if (request_with_ack(fd, AUDIT_ADD_RULE, &readonly, RULE_SIZE) < 0 && errno != EEXIST)
		return -1;
	if (request_with_ack(fd, AUDIT_ADD_RULE, &busy, RULE_SIZE) < 0 && errno != EEXIST)
		return -1;
	return 0;
}

static bool is_ours(const struct nlmsghdr *head)
{
	const struct audit_rule_data *r = NLMSG_DATA(head);

	return head->nlmsg_len == NLMSG_HDRLEN + RULE_SIZE && r->buflen == sizeof(KEY) - 1 &&
	       memcmp(r->buf, KEY, sizeof(KEY) - 1) == 0;
}

/* Every rule there is; the first of ours are kept in `out`. */
static int list_rules(int fd, union rule *out, struct ar_audit_rules *ret)
{
	union message m;

	*ret = (struct ar_audit_rules){ 0 };
	if (send_message(fd, AUDIT_LIST_RULES, NULL, 0) < 0)
		return -1;
	for (;;) {
		if (receive_message(fd, &m) < 0)
			return -1;
		if (m.head.nlmsg_type == NLMSG_DONE)
			return 0;
		if (m.head.nlmsg_type != AUDIT_LIST_RULES)
			continue;
		if (!is_ours(&m.head)) {
			ret->others++;
			continue;
		}
		if (out && ret->ours < RULES_MAX)
			memcpy(&out[ret->ours], NLMSG_DATA(&m.head), RULE_SIZE);
		ret->ours++;
	}
}

int ar_kernel_count(int fd, struct ar_audit_rules *ret)
{
	return list_rules(fd, NULL, ret);
}

int ar_kernel_remove(int fd)
{
	union rule ours[RULES_MAX];
	struct ar_audit_rules count;

	if (list_rules(fd, ours, &count) < 0)
		return -1;
	for (unsigned i = 0; i < count.ours && i < RULES_MAX; i++) {
		if (request_with_ack(fd, AUDIT_DEL_RULE, &ours[i], RULE_SIZE) < 0 && errno != ENOENT)
			return -1;
	}
	return 0;
}
