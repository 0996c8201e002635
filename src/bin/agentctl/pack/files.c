/* Reading files of a pack. See pack.h. */
#include "crypto/sha256.h"
#include "io/descriptor.h"
#include "pack/pack.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_plain(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)))
		ar_fd_close(&fd);
	return fd;
}

bool ar_pack_read(struct ar_ctl *c, int folder, const char *name, struct ar_str *ret)
{
	AR_AUTO(ar_fd_close) int fd = open_plain(folder, name);
	struct ar_buf text = { 0 };
	char room[65536];
	ssize_t n = -1;

	while (fd >= 0 && text.len <= AR_PACK_TEXT_MAX && (n = read(fd, room, sizeof(room))) > 0)
		ar_buf_add(&text, room, (size_t)n);
	if (n != 0) {
		ar_buf_fini(&text);
		return false;
	}
	*ret = ar_ctl_take_buf(c, &text);
	return true;
}

bool ar_pack_digest(int folder, const char *name, char ret[AR_HASH_HEX])
{
	AR_AUTO(ar_fd_close) int fd = open_plain(folder, name);
	struct ar_sha256 sha = { 0 };
	struct ar_hash hash;
	char room[65536];
	ssize_t n = -1;

	while (fd >= 0 && (n = read(fd, room, sizeof(room))) > 0)
		ar_sha256_add(&sha, (struct ar_str){ room, (size_t)n });
	hash = ar_sha256_end(&sha);
	ar_sha256_fini(&sha);
	ar_hash_hex(&hash, ret);
	return n == 0;
}

bool ar_pack_is_digest(struct ar_str text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (!(text.p[i] >= '0' && text.p[i] <= '9') && !(text.p[i] >= 'a' && text.p[i] <= 'f'))
			return false;
	}
	return text.len == AR_HASH_HEX;
}
