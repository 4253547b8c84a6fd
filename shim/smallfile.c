#include "shim/smallfile.h"

#include "shim/raw.h"
#include "shim/text.h"

long smallfile_read(const char *path, char *text, size_t bytes)
{
	text[0] = '\0';
	int fd = raw_open(path, O_RDONLY, 0);
	if (fd < 0)
		return fd;
	long length = raw_read(fd, text, bytes - 1);
	raw_close(fd);
	text[length > 0 ? length : 0] = '\0';
	return length;
}

uint64_t smallfile_number(const char *path, uint64_t otherwise)
{
	char text[64];
	const char *at = text;
	if (smallfile_read(path, text, sizeof text) <= 0 || *at < '0' || *at > '9')
		return otherwise;
	return text_number(&at, 10);
}
