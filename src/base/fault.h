/* Named fault points. AGENTD_FAULT="name:N" makes the process die (as by kill -9) at the N-th passing of
 * that point; "name:N:error" makes AR_FAULT_ERROR return true there instead, once. Several are separated
 * by commas; a text of another form aborts at start. Without the variable a point costs one load and
 * branch. `grep -rhoE 'AR_FAULT[_A-Z]*\("[^"]*"' src` lists the names. */
#ifndef AR_BASE_FAULT_H
#define AR_BASE_FAULT_H

#include "compiler.h"

#include <stdbool.h>

AR_BEGIN_DECLS

extern bool ar_fault_armed;

void ar_fault_init(void); /* reads the environment once, at start */
void ar_fault_hit(const char *name);
bool ar_fault_error(const char *name);

#define AR_FAULT(name) (ar_fault_armed ? ar_fault_hit(name) : (void)0)
#define AR_FAULT_ERROR(name) (ar_fault_armed && ar_fault_error(name))

AR_END_DECLS

#endif
