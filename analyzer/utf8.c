#include "analyzer/utf8.h"

#include <stdbool.h>

static bool continues(unsigned char byte)
{
	return (byte & 0xc0) == 0x80;
}

/* RFC 3629, section 4: no overlong forms, no surrogates, nothing above U+10FFFF. */
static bool second_good(unsigned char first, unsigned char second)
{
	switch (first) {
	case 0xe0:
		return second >= 0xa0 && second <= 0xbf;
	case 0xed:
		return second >= 0x80 && second <= 0x9f;
	case 0xf0:
		return second >= 0x90 && second <= 0xbf;
	case 0xf4:
		return second >= 0x80 && second <= 0x8f;
	default:
		return continues(second);
	}
}

size_t utf8_sequence(const char *text)
{
	const unsigned char *bytes = (const unsigned char *)text;
	if (bytes[0] == 0)
		return 0;
	if (bytes[0] < 0x80)
		return 1;
	size_t length = bytes[0] < 0xc2	  ? 0
			: bytes[0] < 0xe0 ? 2
			: bytes[0] < 0xf0 ? 3
			: bytes[0] < 0xf5 ? 4
					  : 0;
	if (!length || !second_good(bytes[0], bytes[1]))
		return 0;
	for (size_t i = 2; i < length; i++)
		if (!continues(bytes[i]))
			return 0;
	return length;
}

void utf8_repair(char *text)
{
	while (*text) {
		size_t length = utf8_sequence(text);
		if (!length)
			*text = '?';
		text += length ? length : 1;
	}
}
