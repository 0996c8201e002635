/* Answers of model servers as test cases: bytes in, outputs as one line of text and the outcome out. For the
 * tests of the wire formats; each answer is also given byte by byte. */
#ifndef AR_TEST_TRANSCRIPT_H
#define AR_TEST_TRANSCRIPT_H

#include "answer.h"
#include "wire.h"

/* Outputs are written as T(text) R(reasoning) C<index>(id,name) A<index>(arguments). */
struct transcript {
	const char *name, *bytes, *outputs;
	enum ar_model_outcome outcome;
	const char *stop_reason; /* NULL: none */
	const char *category; /* NULL: not looked at */
};

struct reading {
	struct ar_json_parser *json;
	struct ar_answer answer;
	struct ar_buf outputs;
};

void reading_open(struct reading *r, const char *format, size_t output_max);
void reading_close(struct reading *r);

/* Feeds all in steps of that many bytes and ends the answer. */
struct ar_model_result *reading_feed(struct reading *r, struct ar_str bytes, size_t step);

void assert_transcripts(const char *format, const struct transcript *list, size_t count);

/* Cuts a stream that completes at every byte: before its end it is cut, never anything else, and what came is
 * what the whole stream says first. `end` is the byte from which on the answer is whole. */
void assert_every_cut(const char *format, const char *bytes, size_t end);

/* The whole stream with each byte in turn made wrong: whatever comes out, it comes out. */
void assert_every_damage(const char *format, const char *bytes);

/* With this cap the stream gives these outputs and ends as too large. */
void assert_cap(const char *format, const char *bytes, size_t cap, const char *outputs);

/* The body of a server that did not stream. */
void assert_whole(const char *format, const char *body, const char *outputs, enum ar_model_outcome outcome);

/* The request as the format writes it. */
void assert_body(const char *format, const struct ar_model_request *r, const char *want);
void assert_refused(const char *format, const struct ar_model_request *r);

#endif
