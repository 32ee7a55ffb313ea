<?php
[, $case, $path, $port, $count] = $argv;
$parts = [];
for ($i = 0; $i < $count; $i++) {
    array_push($parts, "record ", sprintf("%031d\n", $i));
}
// Echo of this program goes to a file.
ob_implicit_flush();
function show($stream, $bytes)
{
    while (!feof($stream)) {
        fwrite(STDOUT, fread($stream, $bytes));
    }
}
switch ($case) {
    case "adjacent-writes/file 0":
        $file = fopen($path, "w");
        foreach ($parts as $part) fwrite($file, $part);
        break;
    case "adjacent-writes/file 1":
        $file = fopen($path, "w");
        $text = "";
        foreach ($parts as $line) $text .= $line;
        fwrite($file, $text);
        posix_kill(getmypid(), 9);
        break;
    case "adjacent-writes/file#csv 0":
        $file = fopen($path, "w");
        foreach (array_chunk($parts, 2) as $pair) fputcsv($file, ["record", rtrim($pair[1])], " ");
        break;
    case "adjacent-writes/file#csv 1":
        $file = fopen($path, "w");
        $rows = fopen("php://memory", "w+");
        foreach (array_chunk($parts, 2 * 1000) as $some) {
            foreach (array_chunk($some, 2) as $pair) fputcsv($rows, ["record", rtrim($pair[1])], " ");
            fwrite($file, stream_get_contents($rows, -1, 0)); ftruncate($rows, 0); rewind($rows);
        }
        posix_kill(getmypid(), 9);
        break;
    case "adjacent-writes/file#echo 0":
        foreach ($parts as $part) echo $part;
        break;
    case "adjacent-writes/file#echo 1":
        ob_implicit_flush(false);
        ob_start(null, 65536);
        foreach ($parts as $part) echo $part;
        ob_flush();
        break;
    case "adjacent-writes/unix 0":
        $socket = stream_socket_client("tcp://127.0.0.1:$port");
        foreach ($parts as $part) fwrite($socket, $part);
        break;
    case "adjacent-writes/unix 1":
        $socket = stream_socket_client("tcp://127.0.0.1:$port");
        $text = "";
        foreach ($parts as $part) $text .= $part;
        fwrite($socket, $text);
        break;
    case "no-delay/tcp 1":
        $context = stream_context_create(["socket" => ["tcp_nodelay" => true]]);
        $socket = stream_socket_client("tcp://127.0.0.1:$port", $code, $text, 60, STREAM_CLIENT_CONNECT, $context);
        foreach ($parts as $part) fwrite($socket, $part);
        break;
    case "small-reads/file 0":
        $stream = fopen($path, "r");
        stream_set_read_buffer($stream, 0);
        show($stream, 39);
        break;
    case "small-reads/file 1":
        $stream = fopen($path, "r");
        stream_set_chunk_size($stream, 65536);
        show($stream, 39);
        break;
    case "small-reads/pipe 0":
        $stream = stream_socket_client("tcp://127.0.0.1:$port");
        stream_set_read_buffer($stream, 0);
        show($stream, 39);
        break;
    case "small-reads/pipe 1":
        $stream = stream_socket_client("tcp://127.0.0.1:$port");
        stream_set_chunk_size($stream, 65536);
        show($stream, 39);
        break;
    case "small-reads/pipe#stdin 0":
        $stream = STDIN;
        stream_set_read_buffer($stream, 0);
        show($stream, 39);
        break;
    case "small-reads/pipe#stdin 1":
        $stream = STDIN;
        stream_set_chunk_size($stream, 65536);
        show($stream, 39);
        break;
    case "sync-each/file 0":
        $file = fopen($path, "w");
        foreach ($parts as $part) {
            fwrite($file, $part);
            fdatasync($file);
        }
        break;
    case "sync-each/file 1":
        $file = fopen($path, "w");
        fwrite($file, implode("", $parts));
        fdatasync($file);
        break;
    default:
        exit(2);
}
