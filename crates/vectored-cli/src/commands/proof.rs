//! The command that proves an edit of a program, in the form in which it can be typed.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use vectored_advise::advisor::operation_of;
use vectored_advise::languages::runtime_of_interpreter;
use vectored_advise::model::Advisory;
use vectored_machine::model::{DescriptorKind, Operation};

use crate::strace;

/// Files that are named to be compared.
const SAME_MAX: usize = 3;

/// What the standard input of the command is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Nothing that can be read again, and nothing that is missed: a terminal, `/dev/null`.
    None,
    /// A file.
    File(PathBuf),
    /// A pipe or a socket, which is empty now.
    Stream,
}

impl Input {
    /// The standard input of this process, which is that of the command.
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

/// How to prove an edit of a command's program: the file to keep, and the command to type. If the command names no such
/// file, the two commands are left to the user. `None` if a word is not text.
pub fn proof(command: &[OsString], input: &Input, advisory: &Advisory) -> Option<String> {
    let words: Option<Vec<&str>> = command.iter().map(|word| word.to_str()).collect();
    let words = words?;
    let mut options = String::new();
    if let Input::File(path) = input {
        options += &format!(" --input {}", quoted(&near(path)?));
    }
    for path in written(&words, advisory) {
        options += &format!(" --same {}", quoted(&near(path)?));
    }
    if advisory.failed.is_some() {
        options += " --ignore-failure";
    }
    let missing = match input {
        Input::Stream => {
            " Its standard input came from a pipe: save that to FILE, and add --input FILE."
        }
        _ => "",
    };
    let joined = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        format!("'{}'", words.join(" ").replace('\'', r"'\''"))
    };
    let Some(edited) = edited(&words) else {
        return Some(format!(
            "To prove an edit, keep the old program. Then: vectored versus{options} 'OLD COMMAND' {}.{missing}",
            joined(&words)
        ));
    };
    // A copy beside a link would not find what lies beside the file.
    let named = Path::new(words[edited]);
    let is_link = named.is_symlink();
    let found = named.canonicalize().ok().filter(|_| is_link);
    let name = match &found {
        Some(found) => near(found)?,
        None => words[edited].to_owned(),
    };
    let keep = kept(&name);
    let mut old = words.clone();
    old[edited] = &keep;
    Some(format!(
        "Before the edit: cp {} {}. After it: vectored versus{options} {} {}{}{missing}",
        quoted(&name),
        quoted(&keep),
        joined(&old),
        joined(&words),
        if missing.is_empty() { "" } else { "." }
    ))
}

/// The index of the word that names the program, or the script of an interpreter.
fn edited(words: &[&str]) -> Option<usize> {
    // env(1) runs the first word that is neither an option of its own nor a variable.
    let runs_other = Path::new(*words.first()?).ends_with("env");
    let is_of_env = |word: &&&str| runs_other && (word.starts_with('-') || word.contains('='));
    let first = usize::from(runs_other);
    let first = first + words[first..].iter().take_while(is_of_env).count();
    let program = words.get(first)?;
    let edited = if runtime_of_interpreter(program.as_bytes()).is_some() {
        // An operand that is no file may be a module, a class or the value of an option.
        let operands = &words[first + 1..];
        first + 1 + operands.iter().position(|word| !word.starts_with('-'))?
    } else if program.contains('/') && !is_installed(Path::new(program)) {
        first
    } else {
        return None;
    };
    Path::new(words[edited]).is_file().then_some(edited)
}

/// The name of a copy beside a program. Interpreters that take a file for what its extension says find that at the end.
fn kept(name: &str) -> String {
    let extension = Path::new(name).extension().and_then(OsStr::to_str);
    match extension {
        None | Some("py" | "rb" | "pl" | "sh" | "php" | "lua" | "awk" | "tcl") => {
            format!("{name}.old")
        }
        Some(extension) => format!(
            "{}.old.{extension}",
            &name[..name.len() - extension.len() - 1]
        ),
    }
}

/// The files that the program wrote and that are still there, except its standard streams: those of the findings first.
fn written<'a>(words: &[&str], advisory: &'a Advisory) -> Vec<&'a Path> {
    let findings = advisory.findings.iter();
    let found = findings.filter(|one| {
        one.key.target == DescriptorKind::File && operation_of(&one.key) == Operation::Write
    });
    let found = found.map(|one| (one.tally.descriptor, one.tally.path.as_deref()));
    let uses = advisory.descriptors.iter();
    let used = uses.filter(|one| one.operation == Operation::Write && one.kind == "file");
    let used = used.map(|one| (one.descriptor, one.path.as_deref()));
    // A program's files for a while have a name of their own in each run, which its command does not have.
    let here = env::current_dir().unwrap_or_default();
    let is_named = |path: &Path| {
        let mut named = words.iter().map(|word| here.join(word));
        named.any(|named| path.starts_with(named))
    };
    let lasts = |path: &&Path| {
        path.is_file()
            && (path.starts_with(&here) || !path.starts_with(env::temp_dir()) || is_named(path))
            && path.extension().is_none_or(|extension| extension != "pyc")
    };
    let files = found.chain(used).filter(|(descriptor, _)| *descriptor > 2);
    let paths = files.filter_map(|(_, path)| path.map(Path::new));
    let mut written: Vec<&Path> = Vec::new();
    for path in paths.filter(lasts) {
        if !written.contains(&path) && written.len() < SAME_MAX {
            written.push(path);
        }
    }
    written
}

