/* See rule.h. */
#include "rule.h"

#include <arpa/inet.h>
#include <string.h>

#define LABEL_MAX 63

static bool read_address(struct ar_str text, char out[AR_EGRESS_HOST_MAX])
{
	char plain[INET6_ADDRSTRLEN];
	unsigned char bytes[sizeof(struct in6_addr)];
	bool is_bracketed = text.len > 2 && text.p[0] == '[' && text.p[text.len - 1] == ']';

	if (is_bracketed)
		text = ar_str_sub(text, 1, text.len - 2);
	if (text.len >= sizeof(plain))
		return false;
	memcpy(plain, text.p, text.len);
	plain[text.len] = 0;
	if (!is_bracketed && inet_pton(AF_INET, plain, bytes) == 1)
		return inet_ntop(AF_INET, bytes, out, AR_EGRESS_HOST_MAX) != NULL;
	return inet_pton(AF_INET6, plain, bytes) == 1 &&
	       inet_ntop(AF_INET6, bytes, out, AR_EGRESS_HOST_MAX) != NULL;
}

static bool is_letter(char c)
{
	return c >= 'a' && c <= 'z';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_label(struct ar_str label)
{
	if (label.len == 0 || label.len > LABEL_MAX || label.p[0] == '-' || label.p[label.len - 1] == '-')
		return false;
	for (size_t i = 0; i < label.len; i++) {
		char c = label.p[i];

		if (!is_letter(c) && !is_digit(c) && c != '-' && c != '_')
			return false;
	}
	return true;
}

/* "127.1", "0x7f000001" and "2130706433" are addresses to some resolvers: the last label of a name begins
 * with a letter. */
static bool is_name(struct ar_str name)
{
	struct ar_str label = AR_STR_NONE;

	while (!ar_str_absent(name)) {
		name = ar_str_split(name, '.', &label);
		if (!is_label(label))
			return false;
	}
	return is_letter(label.p[0]);
}

bool ar_egress_host(struct ar_str text, char out[AR_EGRESS_HOST_MAX])
{
	if (ar_str_empty(text) || text.len >= AR_EGRESS_HOST_MAX)
		return false;
	if (read_address(text, out))
		return true;
	if (text.p[text.len - 1] == '.')
		text.len--;
	for (size_t i = 0; i < text.len; i++)
		out[i] = (char)(text.p[i] >= 'A' && text.p[i] <= 'Z' ? text.p[i] + ('a' - 'A') : text.p[i]);
	out[text.len] = 0;
	return is_name((struct ar_str){ out, text.len });
}

/* ---- rules ---- */

static bool read_ports(struct ar_str text, struct ar_egress_rule *ret)
{
	struct ar_str one;
	uint64_t port;

	while (!ar_str_absent(text)) {
		text = ar_str_split(text, ',', &one);
		if (ret->port_count == AR_EGRESS_PORTS_MAX || !ar_str_to_u64(one, &port) || port == 0 ||
		    port > 65535)
			return false;
		ret->ports[ret->port_count++] = (uint16_t)port;
	}
	return true;
}

/* The colon before the ports is the one after the name or the bracket. */
static struct ar_str split_ports(struct ar_str text, struct ar_str *ret_host)
{
	size_t from = 0;

	if (text.len > 0 && text.p[0] == '[') {
		while (from < text.len && text.p[from] != ']')
			from++;
	}
	for (size_t i = from; i < text.len; i++) {
		if (text.p[i] != ':')
			continue;
		*ret_host = ar_str_sub(text, 0, i);
		return ar_str_sub(text, i + 1, text.len);
	}
	*ret_host = text;
	return AR_STR_NONE;
}

bool ar_egress_rule_read(struct ar_str text, struct ar_egress_rule *ret)
{
	struct ar_str host, address, ports;
	char canonical[AR_EGRESS_HOST_MAX];
	bool is_wild;

	*ret = (struct ar_egress_rule){ .is_private = ar_str_ends(text, AR_STR("!")) };
	if (ret->is_private)
		text.len--;
	address = ar_str_split(text, '@', &text);
	ports = split_ports(text, &host);
	is_wild = ar_str_starts(host, AR_STR("*."));
	if (!ar_egress_host(is_wild ? ar_str_sub(host, 2, host.len) : host, canonical) ||
	    strlen(canonical) + 3 > sizeof(ret->host) || !read_ports(ports, ret))
		return false;
	memcpy(ret->host, "*.", 2);
	memcpy(ret->host + (is_wild ? 2 : 0), canonical, strlen(canonical) + 1);
	if (ar_str_absent(address))
		return true;
	return read_address(address, canonical) && strlen(canonical) < sizeof(ret->address) &&
	       memcpy(ret->address, canonical, strlen(canonical) + 1);
}

static bool has_port(const struct ar_egress_rule *rule, uint16_t port)
{
	for (size_t i = 0; i < rule->port_count; i++) {
		if (rule->ports[i] == port)
			return true;
	}
	return rule->port_count == 0 && (port == 80 || port == 443);
}

static bool has_host(const struct ar_egress_rule *rule, struct ar_str host)
{
	struct ar_str wanted = ar_str_from(rule->host);

	if (!ar_str_starts(wanted, AR_STR("*.")))
		return ar_str_eq(wanted, host);
	return host.len > wanted.len - 1 && ar_str_ends(host, ar_str_sub(wanted, 1, wanted.len));
}

const struct ar_egress_rule *ar_egress_find(const struct ar_egress_rule *rules, size_t count,
					    const char *host, uint16_t port)
{
	for (size_t i = 0; i < count; i++) {
		if (has_port(&rules[i], port) && has_host(&rules[i], ar_str_from(host)))
			return &rules[i];
	}
	return NULL;
}
