#include "shim/writer_files.h"

#include <limits.h>
#include <sched.h>

#include "shim/config.h"
#include "shim/folder.h"
#include "shim/pagescan.h"
#include "shim/raw.h"
#include "shim/ring.h"
#include "shim/snapshot.h"
#include "shim/tracefile.h"

/* Since Linux 5.9; the same number and value everywhere. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1U << 1)
#endif

#define DESCRIPTORS_WITHOUT_PROC 65536

static int rings_fd = -1;
static bool table_is_ours;

bool writer_files_table_is_ours(void)
{
	return table_is_ours;
}

int writer_files_rings(void)
{
	return rings_fd;
}

void writer_files_open(void)
{
	char rings[TRACEFILE_PATH_BYTES];
	tracefile_rings_path(rings);
	tracefile_open();
	rings_fd = raw_open(rings, O_RDWR, 0);
	snapshot_start();
	if (table_is_ours)
		pagescan_open(config.pages);
}

void writer_files_close(void)
{
	tracefile_close();
	raw_close(rings_fd);
	rings_fd = -1;
	snapshot_close();
	pagescan_close();
}

/* ---- a table of our own
 * ------------------------------------------------------------------------------------------------------ */

/* Containers refuse unshare(), whatever it is to unshare, and know close_range(), which here closes nothing.
 */
static bool unshare_table(void)
{
	return raw1(SYS_unshare, CLONE_FILES) == 0 ||
	       raw3(SYS_close_range, UINT_MAX, UINT_MAX, CLOSE_RANGE_UNSHARE) == 0;
}

static bool is_kept(int fd)
{
	int fds[SNAPSHOT_FDS + PAGESCAN_FDS];
	bool kept = fd == tracefile_fd() || fd == rings_fd;
	snapshot_fds(fds);
	pagescan_fds(fds + SNAPSHOT_FDS);
	for (unsigned i = 0; i < sizeof fds / sizeof *fds; i++)
		kept |= fd == fds[i];
	return kept;
}

/* The copies of the guest's descriptors would keep its pipes and sockets open. */
static void close_listed(const char *name, uint8_t type, void *folder)
{
	(void)type;
	int fd = 0;
	const char *digit = name;
	for (; *digit >= '0' && *digit <= '9'; digit++)
		fd = fd * 10 + (*digit - '0');
	if (digit != name && fd != *(const int *)folder && !is_kept(fd))
		raw_close(fd);
}

static void close_inherited(void)
{
	int folder = raw_open("/proc/thread-self/fd", O_RDONLY | O_DIRECTORY, 0);
	if (folder >= 0) {
		folder_visit(folder, close_listed, &folder);
		raw_close(folder);
		return;
	}
	for (int fd = 0; fd < DESCRIPTORS_WITHOUT_PROC; fd++)
		if (!is_kept(fd))
			raw_close(fd);
}

void writer_files_own(void)
{
	table_is_ours = unshare_table();
	writer_files_open();
	if (table_is_ours)
		close_inherited();
	else
		tracefile_move_high(&rings_fd);
}

/* ---- the rings file at the end
 * ------------------------------------------------------------------------------------------------ */

/* A guest that changed its user may be refused. A hole in place of the content, and not a shorter file: a
 * late store of a hook must find memory there. */
void writer_files_drop_rings(void)
{
	char rings[TRACEFILE_PATH_BYTES];
	tracefile_rings_path(rings);
	if (raw3(SYS_unlinkat, AT_FDCWD, (long)rings, 0) != 0)
		rings_empty(rings_fd);
}

void writer_files_remake_rings(void)
{
	char rings[TRACEFILE_PATH_BYTES];
	tracefile_rings_path(rings);
	int fd = rings_remake(rings);
	if (fd < 0)
		return;
	if (table_is_ours)
		raw_close(rings_fd); /* elsewhere the number may be the guest's by now */
	rings_fd = fd;
	if (!table_is_ours)
		tracefile_move_high(&rings_fd);
}
