# Runs a private PostgreSQL server until standard input closes.
# $1 folder of the programs, $2 folder of the cluster, $3 port, $4 "keep" or "remove" the folder afterwards; then more options of the server.
programs=$1 folder=$2 port=$3 afterwards=$4
shift 4
data=$folder/data log=$folder/log
failed=
exec 3<&0 </dev/null

if [ ! -s "$data/PG_VERSION" ]; then
  "$programs/initdb" --pgdata="$data" --username=postgres --auth=scram-sha-256 --pwfile="$folder/password" \
    --encoding=UTF8 --no-locale --no-sync >"$log" 2>&1 || failed=yes
fi
# What is removed anyway need not survive a crash, and ends at once (QUIT) instead of in order (INT).
if [ "$afterwards" = keep ]; then
  durability= signal=INT
else
  durability='-c fsync=off -c synchronous_commit=off -c full_page_writes=off' signal=QUIT
fi
if [ -z "$failed" ]; then
  "$programs/postgres" -D "$data" -p "$port" -c listen_addresses=127.0.0.1 -c unix_socket_directories= \
    -c max_connections=400 $durability "$@" >"$log" 2>&1 &
  server=$!
  { while read -r _; do :; done; kill -$signal $server; } <&3 2>/dev/null &
  watcher=$!
  wait $server || failed=yes
  kill $watcher 2>/dev/null
fi
[ -z "$failed" ] || tail -n 20 "$log" >&2
[ "$afterwards" = keep ] || rm -rf "$folder"
