/* See evidence_key.h. The file has the 32 bytes of the seed. */
#include "ops/evidence_key.h"
#include "compiler.h"
#include "io/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Written aside and renamed: a crash leaves the whole file or none. */
static bool write_file(int folder, const char *name, struct ar_str bytes, mode_t mode)
{
	AR_AUTO(ar_fd_close) int fd = -1;
	char fresh[64];

	snprintf(fresh, sizeof fresh, "%s.new", name);
	fd = openat(folder, fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode);
	return fd >= 0 && fchmod(fd, mode) == 0 && ar_fd_write_all(fd, bytes) && fsync(fd) == 0 &&
	       renameat(folder, fresh, folder, name) == 0 && fsync(folder) == 0;
}

static enum ar_status read_seed(int fd, const char *data_dir, uint8_t seed[AR_SIGN_SEED],
				struct ar_error *err)
{
	uint8_t room[AR_SIGN_SEED + 1];

	if (!ar_fd_is_private_file(fd))
		return ar_fail(err, AR_E_INVALID,
			       "'%.200s/evidence.key' can be read or changed by others; it must belong to "
			       "this user, mode 0600",
			       data_dir);
	if (read(fd, room, sizeof room) != AR_SIGN_SEED)
		return ar_fail(err, AR_E_INVALID,
			       "'%.200s/evidence.key' is damaged; restore it, or remove it: evidence is then "
			       "signed with a new key",
			       data_dir);
	memcpy(seed, room, AR_SIGN_SEED);
	explicit_bzero(room, sizeof room);
	return AR_OK;
}

static enum ar_status need_seed(int folder, const char *data_dir, uint8_t seed[AR_SIGN_SEED],
				struct ar_error *err)
{
	AR_AUTO(ar_fd_close) int fd = openat(folder, "evidence.key", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0)
		return read_seed(fd, data_dir, seed, err);
	if (errno != ENOENT)
		return ar_fail(err, AR_E_IO, "'%.200s/evidence.key' cannot be opened: %s", data_dir,
			       strerror(errno));
	ar_hash_draw(seed, AR_SIGN_SEED);
	if (write_file(folder, "evidence.key", (struct ar_str){ (const char *)seed, AR_SIGN_SEED }, 0600))
		return AR_OK;
	return ar_fail(err, AR_E_IO, "'%.200s/evidence.key' cannot be written: %s", data_dir,
		       strerror(errno));
}

enum ar_status ar_evidence_key_open(const char *data_dir, struct ar_evidence_key *ret, struct ar_error *err)
{
	AR_AUTO(ar_fd_close) int folder = open(data_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (folder < 0)
		return ar_fail(err, AR_E_IO, "'%.200s' cannot be opened: %s", data_dir, strerror(errno));
	*ret = (struct ar_evidence_key){ .data_dir = data_dir };
	return need_seed(folder, data_dir, ret->seed, err);
}

/* Every pack has the public half, too: without the file beside the key only a check by --key is harder. */
static void write_public(const struct ar_evidence_key *k)
{
	AR_AUTO(ar_fd_close) int folder = open(k->data_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct ar_arena a = { 0 };

	if (folder >= 0 && faccessat(folder, "evidence.pem", F_OK, 0) != 0)
		(void)write_file(folder, "evidence.pem", ar_sign_pem(&a, k->key.public), 0644);
	ar_arena_fini(&a);
}

const struct ar_sign_key *ar_evidence_key_use(void *arg)
{
	struct ar_evidence_key *k = arg;

	if (!k->is_made) {
		ar_sign_key_from(&k->key, k->seed);
		explicit_bzero(k->seed, sizeof k->seed);
		write_public(k);
		k->is_made = true;
	}
	return &k->key;
}
