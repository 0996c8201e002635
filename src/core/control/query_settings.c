/* get_settings: what the host says of its settings. They are the whole server's, so only its operator reads them. */
#include "control_priv.h"

void ar_control_show_settings(struct ar_control *c, ar_control_settings_fn *show, void *arg)
{
	c->show_settings = show;
	c->settings_arg = arg;
}

void ar_query_get_settings(struct ar_call *c)
{
	struct ar_jw w = ar_jw(&c->reply);

	if (!ar_principal_is_operator(c->who)) {
		ar_call_refuse(c, AR_ERR_NOT_AUTHORIZED,
			       "settings are read by the operator, over the server's unix socket");
		return;
	}
	if (!c->control->show_settings) {
		ar_call_refuse(c, AR_ERR_UNAVAILABLE, "this server was not started from settings");
		return;
	}
	ar_jw_open(&w);
	ar_jw_key(&w, "settings");
	c->control->show_settings(c->control->settings_arg, &w);
	ar_jw_close(&w);
	ar_call_done(c, 200);
}
