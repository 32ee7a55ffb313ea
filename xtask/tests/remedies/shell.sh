case=$1 path=$2 port=$3 count=$4
pairs() { awk "BEGIN { for (i = 0; i < $count; i++) printf \"record %031d\\n\", i }"; }
# `capture` makes a capture with each record as a packet; `packets` prints the records of a capture.
capture='print pack("LSSLLLL", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 101); print pack("LLLL", 0, 0, 39, 39), $_ while <>'
packets='read STDIN, $_, 24; print substr $_, 16 while read STDIN, $_, 55'
# nginx logs a record for each request.
serve() {
    echo "daemon off; master_process off; pid pid; error_log error; events {} http { log_format of 'record \$arg_n'; $1
        keepalive_requests 99999; server { listen unix:$PWD/socket; location / { return 204; } } }" >conf
    nginx -p "$PWD" -c "$PWD/conf" &
    until test -S socket; do sleep 0.1; done
    perl -MIO::Socket::UNIX -e '$s = IO::Socket::UNIX->new("socket"); for $n (0 .. $ARGV[0] - 1) {
        send $s, sprintf("GET /?n=%031d HTTP/1.1\r\nHost: a\r\n\r\n", $n), 0; 1 while ($_ = <$s>) ne "\r\n" }' "$count"
    kill -QUIT $! && wait $!
    cat access && rm access
}
case $case in
"adjacent-writes/file 0") for i in $(seq -f %031.0f 0 $((count - 1))); do echo "record $i"; done >"$path" ;;
"adjacent-writes/file 1") awk "BEGIN { for (i = 0; i < $count; i++) printf \"record %031d\\n\", i; fflush() }" >"$path" ;;
"adjacent-writes/file#record 0") for i in $(seq -f %031.0f 0 $((count - 1))); do printf %s "record "; echo "$i"; done >"$path" ;;
"adjacent-writes/file#record 1")
    for i in $(seq -f %031.0f 0 $((count - 1))); do
        header="record " body=$i$'\n'
        printf %s "$header$body"
    done >"$path"
    ;;
"reopened/file 0") for i in $(seq -f %031.0f 0 $((count - 1))); do echo "record $i" >> file; done ;;
"reopened/file 1")
    exec {log}>>file
    for i in $(seq -f %031.0f 0 $((count - 1))); do echo "record $i" >&$log; done
    ;;
"reopened/file 2")
    exec 7>>file
    for i in $(seq -f %031.0f 0 $((count - 1))); do echo "record $i" >&7; done
    ;;
"adjacent-writes/unix 0")
    exec 3<>"/dev/tcp/127.0.0.1/$port"
    for i in $(seq -f %031.0f 0 $((count - 1))); do printf %s "record " >&3; echo "$i" >&3; done
    ;;
"adjacent-writes/unix 1")
    exec 3<>"/dev/tcp/127.0.0.1/$port"
    for i in $(seq -f %031.0f 0 $((count - 1))); do
        header="record " body=$i$'\n'
        printf %s "$header$body" >&3
    done
    ;;
"small-reads/file 0")
    lines=
    while read -r line; do lines+=$line$'\n'; done
    printf %s "$lines"
    ;;
"small-reads/file 1") awk '{ print }' ;;
"small-reads/pipe#stdin 0") while read -r line; do echo "$line"; done ;;
"small-reads/pipe#stdin 1") awk '{ print; fflush() }' ;;
"seek-then-transfer/file#read 0")
    lines=
    while read -r line; do lines+=$line$'\n'; done <"$path"
    printf %s "$lines"
    ;;
"seek-then-transfer/file#read 1")
    mapfile -t lines < file
    IFS=$'\n'
    printf '%s\n' "${lines[*]}"
    ;;
"seek-then-transfer/file#read 2") awk '{ print }' "$path" ;;
"sync-each/file 0") pairs | while read -r line; do echo "$line" >>"$path"; sync -d "$path"; done ;;
"sync-each/file 1")
    pairs | while read -r line; do echo "$line" >>file; done
    sync -d file
    ;;
"tcpdump 0") perl -e "$capture" "$path" >packets && tcpdump -U -r packets -w - | perl -e "$packets" ;;
"tcpdump 1") perl -e "$capture" "$path" >packets && tcpdump -r packets -w - | perl -e "$packets" ;;
"split 0") split -u -n r/1 "$path" part && cat partaa ;;
"split 1") split -n r/1 "$path" part && cat partaa ;;
"sed 0") sed -u p -n "$path" ;;
"sed 1") sed p -n "$path" ;;
"grep 0") grep --line-buffered . "$path" ;;
"grep 1") grep . "$path" ;;
"sort 0") sort "$path" ;;
"sort 1") stdbuf -o64K sort "$path" ;;
"jq 0") sed 's/.*/"&"/' "$path" | jq -r --unbuffered . ;;
"jq 1") sed 's/.*/"&"/' "$path" | jq -r . ;;
"dd 0") dd if="$path" bs=39 ;;
"dd 1") dd if="$path" bs=64K ;;
"nginx 0") serve 'access_log access of;' ;;
"nginx 1") serve 'access_log access of buffer=64k flush=1s;' ;;
*) exit 2 ;;
esac
