/* Takes blocks before a preloaded object's constructor runs, from the program's allocator. */
#include "tests/host/guest.h"
#include "tests/host/patch/entry.h"

void *early_blocks[EARLY_BLOCKS];

__attribute__((constructor)) static void take_blocks(void)
{
	for (unsigned i = 0; i < EARLY_BLOCKS; i++) {
		early_blocks[i] = malloc(EARLY_BYTES);
		require(early_blocks[i]);
		tag_block(early_blocks[i], EARLY_BYTES, i);
	}
}
