#include "analyzer/doctor_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/doctor_process.h"

/* ---- a finding ----------------------------------------------------------------------------------------- */

#define STORE(judge, field, format)                                                                          \
	do {                                                                                                 \
		va_list args;                                                                                \
		va_start(args, format);                                                                      \
		free((judge)->finding->field);                                                               \
		if (vasprintf(&(judge)->finding->field, format, args) < 0) {                                 \
			(judge)->finding->field = NULL;                                                      \
			(judge)->no_memory = true;                                                           \
		}                                                                                            \
		va_end(args);                                                                                \
	} while (0)

void judge_found(struct judge *judge, const char *format, ...)
{
	STORE(judge, found, format);
}

void judge_wanted(struct judge *judge, const char *format, ...)
{
	STORE(judge, wanted, format);
}

void judge_fix(struct judge *judge, const char *format, ...)
{
	STORE(judge, fix, format);
}

void judge_advice(struct judge *judge, const char *format, ...)
{
	STORE(judge, advice, format);
}

void judge_state(struct judge *judge, enum doctor_state state)
{
	if (judge->finding->state < state)
		judge->finding->state = state;
}

bool judge_lacks(struct judge *judge, enum fact_id id)
{
	if (fact_known(judge->facts, id))
		return false;
	judge->finding->state = DOCTOR_UNKNOWN;
	judge_found(judge, "not known: %s", fact_reason(judge->facts, id));
	return true;
}

/* ---- environment of a process -------------------------------------------------------------------------- */

#define SETTING "MONGO_TCMALLOC_PER_CPU_CACHE_SIZE_BYTES"

static void put_setting(FILE *out, const char *name, const char *value, unsigned *count)
{
	fprintf(out, "%s%s=", (*count)++ ? " " : "env ", name);
	doctor_quote(out, value);
}

/* The new one, and those of its own that it must keep. */
static void put_environment(FILE *out, const struct facts *facts, const char *name, const char *value)
{
	unsigned count = 0;
	char number[24];
	int64_t setting = fact_number(facts, FACT_PER_CPU_SETTING, 0);
	snprintf(number, sizeof number, "%lld", (long long)setting);
	if (name)
		put_setting(out, name, value, &count);
	if (*fact_text(facts, FACT_TUNABLES) && (!name || strcmp(name, "GLIBC_TUNABLES") != 0))
		put_setting(out, "GLIBC_TUNABLES", fact_text(facts, FACT_TUNABLES), &count);
	if (setting && (!name || strcmp(name, SETTING) != 0))
		put_setting(out, SETTING, number, &count);
	if (count)
		fputc(' ', out);
}

bool judge_fix_command(struct judge *judge, const char *name, const char *value, const char *wrapper)
{
	const struct facts *facts = judge->facts;
	char *text = NULL;
	size_t size = 0;
	if (!*fact_text(facts, FACT_COMMAND) || *fact_text(facts, FACT_UNIT) ||
	    fact_number(facts, FACT_CONTAINER, 0))
		return false;
	FILE *out = open_memstream(&text, &size);
	if (out) {
		fputs(fact_text(facts, FACT_COMMAND_PREFIX), out);
		put_environment(out, facts, name, value);
		fprintf(out, "%s%s", wrapper, fact_text(facts, FACT_COMMAND));
	}
	if (out && fclose(out) == 0)
		judge_fix(judge, "%s", text);
	else
		judge->no_memory = true;
	free(text);
	return true;
}

static void fix_unit(struct judge *judge, const char *unit, const char *name, const char *value)
{
	judge_fix(judge,
		  "mkdir -p /etc/systemd/system/%s.d && printf '[Service]\\nEnvironment=%s=%s\\n' "
		  ">/etc/systemd/system/%s.d/50-%s.conf && systemctl daemon-reload && systemctl restart %s",
		  unit, name, value, unit, name, unit);
}

void judge_fix_environment(struct judge *judge, const char *name, const char *value)
{
	const char *unit = fact_text(judge->facts, FACT_UNIT);
	if (judge_fix_command(judge, name, value, ""))
		judge_advice(judge, "stop the process first; it takes its environment at its start");
	else if (fact_number(judge->facts, FACT_CONTAINER, 0))
		judge_advice(
			judge,
			"start its container again with this in its environment: -e %s=%s (docker run), or "
			"under env: in the pod's specification",
			name, value);
	else if (*unit)
		fix_unit(judge, unit, name, value);
	else
		judge_advice(judge, "start mongod with %s=%s in its environment", name, value);
}

