# shellcheck shell=bash
# From the folder of objects to the folder that programs run under; sourced by build.sh.
# shellcheck disable=SC2154 # set by those who source this

# A library goes by the name that programs ask for, its soname.
collect_result() { # FOLDER
	local file soname
	rm -rf "$1"
	mkdir -p "$1"
	while read -r file; do
		soname=$(readelf -dW "$file" 2>/dev/null | sed -n 's/.*(SONAME).*\[\(.*\)\].*/\1/p')
		[ -n "$soname" ] || continue
		cp -L "$file" "$1/$soname"
	done < <(find "$work/objects" -maxdepth 2 -name '*.so' ! -path '*/linkobj/*' ! -name 'tst-*' | sort)
	write_testrun "$1" "$version" "$variant"
	[ -e "$1/libc.so.6" ] && [ -e "$1/$(loader_of "$1")" ]
}

write_testrun() { # FOLDER VERSION VARIANT
	local has_argv0=yes
	[ "$(printf '%s\n' 2.33 "$2" | sort -V | head -n 1)" = 2.33 ] || has_argv0=no
	sed -e "s/@VERSION@/$2/g" -e "s/@VARIANT@/$3/g" -e "s/@LOADER@/$(loader_of "$1")/g" -e "s/@HAS_ARGV0@/$has_argv0/g" \
		glibc-build/testrun.in >"$1/testrun.sh"
	chmod +x "$1/testrun.sh"
}

loader_of() { # FOLDER
	find "$1" -name 'ld*-*.so.*' -printf '%f\n' | head -n 1
}

result_is_current() { # FOLDER KEY
	[ "$(jq -r .key "$1/MANIFEST.json" 2>/dev/null)" = "$2" ]
}

json_list() { printf '%s\n' "$@" | jq -R . | jq -s .; }

# What each library's code does, into $work/census.json.
take_census() { # FOLDER
	[ -x build/mtrace-analyze ] || die "build/mtrace-analyze is not there: make glibc builds it"
	build/mtrace-analyze atomics --json "$1"/*.so.* >"$work/census.json" || die "the result cannot be counted"
}

# Ends the build where the code is not what the variant's name says.
check_census() {
	local wrong handwritten
	handwritten=$(sed '/^#/d; /^$/d' glibc-build/handwritten.txt | jq -R . | jq -s .)
	wrong=$(jq -r --arg variant "$variant" --argjson handwritten "$handwritten" -f glibc-build/census.jq "$work/census.json")
	[ -z "$wrong" ] || die "the result is not what its name says: $wrong"
}

# What it is and what it was made with, and what its code really does (without the single functions).
write_manifest() { # FOLDER KEY
	jq -n --arg variant "$variant" --arg machine "$machine" --arg version "$version" --arg flags "$flags" --arg key "$2" \
		--arg compiler "$("$compiler" --version | head -n 1)" --arg source "$source_name" --arg sha256 "$source_sha256" \
		--argjson configure "$(json_list "${configure_line[@]}")" --slurpfile census "$work/census.json" \
		'{variant: $variant, machine: $machine, version: $version, flags: $flags, compiler: $compiler,
		  configure: $configure, source: $source, source_sha256: $sha256,
		  census: [$census[0].files[] | .file |= sub(".*/"; "") | del(.functions, .sections, .problem)], key: $key}' \
		>"$1/MANIFEST.json"
}
