/* See refused.h. */
#include "refused.h"

#include "syscalls.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#define ROOM 512 /* a newer kernel may have longer structures */

union request {
	struct seccomp_notif n;
	char room[ROOM];
};

union answer {
	struct seccomp_notif_resp r;
	char room[ROOM];
};

/* RECV waits for a request when the one that poll() saw was taken back: never called without asking first. */
enum ar_refused_state ar_refused_poll(int listener)
{
	struct pollfd p = { .fd = listener, .events = POLLIN };

	if (poll(&p, 1, 0) != 1)
		return AR_REFUSED_NONE;
	if (p.revents & POLLIN)
		return AR_REFUSED_WAITS;
	return p.revents & (POLLHUP | POLLERR | POLLNVAL) ? AR_REFUSED_OVER : AR_REFUSED_NONE;
}

static struct ar_refused_kind *find_kind(struct ar_refused *r, int nr, const uint64_t *key)
{
	for (size_t i = 0; i < r->count; i++) {
		if (r->kinds[i].nr == nr && memcmp(r->kinds[i].key, key, sizeof(r->kinds[i].key)) == 0)
			return &r->kinds[i];
	}
	return NULL;
}

/* The kind when this is the first of it. */
static struct ar_refused_kind *count_attempt(struct ar_refused *r, const struct seccomp_data *call)
{
	uint64_t key[3];
	struct ar_refused_kind *k;

	ar_syscall_key(call->nr, (const uint64_t *)call->args, key);
	k = find_kind(r, call->nr, key);
	if (k) {
		k->count++;
		return NULL;
	}
	if (r->count == AR_REFUSED_KINDS_MAX) {
		r->others++;
		return NULL;
	}
	k = &r->kinds[r->count++];
	*k = (struct ar_refused_kind){ .nr = call->nr, .key = { key[0], key[1], key[2] }, .count = 1 };
	return k;
}

/* The answer comes before the count is reported: a process that tries a million times must not wait
 * for a disk. */
bool ar_refused_answer(struct ar_refused *r, int listener, struct ar_refused_kind **ret)
{
	union request q;
	union answer a;

	memset(&q, 0, sizeof(q));
	memset(&a, 0, sizeof(a));
	*ret = NULL;
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &q) != 0)
		return false;
	a.r.id = q.n.id;
	a.r.error = -EPERM;
	ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &a);
	*ret = count_attempt(r, &q.n.data);
	return true;
}

int ar_refused_text(const struct ar_refused *r, const struct ar_refused_kind *k, bool is_last,
		    char out[AR_REFUSED_TEXT_MAX])
{
	char attempted[256] = "system calls of further kinds";
	const char *boundary = "permission";

	if (k)
		boundary = ar_syscall_describe(k->nr, k->key, attempted, sizeof(attempted));
	return snprintf(out, AR_REFUSED_TEXT_MAX,
			"{\"boundary\":\"%s\",\"attempted\":\"%s\",\"effect\":\"blocked\","
			"\"evidence\":\"seccomp-notify\",\"errno\":%d,\"count\":%llu,\"isLast\":%s}",
			boundary, attempted, EPERM, (unsigned long long)(k ? k->count : r->others),
			is_last ? "true" : "false");
}
