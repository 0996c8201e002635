/* See host_access.h: settings become options. */
#include "access/host_access.h"
#include "id.h"
#include "log.h"
#include "mem.h"
#include "oidc.h"

#include <unistd.h>

#define SECOND ((ar_usec)1000000)
#define DAY (86400 * SECOND)

static enum ar_status check_certificate(const struct ar_config_certificates *c, struct ar_error *err)
{
	if (ar_id_acceptable(ar_str_from(c->tenant)) && ar_str_from(c->tenant).len <= AR_TENANT_MAX)
		return AR_OK;
	return ar_fail(err, AR_E_INVALID, "certificates: '%s' is not a valid tenant name", c->tenant);
}

static unsigned read_scopes(const struct ar_config_strings *scopes)
{
	unsigned rights = scopes->count ? 0 : AR_RIGHT_READ;

	for (size_t i = 0; i < scopes->count; i++)
		rights |= ar_scope_parse(ar_str_from(scopes->v[i]));
	return rights & AR_RIGHT_ADMIN ? AR_RIGHT_ALL : rights;
}

static enum ar_status read_certificates(const struct ar_config *c, struct ar_access_options *o,
					struct ar_host_access *h, struct ar_error *err)
{
	h->certificates = ar_grow(NULL, c->certificates_count + 1, sizeof(*h->certificates));
	o->certificates = h->certificates;
	o->certificate_count = c->certificates_count;
	for (size_t i = 0; i < c->certificates_count; i++) {
		const struct ar_config_certificates *one = &c->certificates[i];

		if (check_certificate(one, err) != AR_OK)
			return AR_E_INVALID;
		h->certificates[i] = (struct ar_access_certificate){
			.subject = ar_str_from(one->subject),
			.tenant = ar_str_from(one->tenant),
			.rights = read_scopes(&one->scopes),
		};
	}
	return AR_OK;
}

static void log_keys(void *arg, const char *line)
{
	ar_log_line(arg, "warning", "the keys of the issuer could not be fetched", line);
}

static enum ar_status open_issuer(uv_loop_t *loop, const struct ar_config *c, struct ar_host_access *h,
				  struct ar_error *err)
{
	const struct ar_config_auth *a = &c->auth;

	if (!*a->jwt_issuer)
		return AR_OK;
	if (!*a->jwt_audience)
		return ar_fail(err, AR_E_INVALID,
			       "auth.jwt_issuer needs auth.jwt_audience, so that tokens for other services "
			       "are refused");
	return ar_oidc_open(loop,
			    &(struct ar_oidc_options){
				    .rules = { .issuer = ar_str_from(a->jwt_issuer),
					       .audience = ar_str_from(a->jwt_audience),
					       .tenant_claim = ar_str_from(a->jwt_tenant_claim),
					       .tenant = ar_str_from(a->jwt_tenant),
					       .may_be_local = a->jwt_local,
					       .scope_claim = ar_str_from(a->jwt_scope_claim),
					       .scope_prefix = ar_str_from(a->jwt_scope_prefix),
					       .leeway = a->jwt_leeway_s * SECOND },
				    .issuer = a->jwt_issuer,
				    .keys_url = a->jwt_keys_url,
				    .ca_file = a->jwt_ca_file,
				    .refresh_s = (uint32_t)a->jwt_refresh_s,
				    .stale_s = (uint32_t)a->jwt_stale_s,
				    .clock = ar_clock_system(),
				    .log = log_keys,
				    .log_arg = (void *)(uintptr_t)h->log },
			    &h->oidc, err);
}

enum ar_status ar_host_access_open(uv_loop_t *loop, const struct ar_config *c, struct ar_store *store,
				   bool is_shared, struct ar_host_access *ret, struct ar_error *err)
{
	struct ar_access_options o = {
		.store = store,
		.clock = ar_clock_system(),
		.is_shared = is_shared,
		.is_required = c->auth.required,
		.is_group_in = c->auth.socket == AR_CONFIG_AUTH_SOCKET_GROUP,
		.is_socket_open = c->auth.socket == AR_CONFIG_AUTH_SOCKET_ANYONE,
		.uid = (unsigned)geteuid(),
		.jwt_token_age = c->auth.jwt_token_age_s * SECOND,
		.keep = c->retention.days * DAY,
		.audit = ar_control_audit,
		.audit_arg = ret->control,
		.token_limit = { .rate = (uint32_t)c->limits.token_rate,
				 .burst = (uint32_t)c->limits.token_burst,
				 .open = { (uint32_t)c->limits.token_commands,
					   (uint32_t)c->limits.token_streams } },
		.tenant_limit = { .rate = (uint32_t)c->limits.tenant_rate,
				  .burst = (uint32_t)c->limits.tenant_burst,
				  .open = { (uint32_t)c->limits.tenant_commands,
					    (uint32_t)c->limits.tenant_streams } },
	};

	if (read_certificates(c, &o, ret, err) != AR_OK || open_issuer(loop, c, ret, err) != AR_OK)
		return AR_E_INVALID;
	o.bearers = ret->oidc ? ar_oidc_auth(ret->oidc) : NULL;
	ret->access = ar_access_new(&o);
	return AR_OK;
}

void ar_host_access_close(struct ar_host_access *h)
{
	if (h->oidc)
		ar_oidc_close(h->oidc);
	h->oidc = NULL;
}

void ar_host_access_free(struct ar_host_access *h)
{
	ar_access_free(h->access);
	ar_free(h->certificates);
}
