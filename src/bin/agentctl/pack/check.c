/* See check.h: the signature first, then the statement that it is over, then everything that this names. */
#include "pack/check.h"
#include "base64.h"
#include "crypto/sign.h"
#include "io/descriptor.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PAYLOAD_TYPE "application/vnd.in-toto+json"

struct check {
	struct ar_ctl *c;
	const char *path;
	int folder;
	struct ar_str statement;
	struct ar_json_parser *json;
	struct ar_json doc; /* of the statement */
	struct ar_pack_checked *ret;
};

static enum ar_exit wrong(struct check *k, const char *name, const char *why)
{
	return ar_ctl_complain(k->c, AR_EXIT_FAILED, AR_STR("do not rely on this pack; ask for it again"),
			       "%s/%s: %s", k->path, name, why);
}

/* ---- the signature ---- */

/* The envelope says the same as the files beside it, byte by byte. */
static bool is_envelope(struct check *k, struct ar_str envelope, struct ar_str signature)
{
	struct ar_arena *a = &k->c->arena;
	struct ar_buf out = { 0 };
	struct ar_jw w = ar_jw(&out);
	bool ok;

	ar_jw_open(&w);
	ar_jw_mstr(&w, "payload", ar_base64(a, k->statement));
	ar_jw_mstr(&w, "payloadType", AR_STR(PAYLOAD_TYPE));
	ar_jw_key(&w, "signatures");
	ar_jw_open_array(&w);
	ar_jw_open(&w);
	ar_jw_mstr(&w, "keyid", k->ret->fingerprint);
	ar_jw_mstr(&w, "sig", ar_base64(a, signature));
	ar_jw_close(&w);
	ar_jw_close_array(&w);
	ar_jw_close(&w);
	ok = ar_str_eq(ar_buf_str(&out), envelope);
	ar_buf_fini(&out);
	return ok;
}

static enum ar_exit check_signature(struct check *k, struct ar_str wanted_key)
{
	struct ar_str pem, pae, signature, envelope, expected;
	uint8_t key[AR_SIGN_PUBLIC], wanted[AR_SIGN_PUBLIC];

	if (!ar_pack_read(k->c, k->folder, "key.pem", &pem) || !ar_sign_pem_read(pem, key))
		return wrong(k, "key.pem", "it is no Ed25519 public key");
	k->ret->fingerprint = ar_sign_fingerprint(&k->c->arena, key);
	if (!ar_str_absent(wanted_key) &&
	    (!ar_sign_pem_read(wanted_key, wanted) || memcmp(wanted, key, sizeof(key)) != 0))
		return wrong(k, "key.pem", "it is another key than the one that was given");
	if (!ar_pack_read(k->c, k->folder, "statement.json", &k->statement) ||
	    !ar_pack_read(k->c, k->folder, "statement.pae", &pae) ||
	    !ar_pack_read(k->c, k->folder, "statement.sig", &signature) ||
	    !ar_pack_read(k->c, k->folder, "statement.dsse.json", &envelope))
		return wrong(k, "statement.*", "one of these files is missing");
	if (signature.len != AR_SIGNATURE || !ar_sign_is_valid(key, pae, (const uint8_t *)signature.p))
		return wrong(k, "statement.sig", "the signature is not valid");
	expected = ar_arena_fmt(&k->c->arena, "DSSEv1 %zu %s %zu %.*s", sizeof(PAYLOAD_TYPE) - 1,
				PAYLOAD_TYPE, k->statement.len, AR_STR_ARG(k->statement));
	if (!ar_str_eq(expected, pae))
		return wrong(k, "statement.json", "it is not what was signed");
	if (!is_envelope(k, envelope, signature))
		return wrong(k, "statement.dsse.json", "it says something else than the files beside it");
	return AR_EXIT_OK;
}

/* ---- the digests ---- */

static enum ar_exit check_digest(struct check *k, struct ar_str name, struct ar_str digest)
{
	char hex[AR_HASH_HEX], path[128];

	snprintf(path, sizeof(path), "%.*s", AR_STR_ARG(ar_str_sub(name, 0, 100)));
	if (!ar_pack_digest(k->folder, path, hex))
		return wrong(k, path, "it is missing");
	return ar_str_eq(digest, (struct ar_str){ hex, sizeof(hex) }) ? AR_EXIT_OK
								      : wrong(k, path, "it was changed");
}

static enum ar_exit check_subjects(struct check *k)
{
	bool has_sums = false;
	enum ar_exit exit = AR_EXIT_OK;

	if (ar_json_parse(k->json, k->statement, &k->doc, NULL) != AR_OK)
		return wrong(k, "statement.json", "it is not JSON");
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(k->doc, "subject"));
	     exit == AR_EXIT_OK && ar_json_next(&it);) {
		struct ar_str name = ar_api_str(it.value, "name");

		has_sums |= ar_str_is(name, "SHA256SUMS");
		if (ar_str_empty(name) || memchr(name.p, '/', name.len))
			return wrong(k, "statement.json", "it names a file outside of the pack");
		exit = check_digest(k, name, ar_api_str(ar_json_get(it.value, "digest"), "sha256"));
	}
	return exit == AR_EXIT_OK && !has_sums ? wrong(k, "statement.json", "it does not name SHA256SUMS")
					       : exit;
}

