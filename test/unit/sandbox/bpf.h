/* What a filter answers, worked out here: the few instructions that libseccomp and our preamble use. So every
 * number and every argument can be asked, also those that no test may really call. */
#ifndef AR_TEST_SANDBOX_BPF_H
#define AR_TEST_SANDBOX_BPF_H

#include "filter.h"

#include <linux/filter.h>
#include <linux/seccomp.h>

struct program {
	struct sock_filter at[BPF_MAXINSNS];
	unsigned short count;
};

void program_read(struct program *p, struct ar_str hex);
void program_make(struct program *p, enum ar_filter_kind kind); /* by ar_filter_make */

/* SECCOMP_RET_... with its data. Fails the test at an instruction it does not know. */
uint32_t program_answer(const struct program *p, const struct seccomp_data *call);

#endif
