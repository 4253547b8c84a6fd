#include "analyzer/cacheclasses.h"

#include <stddef.h>

#define PAGE_BYTES	UINT64_C(8192)
#define SMALL_SIZE_MAX	1024u
#define TRANSFER_BYTES	(UINT64_C(64) << 10)
#define TRANSFER_MAX	32u
#define ALIGNMENT_BYTES UINT64_C(16)

/* ---- google/tcmalloc ----------------------------------------------------------------------------------- */

/* bytes, pages of a span, batch, most objects of a CPU */
static const uint32_t per_cpu_table[][4] = {
	{8, 1, 32, 2369},     {16, 1, 32, 2369},    {32, 1, 32, 2369},	  {64, 1, 32, 2369},
	{80, 1, 32, 2369},    {96, 1, 32, 1596},    {112, 1, 32, 911},	  {128, 1, 32, 1035},
	{144, 1, 32, 699},    {160, 1, 32, 586},    {176, 1, 32, 333},	  {192, 1, 32, 418},
	{208, 1, 32, 296},    {224, 1, 32, 264},    {240, 1, 32, 251},	  {256, 1, 32, 507},
	{272, 1, 32, 231},    {288, 1, 32, 264},    {304, 1, 32, 205},	  {320, 1, 32, 250},
	{336, 1, 32, 269},    {352, 1, 32, 193},    {368, 1, 32, 173},	  {384, 1, 32, 209},
	{400, 1, 32, 190},    {416, 1, 32, 187},    {448, 1, 32, 236},	  {480, 1, 32, 198},
	{512, 1, 32, 356},    {576, 1, 32, 241},    {640, 1, 32, 213},	  {704, 1, 32, 193},
	{768, 1, 32, 191},    {896, 1, 32, 205},    {1024, 1, 32, 332},	  {1152, 2, 32, 197},
	{1280, 2, 32, 180},   {1408, 2, 32, 172},   {1536, 2, 32, 178},	  {1792, 2, 32, 175},
	{2048, 2, 32, 204},   {2304, 2, 28, 171},   {2688, 2, 24, 165},	  {2816, 3, 23, 154},
	{3200, 2, 20, 160},   {3456, 3, 18, 153},   {3584, 4, 18, 152},	  {4096, 1, 16, 312},
	{4736, 3, 13, 158},   {5376, 2, 12, 153},   {6144, 3, 10, 158},	  {6528, 4, 10, 150},
	{7168, 7, 9, 152},    {8192, 1, 8, 207},    {9472, 5, 6, 154},	  {10240, 4, 6, 150},
	{12288, 3, 5, 154},   {13568, 5, 4, 150},   {14336, 7, 4, 149},	  {16384, 2, 4, 160},
	{20480, 5, 3, 153},   {24576, 3, 2, 152},   {28672, 7, 2, 152},	  {32768, 4, 2, 161},
	{40960, 5, 2, 150},   {49152, 6, 2, 149},   {57344, 7, 2, 149},	  {65536, 8, 2, 153},
	{73728, 9, 2, 150},   {81920, 10, 2, 149},  {90112, 11, 2, 148},  {98304, 12, 2, 149},
	{106496, 13, 2, 148}, {114688, 14, 2, 148}, {131072, 16, 2, 149}, {139264, 17, 2, 149},
	{147456, 18, 2, 148}, {155648, 19, 2, 148}, {172032, 21, 2, 148}, {188416, 23, 2, 148},
	{204800, 25, 2, 148}, {221184, 27, 2, 148}, {237568, 29, 2, 146}, {262144, 32, 2, 148},
};

static void fill_per_cpu(struct cache_classes *out)
{
	const size_t count = sizeof per_cpu_table / sizeof *per_cpu_table;
	for (size_t i = 0; i < count; i++)
		out->classes[i + 1] = (struct cache_class){
			.bytes = per_cpu_table[i][0],
			.span_objects = (uint16_t)(per_cpu_table[i][1] * PAGE_BYTES / per_cpu_table[i][0]),
			.batch = (uint16_t)per_cpu_table[i][2],
			.max_objects = (uint16_t)per_cpu_table[i][3],
		};
	out->count = (unsigned)count + 1;
}

/* ---- gperftools ---------------------------------------------------------------------------------------- */

