//! The bench of programs: every technique delivers the same bytes, and the figures are what the samples say.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use vectored_bench::programs::case::{Case, Contender, Contenders, Kind, OURS, Program, Role};
use vectored_bench::programs::catalogue::PROGRAMS;
use vectored_bench::programs::figures::{cells, summary};
use vectored_bench::programs::harness::Harness;
use vectored_bench::programs::measure::{CaseSamples, TechniqueSamples, measure};
use vectored_bench::programs::options::Options;
use vectored_bench::programs::render::{json, markdown, table};
use vectored_bench::programs::session::Session;

/// All bytes are compared before the first round, so no round is needed for that.
fn tiny(sizes: &[usize], counts: &[usize]) -> Options {
    Options {
        rounds: 0,
        slice_ms: 1,
        sizes: Some(sizes.to_vec()),
        counts: Some(counts.to_vec()),
        ..Options::default()
    }
}

#[test]
fn every_technique_of_every_program_delivers_the_same_bytes() {
    // The last size overfills the buffers of sockets: calls are short.
    let samples = measure(&tiny(&[1, 300, 300_000], &[1, 7]), |_| ()).unwrap();
    let programs: std::collections::HashSet<&str> =
        samples.iter().map(|sample| sample.case.program).collect();
    assert_eq!(programs.len(), 8);
    for sample in samples {
        let roles: Vec<Role> = sample.techniques.iter().map(|one| one.role).collect();
        for role in [Role::Today, Role::ByHand, Role::Ours, Role::Again] {
            assert!(roles.contains(&role), "{}: {role:?}", sample.case);
        }
    }
}

#[test]
fn requests_of_more_segments_than_a_call_takes_arrive() {
    measure(&tiny(&[5000], &[1200]), |_| ()).unwrap();
}

#[test]
fn the_json_has_every_field_for_every_technique() {
    let one_of_sockets_and_one_of_files = [PROGRAMS[0], PROGRAMS[3]];
    let options = Options {
        rounds: 6,
        programs: one_of_sockets_and_one_of_files.to_vec(),
        ..tiny(&[100], &[3])
    };
    let samples = measure(&options, |_| ()).unwrap();
    let cells = cells(&samples);
    let text = json(&cells, &summary(&cells, options.rounds));
    let parsed: serde_json::Value = serde_json::from_str(&text).unwrap();
    let parsed = parsed["cells"].as_array().unwrap();
    let techniques: usize = samples.iter().map(|one| one.techniques.len()).sum();
    assert_eq!(parsed.len(), techniques);
    for cell in parsed {
        for field in ["program", "case", "technique", "role"] {
            assert!(cell[field].is_string(), "{field}: {cell}");
        }
        for field in [
            "cpu_ns",
            "ratio_to_best_by_hand",
            "low",
            "high",
            "ratio_to_today",
            "today_low",
            "today_high",
        ] {
            assert!(cell[field].as_f64().unwrap() > 0.0, "{field}: {cell}");
        }
    }
    let of_ours = |cell: &&serde_json::Value| cell["technique"] == OURS;
    assert_eq!(parsed.iter().filter(of_ours).count(), samples.len());
}

/// A session that delivers fixed bytes in fixed time.
struct Fixed {
    delivered: &'static [u8],
    ns_per_request: u64,
}

impl Session for Fixed {
    fn deliver(&mut self, _: usize) -> io::Result<Vec<u8>> {
        Ok(self.delivered.to_vec())
    }

    fn slice(&mut self, requests: usize) -> io::Result<u64> {
        Ok(self.ns_per_request * requests as u64)
    }
}

const KINDS: &[Kind] = &[Kind {
    name: "some",
    defaults: &[(100, 2)],
    is_single: false,
}];

fn contenders(ours: &'static [u8]) -> Contenders {
    let contender = |technique, role, delivered, ns_per_request| Contender {
        technique,
        role,
        session: Box::new(Fixed {
            delivered,
            ns_per_request,
        }),
    };
    Contenders {
        expected: b"bytes".to_vec(),
        all: vec![
            contender("today", Role::Today, b"bytes", 4000),
            contender("today-again", Role::Again, b"bytes", 4000),
            contender("other", Role::ByHand, b"bytes", 2000),
            contender(OURS, Role::Ours, ours, 1000),
        ],
    }
}

fn faulty(_: &Harness, _: &Case) -> io::Result<Contenders> {
    Ok(contenders(b"byteS"))
}

fn faultless(_: &Harness, _: &Case) -> io::Result<Contenders> {
    Ok(contenders(b"bytes"))
}

fn options_of(open: fn(&Harness, &Case) -> io::Result<Contenders>) -> Options {
    let program = Program {
        name: "fixed",
        kinds: KINDS,
        open,
    };
    Options {
        programs: vec![program],
        rounds: 7,
        slice_ms: 1,
        ..Options::default()
    }
}

