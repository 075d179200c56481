# Runs a private PostgreSQL server until standard input closes.
# $1 folder of the programs, $2 folder of the cluster, $3 port, $4 "keep" or "remove" the folder afterwards.
# The server's durability is off: a crash of the machine costs only test data.
programs=$1 folder=$2 port=$3 afterwards=$4
data=$folder/data log=$folder/log
exec 3<&0 </dev/null

if [ ! -s "$data/PG_VERSION" ]; then
  "$programs/initdb" --pgdata="$data" --username=postgres --auth=scram-sha-256 --pwfile="$folder/password" \
    --encoding=UTF8 --no-locale --no-sync >"$log" 2>&1 || failed=yes
fi
if [ -z "$failed" ]; then
  "$programs/postgres" -D "$data" -p "$port" -c listen_addresses=127.0.0.1 -c unix_socket_directories= \
    -c max_connections=400 -c fsync=off -c synchronous_commit=off -c full_page_writes=off >"$log" 2>&1 &
  server=$!
  # "keep" shuts down in order (INT); what is removed anyway ends at once (QUIT).
  if [ "$afterwards" = keep ]; then signal=INT; else signal=QUIT; fi
  { while read -r _; do :; done; kill -$signal $server; } <&3 2>/dev/null &
  watcher=$!
  wait $server || failed=yes
  kill $watcher 2>/dev/null
fi
[ -z "$failed" ] || tail -n 20 "$log" >&2
[ "$afterwards" = keep ] || rm -rf "$folder"
