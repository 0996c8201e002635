/* Reads journals, a bounded piece in each turn of the loop, and the rest in the next turn: neither one
 * process nor many of them hold up the loop. Nothing is kept between turns but the offset of the next record.
 * Loop thread only. */
#include "proc.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define RECORD_MAX (sizeof(struct ar_record_head) + AR_JOURNAL_PAYLOAD_MAX)
#define TURN_COST 4096 /* of looking, in bytes of the turn's budget */
#define BROKEN_USEC (3 * 1000000)

void ar_proc_follow(struct ar_proc *p)
{
	if (p->is_retired || !p->owner || !ar_list_empty(&p->reading))
		return;
	ar_list_push(&p->all->reading, &p->reading);
	uv_idle_start(&p->all->awake, ar_processes_read);
}

void ar_proc_unfollow(struct ar_proc *p)
{
	ar_list_del(&p->reading);
}

static bool open_journal(struct ar_proc *p)
{
	struct stat st;

	if (p->journal < 0 && p->dir >= 0)
		p->journal =
			openat(p->dir, AR_FOLDER_JOURNAL, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	return p->journal >= 0 && fstat(p->journal, &st) == 0 && S_ISREG(st.st_mode);
}

/* Delivers every whole record; returns how many bytes they were. */
static size_t notify_records(struct ar_proc *p, const char *bytes, size_t len)
{
	struct ar_record r;
	size_t at = 0, size;

	while (p->owner && !p->state.is_sealed && !p->state.is_broken) {
		size = ar_record_read(bytes + at, len - at, &r, &p->state.is_broken);
		if (size == 0 || !ar_journal_state_apply(&p->state, &r, p->all->parser))
			break;
		at += size;
		p->offset += size;
		ar_proc_notify(p, &r);
	}
	return at;
}

/* It cannot be followed any further, so it must not go on unseen. */
static void on_broken(struct ar_proc *p)
{
	ar_shim_control_end(&p->control, AR_STR("policy"), AR_STR("its journal is damaged"), 0);
	p->force_at = ar_proc_now() + BROKEN_USEC;
	ar_proc_arm(p);
}

/* One piece; returns what it cost. */
static size_t read_piece(struct ar_proc *p, size_t max)
{
	bool was_alone = p->is_alone, was_broken = p->state.is_broken;
	bool is_readable = !was_broken && open_journal(p);
	ssize_t n = is_readable ? pread(p->journal, p->all->bytes, max, (off_t)p->offset) : 0;
	size_t count = n > 0 ? notify_records(p, p->all->bytes, (size_t)n) : 0;

	if (!p->owner)
		return count;
	if (n < 0 && errno != EINTR)
		p->state.is_broken = true;
	if (p->state.is_sealed)
		ar_proc_conclude(p);
	else if (p->state.is_broken && !was_broken && !was_alone)
		on_broken(p);
	else if (count > 0)
		ar_proc_follow(p);
	else if (was_alone) {
		/* A record that is not whole: it might have said that it was let go. */
		p->state.is_broken = p->state.is_broken || n > 0;
		ar_proc_conclude(p);
	}
	return count;
}

void ar_processes_read(uv_idle_t *awake)
{
	struct ar_processes *all = awake->data;
	size_t spent = 0;

	while (spent + RECORD_MAX <= AR_PROC_READ_BYTES && !ar_list_empty(&all->reading)) {
		struct ar_proc *p = AR_CONTAINER_OF(ar_list_pop(&all->reading), struct ar_proc, reading);

		spent += TURN_COST + read_piece(p, AR_PROC_READ_BYTES - spent);
	}
	if (ar_list_empty(&all->reading) && !all->is_closing)
		uv_idle_stop(awake);
}
