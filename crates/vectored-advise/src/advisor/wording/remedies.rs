//! How to change a program, in the language of its runtime.

use vectored_machine::model::DescriptorKind;

use crate::advisor::descriptors::runtime::runtime_of_program;
use crate::model::{FindingKey, FindingKind, Runtime, Tally};

/// The runtime of a finding's program: from the log, or by the program's name.
pub fn runtime_of(key: &FindingKey, tally: &Tally) -> Option<Runtime> {
    tally
        .runtime
        .or_else(|| runtime_of_program(key.program.as_bytes()))
}

/// The language of a runtime; `In general` if it is unknown.
pub fn language(runtime: Option<Runtime>) -> &'static str {
    match runtime {
        Some(Runtime::Python) => "Python",
        Some(Runtime::Java) => "Java",
        Some(Runtime::Node) => "Node.js",
        Some(Runtime::Ruby) => "Ruby",
        Some(Runtime::Php) => "PHP",
        Some(Runtime::Lua) => "Lua",
        Some(Runtime::Perl) => "Perl",
        Some(Runtime::Shell) => "Shell",
        Some(Runtime::Go) => "Go",
        Some(Runtime::Erlang) => "Erlang",
        Some(Runtime::Nim) => "Nim",
        Some(Runtime::Lisp) => "Lisp",
        Some(Runtime::Cpp) => "C++",
        Some(Runtime::Rust) => "Rust",
        Some(Runtime::C) => "C",
        None => "In general",
    }
}

/// The option of a known program that has it make larger calls.
pub fn option_of(kind: FindingKind, program: &str) -> Option<&'static str> {
    Some(match (kind, program) {
        (FindingKind::AdjacentWrites, "tcpdump") => "no -U, which writes each packet at once",
        (FindingKind::AdjacentWrites, "split" | "sed") => "no -u, which writes each line at once",
        (FindingKind::AdjacentWrites, "grep") => "no --line-buffered",
        (FindingKind::AdjacentWrites, "jq") => "no --unbuffered",
        (FindingKind::AdjacentWrites | FindingKind::SmallReads, "tar" | "bsdtar") => {
            "-b 128: records of 64 KiB"
        }
        (FindingKind::AdjacentWrites | FindingKind::SmallReads, "dd") => "bs=64K",
        _ => return None,
    })
}

/// The change to make in the program. The calls named may transfer only a part, unless the text says
/// otherwise.
pub fn remedy(kind: FindingKind, target: DescriptorKind, runtime: Option<Runtime>) -> &'static str {
    let is_socket = matches!(target, DescriptorKind::Unix | DescriptorKind::Tcp);
    let is_file = target == DescriptorKind::File;
    match kind {
        FindingKind::AdjacentWrites if is_socket => socket_writes(runtime),
        FindingKind::AdjacentWrites => writes(runtime),
        FindingKind::SmallReads if is_file => reads(runtime),
        FindingKind::SmallReads => stream_reads(runtime),
        FindingKind::PositionalWrites => writes_at(runtime),
        FindingKind::PositionalReads => reads_at(runtime),
        FindingKind::SeekThenTransfer => seeks(runtime),
        FindingKind::TinySegments => tiny(runtime),
        FindingKind::ManySegments => many(runtime),
        FindingKind::SyncEach => syncs(runtime),
        FindingKind::Datagrams => datagrams(runtime),
    }
}

// Each text names parts of the language's standard library or of the operating system.

