/* See image.h. */
#include "image/image.h"
#include "base64.h"
#include "json.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FILE_URL "file://"
#define HEAD 12 /* bytes that say what it is */

/* ---- files ---- */

static const char *type_of(struct ar_str bytes)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *type;
	} heads[] = { { "\x89PNG\r\n\x1a\n", 8, "image/png" },
		      { "\xff\xd8\xff", 3, "image/jpeg" },
		      { "GIF87a", 6, "image/gif" },
		      { "GIF89a", 6, "image/gif" } };

	for (size_t i = 0; i < AR_ARRAY_LEN(heads); i++) {
		if (bytes.len >= heads[i].len && memcmp(bytes.p, heads[i].bytes, heads[i].len) == 0)
			return heads[i].type;
	}
	if (bytes.len >= HEAD && memcmp(bytes.p, "RIFF", 4) == 0 && memcmp(bytes.p + 8, "WEBP", 4) == 0)
		return "image/webp";
	return NULL;
}

/* A regular file, through no link; -1: errno says why. A pipe must not make us wait. */
static int open_file(const char *path)
{
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
				.resolve = RESOLVE_NO_SYMLINKS };
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
		close(fd);
		errno = EINVAL;
		return -1;
	}
	return fd;
}

static bool has_image_name(struct ar_str path)
{
	static const char *const ends[] = { ".png", ".jpg", ".jpeg", ".gif", ".webp" };

	for (size_t i = 0; i < AR_ARRAY_LEN(ends); i++) {
		size_t len = strlen(ends[i]);

		if (path.len > len && strncasecmp(path.p + path.len - len, ends[i], len) == 0)
			return true;
	}
	return false;
}

/* ---- names in a text ---- */

/* The next name in `text` after an at sign, from *at on; *at is behind it then. */
static bool next_name(struct ar_str text, size_t *at, struct ar_str *ret)
{
	for (size_t i = *at; i + 1 < text.len; i++) {
		bool is_quoted = text.p[i + 1] == '"';
		size_t from = i + 1 + is_quoted, end = from;

		if (text.p[i] != '@' || (i > 0 && !strchr(" \t\n(", text.p[i - 1])))
			continue;
		while (end < text.len && !strchr(is_quoted ? "\"\n" : " \t\n", text.p[end]))
			end++;
		*at = end;
		while (!is_quoted && end > from && strchr(",.;:!?)", text.p[end - 1]))
			end--;
		*ret = ar_str_sub(text, from, end - from);
		return true;
	}
	return false;
}

/* ---- a turn ---- */

struct reading {
	struct ar_ctl *ctl;
	struct ar_jw w;
	struct ar_buf names, bytes; /* bytes: of one image */
	size_t left; /* of all images */
};

static enum ar_exit refuse(struct reading *r, struct ar_str name, const char *why)
{
	return ar_ctl_complain(r->ctl, AR_EXIT_FAILED,
			       AR_STR("name a PNG, JPEG, GIF or WebP file, or write the name without @"),
			       "the image '%.*s' is not sent: %s", AR_STR_ARG(ar_str_utf8_prefix(name, 200)),
			       why);
}

static bool read_bytes(struct reading *r, int fd)
{
	ssize_t n = 1;

	ar_buf_clear(&r->bytes);
	while (n > 0 && r->bytes.len <= r->left) {
		char *room = ar_buf_room(&r->bytes, 65536);

		n = room ? read(fd, room, 65536) : -1;
		r->bytes.len += n > 0 ? (size_t)n : 0;
	}
	return n >= 0;
}

static void add_part(struct reading *r, struct ar_str name, const char *type)
{
	ar_jw_open(&r->w);
	ar_jw_mstr(&r->w, "type", AR_STR("image"));
	ar_jw_mstr(&r->w, "mimeType", ar_str_from(type));
	ar_jw_mstr(&r->w, "data", ar_base64(&r->ctl->arena, ar_buf_str(&r->bytes)));
	ar_jw_close(&r->w);
	r->left -= r->bytes.len;
	ar_buf_addf(&r->names, "%s%.*s (%s, %zu KB)", r->names.len ? ", " : "", AR_STR_ARG(name),
		    strchr(type, '/') + 1, (r->bytes.len + 1023) / 1024);
}

static enum ar_exit add_image(struct reading *r, struct ar_str name)
{
	int fd = open_file(ar_ctl_strdup(r->ctl, name));
	const char *type;
	bool is_read;

