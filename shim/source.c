#include "shim/source.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "shim/config.h"
#include "shim/diag.h"
#include "shim/mallochook.h"
#include "shim/patch.h"

extern __typeof__(malloc) malloc_hook __attribute__((visibility("hidden")));

static struct {
	enum source source;
	bool partly_blind; /* another allocator is at work that is not seen */
	char reason[768];
} state;

/* What calls from anywhere but the inside of another allocator bind to is the first definition in the global
 * scope. */
static void *bound(void)
{
	return dlsym(RTLD_DEFAULT, "malloc");
}

static const char *object_of(const void *function)
{
	Dl_info object;
	return dladdr(function, &object) && object.dli_fname && object.dli_fname[0] ? object.dli_fname
										    : "another object";
}

static unsigned entries(bool patched)
{
	unsigned count = 0;
	const struct patch_entry *entry;
	for (unsigned i = 0; (entry = patch_entry(i)); i++)
		count += !entry->alias && (!entry->skipped || !patched);
	return count;
}

static void explain_interposed(void)
{
	snprintf(state.reason, sizeof state.reason,
		 "the program's calls of malloc bind to libmtrace.so, which forwards them to the next "
		 "allocator");
}

static void explain_patched(bool interposed)
{
	snprintf(state.reason, sizeof state.reason,
		 "%.300s defines malloc itself: %u of its %u entry points lead to libmtrace.so%s",
		 patch_module(), entries(true), entries(false),
		 interposed ? ", which also stands before the allocator of its libraries" : "");
}

static void explain_hooked(void)
{
	snprintf(
		state.reason, sizeof state.reason,
		"%.300s carries gperftools, whose exported hooks report each call: its entry points were not "
		"patched, since %.200s",
		patch_module(), patch_failure());
}

static void explain_blind(void)
{
	if (patch_module())
		snprintf(state.reason, sizeof state.reason,
			 "%.300s defines malloc itself, and its entry points were not patched: %.200s",
			 patch_module(), patch_failure());
	else
		snprintf(state.reason, sizeof state.reason,
			 "malloc is defined by %.300s, which comes before libmtrace.so: its calls are not "
			 "seen",
			 object_of(bound()));
}

static void explain_beside(void)
{
	snprintf(state.reason, sizeof state.reason,
		 "calls of malloc bind to libmtrace.so, but %.300s keeps calls of an allocator of its own to "
		 "itself, and its entry points were not patched: %.200s",
		 patch_module(), patch_failure());
}

void source_start(void)
{
	bool interposed = bound() == (void *)malloc_hook;
	patch_start(config.patch);
	bool patched = patch_module() && !patch_failure();
	if (patched && patch_is_program()) {
		state.source = SOURCE_PATCHED;
		explain_patched(interposed);
	} else if (interposed) {
		state.source = SOURCE_INTERPOSED;
		state.partly_blind = patch_module() && !patched;
		state.partly_blind ? explain_beside() : explain_interposed();
	} else if (patch_module() && config.patch && mallochook_start()) {
		state.source = SOURCE_HOOKED;
		explain_hooked();
	} else {
		state.source = SOURCE_BLIND;
		explain_blind();
	}
}

const char *source_name(void)
{
	static const char *const names[] = {[SOURCE_BLIND] = "blind",
					    [SOURCE_INTERPOSED] = "interposed",
					    [SOURCE_PATCHED] = "patched",
					    [SOURCE_HOOKED] = "hooked"};
	return names[state.source];
}

bool source_sees_all(void)
{
	return (state.source == SOURCE_INTERPOSED || state.source == SOURCE_PATCHED) && !state.partly_blind;
}

const char *source_reason(void)
{
	return state.reason;
}

static const struct patch_entry *first_skipped(void)
{
	const struct patch_entry *entry;
	for (unsigned i = 0; (entry = patch_entry(i)); i++)
		if (!entry->alias && entry->skipped)
			return entry;
	return NULL;
}

/* What can be done is said to those who do not see. */
void source_warn(void)
{
	const struct patch_entry *skipped = state.source == SOURCE_PATCHED ? first_skipped() : NULL;
	if (state.source == SOURCE_BLIND)
		diag("blind: %s; region calls are recorded all the same. Seen would be: a program that is "
		     "linked "
		     "against a shared allocator; MTRACE_PATCH=auto; libmtrace.so first in LD_PRELOAD",
		     source_reason());
	else if (state.partly_blind)
		diag("partly blind: %s", source_reason());
	else if (skipped)
		diag("%s, but not %s (%s), and perhaps others: mtrace-analyze info lists them",
		     source_reason(), skipped->name, skipped->skipped);
}
