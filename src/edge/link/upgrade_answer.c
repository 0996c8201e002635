/* See upgrade_answer.h. Strict: a server that agrees is one of ours, and writes each header once, on one
 * line. */
#include "upgrade_answer.h"

#include <string.h>
#include <strings.h>

struct headers {
	struct ar_str upgrade, connection, accept, protocol, extensions, node;
};

static bool is_word(struct ar_str s, const char *word)
{
	return s.len == strlen(word) && strncasecmp(s.p, word, s.len) == 0;
}

static struct ar_str *slot_of(struct headers *h, struct ar_str name)
{
	return is_word(name, "Upgrade")			   ? &h->upgrade
	       : is_word(name, "Connection")		   ? &h->connection
	       : is_word(name, "Sec-WebSocket-Accept")	   ? &h->accept
	       : is_word(name, "Sec-WebSocket-Protocol")   ? &h->protocol
	       : is_word(name, "Sec-WebSocket-Extensions") ? &h->extensions
	       : is_word(name, "Agent-Runtime-Node")	   ? &h->node
							   : NULL;
}

/* The next line without its end; false: it is not complete, or not ended by CR LF. */
static bool next_line(struct ar_str *rest, struct ar_str *ret)
{
	const char *end = rest->len ? memchr(rest->p, '\n', rest->len) : NULL;
	size_t len = end ? (size_t)(end - rest->p) : 0;

	if (!end || len == 0 || rest->p[len - 1] != '\r')
		return false;
	*ret = ar_str_sub(*rest, 0, len - 1);
	*rest = ar_str_sub(*rest, len + 1, rest->len);
	return true;
}

static bool read_status(struct ar_str line, int *ret)
{
	static const char version[] = "HTTP/1.1 ";
	size_t at = sizeof version - 1;

	if (line.len < at + 3 || memcmp(line.p, version, at) != 0 ||
	    (line.len > at + 3 && line.p[at + 3] != ' '))
		return false;
	for (size_t i = at; i < at + 3; i++) {
		if (line.p[i] < '0' || line.p[i] > '9')
			return false;
		*ret = *ret * 10 + (line.p[i] - '0');
	}
	return *ret >= 100;
}

static bool read_header(struct ar_str line, struct headers *h)
{
	struct ar_str name, value = ar_str_split(line, ':', &name), *slot;

	if (ar_str_absent(value) || !name.len || name.p[0] == ' ' || name.p[0] == '\t' ||
	    name.p[name.len - 1] == ' ' || memchr(line.p, '\0', line.len) || memchr(line.p, '\r', line.len))
		return false;
	slot = slot_of(h, name);
	if (slot && !ar_str_absent(*slot))
		return false;
	if (slot)
		*slot = ar_str_trim(value, " \t");
	return true;
}

static bool agrees(const struct headers *h, struct ar_str accept, struct ar_str protocol)
{
	return is_word(h->upgrade, "websocket") && is_word(h->connection, "upgrade") && accept.len > 0 &&
	       ar_str_eq(h->accept, accept) && ar_str_eq(h->protocol, protocol) &&
	       ar_str_absent(h->extensions);
}

/* Whether the empty line that ends the head is there. */
static bool has_head(struct ar_str bytes, struct ar_str *ret)
{
	const char *end = bytes.len ? memmem(bytes.p, bytes.len, "\r\n\r\n", 4) : NULL;

	if (!end)
		return false;
	*ret = ar_str_sub(bytes, 0, (size_t)(end - bytes.p) + 2);
	return true;
}

enum ar_upgrade_outcome ar_upgrade_answer_read(struct ar_str bytes, struct ar_str accept,
					       struct ar_str protocol, struct ar_upgrade_answer *ret)
{
	struct ar_str head, line;
	struct headers h = { 0 };

	*ret = (struct ar_upgrade_answer){ 0 };
	if (!has_head(bytes, &head))
		return bytes.len > AR_UPGRADE_HEAD_MAX ? AR_UPGRADE_BAD : AR_UPGRADE_MORE;
	ret->head_bytes = head.len + 2;
	if (head.len > AR_UPGRADE_HEAD_MAX || !next_line(&head, &line) || !read_status(line, &ret->status))
		return AR_UPGRADE_BAD;
	if (ret->status != 101)
		return AR_UPGRADE_REFUSED;
	while (head.len) {
		if (!next_line(&head, &line) || !read_header(line, &h))
			return AR_UPGRADE_BAD;
	}
	ret->node = h.node;
	return agrees(&h, accept, protocol) ? AR_UPGRADE_DONE : AR_UPGRADE_BAD;
}