/* ---- all of them --------------------------------------------------------------------------------------- */

static bool applies(const struct doctor *doctor, const struct doctor_check *check)
{
	if (check->applies & APPLIES_PROCESS && !doctor->process)
		return false;
	if (check->applies & APPLIES_LIVE && !(doctor->machine && doctor->process))
		return false;
	if (check->applies & APPLIES_GOOGLE && doctor->profile != PROFILE_GOOGLE)
		return false;
	return !(check->applies & APPLIES_AARCH64) || fact_is(doctor->facts, FACT_ARCH, "aarch64");
}

/* Nothing to mend where nothing is wrong. */
static void tidy(struct doctor_finding *finding)
{
	if (finding->state != DOCTOR_OK)
		return;
	free(finding->fix);
	free(finding->advice);
	finding->fix = finding->advice = NULL;
}

static void run_check(struct doctor *doctor, const struct doctor_check *check)
{
	struct doctor_finding *grown =
		realloc(doctor->findings, (doctor->count + 1) * sizeof *doctor->findings);
	if (!grown) {
		doctor->no_memory = true;
		return;
	}
	doctor->findings = grown;
	grown[doctor->count] =
		(struct doctor_finding){.id = check->id, .why = check->why, .source = check->source};
	struct judge judge = {.facts = doctor->facts,
			      .profile = doctor->profile,
			      .doctor = doctor,
			      .finding = &grown[doctor->count]};
	check->run(&judge);
	tidy(judge.finding);
	doctor->count++;
	doctor->no_memory |= judge.no_memory;
}

void doctor_run(struct doctor *doctor)
{
	const struct doctor_check *const tables[] = {doctor_checks_thp, doctor_checks_rseq,
						     doctor_checks_memory, doctor_checks_system,
						     doctor_checks_shim};
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
		for (const struct doctor_check *check = tables[i]; check->id; check++)
			if (applies(doctor, check))
				run_check(doctor, check);
}

void doctor_free(struct doctor *doctor)
{
	for (size_t i = 0; i < doctor->count; i++) {
		free(doctor->findings[i].found);
		free(doctor->findings[i].wanted);
		free(doctor->findings[i].fix);
		free(doctor->findings[i].advice);
	}
	free(doctor->findings);
	doctor->findings = NULL;
	doctor->count = 0;
}

/* ---- profile ------------------------------------------------------------------------------------------- */

int64_t judge_release(const char *text)
{
	int64_t release = 0;
	for (int part = 0; part < 3; part++) {
		char *end;
		unsigned long number = *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 1000;
		if (number > 999)
			return part == 2 ? release * 1000 : -1;
		release = release * 1000 + (int64_t)number;
		if (part < 2 && *end != '.')
			return part == 1 ? release * 1000 : -1;
		text = end + 1;
	}
	return release;
}

#define RELEASE_8_0 INT64_C(8000000)

static bool is_legacy(int64_t release)
{
	return release >= 0 && release < RELEASE_8_0;
}

static enum doctor_profile profile_found(const struct facts *facts)
{
	if (!fact_known(facts, FACT_ALLOCATOR))
		return is_legacy(judge_release(fact_text(facts, FACT_VERSION))) ? PROFILE_LEGACY
										: PROFILE_GOOGLE;
	if (fact_is(facts, FACT_ALLOCATOR, "gperftools"))
		return PROFILE_LEGACY;
	return fact_is(facts, FACT_ALLOCATOR, "tcmalloc-google") ? PROFILE_GOOGLE : PROFILE_OTHER;
}

bool doctor_choose_profile(const struct facts *facts, const char *version, enum doctor_profile *profile)
{
	int64_t release = version ? judge_release(version) : 0;
	*profile = profile_found(facts);
	if (version)
		*profile = is_legacy(release) ? PROFILE_LEGACY : PROFILE_GOOGLE;
	return release >= 0;
}

size_t doctor_count(const struct doctor *doctor, enum doctor_state state)
{
	size_t count = 0;
	for (size_t i = 0; i < doctor->count; i++)
		count += doctor->findings[i].state == state;
	return count;
}

const char *doctor_state_name(enum doctor_state state)
{
	static const char *const names[] = {"ok", "warn", "bad", "unknown"};
	return names[state];
}
