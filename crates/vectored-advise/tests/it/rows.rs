//! How the calls of real logs become findings: `testdata/advise`.

use std::path::Path;

use vectored_advise::advisor::{About, Analysis, Options, Tallies, advise, merge};
use vectored_advise::model::{Advisory, DescriptorUse, FindingKey, FindingKind, Runtime, Tally};
use vectored_advise::report::TOP;
use vectored_machine::model::{DescriptorKind, Operation, Price};

use crate::advice::{price, table};

fn advised(name: &str) -> Advisory {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/advise");
    // They were recorded without calls that cannot matter.
    let mut analysis = Analysis::new(Options {
        shows_all: true,
        ..Options::default()
    });
    let counts = analysis.read_logs(&[folder.join(name)]).unwrap();
    assert!(counts.skipped().is_empty(), "{:?}", counts.skipped());
    advise(analysis.finish(), &prices(), About::default())
}

/// A finding without a price is listed.
fn prices() -> Vec<Price> {
    let targets = [
        DescriptorKind::File,
        DescriptorKind::Pipe,
        DescriptorKind::Unix,
        DescriptorKind::Tcp,
    ];
    let both = |target| [Operation::Write, Operation::Read].map(|way| price(target, way, 1000.0));
    targets.into_iter().flat_map(both).collect()
}

/// The findings: file, descriptor, processes, calls, and what `of` says.
fn rows(
    advisory: &Advisory,
    of: impl Fn(&vectored_advise::model::Finding) -> String,
) -> Vec<String> {
    let mut rows: Vec<String> = advisory
        .findings
        .iter()
        .filter(|finding| finding.tally.calls >= 100)
        .map(|finding| {
            let tally = &finding.tally;
            assert_eq!(
                tally.files.iter().map(|file| file.calls).sum::<u64>(),
                tally.calls
            );
            format!(
                "{} {} {} {}{}",
                finding.key.file.as_deref().unwrap_or("-"),
                tally.descriptor,
                tally.processes,
                tally.calls,
                of(finding)
            )
        })
        .collect();
    rows.sort_unstable();
    rows
}

#[test]
fn a_row_names_the_file_the_descriptor_and_the_process_of_its_calls() {
    let advisory = advised("two-files.log.gz");
    assert_eq!(
        rows(&advisory, |finding| format!(" {}", finding.key.program)),
        [
            "/srv/app/A.txt 3 1 200 python3",
            "/srv/app/stdout.txt 1 1 200 python3"
        ]
    );
    let runtimes = advisory
        .findings
        .iter()
        .map(|finding| finding.tally.runtime);
    assert!(
        runtimes
            .into_iter()
            .all(|runtime| runtime == Some(Runtime::Python))
    );
}

#[test]
fn a_row_names_the_call_sites_of_its_calls() {
    let advisory = advised("call-sites.log.gz");
    let sites = |finding: &vectored_advise::model::Finding| {
        let sites = finding.tally.sites.iter();
        let sites = sites.map(|site| {
            let name = site.site.split(['(', ')']).nth(1).unwrap_or_default();
            format!(" {name} {}", site.calls)
        });
        sites.collect()
    };
    assert_eq!(
        rows(&advisory, sites),
        [
            "/srv/st.out 3 1 1000 header+0x21 1000",
            "/srv/st.out 3 1 1000 rec+0x14 500 rec+0x30 500",
            "/srv/st.out 3 1 3000 body+0x21 3000"
        ]
    );
}

#[test]
fn a_loop_is_one_row_wherever_its_runs_begin_and_end() {
    let advisory = advised("java-records.log.gz");
    let expected = [
        "/srv/app/fos.bin 4 1 449 adjacent-writes 149 × write 6–7 B + write 4 B + write 8 B",
        "/srv/app/raf.bin 4 1 1800 adjacent-writes 1800 × write 1 B",
    ];
    let said = |finding: &vectored_advise::model::Finding| {
        let kind = match finding.key.kind {
            FindingKind::SmallReads => "small-reads",
            FindingKind::AdjacentWrites => "adjacent-writes",
            _ => "other",
        };
        assert_eq!(finding.tally.runtime, Some(Runtime::Java));
        format!(" {kind} {}", finding.pattern)
    };
    assert_eq!(rows(&advisory, said), expected);
    let mut listed = advisory.uncounted.iter();
    let reads = "150 × (4 × read 1 B + read 8 B + 2 × read 1 B + read 4–6 B)";
    let read = listed.find(|one| one.pattern == reads).unwrap();
    assert!(read.reason.starts_with("the lengths of the reads vary"));
    // So they are after merging results.
    let merged = merge(&[advisory.clone(), advised("call-sites.log.gz")]);
    let java = merged
        .findings
        .iter()
        .filter(|finding| finding.key.program == "java");
    let before = advisory.findings.iter();
    let key =
        |finding: &vectored_advise::model::Finding| (finding.key.clone(), finding.tally.clone());
    assert_eq!(
        java.map(key).collect::<Vec<_>>().len(),
        before.map(key).collect::<Vec<_>>().len()
    );
    let twice = merge(&[advisory.clone(), advisory.clone()]);
    assert_eq!(twice.findings.len(), advisory.findings.len());
}

