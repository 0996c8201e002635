/* The certificate files as an SSL_CTX. A reload makes a new one and swaps the pointer: every session
 * holds a reference of its own to the one that it began with. Owner: the loop thread. */
#include "tls/tls_context.h"
#include "loopback.h"
#include "mem.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <sys/stat.h>

#define FILES 3

/* What the files are called in the configuration; [1] of a mutual context. */
static const char *const settings[2][FILES] = {
	{ "tls.certificate", "tls.key", "tls.client_ca" },
	{ "cluster.tls_certificate", "cluster.tls_key", "cluster.tls_ca" },
};

/* What identifies the version of a file. */
struct mark {
	struct timespec mtime;
	ino_t ino;
	off_t size;
};

struct ar_tls_context {
	SSL_CTX *ssl;
	char *paths[FILES]; /* certificate, key, client CA; the last may be NULL */
	struct mark marks[FILES];
	bool is_mutual;
	char *name; /* that every node has; NULL: its address */
	char *own_host;
};

static struct mark mark_of(const char *path)
{
	struct stat st;

	if (!path || stat(path, &st))
		return (struct mark){ 0 };
	return (struct mark){ st.st_mtim, st.st_ino, st.st_size };
}

static bool is_same(const struct mark *a, const struct mark *b)
{
	return a->mtime.tv_sec == b->mtime.tv_sec && a->mtime.tv_nsec == b->mtime.tv_nsec &&
	       a->ino == b->ino && a->size == b->size;
}

/* ---- making one ---- */

/* h2 where both can, else HTTP/1.1; a client that offers neither is not ours to serve. */
static int choose_protocol(SSL *ssl AR_UNUSED, const unsigned char **out, unsigned char *out_len,
			   const unsigned char *in, unsigned in_len, void *arg AR_UNUSED)
{
	static const unsigned char ours[] = "\x02h2\x08http/1.1";
	unsigned char *found;

	if (SSL_select_next_proto(&found, out_len, ours, sizeof ours - 1, in, in_len) !=
	    OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*out = found;
	return SSL_TLSEXT_ERR_OK;
}

static void set_up(SSL_CTX *ssl)
{
	static const unsigned char id[] = "agentd";

	SSL_CTX_set_min_proto_version(ssl, TLS1_3_VERSION);
	SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_PRIORITIZE_CHACHA);
	SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
				      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF); /* tickets carry what is resumed */
	SSL_CTX_set_session_id_context(ssl, id, sizeof id - 1);
	SSL_CTX_set_alpn_select_cb(ssl, choose_protocol, NULL);
}

/* Nodes speak HTTP/1.1 with each other, and no session is resumed: each shows its certificate anew. */
static void set_up_mutual(SSL_CTX *ssl)
{
	SSL_CTX_set_alpn_select_cb(ssl, NULL, NULL);
	SSL_CTX_set_num_tickets(ssl, 0);
	SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
}

/* The certificate must have this name or address among its alternative names, written out. */
static void expect_name(X509_VERIFY_PARAM *param, const char *name)
{
	AR_ASSERT(*name);
	X509_VERIFY_PARAM_set_hostflags(param,
					X509_CHECK_FLAG_NO_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	if (X509_VERIFY_PARAM_set1_ip_asc(param, name) != 1)
		AR_ASSERT(X509_VERIFY_PARAM_set1_host(param, name, 0) == 1);
	ERR_clear_error();
}

static enum ar_status note_problem(struct ar_error *err, const char *what, const char *path)
{
	unsigned long e = ERR_peek_last_error();
	const char *why = e ? ERR_reason_error_string(e) : NULL;

	ERR_clear_error();
	return ar_fail(err, AR_E_INVALID, "%s '%s' cannot be used: %s", what, path,
		       why ? why : "it is not readable PEM");
}

/* A client without a certificate is let in: what it may do without one is not decided here. */
static enum ar_status ask_clients(SSL_CTX *ssl, const char *what, const char *path, struct ar_error *err)
{
	STACK_OF(X509_NAME) * names;

	if (SSL_CTX_load_verify_file(ssl, path) != 1)
		return note_problem(err, what, path);
	names = SSL_load_client_CA_file(path);
	if (!names)
		return note_problem(err, what, path);
	SSL_CTX_set_client_CA_list(ssl, names);
	SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER, NULL);
	return AR_OK;
}

static enum ar_status read_files(SSL_CTX *ssl, const struct ar_tls_context *c, struct ar_error *err)
{
	const char *const *what = settings[c->is_mutual];

	ERR_clear_error();
	if (SSL_CTX_use_certificate_chain_file(ssl, c->paths[0]) != 1)
		return note_problem(err, what[0], c->paths[0]);
	if (SSL_CTX_use_PrivateKey_file(ssl, c->paths[1], SSL_FILETYPE_PEM) != 1 ||
	    SSL_CTX_check_private_key(ssl) != 1)
		return note_problem(err, what[1], c->paths[1]);
	return c->paths[2] ? ask_clients(ssl, what[2], c->paths[2], err) : AR_OK;
}

