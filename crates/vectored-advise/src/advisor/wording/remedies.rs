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

/// Options of known programs, by which they make larger calls.
const OPTIONS: [(&str, &[FindingKind], &str); 7] = {
    const WRITES: &[FindingKind] = &[FindingKind::AdjacentWrites];
    const BOTH: &[FindingKind] = &[FindingKind::AdjacentWrites, FindingKind::SmallReads];
    [
        (
            "tcpdump",
            WRITES,
            "no `-U`, which writes each packet at once",
        ),
        ("split", WRITES, "no `-u`, which writes each line at once"),
        ("sed", WRITES, "no `-u`, which writes each line at once"),
        ("grep", WRITES, "no `--line-buffered`"),
        ("jq", WRITES, "no `--unbuffered`"),
        ("tar", BOTH, "`-b 128`: records of 64 KiB"),
        ("dd", BOTH, "`bs=64K`"),
    ]
};

/// The option of a known program that has it make larger calls.
pub fn option_of(kind: FindingKind, program: &str) -> Option<&'static str> {
    let mut options = OPTIONS.iter();
    let option = options.find(|(name, kinds, _)| *name == program && kinds.contains(&kind));
    option.map(|(_, _, text)| *text)
}

/// The change to make in the program. The calls named may transfer only a part, unless the text says
/// otherwise.
///
/// `cargo xtask remedies` tries all code between backticks, in a program of `xtask/tests/remedies/`. Code after "no" or "in place
/// of" is that of the program before the change.
pub fn remedy(kind: FindingKind, target: DescriptorKind, runtime: Option<Runtime>) -> &'static str {
    let is_socket = matches!(target, DescriptorKind::Unix | DescriptorKind::Tcp);
    let is_file = target == DescriptorKind::File;
    match kind {
        FindingKind::AdjacentWrites if is_socket => socket_writes(runtime),
        FindingKind::Stall => socket_writes(runtime),
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
        FindingKind::PeerStall => quick_ack(runtime),
    }
}

