# shellcheck shell=bash disable=SC2034,SC2154
# A mongod for one run, on this machine only; sourced by campaign.sh.

server=''     # its process
server_url='' # where the client finds it

# free_port: the first from 27117 on at which nobody listens.
free_port() {
	local port
	for ((port = 27117; port < 27217; port++)); do
		(exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { say "$port" && return; }
	done
	die "no free port between 27117 and 27216 on 127.0.0.1"
}

# server_start DATABASE OUTPUT TRACE: with the arm's settings; leaves its command line in server_words[] and its
# environment in server_assignments[]. False, with `reason`, where it does not answer within two minutes.
server_start() {
	local port waited
	port=$(free_port) || exit 1
	mongod_settings "${config[@]}" "${arm_config[@]}"
	words=("${opt[mongod]}" --dbpath "$1" --port "$port" --bind_ip 127.0.0.1 "${settings[@]}" "${server_args[@]}")
	guarded "$3"
	server_words=("${words[@]}")
	server_assignments=("${assignments[@]}")
	start_group "$2" "${words[@]}"
	server=$group
	server_url=mongodb://127.0.0.1:$port/ycsb
	for ((waited = 0; waited < 240; waited++)); do
		"$(program mongo-facts)" --ping "$server_url" 9>&- >/dev/null 2>&1 && return
		kill -0 "$server" 2>/dev/null || break
		tick
	done
	reason="mongod did not come up: $(tail -n 1 "$2")"
	server_end
	return 1
}

# A server writes out what it holds when it is asked to end; a minute is given to it.
server_end() {
	[ -n "$server" ] || return 0
	end_group "$server" 60
	server=''
}

# server_facts URL: what the server says of itself, for the manifest; null where it says nothing.
server_facts() { "$(program mongo-facts)" "$1" 9>&- 2>/dev/null || say null; }
