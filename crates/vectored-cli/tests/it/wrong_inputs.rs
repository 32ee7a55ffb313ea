//! Tests of wrong command lines. Each message names the error, its object and a remedy.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::Path;

use crate::advise::costs;
use crate::support::{Bench, entries, make_fifo, skip, stderr_of};

const FILES: [(&str, &[u8]); 9] = [
    ("binary", &[0x80, 0xfe, 0, 1, 0xff]),
    ("broken", b"{\"schema\":"),
    ("damaged", b"{\"schema\": \"vectored-results/1\"}"),
    ("empty", b"\n"),
    ("later", b"{\"schema\": \"vectored-results/99\"}"),
    ("nameless", b"{}"),
    ("precious", b"precious"),
    ("x.sh", b"echo hi\n"),
    ("t.log", b"1 write(1, \"x\", 1) = 1\n"),
];

/// Each row: a command line, its exit status, and parts of its message. `''` is an empty word. `·` is a blank within
/// a word.
const REFUSED: &str = "\
measure --ranks 1,2 => 2: --ranks | mpirun
measure --rate fast => 2: 'fast' is no rate | 50000/s
measure --rate 5/s => 2: --rate | --mix or --join
measure --sizes 4TB => 2: --sizes | unknown unit 'TB' | use B, KiB
measure --sizes 18446744073709551615 => 2: nothing to measure: more than 64 MiB in one call
measure --segments 1 --sizes 32MiB --cache cold => 2: 32 MiB | --cache cold is 16 MiB | shorter lists
measure --sizes 100MiB => 2: nothing to measure: more than 64 MiB in one call
measure --segments '' => 2: '' | the list is empty | for example 2,16 or 16..1024
measure --segments 1000000000000 => 2: 1,000,000,000,000 segments | 1,048,576 | --segments
measure --segments 1000000 --sizes 1KiB => 2: nothing to measure
measure --target pipe --segments 64 --sizes 2MiB => 2: nothing to measure
measure --mix 9x16 --segments 2 => 2: --mix | --segments | Usage: vectored measure [OPTIONS]
measure --mix 2000000x1 => 2: 2,000,000 segments | --mix
measure --target pipe --mix 64x2MiB,1x4 => 2: more than 64 MiB in one call
measure --join 2..8 --iovec-setup once => 2: --join | cannot be used with | --iovec-setup
measure --join 1 => 2: would join nothing
measure --join 2000000 => 2: 2,000,000 segments | --join
measure --pin first => 2: 'none'
measure --budget=-5s => 2: --budget | for example 500ms, 18s or 2m
measure --budget 18 => 2: with its unit
measure --budget 99999999999999999999h => 2: too long
measure --budget 0s => 2: must be greater than zero, for example 18s
measure --budget 25h => 2: at most 24h
measure --pin 100000 => 2: CPU 100000 | --pin
measure --from file => 2: --from applies only to copies | --operation copy
measure --buffer-bytes 4KiB --operation read => 2: --buffer-bytes | --operation copy
measure --pipe-bytes 4KiB => 2: --pipe-bytes | --operation copy
measure --operation copy --segments 2 => 2: --segments | --sizes
measure --operation copy --direct --synthetic 200 => 2: --direct applies only to writes and reads | --operation write or read | omit
measure --operation copy --queue-depth 8 => 2: --queue-depth | --operation write or read
measure --operation copy --cache cold => 2: --cache applies only to writes | --operation write
measure --operation copy --from pipe --page-cache cold => 2: --page-cache | --from file
measure --operation copy --buffer-bytes 128MiB => 2: 134217728 is too much | --buffer-bytes
measure --operation copy --technique writev => 2: 'writev' | --operation copy | read-write, splice
measure --operation copy --from pipe --technique sendfile,copy-file-range => 2: copies from files only | from file to file only | --from
measure --operation copy --technique sendfile --pipe-bytes 1MiB --target null => 2: --pipe-bytes | file to null | no pipe
measure --page-cache cold => 2: --page-cache applies only to reads and copies | --operation read or copy
measure --technique magic => 2: there is no technique 'magic' on this system | copy-then-write
measure --technique readv => 2: 'readv' | --operation write | copy-then-write
measure --operation read --technique writev => 2: 'writev' | --operation read | to be one of read-each, read-then-split, readv, adaptive
measure --operation read --technique stdio => 2: 'stdio' | --operation read | readv
measure --technique mmap --target pipe,unix => 2: mmap is for files only: use --target file or file-overwrite, or another --technique
measure --operation read --technique mmap --target pipe => 2: mmap is for files only: use --target file, or another --technique
measure --queue-depth 8 --target file => 2: --queue-depth above 1 | io-uring, linux-aio
measure --technique io-uring --queue-depth 8,4097 => 2: 4097 is too much | --queue-depth | at most 4096
measure --technique io-uring --queue-depth 8 --target pipe,unix => 2: does not keep the order of transfers | --target file, null or a directory
measure --technique io-uring --queue-depth 8 --operation read --target file --page-cache cold => 2: --page-cache cold | omit one
measure --technique io-uring --queue-depth 64 --target file --segments 1 --sizes 4MiB => 2: 128 MiB in flight | --queue-depth
measure --technique io-uring --queue-depth 1 --target null --iovec-setup once => 2: io-uring fills the array of each transfer itself | --iovec-setup timed
measure --technique io-uring --queue-depth 1 --target file --sync fsync => 2: --sync fsync | io-uring | --sync dsync
measure --direct --target pipe,unix => 2: only to files | --target file
measure --direct --target file --operation read --page-cache hot => 2: --page-cache | omit one
measure --direct --target file --cache cold => 2: --cache cold | omit one
measure --direct --target file --technique mmap,writev => 2: mmap | omit mmap
measure --direct --target file --technique stdio => 2: stdio | not aligned
measure --direct --target file --sync fsync --technique io-uring => 2: --sync fsync | io-uring
measure --direct --target file --mix 2x512,1x700 --synthetic 200 => 2: a multiple of 512 bytes | omit --direct
measure --sync fsync --target pipe,tcp => 2: --sync fsync | --target file or file-overwrite
measure --sync dsync --target file --operation read => 2: --sync | --operation write
measure --sync dsync --target file --technique mmap => 2: --sync dsync | mmap | --sync fsync | omit mmap
measure --target tape => 2: 'tape' | file, file-overwrite, pipe, unix, tcp, null | the path of a directory
measure --target '' => 2: expected file | the path of a directory
measure --target binary => 2: 'binary' | an existing file | its directory
measure --target ./nowhere => 2: './nowhere' | No such file | the path of a directory
measure --target ./precious => 2: ./precious | an existing file | overwrites no file | name its directory
measure --target ./link => 2: ./link | an existing file | overwrites no file
measure --target /dev/zero => 2: '/dev/zero' | neither a directory nor a socket
measure --target fifo => 2: 'fifo' | name pipe for a FIFO
measure --target /proc => 2: directory with --target
measure --target file --dir /proc => 2: directory with --dir
measure --target tcp://127.0.0.1:1 --operation read => 2: cannot read from remote | that vectored fills itself
measure --target tcp://127.0.0.1 => 2: expected tcp://HOST:PORT
measure --target tcp://h:0 => 2: expected tcp://HOST:PORT
measure --target tcp://:1 => 2: expected tcp://HOST:PORT
measure --target tcp://::1:7 => 2: expected tcp://HOST:PORT
measure --target tcp://a/b:1 => 2: expected tcp://HOST:PORT
measure --target udp://h:1 => 2: expected tcp://HOST:PORT
measure --target tcp://127.0.0.1:1 => 1: no program listens there | `socat -b 1048576 -u TCP-LISTEN:1,fork OPEN:/dev/null`
measure --target tcp://a..b:1 => 1: check the name of the host
measure --target file-overwrite --operation read => 2: cannot read from | file, pipe, unix, tcp
measure --dir nowhere => 2: cannot use the directory 'nowhere': it does not exist (No such file or directory (os error 2)); name an existing directory with --dir
measure --dir precious => 2: 'precious' | not a directory | --dir
measure --dir evil\x1b[2J => 2: evil\\u{1b}[2J
measure --budget 1h --output folder => 2: 'folder': it is a directory | --output
measure --budget 1h --output new/ => 2: new/ | it is not a file name | --output
measure --budget 1h --output nowhere/out => 2: nowhere/out | no file can be created in its directory | --output
measure --output socket => 2: 'socket' | no process reads it | --output
measure --output loop => 2: 'loop' | symbolic links | --output
measure --output binary/x => 2: 'binary/x' | Not a directory | --output
measure --sizes 100MiB --output precious => 2: 64 MiB
report => 2: no saved result 'latest' | `vectored measure` saves one
report '' => 2: the name is empty | latest
report latest~x => 2: latest~1
report latest~3 => 2: no saved result 'latest~3' | 0 results
report nowhere.json => 2: cannot read 'nowhere.json'
report old-? b.json => 2: no file matches
report folder => 2: 'folder' | directory | latest
report binary => 1: 'binary' | it is not a text file | a result that vectored saved
report broken => 1: cannot use 'broken' | not JSON | name a saved result
report empty => 1: 'empty' | it is empty | a result that vectored saved
report /dev/null => 1: '/dev/null' | it is empty
report later => 1: cannot use 'later' | unknown schema \"vectored-results/99\"
report damaged => 1: damaged results
report nameless => 1: no field \"schema\"
report --markdown folder => 2: 'folder' | it is a directory | --markdown
report --html nowhere/x => 2: nowhere/x | with --html
compare latest => 2: nothing to compare with | --against | --machines
compare broken --against broken => 1: 'broken' | not JSON | latest
compare old-*.json --against=b => 2: no file matches
compare --machines a --html - => 2: cannot be standard output
advise --html - t.log => 2: --html cannot be standard output | name a file
host --dir nowhere => 2: 'nowhere' | does not exist | --dir
host --dir precious => 2: 'precious' | not a directory | --dir
host --output nowhere/x => 2: 'nowhere/x' | --output
host --output /dev/full => 1: '/dev/full' | No space left
copy --buffer-size 2G => 2: --buffer-size | at most 1GiB
copy --buffer-size 4k,8k => 2: unknown unit 'k,8k'
measure --size 64 => 2: a similar argument exists: '--sizes'
measure --tehcnique writev => 2: a similar argument exists: '--technique'
reproduce apue-3.5 --max 16EiB => 2: --max | KiB
reproduce apue-3.5 --max 2GiB => 2: too large | at most 1GiB
reproduce apue-3.5 --min 70 --max 100 => 2: no buffer | --min 70 | --max 100 | powers of two
reproduce apue-3.5 --min 8k --max 4k => 2: --min 8 KiB and --max 4 KiB | smaller --min
reproduce apue-3.5 --sync dsync => 2: --sync | --to file
reproduce apue-3.5 --to nowhere/x => 2: --to | null, file or pipe
reproduce apue-3.5 --to /proc => 2: '/proc' | ; name another directory with --to
reproduce apue-3.5 --to precious => 2: overwrites no file | its directory
reproduce apue-3.5 --dir precious => 2: not a directory | --dir
reproduce apue-3.5 --size 64 => 2: --size | vectored reproduce apue-3.5 [OPTIONS]
reproduce apue-3.5 --program ./gone·{buffer} => 127: './gone' not found: check its path
reproduce apue-3.5 --program ./precious => 126: it is not executable
reproduce apue-3.5 --program cat·<·{input}·|·cat => 2: has a | for one | '< {input}' | sh -c
reproduce kalinin --dir nowhere => 2: 'nowhere' | does not exist | --dir
reproduce mincer --size 64 => 2: --count
reproduce mincer --count 64 => 2: --size
reproduce mincer --size 1MiB --count 2000 => 2: 1 GiB | --size
reproduce mincer --size 1 --count 99999999 => 2: 1 GiB | 64 bytes of bookkeeping each | --count
reproduce mincer --repeats 99999999999 => 2: 4294967295
reproduce all --output nowhere/x => 2: 'nowhere/x' | --output
man mesure => 2: 'mesure' | measure,
man --dir precious => 1: cannot write the pages
versus true a;·b => 2: cannot run 'a; b' | has a ; for one: add --shell sh, or quote the ;
versus --rounds 0 true true => 2: --rounds
versus --rounds 1 --budget 1s true true => 2: --rounds | --budget
versus --fail-if-more-calls fsnyc=0 true true => 2: fsnyc: strace knows no such call | 'total'
versus --fail-if-more-calls write=5 true true => 2: for example 5% or 0.05
versus --fail-if-more-calls =1% true true => 2: '' is no name of a call
versus --fail-if-more-calls file=0 true true => 2: 'file' is no name of a call
versus --fail-if-more-calls write>1=0 true true => 2: 'write>1' is no name
versus --fail-if-slower 1 true true => 2: percent sign
versus --fail-if-slower 1000% true true => 2: percent sign
versus --fail-if-slower=-1% true true => 2: percent sign
versus --fail-if-slower inf true true => 2: percent sign
versus --same a --output a true true => 2: is also an input
advise => 2: vectored advise LOG | -- COMMAND | -p PID
advise -- => 2: vectored advise LOG | -- COMMAND | -p PID
advise -1 => 2: '-1' | -- COMMAND
advise --live t.log => 2: --live | cannot be used with | LOG
advise --source live t.log => 2: --source | cannot be used with | LOG
advise -p 1 -- true => 2: --pid | cannot be used with | COMMAND
advise -p 1 --cgroup /sys/fs/cgroup => 2: --pid | cannot be used with '--cgroup
advise sh -c echo·hi => 2: '-c' | vectored advise -- COMMAND
advise trace.* => 2: no file matches
advise --dir gone -- touch ran => 2: 'gone': it does not exist
advise --dir precious -- touch ran => 2: 'precious': it is not a directory
advise --dir /proc -- touch ran => 2: '/proc'
advise --costs costs.json nowhere => 2: cannot read 'nowhere'
advise --costs costs.json binary => 1: no system calls in 'binary': expected a log
advise --costs costs.json precious => 1: no system calls in 'precious': expected a log
advise --costs costs.json empty => 1: no system calls in 'empty'
advise --costs costs.json sh => 2: cannot read 'sh' | to run it as a command, put -- before it: vectored advise -- sh
advise --costs costs.json sh x.sh => 2: vectored advise -- sh x.sh
advise --costs costs.json /bin/sh => 1: vectored advise -- /bin/sh
advise --costs costs.json gone.log => 2: expected a log that strace -o wrote
advise --costs costs.json x.sh => 1: expected a log that `strace -f
advise --costs costs.json -- no-such-program => 127: in PATH: check its name, or give its path (./no-such-program)
advise --costs costs.json --html t.log - => 2: 't.log' is also an input, and would be overwritten: choose another file for the output
";

#[test]
fn wrong_input_is_reported_with_a_remedy_and_changes_nothing() {
    let bench = Bench::new();
    let work = bench.work();
    for (name, content) in FILES {
        fs::write(work.join(name), content).unwrap();
    }
    fs::write(work.join("costs.json"), costs()).unwrap();
    fs::create_dir(work.join("folder")).unwrap();
    std::os::unix::fs::symlink("loop", work.join("loop")).unwrap();
    std::os::unix::fs::symlink("precious", work.join("link")).unwrap();
    make_fifo(&work.join("fifo"));
    let _socket = UnixListener::bind(work.join("socket")).unwrap();
    let count = entries(&work).len();
    let mut wrong = Vec::new();
    for case in REFUSED.lines() {
        let (line, code, words) = crate::support::case(case);
        let args = line
            .split(' ')
            .map(|word| word.replace("''", "").replace('·', " "));
        let mut command = bench.std_vectored();
        command
            .args(args)
            .stdin(fs::File::open(work.join("t.log")).unwrap());
        let output = command.output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        let is_told = words.split(" | ").all(|word| message.contains(word));
        let is_first = message.starts_with("error: ") && output.stdout.is_empty();
        let ended = output.status.code();
        if ended != Some(code) || !is_told || !is_first || message.contains("panicked") {
            wrong.push(format!("{case}\n{ended:?} {message}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(bench.saved().is_empty());
    assert_eq!(entries(&work).len(), count, "{:?}", entries(&work));
    for (name, content) in FILES {
        assert_eq!(fs::read(work.join(name)).unwrap(), content, "{name}");
    }
}

#[test]
fn a_block_device_is_refused_as_an_output_and_as_a_target() {
    // The test takes any block device. The program must not open the device for writing.
    let names = fs::read_dir("/sys/class/block").into_iter().flatten();
    let mut devices = names.map(|entry| Path::new("/dev").join(entry.unwrap().file_name()));
    let Some(device) = devices.find(|path| path.exists()) else {
        return skip("there is no block device");
    };
    for (words, told) in [
        // The input is missing, so that the program writes nothing even if the output is accepted.
        ("report nowhere.json --csv", "it is a block device"),
        ("measure --target", "a directory on it"),
    ] {
        let message = stderr_of(Bench::new().command(words).arg(&device), 2);
        assert!(message.contains(told), "{message}");
    }
}
