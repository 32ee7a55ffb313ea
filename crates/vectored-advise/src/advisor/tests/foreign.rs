//! Logs of perf and bpftrace, against strace's log of the same calls.

use vectored_strace::{Reader, Rewritten};

use crate::advisor::tests::logs::summary;
use crate::advisor::{Analysis, Options};

/// The counted findings of a log, and what it lacks.
fn counted(log: &str) -> (Vec<String>, Vec<String>) {
    let options = Options {
        shows_all: true,
        ..Options::default()
    };
    let mut analysis = Analysis::new(options);
    let mut reader = Reader::new(Rewritten::new(log.as_bytes()));
    while let Some(event) = reader.next().unwrap() {
        analysis.follow(&event);
    }
    let lacks = reader.counts().skipped().into_iter();
    let lacks = lacks.map(|skipped| skipped.reason).collect();
    let mut found = summary(&analysis.finish());
    found.retain(|finding| finding.ends_with(']'));
    (found, lacks)
}

/// A call in the forms of all logs. Its result is the number of its descriptor or of its bytes.
struct Call {
    strace: String,
    perf: String,
    number: u16,
    values: [u64; 6],
    path: &'static str,
    result: u64,
}

fn open(path: &'static str, descriptor: u64) -> Call {
    Call {
        strace: format!(
            "openat(AT_FDCWD, \"{path}\", O_RDWR|O_CREAT, 0666) = {descriptor}<{path}>"
        ),
        perf: format!("openat(dfd: CWD, filename: \"{path}\", flags: CREAT|RDWR, mode: IRUGO)"),
        number: 257,
        values: [0xffff_ff9c, 0x7f00, 0x42, 0o666, 0, 0],
        path,
        result: descriptor,
    }
}

fn socket() -> Call {
    Call {
        strace: "socket(AF_INET, SOCK_STREAM, IPPROTO_IP) = 5<TCP:[9]>".to_owned(),
        perf: "socket(family: INET, type: STREAM)".to_owned(),
        number: 41,
        values: [2, 1, 0, 0, 0, 0],
        path: "",
        result: 5,
    }
}

fn any_call(random: &mut fastrand::Rng, has_files: bool) -> Call {
    let (fd, text) = [(5, "TCP:[9]"), (3, "/tmp/f"), (4, "/tmp/g")]
        [if has_files { random.usize(..3) } else { 0 }];
    let bytes = *random.choice(&[1, 7, 100, 3000]).unwrap_or(&1);
    let at = random.u64(..3) * 100;
    let plain = |name: &str, number, direction: &str| Call {
        strace: format!("{name}({fd}<{text}>, \"x\"..., {bytes}) = {bytes}"),
        perf: format!("{name}(fd: {fd}<{direction}>, buf: 0x7f00, count: {bytes})"),
        number,
        values: [fd, 0x7f00, bytes, 0, 0, 0],
        path: "",
        result: bytes,
    };
    let of = |strace: &str, perf: &str, number, values: [u64; 3], result| Call {
        strace: strace.to_owned(),
        perf: perf.to_owned(),
        number,
        values: [values[0], values[1], values[2], 0, 0, 0],
        path: "",
        result,
    };
    match random.u8(..16) {
        0 => of("getpid() = 1", "getpid()", 39, [0; 3], 1),
        1 => of("sched_yield() = 0", "sched_yield()", 24, [0; 3], 0),
        2 if fd < 5 => of(
            &format!("fsync({fd}<{text}>) = 0"),
            &format!("fsync(fd: {fd})"),
            74,
            [fd, 0, 0],
            0,
        ),
        3 if fd < 5 => {
            let zero = if at > 0 { format!(", offset: {at}") } else { String::new() };
            let perf = format!("lseek(fd: {fd}{zero}, whence: SET)");
            of(
                &format!("lseek({fd}<{text}>, {at}, SEEK_SET) = {at}"),
                &perf,
                8,
                [fd, at, 0],
                at,
            )
        }
        4 if fd == 5 => Call {
            strace: format!(
                "sendto(5<{text}>, \"x\"..., {bytes}, MSG_NOSIGNAL, NULL, 0) = {bytes}"
            ),
            perf: format!("sendto(fd: 5, buff: 0x7f00, len: {bytes}, flags: NOSIGNAL)"),
            number: 44,
            values: [5, 0x7f00, bytes, 0x4000, 0, 0],
            path: "",
            result: bytes,
        },
        5..8 => plain("read", 0, "/tmp/opened-later"),
        _ => plain("write", 1, "/tmp/opened-later"),
    }
}

