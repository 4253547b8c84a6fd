#include <inttypes.h>
#include <stdlib.h>

#include "analyzer/atomics_output.h"
#include "analyzer/command.h"

static const char *explain(enum atomics_verdict verdict)
{
	static const char *const texts[] = {
		[ATOMICS_NONE] = "no atomics",
		[ATOMICS_INLINE_LSE] = "inline LSE: does not run on a CPU without LSE",
		[ATOMICS_NO_LSE] = "no LSE: exclusive pairs everywhere, whatever the CPU can do",
		[ATOMICS_OUTLINE] =
			"outline: helpers take LSE where the CPU has it (HWCAP_ATOMICS, bit 8 of AT_HWCAP)",
		[ATOMICS_MIXED] = "mixed: more than one way to make an atomic operation",
	};
	return texts[verdict];
}

/* ---- one file in full ---------------------------------------------------------------------------------- */

static void print_counts(FILE *file, const struct atomics_counts *counts)
{
	fprintf(file, "%8" PRIu64 " %9" PRIu64 " %7" PRIu64 " %7" PRIu64 " %7" PRIu64, atomics_lse(counts),
		atomics_exclusive(counts), counts->outline_calls, counts->forms[ATOMIC_LSE128],
		counts->forms[ATOMIC_LRCPC3]);
}

static void print_heading(FILE *file, const char *what)
{
	fprintf(file, "\n%8s %9s %7s %7s %7s  %s\n", "LSE", "exclusive", "calls", "LSE128", "LRCPC3", what);
}

static void print_totals(FILE *file, const struct atomics_census *census)
{
	const struct atomics_counts *all = &census->all;
	fprintf(file,
		"  LSE        %" PRIu64 " (CAS %" PRIu64 ", CASP %" PRIu64 ", SWP %" PRIu64
		", LD<op> %" PRIu64 ", ST<op> %" PRIu64 ")\n",
		atomics_lse(all), all->forms[ATOMIC_CAS], all->forms[ATOMIC_CASP], all->forms[ATOMIC_SWP],
		all->forms[ATOMIC_LD_OP], all->forms[ATOMIC_ST_OP]);
	fprintf(file, "  exclusive  %" PRIu64 " (%" PRIu64 " loads, %" PRIu64 " stores)\n",
		atomics_exclusive(all), all->forms[ATOMIC_LOAD_EXCLUSIVE],
		all->forms[ATOMIC_STORE_EXCLUSIVE]);
	if (census->helpers || all->outline_calls)
		fprintf(file,
			"  outlined   %" PRIu64 " helpers, in which are %" PRIu64 " of the LSE and %" PRIu64
			" of the exclusive instructions; %" PRIu64 " calls of them\n",
			census->helpers, atomics_lse(&census->in_helpers),
			atomics_exclusive(&census->in_helpers), all->outline_calls);
	if (all->forms[ATOMIC_LSE128] || all->forms[ATOMIC_LRCPC3])
		fprintf(file, "  newer      LSE128 %" PRIu64 ", LRCPC3 %" PRIu64 "\n",
			all->forms[ATOMIC_LSE128], all->forms[ATOMIC_LRCPC3]);
	fprintf(file, "  code       %" PRIu64 " bytes; left out as data: %" PRIu64 " bytes (%s)\n",
		census->code_bytes, census->data_bytes,
		census->data == ELFSCAN_DATA_SYMBOLS
			? "by mapping symbols"
			: "no mapping symbols: only what code loads as literals");
}

static void print_sections(FILE *file, const struct atomics_census *census)
{
	print_heading(file, "section");
	for (size_t i = 0; i < census->sections_count; i++) {
		print_counts(file, &census->sections[i].counts);
		fputs("  ", file);
		print_safe(file, census->sections[i].name);
		fputc('\n', file);
	}
}

static void print_function(FILE *file, const struct atomics_place *place)
{
	char *name = atomics_readable(place->name);
	print_counts(file, &place->counts);
	fprintf(file, "  0x%" PRIx64 " ", place->address);
	print_safe(file, name ? name : "(no name)");
	fputs(place->helper ? " (helper)\n" : "\n", file);
	free(name);
}

