/* Installs the seccomp program that the plan brings in hex. What it forbids is decided by the author of
 * the plan; the last step before the barrier, so that it does not stand in the way of the others. */
#include "filter.h"

#include "plan_check.h"
#include "message.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned hex_digit(char c)
{
	return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static void read_instruction(const char *hex, struct sock_filter *ret)
{
	unsigned char bytes[sizeof(*ret)];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(hex_digit(hex[i * 2]) << 4 | hex_digit(hex[i * 2 + 1]));
	memcpy(ret, bytes, sizeof(bytes));
}

int ar_filter_install(struct ar_init *in)
{
	struct sock_filter code[AR_PLAN_FILTER_MAX];
	struct sock_fprog program = { .filter = code };
	const char *hex = in->plan.filter;
	unsigned flags = in->plan.notifies ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0;
	long result;

	if (!hex)
		return 0;
	for (; *hex; hex += AR_PLAN_FILTER_DIGITS)
		read_instruction(hex, &code[program.len++]);
	result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	if (result < 0)
		return ar_init_fail(in, "seccomp", NULL);
	if (in->plan.notifies)
		in->fds[AR_INIT_FD_NOTIFY] = (int)result;
	return 0;
}