#[test]
fn other_logs_of_the_same_calls_count_the_same() {
    let mut with_findings = 0;
    for seed in 0..400 {
        let mut random = fastrand::Rng::with_seed(seed);
        let has_files = random.bool();
        let mut calls = vec![socket()];
        if has_files {
            calls.extend([open("/tmp/f", 3), open("/tmp/g", 4)]);
        }
        for _ in 0..random.usize(2..30) {
            // Runs of like calls.
            let call = any_call(&mut random, has_files);
            calls.extend((0..random.usize(1..4)).map(|_| Call {
                strace: call.strace.clone(),
                perf: call.perf.clone(),
                ..call
            }));
        }
        let [mut strace, mut trace, mut script, mut bpftrace] = [const { String::new() }; 4];
        for (index, call) in calls.iter().enumerate() {
            let us = 10 * index;
            let Call {
                number,
                values: [a, b, c, d, e, f],
                path,
                result,
                ..
            } = call;
            strace += &format!("7<p> 000000007.{us:06} {} <0.000005>\n", call.strace);
            trace += &format!(
                "{:10.3} ( 0.005 ms): p/7 {:<70} = {result}\n",
                us as f64 / 1000.0,
                call.perf
            );
            let (begin, end) = (format!("7.{us:06}"), format!("7.{:06}", us + 5));
            let entered = format!(
                "p 7 [001] {begin}: raw_syscalls:sys_enter: NR {number} ({a:x}, {b:x}, {c:x}, {d:x}, {e:x}, {f:x})\n"
            );
            let returned =
                format!("p 7 [001] {end}:  raw_syscalls:sys_exit: NR {number} = {result}");
            script += &format!("{entered}{returned}\n");
            bpftrace += &format!("{entered}{returned} 0 {path}\n");
        }
        let (expected, _) = counted(&strace);
        with_findings += usize::from(!expected.is_empty());
        for log in [&trace, &bpftrace] {
            assert_eq!(counted(log), (expected.clone(), vec![]), "{strace}\n{log}");
        }
        // It has no paths: nothing of files is counted, and the lack is said.
        let (found, lacks) = counted(&script);
        if has_files {
            assert_eq!(lacks.len(), 1, "{lacks:?}");
        } else {
            assert_eq!((found, lacks), (expected, vec![]), "{strace}\n{script}");
        }
    }
    assert!(with_findings > 200, "{with_findings}");
}

#[test]
fn what_a_log_does_not_show_is_not_counted() {
    let line = |call: &str, result: u64| format!("1.000 ( 0.005 ms): p/7 {call} = {result}\n");
    let write = line("write(fd: 3</tmp/f>, buf: 0x7f00, count: 7)", 7);
    let [socket, open] = [
        line("socket(family: INET, type: STREAM)", 3),
        line("openat(dfd: CWD, filename: 0x7f00, flags: WRONLY)", 3),
    ];
    let sent = "adjacent-writes tcp 2→1: write 3 [adjacent]";
    let found =
        |lines: &[&String]| counted(&lines.iter().map(|line| line.as_str()).collect::<String>()).0;
    assert_eq!(found(&[&socket, &write, &write]), [sent]);
    assert_eq!(found(&[&open, &write, &write]), [""; 0]);
    // The number is used again.
    assert_eq!(found(&[&socket, &open, &write, &write]), [""; 0]);
    let between = [
        line("openat(dfd: CWD, filename: 0x7f00, flags: RDONLY)", 4),
        line("newfstatat(dfd: CWD, filename: 0x7f00, statbuf: 0x7f00)", 0),
        line("writev(fd: 3, vec: 0x7f00, vlen: 2)", 9),
        "LOST 3 events!\n".to_owned(),
    ];
    for between in between {
        assert_eq!(
            found(&[&socket, &write, &between, &write]),
            [""; 0],
            "{between}"
        );
    }
}
