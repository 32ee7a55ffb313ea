//! The commands that prove an edit of a program, in the form in which they can be typed.

mod compared;
mod kept;

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use vectored_advise::advisor::{RunFiles, unescaped};
use vectored_advise::model::Advisory;
use vectored_machine::model::Operation;

use vectored_report::sort;

use crate::advise_pipeline::Observed;

use compared::compared;
use kept::kept;

/// What the standard input of the command is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Nothing that can be read again, and nothing that is missed: a terminal, `/dev/null`.
    None,
    File(PathBuf),
    /// A pipe or a socket, which is empty now.
    Stream,
}

impl Input {
    /// The standard input of this process, which the command inherits.
    pub fn of_this_process() -> Input {
        let Ok(path) = fs::read_link("/proc/self/fd/0") else {
            return Input::None;
        };
        match fs::metadata("/proc/self/fd/0") {
            Ok(found) if found.is_file() => Input::File(path),
            _ if path.starts_with("/dev") => Input::None,
            _ => Input::Stream,
        }
    }
}

/// What the log shows of a run, and where it ran.
#[derive(Clone, Debug)]
pub struct Ran {
    pub files: RunFiles,
    pub programs: Vec<PathBuf>,
    /// The numbers of threads: from the least to the first above all.
    pub numbers: Range<u32>,
    /// The working directory.
    pub here: PathBuf,
    /// Where standard output and standard error lead.
    pub standard: Vec<PathBuf>,
    /// Whether it accepted more connections than it made.
    pub accepts: bool,
}

impl Ran {
    /// A run in the working directory, with the standard streams of this process.
    pub fn here(observed: &Observed) -> Ran {
        let standard = ["/proc/self/fd/1", "/proc/self/fd/2"].map(fs::read_link);
        let programs = observed.programs.iter();
        let mut programs: Vec<PathBuf> = programs.map(|path| unescaped(path)).collect();
        sort::sort(&mut programs);
        Ran {
            files: observed.files(),
            programs,
            numbers: observed.numbers.clone(),
            here: env::current_dir().unwrap_or_default(),
            standard: standard.into_iter().flatten().collect(),
            accepts: observed.accepts,
        }
    }

    /// A path as it is typed: from the working directory if it lies there, and never like an option.
    fn near(&self, path: &Path) -> Option<String> {
        let near = path.strip_prefix(&self.here).unwrap_or(path).to_str()?;
        let before = if near.starts_with('-') { "./" } else { "" };
        Some(format!("{before}{near}"))
    }
}

/// How to prove an edit of a command's program: the files to keep, and the command to type. `None` if a word is not text.
///
/// A copy of the only file is named in place of it. Other files stay in their places, where the command finds them, and the old
/// and the new ones are put there before each run.
pub fn proof(
    command: &[OsString],
    input: &Input,
    advisory: &Advisory,
    ran: &Ran,
) -> Option<String> {
    let words: Option<Vec<&str>> = command.iter().map(|word| word.to_str()).collect();
    let words = words?;
    let compared = compared(&words, advisory, ran);
    let mut options = String::new();
    if let Input::File(path) = input {
        options += &format!(" --input {}", quoted(&ran.near(path)?));
    }
    for path in &compared.same {
        options += &format!(" --same {}", quoted(&ran.near(path)?));
    }
    if advisory.failed.is_some() {
        options += " --ignore-failure";
    }
    let typed = as_one_word(&words);
    let found: Vec<&str> = advisory
        .findings
        .iter()
        .map(|one| &*one.key.program)
        .collect();
    let kept = kept(&words, ran, &found);
    let named = |word: &&str| {
        Path::new(word)
            .canonicalize()
            .is_ok_and(|path| kept == [path])
    };
    let mut text = if kept.is_empty() {
        format!(
            "To prove an edit, first copy the file that you edit. Then: vectored versus{options} 'OLD COMMAND' {typed}, where \
             OLD COMMAND runs the copy"
        )
    } else if let Some(index) = words.iter().position(named) {
        // A copy beside a link would not find what lies beside the file.
        let name = if Path::new(words[index]).is_symlink() {
            ran.near(&kept[0])?
        } else {
            words[index].to_owned()
        };
        let copy = name_of_copy(&name);
        let mut old = words.clone();
        old[index] = &copy;
        format!(
            "Before the edit: cp {} {}. After it: vectored versus{options} {} {typed}",
            quoted(&name),
            quoted(&copy),
            as_one_word(&old),
        )
    } else {
        let files: Option<Vec<String>> = kept.iter().map(|path| ran.near(path)).collect();
        let files: Vec<String> = files?.iter().map(|name| quoted(name)).collect();
        let files = files.join(" ");
        // tar(1) takes the first `/` off, unless it has `P`.
        let [save, restore] = if kept.iter().all(|path| path.starts_with(&ran.here)) {
            ["cf", "xf"]
        } else {
            ["cPf", "xPf"]
        };
        let [before, after] = ["vectored-before.tar", "vectored-after.tar"];
        format!(
            "Before the edit: tar {save} {before} {files}. After it: tar {save} {after} {files}; vectored versus \
             --prepare 'tar {restore} {before}' --prepare 'tar {restore} {after}' --cleanup 'tar {restore} {after}'{options} \
             {typed} {typed}"
        )
    };
    add_what_is_missing(&mut text, input, advisory, ran, compared.not);
    Some(text)
}

