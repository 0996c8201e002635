/* The handshake and the way in. Ciphertext is decrypted as long as the owner reads; when it stops, what is
 * left of the read is kept until it goes on, which is not inside its own call but in the flush of the turn.
 * Owner: the loop thread. */
#include "h1/h1_conn.h"
#include "loopback.h"
#include "mem.h"
#include "tls/tls_context.h"
#include "tls/tls_priv.h"

#include <openssl/err.h>
#include <string.h>

void ar_tls_shared_init(struct ar_tls_shared *s)
{
	ar_list_init(&s->ready);
}

void ar_tls_shared_open(struct ar_tls_shared *s)
{
	if (s->method)
		return;
	s->method = ar_tls_bio_method();
	s->plain_in = ar_grow(NULL, AR_TLS_RECORD, 1);
	s->plain_out = ar_grow(NULL, AR_TLS_RECORD, 1);
}

void ar_tls_shared_fini(struct ar_tls_shared *s)
{
	if (s->method)
		BIO_meth_free(s->method);
	ar_tls_context_free(s->context);
	ar_tls_context_free(s->mutual);
	ar_buf_fini(&s->out);
	ar_free(s->plain_in);
	ar_free(s->plain_out);
}

void ar_tls_free(struct ar_tls *t)
{
	if (!t)
		return;
	ar_list_del(&t->ready);
	SSL_free(t->ssl);
	ar_buf_fini(&t->in);
	ar_buf_fini(&t->out);
	ar_buf_fini(&t->next);
	ar_free(t->subject);
	ar_free(t);
}

void ar_tls_wake(struct ar_tls *t)
{
	struct ar_http_server *s = t->link->server;

	ar_list_del(&t->ready);
	ar_list_push(&s->tls.ready, &t->ready);
	ar_server_wake(s);
}

/* ---- the handshake ---- */

static void keep_subject(struct ar_tls *t)
{
	X509 *theirs = SSL_get0_peer_certificate(t->ssl);
	BIO *text;
	char *p;
	long len;

	if (!theirs || SSL_get_verify_result(t->ssl) != X509_V_OK)
		return;
	text = BIO_new(BIO_s_mem());
	X509_NAME_print_ex(text, X509_get_subject_name(theirs), 0, XN_FLAG_RFC2253);
	len = BIO_get_mem_data(text, &p);
	t->subject = ar_str_dup((struct ar_str){ p, (size_t)len });
	t->link->source.certificate = ar_str_from(t->subject);
	BIO_free(text);
}

/* Somebody speaks HTTP to us in the clear: the one mistake that deserves an answer which can be read. */
static void say_plainly(struct ar_byte_link *l)
{
	static const char text[] =
		"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
		"this address requires https\n";
	uv_buf_t buf = uv_buf_init((char *)text, sizeof text - 1);

	uv_try_write(&l->u.stream, &buf, 1);
}

static void fail_handshake(struct ar_tls *t)
{
	struct ar_byte_link *l = t->link;

	l->server->counters.tls_failed++;
	l->why = SSL_get_verify_result(t->ssl) != X509_V_OK
			 ? X509_verify_cert_error_string(SSL_get_verify_result(t->ssl))
			 : ERR_reason_error_string(ERR_peek_error());
	if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_HTTP_REQUEST)
		say_plainly(l);
	else
		ar_tls_send(t); /* the alert */
	ERR_clear_error();
	ar_buf_clear(t->bio.out);
	l->v->lost(l);
}

static void open_protocol(struct ar_tls *t)
{
	const unsigned char *protocol;
	unsigned len;

	SSL_get0_alpn_selected(t->ssl, &protocol, &len);
	if (len == 2 && memcmp(protocol, "h2", 2) == 0)
		ar_h2_open(t->link, AR_STR(""));
	else
		ar_conn_open(t->link);
}

/* True when it is over and well. */
static bool shake_hands(struct ar_tls *t)
{
	int r;

	ERR_clear_error();
	r = SSL_do_handshake(t->ssl);
	if (r != 1 && SSL_get_error(t->ssl, r) != SSL_ERROR_WANT_READ) {
		fail_handshake(t);
		return false;
	}
	if (!ar_tls_send(t)) {
		t->link->v->lost(t->link);
		return false;
	}
	if (r != 1)
		return false;
	t->is_established = true;
	keep_subject(t);
	ar_deadline_clear(&t->link->deadline);
	if (t->link->is_outgoing)
		t->link->secured(t->link);
	else
		open_protocol(t);
	return true;
}

/* ---- reading ---- */

