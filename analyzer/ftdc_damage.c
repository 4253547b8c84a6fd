#include "analyzer/ftdc_damage.h"

#include <inttypes.h>
#include <stdio.h>

#include "analyzer/command.h"

int ftdc_print_damage(const struct ftdc *ftdc)
{
	size_t count;
	const struct ftdc_damage *damage = ftdc_damage(ftdc, &count);
	for (size_t i = 0; i < count; i++) {
		fputs("mtrace-analyze: ", stderr);
		print_safe(stderr, damage[i].file);
		fprintf(stderr, ": offset %" PRIu64 ": %s\n", damage[i].offset_bytes, damage[i].text);
	}
	if (ftdc_damage_count(ftdc) > count)
		fprintf(stderr, "mtrace-analyze: and %" PRIu64 " more damaged places\n",
			ftdc_damage_count(ftdc) - count);
	return ftdc_damage_count(ftdc) ? ERROR_INPUT : ERROR_NONE;
}