fn writes(runtime: Option<Runtime>) -> &'static str {
    match runtime {
        Some(Runtime::Python) => {
            "open(path, \"wb\", buffering=65536), no flush=True and no python3 -u; os.writev(fd, [a, b]) for one record"
        }
        Some(Runtime::Java) => {
            "new BufferedOutputStream(out, 65536) below DataOutputStream or PrintStream (without \
             autoflush), flush() at the end; FileChannel.write(ByteBuffer[]) for one record"
        }
        Some(Runtime::Node) => {
            "fs.createWriteStream(path), with stream.cork() and uncork() around a batch; \
             fs.writevSync(fd, buffers), or one string, in place of many writeSync or appendFileSync"
        }
        Some(Runtime::Ruby) => {
            "$stdout.sync = false (io.sync of another IO), write in place of syswrite; io.write(a, b) \
             for one record"
        }
        Some(Runtime::Php) => {
            "fwrite has no buffer for files: append to a string and fwrite that when it is long; \
             output_buffering=65536 or ob_start(null, 65536) for echo"
        }
        Some(Runtime::Lua) => {
            "collect lines in a table, and file:write(table.concat(lines)) when they have 64 KiB"
        }
        Some(Runtime::Perl) => {
            "$| = 0 (no autoflush), print in place of syswrite; join small strings before print"
        }
        Some(Runtime::Shell) => {
            "each echo or printf is a write: collect lines in a variable and print them once, or let one \
             awk write them"
        }
        Some(Runtime::Go) => "w := bufio.NewWriterSize(file, 65536), and w.Flush() at the end",
        Some(Runtime::Erlang) => {
            "file:open(Path, [write, raw, {delayed_write, 65536, 2000}]); file:write(File, [Header, Body]) for one record"
        }
        Some(Runtime::Nim) => {
            "append to a string with add, and file.write(text) when it has 64 KiB"
        }
        Some(Runtime::Lisp) => {
            "SBCL: :buffering :full, and finish-output at the end; Guile: (setvbuf port 'block 65536)"
        }
        Some(Runtime::Cpp) => {
            "'\\n' in place of std::endl, no std::unitbuf; std::ios::sync_with_stdio(false) for cout; \
             rdbuf()->pubsetbuf(buffer, 65536) before open; writev(2) for one record"
        }
        Some(Runtime::Rust) => {
            "vectored::GatherWriter::new(file) or BufWriter::new(file), flush() at the end; \
             gather.write_all(&file, &segments) of a vectored::Gather for one record"
        }
        Some(Runtime::C) => {
            "static char buffer[65536]; setvbuf(stream, buffer, _IOFBF, sizeof buffer) before the first use; \
             writev(fd, iov, count) for one record"
        }
        None => {
            "collect the bytes in a buffer of 64 KiB and write that; writev(2) for one record whose \
             pieces lie apart"
        }
    }
}

fn socket_writes(runtime: Option<Runtime>) -> &'static str {
    match runtime {
        Some(Runtime::Python) => {
            "sock.sendmsg([header, body]), or sock.makefile(\"wb\") and flush() before waiting"
        }
        Some(Runtime::Java) => {
            "new BufferedOutputStream(socket.getOutputStream(), 65536) and flush() before waiting; \
             SocketChannel.write(ByteBuffer[]) for one message"
        }
        Some(Runtime::Node) => {
            "socket.cork(), the writes, process.nextTick(() => socket.uncork()); or one \
             Buffer.concat([header, body])"
        }
        Some(Runtime::Ruby) => {
            "socket.sync = false and flush before waiting; socket.write(header, body) for one message"
        }
        Some(Runtime::Php) => {
            "append to a string and fwrite or socket_write that before waiting; socket_sendmsg takes \
             several buffers"
        }
        Some(Runtime::Lua) => "socket:send(table.concat(parts)) once, before waiting",
        Some(Runtime::Perl) => {
            "$socket->autoflush(0), print, and $socket->flush before waiting; join small strings first"
        }
        Some(Runtime::Shell) => "print the whole message with one printf",
        Some(Runtime::Go) => {
            "b := net.Buffers{header, body}; b.WriteTo(conn), or bufio.NewWriter(conn) and Flush"
        }
        Some(Runtime::Erlang) => "gen_tcp:send(Socket, [Header, Body]) once, before waiting",
        Some(Runtime::Nim) => "socket.send(header & body) once, before waiting",
        Some(Runtime::Lisp) => {
            "write all pieces to a string stream, and send that once, before waiting"
        }
        Some(Runtime::Rust) => {
            "gather.write_all(&stream, &segments) of a vectored::Gather; or \
             vectored::GatherWriter::new(stream) and flush() before waiting"
        }
        Some(Runtime::Cpp | Runtime::C) | None => {
            "sendmsg(fd, &message, MSG_NOSIGNAL) or writev(fd, iov, count) with all pieces; or a buffer \
             that is sent before waiting"
        }
    }
}