static long verify_as(SSL_CTX *ssl, const char *purpose, const char *name)
{
	STACK_OF(X509) *chain = NULL;
	X509_STORE_CTX *check = X509_STORE_CTX_new();
	long result = X509_V_OK;

	SSL_CTX_get0_chain_certs(ssl, &chain);
	AR_ASSERT(check && X509_STORE_CTX_init(check, SSL_CTX_get_cert_store(ssl),
					       SSL_CTX_get0_certificate(ssl), chain) == 1);
	X509_STORE_CTX_set_default(check, purpose);
	if (*name)
		expect_name(X509_STORE_CTX_get0_param(check), name);
	if (X509_verify_cert(check) != 1)
		result = X509_STORE_CTX_get_error(check);
	X509_STORE_CTX_free(check);
	ERR_clear_error();
	return result;
}

/* A certificate that other nodes would refuse is found here, and not by the first request. Files that
 * are replaced one after the other are taken when all of them fit. */
static enum ar_status check_own(SSL_CTX *ssl, const struct ar_tls_context *c, struct ar_error *err)
{
	const char *name = c->name ? c->name : c->own_host;
	long result = verify_as(ssl, "ssl_server", name);

	if (result == X509_V_OK)
		result = verify_as(ssl, "ssl_client", name);
	if (result == X509_V_OK)
		return AR_OK;
	return ar_fail(
		err, AR_E_INVALID,
		"cluster.tls_certificate '%s' would be refused by other nodes: %s. It must be signed by "
		"cluster.tls_ca for client and server, and have '%s' in its subjectAltName",
		c->paths[0], X509_verify_cert_error_string(result), name);
}

/* The marks are taken before the files are read: a change in between is seen at the next look. */
static enum ar_status load(struct ar_tls_context *c, struct ar_error *err)
{
	SSL_CTX *ssl = SSL_CTX_new(c->is_mutual ? TLS_method() : TLS_server_method());
	enum ar_status st;

	AR_ASSERT(ssl);
	for (int i = 0; i < FILES; i++)
		c->marks[i] = mark_of(c->paths[i]);
	set_up(ssl);
	st = read_files(ssl, c, err);
	if (st == AR_OK && c->is_mutual) {
		set_up_mutual(ssl);
		st = check_own(ssl, c, err);
	}
	if (st != AR_OK) {
		SSL_CTX_free(ssl);
		return st;
	}
	SSL_CTX_free(c->ssl);
	c->ssl = ssl;
	return AR_OK;
}

enum ar_status ar_tls_context_open(const struct ar_tls_files *files, struct ar_tls_context **ret,
				   struct ar_error *err)
{
	struct ar_tls_context *c = ar_new0(sizeof *c);
	enum ar_status st;

	c->paths[0] = ar_str_dup(ar_str_from(files->certificate));
	c->paths[1] = ar_str_dup(ar_str_from(files->key));
	if (files->client_ca && *files->client_ca)
		c->paths[2] = ar_str_dup(ar_str_from(files->client_ca));
	c->is_mutual = files->is_mutual;
	if (files->name && *files->name)
		c->name = ar_str_dup(ar_str_from(files->name));
	c->own_host = files->own_host ? ar_str_dup(ar_str_from(files->own_host)) : NULL;
	st = load(c, err);
	if (st != AR_OK)
		ar_tls_context_free(c);
	else
		*ret = c;
	return st;
}

void ar_tls_context_free(struct ar_tls_context *c)
{
	if (!c)
		return;
	for (int i = 0; i < FILES; i++)
		ar_free(c->paths[i]);
	SSL_CTX_free(c->ssl);
	ar_free(c->name);
	ar_free(c->own_host);
	ar_free(c);
}

/* ---- using it ---- */

enum ar_tls_refresh ar_tls_context_refresh(struct ar_tls_context *c, bool is_forced, struct ar_error *err)
{
	bool has_changed = is_forced;

	for (int i = 0; i < FILES; i++) {
		struct mark now = mark_of(c->paths[i]);

		has_changed = has_changed || !is_same(&now, &c->marks[i]);
	}
	if (!has_changed)
		return AR_TLS_SAME;
	return load(c, err) == AR_OK ? AR_TLS_TAKEN : AR_TLS_KEPT;
}

bool ar_tls_context_covers(const struct ar_tls_context *c, struct ar_str host)
{
	X509 *mine = SSL_CTX_get0_certificate(c->ssl);
	char text[256];

	if (!host.len || host.len >= sizeof text)
		return false;
	if (X509_check_host(mine, host.p, host.len, 0, NULL) == 1)
		return true;
	for (size_t i = 0; i < host.len; i++)
		text[i] = host.p[i];
	text[host.len] = 0;
	return X509_check_ip_asc(mine, text, 0) == 1;
}

SSL *ar_tls_context_session(const struct ar_tls_context *c)
{
	SSL *ssl = SSL_new(c->ssl);

	AR_ASSERT(ssl);
	SSL_set_accept_state(ssl);
	return ssl;
}

SSL *ar_tls_context_session_with(const struct ar_tls_context *c, struct ar_str host, bool is_client)
{
	SSL *ssl = SSL_new(c->ssl);
	char text[AR_HOST_MAX];

	AR_ASSERT(ssl && c->is_mutual && host.len && host.len < sizeof text);
	memcpy(text, host.p, host.len);
	text[host.len] = 0;
	expect_name(SSL_get0_param(ssl), c->name ? c->name : text);
	if (is_client)
		SSL_set_connect_state(ssl);
	else
		SSL_set_accept_state(ssl);
	return ssl;
}

bool ar_tls_context_is_current(const struct ar_tls_context *c, const SSL *ssl)
{
	return SSL_get_SSL_CTX(ssl) == c->ssl;
}
