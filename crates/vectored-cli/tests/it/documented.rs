//! Tests of the screens in README and `docs/`, and of the steps in `docs/ten-minutes.md`.
//!
//! The command of each screen saved a result in `documented/`. The samples were removed, because no screen shows
//! samples.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

use crate::support::{Bench, VECTORED, case, needs_strace, one_line, skip, stdout_of};

/// Each entry: the command of a screen, and the file that the command saved.
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

fn blocks(page: &str, language: &str) -> Vec<String> {
    let text = read(page);
    let fence = format!("\n```{language}\n");
    let after = text.split(&fence).skip(1);
    after
        .map(|text| text.split("```").next().unwrap().to_owned())
        .collect()
}

/// Splits the screen at lines of `…`. Returns the first piece that is missing in the text, or out of order.
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
            // Only the last command of a block prints something.
            let commands = block.rfind("$ vectored ").unwrap();
            let (command, screen) = block[commands + 2..].split_once('\n').unwrap();
            if command.contains("--fail-if") {
                continue;
            }
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

/// Each row: the end of a command, its exit status, and a part of its output that the page also shows. The parts
/// contain counts, not times. On a busy machine, some exchanges of ask.py are far apart and have waits with less
/// certainty.
const TYPED: &str = "\
advise -- python3 report.py => 0: 20,000 × write 9–13 B | calls instead of 20,000.
'python3 report.py.old' 'python3 report.py' => 0: writes instead of 20,000 | writes 20,000
'python3 report.py' 'python3 report.py.old' => 3: new is beyond the limit of --fail-if-more-calls 1% against old: | \
times the system calls and
echo $? => 0: 3
advise -- python3 ask.py => 0: × (sendto 12 B + sendto 300 B, then an answer) | calls instead of
'python3 ask.py.old' 'python3 ask.py' => 0: 50 writes instead of 100";

/// Writes the programs of the page, makes its edits, and runs its commands in one shell.
#[test]
fn ten_minutes_can_be_typed() {
    needs_strace!();
    // A wrapper script of Python would add system calls.
    let python = Command::new("python3")
        .args(["-c", "import sys; print(sys.executable)"])
        .output();
    let Ok(python) = python else {
        return skip("there is no python3");
    };
    let python = String::from_utf8(python.stdout).unwrap();
    let folders = [VECTORED, &python].map(|program| Path::new(program).parent().unwrap().display());
    let path = format!(
        "{}:{}:{}",
        folders[0],
        folders[1],
        env::var("PATH").unwrap()
    );
    // The process ID gives a loopback address that no other test uses.
    let [_, a, b, c] = std::process::id().to_be_bytes();
    let address = format!("127.{}.{b}.{c}", a + 1);
    let page = read(TEN_MINUTES).replace("127.0.0.1", &address);

    let bench = Bench::new();
    let printed = bench.work().join("printed");
    let output = fs::File::create(&printed).unwrap();
    let ended = bench
        .program("sh")
        .args(["-c", &typed(&page, &address)])
        .envs([("PATH", &*path), ("COLUMNS", "80"), ("LC_ALL", "C.UTF-8")])
        .stdin(Stdio::null())
        .stdout(output.try_clone().unwrap())
        .stderr(output)
        .status()
        .unwrap();
    let (page, printed) = (
        one_line(&page),
        one_line(&fs::read_to_string(&printed).unwrap()),
    );
    let ends = |with: &str| printed.matches(with).count();
    assert!(
        ended.success() && ends(" ended with ") == ends(" ended with 0.") + 1,
        "{printed}"
    );
    let mut rest = &*printed;
    for (command, status, pieces) in TYPED.lines().map(case) {
        let end = format!("{command} ended with {status}.");
        let (said, after) = rest
            .split_once(&end)
            .unwrap_or_else(|| panic!("{end}\n{printed}"));
        for piece in pieces.split(" | ") {
            assert!(page.contains(piece), "the page lacks {piece:?}");
            assert!(
                said.contains(piece),
                "{command} prints no {piece:?}: {said}"
            );
        }
        rest = after;
    }
}

/// Returns a script that prints the exit status of each command of the page.
fn typed(page: &str, address: &str) -> String {
    let (mut files, mut script) = (HashMap::new(), String::new());
    // The parts with odd indexes are inside fences.
    for block in page.split("\n```").skip(1).step_by(2) {
        let (language, text) = block.split_once('\n').unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let (name, text) = match language {
            "python" => (&lines[0]["# ".len()..], format!("{text}\n")),
            "diff" => {
                let name = lines[1].strip_prefix("+++ ").unwrap();
                let [old, new] = ['-', '+'].map(|mark| {
                    let side = lines[2..].iter().filter_map(|line| line.strip_prefix(mark));
                    side.map(|line| format!("{line}\n")).collect::<String>()
                });
                let text: &String = &files[name];
                assert!(text.contains(&old), "{name} lacks {old}");
                (name, text.replace(&old, &new))
            }
            _ => {
                let prompt = if language == "console" { "$ " } else { "" };
                let commands = lines.iter().filter_map(|line| line.strip_prefix(prompt));
                for command in commands.filter(|command| !command.starts_with("cargo ")) {
                    script += &typed_command(command, address);
                }
                continue;
            }
        };
        script += &format!("cat > {name} <<'END'\n{text}END\n");
        files.insert(name, text);
    }
    script
}

/// The added options shorten the run, and accept long gaps between calls on a busy machine.
fn typed_command(command: &str, address: &str) -> String {
    let mut typed = command
        .replace("vectored advise ", "vectored advise --max-delay 1h ")
        .replace("--budget 90s ", "")
        .replace("vectored versus ", "vectored versus --rounds 1 ")
        .replace("--rounds 1 --rounds 1", "--rounds 1");
    if command.ends_with('&') {
        typed += &format!(
            "\nuntil python3 -c 'import socket; socket.create_connection((\"{address}\", 7008))' 2> /dev/null; \
             do kill -0 $! || exit 1; done"
        );
    }
    let name = command.split(" #").next().unwrap().trim_end();
    let name = name.replace('\'', r"'\''");
    format!("{typed}\nstatus=$?\nprintf '%s ended with %s.\\n' '{name}' $status\n(exit $status)\n")
}