fn reads(runtime: Option<Runtime>) -> &'static str {
    match runtime {
        Some(Runtime::Python) => "open(path, \"rb\", buffering=65536), no os.read of a few bytes",
        Some(Runtime::Java) => {
            "new BufferedInputStream(in, 65536) below DataInputStream or InputStreamReader; \
             FileChannel.map or read(ByteBuffer) in place of RandomAccessFile.readInt"
        }
        Some(Runtime::Node) => {
            "fs.createReadStream(path, {highWaterMark: 65536}), or readSync into a Buffer of 64 KiB"
        }
        Some(Runtime::Ruby) => "IO#read or each_line in place of sysread; io.read(65536)",
        Some(Runtime::Php) => "fread($file, 65536), file_get_contents; stream_set_chunk_size",
        Some(Runtime::Lua) => "file:read(65536), and take the pieces from that string",
        Some(Runtime::Perl) => "read or readline in place of sysread; sysread of 65536 bytes",
        Some(Runtime::Shell) => {
            "awk, sed or another program that reads all lines, in place of `while read`"
        }
        Some(Runtime::Go) => "bufio.NewReaderSize(file, 65536)",
        Some(Runtime::Erlang) => "file:open(Path, [read, raw, binary, {read_ahead, 65536}])",
        Some(Runtime::Nim) => "file.readChars(buffer) into 64 KiB, and take the pieces from that",
        Some(Runtime::Lisp) => {
            "SBCL: read-sequence into 64 KiB; Guile: (setvbuf port 'block 65536)"
        }
        Some(Runtime::Cpp) => {
            "rdbuf()->pubsetbuf(buffer, 65536) before open; std::ios::sync_with_stdio(false) for cin; \
             read(fd, buffer, 65536)"
        }
        Some(Runtime::Rust) => {
            "BufReader::with_capacity(65536, file), or vectored::ScatterReader::new(file) for records"
        }
        Some(Runtime::C) => {
            "static char buffer[65536]; setvbuf(stream, buffer, _IOFBF, sizeof buffer) before the first use; or \
             read(fd, buffer, 65536)"
        }
        None => "read 64 KiB at once, and take the pieces from that buffer",
    }
}

fn stream_reads(runtime: Option<Runtime>) -> &'static str {
    match runtime {
        Some(Runtime::Python) => {
            "sock.makefile(\"rb\", buffering=65536); sys.stdin.buffer for a pipe"
        }
        Some(Runtime::Java) => {
            "new BufferedInputStream(socket.getInputStream(), 65536), one for the whole connection"
        }
        Some(Runtime::Node) => "take whole chunks of the 'data' event, and cut them in memory",
        Some(Runtime::Ruby) => "readpartial(65536), gets or read, and no sysread",
        Some(Runtime::Php) => "fread($stream, 65536) or fgets; socket_recv with a buffer of 64 KiB",
        Some(Runtime::Lua) => "file:read(65536), and take the pieces from that string",
        Some(Runtime::Perl) => "read or readline in place of sysread; sysread of 65536 bytes",
        Some(Runtime::Shell) => {
            "awk, sed or another program that reads all lines, in place of `while read`"
        }
        Some(Runtime::Go) => "bufio.NewReaderSize(conn, 65536), one for the whole connection",
        Some(Runtime::Erlang) => "gen_tcp:recv(Socket, 0), {buffer, 65536}; cut in memory",
        Some(Runtime::Nim) => "socket.recv(65536), and take the pieces from that string",
        Some(Runtime::Lisp) => {
            "read what has arrived at once, and take the pieces from that buffer"
        }
        Some(Runtime::Rust) => {
            "BufReader::with_capacity(65536, stream), or vectored::ScatterReader::new(stream)"
        }
        Some(Runtime::Cpp | Runtime::C) | None => {
            "recv(fd, buffer, 65536, 0) or read returns the bytes that have arrived; take the pieces from the buffer"
        }
    }
}