/* Sizes rise in steps of an eighth of the power of two below them: at most 12.5% are wasted. */
static uint64_t step_at(uint64_t size_bytes)
{
	if (size_bytes < ALIGNMENT_BYTES)
		return 8;
	if (size_bytes < 128)
		return ALIGNMENT_BYTES;
	uint64_t eighth = (UINT64_C(1) << (63 - __builtin_clzll(size_bytes))) / 8;
	return eighth < PAGE_BYTES ? eighth : PAGE_BYTES;
}

/* 64 KiB at a time, at least 2 objects, at most 32. */
static unsigned batch_of(uint64_t size_bytes)
{
	uint64_t objects = TRANSFER_BYTES / size_bytes;
	return objects < 2 ? 2 : objects > TRANSFER_MAX ? TRANSFER_MAX : (unsigned)objects;
}

/* As many pages as waste less than an eighth and hold a quarter of a batch. */
static uint64_t span_bytes_of(uint64_t size_bytes)
{
	uint64_t span_bytes = 0;
	do {
		span_bytes += PAGE_BYTES;
		while (span_bytes % size_bytes > span_bytes / 8)
			span_bytes += PAGE_BYTES;
	} while (span_bytes / size_bytes < batch_of(size_bytes) / 4);
	return span_bytes;
}

/* A size whose spans hold as many objects as those of the class before needs no class of its own: that one
 * is widened. */
static void fill_per_thread(struct cache_classes *out)
{
	uint64_t last_span_bytes = 0;
	out->count = 1;
	for (uint64_t size_bytes = 8; size_bytes <= CACHE_SIZE_MAX; size_bytes += step_at(size_bytes)) {
		uint64_t span_bytes = span_bytes_of(size_bytes);
		struct cache_class *last = &out->classes[out->count - 1];
		bool same = span_bytes == last_span_bytes && span_bytes / size_bytes == last->span_objects;
		struct cache_class *class = same ? last : &out->classes[out->count++];
		*class = (struct cache_class){
			.bytes = (uint32_t)size_bytes,
			.span_objects = (uint16_t)(span_bytes / size_bytes),
			.batch = (uint16_t)batch_of(size_bytes),
		};
		last_span_bytes = span_bytes;
	}
}

/* ---- look-up ------------------------------------------------------------------------------------------- */

static void fill_lookup(struct cache_classes *out)
{
	unsigned class = 1;
	for (unsigned i = 0; i <= SMALL_SIZE_MAX / 8; i++) {
		class += out->classes[class].bytes < i * 8;
		out->small[i] = (uint8_t) class;
	}
	class = 1;
	for (unsigned i = 0; i <= CACHE_SIZE_MAX / 128; i++) {
		while (out->classes[class].bytes < i * 128)
			class ++;
		out->large[i] = (uint8_t) class;
	}
}

const struct cache_classes *cache_classes(enum cache_design design)
{
	static struct cache_classes designs[CACHE_DESIGNS];
	struct cache_classes *out = &designs[design];
	if (out->count)
		return out;
	if (design == CACHE_PER_CPU)
		fill_per_cpu(out);
	else
		fill_per_thread(out);
	fill_lookup(out);
	return out;
}

unsigned cache_class_aligned(const struct cache_classes *classes, uint64_t size_bytes,
			     uint64_t alignment_bytes)
{
	unsigned class = cache_class_of(classes, size_bytes);
	if (alignment_bytes <= ALIGNMENT_BYTES || class == CACHE_CLASS_NONE)
		return class;
	if (alignment_bytes > PAGE_BYTES)
		return CACHE_CLASS_NONE;
	while (class < classes->count && classes->classes[class].bytes % alignment_bytes)
		class ++;
	return class < classes->count ? class : CACHE_CLASS_NONE;
}

bool cache_realloc_stays(const struct cache_classes *classes, unsigned old_class, uint64_t old_bytes,
			 uint64_t *size_bytes)
{
	uint64_t held_bytes = old_class ? classes->classes[old_class].bytes
					: (old_bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
	uint64_t grown_bytes = held_bytes + held_bytes / 4;
	if (*size_bytes <= held_bytes && *size_bytes >= held_bytes / 2)
		return true;
	if (*size_bytes > held_bytes && *size_bytes < grown_bytes)
		*size_bytes = grown_bytes;
	return false;
}
