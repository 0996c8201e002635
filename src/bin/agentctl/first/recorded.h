/* A model whose answers are a fixed list, for `agentctl demo`: a server of this machine in the format of
 * OpenAI that answers by how far the conversation is. A process of its own, one connection at a time. */
#ifndef AR_CTL_RECORDED_H
#define AR_CTL_RECORDED_H

/* Serves the listening socket until `until` can be read or is closed. */
void ar_recorded_serve(int listener, int until);

#endif
