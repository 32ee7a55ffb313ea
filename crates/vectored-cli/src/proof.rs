//! Makes the commands that prove an edit of a program, ready to be typed.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use vectored_advise::advisor::{RunFiles, operation_of};
use vectored_advise::languages::runtime_of_interpreter;
use vectored_advise::model::Advisory;
use vectored_machine::model::{DescriptorKind, Operation};
use vectored_report::sort;
use vectored_report::words::count;
use vectored_versus::is_script_name;

/// The largest number of files in the options `--same`.
const SAME_MAX: usize = 64;

/// A number with at least this many digits in a file name is probably a process ID or a time.
const CHOSEN_DIGITS: usize = 4;

const PACKAGES: &str = "__pycache__ dist-packages node_modules site-packages";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A terminal or `/dev/null`. The proof needs no input.
    None,
    File(PathBuf),
    /// A pipe or a socket. Its bytes were read and are lost.
    Stream,
}

impl Input {
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

/// What the log shows about a run, and the directory of the run.
#[derive(Clone, Debug, Default)]
pub struct Ran {
    files: RunFiles,
    pub programs: Vec<PathBuf>,
    /// Whether the run accepted more connections than it made, so that clients from outside connected.
    accepts: bool,
    here: PathBuf,
    /// The paths of standard output and standard error.
    standard: Vec<PathBuf>,
}

impl Ran {
    pub fn here(files: RunFiles, programs: Vec<PathBuf>, accepts: bool) -> Ran {
        let standard = ["/proc/self/fd/1", "/proc/self/fd/2"].map(fs::read_link);
        Ran {
            files,
            programs,
            accepts,
            here: env::current_dir().unwrap_or_default(),
            standard: standard.into_iter().flatten().collect(),
        }
    }

    /// Returns a relative path for a file in the working directory. The path never looks like an option.
    fn near(&self, path: &Path) -> Option<String> {
        let near = path.strip_prefix(&self.here).unwrap_or(path).to_str()?;
        let before = if near.starts_with('-') { "./" } else { "" };
        Some(format!("{before}{near}"))
    }

    fn is_named(&self, path: &Path, words: &[&str]) -> bool {
        words.iter().any(|word| {
            let named = self.here.join(word);
            path.starts_with(named.canonicalize().unwrap_or(named))
        })
    }

    /// Returns whether the file belongs to the user. A file below the working directory does, unless one of its
    /// directories there is hidden or a package. Another file does if the command names the file.
    fn is_of_user(&self, path: &Path, words: &[&str]) -> bool {
        let Ok(near) = path.strip_prefix(&self.here) else {
            return self.is_named(path, words);
        };
        let mut folders = near.iter();
        folders.next_back();
        let is_package = |part: &OsStr| {
            let part = part.to_string_lossy();
            part.starts_with('.') || PACKAGES.split(' ').any(|package| package == part)
        };
        !folders.any(is_package)
    }

    /// Returns the user's programs and scripts that the command ran. Files that the command writes are excluded. The
    /// user edits one of the returned files.
    fn own_programs(&self, words: &[&str]) -> Vec<PathBuf> {
        let executed = self
            .programs
            .iter()
            .filter(|path| runtime_of_interpreter(path.as_os_str().as_encoded_bytes()).is_none());
        let executed = executed.filter_map(|path| path.canonicalize().ok());
        let read = self.files.read.iter().cloned();
        let written: Vec<PathBuf> = self.files.written().flat_map(|(names, _)| names).collect();
        let mut own: Vec<PathBuf> = executed
            .chain(read.filter(|path| is_script(path)))
            .filter(|path| {
                path.is_file() && self.is_of_user(path, words) && !written.contains(path)
            })
            .collect();
        sort::sort(&mut own);
        own.dedup();
        own
    }

