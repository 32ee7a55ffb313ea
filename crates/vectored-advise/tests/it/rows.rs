//! How the calls of real logs become findings: `testdata/advise`.

use std::path::Path;

use vectored_advise::advisor::{Analysis, Options, advise, merge};
use vectored_advise::model::Advisory;
use vectored_advise::report::TOP;
use vectored_machine::model::{DescriptorKind, Operation, Price};

use crate::advice::table;

fn advised(name: &str) -> Advisory {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/advise");
    // The logs were recorded without calls that cannot matter.
    let mut analysis = Analysis::new(Options {
        shows_all: true,
        ..Options::default()
    });
    let counts = analysis.read_logs(&[folder.join(name)]).unwrap();
    assert!(counts.skipped().is_empty(), "{:?}", counts.skipped());
    advise(analysis.finish(), &prices(1000.0), Advisory::default())
}

fn price(target: DescriptorKind, operation: Operation, call_ns: f64) -> Price {
    Price {
        target,
        operation,
        call_ns,
        call_low_ns: call_ns * 0.9,
        call_high_ns: call_ns * 1.1,
        medium_call_ns: call_ns,
        answer_call_ns: call_ns,
        seek_ns: 90.0,
        gather_call_ns: 20.0,
        segment_ns: 10.0,
        large_segment_ns: 30.0,
        iovec_step_ns: 40.0,
        copy_segment_ns: 3.0,
        copy_byte_ns: 0.05,
        ..Price::default()
    }
}

/// Prices of calls that cost `call_ns`. A finding without a price is listed.
pub(crate) fn prices(call_ns: f64) -> Vec<Price> {
    use DescriptorKind::{File, Pipe, Tcp, Unix};
    let both = |target| [Operation::Write, Operation::Read].map(|way| price(target, way, call_ns));
    [File, Pipe, Unix, Tcp].into_iter().flat_map(both).collect()
}

#[test]
fn real_logs_have_their_tables() {
    for name in ["two-files", "call-sites", "java-records"] {
        let advisory = advised(&format!("{name}.log.gz"));
        insta::assert_snapshot!(name, table(&advisory, TOP));
    }
}

pub(crate) fn program(path: &str, calls: &str) -> String {
    format!("execve(\"{path}\", [\"x\"], 0x7 /* 9 vars */) = 0\n{calls}")
}

/// The advice from a log that has all calls. A line begins with a call, or with the number of a thread other than 7, or
/// is a frame.
pub(crate) fn advised_log(log: &str, prices: &[Price]) -> Advisory {
    let line = |(number, line): (usize, &str)| match line.split_once(' ') {
        Some(("", _)) => format!("{line}\n"),
        Some((thread, line)) if thread.parse::<u32>().is_ok() => {
            format!("{thread} 1.{number:06} {line}\n")
        }
        _ => format!("7 1.{number:06} {line}\n"),
    };
    let log: String = log.lines().enumerate().map(line).collect();
    let mut analysis = Analysis::new(Options {
        shows_all: true,
        ..Options::default()
    });
    analysis.begin_log();
    let mut reader = vectored_strace::Reader::new(log.as_bytes());
    while let Some(event) = reader.next().unwrap() {
        analysis.follow(&event);
    }
    advise(analysis.finish(), prices, Advisory::default())
}

/// Reads of a file. `lseek` comes before each read, and `wait4` before every ninth, if `between` names the call.
fn reads(path: &str, between: &str, times: usize) -> String {
    let mut calls = format!("openat(AT_FDCWD, \"{path}\", O_RDONLY) = 3\n");
    for number in 0..times {
        match between {
            "lseek" => calls += &format!("lseek(3, {number}000, SEEK_SET) = {number}000\n"),
            "wait4" if number % 9 == 0 => calls += "wait4(-1, 0, 0, NULL) = 9\n",
            _ => {}
        }
        calls += "read(3, \"x\", 9) = 9\n";
    }
    calls
}

/// Records that are read in two pieces, with a wait after every 30 records.
fn records(bytes: [u32; 2]) -> String {
    let piece = |number: u32| format!("read(3</o>, \"x\", {number}) = {number}\n");
    let record = |number: u32| piece(4) + &piece(bytes[number as usize % 2]);
    let run: String = (0..30).map(record).collect();
    format!("{run}wait4(-1, 0, 0, NULL) = 9\n").repeat(9)
}

fn records_at(bytes: [u32; 2]) -> String {
    let pair = |number: u32| {
        let (at, bytes) = (number * 64, bytes[number as usize % 2]);
        format!(
            "pread64(3</o>, \"x\", 16, {at}) = 16\npread64(3</o>, \"x\", {bytes}, {}) = {bytes}\nwait4(-1, 0, 0, NULL) = 9\n",
            at + 16
        )
    };
    (0..90).map(pair).collect()
}