fn writes(runtime: Option<Runtime>) -> &'static str {
    match runtime {
        Some(Runtime::Python) => {
            "`open(path, \"wb\", buffering=65536)`, no `flush=True`, python3 -u or PYTHONUNBUFFERED; for one record \
             `os.writev(fd, [a, b])`, or `gather.write_all(fd, [a, b])` of a `vectored.Gather()`"
        }
        Some(Runtime::Java) => {
            "`new BufferedOutputStream(out, 65536)` below DataOutputStream or PrintStream (without \
             autoflush), `flush()` at the end; `channel.write(new ByteBuffer[] {a, b})` of a FileChannel for one record"
        }
        Some(Runtime::Node) => {
            "`fs.createWriteStream(path)`, with `stream.cork()` and `stream.uncork()` around a batch; \
             `fs.writevSync(fd, [a, b])`, or one string, in place of `fs.writeSync` or appendFileSync"
        }
        Some(Runtime::Ruby) => {
            "`io.sync = false` ($stdout, too), `io.write(a)` in place of `io.syswrite`; `io.write(a, b)` for one record"
        }
        Some(Runtime::Php) => {
            "fwrite has no buffer for files: append to a string, and `fwrite($file, $text)` when it is long; \
             output_buffering=65536 or `ob_start(null, 65536)` for echo"
        }
        Some(Runtime::Lua) => {
            "collect lines in a table, and `file:write(table.concat(lines))` when they have 64 KiB"
        }
        Some(Runtime::Perl) => {
            "`$| = 0` (no autoflush), `print $file` in place of `syswrite`; join small strings before print"
        }
        Some(Runtime::Shell) => {
            "each echo or printf is a write: collect lines in a variable and `printf %s \"$lines\"` once, or let one \
             `awk` write them"
        }
        Some(Runtime::Go) => "`w := bufio.NewWriterSize(file, 65536)`, and `w.Flush()` at the end",
        Some(Runtime::Erlang) => {
            "`file:open(Path, [write, raw, {delayed_write, 65536, 2000}])`; `file:write(File, [Header, Body])` for one record"
        }
        Some(Runtime::Nim) => {
            "append to a string with add, and `file.write(text)` when it has 64 KiB"
        }
        Some(Runtime::Lisp) => {
            "SBCL: `:buffering :full`, and finish-output at the end; Guile: `(setvbuf port 'block 65536)`"
        }
        Some(Runtime::Cpp) => {
            "`'\\n'` in place of `std::endl`, no `std::unitbuf`; `std::ios::sync_with_stdio(false)` for cout; \
             `file.rdbuf()->pubsetbuf(buffer, 65536)` before open; writev(2) for one record"
        }
        Some(Runtime::Rust) => {
            "`vectored::GatherWriter::new(file)` or `BufWriter::new(file)`, `flush()` at the end; \
             `gather.write_all(&file, &segments)` of a vectored::Gather for one record"
        }
        Some(Runtime::C) => {
            "`static char buffer[65536]; setvbuf(stream, buffer, _IOFBF, sizeof buffer)` before the first use; \
             for one record `writev(fd, iov, count)`, or `vectored_gather_write_all(gather, fd, iov, count, NULL)` of libvectored"
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
            "`sock.sendmsg([header, body])`, or `gather.write_all(sock, [header, body])` of a `vectored.Gather()`; or \
             `sock.makefile(\"wb\")` and `flush()` before waiting"
        }
        Some(Runtime::Java) => {
            "`new BufferedOutputStream(socket.getOutputStream(), 65536)` and `flush()` before waiting; \
             `channel.write(new ByteBuffer[] {header, body})` of a SocketChannel for one message"
        }
        Some(Runtime::Node) => {
            "`socket.cork()`, the writes, `process.nextTick(() => socket.uncork())`; or one \
             `Buffer.concat([header, body])`"
        }
        Some(Runtime::Ruby) => {
            "`socket.sync = false` and `socket.flush` before waiting; `socket.write(header, body)` for one message"
        }
        Some(Runtime::Php) => "append to a string, and `fwrite($socket, $text)` before waiting",
        Some(Runtime::Lua) => "`socket:send(table.concat(parts))` once, before waiting",
        Some(Runtime::Perl) => {
            "`$socket->autoflush(0)`, `print $socket`, and `$socket->flush` before waiting; join small strings first"
        }
        Some(Runtime::Shell) => "`printf %s \"$header$body\"`: the whole message with one printf",
        Some(Runtime::Go) => {
            "`b := net.Buffers{header, body}; b.WriteTo(conn)`, or `bufio.NewWriter(conn)` and Flush"
        }
        Some(Runtime::Erlang) => "`gen_tcp:send(Socket, [Header, Body])` once, before waiting",
        Some(Runtime::Nim) => "`socket.send(header & body)` once, before waiting",
        Some(Runtime::Lisp) => {
            "write all pieces to a string stream, and send that once, before waiting"
        }
        Some(Runtime::Rust) => {
            "`gather.write_all(&stream, &segments)` of a vectored::Gather; or \
             `vectored::GatherWriter::new(stream)` and `flush()` before waiting"
        }
        Some(Runtime::Cpp | Runtime::C) => {
            "`sendmsg(fd, &message, MSG_NOSIGNAL)` or `writev(fd, iov, count)` with all pieces, or \
             `vectored_gather_write_all(gather, fd, iov, count, NULL)` of libvectored; or a buffer that is sent before waiting"
        }
        None => "sendmsg(2) or writev(2) with all pieces; or a buffer that is sent before waiting",
    }
}

