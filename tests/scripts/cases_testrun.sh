# shellcheck shell=bash disable=SC2154
# Cases of scripts/testrun.sh and scripts/glibc_needs.sh: under a folder as `make glibc` leaves it, filled with this system's
# own glibc; sourced by run.sh.

system_loader() { readelf -lW /bin/sh | sed -n 's/.*program interpreter: \(.*\)\]/\1/p'; }

# $work/glibc, and $version of the glibc in it.
make_glibc_folder() {
	local loader folder name
	command -v readelf >/dev/null || skip "there is no readelf here"
	loader=$(system_loader)
	folder=$(dirname "$(ldd /bin/sh | sed -n 's/.*libc.so.6 => \([^ ]*\).*/\1/p')")
	version=$(ldd --version | sed -n '1s/.* //p')
	mkdir -p "$work/glibc"
	cp -L "$loader" "$work/glibc/"
	for name in libc.so.6 libm.so.6 libpthread.so.0 libdl.so.2 librt.so.1; do
		[ ! -e "$folder/$name" ] || cp -L "$folder/$name" "$work/glibc/"
	done
	printf '{"variant": "native", "version": "%s"}\n' "$version" >"$work/glibc/MANIFEST.json"
	# shellcheck source=/dev/null
	(. glibc-build/result.sh && write_testrun "$work/glibc" "$version" native)
}

build() { # NAME SOURCE FLAG...
	printf '%s\n' "$2" >"$work/$1.c"
	gcc -w -D_GNU_SOURCE -o "$work/$1" "$work/$1.c" "${@:3}" || fail "cannot build $1"
}

testrun() { scripts/testrun.sh --glibc "$work/glibc" "$@"; }

# Which libc a process has, its argv[0], what its environment says, what ps shows.
case_testrun_passes_through() {
	make_glibc_folder
	build shows '#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char line[4096], comm[32] = "";
	FILE *maps = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof line, maps))
		if (strstr(line, "libc.so.6")) { printf("libc %s", strchr(line, 47)); break; }
	fgets(comm, sizeof comm, fopen("/proc/self/comm", "r"));
	printf("comm %sargv0 %s\nlocale %s\npreload %s\ninternal %s\npid %d\n", comm, argv[0], getenv("LC_ALL") ? getenv("LC_ALL") : "-",
	       getenv("LD_PRELOAD") ? "set" : "-", getenv("TESTRUN_ARGV0") ? "set" : "-", (int)getpid());
	for (int i = 1; i < argc; i++)
		printf("<%s>", argv[i]);
	return 7;
}'
	expect 7 env LC_ALL=C.UTF-8 scripts/testrun.sh --glibc "$work/glibc" "$work/shows" 'two words' '' '*'
	expect_text "libc $work/glibc/libc.so.6"
	expect_text "comm shows"
	expect_text "argv0 $work/shows"
	expect_text "locale C.UTF-8"
	expect_text "preload -"
	expect_text "internal -"
	expect_text '<two words><><*>'
	# By name, from another folder, and without any settings.
	expect 7 env -u LC_ALL PATH="$work:$PATH" scripts/testrun.sh --glibc "$work/glibc" -- shows
	expect_text "argv0 shows"
	expect_text "locale -"
	# The folder's own script is of glibc's form; it goes where its folder goes.
	mv "$work/glibc" "$work/moved"
	expect 7 "$work/moved/testrun.sh" "$work/shows" x
	expect_text "libc $work/moved/libc.so.6"
	expect_text "comm shows"
}

# A folder as glibc's own make leaves it: libraries where they were made, the loader as elf/ld.so.
case_testrun_build_folder() {
	make_glibc_folder
	mkdir -p "$work/objects/elf" "$work/objects/math"
	cp "$work/glibc/$(basename "$(system_loader)")" "$work/objects/elf/ld.so"
	cp "$work/glibc/libc.so.6" "$work/objects/"
	cp "$work/glibc/libm.so.6" "$work/objects/math/"
	build sums '#include <math.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
	char line[4096];
	FILE *maps = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof line, maps))
		if (strstr(line, "libm.so.6") || strstr(line, "libc.so.6"))
			fputs(line, stdout);
	printf("argv0 %s\n", argv[0]);
	return (int)sqrt(argc * 81.0);
}' -lm
	expect 9 env PATH="$work:$PATH" scripts/testrun.sh --glibc "$work/objects" sums
	expect_text "$work/objects/math/libm.so.6"
	expect_text "$work/objects/libc.so.6"
	expect_text "argv0 sums"
}

case_testrun_signals() {
	make_glibc_folder
	build dies '#include <signal.h>
int main(void) { raise(SIGTERM); return 0; }'
	expect 143 testrun "$work/dies"
	build waits '#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static void handle(int number) { _exit(40 + number); }
int main(void) { signal(SIGUSR1, handle); puts("ready"); fflush(stdout); for (;;) pause(); }'
	mkfifo "$work/fifo"
	scripts/testrun.sh --glibc "$work/glibc" "$work/waits" >"$work/fifo" &
	local pid=$! line status=0
	read -r line <"$work/fifo"
	[ "$(cat "/proc/$pid/comm")" = waits ] || fail "the process is called $(cat "/proc/$pid/comm")"
	kill -USR1 "$pid"
	wait "$pid" || status=$?
	[ "$line $status" = "ready 50" ] || fail "said $line, exit status $status instead of 50"
}

