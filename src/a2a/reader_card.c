/* See reader.h. Cards: of 1.0, of 0.3, and those that serve both. Pure functions. */
#include "a2a_task.h"
#include "reader_priv.h"

#define URL_MAX 2048
#define NAME_MAX_LEN 256
#define TEXT_MAX 4096

static bool is_true(struct ar_json v, const char *name)
{
	bool is = false;

	return ar_json_bool(ar_json_get(v, name), &is) && is;
}

/* Text of any kind that a person reads: cut, and absent when it is none. */
static struct ar_str text_of(struct ar_a2a_reading *r, struct ar_json v, const char *name)
{
	struct ar_str text;

	if (!ar_json_str(ar_json_get(v, name), &text) || !ar_str_is_text(text))
		return AR_STR_NONE;
	return ar_arena_str(r->arena, ar_str_utf8_prefix(text, TEXT_MAX));
}

static struct ar_a2a_interface *next_of(struct ar_a2a_card *c)
{
	return c->interface_count < AR_A2A_INTERFACES_MAX ? &c->interfaces[c->interface_count] : NULL;
}

static enum ar_peer_error read_interface(struct ar_a2a_reading *r, struct ar_json v, struct ar_a2a_card *ret)
{
	struct ar_a2a_interface *i = next_of(ret);

	if (!i)
		return ar_a2a_broken(r, "the card has too many interfaces");
	if (!ar_a2a_line(r, v, "url", URL_MAX, &i->url) ||
	    !ar_a2a_line(r, v, "protocolBinding", NAME_MAX_LEN, &i->binding) ||
	    !ar_a2a_line(r, v, "protocolVersion", NAME_MAX_LEN, &i->version) ||
	    !ar_a2a_optional_line(r, v, "tenant", NAME_MAX_LEN, &i->tenant))
		return ar_a2a_broken(r, "an interface of the card has no url, binding or version");
	ret->interface_count++;
	return AR_PEER_OK;
}

/* 0.3 has the transport beside the address; absent, it is JSON-RPC. */
static enum ar_peer_error read_old_interface(struct ar_a2a_reading *r, struct ar_json v, const char *binding,
					     struct ar_str version, struct ar_a2a_card *ret)
{
	struct ar_a2a_interface *i = next_of(ret);

	if (!i)
		return ar_a2a_broken(r, "the card has too many interfaces");
	if (!ar_a2a_line(r, v, "url", URL_MAX, &i->url) ||
	    !ar_a2a_optional_line(r, v, binding, NAME_MAX_LEN, &i->binding))
		return ar_a2a_broken(r, "an interface of the card has no url");
	if (ar_str_absent(i->binding))
		i->binding = AR_STR("JSONRPC");
	i->version = version;
	ret->interface_count++;
	return AR_PEER_OK;
}

static enum ar_peer_error read_old_interfaces(struct ar_a2a_reading *r, struct ar_json v,
					      struct ar_a2a_card *ret)
{
	struct ar_str version;
	enum ar_peer_error error = AR_PEER_OK;

	if (ar_json_type(ar_json_get(v, "url")) == AR_JSON_NONE)
		return AR_PEER_OK;
	if (!ar_a2a_optional_line(r, v, "protocolVersion", NAME_MAX_LEN, &version))
		return ar_a2a_broken(r, "the version of the card is no line of text");
	if (ar_str_absent(version))
		version = AR_STR("0.3");
	error = read_old_interface(r, v, "preferredTransport", version, ret);
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(v, "additionalInterfaces"));
	     error == AR_PEER_OK && ar_json_next(&it);)
		error = read_old_interface(r, it.value, "transport", version, ret);
	return error;
}

static bool has_extension(struct ar_json extensions, const char *uri)
{
	struct ar_str text;

	for (struct ar_json_iter it = ar_json_iter(extensions); ar_json_next(&it);) {
		if (ar_json_str(ar_json_get(it.value, "uri"), &text) && ar_str_is(text, uri))
			return true;
	}
	return false;
}

static void read_required(struct ar_a2a_reading *r, struct ar_json extensions, struct ar_a2a_card *ret)
{
	for (struct ar_json_iter it = ar_json_iter(extensions); ar_json_next(&it);) {
		if (!is_true(it.value, "required"))
			continue;
		if (!ar_a2a_line(r, it.value, "uri", URL_MAX, &ret->required))
			ret->required = AR_STR("one without a name");
		return;
	}
}

enum ar_peer_error ar_a2a_read_card(struct ar_a2a_reading *r, struct ar_json v, struct ar_a2a_card *ret)
{
	struct ar_json capabilities = ar_json_get(v, "capabilities");
	struct ar_json interfaces = ar_json_get(v, "supportedInterfaces");
	enum ar_peer_error error = AR_PEER_OK;

	*ret = (struct ar_a2a_card){ 0 };
	if (!ar_a2a_line(r, v, "name", NAME_MAX_LEN, &ret->name))
		return ar_a2a_broken(r, "the card has no name");
	ret->description = text_of(r, v, "description");
	ret->version = text_of(r, v, "version");
	ret->has_streaming = is_true(capabilities, "streaming");
	ret->has_push = is_true(capabilities, "pushNotifications");
	ret->is_repeat_safe =
		has_extension(ar_json_get(capabilities, "extensions"), AR_A2A_MESSAGE_ID_EXTENSION);
	read_required(r, ar_json_get(capabilities, "extensions"), ret);
	for (struct ar_json_iter it = ar_json_iter(interfaces); error == AR_PEER_OK && ar_json_next(&it);)
		error = read_interface(r, it.value, ret);
	if (error == AR_PEER_OK)
		error = read_old_interfaces(r, v, ret);
	if (error == AR_PEER_OK && ret->interface_count == 0)
		return ar_a2a_broken(r, "the card has no interface");
	return error;
}