fn writes_at(runtime: Option<Runtime>) -> &'static str {
    match runtime {
        Some(Runtime::Python) => "os.pwritev(fd, [a, b], offset)",
        Some(Runtime::Java) => "channel.write(buffer, offset) with all pieces in one ByteBuffer",
        Some(Runtime::Node) => "fs.writev(fd, buffers, position)",
        Some(Runtime::Ruby) => "io.pwrite(a + b, offset)",
        Some(Runtime::Go) => "unix.Pwritev(fd, [][]byte{a, b}, offset) of golang.org/x/sys",
        Some(Runtime::Rust) => {
            "gather.write_all_at(&file, &segments, offset) of a vectored::Gather"
        }
        Some(Runtime::Erlang) => "file:pwrite(File, [{Offset, Bytes}, …]) with all pieces",
        Some(
            Runtime::Php
            | Runtime::Lua
            | Runtime::Perl
            | Runtime::Shell
            | Runtime::Nim
            | Runtime::Lisp,
        ) => "join the pieces in a string, and write that once at the offset of the first",
        Some(Runtime::Cpp | Runtime::C) | None => {
            "pwritev(fd, iov, count, offset), or one buffer and pwrite"
        }
    }
}

fn reads_at(runtime: Option<Runtime>) -> &'static str {
    match runtime {
        Some(Runtime::Python) => "os.preadv(fd, [a, b], offset) into bytearrays",
        Some(Runtime::Java) => "channel.read(buffer, offset) into one large ByteBuffer",
        Some(Runtime::Node) => "fs.readv(fd, buffers, position)",
        Some(Runtime::Ruby) => "io.pread(length, offset) of all pieces",
        Some(Runtime::Go) => "file.ReadAt(large, offset), or unix.Preadv of golang.org/x/sys",
        Some(Runtime::Rust) => {
            "scatter.read_exact_at(&file, &mut segments, offset) of a vectored::Scatter"
        }
        Some(Runtime::Erlang) => "file:pread(File, [{Offset, Count}, …]) with all pieces",
        Some(
            Runtime::Php
            | Runtime::Lua
            | Runtime::Perl
            | Runtime::Shell
            | Runtime::Nim
            | Runtime::Lisp,
        ) => "read the whole range once from the offset of the first, and cut it in memory",
        Some(Runtime::Cpp | Runtime::C) | None => {
            "preadv(fd, iov, count, offset), or one large pread"
        }
    }
}

fn seeks(runtime: Option<Runtime>) -> &'static str {
    match runtime {
        Some(Runtime::Python) => "os.pwrite(fd, data, offset), os.pread(fd, count, offset)",
        Some(Runtime::Java) => "FileChannel.write(buffer, position), read(buffer, position)",
        Some(Runtime::Node) => "the position argument of fs.read and fs.write",
        Some(Runtime::Ruby) => "io.pwrite(data, offset), io.pread(length, offset)",
        Some(Runtime::Go) => "file.WriteAt(bytes, offset), file.ReadAt(buffer, offset)",
        Some(Runtime::Rust) => {
            "FileExt::write_all_at(&file, bytes, offset), read_exact_at (std::os::unix::fs)"
        }
        Some(Runtime::Shell) => {
            "`read` seeks back to the end of each line: mapfile -t lines < file reads all at once, or let awk \
             read them"
        }
        Some(Runtime::Erlang) => {
            "file:pwrite(File, Offset, Bytes), file:pread(File, Offset, Count)"
        }
        Some(Runtime::Php | Runtime::Lua | Runtime::Perl | Runtime::Nim | Runtime::Lisp) => {
            "no positional calls: read or write in the order of offsets, a whole range at once"
        }
        Some(Runtime::Cpp | Runtime::C) | None => {
            "pwrite(fd, bytes, count, offset), pread(fd, buffer, count, offset)"
        }
    }
}

