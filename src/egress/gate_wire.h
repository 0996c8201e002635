/* The messages between the daemon and agent-proxy: one JSON object per packet, over a SOCK_SEQPACKET
 * pair; agent-proxy has its end as fd 3.
 *
 *   daemon  {"open":NAME,"rules":[RULE...],"secrets":[{"placeholder","value","hosts":[RULE...]}...]}
 *           with a listening socket as SCM_RIGHTS: serve it for the sandbox NAME; RULE as egress/rule.h
 *           reads it, secrets as egress/secret.h uses them
 *   daemon  {"close":NAME}
 *   proxy   {"name","verdict":"allowed"|"denied","method","host","port","rule"?,"reason"?}
 *           before a connection is opened
 *   proxy   {"name","host","port","up","down"}   when a connection ends: bytes each way
 *
 * agent-proxy ends when the other end closes. */
#ifndef AR_EGRESS_GATE_WIRE_H
#define AR_EGRESS_GATE_WIRE_H

#define AR_GATE_FD 3
#define AR_GATE_MESSAGE_MAX 65536

#endif
