#include "shim/folder.h"

#include "shim/raw.h"

/* The kernel's struct linux_dirent64. */
struct entry {
	uint64_t inode;
	int64_t offset;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

void folder_visit(int folder, void (*visit)(const char *name, uint8_t type, void *argument), void *argument)
{
	_Alignas(8) char listing[4096] = "";
	long got;
	while ((got = raw3(SYS_getdents64, folder, (long)listing, sizeof listing)) > 0)
		for (long at = 0; at < got;) {
			const struct entry *entry = (const void *)(listing + at);
			visit(entry->name, entry->type, argument);
			at += entry->bytes;
		}
}