#[test]
fn every_transfer_is_in_the_table_of_files_and_descriptors() {
    for name in [
        "two-files.log.gz",
        "call-sites.log.gz",
        "java-records.log.gz",
    ] {
        let advisory = advised(name);
        let calls: u64 = advisory.descriptors.iter().map(|one| one.calls).sum();
        let bytes: u64 = advisory.descriptors.iter().map(|one| one.bytes).sum();
        assert_eq!(
            (calls, bytes, advisory.more_descriptors),
            (advisory.transfers, advisory.bytes, 0)
        );
        assert_table(&advisory);
    }
}

/// The table counts the calls that the findings count, and lists the calls that they list, also after merging.
fn assert_table(advisory: &Advisory) {
    let sum = |of: fn(&DescriptorUse) -> u64| advisory.descriptors.iter().map(of).sum::<u64>();
    let transfers = |key: &FindingKey, tally: &Tally| match key.kind {
        // The others of its calls seek.
        FindingKind::SeekThenTransfer => tally.merged_calls,
        _ => tally.calls,
    };
    let findings = advisory.findings.iter();
    let findings: u64 = findings.map(|one| transfers(&one.key, &one.tally)).sum();
    let others = advisory.uncounted.iter();
    let others: u64 = others.map(|one| transfers(&one.key, &one.tally)).sum();
    let table = (sum(|one| one.counted), sum(|one| one.listed));
    assert_eq!(table, (findings, others));
    for one in &advisory.descriptors {
        assert_eq!(one.reason.is_none(), one.counted == one.calls, "{one:?}");
    }
    let merged = merge(std::slice::from_ref(advisory));
    assert_eq!(merged.descriptors, advisory.descriptors);
}

/// The tallies of a log that has all calls.
pub(crate) fn tallies(log: &str) -> Tallies {
    let mut analysis = Analysis::new(Options {
        shows_all: true,
        ..Options::default()
    });
    analysis.begin_log();
    let mut reader = vectored_strace::Reader::new(log.as_bytes());
    while let Some(event) = reader.next().unwrap() {
        analysis.follow(&event);
    }
    analysis.finish()
}

