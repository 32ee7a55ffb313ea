//! The languages of programs: how each language is recognised, and its remedies for each way of moving bytes. A
//! language is a [`Runtime`] and one block of the table below. A program in `xtask/tests/remedies/` for each language
//! tries all code between backticks.
//!
//! Code after "no" or "not" is what the remedy takes out: only the program before the change has it. If the text before
//! a colon names an interpreter, the remedy is only for that interpreter. The code after `=>` flushes the buffer; the
//! printed advice says before which calls. Each `WriteBuffer` row has such code.

use serde::{Deserialize, Serialize};

/// Runtime of a program, which decides the remedy. The more specific come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Runtime {
    /// CPython, PyPy.
    Python,
    /// A Java virtual machine.
    Java,
    /// Node.js, Deno, Bun.
    Node,
    /// Ruby.
    Ruby,
    /// PHP.
    Php,
    /// Lua, LuaJIT.
    Lua,
    /// Perl.
    Perl,
    /// awk.
    Awk,
    /// Tcl.
    Tcl,
    /// A shell script.
    Shell,
    /// Go.
    Go,
    /// Erlang, Elixir.
    Erlang,
    /// Nim.
    Nim,
    /// Common Lisp, Scheme.
    Lisp,
    /// D, by Phobos.
    D,
    /// Fortran, by `libgfortran`.
    Fortran,
    /// Free Pascal.
    Pascal,
    /// OCaml.
    Ocaml,
    /// R.
    R,
    /// C++, by `libstdc++` or `libc++`.
    #[serde(rename = "c++")]
    Cpp,
    /// Rust.
    Rust,
    /// C: the program has a C library, and no sign of another language.
    C,
    /// A program of the system that runs no script: no code of the user.
    System,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remedy {
    pub way: Way,
    pub kind: RemedyKind,
    /// What the program has, and what to write instead. If the row [lacks](Mark::Lacks) a remedy: what the language has
    /// not.
    pub text: &'static str,
    pub mark: Mark,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    None,
    Starts,
    /// The language lacks the call, and no general text can be typed in its place.
    Lacks,
}

/// A way of moving bytes. Each remedy changes one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    Writes,
    SocketWrites,
    Reads,
    StreamReads,
    WritesAt,
    ReadsAt,
    Seeks,
    Tiny,
    Syncs,
    Datagrams,
    /// A TCP socket that keeps back short writes.
    NoDelay,
    /// A TCP socket that delays acknowledgements.
    QuickAck,
    /// A file that is opened for each write.
    Reopened,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RemedyKind {
    /// One call in place of the calls of a run, or of the pieces of a record: a list, or one joined buffer. No byte
    /// stays in memory after the call.
    Join,
    /// A buffer that collects written bytes until the buffer is full or flushed.
    WriteBuffer,
    /// One read of exactly the bytes of a run.
    ReadRun,
    /// A buffer that is filled with more bytes than the program asked for.
    ReadAhead,
    /// A change of each single call: an offset in place of a seek, a joined list, a longer list, fewer syncs.
    EachCall,
}

pub(crate) struct Language {
    /// `None` stands for all languages without a block.
    pub(crate) runtime: Option<Runtime>,
    pub(crate) name: &'static str,
    /// How the names of the language's scripts end.
    files: &'static [&'static str],
    /// The programs that run scripts or byte code of the language, without a version.
    programs: &'static [&'static str],
    /// How compiled programs of the language are recognised: signs, separated by `|`. A sign is `LIBRARY:TEXT`: the
    /// begin of the name of a library that the program needs, and a text that the program holds. `LIBRARY` or `TEXT`
    /// may be empty. The first block with a sign in a program tells its language. C is the last block, since programs
    /// of many languages have the signs of C.
    signs: &'static str,
    /// A place where programs of the language wait, and the begins of the names of the calls that the runtime makes
    /// there by itself. Advice names the place instead of these calls.
    pub(crate) own: &'static [(&'static str, &'static [&'static str])],
    /// The condition and the change with which one buffer serves several threads: for reads, then for writes.
    pub(crate) threads: &'static [&'static str],
    /// The ways out of a program that do not flush a buffer.
    pub(crate) ends: &'static str,
    /// Whether a failed flush or close raises no exception, so that the program ends as if all bytes were written.
    pub(crate) hides_errors: bool,
    remedies: &'static [Remedy],
}

pub(crate) fn language_of(runtime: Option<Runtime>) -> &'static Language {
    let known = runtime.filter(|&runtime| runtime != Runtime::System);
    let mut languages = LANGUAGES.iter();
    let own = languages.find(|language| language.runtime == known);
    own.unwrap_or(&LANGUAGES[0])
}

/// The remedies of a language. If a language lacks a remedy for a way, the block of other languages has one.
pub(crate) fn remedies_of(runtime: Option<Runtime>) -> impl Iterator<Item = &'static Remedy> {
    let shared = match runtime {
        Some(Runtime::C | Runtime::Cpp) => C_AND_CPP,
        _ => &[],
    };
    language_of(runtime).remedies.iter().chain(shared)
}

pub(crate) fn runtime_of_program(path: &[u8]) -> Option<Runtime> {
    let name = last_part(path);
    let dot = name.iter().rposition(|&byte| byte == b'.');
    let end = dot.map_or(&b""[..], |dot| &name[dot..]);
    let of_script = runtime_with(|language| language.files, end);
    of_script.or_else(|| runtime_of_interpreter(path))
}

/// Whether programs of a runtime are scripts or byte code. Such a program uses no descriptor that a library opened.
pub(crate) fn is_interpreted(runtime: Runtime) -> bool {
    let language = language_of(Some(runtime));
    language.runtime.is_some() && !language.programs.is_empty()
}

