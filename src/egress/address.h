/* Which addresses a name may stand for: none of this machine, of its network, of a cloud's own services,
 * unless a rule says so. Pure. */
#ifndef AR_EGRESS_ADDRESS_H
#define AR_EGRESS_ADDRESS_H

#include "compiler.h"

#include <stdbool.h>
#include <sys/socket.h>

/* NULL: it may be dialled. Otherwise what it is, in a word. `is_private`: private networks are let through;
 * this machine, link-local and metadata never. */
const char *ar_egress_address_fault(const struct sockaddr *address, bool is_private);

#endif
