/* See filter.h. libseccomp makes the program; in front of it stand a few instructions of our own, for what it
 * has no words for: calls that are newer than our rows. */
#include "filter.h"

#include "compiler.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#define OTHER_NUMBERS 0x40000000u /* x32; libseccomp answers it like a foreign architecture */
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#define OTHER_NUMBERS 0xffffffffu
#else
#error "the filters were written for x86-64 and arm64"
#endif

#define PROGRAM_MAX BPF_MAXINSNS
#define FAMILIES 64 /* more than any kernel has */
#define FIELD(name) ((uint32_t)offsetof(struct seccomp_data, name))

static const struct sock_filter preamble[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIELD(arch)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE, 0, 4),
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIELD(nr)),
	BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, OTHER_NUMBERS, 2, 0),
	BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, AR_FILTER_NEWEST, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
};

static int add(scmp_filter_ctx ctx, const struct ar_filter_rule *r)
{
	uint32_t action = r->answer == AR_FILTER_NOTIFIED ? SCMP_ACT_NOTIFY : SCMP_ACT_ERRNO(ENOSYS);
	int rc = seccomp_rule_add_array(ctx, action, r->call, r->count, r->args);

	/* A call that this architecture never had cannot be made. */
	return rc == -EDOM ? 0 : rc;
}

static int add_if(scmp_filter_ctx ctx, int call, struct scmp_arg_cmp when)
{
	return add(ctx, &(struct ar_filter_rule){ call, AR_FILTER_NOTIFIED, 1, { when } });
}

/* Every family but three. Compared with all 64 bits: a value with higher ones counts as a large one. */
static int add_families(scmp_filter_ctx ctx)
{
	int rc = add_if(ctx, SCMP_SYS(socket), (struct scmp_arg_cmp){ 0, SCMP_CMP_GE, FAMILIES, 0 });

	for (scmp_datum_t family = 0; rc == 0 && family < FAMILIES; family++) {
		if (family != AF_UNIX && family != AF_INET && family != AF_INET6)
			rc = add_if(ctx, SCMP_SYS(socket),
				    (struct scmp_arg_cmp){ 0, SCMP_CMP_EQ, family, 0 });
	}
	return rc;
}

/* A personality may be asked for (all bits set) and be the usual one (none); all between has some bit set and
 * some other not. A rule cannot look at one argument twice, so it is said in pairs of the highest bit and
 * another. */
static int add_personalities(scmp_filter_ctx ctx)
{
	const scmp_datum_t top = 1u << 31;
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < 31; i++) {
		scmp_datum_t bit = 1u << i;

		rc = add_if(ctx, SCMP_SYS(personality),
			    (struct scmp_arg_cmp){ 0, SCMP_CMP_MASKED_EQ, top | bit, bit });
		if (rc == 0)
			rc = add_if(ctx, SCMP_SYS(personality),
				    (struct scmp_arg_cmp){ 0, SCMP_CMP_MASKED_EQ, top | bit, top });
	}
	return rc;
}

static int add_all(scmp_filter_ctx ctx, enum ar_filter_kind kind)
{
	struct ar_filter_rules rules = ar_filter_rules(kind);
	int rc = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);

	/* A tree of numbers instead of one after the other: when it is installed the kernel tries every call
	 * there is. */
	if (rc == 0)
		rc = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	for (size_t i = 0; rc == 0 && i < rules.count; i++)
		rc = add(ctx, &rules.at[i]);
	if (rc == 0 && kind == AR_FILTER_BOUNDED)
		rc = add_families(ctx);
	if (rc == 0 && kind == AR_FILTER_BOUNDED)
		rc = add_personalities(ctx);
	return rc;
}

/* The program of libseccomp, by way of a file in memory: it can only write to a descriptor. Its size, or less
 * than 0. */
static ssize_t export(scmp_filter_ctx ctx, void *out, size_t room)
{
	int fd = memfd_create("filter", MFD_CLOEXEC);
	ssize_t n = -1;

	if (fd < 0)
		return -1;
	if (seccomp_export_bpf(ctx, fd) == 0)
		n = pread(fd, out, room, 0);
	close(fd);
	return n;
}

static struct ar_str hex_of(struct ar_arena *a, const void *bytes, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *from = bytes;
	char *to = ar_arena_alloc(a, 2 * len + 1);

	for (size_t i = 0; i < len; i++) {
		to[2 * i] = digits[from[i] >> 4];
		to[2 * i + 1] = digits[from[i] & 15];
	}
	return (struct ar_str){ to, 2 * len };
}

enum ar_status ar_filter_make(enum ar_filter_kind kind, struct ar_arena *a, struct ar_str *ret_hex,
			      struct ar_error *err)
{
	/* Of danger_full_access nothing is hidden that a newer kernel offers. */
	size_t lead = kind == AR_FILTER_BOUNDED ? AR_ARRAY_LEN(preamble) : 0;
	struct sock_filter *program = ar_arena_alloc(a, (PROGRAM_MAX + 1) * sizeof(*program));
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	ssize_t size = -1;
	int rc;

	if (!ctx)
		return ar_fail(err, AR_E_UNAVAILABLE, "libseccomp cannot make a filter here");
	rc = add_all(ctx, kind);
	memcpy(program, preamble, lead * sizeof(*program));
	if (rc == 0)
		size = export(ctx, program + lead, (PROGRAM_MAX + 1 - lead) * sizeof(*program));
	seccomp_release(ctx);
	if (rc != 0)
		return ar_fail(err, AR_E_UNAVAILABLE,
			       "a rule of the system call filter cannot be expressed: %s", strerror(-rc));
	if (size <= 0 || lead * sizeof(*program) + (size_t)size > PROGRAM_MAX * sizeof(*program))
		return ar_fail(err, AR_E_UNAVAILABLE, "the system call filter cannot be written out");
	*ret_hex = hex_of(a, program, lead * sizeof(*program) + (size_t)size);
	return AR_OK;
}