/// The runtime whose interpreter or virtual machine is the program at `path`.
pub fn runtime_of_interpreter(path: &[u8]) -> Option<Runtime> {
    runtime_with(|language| language.programs, bare_name(path))
}

/// The name of a program without its version: `python` for `python3.11`, `lua` for `lua5.4`.
pub(crate) fn bare_name(path: &[u8]) -> &[u8] {
    let name = last_part(path);
    let is_version = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'-');
    let length = name.iter().rposition(|byte| !is_version(byte));
    &name[..length.map_or(0, |last| last + 1)]
}

/// Whether a program runs scripts of a language without a block. The language of the program itself then says nothing
/// about the remedy.
pub fn interprets_others(path: &[u8]) -> bool {
    let names = [last_part(path), bare_name(path)];
    let mut others = language_of(None).programs.iter();
    others.any(|other| names.contains(&other.as_bytes()))
}

/// The runtime of a compiled program, by its signs. `has` returns whether the program has a library and a text.
pub(crate) fn runtime_by_signs(has: impl Fn(&str, &str) -> bool) -> Option<Runtime> {
    let is_in = |sign: &str| {
        sign.split_once(':')
            .is_some_and(|(library, text)| has(library, text))
    };
    let mut languages = LANGUAGES.iter();
    languages
        .find(|one| one.signs.split('|').any(is_in))?
        .runtime
}

fn runtime_with(names: impl Fn(&Language) -> &[&str], name: &[u8]) -> Option<Runtime> {
    let mut languages = LANGUAGES.iter();
    let known = languages.find(|language| names(language).iter().any(|one| one.as_bytes() == name));
    known?.runtime
}

pub(crate) fn last_part(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
}

/// Options of the system's programs that make their writes larger. Some options also make the reads larger.
pub(crate) const OPTIONS: [(&str, &[Way], &str); 7] = {
    const WRITES: &[Way] = &[Way::Writes, Way::SocketWrites];
    const ALL: &[Way] = &[Way::Writes, Way::SocketWrites, Way::Reads, Way::StreamReads];
    const NGINX: &str = "`buffer=64k flush=1s` at the end of `access_log`";
    const SED: &str = "no `-u`, which reads each byte and writes each line at once";
    const TCPDUMP: &str = "no `-U`, which writes each packet at once";
    [
        ("tcpdump", WRITES, TCPDUMP),
        ("split", WRITES, "no `-u`, which writes each line at once"),
        ("sed", ALL, SED),
        ("grep", WRITES, "no `--line-buffered`"),
        ("jq", WRITES, "no `--unbuffered`"),
        ("dd", ALL, "`bs=64K`"),
        ("nginx", &[Way::Writes], NGINX),
    ]
};

/// The remedy for a program of the system without an option: the C library then writes standard output in larger parts.
pub(crate) const STDBUF: &str =
    "`stdbuf -o64K` before the name of the program, if that writes by stdio of a shared C library";

/// The runtime of the program at `path`. `known` is the runtime that the name or the file of the program tells, if any.
/// A program of the system that runs no script is [`Runtime::System`]: an [option](OPTIONS) is its only remedy. A
/// user's program that has the name of a program in [`OPTIONS`] counts as C if `known` is `None`.
pub(crate) fn runtime_of_path(path: &[u8], known: Option<Runtime>) -> Option<Runtime> {
    const FOLDERS: &str = "/bin/ /sbin/ /usr/bin/ /usr/sbin/ /usr/lib/ /usr/libexec/ /nix/store/";
    let runs_scripts = known.is_some_and(is_interpreted) || interprets_others(path);
    let mut folders = FOLDERS.split(' ').map(str::as_bytes);
    if !runs_scripts && folders.any(|folder| path.starts_with(folder)) {
        return Some(Runtime::System);
    }
    let mut names = OPTIONS.iter().map(|option| option.0.as_bytes());
    let has_options = names.any(|name| name == last_part(path));
    known.or(has_options.then_some(Runtime::C))
}

/// The text before the code that flushes a buffer.
pub(crate) const FLUSH: &str = "; flush: `";

macro_rules! rows {
    ($($way:ident $kind:ident $(($mark:ident))? $text:literal $(=> $flush:literal)?)*) => {
        &[$({
            let marks = [Mark::None $(, Mark::$mark)?];
            let (way, mark) = (Way::$way, marks[marks.len() - 1]);
            let text = concat!($text $(, "; flush: `", $flush, "`")?);
            Remedy { way, kind: RemedyKind::$kind, text, mark }
        }),*]
    };
}

macro_rules! languages {
    ($($($runtime:ident)? $name:literal
        $(files [$($file:literal),*])? $(programs [$($program:literal),*])? $(signs $signs:literal)? $(threads [$($thread:literal),*])?
        $(own $place:literal [$($call:literal),*])?
        ends $ends:literal $(($hides:ident))? { $($rows:tt)* })*) => {
        pub(crate) const LANGUAGES: &[Language] = &[
            $(Language {
                runtime: {
                    let known = [None $(, Some(Runtime::$runtime))?];
                    known[known.len() - 1]
                },
                name: $name,
                files: &[$($($file),*)?],
                programs: &[$($($program),*)?],
                signs: concat!("" $(, $signs)?),
                threads: &[$($($thread),*)?],
                own: &[$(($place, &[$($call),*]))?],
                ends: $ends,
                hides_errors: !stringify!($($hides)?).is_empty(),
                remedies: rows!($($rows)*),
            },)*
        ];
    };
}

