/* All wire formats by name. Const. */
#include "wire.h"

#include "wire/formats.h"

static const struct ar_wire *const formats[] = {
	&ar_wire_openai_chat,
	&ar_wire_openai_responses,
	&ar_wire_anthropic,
	&ar_wire_gemini,
};

const struct ar_wire *ar_wire_find(struct ar_str name)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(formats); i++) {
		if (ar_str_is(name, formats[i]->name))
			return formats[i];
	}
	return NULL;
}