static void print_functions(FILE *file, const struct atomics_census *census, size_t top)
{
	const struct atomics_place **order = atomics_by_count(census);
	size_t shown = top && top < census->functions_count ? top : census->functions_count;
	print_heading(file, "function");
	for (size_t i = 0; order && i < shown; i++)
		print_function(file, order[i]);
	if (shown < census->functions_count)
		fprintf(file, "%44s  and %zu more (--top 0 shows all)\n", "",
			census->functions_count - shown);
	free(order);
}

static void print_instructions(FILE *file, const struct atomics_census *census)
{
	fputc('\n', file);
	for (size_t i = 0; i < census->instructions_count; i++) {
		const struct atomics_instruction *instruction = &census->instructions[i];
		char mnemonic[ATOMICS_MNEMONIC_BYTES];
		atomics_mnemonic(instruction->word, mnemonic);
		char *name = atomics_readable(census->functions[instruction->function].name);
		fprintf(file, "%16" PRIx64 ":  %08x  %-10s ", instruction->address, instruction->word,
			mnemonic);
		print_safe(file, census->sections[instruction->section].name);
		fputc(' ', file);
		print_safe(file, name ? name : "(no name)");
		fputc('\n', file);
		free(name);
	}
}

static void print_full(FILE *file, const struct atomics_file *item, const struct atomics_view *view)
{
	const struct atomics_census *census = &item->census;
	print_safe(file, item->file);
	if (!census->machine || item->problem) {
		fprintf(file, ": not counted: ");
		print_safe(file, item->problem ? item->problem : "nothing in it");
		fputc('\n', file);
		return;
	}
	if (!census->aarch64) {
		fprintf(file, ": %s: no AArch64 code, nothing to count\n", census->machine);
		return;
	}
	fprintf(file, ": %s\n", explain(census->verdict));
	print_totals(file, census);
	if (!atomics_any(&census->all))
		return;
	print_sections(file, census);
	if (view->functions)
		print_functions(file, census, view->top);
	if (view->instructions)
		print_instructions(file, census);
}

/* ---- several, a line each ------------------------------------------------------------------------------ */

static void print_row(FILE *file, const struct atomics_file *item, const char *indent)
{
	const struct atomics_census *census = &item->census;
	bool counted = census->machine && census->aarch64 && (!item->problem || item->archive);
	if (counted)
		print_counts(file, &census->all);
	else
		fprintf(file, "%8s %9s %7s %7s %7s", "-", "-", "-", "-", "-");
	fprintf(file, "  %-10s %s", counted ? atomics_verdict_name(census->verdict) : "-", indent);
	print_safe(file, item->file);
	if (item->problem) {
		fputs(" (", file);
		print_safe(file, item->problem);
		fputc(')', file);
	} else if (!counted && census->machine) {
		fprintf(file, " (%s)", census->machine);
	}
	fputc('\n', file);
}

static void print_table(FILE *file, const struct atomics_files *files)
{
	print_heading(file, "verdict    file");
	for (size_t i = 0; i < files->count; i++) {
		const struct atomics_file *item = &files->items[i];
		print_row(file, item, "");
		for (size_t j = 0; j < item->members_count; j++)
			if (item->members[j].problem || atomics_any(&item->members[j].census.all))
				print_row(file, &item->members[j], "  ");
	}
}

void atomics_print(FILE *file, const struct atomics_files *files, const struct atomics_view *view)
{
	bool table = files->count > 1 || (files->count == 1 && files->items[0].archive);
	if (table)
		print_table(file, files);
	for (size_t i = 0; i < files->count && (!table || view->functions || view->instructions); i++) {
		if (table)
			fputc('\n', file);
		print_full(file, &files->items[i], view);
		for (size_t j = 0; j < files->items[i].members_count; j++)
			if (atomics_any(&files->items[i].members[j].census.all))
				print_full(file, &files->items[i].members[j], view);
	}
	if (files->hwcap != ATOMICS_HWCAP_UNKNOWN)
		fprintf(file, "\nthe process's CPU has %sLSE: helpers take %s\n",
			files->hwcap == ATOMICS_HWCAP_PRESENT ? "" : "no ",
			files->hwcap == ATOMICS_HWCAP_PRESENT ? "it" : "exclusive pairs");
	if (files->anonymous_bytes)
		fprintf(file,
			"\nnot looked at: %" PRIu64
			" bytes of executable memory without a file (generated code)\n",
			files->anonymous_bytes);
}
