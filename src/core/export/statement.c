/* The in-toto statement over the digests of a pack, the bytes that are signed (DSSE), and the signature: raw,
 * and as a DSSE envelope. */
#include "base64.h"
#include "pack.h"

#define PAYLOAD_TYPE "application/vnd.in-toto+json"

static void write_subject(const struct ar_pack_file *f, struct ar_jw *w)
{
	char hex[AR_HASH_HEX];

	ar_hash_hex(&f->hash, hex);
	ar_jw_open(w);
	ar_jw_mstr(w, "name", ar_str_from(f->name));
	ar_jw_key(w, "digest");
	ar_jw_open(w);
	ar_jw_mstr(w, "sha256", (struct ar_str){ hex, sizeof(hex) });
	ar_jw_close(w);
	ar_jw_close(w);
}

static void write_statement(struct ar_pack *p, struct ar_buf *out)
{
	struct ar_jw w = ar_jw(out);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "_type", AR_STR("https://in-toto.io/Statement/v1"));
	ar_jw_key(&w, "subject");
	ar_jw_open_array(&w);
	write_subject(&p->files[AR_PACK_SUMS], &w); /* first: it covers the contents, too */
	for (size_t i = 0; i < AR_PACK_SUMS; i++) {
		if (p->files[i].is_used)
			write_subject(&p->files[i], &w);
	}
	ar_jw_close_array(&w);
	ar_jw_mstr(&w, "predicateType", AR_STR("urn:agentruntime:evidence:v1"));
	ar_jw_key(&w, "predicate");
	ar_jw_open(&w);
	ar_pack_write_scope(p, &w);
	ar_jw_close(&w);
	ar_jw_close(&w);
}

static void add(struct ar_pack *p, enum ar_pack_file_id id, struct ar_str bytes)
{
	ar_pack_file_add(&p->files[id], bytes);
	ar_pack_file_close(&p->files[id]);
}

static void write_envelope(struct ar_pack *p, struct ar_str statement, struct ar_str signature,
			   struct ar_str key_id)
{
	struct ar_buf out = { 0 };
	struct ar_jw w = ar_jw(&out);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "payload", ar_base64(&p->arena, statement));
	ar_jw_mstr(&w, "payloadType", AR_STR(PAYLOAD_TYPE));
	ar_jw_key(&w, "signatures");
	ar_jw_open_array(&w);
	ar_jw_open(&w);
	ar_jw_mstr(&w, "keyid", key_id);
	ar_jw_mstr(&w, "sig", ar_base64(&p->arena, signature));
	ar_jw_close(&w);
	ar_jw_close_array(&w);
	ar_jw_close(&w);
	add(p, AR_PACK_DSSE, ar_buf_str(&out));
	ar_buf_fini(&out);
}

void ar_pack_sign(struct ar_pack *p, const struct ar_sign_key *key)
{
	struct ar_buf statement = { 0 }, pae = { 0 };
	uint8_t raw[AR_SIGNATURE];
	struct ar_str signature = { (const char *)raw, sizeof(raw) };

	write_statement(p, &statement);
	add(p, AR_PACK_STATEMENT, ar_buf_str(&statement));
	if (key) {
		ar_buf_addf(&pae, "DSSEv1 %zu %s %zu ", sizeof(PAYLOAD_TYPE) - 1, PAYLOAD_TYPE,
			    statement.len);
		ar_buf_adds(&pae, ar_buf_str(&statement));
		ar_sign(key, ar_buf_str(&pae), raw);
		add(p, AR_PACK_PAE, ar_buf_str(&pae));
		add(p, AR_PACK_SIGNATURE, signature);
		write_envelope(p, ar_buf_str(&statement), signature,
			       ar_sign_fingerprint(&p->arena, key->public));
		add(p, AR_PACK_KEY, ar_sign_pem(&p->arena, key->public));
	}
	ar_buf_fini(&statement);
	ar_buf_fini(&pae);
}