fn tiny(runtime: Option<Runtime>) -> &'static str {
    match runtime {
        Some(Runtime::Python) => "b\"\".join(parts), and one write, in place of os.writev",
        Some(Runtime::Java) => "copy into one ByteBuffer, and write that in place of ByteBuffer[]",
        Some(Runtime::Node) => "Buffer.concat(parts), and one write",
        Some(Runtime::Ruby) => "parts.join, and one write",
        Some(Runtime::Go) => "append to one []byte or a bufio.Writer in place of net.Buffers",
        Some(Runtime::Rust) => {
            "gather.write_all(&fd, &segments) of a vectored::Gather copies the small ones"
        }
        Some(Runtime::Php) => "implode(\"\", $parts), and one fwrite",
        Some(Runtime::Lua) => "table.concat(parts), and one file:write",
        Some(Runtime::Perl) => "join(\"\", @parts), and one print",
        Some(Runtime::Erlang) => "iolist_to_binary(Parts), and one file:write",
        Some(Runtime::Nim) => "join(parts), and one write",
        Some(Runtime::Lisp) => "write all parts to a string stream, and that at once",
        Some(Runtime::Shell) => "join the pieces in a variable, and print it once",
        Some(Runtime::Cpp | Runtime::C) | None => "memcpy into one buffer, then write",
    }
}

fn many(runtime: Option<Runtime>) -> &'static str {
    match runtime {
        Some(Runtime::Python) => "os.sysconf(\"SC_IOV_MAX\") buffers an os.writev",
        Some(Runtime::Go) => "net.Buffers of any length on a connection",
        Some(Runtime::Rust) => "vectored::write_all(&fd, &segments) takes lists of any length",
        Some(Runtime::Cpp | Runtime::C) | None => "sysconf(_SC_IOV_MAX) segments a writev",
        Some(_) => "join the pieces in one buffer or string, and write that once",
    }
}

fn syncs(runtime: Option<Runtime>) -> &'static str {
    match runtime {
        Some(Runtime::Python) => "os.fdatasync(fd) once for several records",
        Some(Runtime::Java) => "FileChannel.force(false) once for several records",
        Some(Runtime::Node) => "fs.fdatasync(fd) once for several records",
        Some(Runtime::Go) => "file.Sync() once for several records",
        Some(Runtime::Rust) => {
            "write several records, then file.sync_data(), then answer for all of them"
        }
        Some(Runtime::Ruby) => "io.fdatasync once for several records",
        Some(Runtime::Php) => "fdatasync($file) (PHP 8.1) once for several records",
        Some(Runtime::Perl) => "$file->sync (IO::Handle) once for several records",
        Some(Runtime::Shell) => "sync -d FILE once, after several records",
        Some(Runtime::Erlang) => "file:datasync(File) once for several records",
        Some(Runtime::Lua | Runtime::Nim | Runtime::Lisp) => {
            "let what syncs do so once for several records"
        }
        Some(Runtime::Cpp | Runtime::C) | None => "fdatasync(fd) once for several records",
    }
}