	if (fd < 0 && errno == ELOOP)
		return refuse(r, name, "its path has a symbolic link in it");
	if (fd < 0)
		return refuse(r, name, errno == EINVAL ? "it is no file" : strerror(errno));
	is_read = read_bytes(r, fd);
	close(fd);
	if (!is_read)
		return refuse(r, name, "it cannot be read");
	if (r->bytes.len > r->left)
		return refuse(r, name, "images of one turn can have 690 KB together");
	type = type_of(ar_buf_str(&r->bytes));
	if (!type)
		return refuse(r, name, "its content is none that models can see");
	add_part(r, name, type);
	return AR_EXIT_OK;
}

enum ar_exit ar_images_read(struct ar_ctl *c, struct ar_str text, struct ar_images *ret)
{
	struct ar_buf input = { 0 };
	struct reading r = { .ctl = c, .w = ar_jw(&input), .left = AR_IMAGES_MAX };
	enum ar_exit exit = AR_EXIT_OK;
	struct ar_str name;
	size_t at = 0;

	*ret = (struct ar_images){ 0 };
	ar_jw_open_array(&r.w);
	ar_jw_open(&r.w);
	ar_jw_mstr(&r.w, "type", AR_STR("text"));
	ar_jw_mstr(&r.w, "text", text);
	ar_jw_close(&r.w);
	while (exit == AR_EXIT_OK && next_name(text, &at, &name)) {
		if (has_image_name(name))
			exit = add_image(&r, name);
	}
	ar_jw_close_array(&r.w);
	if (exit == AR_EXIT_OK && r.names.len)
		*ret = (struct ar_images){ ar_arena_str(&c->arena, ar_buf_str(&input)),
					   ar_arena_str(&c->arena, ar_buf_str(&r.names)) };
	ar_buf_fini(&input);
	ar_buf_fini(&r.names);
	ar_buf_fini(&r.bytes);
	return exit;
}

/* ---- files that are dropped ---- */

static int hex_value(char c)
{
	const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c | 0x20) : NULL;

	return at ? (int)(at - digits) : -1;
}

static void add_decoded(struct ar_buf *to, struct ar_str url)
{
	for (size_t i = 0; i < url.len; i++) {
		int high = url.p[i] == '%' && i + 2 < url.len ? hex_value(url.p[i + 1]) : -1;
		int low = high >= 0 ? hex_value(url.p[i + 2]) : -1;

		ar_buf_addc(to, low >= 0 ? (char)(high * 16 + low) : url.p[i]);
		i += low >= 0 ? 2 : 0;
	}
}

static void add_unescaped(struct ar_buf *to, struct ar_str word)
{
	for (size_t i = 0; i < word.len; i++) {
		if (word.p[i] == '\\' && i + 1 < word.len)
			i++;
		ar_buf_addc(to, word.p[i]);
	}
}

static void add_path(struct ar_buf *to, struct ar_str text)
{
	char quote = text.len > 2 ? text.p[0] : 0;

	if (ar_str_starts(text, AR_STR(FILE_URL)))
		add_decoded(to, ar_str_sub(text, sizeof(FILE_URL) - 1, text.len));
	else if ((quote == '\'' || quote == '"') && text.p[text.len - 1] == quote)
		ar_buf_adds(to, ar_str_sub(text, 1, text.len - 2));
	else
		add_unescaped(to, text);
	ar_buf_addc(to, '\0');
	to->len--;
}

static bool is_image_file(const char *path)
{
	int fd = open_file(path);
	char head[HEAD];
	ssize_t n = fd >= 0 ? read(fd, head, sizeof(head)) : -1;

	if (fd >= 0)
		close(fd);
	return n > 0 && type_of((struct ar_str){ head, (size_t)n });
}

bool ar_image_is_dropped(struct ar_str text, struct ar_buf *ret)
{
	struct ar_buf path = { 0 };
	struct ar_str p;
	bool is_image;

	add_path(&path, ar_str_trim(text, " \t\n"));
	p = ar_buf_str(&path);
	is_image = ar_str_starts(p, AR_STR("/")) && has_image_name(p) && ar_str_is_utf8(p) &&
		   !memchr(p.p, '\0', p.len) && !strpbrk(p.p, "\"\n") && is_image_file(p.p);
	if (is_image)
		ar_buf_addf(ret, strpbrk(p.p, " \t") ? "@\"%s\" " : "@%s ", p.p);
	ar_buf_fini(&path);
	return is_image;
}
