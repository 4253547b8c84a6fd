#include <string.h>

#include "analyzer/command.h"
#include "analyzer/doctor.h"
#include "analyzer/json.h"

#define ID_COLUMN 18

/* ---- JSON ---------------------------------------------------------------------------------------------- */

static json_t *finding_json(const struct doctor_finding *finding)
{
	json_t *object = json_object();
	json_put_string(object, "id", finding->id);
	json_put_string(object, "state", doctor_state_name(finding->state));
	json_put_string(object, "found", finding->found);
	json_put_string(object, "wanted", finding->wanted);
	json_put_string(object, "why", finding->why);
	json_put_string(object, "fix", finding->fix);
	json_put_string(object, "advice", finding->advice);
	json_put_string(object, "source", finding->source);
	return object;
}

static const char *text_or_null(const struct facts *facts, enum fact_id id)
{
	return fact_known(facts, id) ? fact_text(facts, id) : NULL;
}

static const char *profile_name(enum doctor_profile profile)
{
	static const char *const names[] = {"8.0", "7.0", "other"};
	return names[profile];
}

json_t *doctor_json(const struct doctor *doctor)
{
	const struct facts *facts = doctor->facts;
	json_t *object = json_object(), *findings = json_array();
	json_put(object, "pid",
		 fact_known(facts, FACT_PID) ? json_integer(fact_number(facts, FACT_PID, 0)) : NULL);
	json_put_string(object, "exe", text_or_null(facts, FACT_EXE));
	json_put_string(object, "version", text_or_null(facts, FACT_VERSION));
	json_put_string(object, "allocator", text_or_null(facts, FACT_ALLOCATOR));
	json_put_string(object, "kernel", text_or_null(facts, FACT_KERNEL));
	json_put_string(object, "arch", text_or_null(facts, FACT_ARCH));
	json_put(object, "container",
		 fact_known(facts, FACT_CONTAINER) ? json_boolean(fact_number(facts, FACT_CONTAINER, 0))
						   : NULL);
	json_put_string(object, "recommendations", profile_name(doctor->profile));
	for (enum doctor_state state = DOCTOR_OK; state <= DOCTOR_UNKNOWN; state++)
		json_put_count(object, doctor_state_name(state), doctor_count(doctor, state));
	for (size_t i = 0; i < doctor->count; i++)
		json_array_append_new(findings, finding_json(&doctor->findings[i]));
	json_put(object, "findings", findings);
	return object;
}

/* ---- text ---------------------------------------------------------------------------------------------- */

static void print_part(FILE *file, const char *before, const char *text)
{
	if (!text || !*text)
		return;
	fputs(before, file);
	print_safe(file, text);
}

static void print_subject(FILE *file, const struct doctor *doctor)
{
	static const char *const recommendations[] = {
		"of MongoDB 8.0 and newer (TCMalloc with caches per CPU)",
		"of MongoDB 7.0 and older (gperftools)", "none: this allocator is not MongoDB's"};
	const struct facts *facts = doctor->facts;
	fputs(doctor->process ? "process        " : "machine        ", file);
	print_safe(file, *fact_text(facts, FACT_EXE) ? fact_text(facts, FACT_EXE)
			 : doctor->process	     ? "mongod"
						     : "no process was named (--pid)");
	if (fact_known(facts, FACT_PID))
		fprintf(file, ", pid %lld", (long long)fact_number(facts, FACT_PID, 0));
	print_part(file, ", MongoDB ", fact_text(facts, FACT_VERSION));
	print_part(file, ", allocator ", fact_text(facts, FACT_ALLOCATOR));
	print_part(file, ", Linux ", fact_text(facts, FACT_KERNEL));
	print_part(file, " ", fact_text(facts, FACT_ARCH));
	if (fact_number(facts, FACT_CONTAINER, 0))
		fputs(", in a container", file);
	fprintf(file, "\nrecommended    %s\n\n", recommendations[doctor->profile]);
}

static void print_line(FILE *file, const char *label, const char *text)
{
	if (!text)
		return;
	fprintf(file, "%*s%-8s", 9, "", label);
	print_safe(file, text);
	fputc('\n', file);
}

static void print_finding(FILE *file, const struct doctor_finding *finding)
{
	fprintf(file, "%-8s %-*s ", doctor_state_name(finding->state), ID_COLUMN, finding->id);
	print_safe(file, finding->found ? finding->found : "");
	if (finding->wanted && (finding->state == DOCTOR_WARN || finding->state == DOCTOR_BAD))
		print_part(file, "; wanted: ", finding->wanted);
	fputc('\n', file);
	if (finding->state == DOCTOR_UNKNOWN)
		print_line(file, "", finding->advice);
	if (finding->state == DOCTOR_OK || finding->state == DOCTOR_UNKNOWN)
		return;
	print_line(file, "why", finding->why);
	print_line(file, "fix", finding->fix);
	print_line(file, finding->fix ? "" : "fix", finding->advice);
	print_line(file, "source", finding->source);
}

void doctor_print(FILE *file, const struct doctor *doctor)
{
	print_subject(file, doctor);
	for (size_t i = 0; i < doctor->count; i++)
		print_finding(file, &doctor->findings[i]);
	fprintf(file, "\n%zu ok, %zu warn, %zu bad, %zu unknown (docs/doctor.md explains each id)\n",
		doctor_count(doctor, DOCTOR_OK), doctor_count(doctor, DOCTOR_WARN),
		doctor_count(doctor, DOCTOR_BAD), doctor_count(doctor, DOCTOR_UNKNOWN));
}