/* `<digest>  <name>`: the name is a file of the pack, or blobs/ and the digest itself. */
static enum ar_exit check_sum(struct check *k, struct ar_str line)
{
	struct ar_str digest = ar_str_sub(line, 0, AR_HASH_HEX);
	struct ar_str name = ar_str_sub(line, AR_HASH_HEX + 2, line.len);
	bool is_content = ar_str_starts(name, AR_STR("blobs/"));

	if (!ar_pack_is_digest(digest) || name.len == 0 ||
	    (is_content ? !ar_str_eq(ar_str_sub(name, 6, name.len), digest)
			: memchr(name.p, '/', name.len) != NULL))
		return wrong(k, "SHA256SUMS", "a line is not one of a pack");
	k->ret->files++;
	return check_digest(k, name, digest);
}

static enum ar_exit check_sums(struct check *k)
{
	int fd = openat(k->folder, "SHA256SUMS", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	enum ar_exit exit = f ? AR_EXIT_OK : wrong(k, "SHA256SUMS", "it cannot be read");
	char line[256];

	while (exit == AR_EXIT_OK && fgets(line, sizeof(line), f))
		exit = check_sum(k, ar_str_trim(ar_str_from(line), "\n"));
	if (f)
		fclose(f);
	return exit;
}

/* ---- the tree ---- */

static enum ar_pack_extent extent_of(const struct ar_pack_checked *p, struct ar_json scope)
{
	bool is_turn = !ar_str_absent(ar_api_str(scope, "turnId")) &&
		       ar_str_absent(ar_api_str(scope, "taskId")) &&
		       ar_str_absent(ar_api_str(scope, "jobId"));

	if (p->facts == p->size)
		return AR_EXTENT_SESSION;
	return is_turn ? AR_EXTENT_TURN : AR_EXTENT_PART;
}

static enum ar_exit check_tree(struct check *k)
{
	struct ar_json predicate = ar_json_get(k->doc, "predicate"), tree = ar_json_get(predicate, "tree");
	struct ar_json scope = ar_json_get(predicate, "scope");
	char root[AR_HASH_HEX];
	uint64_t size;

	k->ret->session = ar_arena_str(&k->c->arena, ar_api_str(scope, "sessionId"));
	k->ret->facts = (uint64_t)ar_api_int(ar_json_get(predicate, "facts"), "count");
	k->ret->size = (uint64_t)ar_api_int(tree, "size");
	k->ret->extent = extent_of(k->ret, scope);
	k->ret->root = ar_arena_str(&k->c->arena, ar_api_str(tree, "root"));
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(predicate, "knownGaps")); ar_json_next(&it);)
		k->ret->gaps++;
	if (!ar_pack_tree(k->folder, 0, NULL, root, &size) || size != k->ret->size ||
	    !ar_str_eq(k->ret->root, (struct ar_str){ root, sizeof(root) }))
		return wrong(k, "events.ndjson", "its facts do not give the root that was signed");
	return AR_EXIT_OK;
}

enum ar_exit ar_pack_check(struct ar_ctl *c, const char *path, struct ar_str key, struct ar_pack_checked *ret)
{
	struct check k = { .c = c, .path = path, .ret = ret };
	enum ar_exit exit;

	*ret = (struct ar_pack_checked){ 0 };
	k.folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (k.folder < 0)
		return ar_ctl_complain(c, AR_EXIT_FAILED, AR_STR("name the folder of a pack"),
				       "%s cannot be opened", path);
	k.json = ar_json_parser_new();
	exit = check_signature(&k, key);
	if (exit == AR_EXIT_OK)
		exit = check_subjects(&k);
	if (exit == AR_EXIT_OK)
		exit = check_sums(&k);
	if (exit == AR_EXIT_OK)
		exit = check_tree(&k);
	ar_json_parser_free(k.json);
	ar_fd_close(&k.folder);
	return exit;
}

enum ar_exit ar_pack_compare(struct ar_ctl *c, const char *path, const struct ar_pack_checked *earlier)
{
	AR_AUTO(ar_fd_close) int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char root[AR_HASH_HEX];
	uint64_t size;

	if (ar_pack_tree(folder, earlier->size, NULL, root, &size) &&
	    ar_str_eq(earlier->root, (struct ar_str){ root, sizeof(root) }))
		return AR_EXIT_OK;
	return ar_ctl_complain(c, AR_EXIT_FAILED,
			       AR_STR("facts were changed, dropped or put in another order between the two"),
			       "the first %llu facts are not those of the earlier pack",
			       (unsigned long long)earlier->size);
}