/// Adds what the command to type lacks, and what it does not compare.
fn add_what_is_missing(
    text: &mut String,
    input: &Input,
    advisory: &Advisory,
    ran: &Ran,
    mut not: Vec<String>,
) {
    let command_length = text.len();
    if *input == Input::Stream {
        *text += ". Its standard input came from a pipe: save that to FILE, and add --input FILE";
    }
    if let Some(other_end) = other_end(advisory, ran) {
        *text += &other_end;
    }
    if text.contains(" --same seen,") {
        // The file `seen` has what goes through the FIFO.
        not.retain(|not| !not.ends_with(", a FIFO"));
    }
    if !not.is_empty() {
        *text += &format!(". Not compared: {}", not.join("; "));
    }
    if text.len() > command_length {
        text.push('.');
    }
}

/// How to run the other end of a FIFO, or the client of a service, together with each command: alone, the command would
/// wait for ever.
fn other_end(advisory: &Advisory, ran: &Ran) -> Option<String> {
    if ran.accepts {
        return Some(
            ". It accepts connections: put the start of the service, its client and its end into one script, and give that \
             as the command"
                .to_owned(),
        );
    }
    let fifo = advisory.descriptors.iter().find_map(|one| {
        let path = one.path.as_ref().filter(|path| path.starts_with('/'));
        path.filter(|_| one.kind == "pipe")
            .map(|path| (one.operation, path))
    });
    let (operation, path) = fifo?;
    let path = quoted(&ran.near(Path::new(path))?);
    Some(match operation {
        Operation::Write => format!(
            ". It waits for a reader of the FIFO: add --shell sh --same seen, and put 'cat {path} > seen &' in front of each \
             command"
        ),
        Operation::Read => format!(
            ". It waits for a writer of the FIFO: add --shell sh, and put 'cat FILE > {path} &' in front of each command"
        ),
    })
}

/// The name of a copy beside a program. Interpreters that take a file for what its extension says find that at the end.
fn name_of_copy(name: &str) -> String {
    let extension = Path::new(name).extension().and_then(OsStr::to_str);
    let (stem, end) = match extension {
        None | Some("py" | "rb" | "pl" | "sh" | "php" | "lua" | "awk" | "tcl" | "old") => {
            (name, "")
        }
        Some(extension) => name.split_at(name.len() - extension.len() - 1),
    };
    // `x.old` may be the program before an earlier edit.
    let old = if stem.ends_with(".old") { "er" } else { ".old" };
    format!("{stem}{old}{end}")
}

/// Words as one word, which `versus` splits.
fn as_one_word(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    format!("'{}'", words.join(" ").replace('\'', r"'\''"))
}