# Children get the system's glibc, by fork and exec, by posix_spawn, and in a pipe of the shell.
case_testrun_children() {
	make_glibc_folder
	build parent '#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
int main(void)
{
	int status = 0, sum = 0;
	pid_t pid = fork();
	if (pid == 0)
		_exit(execlp("sh", "sh", "-c", "exit 5", NULL));
	waitpid(pid, &status, 0);
	sum += WEXITSTATUS(status);
	char *argv[] = {"sh", "-c", "exit 6", NULL};
	posix_spawnp(&pid, "sh", NULL, NULL, argv, environ);
	waitpid(pid, &status, 0);
	sum += WEXITSTATUS(status);
	sum += WEXITSTATUS(system("echo x | grep -q x && exit 9"));
	return sum;
}'
	expect 20 testrun "$work/parent"
	[ ! -e build/libmtrace.so ] || expect 20 testrun --trace "$work/parent.mtr" --mode full "$work/parent"
}

case_testrun_refuses() {
	make_glibc_folder
	build static 'int main(void) { return 0; }' -static
	expect 126 testrun "$work/static"
	expect_text "linked statically"
	printf '#!/bin/sh -e\nexit 0\n' >"$work/script"
	chmod +x "$work/script"
	expect 126 testrun "$work/script"
	expect_text "name its interpreter: /bin/sh -e $work/script"
	expect 127 testrun "$work/nothing"
	expect 127 testrun no_program_is_called_so
	printf 'text' >"$work/text"
	expect 126 testrun "$work/text"
	expect_text "may not be executed"
	chmod +x "$work/text"
	expect 126 testrun "$work/text"
	expect_text "no ELF file"
	build plain 'int main(void) { return 3; }'
	expect 126 scripts/testrun.sh --glibc "$work/nowhere" "$work/plain"
	expect_text "no such folder"
	mkdir "$work/empty"
	expect 126 scripts/testrun.sh --glibc "$work/empty" "$work/plain"
	expect_text "no loader in it"
	expect 2 scripts/testrun.sh --no-such-option x
	expect 2 scripts/testrun.sh --glibc
	expect 0 testrun --check "$work/plain"
	expect 3 testrun "$work/plain"
	expect 3 scripts/testrun.sh "$work/plain"
}

# A file for another machine: the header says so, and that is all that is needed.
case_testrun_wrong_machine() {
	make_glibc_folder
	build plain 'int main(void) { return 3; }'
	cp "$work/plain" "$work/foreign"
	printf '\xf3\x00' | dd of="$work/foreign" bs=1 seek=18 conv=notrunc status=none # RISC-V
	expect 126 testrun "$work/foreign"
	expect_text "is for"
	printf '\xf3\x00' | dd of="$work/glibc/$(basename "$(system_loader)")" bs=1 seek=18 conv=notrunc status=none
	expect 126 testrun "$work/plain"
	expect_text "the glibc in $work/glibc for"
}

# libneeds.so asks for a version of glibc that there is not yet; so does a shim.
make_newer() { # FILE
	build stub.so 'int from_the_future(void) { return 0; }' -shared -fPIC -Wl,-soname,libc.so.6 \
		-Wl,--version-script=<(echo 'GLIBC_2.99 { from_the_future; };')
	printf 'int from_the_future(void); int needs(void) { return from_the_future(); }\n' >"$work/needs.c"
	gcc -w -shared -fPIC -nostdlib -o "$1" "$work/needs.c" "$work/stub.so" || fail "cannot build $1"
}

case_testrun_newer_glibc() {
	make_glibc_folder
	make_newer "$work/libneeds.so"
	build user 'int needs(void); int main(void) { return needs(); }' "$work/libneeds.so" -Wl,-rpath,"$work" -Wl,--allow-shlib-undefined
	expect 126 testrun "$work/user"
	expect_text "$work/libneeds.so needs GLIBC_2.99, which the glibc $version in $work/glibc does not have"
	make_newer "$work/shim.so"
	build plain 'int main(void) { return 3; }'
	expect 126 testrun --shim "$work/shim.so" "$work/plain"
	expect_text "the shim $work/shim.so needs GLIBC_2.99"
	expect 0 scripts/glibc_needs.sh "$work/plain" 2.99
	expect 1 scripts/glibc_needs.sh "$work/user" 2.50
	expect_text "$work/libneeds.so needs glibc 2.99"
	expect 0 scripts/glibc_needs.sh "$work/libneeds.so"
	expect_text 2.99
	expect 3 scripts/glibc_needs.sh "$work/user.c"
	rm "$work/libneeds.so"
	expect 126 testrun "$work/user"
	expect_text "libneeds.so, which is not there"
}

# A trace of a program under another glibc is one of that program.
case_testrun_traces() {
	[ -e build/libmtrace.so ] || skip "the shim is not built"
	make_glibc_folder
	build allocates '#include <stdlib.h>
int main(void) { for (int i = 0; i < 1000; i++) { char *volatile p = malloc(100 + i); free(p); } return 4; }'
	expect 4 testrun --trace "$work/t.mtr" --mode full "$work/allocates"
	[ ! -s "$work/output" ] || fail "said: $(cat "$work/output")"
	expect 0 build/mtrace-analyze info --json "$work/t.mtr"
	[ "$(jq -r .exe "$work/output")" = "$work/allocates" ] || fail "the program is called $(jq -r .exe "$work/output")"
	[ "$(jq '.allocs >= 1000 and .lost == 0 and .complete' "$work/output")" = true ] || fail "counts: $(jq -c '{allocs, lost, complete}' "$work/output")"
	[ "$(jq --arg libc "$work/glibc/libc.so.6" 'any(.modules[]; .path == $libc)' "$work/output")" = true ] ||
		fail "libc of the trace: $(jq -r '.modules[].path' "$work/output" | grep libc)"
	# Nothing but the program itself was traced, neither this script nor the folder's.
	[ "$(find "$work" -name 't.mtr*' | wc -l)" = 1 ] || fail "traces: $(find "$work" -name 't.mtr*' | tr '\n' ' ')"
}