#[test]
fn what_cannot_be_typed_is_listed_and_what_starts_a_program_pays_for_that() {
    let positional = "has no positional read or write";
    let exactly = "has no read of exactly the bytes of a run";
    let starts = "the programs that the remedy starts take longer than the calls";
    let dearer = "the copies that merging needs may cost more than the calls";
    let system = "a library or the interpreter reads a file of the system";
    for (program, path, between, times, reason) in [
        ("perl", "/a", "lseek", 90, format!("Perl {positional}")),
        ("php8.2", "/a", "lseek", 90, format!("PHP {positional}")),
        ("guile", "/a", "lseek", 90, format!("Lisp {positional}")),
        ("mawk", "/a", "wait4", 90, format!("awk {exactly}")),
        ("dash", "/a", "", 90, starts.to_owned()),
        ("ruby", "/usr/lib/a", "", 90, system.to_owned()),
        ("ruby", "/a", "dear", 90, dearer.to_owned()),
        ("ruby", "/a", "in doubt", 90, dearer.to_owned()),
        ("dash", "/a", "", 20_000, String::new()),
        ("ruby", "/usr/lib/a", "", 20_000, String::new()),
        ("python3", "/a", "lseek", 90, String::new()),
        ("unknown", "/a", "lseek", 90, String::new()),
    ] {
        let mut log = format!("execve(\"/home/u/{program}\", [\"x\"], 0x7 /* 9 vars */) = 0\n");
        log += &format!("openat(AT_FDCWD, \"{path}\", O_RDONLY) = 3\n");
        for number in 0..times {
            match between {
                "lseek" => log += &format!("lseek(3, {number}000, SEEK_SET) = {number}000\n"),
                "wait4" if number % 9 == 0 => log += "wait4(-1, 0, 0, NULL) = 9\n",
                _ => {}
            }
            log += "read(3, \"x\", 9) = 9\n";
        }
        let line = |(number, line): (usize, &str)| format!("7 1.{number:06} {line}\n");
        let log: String = log.lines().enumerate().map(line).collect();
        let cheap = price(DescriptorKind::File, Operation::Read, 300.0);
        let mut prices = [cheap];
        if reason == dearer {
            prices[0].copy_segment_ns = 1e6;
            prices[0].call_high_ns *= if between == "dear" { 1.0 } else { 1e5 };
        }
        let advisory = advise(tallies(&log), &prices, About::default());
        let (counted, listed) = (&advisory.findings, &advisory.uncounted);
        assert_table(&advisory);
        if reason.is_empty() {
            assert_eq!((counted.len(), listed.len()), (1, 0), "{program}");
            let starts_s = if program == "dash" { 0.003 } else { 0.0 };
            assert!(advisory.saving_s <= 300e-9 * f64::from(times) - starts_s);
            continue;
        }
        assert_eq!(
            (counted.len(), &listed[0].reason),
            (0, &reason),
            "{program}"
        );
        let text = table(&advisory, TOP).replace("\n  ", " ");
        let saves_nothing = text.contains(&format!("{reason}; {program} ("))
            && text.contains("could be saves nothing");
        assert!(saves_nothing || between == "in doubt", "{text}");
        assert!(!text.contains("all could be"), "{text}");
        assert_eq!(
            merge(&[advisory.clone(), advisory.clone()]).uncounted.len(),
            1
        );
        // With the prices of another machine it is counted.
        let prices = vec![cheap];
        let merged = merge(&[Advisory { prices, ..advisory }]);
        assert_eq!(merged.findings.len(), usize::from(reason == dearer));
    }
}

#[test]
fn streams_for_a_reader_and_reads_of_unknown_length_are_listed_and_small_buffers_make_more_calls() {
    let write = "write(3</o>, \"x\", 100) = 100\n";
    let filter = |out: &str| {
        let writes = write.replace("3</o>", out).repeat(20);
        format!("read(0<pipe:[8]>, \"x\", 65536) = 65536\n{writes}").repeat(20)
    };
    let reads = |bytes: [u32; 2]| {
        let piece = |number: u32| format!("read(3</o>, \"x\", {number}) = {number}\n");
        let record = |number: u32| piece(4) + &piece(bytes[number as usize % 2]);
        let run: String = (0..30).map(record).collect();
        format!("{run}wait4(-1, 0, 0, NULL) = 9\n").repeat(9)
    };
    let reads_at = |bytes: [u32; 2]| {
        let pair = |number: u32| {
            let (at, bytes) = (number * 64, bytes[number as usize % 2]);
            format!(
                "pread64(3</o>, \"x\", 16, {at}) = 16\npread64(3</o>, \"x\", {bytes}, {}) = {bytes}\nwait4(-1, 0, 0, NULL) = 9\n",
                at + 16
            )
        };
        (0..90).map(pair).collect::<String>()
    };
    let more = reads([20, 20]).replacen("wait4", "read(3</o>, \"x\", 4) = 4\nwait4", 1);
    let full = "write(1</o>, \"x\", 4096) = 4096\n";
    let starts = "the programs that the remedy starts take longer";
    for (program, log, reason, told) in [
        (
            "mawk",
            filter("1<pipe:[7]>"),
            "the program reads a pipe or socket between the writes",
            "",
        ),
        (
            "mawk",
            filter("3</o>"),
            "",
            "flush after each record that somebody may wait for",
        ),
        // A faster program finds fewer bytes at each read.
        (
            "mawk",
            filter("3</o>"),
            "",
            "depending on the pace of the other end",
        ),
        ("java", reads([20, 30]), "the lengths of the reads vary", ""),
        ("java", reads([20, 20]), "", "9 calls instead of 540"),
        ("x", reads_at([40, 44]), "the lengths of the reads vary", ""),
        ("x", reads_at([40, 40]), "", "90 calls instead of 180"),
        // One more in the first run: they are of no one length.
        ("java", more, "or their number", ""),
        ("dd", write.repeat(90), "", "Option: `bs=64K`"),
        ("sort", full.repeat(9), starts, ""),
        ("sort", full.repeat(20_000), "", "Option: `stdbuf -o64K`"),
        ("grep", full.repeat(20_000), "", "Option: `stdbuf -o64K`"),
        ("grep", write.repeat(90), "", "Option: no `--line-buffered`"),
        (
            "sort",
            write.repeat(90),
            "a program of the system, without",
            "",
        ),
        ("x", write.repeat(1000), "", "2 calls with such a buffer"),
        (
            "gawk",
            write.repeat(1000),
            "",
            "25 calls with such a buffer",
        ),
        (
            "python3",
            "lseek(3</o>, 9, SEEK_SET) = 9\n".to_owned() + write,
            "",
            "all could go without a seek",
        ),
    ] {
        let log = if told.ends_with("seek") { log.repeat(900) } else { log };
        let folder = if let "dd" | "grep" | "sort" = program { "/bin/" } else { "/home/u/" };
        let mut all = format!("execve(\"{folder}{program}\", [\"x\"], 0x7 /* 9 vars */) = 0\n");
        all += "openat(AT_FDCWD</>, \"/o\", O_RDWR|O_CREAT|O_EXCL) = 3</o>\n";
        all += &log;
        let line = |(number, line): (usize, &str)| format!("7 1.{number:06} {line}\n");
        let log: String = all.lines().enumerate().map(line).collect();
        let of = [
            (DescriptorKind::File, Operation::Read),
            (DescriptorKind::File, Operation::Write),
            (DescriptorKind::Pipe, Operation::Write),
        ];
        let prices = of.map(|(target, operation)| price(target, operation, 300.0));
        let advisory = advise(tallies(&log), &prices, About::default());
        let text = table(&advisory, TOP)
            .replace("\n  ", " ")
            .replace("  ", " ");
        let is_counted = !advisory.findings.is_empty();
        assert_eq!(is_counted, reason.is_empty(), "{program}: {text}");
        assert_table(&advisory);
        assert!(
            text.contains(reason) && text.contains(told),
            "{told}: {text}"
        );
    }
}

