#include "analyzer/hdr.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "analyzer/array.h"

#define COOKIE_COMPRESSED 0x1c849314u
#define COOKIE		  0x1c849313u
#define ENVELOPE_BYTES	  8
#define HEADER_BYTES	  40
/* Five digits over all of 63 bits are 6 million buckets, far more than anything that a log holds. */
#define BUCKETS_MAX  (1u << 23)
#define INFLATED_MAX (32u << 20)

/* ---- base64 ------------------------------------------------------------------------------------------ */

static int base64_value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Into `out`, which has room for length / 4 * 3 + 3. False for foreign characters. */
static bool base64_decode(const char *text, size_t length, uint8_t *out, size_t *bytes)
{
	uint32_t bits = 0;
	unsigned held = 0;
	*bytes = 0;
	while (length > 0 && text[length - 1] == '=')
		length--;
	for (size_t i = 0; i < length; i++) {
		int value = base64_value(text[i]);
		if (value < 0)
			return false;
		bits = bits << 6 | (uint32_t)value;
		held += 6;
		if (held >= 8) {
			held -= 8;
			out[(*bytes)++] = (uint8_t)(bits >> held);
		}
	}
	return true;
}

/* ---- bytes ------------------------------------------------------------------------------------------- */

static uint32_t get_u32(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static uint64_t get_u64(const uint8_t *bytes)
{
	return (uint64_t)get_u32(bytes) << 32 | get_u32(bytes + 4);
}

/* False at the end of the payload. */
static bool get_zigzag(const uint8_t **at, const uint8_t *end, int64_t *value)
{
	uint64_t bits = 0;
	for (unsigned i = 0; *at < end; i++) {
		uint8_t byte = *(*at)++;
		if (i == 8) {
			bits |= (uint64_t)byte << 56;
		} else {
			bits |= (uint64_t)(byte & 0x7f) << (7 * i);
			if (byte & 0x80)
				continue;
		}
		*value = (int64_t)(bits >> 1) ^ -(int64_t)(bits & 1);
		return true;
	}
	return false;
}

/* The result is malloc()ed; NULL with *result set on failure. */
static uint8_t *inflate_all(const uint8_t *in, size_t in_bytes, size_t *out_bytes, enum hdr_result *result)
{
	for (size_t room = 64u << 10; room <= INFLATED_MAX; room *= 4) {
		uint8_t *out = malloc(room);
		uLongf got = room;
		if (!out) {
			*result = HDR_NO_MEMORY;
			return NULL;
		}
		int status = uncompress(out, &got, in, in_bytes);
		if (status == Z_OK) {
			*out_bytes = got;
			return out;
		}
		free(out);
		*result = status == Z_MEM_ERROR ? HDR_NO_MEMORY : HDR_DAMAGED;
		if (status != Z_BUF_ERROR)
			return NULL;
	}
	*result = HDR_DAMAGED;
	return NULL;
}

/* ---- buckets ----------------------------------------------------------------------------------------- */

/* Half of the values that are told apart in a range, as a power of two: the smallest that 10^digits fits. */
static unsigned half_magnitude(unsigned digits)
{
	static const unsigned magnitudes[] = {0, 4, 7, 10, 14, 17};
	return magnitudes[digits];
}

static unsigned range_of(const struct hdr_histogram *histogram, size_t bucket)
{
	size_t range = bucket >> half_magnitude(histogram->digits);
	return range > 0 ? (unsigned)range - 1 : 0;
}

static unsigned step_magnitude(const struct hdr_histogram *histogram, size_t bucket)
{
	return range_of(histogram, bucket) + histogram->unit_magnitude;
}

uint64_t hdr_lowest(const struct hdr_histogram *histogram, size_t bucket)
{
	size_t half = (size_t)1 << half_magnitude(histogram->digits);
	uint64_t step = bucket < half ? bucket : (bucket & (half - 1)) + half;
	return step << step_magnitude(histogram, bucket);
}

uint64_t hdr_highest(const struct hdr_histogram *histogram, size_t bucket)
{
	return hdr_lowest(histogram, bucket) + ((uint64_t)1 << step_magnitude(histogram, bucket)) - 1;
}

/* Whether the values of the bucket fit 63 bits. */
static bool in_range(const struct hdr_histogram *histogram, size_t bucket)
{
	return bucket < BUCKETS_MAX &&
	       step_magnitude(histogram, bucket) + half_magnitude(histogram->digits) + 1 <= 62;
}

/* ---- decoding ---------------------------------------------------------------------------------------- */

static bool put_count(struct hdr_histogram *out, size_t bucket, uint64_t count, enum hdr_result *result)
{
	if (!in_range(out, bucket) || __builtin_add_overflow(out->total, count, &out->total)) {
		*result = HDR_DAMAGED;
		return false;
	}
	if (!array_reserve(&out->counts, &out->capacity, bucket + 1, sizeof *out->counts)) {
		*result = HDR_NO_MEMORY;
		return false;
	}
	memset(out->counts + out->length, 0, (bucket + 1 - out->length) * sizeof *out->counts);
	out->counts[bucket] = count;
	out->length = bucket + 1;
	return true;
}

static enum hdr_result decode_payload(const uint8_t *at, const uint8_t *end, struct hdr_histogram *out)
{
	enum hdr_result result = HDR_DONE;
	size_t bucket = 0;
	int64_t value;
	while (at < end) {
		if (!get_zigzag(&at, end, &value) || value < -(int64_t)BUCKETS_MAX)
			return HDR_DAMAGED;
		if (value < 0) {
			bucket += (size_t)-value;
		} else {
			if (value > 0 && !put_count(out, bucket, (uint64_t)value, &result))
				return result;
			bucket++;
		}
		if (bucket > BUCKETS_MAX)
			return HDR_DAMAGED;
	}
	return HDR_DONE;
}

static enum hdr_result decode_inflated(const uint8_t *bytes, size_t size, struct hdr_histogram *out)
{
	if (size < HEADER_BYTES)
		return HDR_DAMAGED;
	uint32_t payload = get_u32(bytes + 4), offset = get_u32(bytes + 8), digits = get_u32(bytes + 12);
	uint64_t lowest = get_u64(bytes + 16);
	if (get_u32(bytes) != COOKIE || offset != 0)
		return HDR_FOREIGN;
	if (payload > size - HEADER_BYTES || digits > 5 || lowest == 0 || lowest > (1ULL << 40))
		return HDR_DAMAGED;
	out->digits = digits;
	out->unit_magnitude = 63 - (unsigned)__builtin_clzll(lowest);
	return decode_payload(bytes + HEADER_BYTES, bytes + HEADER_BYTES + payload, out);
}

static enum hdr_result decode_envelope(const uint8_t *bytes, size_t size, struct hdr_histogram *out)
{
	enum hdr_result result = HDR_DONE;
	size_t inflated_bytes;
	if (size < ENVELOPE_BYTES)
		return HDR_DAMAGED;
	if (get_u32(bytes) != COOKIE_COMPRESSED)
		return get_u32(bytes) >> 12 == COOKIE_COMPRESSED >> 12 ? HDR_FOREIGN : HDR_DAMAGED;
	if (get_u32(bytes + 4) > size - ENVELOPE_BYTES)
		return HDR_DAMAGED;
	uint8_t *inflated = inflate_all(bytes + ENVELOPE_BYTES, get_u32(bytes + 4), &inflated_bytes, &result);
	if (!inflated)
		return result;
	result = decode_inflated(inflated, inflated_bytes, out);
	free(inflated);
	return result;
}

enum hdr_result hdr_decode(const char *base64, size_t length, struct hdr_histogram *out)
{
	enum hdr_result result = HDR_DAMAGED;
	size_t size;
	out->length = 0;
	out->total = 0;
	uint8_t *bytes = malloc(length / 4 * 3 + 3);
	if (!bytes)
		return HDR_NO_MEMORY;
	if (base64_decode(base64, length, bytes, &size))
		result = decode_envelope(bytes, size, out);
	free(bytes);
	return result;
}

enum hdr_result hdr_add(struct hdr_histogram *sum, const struct hdr_histogram *more)
{
	if (more->length == 0)
		return HDR_DONE;
	if (sum->length == 0) {
		sum->digits = more->digits;
		sum->unit_magnitude = more->unit_magnitude;
	}
	uint64_t total;
	if (sum->digits != more->digits || sum->unit_magnitude != more->unit_magnitude ||
	    __builtin_add_overflow(sum->total, more->total, &total))
		return HDR_FOREIGN;
	if (!array_reserve(&sum->counts, &sum->capacity, more->length, sizeof *sum->counts))
		return HDR_NO_MEMORY;
	if (more->length > sum->length) {
		memset(sum->counts + sum->length, 0, (more->length - sum->length) * sizeof *sum->counts);
		sum->length = more->length;
	}
	for (size_t i = 0; i < more->length; i++)
		sum->counts[i] += more->counts[i];
	sum->total = total;
	return HDR_DONE;
}

void hdr_free(struct hdr_histogram *histogram)
{
	free(histogram->counts);
	*histogram = (struct hdr_histogram){0};
}

/* ---- figures ----------------------------------------------------------------------------------------- */

double hdr_mean(const struct hdr_histogram *histogram)
{
	double sum = 0;
	for (size_t i = 0; i < histogram->length; i++) {
		uint64_t half_step = ((uint64_t)1 << step_magnitude(histogram, i)) / 2;
		sum += (double)histogram->counts[i] * (double)(hdr_lowest(histogram, i) + half_step);
	}
	return histogram->total ? sum / (double)histogram->total : NAN;
}

double hdr_min(const struct hdr_histogram *histogram)
{
	for (size_t i = 0; i < histogram->length; i++)
		if (histogram->counts[i])
			return (double)hdr_lowest(histogram, i);
	return NAN;
}

double hdr_max(const struct hdr_histogram *histogram)
{
	return histogram->length ? (double)hdr_highest(histogram, histogram->length - 1) : NAN;
}

double hdr_percentile(const struct hdr_histogram *histogram, double percentile)
{
	/* The quotient may lie a hair above a whole number that it should be. */
	double wanted = ceil(percentile / 100 * (double)histogram->total - 1e-9);
	uint64_t below = 0;
	for (size_t i = 0; i < histogram->length; i++) {
		below += histogram->counts[i];
		if (below > 0 && (double)below >= wanted)
			return (double)hdr_highest(histogram, i);
	}
	return NAN;
}
