/* GET of the Agent Card of an agent that the settings publish. Everybody gets it; the extended one is given
 * by an operation of A2A. Owner: the loop thread. */
#ifndef AR_TRANSPORT_A2A_CARD_ROUTE_H
#define AR_TRANSPORT_A2A_CARD_ROUTE_H

struct ar_http_request;

void ar_a2a_card_answer(struct ar_http_request *req);

#endif