#[test]
fn a_technique_that_delivers_other_bytes_is_named() {
    let error = measure(&options_of(faulty), |_| ())
        .unwrap_err()
        .to_string();
    for needle in ["fixed some 2x100", OURS, "from byte 4 on"] {
        assert!(error.contains(needle), "{error}");
    }
}

#[test]
fn times_are_per_request_and_ratios_are_to_the_best_by_hand() {
    let samples = measure(&options_of(faultless), |_| ()).unwrap();
    let cells = cells(&samples);
    let found: Vec<(&str, f64, f64, f64)> = cells
        .iter()
        .map(|cell| {
            let ratio = cell.ratio_to_best_by_hand;
            (cell.technique, cell.cpu_ns, ratio, cell.ratio_to_today)
        })
        .collect();
    let expected = [
        ("today", 4000.0, 2.0, 1.0),
        ("today-again", 4000.0, 2.0, 1.0),
        ("other", 2000.0, 1.0, 0.5),
        (OURS, 1000.0, 0.5, 0.25),
    ];
    for (found, expected) in std::iter::zip(&found, &expected) {
        assert_eq!(found.0, expected.0);
        for (found, expected) in [
            (found.1, expected.1),
            (found.2, expected.2),
            (found.3, expected.3),
        ] {
            assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
        }
    }
}

/// Two cases with ten rounds each.
fn samples() -> Vec<CaseSamples> {
    let rounds = [3.0, 9.0, 1.0, 7.0, 4.0, 10.0, 2.0, 8.0, 5.0, 6.0];
    let technique = |technique, role, ns: f64, noise_ns: f64| TechniqueSamples {
        technique,
        role,
        cpu_ns: rounds.map(|round| ns + noise_ns * round).to_vec(),
    };
    let case = |kind, bytes, count| Case {
        program: "resp",
        kind,
        bytes,
        count,
    };
    vec![
        CaseSamples {
            case: case("get", 16384, 16),
            techniques: vec![
                technique("today", Role::Today, 200_000.0, 100.0),
                technique("today-again", Role::Again, 202_000.0, -50.0),
                technique("buf-writer-64k", Role::ByHand, 210_000.0, 0.0),
                technique("write-vectored", Role::ByHand, 150_000.0, 10.0),
                technique(OURS, Role::Ours, 140_000.0, 500.0),
            ],
        },
        CaseSamples {
            case: case("lrange", 100, 1000),
            techniques: vec![
                technique("today", Role::Today, 80_000.0, 0.0),
                technique("today-again", Role::Again, 90_000.0, 0.0),
                technique("buf-writer-64k", Role::ByHand, 82_000.0, 0.0),
                technique("write-vectored", Role::ByHand, 250_000.0, 0.0),
                technique(OURS, Role::Ours, 84_000.0, 100.0),
            ],
        },
    ]
}

#[test]
fn the_table() {
    let cells = cells(&samples());
    insta::assert_snapshot!(table(&cells, &summary(&cells, 10)));
}

#[test]
fn the_page() {
    let cells = cells(&samples());
    insta::assert_snapshot!(markdown(&cells, &summary(&cells, 10)));
}

#[test]
fn the_json() {
    let cells = cells(&samples());
    let text = json(&cells, &summary(&cells, 10));
    let parsed: serde_json::Value = serde_json::from_str(&text).unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&parsed["cells"][4]).unwrap());
    insta::assert_snapshot!(serde_json::to_string_pretty(&parsed["summary"]).unwrap());
}

#[test]
fn few_rounds_have_no_interval() {
    let mut samples = samples();
    for technique in samples.iter_mut().flat_map(|case| &mut case.techniques) {
        technique.cpu_ns.truncate(5);
    }
    let cells = cells(&samples);
    assert!(
        cells
            .iter()
            .all(|cell| cell.low.is_none() && cell.high.is_none())
    );
    assert!(json(&cells, &summary(&cells, 5)).contains("\"low\":null"));
}

#[test]
fn a_server_answers_clients_of_its_port() {
    let mut server = Command::new(env!("CARGO_BIN_EXE_load"))
        .args(["serve", "resp", "get", "1x5", OURS])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut port = String::new();
    let output = server.stdout.take().unwrap();
    BufReader::new(output).read_line(&mut port).unwrap();
    let port: u16 = port.trim().parse().unwrap();
    // The server goes on after the end of a connection.
    for _ in 0..2 {
        let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let get = b"*2\r\n$3\r\nGET\r\n$16\r\nkey:000000000001\r\n";
        client.write_all(&get.repeat(2)).unwrap();
        let mut answers = [0; 22];
        client.read_exact(&mut answers).unwrap();
        assert!(answers.starts_with(b"$5\r\n") && answers.ends_with(b"\r\n"));
    }
    server.kill().unwrap();
    server.wait().unwrap();
}

#[test]
fn a_program_that_writes_files_serves_no_port() {
    let output = Command::new(env!("CARGO_BIN_EXE_load"))
        .args(["serve", "logs", "lines", "1x80", OURS])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("cannot serve"), "{message}");
}