fn reads(runtime: Option<Runtime>) -> &'static str {
    match runtime {
        Some(Runtime::Python) => {
            "`open(path, \"rb\", buffering=65536)`, no `os.read` of a few bytes"
        }
        Some(Runtime::Java) => {
            "`new BufferedInputStream(in, 65536)` below DataInputStream or InputStreamReader; \
             `channel.read(buffer = ByteBuffer.allocate(65536))` of a FileChannel in place of `RandomAccessFile`"
        }
        Some(Runtime::Node) => {
            "`fs.createReadStream(path, {highWaterMark: 65536})`, or `fs.readSync(fd, buffer)` into 64 KiB"
        }
        Some(Runtime::Ruby) => "`io.read(65536)` or `io.each_line` in place of `io.sysread`",
        Some(Runtime::Php) => "`fread($stream, 65536)`, no `stream_set_read_buffer($stream, 0)`",
        Some(Runtime::Lua) => "`file:read(65536)`, and take the pieces from that string",
        Some(Runtime::Perl) => {
            "`readline` or `read($file, $data, 65536)`, in place of `sysread` of a few bytes"
        }
        Some(Runtime::Shell) => {
            "`awk`, sed or another program that reads all lines, in place of `while read`"
        }
        Some(Runtime::Go) => "`bufio.NewReaderSize(file, 65536)`",
        Some(Runtime::Erlang) => "`file:open(Path, [read, raw, binary, {read_ahead, 65536}])`",
        Some(Runtime::Nim) => "`file.readChars(buffer)` into 64 KiB, and take the pieces from that",
        Some(Runtime::Lisp) => "read-sequence into 64 KiB; Guile: `(setvbuf port 'block 65536)`",
        Some(Runtime::Cpp) => {
            "`file.rdbuf()->pubsetbuf(buffer, 65536)` before open; `std::ios::sync_with_stdio(false)` for cin; \
             `read(fd, buffer, 65536)`"
        }
        Some(Runtime::Rust) => {
            "`BufReader::with_capacity(65536, file)`, or `vectored::ScatterReader::new(file)` for records"
        }
        Some(Runtime::C) => {
            "`static char buffer[65536]; setvbuf(stream, buffer, _IOFBF, sizeof buffer)` before the first use; or \
             `read(fd, buffer, 65536)`"
        }
        None => "read 64 KiB at once, and take the pieces from that buffer",
    }
}

fn stream_reads(runtime: Option<Runtime>) -> &'static str {
    match runtime {
        Some(Runtime::Python) => {
            "`sock.makefile(\"rb\", buffering=65536)`; `sys.stdin.buffer` for a pipe"
        }
        Some(Runtime::Java) => {
            "`new BufferedInputStream(socket.getInputStream(), 65536)`, one for the whole connection"
        }
        Some(Runtime::Node) => {
            "`process.stdin.on(\"data\", take)`, or that of a socket: take whole chunks, and cut them in memory"
        }
        Some(Runtime::Ruby) => "`io.readpartial(65536)`, gets or read, in place of `io.sysread`",
        Some(Runtime::Erlang) => "`gen_tcp:recv(Socket, 0)` with {buffer, 65536}; cut in memory",
        Some(Runtime::Nim) => "no `buffered = false`, and recv or recvLine",
        Some(Runtime::Lisp) => {
            "read what has arrived at once, and take the pieces from that buffer"
        }
        Some(Runtime::Go) => "`bufio.NewReaderSize(conn, 65536)`, one for the whole connection",
        Some(Runtime::Rust) => {
            "`BufReader::with_capacity(65536, stream)`, or `vectored::ScatterReader::new(stream)`"
        }
        Some(Runtime::Php | Runtime::Lua | Runtime::Perl | Runtime::Shell) => reads(runtime),
        Some(Runtime::Cpp | Runtime::C) | None => {
            "`recv(fd, buffer, 65536, 0)` or read returns the bytes that have arrived; take the pieces from the buffer"
        }
    }
}

fn writes_at(runtime: Option<Runtime>) -> &'static str {
    match runtime {
        Some(Runtime::Python) => {
            "`os.pwritev(fd, [a, b], offset)`, or `gather.write_all(fd, [a, b], offset)` of a `vectored.Gather()`"
        }
        Some(Runtime::Java) => "`channel.write(buffer, offset)` with all pieces in one ByteBuffer",
        Some(Runtime::Node) => "`fs.writev(fd, [a, b], position, done)`",
        Some(Runtime::Ruby) => "`io.pwrite(a + b, offset)`",
        Some(Runtime::Go) => "`unix.Pwritev(fd, [][]byte{a, b}, offset)` of golang.org/x/sys/unix",
        Some(Runtime::Rust) => {
            "`gather.write_all_at(&file, &segments, offset)` of a vectored::Gather"
        }
        Some(Runtime::Cpp | Runtime::C) => {
            "`pwritev(fd, iov, count, offset)`, or `vectored_pwrite_all(fd, iov, count, offset, NULL)` of libvectored"
        }
        _ => "join the pieces in one buffer, and write that once at the offset of the first",
    }
}

