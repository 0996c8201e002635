/* See journal_file.h. */
#include "journal_file.h"

#include "id.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

void journal_handle(const struct journal_file *j, const char *machine, const char *boot, char out[512])
{
	struct ar_arena a = { 0 };
	struct ar_machine m;

	ar_machine_read(&m);
	if (machine)
		snprintf(m.id, sizeof(m.id), "%s", machine);
	if (boot)
		snprintf(m.boot, sizeof(m.boot), "%s", boot);
	snprintf(out, 512, "%s", ar_handle_text(&a, &m, ar_str_from(j->folder)).p);
	ar_arena_fini(&a);
}

void journal_make(struct journal_file *j, struct desk *d)
{
	char name[AR_SESSION_KEY_LEN], path[160];

	ar_id_mint(name);
	*j = (struct journal_file){ .lock = -1 };
	snprintf(j->folder, sizeof(j->folder), "%s/%.*s", d->folder, AR_SESSION_KEY_LEN, name);
	assert_int_equal(mkdir(j->folder, 0700), 0);
	snprintf(path, sizeof(path), "%s/journal", j->folder);
	j->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND, 0600);
	assert_true(j->fd >= 0);
	journal_handle(j, NULL, NULL, j->handle);
}

void journal_add(struct journal_file *j, enum ar_record_type type, enum ar_record_stream stream,
		 const void *bytes, size_t len)
{
	struct ar_record_head head = { .len = (uint32_t)len,
				       .type = (uint16_t)type,
				       .stream = (uint16_t)stream,
				       .seq = ++j->seq,
				       .at = 1000000 * j->seq };

	ar_record_close(&head, bytes);
	assert_int_equal(write(j->fd, &head, sizeof(head)), sizeof(head));
	assert_int_equal(write(j->fd, bytes, len), len);
}

void journal_say(struct journal_file *j, enum ar_record_type type, const char *json)
{
	journal_add(j, type, AR_STREAM_NONE, json, strlen(json));
}

void journal_begin(struct journal_file *j)
{
	journal_say(j, AR_RECORD_SPAWNED, "{\"shimPid\":1,\"bootId\":\"x\",\"protocol\":1}");
	journal_say(j, AR_RECORD_APPLIED, "{\"pid\":1}");
	journal_say(j, AR_RECORD_RELEASED, "{}");
	journal_say(j, AR_RECORD_STARTED, "{\"pid\":2}");
}

void journal_end(struct journal_file *j, const char *exit_json)
{
	journal_say(j, AR_RECORD_EXIT, exit_json);
	journal_say(j, AR_RECORD_OUTPUT_END, "{\"stdout\":3,\"stderr\":0,\"tty\":0}");
	journal_say(j, AR_RECORD_SEALED, "{}");
}

void journal_lock(struct journal_file *j)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/lock", j->folder);
	j->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(flock(j->lock, LOCK_EX | LOCK_NB), 0);
}

void journal_close(struct journal_file *j)
{
	close(j->fd);
	if (j->lock >= 0)
		close(j->lock);
}
