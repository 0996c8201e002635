/* test-sim: runs seeds, one after the other, and stops at the first that breaks a law. See sim.h. */
#include "sim.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEEDS_DEFAULT 300
#define TWICE 10 /* the first seeds are run again: the trace must be the same */

struct wishes {
	uint64_t first, last;
	bool trace, log; /* print what happened; print what was stored */
};

struct sim *sim_current;

static void last_words(int number)
{
	char text[160];
	int len = snprintf(text, sizeof(text),
			   "\nsim: signal %d in seed %llu; repeat: test-sim --seed %llu --trace\n", number,
			   (unsigned long long)sim_current->seed, (unsigned long long)sim_current->seed);

	if (len > 0 && write(STDERR_FILENO, text, (size_t)len) < 0)
		_exit(2);
	signal(number, SIG_DFL);
	raise(number);
}

void sim_say(struct sim *s, const char *who, const char *fmt, ...)
{
	struct ar_arena a = { 0 };
	va_list ap;

	va_start(ap, fmt);
	ar_buf_addf(&s->trace, "%10.3f  %-10s ", (double)s->now / 1000, who);
	ar_buf_adds(&s->trace, ar_arena_vfmt(&a, fmt, ap));
	ar_buf_addc(&s->trace, '\n');
	va_end(ap);
	ar_arena_fini(&a);
}

void sim_fail(struct sim *s, const char *fmt, ...)
{
	va_list ap;

	if (s->is_loud)
		fwrite(s->trace.p, 1, s->trace.len, stdout);
	fflush(stdout);
	va_start(ap, fmt);
	fprintf(stderr, "sim: seed %llu, step %llu, at %.3f ms: ", (unsigned long long)s->seed,
		(unsigned long long)s->steps, (double)s->now / 1000);
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, "\n     repeat: test-sim --seed %llu --trace\n", (unsigned long long)s->seed);
	va_end(ap);
	exit(1);
}

static void print_logs(struct sim *s)
{
	const struct sim_log *log;

	for (size_t i = 0; (log = ar_map_next(&s->logs, &i));) {
		for (size_t k = 0; k < log->count; k++)
			printf("%.*s\n", AR_STR_ARG(log->facts[k].json));
	}
}

static struct ar_hash run_seed(uint64_t seed, const struct wishes *x, struct sim_counts *counts)
{
	struct sim s = { .is_loud = x->trace };
	struct ar_hash h;

	sim_current = &s;
	sim_begin(&s, seed, counts);
	sim_settle(&s);
	sim_check_rest(&s);
	h = ar_hash_of(ar_buf_str(&s.trace));
	if (x->trace)
		fwrite(s.trace.p, 1, s.trace.len, stdout);
	if (x->log)
		print_logs(&s);
	sim_end(&s);
	return h;
}

static void run_seeds(const struct wishes *x, struct sim_counts *c)
{
	for (uint64_t seed = x->first; seed <= x->last; seed++) {
		struct ar_hash h = run_seed(seed, x, c), again;

		c->seeds++;
		if (seed - x->first >= TWICE || x->trace || x->log)
			continue;
		again = run_seed(seed, x, c);
		if (memcmp(&h, &again, sizeof(h)) != 0) {
			fprintf(stderr, "sim: seed %llu is not repeatable\n", (unsigned long long)seed);
			exit(1);
		}
	}
}

static void show(const struct sim_counts *c)
{
	const struct {
		const char *name;
		uint64_t n;
	} rows[] = {
		{ "seeds", c->seeds },
		{ "facts", c->facts },
		{ "turns", c->turns },
		{ "completed", c->completed },
		{ "failed", c->failed },
		{ "cancelled", c->cancelled },
		{ "calls", c->calls },
		{ "hooks", c->hooks },
		{ "crashes", c->crashes },
		{ "fences", c->fences },
		{ "moves", c->moves },
		{ "refused", c->refused },
		{ "repeats", c->repeats },
		{ "steers", c->steers },
		{ "forks", c->forks },
		{ "rollbacks", c->rollbacks },
		{ "conflicts", c->conflicts },
		{ "resumes", c->resumes },
		{ "frames", c->frames },
		{ "rejoins", c->rejoins },
		{ "overtaken", c->overtaken },
		{ "reads", c->reads },
		{ "processes", c->processes },
		{ "attaches", c->attaches },
		{ "checkpoints", c->checkpoints },
		{ "worker changes", c->worker_changes },
		{ "worker waits", c->worker_waits },
		{ "worker losses", c->worker_losses },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++)
		printf("%s%s %llu", i ? ", " : "", rows[i].name, (unsigned long long)rows[i].n);
	printf("\n");
}

/* "N" is 1..N, "A..B" is itself. */
static bool parse_seeds(const char *text, uint64_t *first, uint64_t *last)
{
	const char *dots = strstr(text, "..");

	*first = 1;
	if (!dots)
		return ar_str_to_u64(ar_str_from(text), last);
	return ar_str_to_u64((struct ar_str){ text, (size_t)(dots - text) }, first) &&
	       ar_str_to_u64(ar_str_from(dots + 2), last);
}

static bool parse_arguments(int argc, char **argv, struct wishes *x)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--trace") == 0)
			x->trace = true;
		else if (strcmp(argv[i], "--log") == 0)
			x->log = true;
		else if (strcmp(argv[i], "--seeds") == 0 && i + 1 < argc &&
			 parse_seeds(argv[i + 1], &x->first, &x->last))
			i++;
		else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc &&
			 ar_str_to_u64(ar_str_from(argv[i + 1]), &x->last))
			x->first = x->last, i++;
		else
			return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	const char *env = getenv("AR_SIM_SEEDS");
	struct wishes x = { .first = 1, .last = SEEDS_DEFAULT };
	struct sim_counts counts = { 0 };

	if ((env && !parse_seeds(env, &x.first, &x.last)) || !parse_arguments(argc, argv, &x)) {
		fprintf(stderr, "usage: test-sim [--seed N | --seeds A..B] [--trace] [--log]; AR_SIM_SEEDS=N "
				"or A..B\n");
		return 2;
	}
	signal(SIGABRT, last_words);
	signal(SIGSEGV, last_words);
	run_seeds(&x, &counts);
	if (!x.log)
		show(&counts);
	return 0;
}
