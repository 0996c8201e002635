/* What boundary.c opens and settle.c makes launches of. Owner: loop thread. */
#ifndef AR_SANDBOX_BOUNDARY_PRIV_H
#define AR_SANDBOX_BOUNDARY_PRIV_H

#include "boundary.h"
#include "cgroups.h"
#include "filter_rules.h"
#include "ids.h"
#include "roots.h"
#include "secrets/command_secrets.h"
#include "assess.h"

struct ar_sandbox {
	struct ar_arena arena; /* of all below */
	struct ar_sandbox_host host;
	struct ar_mechanisms mechanisms;
	struct ar_assess_options how; /* the profiles were judged */
	struct ar_sandbox_ids ids;
	struct ar_roots roots;
	struct ar_cgroups cgroups;
	struct ar_plan_limits limits;
	struct ar_str filters[AR_FILTER_COUNT]; /* hex */
	struct ar_str helpers, env, protected_paths;
	struct ar_command_secrets secrets;
};

#endif