#[test]
fn reads_of_a_stream_promise_no_number() {
    let read = "7 read(5<TCP:[127.0.0.1:80->127.0.0.1:5]>, \"x\", 4) = 4 <0.000010>\n";
    let write = "8 write(6<TCP:[127.0.0.1:5->127.0.0.1:80]>, \"x\", 20) = 20 <0.000010>\n";
    let begin =
        "7 accept4(3<TCP:[9]>, NULL, NULL, 0) = 5<TCP:[127.0.0.1:80->127.0.0.1:5]> <0.000010>\n";
    let prices = [price(DescriptorKind::Tcp, Operation::Read, 1000.0)];
    // The log shows no writer, or one write for five reads, or for each.
    for (writes, reads, most) in [(0, 1000, 0), (200, 1000, 200), (1000, 1000, 1000)] {
        let log = begin.to_owned() + &write.repeat(writes) + &read.repeat(reads);
        let line = |(number, line): (usize, &str)| {
            let (process, call) = line.split_once(' ').unwrap();
            format!("{process} 1.{number:06} {call}\n")
        };
        let log: String = log.lines().enumerate().map(line).collect();
        let advisory = advise(tallies(&log), &prices, About::default());
        let finding = &advisory.findings[0];
        assert_eq!(finding.tally.merged_calls_most, most);
        let text = table(&advisory, TOP)
            .replace("\n  ", " ")
            .replace("  ", " ");
        let few = "as few as 1 call with such a buffer, instead of 1000, depending on the pace of the other end.";
        assert!(text.contains(few), "{text}");
        assert!(
            text.contains(": as few as 1 call instead of 1000."),
            "{text}"
        );
        assert!(
            text.contains("more such reads after an edit are no failure"),
            "{text}"
        );
        assert_eq!(text.contains("saves at most"), most == 0, "{text}");
        // Copying costs time even if no call is saved.
        let share = finding.saving_low_s / advisory.findings[0].saving_s;
        let expected = [(0, 0.9), (200, 0.7), (1000, 0.0)];
        let (_, least) = expected
            .into_iter()
            .find(|(known, _)| *known == most)
            .unwrap();
        assert!((share - least).abs() < 0.1, "{share} {most}");
    }
}