languages! {
    Python "Python" files [".py"] programs ["python", "pypy"]
        ends "os._exit, exec, multiprocessing workers and signals flush nothing" {
        Writes WriteBuffer "text file, also of csv and json: `buffering=65536` in open, not `buffering=1`" => "file.flush()"
        Writes WriteBuffer "print, in parts of 8 KiB: no `flush=True`, python3 -u or PYTHONUNBUFFERED" => "sys.stdout.flush()"
        Writes WriteBuffer "logging, in parts of 8 KiB: LogFile of docs/python.md#logs-of-a-service, or LogStream to a pipe that no other program writes to; each ERROR is a call more" => "handler.write_out()"
        Writes WriteBuffer "binary file: `buffering=65536` in open, not `buffering=0`" => "file.flush()"
        Writes WriteBuffer "with the package vectored: `file = vectored.GatherWriter(fd)`, and `file.write(data)`" => "file.flush()"
        Writes Join "file object: `file.write(a + b)`, then `file.flush()`"
        Writes Join "os.write: `os.writev(fd, [a, b])`"
        Writes Join "with the package vectored: `gather.write_all(fd, [a, b])` of a `vectored.Gather()`"
        SocketWrites Join "`sock.sendall(header + body)`, also with a timeout or TLS; sendmsg may send a part"
        SocketWrites Join "with the package vectored: `gather.write_all(sock, [header, body])` of a `vectored.Gather()`, without TLS or a timeout"
        SocketWrites WriteBuffer "`file = sock.makefile(\"wb\", buffering=65536)`, and all writes to that" => "file.flush()"
        Reads ReadAhead "`open(path, \"rb\", buffering=65536)`, no `os.read` of a few bytes"
        StreamReads ReadAhead "socket: `sock.makefile(\"rb\", buffering=65536)`; its read(n) waits for n bytes"
        StreamReads ReadAhead "standard input: `sys.stdin.buffer`, likewise"
        StreamReads ReadAhead "another pipe: `os.fdopen(fd, \"rb\", 65536)`, likewise"
        WritesAt Join "`os.pwritev(fd, [a, b], offset)`, at most 1,024 buffers"
        WritesAt Join "with the package vectored: `gather.write_all(fd, [a, b], offset)` of a `vectored.Gather()`"
        ReadsAt ReadRun "`os.preadv(fd, [a, b], offset)` into bytearrays, at most 1,024"
        Seeks EachCall "`os.pwrite(fd, data, offset)`, `os.pread(fd, count, offset)`"
        Tiny EachCall "`b\"\".join(parts)`, and one write, not `os.writev`"
        Syncs EachCall "`os.fdatasync(fd)` once for several records"
        Datagrams EachCall "the standard library has no sendmmsg: call it through ctypes, or send fewer, larger datagrams"
        NoDelay EachCall "`sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)`"
        QuickAck EachCall "`sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)` after each recv"
    }

    Java "Java" programs ["java"]
        signs "libjli.so:|libjvm.so:"
        ends "no way out flushes, nor does the end of main" {
        Writes WriteBuffer "`out = new BufferedOutputStream(out, 65536)` below DataOutputStream, PrintStream or PrintWriter, no `new PrintWriter(out, true)`, which flushes each println" => "out.flush()"
        Writes WriteBuffer "RandomAccessFile: `out = new DataOutputStream(new BufferedOutputStream(new FileOutputStream(file.getFD()), 65536))`, no `file.write`" => "out.flush()"
        Writes Join "FileChannel: `channel.write(new ByteBuffer[] {a, b})`"
        SocketWrites Join "SocketChannel: `channel.write(new ByteBuffer[] {header, body})`"
        SocketWrites WriteBuffer "`out = new BufferedOutputStream(socket.getOutputStream(), 65536)`" => "out.flush()"
        Reads ReadAhead "`new BufferedInputStream(in, 65536)` below DataInputStream or InputStreamReader"
        Reads ReadAhead "FileChannel: `channel.read(buffer = ByteBuffer.allocate(65536))`, not `RandomAccessFile`"
        StreamReads ReadAhead "`new BufferedInputStream(socket.getInputStream(), 65536)`, one for the whole connection"
        WritesAt Join "`channel.write(buffer, offset)` with all pieces in one ByteBuffer"
        ReadsAt ReadRun "`channel.read(buffer, offset)` into one large ByteBuffer"
        Seeks EachCall "FileChannel: `channel.write(buffer, position)`, `channel.read(buffer, position)`"
        Tiny EachCall "`joined.put(part)` into one ByteBuffer, and write that, not `ByteBuffer[]`"
        Syncs EachCall "`channel.force(false)` of a FileChannel once for several records"
        NoDelay EachCall "`socket.setTcpNoDelay(true)`"
        QuickAck EachCall "`socket.setOption(jdk.net.ExtendedSocketOptions.TCP_QUICKACK, true)` after each read"
    }

    Node "Node.js" files [".js", ".mjs", ".cjs"] programs ["node", "nodejs", "deno", "bun"]
        own "each await and each return to the event loop" ["epoll", "waiting for or waking", "a read or write of a terminal"]
        ends "process.exit, process.abort, an uncaught exception and signals drop what was not written" {
        Writes WriteBuffer "file descriptor: `lines.push(Buffer.from(data))`, not `fs.writeSync`" => "fs.writeFileSync(fd, Buffer.concat(lines.splice(0)))"
        Writes WriteBuffer "stream of a file: `stream.cork()` before the writes of a batch, of which 1,024 go in a call" => "stream.uncork()"
        Writes WriteBuffer "standard output and console.log, where cork does nothing: `lines.push(text)`" => "process.stdout.write(lines.splice(0).join(\"\"))"
        Writes Join "file descriptor: `fs.writevSync(fd, [a, b])` of Buffers, or one string, not `fs.writeSync` or appendFileSync"
        SocketWrites Join "one `Buffer.concat([header, body])`"
        SocketWrites WriteBuffer "`socket.cork()` before the writes, of which 1,024 go in a call" => "process.nextTick(() => socket.uncork())"
        Reads ReadAhead "`fs.createReadStream(path, {highWaterMark: 65536})`"
        Reads ReadAhead "`fs.readSync(fd, buffer)` into 64 KiB"
        StreamReads ReadAhead "`process.stdin.on(\"data\", take)`, or that of a socket: take whole chunks, and cut them in memory"
        WritesAt Join "`fs.writev(fd, [a, b], position, done)`"
        ReadsAt ReadRun "`fs.readv(fd, [a, b], position, done)`, at most 1,024 buffers"
        Seeks EachCall "the position argument of fs.read and fs.write"
        Tiny EachCall "`Buffer.concat(parts)`, and one write; a stream joins waiting writes itself: add several texts, and write that"
        Syncs EachCall "`fs.fdatasyncSync(fd)` once for several records"
        NoDelay EachCall "`socket.setNoDelay(true)`"
        QuickAck EachCall "no option at this end; the first answer of a connection does not wait"
    }

    Ruby "Ruby" files [".rb"] programs ["ruby", "irb"]
        ends "exit!, exec and SIGKILL flush nothing" {
        Writes WriteBuffer "in parts of 8 KiB: `io.sync = false` ($stdout as well), `io.write(a)`, not `io.syswrite`" => "io.flush"
        Writes WriteBuffer "Logger, in parts of 8 KiB: `Logger.new(io)` of such a file, not `Logger.new(path)`" => "io.flush"
        Writes Join "`io.write(a, b)` for one record"
        SocketWrites Join "`socket.write(header, body)` for one message"
        SocketWrites WriteBuffer "in parts of 8 KiB: `socket.sync = false`" => "socket.flush"
        Reads ReadAhead "`io.read(65536)`, cut in memory, not `io.sysread`: a small io.read is a call too"
        Reads ReadAhead "lines, in parts of 8 KiB: `io.each_line`"
        StreamReads ReadAhead "`data << io.readpartial(65536)`, cut in memory, not `io.sysread`: a small io.read is a call, and a large one waits for all its bytes"
        StreamReads ReadAhead "lines, in parts of 8 KiB: `io.gets`"
        WritesAt Join "`io.pwrite(a + b, offset)`"
        ReadsAt ReadRun "`io.pread(length, offset)` of all pieces"
        Seeks EachCall "`io.pwrite(data, offset)`, `io.pread(length, offset)`"
        Tiny EachCall "`parts.join`, and one write"
        Syncs EachCall "`io.fdatasync` once for several records"
        NoDelay EachCall "`socket.setsockopt(:TCP, :NODELAY, true)`"
        QuickAck EachCall "`socket.setsockopt(:TCP, :QUICKACK, 1)` after each read"
    }

    Php "PHP" files [".php"] programs ["php", "php-fpm", "php-cgi"]
        ends "no way out writes a string; errors and exit write ob_start, signals do not" (HidesErrors) {
        Writes WriteBuffer "file: fwrite has no buffer: `$text .= $line` until it is long; ftell does not count that" => "fwrite($file, $text)"
        Writes WriteBuffer "fputcsv, to `$rows = fopen(\"php://memory\", \"w+\")`" => "fwrite($file, stream_get_contents($rows, -1, 0)); ftruncate($rows, 0); rewind($rows)"
        Writes WriteBuffer "echo: output_buffering=65536, or `ob_start(null, 65536)`, without fwrite(STDOUT)" => "ob_flush()"
        SocketWrites WriteBuffer "`$text .= $part`" => "fwrite($socket, $text)"
        Reads ReadAhead "`stream_set_chunk_size($stream, 65536)` before the first read, no `stream_set_read_buffer($stream, 0)`"
        StreamReads ReadAhead "`stream_set_chunk_size($stream, 65536)` before the first read, no `stream_set_read_buffer($stream, 0)`"
        Syncs EachCall "`fdatasync($file)` (PHP 8.1) once for several records"
        NoDelay EachCall "`stream_context_create([\"socket\" => [\"tcp_nodelay\" => true]])` for stream_socket_client"
        QuickAck EachCall "no option of streams at this end; the first answer of a connection does not wait"
        Seeks EachCall (Lacks) "positional read or write"
    }

    Lua "Lua" files [".lua"] programs ["lua", "luajit"]
        ends "signals flush nothing" (HidesErrors) {
        Writes WriteBuffer "in parts of 4 KiB: `file:setvbuf(\"full\")`, not `file:setvbuf(\"no\")` or \"line\"" => "assert(file:flush())"
        Writes Join "`file:write(header .. body)`, then `assert(file:flush())`: several arguments may be several calls"
        SocketWrites WriteBuffer "in parts of 8 KiB: `parts[#parts + 1] = part`" => "assert(socket:send(table.concat(parts)))"
        Reads ReadAhead "`file:read(65536)`, and take the pieces from that string"
        StreamReads ReadAhead "in parts of 4 KiB: no `file:setvbuf(\"no\")`, and `file:read(count)` of one piece, since it waits for count bytes"
        NoDelay EachCall "`socket:setoption(\"tcp-nodelay\", true)`"
        QuickAck EachCall "no option at this end; the first answer of a connection does not wait"
        Seeks EachCall (Lacks) "positional read or write"
    }

    Perl "Perl" files [".pl"] programs ["perl"]
        ends "POSIX::_exit, exec and signals flush nothing" (HidesErrors) {
        Writes WriteBuffer "in parts of 8 KiB: `print $file`, not `syswrite`, no autoflush(1) or $| = 1" => "my $o = select $file; $| = 1; print \"\" or die $!; $| = 0; select $o"
        Writes Join "`print $file $header . $body`, then `$file->flush or die $!`"
        SocketWrites Join "`print $socket $header . $body`"
        SocketWrites WriteBuffer "in parts of 8 KiB: `$socket->autoflush(0)`, `print $socket`" => "$socket->flush or die $!"
        Reads ReadAhead "`sysread($file, $data, 65536, length $data)`, and cut the pieces from $data, not `sysread` of a few bytes"
        Reads ReadAhead "in parts of 8 KiB: `readline $file`, or `read($file, $data, $count)`, not `sysread` of a few bytes"
        StreamReads ReadAhead "`sysread($file, $data, 65536, length $data)`, and cut the pieces from $data, not `sysread` of a few bytes"
        StreamReads ReadAhead "in parts of 8 KiB: `readline $file`, or `read($file, $data, $count)` of one piece, since it waits for $count bytes"
        Syncs EachCall "`$file->sync` (IO::Handle) once for several records"
        NoDelay EachCall "`setsockopt($socket, IPPROTO_TCP, TCP_NODELAY, 1)`"
        QuickAck EachCall "`setsockopt($socket, IPPROTO_TCP, TCP_QUICKACK, 1)` after each read"
        Seeks EachCall (Lacks) "positional read or write"
    }

    Shell "Shell" files [".sh"] programs ["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "yash"]
        ends "signals flush nothing of awk" {
        Writes WriteBuffer (Starts) "each echo or printf is a write: let one `awk` make all lines, in parts of 4 KiB. Do not collect them in a variable, which is copied each time" => "fflush()"
        Writes Join "`printf %s \"$header$body\"`: one printf for the pieces of a record"
        SocketWrites Join "`printf %s \"$header$body\"`: the whole message with one printf"
        Reads ReadAhead (Starts) "in parts of 4 KiB: `awk`, sed or another program that reads all lines, not `while read`"
        StreamReads ReadAhead (Starts) "`awk` that takes all lines, with `fflush()` after each line, unless its output may come later (mawk: also -W interactive), not `while read`"
        Seeks EachCall "bash: `mapfile -t lines < file` reads all at once, where read seeks back to the end of each line"
        Seeks EachCall (Starts) "let `awk` read the lines"
        Syncs EachCall "`sync -d file` once, after several records"
        QuickAck EachCall "no option at this end; the first answer of a connection does not wait"
        Reopened EachCall "bash: `exec {log}>>file` once, and `>&$log`, not `>> file`; another name than log for another file"
        Reopened EachCall "`exec 7>>file` once, and `>&7`, not `>> file`; another number than 7 if the script uses that"
        Reads ReadRun (Lacks) "read of exactly the bytes of a run"
        StreamReads ReadRun (Lacks) "read of exactly the bytes of a run"
    }

    Awk "awk" files [".awk"] programs ["awk", "gawk", "mawk", "nawk", "original-awk"]
        ends "signals flush nothing" (HidesErrors) {
        Writes WriteBuffer "in parts of 4 KiB: no `fflush()` or system(\"\") after each line, mawk without -W interactive" => "fflush()"
        Writes Join "`print header body`, then `fflush()`: one print for the pieces of a record"
        Reads ReadAhead "`AWKBUFSIZE=65536 gawk`; mawk always reads 4 KiB"
        StreamReads ReadAhead "`AWKBUFSIZE=65536 gawk`; mawk always reads 4 KiB"
        Reopened EachCall "no `close(file)` after each line"
        Reads ReadRun (Lacks) "read of exactly the bytes of a run"
        StreamReads ReadRun (Lacks) "read of exactly the bytes of a run"
        Seeks EachCall (Lacks) "positional read or write"
    }

    Tcl "Tcl" files [".tcl"] programs ["tclsh", "wish"]
        ends "signals flush nothing" {
        Writes WriteBuffer "`fconfigure $file -buffering full -buffersize 65536`, not `-buffering none` or line" => "flush $file"
        Writes Join "`puts -nonewline $file $header$body`, then `flush $file`"
        SocketWrites Join "`puts -nonewline $file $header$body`, then `flush $file`"
        SocketWrites WriteBuffer "`fconfigure $file -buffering full -buffersize 65536`" => "flush $file"
        Reads ReadAhead "`fconfigure $file -buffersize 65536`"
        StreamReads ReadAhead "`fconfigure $file -buffersize 65536`; read of n characters waits for all of them"
        Seeks EachCall (Lacks) "positional read or write"
    }

    // Rust comes before all other languages whose signs are texts: `vectored` is a Rust program and holds every text of
    // this table.
    Rust "Rust"
        signs ":/rustc/|:/usr/src/rustc-|:library/std/src"
        ends "process::exit, exec, abort and signals flush nothing" (HidesErrors) {
        Writes WriteBuffer "`BufWriter::with_capacity(65536, file)`" => "file.flush()"
        Writes WriteBuffer "with the crate vectored: `vectored::GatherWriter::with_capacity(65536, file)`" => "file.flush()"
        Writes Join "with the crate vectored: `gather.write_all(&file, &segments)` of a vectored::Gather"
        SocketWrites Join "`stream.write_all(&[header, body].concat())` of all pieces"
        SocketWrites Join "with the crate vectored: `gather.write_all(&stream, &segments)` of a vectored::Gather"
        SocketWrites WriteBuffer "with the crate vectored: `vectored::GatherWriter::with_capacity(65536, stream)`" => "stream.flush()"
        SocketWrites Join "with tokio: FramedQueue of the crate vectored-codec in place of FramedWrite, with feed in place of send; or one write_all_buf of all that waits"
        Reads ReadAhead "`BufReader::with_capacity(65536, file)`; where the buffer ends, read returns less: repeat it until the block is full or it returns 0"
        Reads ReadAhead "records, with the crate vectored: `vectored::ScatterReader::with_capacity(65536, file)`"
        StreamReads ReadAhead "`BufReader::with_capacity(65536, stream)`; where the buffer ends, read returns less: read_exact"
        StreamReads ReadAhead "records, with the crate vectored: `vectored::ScatterReader::with_capacity(65536, stream)`"
        WritesAt Join "with the crate vectored: `gather.write_all_at(&file, &segments, offset)` of a vectored::Gather"
        ReadsAt ReadRun "with the crate vectored: `scatter.read_exact_at(&file, &mut segments, offset)` of a vectored::Scatter"
        Seeks EachCall "`file.write_all_at(data, offset)`, `file.read_exact_at(data, offset)` of std::os::unix::fs::FileExt"
        Tiny EachCall "with the crate vectored: `gather.write_all(&fd, &segments)` of a vectored::Gather copies the small ones"
        Syncs EachCall "write several records, then `file.sync_data()`, then answer for all of them"
        Datagrams EachCall "`libc::sendmmsg(fd, messages.as_mut_ptr(), count, 0)`; quinn-udp for UDP"
        NoDelay EachCall "`stream.set_nodelay(true)`"
    }

    Go "Go"
        signs ":\x04\0\0\0Go\0\0"
        threads [
            "no other process and one goroutine reads it, bufio.NewReaderSize(file, 65536)",
            "one goroutine writes them, bufio.NewWriterSize(file, 65536), with a checked w.Flush() before it waits"
        ]
        ends "no way out flushes, nor does the end of main" (HidesErrors) {
        Writes WriteBuffer "`w := bufio.NewWriterSize(file, 65536)`" => "w.Flush()"
        Writes Join "`file.Write(bytes.Join([][]byte{header, body}, nil))`"
        SocketWrites Join "`b := net.Buffers{header, body}; b.WriteTo(conn)`"
        SocketWrites WriteBuffer "`w := bufio.NewWriterSize(conn, 65536)`" => "w.Flush()"
        Reads ReadAhead "`bufio.NewReaderSize(file, 65536)`; where the buffer ends, Read returns less: io.ReadFull"
        StreamReads ReadAhead "`bufio.NewReaderSize(conn, 65536)`, one for the whole connection; where the buffer ends, Read returns less: io.ReadFull"
        WritesAt Join "`unix.Pwritev(fd, [][]byte{a, b}, offset)` of golang.org/x/sys/unix, at most 1,024 slices"
        ReadsAt ReadRun "`file.ReadAt(large, offset)`"
        ReadsAt ReadRun "`unix.Preadv(fd, [][]byte{a, b}, offset)` of golang.org/x/sys/unix, at most 1,024 slices"
        Seeks EachCall "`file.WriteAt(data, offset)`, `file.ReadAt(data, offset)`"
        Tiny EachCall "`bytes.Join(parts, nil)` or a bufio.Writer, not `net.Buffers`"
        Syncs EachCall "`file.Sync()` once for several records"
        Datagrams EachCall "`ipv4.NewPacketConn(conn).WriteBatch(messages, 0)` of golang.org/x/net/ipv4"
        NoDelay EachCall "no `SetNoDelay(false)`, since Go sets TCP_NODELAY"
    }

    Erlang "Erlang" files [".erl", ".exs"] programs ["beam.smp", "beam", "erl", "escript", "elixir"]
        ends "halt() and kills flush nothing" (HidesErrors) {
        Writes WriteBuffer "`{delayed_write, 65536, 2000}` in the options of file:open, beside raw" => "file:position(File, cur)"
        Writes Join "`file:write(File, [Header, Body])` for one record"
        SocketWrites Join "`gen_tcp:send(Socket, [Header, Body])` once, before waiting"
        Reads ReadAhead "`file:open(Path, [read, raw, binary, {read_ahead, 65536}])`"
        StreamReads ReadAhead "`gen_tcp:recv(Socket, 0)` with {buffer, 65536}; cut in memory"
        Seeks EachCall "`file:pwrite(File, Offset, Bytes)`, `file:pread(File, Offset, Count)`"
        Syncs EachCall "`file:datasync(File)` once for several records"
        NoDelay EachCall "`inet:setopts(Socket, [{nodelay, true}])`"
        QuickAck EachCall "`inet:setopts(Socket, [{raw, 6, 12, <<1:32/native>>}])`, which is TCP_QUICKACK, after each recv"
    }

    Nim "Nim"
        signs ":(Attempt to read from nil?)"
        ends "no way out writes a string" {
        Writes WriteBuffer "`bufSize = 0` in open, since flushFile and close ignore errors; append to a string with add, and write it when it has 64 KiB" => "file.write(text); text.setLen(0)"
        SocketWrites WriteBuffer "`text.add(part)`" => "socket.send(text)"
        Reads ReadAhead "`file.readChars(buffer)` into 64 KiB, and take the pieces from that"
        StreamReads ReadAhead "socket: no `buffered = false`, and recv or recvLine of one piece"
        StreamReads ReadAhead "pipe, in parts of 4 KiB: no `setStdIoUnbuffered()` or bufSize 0, and readChars of one piece, since it waits for all its bytes"
        NoDelay EachCall "`socket.setSockOpt(OptNoDelay, true, level = IPPROTO_TCP.cint)`"
        Seeks EachCall "`pread(file.getFileHandle, addr buffer[0], count, offset)`, of the module posix; pwrite likewise"
    }

    Lisp "Lisp" files [".lisp", ".scm"] programs ["sbcl", "guile", "ecl", "clisp", "racket"]
        ends "exit :abort, primitive-_exit and signals flush nothing" {
        Writes WriteBuffer "SBCL, in parts of 8 KiB: no `(finish-output stream)` or force-output after each line" => "(finish-output stream)"
        Writes WriteBuffer "SBCL, standard output or a descriptor, in parts of 8 KiB: `(sb-sys:make-fd-stream fd :output t :buffering :full)`" => "(finish-output stream)"
        Writes WriteBuffer "Guile: `(setvbuf port 'block 65536)`" => "(force-output port)"
        SocketWrites Join "write all pieces to a string stream, and send that once, before waiting"
        Reads ReadAhead "SBCL, whose streams read 8 KiB: `(sb-unix:unix-read fd (sb-sys:vector-sap buffer) 65536)` with the buffer pinned"
        Reads ReadAhead "Guile: `(setvbuf port 'block 65536)`"
        Reads ReadRun "Guile: get-bytevector-n of all bytes of the run, cut in memory; SBCL: read-sequence of them"
        StreamReads ReadAhead "SBCL, whose streams read 8 KiB: `(sb-unix:unix-read fd (sb-sys:vector-sap buffer) 65536)` with the buffer pinned"
        StreamReads ReadAhead "Guile: `(setvbuf port 'block 65536)`; get-bytevector-n waits for all its bytes"
        Seeks EachCall (Lacks) "positional read or write"
    }

    D "D"
        signs "libphobos:|libgphobos:|libdruntime:|:core.exception.RangeError"
        ends "_exit, exec, abort and signals flush nothing" {
        Writes WriteBuffer "`__gshared ubyte[65536] large; file.setvbuf(large)` before the first use, with an array of its own for each open file, no `file.flush()` after each record" => "file.flush()"
        Writes Join "`file.write(header, body)`, then `file.flush()`: one flush for the pieces of a record"
        SocketWrites Join "`socket.send(header ~ body)` of ubyte[]"
        Reads ReadAhead "`__gshared ubyte[65536] large; file.setvbuf(large)` before the first use, with an array of its own for each open file"
        StreamReads ReadAhead "`socket.receive(bytes)` into 64 KiB returns the bytes that have arrived"
        Seeks EachCall "`pread(file.fileno, buffer.ptr, count, offset)` of core.sys.posix.unistd, pwrite likewise"
        Syncs EachCall "`file.sync()` once for several records"
        NoDelay EachCall "`socket.setOption(SocketOptionLevel.TCP, SocketOption.TCP_NODELAY, true)`"
    }

    Fortran "Fortran"
        signs "libgfortran.so:_gfortran_set_args"
        ends "signals flush nothing" {
        Writes WriteBuffer "in parts of 4 KiB, of 128 KiB if unformatted: no `flush(unit)` after each record, and no GFORTRAN_UNBUFFERED_ALL" => "flush(unit)"
        StreamReads ReadAhead (Lacks) "read that returns the bytes that have arrived"
        Seeks EachCall (Lacks) "positional read or write"
    }

    Pascal "Pascal"
        signs ":FPC 3."
        ends "no way out flushes a file but that of output" {
        Writes WriteBuffer "text: `SetTextBuf(t, buffer)` with 65,536 bytes of its own for each open file, which stay until the close, before rewrite" => "Flush(t)"
        Writes WriteBuffer "records: an array of them, and an untyped file, `rewrite(f, SizeOf(item))`" => "BlockWrite(f, items[0], count)"
        Reads ReadAhead "text: `SetTextBuf(t, buffer)` with 65,536 bytes, before reset"
        Reads ReadAhead "records: `BlockRead(f, items[0], count)` of an untyped file, `reset(f, SizeOf(item))`"
        StreamReads ReadAhead "`SetTextBuf(t, buffer)` with 65,536 bytes, before reset, and readln"
        Seeks EachCall "`FpPRead(FileRec(f).Handle, @item, SizeOf(item), offset)`, of the unit BaseUnix; FpPWrite likewise"
    }

    Ocaml "OCaml" files [".ml"] programs ["ocaml", "ocamlrun"]
        signs ":OCAMLRUNPARAM"
        ends "Unix._exit, exec and signals flush nothing" {
        Writes WriteBuffer "no `flush channel`, print_endline or %! after each line" => "flush channel"
        Writes WriteBuffer "Unix.write: `let channel = Unix.out_channel_of_descr fd`, and output_string" => "flush channel"
        Reads ReadAhead "Unix.read: `let channel = Unix.in_channel_of_descr fd`, and input_line, or input until the block is full or it returns 0 (really_input loses a short last block)"
        StreamReads ReadAhead "Unix.read: `let channel = Unix.in_channel_of_descr fd`, and input_line, or really_input of one piece, since it waits for all its bytes"
        Seeks EachCall (Lacks) "positional read or write"
    }

    R "R" files [".R", ".r"] programs ["R", "Rscript"]
        ends "signals flush nothing" {
        Writes WriteBuffer "in parts of 4 KiB: `con <- file(path, \"w\")` and `writeLines(text, con)`, not `cat`, which writes each argument" => "flush(con)"
        Writes Join "`cat(paste0(header, body), file = con)`: a call for each argument"
        StreamReads ReadAhead (Lacks) "read that returns the bytes that have arrived"
        Seeks EachCall (Lacks) "positional read or write"
    }

    Cpp "C++"
        signs "libstdc++.so:|libc++.so:"
        ends "exit flushes no local ofstream; quick_exit, _exit, exec, abort, an uncaught exception and signals flush nothing" (HidesErrors) {
        Writes WriteBuffer "stream, in parts of 8 KiB: `'\\n'`, not `std::endl`, no `std::unitbuf`" => "file.flush()"
        Writes WriteBuffer "cout, in parts of 8 KiB: `std::ios::sync_with_stdio(false)` before the first use, and no more stdio" => "std::cout.flush()"
        Writes WriteBuffer "ofstream: `file.rdbuf()->pubsetbuf(buffer, 65536)` before open, with a buffer of its own for each open file" => "file.flush()"
        Writes Join "one record: writev(2), or join the pieces before one write"
        Reads ReadAhead "ifstream: `file.rdbuf()->pubsetbuf(buffer, 65536)` before open, with a buffer of its own for each open file"
        Reads ReadAhead "cin, in parts of 8 KiB: `std::ios::sync_with_stdio(false)` before the first use"
        Reads ReadAhead "`read(fd, buffer, 65536)`, and take the pieces from that buffer"
    }

    // All languages without a block.
    "In general" programs ["busybox", "swipl", "gprolog", "octave", "octave-cli", "julia", "mono", "dotnet", "gforth", "bc", "dc", "gnuplot", "sqlite3", "m4",
        "expect", "ghci", "mono-sgen", "pike", "pwsh", "runghc"]
        signs "libR.so:|libgfortran:|libHS:|libgnat:|libcob:|libswipl:|libtcl:|libmono:|libjulia:|liboctave:|libswift:|\
            libobjc:|libcamlrun:|libasmrun:|libgforth:|libffi-plat:|libpython:|libperl:|libruby:|libguile:|:GHC|:caml_|\
            :Gforth|:SBCL|:zig version"
        ends "signals and some ways out flush nothing" (HidesErrors) {
        Writes WriteBuffer "a buffer of 64 KiB that collects the bytes" => "write(fd, buffer, used)"
        Writes Join "join the pieces of a record in one buffer or string"
        Writes Join "pieces that lie apart, if the language has it: writev(2)"
        SocketWrites Join "join the pieces of a message in one buffer or string"
        SocketWrites Join "pieces that lie apart, if the language has it: sendmsg(2) in place of send, with its flags, or writev(2) of write, continued after a short call"
        SocketWrites WriteBuffer "a buffer of 64 KiB that collects the bytes; send stays, with its flags" => "write(fd, buffer, used)"
        Reads ReadAhead "read 64 KiB at once, and take the pieces from that buffer"
        Reads ReadRun "read exactly the bytes of the run at once, and cut them in memory"
        StreamReads ReadAhead "read up to 64 KiB, if such a read returns the bytes that have arrived, and take the pieces from that buffer"
        StreamReads ReadRun "read exactly the bytes of the message at once, and cut them in memory"
        WritesAt Join "join the pieces in one buffer, and write that once at the offset of the first"
        ReadsAt ReadRun "read the whole range once from the offset of the first, and cut it in memory"
        Seeks EachCall "a read or write at an offset, if the language has it"
        Tiny EachCall "join the pieces in one buffer or string, and write that once"
        Syncs EachCall "let what syncs do so once for several records"
        Datagrams EachCall "put several messages into one datagram, if the receiver takes that"
        NoDelay EachCall "the socket option TCP_NODELAY, where the language has it"
        QuickAck EachCall "the socket option TCP_QUICKACK after each read, where the language has it; the first answer of a connection does not wait"
        Reopened EachCall "keep it open"
    }

    C "C"
        signs "libc.:\0fopen|libc.:\0setvbuf|libc.:\0fwrite|libc.:\0fputs|libc.:\0fputc|libc.:\0putc|libc.:\0puts|\
            libc.:\0putchar|libc.:\0printf|libc.:\0fprintf|libc.:\0vfprintf|libc.:\0__printf_chk|libc.:\0__fprintf_chk|\
            libc.:\0fread|libc.:\0fgets|libc.:\0fgetc|libc.:\0getc|libc.:\0getline"
        ends "quick_exit, _exit, exec, abort and signals flush nothing" (HidesErrors) {
        Writes WriteBuffer "stream of stdio: `static char buffer[65536]; setvbuf(stream, buffer, _IOFBF, sizeof buffer)` before the first use, with a buffer of its own for each open stream" => "fflush(stream)"
        Writes WriteBuffer "write(2): `stream = fdopen(fd, \"w\")` with such a buffer, and fwrite in its place" => "fflush(stream)"
        Writes Join "`writev(fd, iov, count)`"
        Writes Join "with libvectored: `vectored_gather_write_all(gather, fd, iov, count, NULL)`"
        Reads ReadAhead "stream of stdio: `static char buffer[65536]; setvbuf(stream, buffer, _IOFBF, sizeof buffer)` before the first use, with a buffer of its own for each open stream"
        Reads ReadAhead "`read(fd, buffer, 65536)`, and take the pieces from that buffer"
    }
}

const C_AND_CPP: &[Remedy] = rows! {
    StreamReads ReadAhead "`recv(fd, buffer, 65536, 0)` or read returns the bytes that have arrived; take the pieces from the buffer"
    SocketWrites Join "in place of send `sendmsg(fd, &message, flags)` with its flags, of write `writev(fd, iov, count)`: all pieces, continued after a short call"
    SocketWrites Join "write, with libvectored: `vectored_gather_write_all(gather, fd, iov, count, NULL)`"
    WritesAt Join "`pwritev(fd, iov, count, offset)`, at most 1,024 buffers; small pieces: one large pwrite"
    WritesAt Join "with libvectored: `vectored_pwrite_all(fd, iov, count, offset, NULL)`"
    ReadsAt ReadRun "`preadv(fd, iov, count, offset)`, at most 1,024 buffers"
    ReadsAt ReadRun "one large pread"
    Seeks EachCall "`pwrite(fd, data, count, offset)`, `pread(fd, data, count, offset)`"
    Tiny EachCall "`memcpy` into one buffer, then write; `vectored_gather_write_all(gather, fd, iov, count, NULL)` of libvectored does that"
    Syncs EachCall "`fdatasync(fd)` once for several records"
    // musl's sendmmsg calls sendmsg for each message.
    Datagrams EachCall "`sendmmsg(fd, messages, count, 0)`, with musl `syscall(SYS_sendmmsg, fd, messages, count, 0)`"
    NoDelay EachCall "`setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on)`"
    QuickAck EachCall "`setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on)` after each recv"
};
