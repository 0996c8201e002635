/* Reads the counters of the cgroups. An end is called one by memory only when the kernel's own count of
 * killings moved; a signal alone proves nothing. */
#include "evidence/kernel_limits.h"
#include "clock.h"
#include "kernel_file.h"
#include "shim.h"

#include <stdlib.h>
#include <string.h>

#define PAUSE (1000 * AR_SHIM_MS)

static const char *const kinds[AR_LIMIT_KIND_COUNT] = { "processes", "memory" };

static const struct {
	const char *file, *word;
	enum ar_limit_kind kind;
} counters[] = {
	{ "pids.events", "max", AR_LIMIT_PROCESSES },
	{ "memory.events", "oom_kill", AR_LIMIT_MEMORY },
	{ "memory.oom_control", "oom_kill", AR_LIMIT_MEMORY },
};

/* The file's lines are `word number`. */
static uint64_t read_counter(const char *folder, const char *file, const char *word)
{
	char text[512];
	size_t len = strlen(word);

	ar_kernel_file_read(folder, file, text, sizeof(text));
	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, word, len) == 0 && line[len] == ' ')
			return strtoull(line + len + 1, NULL, 10);
	}
	return 0;
}

static void read_all(struct ar_shim *s, uint64_t *ret)
{
	memset(ret, 0, AR_LIMIT_KIND_COUNT * sizeof(*ret));
	for (size_t i = 0; i < s->options.cgroup_count; i++) {
		for (size_t k = 0; k < sizeof(counters) / sizeof(counters[0]); k++)
			ret[counters[k].kind] +=
				read_counter(s->options.cgroups[i], counters[k].file, counters[k].word);
	}
}

void ar_limits_begin(struct ar_shim *s)
{
	read_all(s, s->limits.before);
	s->limits.look_at = s->options.cgroup_count ? ar_shim_mono() + PAUSE : 0;
}

static bool write_limit(struct ar_shim *s, int kind)
{
	struct ar_limits *l = &s->limits;

	if (!ar_journal_file_addf(&s->journal, AR_RECORD_LIMIT,
				  "{\"kind\":\"%s\",\"count\":%llu,\"evidence\":\"kernel-limit\"}",
				  kinds[kind], (unsigned long long)l->hits[kind]))
		return false;
	l->reported[kind] = l->hits[kind];
	l->newest = kind;
	return true;
}

static void read_hits(struct ar_shim *s)
{
	uint64_t now[AR_LIMIT_KIND_COUNT];

	read_all(s, now);
	for (int i = 0; i < AR_LIMIT_KIND_COUNT; i++)
		s->limits.hits[i] = now[i] > s->limits.before[i] ? now[i] - s->limits.before[i] : 0;
}

void ar_limits_watch(struct ar_shim *s, struct ar_loop *l)
{
	struct ar_limits *limits = &s->limits;
	uint64_t now = ar_shim_mono();

	if (limits->look_at == 0)
		return;
	if (limits->look_at <= now) {
		read_hits(s);
		for (int i = 0; i < AR_LIMIT_KIND_COUNT; i++) {
			if (limits->hits[i] > 0 && limits->reported[i] == 0)
				write_limit(s, i);
		}
		limits->look_at = now + PAUSE;
	}
	ar_loop_until(l, limits->look_at);
}

bool ar_limits_finish(struct ar_shim *s)
{
	if (s->init.is_released && s->options.cgroup_count > 0)
		read_hits(s);
	s->limits.look_at = 0;
	for (int i = 0; i < AR_LIMIT_KIND_COUNT; i++) {
		bool is_new = s->limits.hits[i] != s->limits.reported[i];

		if ((is_new || (s->limits.hits[i] > 0 && s->limits.newest < i)) && !write_limit(s, i))
			return false;
	}
	return true;
}
