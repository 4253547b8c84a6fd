#include "analyzer/join.h"

#include <stdio.h>
#include <stdlib.h>

bool join(char **text, const char *separator, const char *word)
{
	char *longer;
	if (asprintf(&longer, "%s%s%s", *text ? *text : "", *text ? separator : "", word) < 0)
		longer = NULL;
	free(*text);
	*text = longer;
	return longer != NULL;
}
