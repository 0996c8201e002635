/* See bpf.h. */
#include "bpf.h"

#include "unit.h"

static unsigned digit(char c)
{
	return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

void program_read(struct program *p, struct ar_str hex)
{
	unsigned char *to = (unsigned char *)p->at;

	assert_int_equal(hex.len % 16, 0);
	assert_true(hex.len / 2 <= sizeof(p->at));
	for (size_t i = 0; i < hex.len / 2; i++)
		to[i] = (unsigned char)(digit(hex.p[2 * i]) << 4 | digit(hex.p[2 * i + 1]));
	p->count = (unsigned short)(hex.len / 16);
}

void program_make(struct program *p, enum ar_filter_kind kind)
{
	struct ar_arena arena = { 0 };
	struct ar_error err = { 0 };
	struct ar_str hex;

	assert_int_equal(ar_filter_make(kind, &arena, &hex, &err), AR_OK);
	program_read(p, hex);
	ar_arena_fini(&arena);
}

static bool jumps(const struct sock_filter *f, uint32_t a)
{
	switch (BPF_OP(f->code)) {
	case BPF_JEQ:
		return a == f->k;
	case BPF_JGT:
		return a > f->k;
	case BPF_JGE:
		return a >= f->k;
	case BPF_JSET:
		return (a & f->k) != 0;
	default:
		fail_msg("unknown jump %x", f->code);
		return false;
	}
}

uint32_t program_answer(const struct program *p, const struct seccomp_data *call)
{
	uint32_t a = 0;

	for (uint32_t pc = 0; pc < p->count; pc++) {
		const struct sock_filter *f = &p->at[pc];

		if (f->code == (BPF_RET | BPF_K))
			return f->k;
		if (f->code == (BPF_LD | BPF_W | BPF_ABS))
			memcpy(&a, (const char *)call + f->k, sizeof(a));
		else if (f->code == (BPF_ALU | BPF_AND | BPF_K))
			a &= f->k;
		else if (f->code == (BPF_JMP | BPF_JA))
			pc += f->k;
		else if (BPF_CLASS(f->code) == BPF_JMP)
			pc += jumps(f, a) ? f->jt : f->jf;
		else
			fail_msg("unknown instruction %x", f->code);
	}
	fail_msg("the program has no end");
	return 0;
}