    /// Returns the files to compare, with the files of findings first. The number counts the written files that are
    /// omitted.
    fn compared(&self, words: &[&str]) -> (Vec<PathBuf>, usize) {
        let (mut same, mut others) = (Vec::<PathBuf>::new(), 0);
        let (counted, rest): (Vec<_>, Vec<_>) = self
            .files
            .written()
            .partition(|(_, is_counted)| *is_counted);
        let files = counted.into_iter().chain(rest);
        let named = |(names, is_counted): (Vec<PathBuf>, bool)| {
            names.into_iter().map(move |name| (name, is_counted))
        };
        for (name, is_counted) in files.flat_map(named) {
            let is_cache = name.extension() == Some(OsStr::new("pyc"));
            if !name.is_file() || is_cache || self.standard.contains(&name) || same.contains(&name)
            {
                continue;
            }
            let is_wanted =
                (is_counted || self.is_of_user(&name, words)) && !self.varies(&name, words);
            if is_wanted && same.len() < SAME_MAX {
                same.push(name);
            } else {
                others += 1;
            }
        }
        (same, others)
    }

    /// Returns whether the name may differ between runs. The command does not name the file, and the file is
    /// temporary or has a number in its name.
    fn varies(&self, path: &Path, words: &[&str]) -> bool {
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let mut numbers = name.split(|c: char| !c.is_ascii_digit());
        let is_temporary = path.starts_with(env::temp_dir()) && !path.starts_with(&self.here);
        let is_chosen = is_temporary || numbers.any(|digits| digits.len() >= CHOSEN_DIGITS);
        is_chosen && !self.is_named(path, words)
    }
}

/// Returns the file to keep and the command to type. `None` if a word is not valid UTF-8.
pub fn proof(
    command: &[OsString],
    input: &Input,
    advisory: &Advisory,
    ran: &Ran,
) -> Option<String> {
    let words: Option<Vec<&str>> = command.iter().map(|word| word.to_str()).collect();
    let words = words?;
    let (same, others) = ran.compared(&words);
    let mut options = String::new();
    if let Input::File(path) = input {
        options += &format!(" --input {}", quoted(&ran.near(path)?));
    }
    for path in &same {
        options += &format!(" --same {}", quoted(&ran.near(path)?));
    }
    if advisory.failed.is_some() {
        options += " --ignore-failure";
    }
    let typed = as_one_word(&words);
    let own = ran.own_programs(&words);
    let is_own = |word: &&str| {
        Path::new(word)
            .canonicalize()
            .is_ok_and(|path| own == [path])
    };
    let mut text = if let Some(index) = words.iter().position(is_own) {
        // A program may look for files beside itself. A copy beside a link would not find these files.
        let is_link = Path::new(words[index]).is_symlink();
        let name = if is_link { ran.near(&own[0])? } else { words[index].to_owned() };
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
        format!(
            "To prove an edit, first copy the file that you edit. Then: vectored versus{options} 'OLD COMMAND' {typed}, where \
             OLD COMMAND runs the copy"
        )
    };
    let is_socket = |kind| matches!(kind, DescriptorKind::Tcp | DescriptorKind::Unix);
    let mut written = advisory.findings.iter();
    let sends =
        written.any(|one| is_socket(one.key.target) && operation_of(&one.key) == Operation::Write);
    let mut not = Vec::new();
    not.extend(sends.then(|| "what it sends through sockets".to_owned()));
    not.extend((others > 0).then(|| format!("{} that it writes", count(others, "other file"))));
    for more in [
        (*input == Input::Stream).then(|| {
            "Its standard input came from a pipe: save that to FILE, and add --input FILE".to_owned()
        }),
        ran.accepts.then(|| {
            "It accepts connections: put the start of the service, its client and its end into one script, and give that as \
             the command"
                .to_owned()
        }),
        (!not.is_empty()).then(|| format!("Not compared: {}", not.join("; "))),
    ]
    .into_iter()
    .flatten()
    {
        text += &format!(". {more}");
    }
    Some(text)
}

/// The name or the first line of the file shows an interpreter.
fn is_script(path: &Path) -> bool {
    let mut head = [0; 2];
    let begins_so = |mut file: File| file.read_exact(&mut head).is_ok() && head == *b"#!";
    is_script_name(&path.to_string_lossy()) || File::open(path).is_ok_and(begins_so)
}

/// The extension stays at the end, because some interpreters need the extension.
fn name_of_copy(name: &str) -> String {
    let extension = Path::new(name).extension().and_then(OsStr::to_str);
    let (stem, end) = match extension {
        None | Some("py" | "rb" | "pl" | "sh" | "php" | "lua" | "awk" | "tcl" | "old") => {
            (name, "")
        }
        Some(extension) => name.split_at(name.len() - extension.len() - 1),
    };
    // `x.old` may already be the program before an earlier edit.
    let old = if stem.ends_with(".old") { "er" } else { ".old" };
    format!("{stem}{old}{end}")
}

fn as_one_word(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    format!("'{}'", words.join(" ").replace('\'', r"'\''"))
}

/// Quotes a word so that a shell reads one word.
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
    use vectored_advise::advisor::merge;
    use vectored_versus::split;