/// A path as it is typed: from the working directory if it lies there.
fn near(path: &Path) -> Option<String> {
    let here = env::current_dir().ok()?;
    Some(path.strip_prefix(here).unwrap_or(path).to_str()?.to_owned())
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

/// Whether a shell finds this program by its name: then it runs others, or is not the user's own.
fn is_installed(program: &Path) -> bool {
    let found = program.file_name().map(strace::find);
    let found = found
        .and_then(Result::ok)
        .and_then(|found| found.canonicalize().ok());
    found.is_some() && found == program.canonicalize().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};
    use vectored_advise::advisor::merge;
    use vectored_versus::split;

    use super::*;

    #[test]
    fn the_file_to_keep_is_the_program_or_the_script_of_an_interpreter() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().to_str().unwrap();
        for name in ["w.py", "q.bin", "prog", "a#b", "x.mjs", "Main.java"] {
            fs::write(format!("{dir}/{name}"), "").unwrap();
        }
        for (typed, kept) in [
            ("/usr/bin/python3 -u DIR/w.py DIR/q.bin 30", Some("w.py")),
            ("sh DIR/w.py DIR/w.py", Some("w.py")),
            ("DIR/prog DIR/q.bin", Some("prog")),
            ("node --no-warnings DIR/x.mjs", Some("x.mjs")),
            ("java DIR/Main.java 3", Some("Main.java")),
            ("DIR/x.mjs", Some("x.mjs")),
            ("DIR/missing DIR/q.bin", None),
            ("sort DIR/q.bin", None),
            ("/usr/bin/sort DIR/q.bin", None),
            (
                "/usr/bin/env -i A=b python3 -u DIR/w.py DIR/q.bin",
                Some("w.py"),
            ),
            ("env DIR/prog DIR/q.bin", Some("prog")),
            ("env", None),
            ("nice DIR/prog", None),
            ("python3 -m module DIR/q.bin", None),
        ] {
            let typed = typed.replace("DIR", dir);
            let text = said(&typed, &Input::None);
            let expected = match kept {
                Some(kept) => {
                    let kept = format!("{dir}/{kept}");
                    let copy = match kept.rsplit_once('.') {
                        Some((stem, extension @ ("mjs" | "java"))) => {
                            format!("{stem}.old.{extension}")
                        }
                        _ => format!("{kept}.old"),
                    };
                    let old = typed.replacen(&kept, &copy, 1);
                    format!(
                        "Before the edit: cp {kept} {copy}. After it: vectored versus '{old}' '{typed}'"
                    )
                }
                None => format!(
                    "To prove an edit, keep the old program. Then: vectored versus 'OLD COMMAND' '{typed}'."
                ),
            };
            assert_eq!(text, expected, "{typed}");
        }
    }

    fn said(typed: &str, input: &Input) -> String {
        let command: Vec<OsString> = typed.split(' ').map(OsString::from).collect();
        let mut failed = merge(&[]);
        failed.failed = Some("exit status 1".to_owned());
        let told = proof(&command, input, &failed).unwrap();
        assert!(told.contains(" --ignore-failure '"), "{told}");
        proof(&command, input, &merge(&[])).unwrap()
    }

    #[test]
    fn the_command_has_the_input_what_was_written_and_the_file_behind_a_link() {
        // In the working directory, since files for a while are not compared.
        let dir = tempfile::tempdir_in(".").unwrap();
        let at = |name: &str| dir.path().canonicalize().unwrap().join(name);
        for name in ["real.py", "in put", "out", "gone"] {
            fs::write(at(name), "").unwrap();
        }
        fs::remove_file(at("gone")).unwrap();
        std::os::unix::fs::symlink("real.py", at("link")).unwrap();
        let mut advisory = merge(&[]);
        for (name, descriptor) in [("out", 3), ("gone", 4), ("in put", 1)] {
            let used = json!({
                "program": "python3", "kind": "file", "operation": "write", "path": at(name),
                "descriptor": descriptor, "openings": 1, "calls": 9, "bytes": 9, "counted": 0, "listed": 0,
                "reason": null, "reason_calls": 0,
            });
            advisory.descriptors.push(from_value(used).unwrap());
        }
        let link = at("link").to_str().unwrap().to_owned();
        let command = ["python3", &link, "a b", "it's", "*"].map(OsString::from);
        let text = proof(&command, &Input::File(at("in put")), &advisory).unwrap();
        let near = |name: &str| near(&at(name)).unwrap();
        let [real, input, out] = ["real.py", "in put", "out"].map(near);
        let begin = format!(
            "Before the edit: cp {real} {real}.old. After it: vectored versus --input '{input}' --same {out} "
        );
        let typed = text.strip_prefix(&begin).expect(&text);
        // As a shell takes it, then as `versus` does.
        let commands = split(typed).unwrap();
        let words = |name: &str| {
            ["python3", name, "a b", "it's", "*"]
                .map(str::to_owned)
                .to_vec()
        };
        assert_eq!(split(&commands[0]).unwrap(), words(&format!("{real}.old")));
        assert_eq!(split(&commands[1]).unwrap(), words(&link));
        let text = proof(&command, &Input::Stream, &merge(&[])).unwrap();
        assert!(
            text.ends_with("save that to FILE, and add --input FILE."),
            "{text}"
        );
    }
}