fn reads_at(runtime: Option<Runtime>) -> &'static str {
    match runtime {
        Some(Runtime::Python) => "`os.preadv(fd, [a, b], offset)` into bytearrays",
        Some(Runtime::Java) => "`channel.read(buffer, offset)` into one large ByteBuffer",
        Some(Runtime::Node) => "`fs.readv(fd, [a, b], position, done)`",
        Some(Runtime::Ruby) => "`io.pread(length, offset)` of all pieces",
        Some(Runtime::Go) => {
            "`file.ReadAt(large, offset)`, or `unix.Preadv(fd, [][]byte{a, b}, offset)` of golang.org/x/sys/unix"
        }
        Some(Runtime::Rust) => {
            "`scatter.read_exact_at(&file, &mut segments, offset)` of a vectored::Scatter"
        }
        Some(Runtime::Cpp | Runtime::C) | None => {
            "`preadv(fd, iov, count, offset)`, or one large pread"
        }
        Some(_) => "read the whole range once from the offset of the first, and cut it in memory",
    }
}

fn seeks(runtime: Option<Runtime>) -> &'static str {
    match runtime {
        Some(Runtime::Python) => "`os.pwrite(fd, data, offset)`, `os.pread(fd, count, offset)`",
        Some(Runtime::Java) => {
            "`channel.write(buffer, position)`, `channel.read(buffer, position)` of a FileChannel"
        }
        Some(Runtime::Node) => "the position argument of fs.read and fs.write",
        Some(Runtime::Ruby) => "`io.pwrite(data, offset)`, `io.pread(length, offset)`",
        Some(Runtime::Go) => "`file.WriteAt(data, offset)`, `file.ReadAt(data, offset)`",
        Some(Runtime::Rust) => {
            "`file.write_all_at(data, offset)`, `file.read_exact_at(data, offset)` of std::os::unix::fs::FileExt"
        }
        Some(Runtime::Shell) => {
            "read seeks back to the end of each line: `mapfile -t lines < file` reads all at once, or let \
             `awk` read them"
        }
        Some(Runtime::Erlang) => {
            "`file:pwrite(File, Offset, Bytes)`, `file:pread(File, Offset, Count)`"
        }
        Some(Runtime::Cpp | Runtime::C) | None => {
            "`pwrite(fd, data, count, offset)`, `pread(fd, data, count, offset)`"
        }
        Some(_) => {
            "no positional calls: read or write in the order of offsets, a whole range at once"
        }
    }
}

fn tiny(runtime: Option<Runtime>) -> &'static str {
    match runtime {
        Some(Runtime::Python) => "`b\"\".join(parts)`, and one write, in place of `os.writev`",
        Some(Runtime::Java) => {
            "`joined.put(part)` into one ByteBuffer, and write that in place of `ByteBuffer[]`"
        }
        Some(Runtime::Node) => "`Buffer.concat(parts)`, and one write",
        Some(Runtime::Ruby) => "`parts.join`, and one write",
        Some(Runtime::Go) => "`bytes.Join(parts, nil)` or a bufio.Writer in place of `net.Buffers`",
        Some(Runtime::Rust) => {
            "`gather.write_all(&fd, &segments)` of a vectored::Gather copies the small ones"
        }
        Some(Runtime::Cpp | Runtime::C) => {
            "`memcpy` into one buffer, then write; `vectored_gather_write_all(gather, fd, iov, count, NULL)` of libvectored does that"
        }
        _ => "join the pieces in one buffer or string, and write that once",
    }
}