    use super::*;

    /// Columns: the command, its programs, its scripts, and its written files; then the word that is copied, the
    /// compared files, and the omitted files.
    const RUNS: &str = "
python3 -u DIR/w.py DIR/q.bin 30 |  | w.py q.bin |  | w.py>w.py.old |  |
nice DIR/y.old | y.old | y.old |  | y.old>y.older |  |
node --no-warnings DIR/x.mjs |  | x.mjs |  | x.mjs>x.old.mjs |  |
nice env A=b DIR/prog DIR/q.bin | prog | q.bin | q.bin | prog>prog.old | q.bin |
nice DIR/python3 DIR/w.py | python3 | w.py |  | w.py>w.py.old |  |
sh -c DIR/w.sh |  | tool |  |  |  |
nice DIR/tool | tool | tool |  | tool>tool.old |  |
sort DIR/q.bin |  | q.bin |  |  |  |
sh DIR/w.sh |  | w.sh w.pl |  |  |  |
sh DIR/w.sh |  | w.sh node_modules/x.js .hidden/x.sh |  | w.sh>w.sh.old |  |
sh DIR/w.sh |  | w.sh w.pl | w.pl | w.sh>w.sh.old | w.pl |
sh DIR/w.sh log.4002 | prog | w.sh | prog log.4001 log.1795316800 standard x.pyc gone q.bin>w.py | w.sh>w.sh.old | prog q.bin w.py | 2
DIR/prog DIR/log.4001 | prog |  | log.4001 .hidden/x.sh | prog>prog.old | log.4001 | 1
";

