# Reads the output of mtrace-analyze atomics --json; --arg variant, --argjson handwritten (names of functions whose exclusive pairs are hand-written).
# Prints what contradicts the variant's name, a line each; nothing where all is well.

def sum(f): map(f // 0) | add // 0;
# Functions with exclusive pairs that nobody has listed.
def unlisted: [.files[] | (.file | sub(".*/"; "")) as $file | .functions[] | select(.exclusive > 0 and (.name as $n | $handwritten | index($n) | not)) | "\($file) \(.name // .address)"];

if $variant == "native" then empty
else
	(.files | sum(.lse)) as $lse | (.files | sum(.exclusive)) as $exclusive | (.files | sum(.outline_calls)) as $calls
	| (.files[] | select(.machine != "aarch64") | "\(.file) is for \(.machine)"),
	if $variant == "lse" then
		(if $lse == 0 then "no LSE instructions" else empty end),
		(if $calls > 0 then "\($calls) calls of outlined helpers" else empty end),
		(unlisted | if length > 0 then "exclusive pairs in \(join(", "))" else empty end)
	elif $variant == "nolse" then
		(if $lse > 0 then "\($lse) LSE instructions" else empty end),
		(if $calls > 0 then "\($calls) calls of outlined helpers" else empty end),
		(if $exclusive == 0 then "no exclusive pairs" else empty end)
	else
		(if $calls == 0 then "no calls of outlined helpers" else empty end),
		(if $lse == 0 then "no LSE instructions" else empty end),
		(if $exclusive == 0 then "no exclusive pairs" else empty end)
	end
end