fn many(runtime: Option<Runtime>) -> &'static str {
    match runtime {
        Some(Runtime::Python) => "`os.sysconf(\"SC_IOV_MAX\")` buffers an os.writev",
        Some(Runtime::Go) => {
            "`b := net.Buffers(parts); b.WriteTo(conn)` of any length on a connection"
        }
        Some(Runtime::Rust) => "`vectored::write_all(&fd, &segments)` takes lists of any length",
        Some(Runtime::Cpp | Runtime::C) => {
            "`sysconf(_SC_IOV_MAX)` segments a writev; `vectored_write_all(fd, iov, count, NULL)` of libvectored takes any number"
        }
        None => "1,024 segments a writev",
        Some(_) => "join the pieces in one buffer or string, and write that once",
    }
}

fn syncs(runtime: Option<Runtime>) -> &'static str {
    match runtime {
        Some(Runtime::Python) => "`os.fdatasync(fd)` once for several records",
        Some(Runtime::Java) => "`channel.force(false)` of a FileChannel once for several records",
        Some(Runtime::Node) => "`fs.fdatasyncSync(fd)` once for several records",
        Some(Runtime::Go) => "`file.Sync()` once for several records",
        Some(Runtime::Rust) => {
            "write several records, then `file.sync_data()`, then answer for all of them"
        }
        Some(Runtime::Ruby) => "`io.fdatasync` once for several records",
        Some(Runtime::Php) => "`fdatasync($file)` (PHP 8.1) once for several records",
        Some(Runtime::Perl) => "`$file->sync` (IO::Handle) once for several records",
        Some(Runtime::Shell) => "`sync -d file` once, after several records",
        Some(Runtime::Erlang) => "`file:datasync(File)` once for several records",
        Some(Runtime::Lua | Runtime::Nim | Runtime::Lisp) => {
            "let what syncs do so once for several records"
        }
        Some(Runtime::Cpp | Runtime::C) | None => "`fdatasync(fd)` once for several records",
    }
}

fn datagrams(runtime: Option<Runtime>) -> &'static str {
    match runtime {
        Some(Runtime::Python) => {
            "the standard library has no sendmmsg: call it through ctypes, or send fewer, larger datagrams"
        }
        Some(Runtime::Go) => {
            "`ipv4.NewPacketConn(conn).WriteBatch(messages, 0)` of golang.org/x/net/ipv4"
        }
        Some(Runtime::Rust) => {
            "`libc::sendmmsg(fd, messages.as_mut_ptr(), count, 0)`; quinn-udp for UDP"
        }
        // musl's sendmmsg calls sendmsg for each message.
        Some(Runtime::Cpp | Runtime::C) => {
            "`sendmmsg(fd, messages, count, 0)`, with musl `syscall(SYS_sendmmsg, fd, messages, count, 0)`"
        }
        _ => "put several messages into one datagram, if the receiver takes that",
    }
}

/// How a TCP socket sends each write at once: the second remedy of a stall.
pub fn no_delay(runtime: Option<Runtime>) -> &'static str {
    match runtime {
        Some(Runtime::Python) => "`sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)`",
        Some(Runtime::Java) => "`socket.setTcpNoDelay(true)`",
        Some(Runtime::Node) => "`socket.setNoDelay(true)`",
        Some(Runtime::Ruby) => "`socket.setsockopt(:TCP, :NODELAY, true)`",
        Some(Runtime::Php) => {
            "`stream_context_create([\"socket\" => [\"tcp_nodelay\" => true]])` for stream_socket_client"
        }
        Some(Runtime::Lua) => "`socket:setoption(\"tcp-nodelay\", true)`",
        Some(Runtime::Perl) => "`setsockopt($socket, IPPROTO_TCP, TCP_NODELAY, 1)`",
        Some(Runtime::Go) => "no `SetNoDelay(false)`, since Go sets TCP_NODELAY",
        Some(Runtime::Erlang) => "`inet:setopts(Socket, [{nodelay, true}])`",
        Some(Runtime::Nim) => "`socket.setSockOpt(OptNoDelay, true, level = IPPROTO_TCP.cint)`",
        Some(Runtime::Rust) => "`stream.set_nodelay(true)`",
        Some(Runtime::Cpp | Runtime::C) => {
            "`setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on)`"
        }
        Some(Runtime::Shell | Runtime::Lisp) | None => "TCP_NODELAY of tcp(7)",
    }
}