    #[test]
    fn an_edit_of_the_one_program_that_the_command_names_is_proved_by_a_copy() {
        let dir = tempfile::Builder::new()
            .prefix("proof")
            .tempdir_in(".")
            .unwrap();
        let dir = dir.path().file_name().unwrap().to_str().unwrap().to_owned();
        for folder in ["node_modules", ".hidden"] {
            fs::create_dir_all(format!("{dir}/{folder}")).unwrap();
        }
        for name in "w.py q.bin python3 prog x.mjs y.old w.sh w.pl tool node_modules/x.js .hidden/x.sh log.4001 log.1795316800 \
                     standard x.pyc"
            .split_whitespace()
        {
            let text = if name == "tool" { "#!" } else { "" };
            fs::write(format!("{dir}/{name}"), text).unwrap();
        }
        let here = env::current_dir().unwrap();
        let at = |name: &str| here.join(&dir).join(name);
        for row in RUNS.lines().filter(|row| row.contains('|')) {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            let [typed, programs, read, written, copied, same, not] = cells[..] else {
                panic!("{row}");
            };
            let mut files = RunFiles::default();
            files.read.extend(read.split_whitespace().map(at));
            for names in written.split_whitespace() {
                let names: Vec<PathBuf> = names.split('>').map(at).collect();
                let names: Vec<&[u8]> = names
                    .iter()
                    .map(|name| name.as_os_str().as_encoded_bytes())
                    .collect();
                files.write(names[0], false);
                names.windows(2).for_each(|two| files.link(two[0], two[1]));
            }
            let ran = Ran {
                files,
                programs: programs.split_whitespace().map(at).collect(),
                standard: vec![at("standard")],
                here: here.clone(),
                ..Ran::default()
            };
            let typed = typed.replace("DIR", &dir);
            let command: Vec<OsString> = typed.split(' ').map(OsString::from).collect();
            let mut advisory = merge(&[]);
            advisory.failed = Some("exit status 1".to_owned());
            let text = proof(&command, &Input::None, &advisory, &ran).unwrap();
            let same: String = same
                .split_whitespace()
                .map(|name| format!(" --same {dir}/{name}"))
                .collect();
            let options = same + " --ignore-failure";
            let mut expected = match copied.split_once('>') {
                Some((name, copy)) => {
                    let [name, copy] = [name, copy].map(|name| format!("{dir}/{name}"));
                    let old = typed.replacen(&name, &copy, 1);
                    format!(
                        "Before the edit: cp {name} {copy}. After it: vectored versus{options} '{old}' '{typed}'"
                    )
                }
                None => format!(
                    "To prove an edit, first copy the file that you edit. Then: vectored versus{options} 'OLD COMMAND' \
                     '{typed}', where OLD COMMAND runs the copy"
                ),
            };
            if let Ok(others) = not.parse() {
                expected += &format!(
                    ". Not compared: {} that it writes",
                    count(others, "other file")
                );
            }
            assert_eq!(text, expected, "{row}");
        }
    }

    #[test]
    fn words_are_typed_as_a_shell_takes_them_and_a_link_is_followed() {
        let dir = tempfile::Builder::new()
            .prefix("proof")
            .tempdir_in(".")
            .unwrap();
        let name = dir.path().file_name().unwrap().to_str().unwrap();
        for file in ["-real.py", "in put", "it's"] {
            fs::write(dir.path().join(file), "").unwrap();
        }
        std::os::unix::fs::symlink("-real.py", dir.path().join("link")).unwrap();
        let here = env::current_dir().unwrap().join(name);
        let mut files = RunFiles::default();
        files.read.insert(here.join("-real.py"));
        files.write(here.join("it's").as_os_str().as_encoded_bytes(), true);
        let ran = Ran {
            accepts: true,
            files,
            here: here.clone(),
            ..Ran::default()
        };
        let link = format!("{name}/link");
        let command = ["python3", &link, "a b", "it's", "*"].map(OsString::from);
        let input = Input::File(here.join("in put"));
        let text = proof(&command, &input, &merge(&[]), &ran).unwrap();
        let begin = r"Before the edit: cp ./-real.py ./-real.py.old. After it: vectored versus --input 'in put' --same 'it'\''s' ";
        let typed = text.strip_prefix(begin).expect(&text);
        let (typed, rest) = typed.split_once(". ").unwrap();
        assert!(rest.starts_with("It accepts connections"), "{rest}");
        // A shell splits the line into commands, and `versus` splits each command.
        let commands = split(typed).unwrap();
        let words = |name: &str| ["python3", name, "a b", "it's", "*"].map(str::to_owned);
        assert_eq!(split(&commands[0]).unwrap(), words("./-real.py.old"));
        assert_eq!(split(&commands[1]).unwrap(), words(&link));
        let text = proof(&command, &Input::Stream, &merge(&[]), &ran).unwrap();
        assert!(
            text.contains("save that to FILE, and add --input FILE"),
            "{text}"
        );
    }
}
