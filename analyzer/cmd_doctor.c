#include <errno.h>
#include <limits.h>
#include <string.h>

#include "analyzer/command.h"
#include "analyzer/doctor.h"
#include "analyzer/doctor_machine.h"
#include "analyzer/doctor_process.h"
#include "analyzer/doctor_sources.h"
#include "analyzer/json.h"

struct doctor_command {
	uint64_t pid; /* 0: not given */
	const char *ftdc, *trace, *root, *version;
	bool json;
	const char *output_path;
	bool damaged;
};

/* The machine is this one, unless only files are given. */
static bool looks_at_machine(const struct doctor_command *command)
{
	return command->pid || command->root || (!command->ftdc && !command->trace);
}

static bool read_machine(const struct doctor_command *command, struct facts *facts, struct error *error)
{
	struct doctor_files files;
	const char *root = command->root ? command->root : "";
	bool good = files_open(&files, root, (pid_t)command->pid);
	if (!good)
		error_set(error, ERROR_INPUT, root, ERROR_NO_OFFSET, "%s", strerror(errno));
	if (good)
		doctor_machine_name(&files, facts);
	if (good && command->pid)
		good = doctor_process(&files, facts, error);
	if (good)
		doctor_machine(&files, facts);
	files_close(&files);
	return good;
}

static bool collect(struct doctor_command *command, struct facts *facts, struct error *error)
{
	if (looks_at_machine(command) && !read_machine(command, facts, error))
		return false;
	if (command->trace && !doctor_trace(command->trace, facts, &command->damaged, error))
		return false;
	if (command->ftdc && !doctor_ftdc(command->ftdc, facts, &command->damaged, error))
		return false;
	return !facts->no_memory || error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
}

static bool print(const struct doctor_command *command, const struct doctor *doctor, struct error *error)
{
	FILE *file = output_open(command->output_path, error);
	if (!file)
		return false;
	bool good = true;
	if (command->json) {
		json_t *object = doctor_json(doctor);
		good = json_write(file, object, error);
		json_decref(object);
	} else {
		doctor_print(file, doctor);
	}
	return output_close(file, command->output_path, error) && good;
}

static int judge(const struct doctor_command *command, const struct facts *facts, struct error *error)
{
	struct doctor doctor = {.facts = facts,
				.process = command->pid || command->ftdc || command->trace,
				.machine = looks_at_machine(command)};
	doctor_choose_profile(facts, command->version, &doctor.profile);
	doctor_run(&doctor);
	bool good = doctor.no_memory
			    ? error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory")
			    : print(command, &doctor, error);
	bool healthy = doctor_count(&doctor, DOCTOR_BAD) + doctor_count(&doctor, DOCTOR_WARN) == 0;
	doctor_free(&doctor);
	if (!good)
		return error_print(error);
	if (command->damaged)
		return ERROR_INPUT;
	return healthy ? ERROR_NONE : ERROR_NEGATIVE;
}

static int run(struct doctor_command *command)
{
	struct error error = {0};
	struct facts facts = {0};
	const char *inputs[] = {command->trace, command->ftdc};
	for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
		if (inputs[i] && !output_spares(command->output_path, &inputs[i], 1, &error))
			return error_print(&error);
	int status = collect(command, &facts, &error) ? judge(command, &facts, &error) : error_print(&error);
	facts_free(&facts);
	return status;
}

static bool check_options(const struct doctor_command *command)
{
	struct facts none = {0};
	enum doctor_profile profile;
	if (command->pid > INT_MAX) {
		fprintf(stderr, "mtrace-analyze doctor: --pid: no process has such a number\n");
		return false;
	}
	if (!doctor_choose_profile(&none, command->version, &profile)) {
		fprintf(stderr, "mtrace-analyze doctor: --for takes a version of MongoDB, e.g. 8.0\n");
		return false;
	}
	return true;
}

int cmd_doctor(int argc, char **argv)
{
	struct doctor_command command = {0};
	const struct command_option rows[] = {
		{"pid", 'p', OPTION_COUNT, &command.pid, "PID",
		 "the running mongod; read through /proc alone"},
		{"ftdc", 0, OPTION_STRING, &command.ftdc, "DIR",
		 "its diagnostic.data, or one from elsewhere"},
		{"trace", 0, OPTION_STRING, &command.trace, "FILE", "a trace of it"},
		{"root", 0, OPTION_FOLDER, &command.root, "DIR", "look at DIR/proc and DIR/sys instead"},
		{"for", 0, OPTION_STRING, &command.version, "VERSION",
		 "go by the recommendations for this MongoDB, whatever is found"},
		{"json", 0, OPTION_FLAG, &command.json, NULL, "one JSON object"},
		{"output", 'o', OPTION_STRING, &command.output_path, "FILE",
		 "write there instead of standard output"},
		{0},
	};
	const struct command_usage usage = {
		.name = "doctor",
		.operands = "",
		.purpose = "Is this machine, and this mongod, set up as MongoDB's allocator needs it? A line "
			   "a check; where\n"
			   "something is wrong, why it matters, what mends it, and who says so. With --ftdc "
			   "or --trace alone\n"
			   "nothing of this machine is looked at. Exit status 1: something is bad, or at "
			   "least warns; what\n"
			   "is unknown does not count. docs/doctor.md has a section for each check.",
		.options = rows,
		.operands_min = 0,
		.operands_max = 0,
	};
	int status;
	if (command_parse(&usage, argc, argv, &status) < 0)
		return status;
	return check_options(&command) ? run(&command) : ERROR_USAGE;
}
