//! The screens of README and `docs/`, and the steps of `docs/ten-minutes.md`.
//!
//! Each result of `documented/` was saved by the command of a screen, without its samples, which no screen shows.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::advise::strace_is_missing;
use crate::support::{Bench, said_by, skip, stdout_of};

/// The command of a screen, and what it saved.
const SCREENS: [(&str, &str); 5] = [
    ("vectored measure", "measure"),
    (
        "vectored measure --mix 12,3000 --target tcp --rate 50000/s",
        "mix",
    ),
    ("vectored advise -- python3 report.py", "advise"),
    ("vectored advise -- python3 ask.py", "stall"),
    (
        "vectored versus --same report.txt 'python3 report.py.old' 'python3 report.py'",
        "versus",
    ),
];

const TEN_MINUTES: &str = "docs/ten-minutes.md";

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(path)).unwrap()
}

/// The blocks of a page in this language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let text = read(page);
    let fence = format!("\n```{language}\n");
    let after = text.split(&fence).skip(1);
    after
        .map(|text| text.split("```").next().unwrap().to_owned())
        .collect()
}

/// Whether the pieces of a screen between lines of `…` stand in the text, in this order.
fn missing_piece<'s>(screen: &'s str, text: &str) -> Option<&'s str> {
    let mut rest = text;
    screen
        .split("…\n")
        .find(|piece| match rest.split_once(*piece) {
            Some((_, after)) => {
                rest = after;
                false
            }
            None => true,
        })
}

/// A text in one line, with one `#` in place of each number, and without intervals.
fn masked(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut masked = text.replace(|c: char| c.is_ascii_digit(), "#");
    for (long, short) in [("#.#", "#"), ("#,#", "#"), ("##", "#"), (" [#, #]", "")] {
        while masked.contains(long) {
            masked = masked.replace(long, short);
        }
    }
    masked
}

#[test]
fn each_screen_is_what_the_command_prints_of_its_saved_result() {
    let bench = Bench::new();
    let mut seen = Vec::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let pages = fs::read_dir(folder).unwrap().map(|entry| {
        let name = entry.unwrap().file_name().into_string().unwrap();
        format!("docs/{name}")
    });
    let pages = pages.filter(|page| page.ends_with(".md"));
    for page in pages.chain(["README.md".to_owned()]) {
        for block in blocks(&page, "console") {
            let (command, screen) = block.split_once('\n').unwrap();
            // `the_steps_of_ten_minutes_lead_to_its_screens` runs it.
            if command.contains("--fail-if") {
                continue;
            }
            let command = command.strip_prefix("$ ").unwrap();
            let saved = SCREENS.iter().find(|(of, _)| *of == command);
            let (_, saved) =
                saved.unwrap_or_else(|| panic!("{page}: no result is saved of {command}"));
            let path = format!(
                "{}/tests/it/documented/{saved}.json",
                env!("CARGO_MANIFEST_DIR")
            );
            let printed = stdout_of(
                bench
                    .vectored()
                    .env("COLUMNS", "80")
                    .args(["report", &path]),
            );
            if let Some(piece) = missing_piece(screen, &printed) {
                panic!("{page}: {command} prints no longer:\n{piece}\nbut:\n{printed}");
            }
            seen.push(command.to_owned());
        }
    }
    for (command, _) in SCREENS {
        assert!(
            seen.iter().any(|one| one == command),
            "{command} is in no page"
        );
    }
}

#[test]
fn the_steps_of_ten_minutes_lead_to_its_screens() {
    const TEST: &str = "the_steps_of_ten_minutes_lead_to_its_screens";
    if let Some(reason) = strace_is_missing() {
        return skip(TEST, &reason);
    }
    let bench = Bench::new();
    let program = &blocks(TEN_MINUTES, "python")[0];
    let write = |name: &str, text: &str| fs::write(bench.work().join(name), text).unwrap();
    write("report.py", program);

    // On a busy machine calls may be far apart.
    let advise = "advise --no-save --quiet --max-delay 1h -- python3 report.py";
    let (_, advice) = said_by(bench.command(advise).env("COLUMNS", "80"), 0);
    let screen = masked(&blocks(TEN_MINUTES, "console")[0]);
    let remedy = &screen[screen.find("Collect the writes").unwrap()..];
    let remedy = remedy.trim_end_matches(" …");
    assert!(masked(&advice).contains(remedy), "{remedy}: {advice}");
    assert!(advice.contains("20,000 × write 9–13 B"), "{advice}");

    let edit = &blocks(TEN_MINUTES, "diff")[0];
    let side = |mark| {
        let lines = edit.lines().filter_map(move |line| line.strip_prefix(mark));
        lines.map(|line| format!("{line}\n")).collect::<String>()
    };
    assert!(program.contains(&side('-')), "{edit}");
    write("report.py.old", program);
    write("report.py", &program.replace(&side('-'), &side('+')));
    let gate = blocks(TEN_MINUTES, "console")
        .into_iter()
        .find(|block| block.contains("--fail-if"));
    let gate = gate.unwrap();
    let (command, screen) = gate.split_once('\n').unwrap();
    let words = vectored_versus::split(command.trim_start_matches("$ vectored ")).unwrap();
    let (_, said) = said_by(bench.vectored().args(words), 3);
    let error = screen
        .lines()
        .find(|line| line.starts_with("error: "))
        .unwrap();
    assert!(masked(&said).contains(&masked(error)), "{said}");
    assert!(screen.ends_with("$ echo $?\n3\n"), "{screen}");
}

#[test]
fn the_exchange_of_ten_minutes_is_found() {
    const TEST: &str = "the_exchange_of_ten_minutes_is_found";
    if let Some(reason) = strace_is_missing() {
        return skip(TEST, &reason);
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let peer = thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        client
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        let mut request = [0; 312];
        for _ in 0..50 {
            client.read_exact(&mut request).unwrap();
            client.write_all(b"answer").unwrap();
        }
        assert_eq!(&request[..13], b"         300x");
    });
    let [_, exchange]: [String; 2] = blocks(TEN_MINUTES, "python").try_into().unwrap();
    let program = format!(
        "import socket\nbody = b'x' * 300\n\
         with socket.create_connection(('127.0.0.1', {port})) as server:\n    for _ in range(50):\n{exchange}"
    );
    let bench = Bench::new();
    fs::write(bench.work().join("ask.py"), program).unwrap();
    let advise = "advise --no-save --quiet --max-delay 1h -- python3 ask.py";
    let (_, advice) = said_by(bench.command(advise).env("COLUMNS", "80"), 0);
    peer.join().unwrap();
    let pattern = "50 × (sendto 12 B + sendto 300 B, then an answer)";
    assert!(advice.contains(pattern), "{advice}");
}
