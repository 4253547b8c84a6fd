/*
 * The allocator's hooks are compiled twice (patch_names.h): as the exported functions, and with
 * MTRACE_PATCHED_SET as what the program's own patched entries lead to.
 */
#ifndef MTRACE_HOOKSET_H
#define MTRACE_HOOKSET_H

#include "shim/hook.h"
#include "shim/patch.h"

#ifdef MTRACE_PATCHED_SET
#define SET_HOOK		    SHIM_LOCAL
#define SET_NAME(name)		    patched_##name
#define NEXT			    patched_next
#define NEXT_OPERATOR(name, caller) patch_trampoline(name)
#else
#define SET_HOOK		    HOOK
#define SET_NAME(name)		    name
#define NEXT			    real
#define NEXT_OPERATOR(name, caller) real_operator(name, caller)
#endif

#endif