/* One record to the owner; false when there is none to be had now. */
static bool read_record(struct ar_tls *t)
{
	char *room = t->link->server->tls.plain_in;
	int n, why;

	ERR_clear_error();
	n = SSL_read(t->ssl, room, (int)AR_TLS_RECORD);
	why = n > 0 ? SSL_ERROR_NONE : SSL_get_error(t->ssl, n);
	t->link->has_ended = why == SSL_ERROR_ZERO_RETURN;
	t->link->why = why == SSL_ERROR_SSL ? ERR_reason_error_string(ERR_peek_error()) : NULL;
	ERR_clear_error();
	/* Before anyone is called: the buffer is shared with the links that may be written to then. */
	if (!ar_tls_send(t) || (n <= 0 && why != SSL_ERROR_WANT_READ)) {
		t->link->v->lost(t->link);
		return false;
	}
	if (n > 0)
		t->link->v->bytes(t->link, (struct ar_str){ room, (size_t)n });
	return n > 0;
}

static void feed(struct ar_tls *t, struct ar_str bytes)
{
	struct ar_byte_link *l = t->link;

	t->bio.in = bytes;
	t->is_feeding = true;
	if (t->is_established || shake_hands(t)) {
		while (t->is_reading && !l->is_closing && read_record(t))
			;
	}
	t->is_feeding = false;
	if (t->bio.in.len && !l->is_closing)
		ar_buf_adds(&t->in, t->bio.in);
	t->bio.in = AR_STR_NONE;
}

/* What was kept when the owner stopped to read. */
static void read_kept(struct ar_tls *t)
{
	struct ar_buf in = t->in;

	t->in = (struct ar_buf){ 0 };
	feed(t, ar_buf_str(&in));
	ar_buf_fini(&in);
}

void ar_tls_feed(struct ar_byte_link *l, struct ar_str bytes)
{
	struct ar_tls *t = l->tls;

	if (!t->in.len) {
		feed(t, bytes);
		return;
	}
	ar_buf_adds(&t->in, bytes);
	read_kept(t);
}

bool ar_tls_read_start(struct ar_byte_link *l)
{
	struct ar_tls *t = l->tls;

	if (t->is_reading)
		return true;
	t->is_reading = true;
	if (!t->is_feeding && t->in.len)
		ar_tls_wake(t);
	return true;
}

void ar_tls_read_stop(struct ar_byte_link *l)
{
	l->tls->is_reading = false;
}

void ar_tls_flush(struct ar_http_server *s)
{
	struct ar_list now, *node;

	ar_list_init(&now);
	ar_list_splice(&now, &s->tls.ready);
	while ((node = ar_list_pop(&now))) {
		struct ar_tls *t = AR_CONTAINER_OF(node, struct ar_tls, ready);

		if (t->link->is_closing)
			continue;
		if (t->queue && !t->write)
			ar_tls_write_more(t);
		if (!t->link->is_closing && t->is_reading && t->in.len)
			read_kept(t);
	}
}

/* ---- the beginning ---- */

static void on_expired(struct ar_deadline *d)
{
	struct ar_byte_link *l = AR_CONTAINER_OF(d, struct ar_byte_link, deadline);

	l->server->counters.timeouts++;
	ar_byte_link_close(l);
}

static void attach(struct ar_byte_link *l, SSL *ssl)
{
	struct ar_tls_shared *shared = &l->server->tls;
	struct ar_tls *t = ar_new0(sizeof *t);
	BIO *bio;

	t->link = l;
	t->bio.out = &shared->out;
	t->ssl = ssl;
	bio = ar_tls_bio_new(shared->method, &t->bio);
	SSL_set_bio(t->ssl, bio, bio);
	ar_list_init(&t->ready);
	l->tls = t;
	l->source.is_tls = true;
}

/* A node is known by the address that it comes from, unless all nodes share a name. */
static SSL *session_of_peer(const struct ar_byte_link *l)
{
	char host[INET6_ADDRSTRLEN] = "unknown";
	union ar_sockaddr sa;
	int len = sizeof sa;

	if (!uv_tcp_getpeername(&l->u.tcp, &sa.any, &len))
		uv_ip_name(&sa.any, host, sizeof host);
	return ar_tls_context_session_with(l->server->tls.mutual, ar_str_from(host), false);
}

void ar_tls_start(struct ar_byte_link *l)
{
	attach(l, l->source.is_peer ? session_of_peer(l) : ar_tls_context_session(l->server->tls.context));
	l->deadline.expired = on_expired;
	ar_byte_link_set_deadline(l, AR_DEADLINE_HANDSHAKE);
}

void ar_tls_connect(struct ar_byte_link *l, struct ar_str host)
{
	attach(l, ar_tls_context_session_with(l->server->tls.mutual, host, true));
	l->tls->is_reading = true; /* the link is */
	shake_hands(l->tls);
}

bool ar_byte_link_is_current(const struct ar_byte_link *l)
{
	return !l->tls ||
	       ar_tls_context_is_current(l->source.is_peer ? l->server->tls.mutual : l->server->tls.context,
					 l->tls->ssl);
}
