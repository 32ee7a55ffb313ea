//! The parts that the command lines of the benches share.

use std::fmt::Display;
use std::process::ExitCode;
use std::str::FromStr;

/// Does the task of a parsed command line. Prints an error to standard error.
///
/// The exit code is 0; 2 if the command line is wrong; 1 if `run` fails.
pub fn exit_code<T, E: Display>(
    task: Result<T, String>,
    run: impl FnOnce(T) -> Result<(), E>,
) -> ExitCode {
    match task.map(run) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
        Err(usage) => {
            eprintln!("error: {usage}");
            ExitCode::from(2)
        }
    }
}

/// Reads a number that is not zero.
///
/// # Errors
///
/// A message that names the option and the expected form.
pub fn number<T: FromStr + Default + PartialEq>(option: &str, word: &str) -> Result<T, String> {
    let number = word.parse().ok().filter(|number| *number != T::default());
    number.ok_or_else(|| format!("{option} takes a number from 1, not '{word}'"))
}

/// Reads numbers with commas between them.
///
/// # Errors
///
/// A message that names the option and the expected form.
pub fn numbers(option: &str, list: &str) -> Result<Vec<usize>, String> {
    let numbers = list
        .split(',')
        .map(|word| usize::from_str(word).ok().filter(|&number| number > 0));
    let numbers: Option<Vec<usize>> = numbers.collect();
    numbers.ok_or_else(|| format!("{option} takes numbers from 1, as in 2,64, not '{list}'"))
}

/// The members of `all` that `list` names.
///
/// # Errors
///
/// A message that lists the names that the option takes.
pub fn names<T: Copy, N: ToString>(
    option: &str,
    list: &str,
    all: &[T],
    name: impl Fn(T) -> N,
) -> Result<Vec<T>, String> {
    list.split(',')
        .map(|word| named(option, word, all, &name))
        .collect()
}

/// The member of `all` with this name.
///
/// # Errors
///
/// A message that lists the names that the option takes.
pub fn named<T: Copy, N: ToString>(
    option: &str,
    word: &str,
    all: &[T],
    name: impl Fn(T) -> N,
) -> Result<T, String> {
    let found = all.iter().find(|one| name(**one).to_string() == word);
    found.copied().ok_or_else(|| {
        let names: Vec<String> = all.iter().map(|one| name(*one).to_string()).collect();
        format!("{option} takes {}, not '{word}'", names.join(", "))
    })
}