/// A word as a shell takes it for one word.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};
    use vectored_advise::advisor::{WrittenFile, merge};
    use vectored_versus::split;

    use super::*;

    /// A folder in the working directory that is not hidden, and its name.
    fn folder() -> (tempfile::TempDir, String) {
        let dir = tempfile::Builder::new()
            .prefix("proof")
            .tempdir_in(".")
            .unwrap();
        let name = dir.path().file_name().unwrap().to_str().unwrap().to_owned();
        (dir, name)
    }

    /// A run whose programs read and wrote these files: `python3 w.py`, `out>later`.
    fn ran(dir: &str, programs: &str, read: &str, written: &str) -> Ran {
        let here = env::current_dir().unwrap();
        let at = |name: &str| here.join(dir).join(name);
        let pairs = read.split_whitespace().collect::<Vec<_>>();
        let write = |names: &str| WrittenFile {
            path: at(names.split('>').next().unwrap())
                .to_str()
                .unwrap()
                .to_owned(),
            names: names.split('>').map(at).collect(),
            is_counted: false,
        };
        let files = RunFiles {
            read: pairs
                .chunks(2)
                .map(|pair| (pair[0].to_owned(), at(pair[1])))
                .collect(),
            written: written.split_whitespace().map(write).collect(),
            made: [].into(),
        };
        Ran {
            files,
            programs: programs.split_whitespace().map(at).collect(),
            numbers: 4000..4100,
            standard: vec![at("standard")],
            accepts: false,
            here,
        }
    }

    /// An advisory with a finding of writes to this path by this program.
    fn found(program: &str, target: &str, path: &str) -> Advisory {
        let mut advisory = merge(&[]);
        let finding = json!({
            "kind": "adjacent-writes", "grade": "adjacent", "program": program, "target": target, "file": null,
            "site": null, "steps": [], "runs": 1, "calls": 9, "bytes": 9, "merged_calls": 1, "segments": 9, "sizes": [],
            "gathered_calls": 1, "list_calls": 0, "long_list_calls": 0, "list_sizes": [], "step_bytes": [],
            "processes": 1, "process": 4000, "openings": 1, "descriptor": 1, "path": path, "ends": [], "killed": false,
            "files": [], "more_files": 0, "sites": [], "starts": [], "runtime": null, "pattern": "", "saving_s": 1.0,
            "saving_low_s": 1.0, "saving_high_s": 1.0, "action": "",
        });
        advisory.findings.push(from_value(finding).unwrap());
        advisory
    }

    #[test]
    fn a_name_that_looks_like_an_option_is_typed_with_its_folder() {
        let ran = ran(".", "", "", "");
        for (name, typed) in [("-out", "./-out"), ("dir/-out", "dir/-out"), ("o-", "o-")] {
            assert_eq!(ran.near(&ran.here.join(name)).as_deref(), Some(typed));
        }
    }

    /// The command, its programs, what they read and wrote; then the one word that is a copy, or the files that are kept.
    const KEPT: &str = "
