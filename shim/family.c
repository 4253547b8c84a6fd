#include "shim/family.h"

#include <stdint.h>
#include <stdio.h>

#include "shim/maps.h"
#include "shim/raw.h"

struct shim_file {
	uint64_t device, inode;
	bool found;
};

static bool take_own(const struct mapping *mapping, void *argument)
{
	struct shim_file *shim = argument;
	uint64_t here = (uint64_t)(uintptr_t)&family_parent_is_traced;
	if (here < mapping->start || here >= mapping->end)
		return true;
	*shim = (struct shim_file){mapping->device, mapping->inode, false};
	return false;
}

static bool look_for(const struct mapping *mapping, void *argument)
{
	struct shim_file *shim = argument;
	shim->found = mapping->device == shim->device && mapping->inode == shim->inode;
	return !shim->found;
}

bool family_parent_is_traced(void)
{
	struct shim_file shim = {0};
	char path[64];
	long parent = raw0(SYS_getppid);
	if (parent <= 0 || !maps_visit(MAPS_SELF, take_own, &shim) || !shim.inode)
		return false;
	snprintf(path, sizeof path, "/proc/%ld/maps", parent);
	maps_visit(path, look_for, &shim);
	return shim.found;
}

bool family_is_session_leader(void)
{
	return raw1(SYS_getsid, 0) == raw_pid();
}
