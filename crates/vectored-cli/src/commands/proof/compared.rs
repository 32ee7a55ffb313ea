//! The files that a command wrote: the proof of an edit compares them.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use vectored_advise::advisor::operation_of;
use vectored_advise::model::{Advisory, Finding};
use vectored_machine::model::{DescriptorKind, Operation};

use super::Ran;
use super::kept::is_of_user;

/// Files that are named to be compared.
const SAME_MAX: usize = 64;

/// The most files that are named as not compared, of the files without a reason of their own.
const NAMED_MAX: usize = 5;

/// Digits in a name from which on they are a time.
const TIME_DIGITS: usize = 10;

/// What is compared besides the standard streams, and in words what is not.
#[derive(Debug, Default)]
pub struct Compared {
    pub same: Vec<PathBuf>,
    pub not: Vec<String>,
}

/// The regular files that the command wrote, first the files of the findings.
pub fn compared(words: &[&str], advisory: &Advisory, ran: &Ran) -> Compared {
    let mut compared = Compared::default();
    let findings = advisory.findings.iter();
    let is_write = |one: &&Finding| operation_of(&one.key) == Operation::Write;
    let writes: Vec<&Finding> = findings.filter(is_write).collect();
    let is_of = |one: &Finding, path: &str| {
        let mut files = one.tally.files.iter();
        one.tally.path.as_deref() == Some(path)
            || files.any(|file| file.path.as_deref() == Some(path))
    };
    let is_found = |path: &str| writes.iter().any(|one| is_of(one, path));
    let files = ran.files.written.iter();
    let (found, others): (Vec<_>, Vec<_>) =
        files.partition(|file| file.is_counted || is_found(&file.path));
    let mut more = Vec::new();
    for (index, file) in found.iter().chain(&others).enumerate() {
        let is_found = index < found.len();
        if is_found && !file.names.iter().any(|name| name.is_file()) {
            compared
                .not
                .push(format!("{}, which is gone at the end", file.path));
        }
        for name in file.names.iter().filter(|name| name.is_file()) {
            let is_known = compared.same.contains(name) || ran.standard.contains(name);
            let is_cache = name.extension() == Some(OsStr::new("pyc"));
            let varies = varies(name, words, ran);
            if varies && is_found {
                let text = format!("{}, whose name differs in each run", name.display());
                compared.not.push(text);
            }
            if is_known || is_cache || varies {
                continue;
            }
            if compared.same.len() < SAME_MAX && (is_found || is_of_user(name, ran)) {
                compared.same.push(name.clone());
            } else {
                more.push(name);
            }
        }
    }
    let is_socket = |kind| matches!(kind, DescriptorKind::Tcp | DescriptorKind::Unix);
    if writes.iter().any(|one| is_socket(one.key.target)) {
        compared
            .not
            .push("what it sends through sockets".to_owned());
    }
    let is_fifo = |one: &&Finding| {
        let path = one.tally.path.as_deref();
        one.key.target == DescriptorKind::Pipe && path.is_some_and(|path| path.starts_with('/'))
    };
    if let Some(path) = writes
        .iter()
        .copied()
        .find(is_fifo)
        .and_then(|one| one.tally.path.as_ref())
    {
        compared.not.push(format!("{path}, a FIFO"));
    }
    if !more.is_empty() {
        let named = more.iter().take(NAMED_MAX);
        let named = named.map(|name| match ran.near(name) {
            Some(near) => near,
            None => name.display().to_string(),
        });
        let mut text = named.collect::<Vec<_>>().join(", ");
        if more.len() > NAMED_MAX {
            text += &format!(" and {} more that it writes", more.len() - NAMED_MAX);
        }
        compared.not.push(text);
    }
    compared
}

/// Whether each run chooses the name: it has the number of a process or a time, or the run made the file or its folder among the
/// temporary files, and the command does not name it.
fn varies(path: &Path, words: &[&str], ran: &Ran) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let is_chosen = |digits: &str| {
        let number = digits
            .parse()
            .is_ok_and(|number: u32| ran.numbers.contains(&number));
        digits.len() >= TIME_DIGITS || number && digits.len() > 2
    };
    let is_named = || {
        words
            .iter()
            .any(|word| path.starts_with(ran.here.join(word)))
    };
    let is_made = || {
        path.ancestors()
            .any(|folder| ran.files.made.contains(folder))
    };
    let is_temporary = path.starts_with(env::temp_dir()) && !path.starts_with(&ran.here);
    name.split(|c: char| !c.is_ascii_digit()).any(is_chosen) && !is_named()
        || is_temporary && is_made() && !is_named()
}
