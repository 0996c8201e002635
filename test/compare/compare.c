/* Every decision of this program is made a second time by the core of another version, on a session
 * restored from a snapshot; both are compared as text (trace.h). Linked with --wrap=ar_session_decide
 * by a build with AR_COMPARE, which names that version's library.
 *
 * AR_COMPARE_FOLDER: where differences are written, one file each. `counts` in it has three
 * numbers of eight bytes that all processes share: decisions, facts, differences; without
 * that file nothing is compared. */
#include "neutral.h"
#include "reference.h"
#include "trace.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct counts {
	_Atomic uint64_t decisions, facts, differences;
};

static struct {
	bool is_open;
	struct counts *counts;
	ar_reference_decide_fn *decide;
} reference;

enum ar_status __real_ar_session_decide(struct ar_session *s, const struct ar_input *in,
					struct ar_json_parser *json, struct ar_arena *arena,
					struct ar_decision *ret, struct ar_error *err);
static bool recovers_masked(const struct ar_input *in)
{
	for (size_t i = 0; i < in->recover.output_count; i++) {
		if (in->recover.outputs[i].masked.count > 0)
			return true;
	}
	return false;
}

/* Names of masks and of repaired fields were JSON text up to eb86e4d: such an input has no common layout. */
static bool is_comparable(const struct ar_input *in)
{
	switch (in->kind) {
	case AR_IN_COMMAND:
		return in->command.masked.count == 0;
	case AR_IN_MODEL_DONE:
		return in->model_done.output->masked.count == 0;
	case AR_IN_TOOL_DONE:
		return in->tool_done.masked.count == 0;
	case AR_IN_HOOK_DONE:
		return in->hook_done->masked.count == 0;
	case AR_IN_PROCESS_READY:
		return in->process_ready->masked.count == 0;
	case AR_IN_PROCESS_END:
		return in->process_end->masked.count == 0;
	case AR_IN_RECOVER:
		return !recovers_masked(in);
	default:
		return in->kind != AR_IN_REPAIR;
	}
}

enum ar_status __wrap_ar_session_decide(struct ar_session *s, const struct ar_input *in,
					struct ar_json_parser *json, struct ar_arena *arena,
					struct ar_decision *ret, struct ar_error *err);

static void *symbol_of(void *library, const char *name)
{
	void *at = library ? dlsym(library, name) : NULL;

	if (!at) {
		fprintf(stderr, "compare: %s: %s\n", name, dlerror());
		abort();
	}
	return at;
}

/* NULL: there is no such file. */
static struct counts *share_counts(void)
{
	int fd = open(AR_COMPARE_FOLDER "/counts", O_RDWR | O_CLOEXEC);
	void *at;

	if (fd < 0)
		return NULL;
	at = mmap(NULL, sizeof(struct counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (at == MAP_FAILED)
		abort();
	return at;
}

static void open_reference(void)
{
	ar_reference_sizes_fn *sizes;
	size_t theirs[2];
	void *library;

	reference.is_open = true;
	reference.counts = share_counts();
	if (!reference.counts)
		return;
	library = dlopen(AR_COMPARE, RTLD_NOW | RTLD_LOCAL);
	*(void **)&sizes = symbol_of(library, AR_REFERENCE_SIZES);
	*(void **)&reference.decide = symbol_of(library, AR_REFERENCE_DECIDE);
	sizes(theirs);
	if (theirs[0] != sizeof(struct ar_neutral_input) || theirs[1] != sizeof(struct ar_policy)) {
		fprintf(stderr,
			"compare: struct ar_neutral_input or struct ar_policy has another size in the other "
			"version\n");
		abort();
	}
}

static void write_difference(struct ar_str ours, struct ar_str theirs, uint64_t number)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof path, AR_COMPARE_FOLDER "/%d-%llu", (int)getpid(), (unsigned long long)number);
	f = fopen(path, "w");
	if (!f)
		return;
	fprintf(f, "==== theirs\n%.*s==== ours\n%.*s", AR_STR_ARG(theirs), AR_STR_ARG(ours));
	fclose(f);
}

enum ar_status __wrap_ar_session_decide(struct ar_session *s, const struct ar_input *in,
					struct ar_json_parser *json, struct ar_arena *arena,
					struct ar_decision *ret, struct ar_error *err)
{
	struct ar_neutral_input neutral;
	struct ar_arena args = { 0 };
	struct ar_buf snapshot = { 0 }, ours = { 0 };
	enum ar_status rc;
	char *theirs, session_key[64];

	if (!reference.is_open)
		open_reference();
	if (!reference.counts || !is_comparable(in))
		return __real_ar_session_decide(s, in, json, arena, ret, err);
	if (s->head > 0)
		ar_session_snapshot(s, &snapshot);
	snprintf(session_key, sizeof session_key, "%.*s", AR_STR_ARG(s->session_key));
	neutral = ar_neutral_from_input(in, &args);
	theirs = reference.decide(session_key, snapshot.p, snapshot.len, &neutral);
	rc = __real_ar_session_decide(s, in, json, arena, ret, err);
	ar_trace_decision(rc, err, ret, &ours);
	atomic_fetch_add(&reference.counts->decisions, 1);
	atomic_fetch_add(&reference.counts->facts, rc == AR_OK ? ret->event_count : 0);
	if (!ar_str_eq(ar_str_from(theirs), ar_buf_str(&ours)))
		write_difference(ar_buf_str(&ours), ar_str_from(theirs),
				 atomic_fetch_add(&reference.counts->differences, 1));
	free(theirs);
	ar_arena_fini(&args);
	ar_buf_fini(&snapshot);
	ar_buf_fini(&ours);
	return rc;
}