/// How a TCP socket acknowledges at once what it has received: what this end can do about a peer that writes its answer in
/// parts.
fn quick_ack(runtime: Option<Runtime>) -> &'static str {
    match runtime {
        Some(Runtime::Python) => {
            "`sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)` after each recv"
        }
        Some(Runtime::Java) => {
            "`socket.setOption(jdk.net.ExtendedSocketOptions.TCP_QUICKACK, true)` after each read"
        }
        Some(Runtime::Ruby) => "`socket.setsockopt(:TCP, :QUICKACK, 1)` after each read",
        Some(Runtime::Perl) => {
            "`setsockopt($socket, IPPROTO_TCP, TCP_QUICKACK, 1)` after each read"
        }
        Some(Runtime::Erlang) => {
            "`inet:setopts(Socket, [{raw, 6, 12, <<1:32/native>>}])`, which is TCP_QUICKACK, after each recv"
        }
        Some(Runtime::Cpp | Runtime::C) => {
            "`setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on)` after each recv"
        }
        Some(Runtime::Shell | Runtime::Node | Runtime::Php | Runtime::Lua | Runtime::Nim) => {
            "no option at this end; the first answer of a connection does not wait"
        }
        Some(Runtime::Go | Runtime::Rust | Runtime::Lisp) | None => {
            "TCP_QUICKACK of tcp(7) after each read; the first answer of a connection does not wait"
        }
    }
}

/// The change in a program that opens a file for each write.
pub fn reopening(runtime: Option<Runtime>) -> &'static str {
    match runtime {
        Some(Runtime::Shell) => "`done >> file` opens it once for a loop",
        _ => "keep it open",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;

    // The lengths are those of the enums.
    const RUNTIMES: [Runtime; Runtime::C as usize + 1] = [
        Runtime::Python,
        Runtime::Java,
        Runtime::Node,
        Runtime::Ruby,
        Runtime::Php,
        Runtime::Lua,
        Runtime::Perl,
        Runtime::Shell,
        Runtime::Go,
        Runtime::Erlang,
        Runtime::Nim,
        Runtime::Lisp,
        Runtime::Cpp,
        Runtime::Rust,
        Runtime::C,
    ];

    const KINDS: [FindingKind; FindingKind::PeerStall as usize + 1] = [
        FindingKind::AdjacentWrites,
        FindingKind::SmallReads,
        FindingKind::PositionalWrites,
        FindingKind::PositionalReads,
        FindingKind::SeekThenTransfer,
        FindingKind::TinySegments,
        FindingKind::ManySegments,
        FindingKind::SyncEach,
        FindingKind::Datagrams,
        FindingKind::Stall,
        FindingKind::PeerStall,
    ];

    /// All remedies and options, each with the first of its findings. `cargo xtask remedies` reads the list, and tries each.
    #[test]
    fn every_remedy_is_in_the_list_of_those_that_are_tried() {
        let targets = [
            DescriptorKind::File,
            DescriptorKind::Pipe,
            DescriptorKind::Unix,
            DescriptorKind::Tcp,
            DescriptorKind::Datagram,
            DescriptorKind::Unknown,
        ];
        let mut list = String::new();
        for runtime in RUNTIMES.map(Some).into_iter().chain([None]) {
            let language = language(runtime);
            let _ = writeln!(list, "{language}: reopened/file: {}", reopening(runtime));
            let _ = writeln!(list, "{language}: no-delay/tcp: {}", no_delay(runtime));
            let mut seen = Vec::new();
            for kind in KINDS {
                for target in targets {
                    let text = remedy(kind, target, runtime);
                    if !seen.contains(&text) {
                        seen.push(text);
                        let name = serde_json::to_value((kind, target)).unwrap();
                        let (kind, target) = (name[0].as_str().unwrap(), name[1].as_str().unwrap());
                        let _ = writeln!(list, "{language}: {kind}/{target}: {text}");
                    }
                }
            }
        }
        for (program, _, text) in OPTIONS {
            let _ = writeln!(list, "Option: {program}: {text}");
        }
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!("remedies", list);
        });
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