#[test]
fn what_programs_are_told() {
    let write = "write(3</o>, \"x\", 100) = 100\n";
    let full = "write(1</o>, \"x\", 4096) = 4096\n";
    let filter = |out: &str| {
        let writes = write.replace("3</o>", out).repeat(20);
        format!("read(0<pipe:[8]>, \"x\", 65536) = 65536\n{writes}").repeat(20)
    };
    let stream = |writes: usize| {
        let accept =
            "accept4(3<TCP:[9]>, NULL, NULL, 0) = 5<TCP:[127.0.0.1:80->127.0.0.1:5]> <0.000010>\n";
        let write = "8 write(6<TCP:[127.0.0.1:5->127.0.0.1:80]>, \"x\", 20) = 20 <0.000010>\n";
        let read = "read(5<TCP:[127.0.0.1:80->127.0.0.1:5]>, \"x\", 4) = 4 <0.000010>\n";
        accept.to_owned() + &write.repeat(writes) + &read.repeat(1000)
    };
    let made = |calls: &str| {
        format!("openat(AT_FDCWD</>, \"/o\", O_RDWR|O_CREAT|O_EXCL) = 3</o>\n{calls}")
    };
    let served = format!("{write}{write}epoll_wait(5, [], 1, 0) = 0\nfsync(3) = 0\n");
    let record = [7, 90, 4].map(|bytes| write.replace("100", &bytes.to_string()));
    let record = record.concat() + "poll([{fd=9, events=POLLIN}], 1, -1) = 1\n";
    // Lists of tiny segments. Each list comes after another call to the same file.
    let tiny = format!(
        "fsync(3) = 0\nwritev(3</o>, [{}], 100) = 1600\n",
        vec!["{iov_base=\"x\", iov_len=16}"; 100].join(", ")
    );
    let write_at: String = (0..90)
        .map(|at| format!("pwrite64(3</o>, \"x\", 8, {}) = 8\n", at * 8))
        .collect();
    // The first run has one more read, so the runs differ in length.
    let one_more = records([20, 20]).replacen("wait4", "read(3</o>, \"x\", 4) = 4\nwait4", 1);
    let mut said = String::new();
    for (path, calls) in [
        ("/home/u/perl", reads("/a", "lseek", 90)),
        ("/home/u/guile", reads("/a", "lseek", 90)),
        ("/home/u/mawk", reads("/a", "wait4", 90)),
        ("/home/u/dash", reads("/a", "", 90)),
        ("/home/u/dash", reads("/a", "", 20_000)),
        ("/home/u/ruby", reads("/usr/lib/a", "", 90)),
        ("/home/u/ruby", reads("/usr/lib/a", "", 20_000)),
        ("/home/u/python3", reads("/a", "lseek", 90)),
        ("/home/u/unknown", reads("/a", "lseek", 90)),
        ("/home/u/mawk", made(&filter("1<pipe:[7]>"))),
        ("/home/u/mawk", made(&filter("3</o>"))),
        // Code in JavaScript makes none of the event loop's calls itself.
        ("/home/u/node", made(&served.repeat(90))),
        ("/home/u/x", made(&record.repeat(90))),
        ("/home/u/x", made(&tiny.repeat(90))),
        ("/home/u/x", made(&write_at)),
        ("/home/u/java", made(&records([20, 30]))),
        ("/home/u/java", made(&records([20, 20]))),
        ("/home/u/java", made(&one_more)),
        ("/home/u/x", made(&records_at([40, 44]))),
        ("/home/u/x", made(&records_at([40, 40]))),
        ("/home/u/x", made(&write.repeat(1000))),
        ("/home/u/gawk", made(&write.repeat(1000))),
        ("/bin/dd", made(&write.repeat(90))),
        ("/bin/sort", made(&full.repeat(9))),
        ("/bin/sort", made(&full.repeat(20_000))),
        ("/bin/sort", made(&write.repeat(90))),
        ("/bin/grep", made(&full.repeat(20_000))),
        ("/bin/grep", made(&write.repeat(90))),
        (
            "/home/u/python3",
            made(&("lseek(3</o>, 9, SEEK_SET) = 9\n".to_owned() + write).repeat(900)),
        ),
        // The log shows no writer, or one write for five reads, or one write for each read.
        ("/home/u/x", stream(0)),
        ("/home/u/x", stream(200)),
        ("/home/u/x", stream(1000)),
    ] {
        let advisory = advised_log(&program(path, &calls), &prices(1000.0));
        let calls = calls.lines().count();
        said += &format!("## {path}, {calls} calls\n{}\n", table(&advisory, TOP));
    }
    insta::assert_snapshot!(said);
}

#[test]
fn what_was_too_dear_is_counted_with_other_prices() {
    let cheap = price(DescriptorKind::File, Operation::Read, 300.0);
    for (dear, dearest) in [(1e6, 1.0), (1e6, 1e5)] {
        let dear = Price {
            copy_segment_ns: dear,
            call_high_ns: cheap.call_high_ns * dearest,
            ..cheap
        };
        let log = program("/home/u/ruby", &reads("/a", "", 90));
        let advisory = advised_log(&log, &[dear]);
        assert_eq!((advisory.findings.len(), advisory.uncounted.len()), (0, 1));
        let reason = "the copies that merging needs may cost more than the calls";
        assert_eq!(advisory.uncounted[0].reason, reason);
        let twice = merge(&[advisory.clone(), advisory.clone()]);
        assert_eq!(twice.uncounted.len(), 1);
        let prices = vec![cheap];
        let merged = merge(&[Advisory { prices, ..advisory }]);
        assert_eq!(merged.findings.len(), 1);
    }
}

#[test]
fn calls_without_a_price_are_listed() {
    let list = vec!["{iov_base=\"x\", iov_len=16}"; 100].join(", ");
    for leads_to in ["", "<socket:[N]>", "<pipe:[N]>", "</o>"] {
        // More calls than a finding names.
        let write = |number: usize| {
            let leads_to = leads_to.replace('N', &number.to_string());
            format!("writev({number}{leads_to}, [{list}], 100) = 1600\n")
        };
        let calls: String = (10..30).map(write).collect();
        let advisory = advised_log(&program("/home/u/x", &calls), &[]);
        let found = (advisory.findings.len(), advisory.uncounted.len());
        assert_eq!(found, (0, 1), "{leads_to}");
    }
}