fn datagrams(runtime: Option<Runtime>) -> &'static str {
    match runtime {
        Some(Runtime::Python) => {
            "the standard library has no sendmmsg: call it through ctypes, or send fewer, larger datagrams"
        }
        Some(Runtime::Go) => {
            "ipv4.NewPacketConn(conn).WriteBatch(messages, 0) of golang.org/x/net/ipv4"
        }
        Some(Runtime::Rust) => {
            "rustix has no sendmmsg: nix::sys::socket::sendmmsg, or quinn-udp for UDP"
        }
        Some(Runtime::Cpp | Runtime::C) | None => "sendmmsg(fd, messages, count, 0)",
        _ => "put several messages into one datagram, if the receiver takes that",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUNTIMES: [Runtime; 15] = [
        Runtime::Erlang,
        Runtime::Nim,
        Runtime::Lisp,
        Runtime::Python,
        Runtime::Java,
        Runtime::Node,
        Runtime::Ruby,
        Runtime::Php,
        Runtime::Lua,
        Runtime::Perl,
        Runtime::Shell,
        Runtime::Go,
        Runtime::Cpp,
        Runtime::Rust,
        Runtime::C,
    ];

    #[test]
    fn the_usual_findings_have_a_remedy_of_each_runtime() {
        for (kind, target) in [
            (FindingKind::AdjacentWrites, DescriptorKind::File),
            (FindingKind::SmallReads, DescriptorKind::File),
        ] {
            let mut texts: Vec<&str> = RUNTIMES
                .iter()
                .map(|&runtime| remedy(kind, target, Some(runtime)))
                .collect();
            texts.push(remedy(kind, target, None));
            let count = texts.len();
            texts.sort_unstable();
            texts.dedup();
            assert_eq!(texts.len(), count, "{kind:?}");
        }
        let writes = FindingKind::AdjacentWrites;
        for (runtime, target, word) in [
            (Runtime::Java, DescriptorKind::File, "BufferedOutputStream"),
            (Runtime::Node, DescriptorKind::Tcp, "cork"),
            (Runtime::Ruby, DescriptorKind::Pipe, "$stdout.sync"),
            (Runtime::Lua, DescriptorKind::File, "table.concat"),
            (Runtime::Erlang, DescriptorKind::File, "delayed_write"),
            (Runtime::Cpp, DescriptorKind::File, "std::endl"),
            (Runtime::Php, DescriptorKind::File, "fwrite"),
        ] {
            assert!(remedy(writes, target, Some(runtime)).contains(word));
        }
    }

    #[test]
    fn no_remedy_needs_calls_that_its_language_lacks() {
        let kinds = [
            FindingKind::AdjacentWrites,
            FindingKind::SmallReads,
            FindingKind::PositionalWrites,
            FindingKind::PositionalReads,
            FindingKind::SeekThenTransfer,
            FindingKind::TinySegments,
            FindingKind::ManySegments,
            FindingKind::SyncEach,
            FindingKind::Datagrams,
        ];
        let of_c = ["(fd", "iov", "memcpy", "sysconf(_"];
        for runtime in RUNTIMES {
            if matches!(runtime, Runtime::C | Runtime::Cpp) {
                continue;
            }
            // In languages whose standard library has such a call.
            let has_descriptors = matches!(
                runtime,
                Runtime::Python | Runtime::Node | Runtime::Go | Runtime::Rust
            );
            for kind in kinds {
                for target in [
                    DescriptorKind::File,
                    DescriptorKind::Pipe,
                    DescriptorKind::Tcp,
                ] {
                    let text = remedy(kind, target, Some(runtime));
                    let lacks = |word: &&str| !has_descriptors && text.contains(*word);
                    let lacking = of_c.iter().find(|word| lacks(word));
                    assert_eq!(lacking, None, "{runtime:?} {kind:?}: {text}");
                    let scripts = [
                        Runtime::Shell,
                        Runtime::Lua,
                        Runtime::Perl,
                        Runtime::Php,
                        Runtime::Nim,
                    ];
                    if scripts.contains(&runtime) {
                        let positional = ["pread", "pwrite"];
                        let positional = positional.iter().find(|word| text.contains(**word));
                        assert_eq!(positional, None, "{runtime:?} {kind:?}: {text}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_result_that_names_no_runtime_has_that_of_its_program() {
        let key = FindingKey {
            kind: FindingKind::AdjacentWrites,
            grade: crate::model::Grade::Adjacent,
            program: "python3.11".to_owned(),
            target: DescriptorKind::File,
            file: None,
            site: None,
            steps: Vec::new(),
        };
        assert_eq!(runtime_of(&key, &Tally::default()), Some(Runtime::Python));
        let tally = Tally {
            runtime: Some(Runtime::C),
            ..Tally::default()
        };
        assert_eq!(runtime_of(&key, &tally), Some(Runtime::C));
    }
}