python3 -u DIR/w.py DIR/q.bin 30 |  | python3 w.py python3 q.bin |  | w.py>w.py.old
sh DIR/w.sh DIR/w.sh |  | sh w.sh |  | w.sh>w.sh.old
nice DIR/y.old | y.old | y.old y.old |  | y.old>y.older
node DIR/z.old.mjs |  | node z.old.mjs |  | z.old.mjs>z.older.mjs
node --no-warnings DIR/x.mjs |  | node x.mjs |  | x.mjs>x.old.mjs
nice env A=b DIR/prog DIR/q.bin | prog | prog q.bin | q.bin | prog>prog.old
# A script is known by its place, its name or its first line.
perl -I DIR/lib DIR/prog DIR/q.bin |  | perl prog perl q.bin |  | prog>prog.old
nice DIR/tool | tool | tool tool |  | tool>tool.old
sh -c DIR/w.sh |  | dash tool |  | tool
sort DIR/q.bin |  | sort q.bin |  |
python3 -m module DIR/q.bin |  |  |  |
# The code is in the command: the file is what it reads.
gawk -v x=1 print DIR/q.bin |  | gawk q.bin |  |
perl -ne print DIR/q.bin |  | perl q.bin |  |
gawk -f DIR/prog DIR/q.bin |  | gawk prog gawk q.bin |  | prog>prog.old
# The program of the finding comes first.
sh DIR/w.sh |  | sh w.sh writer w.pl |  | w.pl w.sh
sh DIR/w.sh | prog | sh w.sh |  | prog w.sh
python3 DIR/w.py |  | python3 w.py python3 __pycache__/m.cpython-311.pyc |  | w.py m.py
perl DIR/w.pl |  | perl w.pl perl lib/M.pm |  | w.pl lib/M.pm
sh DIR/w.sh |  | sh w.sh node node_modules/x.js sh .hidden/x.sh |  | w.sh>w.sh.old
# What the command makes is not what is edited, and not what it is made of either.
sh DIR/w.sh |  | sh w.sh writer w.pl | w.pl | w.sh>w.sh.old
sh DIR/w.sh | prog | sh w.sh | prog |
make | make prog |  |  |
";

    #[test]
    fn the_files_that_may_be_edited_are_kept() {
        let (_dir, dir) = folder();
        for folder in ["node_modules", "__pycache__", ".hidden", "lib"] {
            fs::create_dir(format!("{dir}/{folder}")).unwrap();
        }
        let names = "w.py m.py q.bin prog x.mjs y.old z.old.mjs w.sh w.pl tool node_modules/x.js .hidden/x.sh \
                     __pycache__/m.cpython-311.pyc lib/M.pm";
        for name in names.split(' ') {
            let text = if name == "tool" { "#!" } else { "" };
            fs::write(format!("{dir}/{name}"), text).unwrap();
        }
        for row in KEPT.lines().filter(|row| row.contains('|')) {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            let [typed, programs, read, written, expected] = cells[..] else {
                panic!("{row}");
            };
            let typed = typed.replace("DIR", &dir);
            let command: Vec<OsString> = typed.split(' ').map(OsString::from).collect();
            let mut advisory = found("writer", "pipe", "pipe:[1]");
            let ran = ran(&dir, programs, read, written);
            let same = if written.is_empty() {
                String::new()
            } else {
                format!(" --same {dir}/{written}")
            };
            let text = proof(&command, &Input::None, &advisory, &ran).unwrap();
            let expected = match expected.split_once('>') {
                Some((name, copy)) => {
                    let [name, copy] = [name, copy].map(|name| format!("{dir}/{name}"));
                    let old = typed.replacen(&name, &copy, 1);
                    format!(
                        "Before the edit: cp {name} {copy}. After it: vectored versus{same} '{old}' '{typed}'"
                    )
                }
                None if expected.is_empty() => format!(
                    "To prove an edit, first copy the file that you edit. Then: vectored versus{same} 'OLD COMMAND' \
                     '{typed}', where OLD COMMAND runs the copy"
                ),
                None => {
                    let files: Vec<String> = expected
                        .split(' ')
                        .map(|name| format!("{dir}/{name}"))
                        .collect();
                    let files = files.join(" ");
                    format!(
                        "Before the edit: tar cf vectored-before.tar {files}. After it: tar cf vectored-after.tar {files}; \
                         vectored versus --prepare 'tar xf vectored-before.tar' --prepare 'tar xf vectored-after.tar' \
                         --cleanup 'tar xf vectored-after.tar'{same} '{typed}' '{typed}'"
                    )
                }
            };
            assert_eq!(text, expected, "{typed}");
            advisory.failed = Some("exit status 1".to_owned());
            let text = proof(&command, &Input::None, &advisory, &ran).unwrap();
            assert!(text.contains(" --ignore-failure '"), "{text}");
        }
    }

    #[test]
    fn each_file_that_was_written_is_compared_or_the_text_says_why_not() {
        let (_dir, dir) = folder();
        for name in "out out.1 x.pyc log.4001 log.1795316800 standard plain".split(' ') {
            fs::write(format!("{dir}/{name}"), "").unwrap();
        }
        fs::create_dir(format!("{dir}/.cache")).unwrap();
        fs::write(format!("{dir}/.cache/x"), "").unwrap();
        let absolute =
            |name: &str| format!("{}/{dir}/{name}", env::current_dir().unwrap().display());
        let command = ["./unknown", "log.4001"].map(OsString::from);
        // What was written, the file of the finding, the files that are compared, and what is not compared. A file with several
        // names was renamed, and written anew.
        let rows = "\
out standard x.pyc log.4001 plain gone | plain | plain out |
gone>out | gone | out |
out>out.1 | out | out out.1 |
gone out | gone | out | DIR/gone, which is gone at the end
log.4001 | log.4001 |  | DIR/log.4001, whose name differs in each run
log.1795316800 | log.1795316800 |  | DIR/log.1795316800, whose name differs in each run
out .cache/x | out | out | NEAR/.cache/x
.cache/x | .cache/x | .cache/x |";
        for row in rows.lines() {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            let [written, of_finding, same, not] = cells[..] else {
                panic!("{row}");
            };
            let text = proof(
                &command,
                &Input::None,
                &found("p", "file", &absolute(of_finding)),
                &ran(&dir, "", "", written),
            );
            let text = text.unwrap();
            let named: Vec<&str> = text
                .split(" --same ")
                .skip(1)
                .map(|rest| rest.split(' ').next().unwrap())
                .collect();
            let expected: Vec<String> = same
                .split_whitespace()
                .map(|name| format!("{dir}/{name}"))
                .collect();
            assert_eq!(named, expected, "{written}: {text}");
            let said = text
                .split_once(". Not compared: ")
                .map_or("", |(_, said)| said.strip_suffix('.').unwrap());
            assert_eq!(
                said,
                not.replace("DIR", absolute("").trim_end_matches('/'))
                    .replace("NEAR", &dir),
                "{written}: {text}"
            );
        }
    }

    #[test]
    fn files_of_findings_are_compared_first_and_some_of_the_others_are_named() {
        let (_dir, dir) = folder();
        let names: Vec<String> = (100..170).map(|number| format!("f{number}")).collect();
        for name in &names {
            fs::write(format!("{dir}/{name}"), "").unwrap();
        }
        let mut ran = ran(&dir, "", "", &names.join(" "));
        for file in &mut ran.files.written[40..] {
            file.is_counted = true;
        }
        let command = ["./unknown"].map(OsString::from);
        let found = found("p", "file", &ran.files.written[69].path);
        let text = proof(&command, &Input::None, &found, &ran).unwrap();
        let compared = |name: &String| text.contains(&format!(" --same {dir}/{name} "));
        assert!(names[40..].iter().all(compared), "{text}");
        assert_eq!(names.iter().filter(|name| compared(name)).count(), 64);
        let left = names[34..39].iter().map(|name| format!("{dir}/{name}"));
        let left = left.collect::<Vec<_>>().join(", ");
        let end = format!(". Not compared: {left} and 1 more that it writes.");
        assert!(text.ends_with(&end), "{text}");
    }

    #[test]
    fn the_other_end_is_started_with_each_command_or_not_compared() {
        let (_dir, dir) = folder();
        let command = ["./unknown"].map(OsString::from);
        for (target, path, not) in [
            ("tcp", "TCP:[1]", "what it sends through sockets"),
            ("pipe", "/p", "/p, a FIFO"),
            ("pipe", "pipe:[1]", ""),
        ] {
            let mut advisory = found("p", target, path);
            let mut run = ran(&dir, "", "", "");
            let said = |advisory: &Advisory, run: &Ran| {
                proof(&command, &Input::None, advisory, run).unwrap()
            };
            let text = said(&advisory, &run);
            let other_end = |text: &str| text.matches("It waits for a ").count();
            for operation in ["write", "read"] {
                let used = json!({"program": "p", "kind": "pipe", "operation": operation, "path": path, "descriptor": 3,
                    "openings": 1, "calls": 9, "bytes": 9, "counted": 9, "listed": 0, "reason": null, "reason_calls": 0});
                advisory.descriptors = vec![from_value(used).unwrap()];
                let text = said(&advisory, &run);
                assert_eq!(other_end(&text), usize::from(path == "/p"), "{text}");
                let start =
                    if operation == "read" { "'cat FILE > /p &'" } else { "'cat /p > seen &'" };
                assert_eq!(text.contains(start), path == "/p", "{text}");
                let is_compared = operation == "write" && path == "/p" || not.is_empty();
                assert_eq!(text.contains("Not compared: "), !is_compared, "{text}");
            }
            run.accepts = true;
            let text_of_service = said(&advisory, &run);
            assert!(
                text_of_service.contains("its client and its end into one script"),
                "{text_of_service}"
            );
            assert_eq!(other_end(&text_of_service), 0);
            assert_eq!(
                text.split_once("Not compared: ")
                    .map_or("", |(_, said)| said.trim_end_matches('.')),
                not
            );
        }
    }

    #[test]
    fn words_are_typed_as_a_shell_takes_them_and_a_link_is_followed() {
        let (dir, name) = folder();
        for file in ["real.py", "in put", "it's"] {
            fs::write(dir.path().join(file), "").unwrap();
        }
        std::os::unix::fs::symlink("real.py", dir.path().join("link")).unwrap();
        let mut ran = ran(&name, "", "python3 real.py", "");
        let here = ran.here.join(&name);
        ran.files.written.push(WrittenFile {
            path: String::new(),
            names: vec![here.join("it's")],
            is_counted: false,
        });
        let link = format!("{name}/link");
        let command = ["python3", &link, "a b", "it's", "*"].map(OsString::from);
        let text = proof(
            &command,
            &Input::File(here.join("in put")),
            &merge(&[]),
            &ran,
        )
        .unwrap();
        let begin = format!(
            r"Before the edit: cp {name}/real.py {name}/real.py.old. After it: vectored versus --input '{name}/in put' --same '{name}/it'\''s' "
        );
        let typed = text.strip_prefix(&begin).expect(&text);
        // A shell splits the line into commands, and `versus` splits each command.
        let commands = split(typed).unwrap();
        let words = |name: &str| {
            ["python3", name, "a b", "it's", "*"]
                .map(str::to_owned)
                .to_vec()
        };
        assert_eq!(
            split(&commands[0]).unwrap(),
            words(&format!("{name}/real.py.old"))
        );
        assert_eq!(split(&commands[1]).unwrap(), words(&link));
        let text = proof(&command, &Input::Stream, &merge(&[]), &ran).unwrap();
        assert!(
            text.ends_with("save that to FILE, and add --input FILE."),
            "{text}"
        );
    }
}
